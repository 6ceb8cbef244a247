"""The episode that is shown, step by step."""

from __future__ import annotations

import dataclasses
from collections.abc import Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding import registration
from gym_grounding.errors import PolicyError
from gym_grounding.goals import GoalTracker
from gym_grounding.manifest import Manifest
from gym_grounding.plan import HORIZON, cell_id, episode_seed
from gym_grounding.policy import Policy, PolicySource, State, actions_of, begin, blamed, check_observation
from gym_grounding.records import Cell
from gym_grounding.rollout import executed
from gym_grounding.types import SceneSettings

AFTER = 20
"""Control steps that are shown after the goal was reached."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One picture of an episode and what is true in it.

    Attributes:
        picture: the scene, upright, shape (H, W, 3) uint8.
        step: policy steps taken.
        labels: of the goals that are watched, see ``records.EpisodeRecord``.
        held: those that hold now.
        first: label -> first step at which the goal held.
        void: those that held from the start and so never count.
        remark: what the policy says of itself; None if it never does.
    """

    picture: NDArray[np.uint8]
    step: int
    labels: tuple[str, ...]
    held: frozenset[str]
    first: Mapping[str, int]
    void: frozenset[str]
    remark: str | None = None


@dataclass(frozen=True, slots=True)
class Episode:
    """Which episode: that of ``evaluate`` in the suite's own order, at its last stage, with the same seed.

    Attributes:
        variant: variant id.
        init_state: number of the initial state.
        seed: of the policy.
        horizon: greatest number of policy steps.
        full: go on to the horizon; else until ``AFTER`` steps after the goal that is asked for was reached (where none
            is, any goal).
        settings: how the scene is opened and observed.
        stage: of the policy; None for the suite's last.
        stop: what ends the episode beside the horizon, see ``wrappers.GoalReport``.
    """

    variant: str
    init_state: int = 0
    seed: int = 0
    horizon: int = HORIZON
    full: bool = False
    settings: SceneSettings = field(default_factory=SceneSettings)
    stage: int | None = None
    stop: str = "horizon"

    def play(self, source: PolicySource, manifest: Manifest) -> Generator[Moment]:
        """Every moment, the start included.

        Raises:
            UnknownName: no such variant, or reference policy.
            PolicyError: the policy cannot be made, fails, or answers with NaN.
            InvalidOption: a number outside its domain.
            MissingSource, MissingRenderer, WrongVersion, SimulatorError: the scene cannot be opened or drawn.
        """
        row = manifest.variant(self.variant)
        last = len(manifest.suite_tasks(manifest.task(row.task).suite)) - 1
        cell = Cell(last if self.stage is None else self.stage, row.id, self.init_state, self.seed)
        settings = dataclasses.asdict(self.settings)
        env = registration.make(row.id, manifest.path, horizon=self.horizon, stop=self.stop, **settings)
        with closing(env):
            policy = source.get(cell.stage, cell.seed, manifest.path)
            check_observation(policy, self.settings.observation, source.description)
            observation, _ = env.reset(seed=episode_seed(cell), options={"init_state": self.init_state})
            tracker: GoalTracker = env.get_wrapper_attr("tracker")
            with blamed("start", cell_id(cell)):
                state = begin(policy, [row.instruction], [episode_seed(cell)], [row.task])
            yield _moment(env, tracker, 0, _remark(policy, state))
            for step in range(1, self.horizon + 1):
                with blamed("act", f"{cell_id(cell)} at step {step}"):
                    seen = {key: value[None].copy() for key, value in observation.items()}
                    actions, state = actions_of(policy, seen, state, (1, *env.action_space.shape))  # type: ignore[misc]
                    if not np.isfinite(actions).all():
                        raise PolicyError(f"it returned {actions[0].tolist()}")
                observation, _, terminated, *_ = env.step(executed(actions[0], env.action_space))
                yield _moment(env, tracker, step, _remark(policy, state))
                enough = not self.full and self._seen_enough(env.get_wrapper_attr("scored_by"), tracker, step)
                if terminated or enough:
                    return

    def _seen_enough(self, awaited: str | None, tracker: GoalTracker, step: int) -> bool:
        steps = [first for label, first in tracker.first_held.items() if awaited in (label, None)]
        return bool(steps) and step >= min(steps) + AFTER


def _moment(env: Any, tracker: GoalTracker, step: int, remark: str | None) -> Moment:
    picture = env.get_wrapper_attr("scene").render()
    return Moment(picture, step, tuple(tracker.goals), tracker.held, dict(tracker.first_held), tracker.void, remark)


def _remark(policy: Policy, state: State) -> str | None:
    remarks = getattr(policy, "remarks", None)
    if remarks is None:
        return None
    with blamed("remarks", "a film"):
        return str(remarks(state)[0])

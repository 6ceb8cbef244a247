"""Observations to probe with: starts of episodes, and moments along a policy's way."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from gym_grounding import manifest as manifests
from gym_grounding import registration
from gym_grounding.errors import InvalidOption, PolicyError
from gym_grounding.plan import Plan, episode_seed
from gym_grounding.policy import Observations, Policy, PolicySource, State, actions_of, begin, blamed
from gym_grounding.probe._observations import StoredObservations, save_observations
from gym_grounding.records import Cell
from gym_grounding.types import SceneSettings, Variant
from gym_grounding.wrappers import INSTRUCTION_KEY, Instruction


@dataclass(frozen=True, slots=True)
class Moment:
    """One observation on the way, and the action (n,) that a policy took there."""

    name: str
    observation: Observations
    action: NDArray[np.floating[Any]] | None = None


def collect(
    plan: Plan,
    out: str | Path,
    *,
    policy: str | object | None = None,
    options: Mapping[str, Any] | None = None,
    every: int = 10,
    expert: bool = False,
) -> Path:
    """Store the first observation of every (task, initial state) of a plan, and moments along a policy's episodes.

    Args:
        plan: its tasks, initial states and scene settings are used; of seeds the first, of stages the last.
        out: the file, see ``save_observations``.
        policy: follows each task's original instruction; None to store starts only.
        options: keyword arguments for a class of policies.
        every: with a policy, every so many steps is a moment, step 0 included.
        expert: store the policy's actions as the expert's, for the language margin.

    Raises:
        InvalidOption: ``every`` is no positive number, or ``expert`` without a policy.
        PolicyError: the policy cannot be made or fails.
        UnwritableOutput: the file cannot be written.
    """
    if every < 1:
        raise InvalidOption(f"every is {every}; give a number of steps, 1 or more")
    if expert and policy is None:
        raise InvalidOption("expert actions need a policy that takes them")
    manifest = manifests.load(plan.registry)
    made = None if policy is None else PolicySource(policy, options).get(plan.stages[-1], plan.seeds[0], plan.registry)
    tasks = {}
    for task in tqdm(plan.tasks or plan.order, unit="task", disable=None):
        (original,) = manifest.select(tasks=[task], conditions=["original"])
        moments = [
            moment for init_state in plan.init_states for moment in _moments(original, init_state, plan, made, every)
        ]
        tasks[task] = _stacked(moments, expert, plan.settings)
    return save_observations(out, tasks)


def _moments(variant: Variant, init_state: int, plan: Plan, policy: Policy | None, every: int) -> Iterator[Moment]:
    seed = episode_seed(Cell(plan.stages[-1], variant.id, init_state, plan.seeds[0]))
    settings = dataclasses.asdict(plan.settings)
    env = registration.make(variant.id, plan.registry, horizon=plan.horizon, stop=plan.stop, **settings)
    with closing(env):
        observation, _ = env.reset(seed=seed, options={"init_state": init_state})
        if policy is None:
            yield Moment(f"{variant.task}/{init_state}/0", observation)
            return
        with blamed("start", variant.id):
            state = begin(policy, [variant.instruction], [seed], [variant.task])
        for step in range(plan.horizon):
            action, state = _action(policy, observation, state, env)
            if step % every == 0:
                yield Moment(f"{variant.task}/{init_state}/{step}", observation, action)
            observation, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                return


def _action(
    policy: Policy, observation: Observations, state: State, env: Instruction
) -> tuple[NDArray[np.floating[Any]], State]:
    """The policy's action, clipped to the environment's space, shape (n,), and its next state."""
    space: Any = env.action_space
    with blamed("act", env.get_wrapper_attr("variant").id):
        actions, state = actions_of(
            policy, {k: v[None].copy() for k, v in observation.items()}, state, (1, *space.shape)
        )
        if not np.isfinite(actions).all():
            raise PolicyError(f"it returned {actions[0].tolist()}")
    return np.clip(actions[0], space.low, space.high).astype(space.dtype), state


def _stacked(moments: Sequence[Moment], expert: bool, settings: SceneSettings) -> StoredObservations:
    keys = [key for key in moments[0].observation if key != INSTRUCTION_KEY]
    return StoredObservations(
        names=tuple(moment.name for moment in moments),
        observations={key: np.stack([moment.observation[key] for moment in moments]) for key in keys},
        expert_actions=np.array([moment.action for moment in moments]) if expert else None,
        settings=settings,
    )

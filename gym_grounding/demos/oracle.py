"""The oracle as demonstrator."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gym_grounding import adapters
from gym_grounding.adapters import Observation, Scene
from gym_grounding.demos.record import rows_of
from gym_grounding.demos.settings import Array, Played, Told
from gym_grounding.errors import InvalidOption
from gym_grounding.experts import ORACLE_VERSION, Noise, attempt
from gym_grounding.experts.trial import REST
from gym_grounding.manifest import STABLE
from gym_grounding.types import Goal, SceneFacts, Task


class Oracle:
    """See ``settings.Player``. An attempt succeeds if the goal is reached and stays reached after letting go.

    The steps at rest at its end, which prove that, are not part of the demonstration.
    """

    name = "oracle"
    version = ORACLE_VERSION

    def __call__(
        self,
        scene: Scene,
        facts: SceneFacts,
        tasks: Mapping[str, Task],
        goal: Goal,
        observation: Observation,
        horizon: int,
        noise: Noise | None,
        rng: np.random.Generator,
        told: Told,
    ) -> Played:
        """See ``settings.Player``."""
        anatomy = getattr(adapters.get(facts.adapter), "anatomy", None)
        if anatomy is None:
            raise InvalidOption(
                f"the adapter {facts.adapter!r} has no anatomy, so the oracle cannot play in its scenes"
            )
        reached: list[bool] = []

        def watch(before: Observation, clean: Array, executed: Array, after: Observation, held: bool) -> None:
            reached.append(held)
            told(before, clean, executed, after, held)

        trial = attempt(
            scene,
            observation,
            goal,
            anatomy=anatomy(facts, tasks),
            horizon=horizon,
            noise=noise,
            rng=rng,
            on_step=watch,
        )
        notes: dict[str, str | int] = {
            "verdict": trial.verdict,
            "first_held": trial.first,
            "plan": "; ".join(trial.plan),
        }
        if trial.verdict != STABLE:
            return Played(0, trial.problem or f"the goal was {trial.verdict.replace('_', ' ')}", notes)
        return Played(rows_of(reached, REST), "", notes)


ORACLE = Oracle()

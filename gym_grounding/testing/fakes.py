"""Ready-made policies for the toy registry: one that obeys, one that is deaf, one that notes what it is told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding import conditions
from gym_grounding import manifest as manifests
from gym_grounding.adapters import Expert, toy
from gym_grounding.manifest import Manifest
from gym_grounding.policy import Observations, Policy
from gym_grounding.types import Goal

_Job = Expert | None


class ToyPolicy:
    """Solves the tasks of a toy registry from state observations, in about 10 to 40 steps.

    Args:
        deaf: False: does what the instruction asks for, looked up in the registry, and stands still where no goal
            belongs to it (collisions, null, negated). True: always does the scene's own task, whose identity it
            therefore needs.
        registry: path of the registry; None for ``testing.TOY_REGISTRY``.
    """

    observation = "state"

    def __init__(self, deaf: bool = False, registry: str | None = None) -> None:
        from gym_grounding.testing import TOY_REGISTRY

        self.needs_task_identity = deaf
        manifest = manifests.load(registry or TOY_REGISTRY)
        self._by_task = {task.id: _expert(manifest, task.id, task.goal) for task in manifest.tasks.values()}
        self._by_text: dict[str, _Job] = {}
        for variant in manifest.variants.values():
            wanted = conditions.asked(variant, manifest.task(variant.task))
            if wanted is not None:
                self._by_text[variant.instruction] = _expert(manifest, variant.task, wanted)

    def start(
        self, instructions: Sequence[str], seed: Sequence[int], tasks: Sequence[str] | None = None
    ) -> tuple[_Job, ...]:
        if self.needs_task_identity:
            return tuple(self._by_task[task] for task in tasks or ())
        return tuple(self._by_text.get(instruction) for instruction in instructions)

    def act(self, observations: Observations, state: tuple[_Job, ...]) -> tuple[NDArray[np.float64], tuple[_Job, ...]]:
        actions = np.zeros((len(state), 4))
        for row, job in enumerate(state):
            if job is not None:
                actions[row] = job.answer({key: value[row] for key, value in observations.items()})
        return actions, state

    def mean_action(self, observations: Observations, state: tuple[_Job, ...]) -> NDArray[np.float64]:
        return self.act(observations, state)[0]


class RecordingPolicy:
    """Hands everything on to another policy and keeps the sentences and seeds that it was given.

    Attributes:
        heard: (instruction, seed) of every episode, in the order in which they began.
    """

    def __init__(self, inner: Policy) -> None:
        self.inner = inner
        self.needs_task_identity = bool(getattr(inner, "needs_task_identity", False))
        self.heard: list[tuple[str, int]] = []

    def start(self, instructions: Sequence[str], seed: Sequence[int], **identity: Any) -> Any:
        self.heard += zip(instructions, seed, strict=True)
        return self.inner.start(instructions, seed, **identity)

    def act(self, observations: Observations, state: Any) -> tuple[NDArray[Any], Any]:
        return self.inner.act(observations, state)


def _expert(manifest: Manifest, task: str, goal: Goal) -> Expert:
    scene = manifest.scene_of(task)
    return toy.ADAPTER.expert(scene, {row.id: row for row in manifest.scene_tasks(scene.id)}, goal)

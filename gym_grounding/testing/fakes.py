"""Ready-made policies for the toy registry: one that obeys, one that is deaf, one that notes what it is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding import conditions
from gym_grounding import manifest as manifests
from gym_grounding.adapters import toy
from gym_grounding.policy import Observations, Policy
from gym_grounding.types import Goal, Predicate, SceneFacts

_GRASP = np.array([0.0, 0.0, 0.02])
"""From an object's foot to its middle, where the hand holds it [m]."""
_NEAR = 0.005
"""Distance from which a place counts as reached [m]; half of what the toy's tests ask for at most."""

_Job = tuple[Goal, SceneFacts] | None


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
        self._by_task = {task.id: (task.goal, manifest.scene_of(task.id)) for task in manifest.tasks.values()}
        self._by_text: dict[str, _Job] = {}
        for variant in manifest.variants.values():
            wanted = conditions.asked(variant, manifest.task(variant.task))
            if wanted is not None:
                self._by_text[variant.instruction] = (wanted, manifest.scene_of(variant.task))

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
                actions[row] = _next_action({key: value[row] for key, value in observations.items()}, *job)
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


def _next_action(observation: Mapping[str, NDArray[Any]], goal: Goal, scene: SceneFacts) -> NDArray[np.float64]:
    """Works on the first predicate that does not look true; stands still when all do."""
    for predicate in goal.all_of:
        action = _towards(observation, predicate, goal, scene)
        if action is not None:
            return action
    return np.array([0.0, 0.0, 0.0, -1.0])


def _towards(
    observation: Mapping[str, NDArray[Any]], predicate: Predicate, goal: Goal, scene: SceneFacts
) -> NDArray[np.float64] | None:
    name, subject = predicate.name, predicate.args[0]
    if name in ("open", "close", "turnon", "turnoff"):
        return _flip(observation, subject, name in ("open", "turnon"), scene)
    foot = observation[f"{subject}_pos"]
    hand = observation["hand_pos"]
    held = bool(observation["hand_gripper"][0]) and float(np.abs(foot + _GRASP - hand).max()) < _NEAR
    if name == "lifted":
        return _move(hand, np.array([hand[0], hand[1], toy.CEILING]), 1.0) if held else _grasp(hand, foot)
    reference = predicate.args[1]
    if name == "in":
        opening = _flip(observation, reference, True, scene)
        if opening is not None:
            return opening
    place = _place(observation, reference, goal)
    there = float(np.abs(foot[:2] - place).max()) < _NEAR
    if held:
        above = np.array([*place, toy.HOVER])
        return np.array([0.0, 0.0, 0.0, -1.0]) if there else _move(hand, above, 1.0)
    return None if there else _grasp(hand, foot)


def _place(observation: Mapping[str, NDArray[Any]], reference: str, goal: Goal) -> NDArray[np.float64]:
    for region in goal.regions:
        if region.name == reference:
            x_min, y_min, x_max, y_max = region.ranges
            return np.array([(x_min + x_max) / 2, (y_min + y_max) / 2])
    return np.array(observation[f"{reference}_pos"][:2])


def _grasp(hand: NDArray[Any], foot: NDArray[Any]) -> NDArray[np.float64]:
    return _go_and_close(hand, foot + _GRASP)


def _flip(
    observation: Mapping[str, NDArray[Any]], name: str, wanted: bool, scene: SceneFacts
) -> NDArray[np.float64] | None:
    fixture, index = name, 0
    if scene.entities[name].kind == "site":
        fixture = scene.entities[name].category
        drawers = [site.name for site in scene.of_kind("site") if site.category == fixture and site.joints]
        index = drawers.index(name)
    if (observation[f"{fixture}_joint_pos"][index] > 0.5) == wanted:
        return None
    return _go_and_close(observation["hand_pos"], observation[f"{name}_pos"])


def _go_and_close(hand: NDArray[Any], point: NDArray[Any]) -> NDArray[np.float64]:
    there = float(np.abs(point - hand).max()) < _NEAR
    return np.array([0.0, 0.0, 0.0, 1.0]) if there else _move(hand, point, -1.0)


def _move(hand: NDArray[Any], point: NDArray[Any], grip: float) -> NDArray[np.float64]:
    return np.append(np.clip((point - hand) / toy.STRIDE, -1.0, 1.0), grip)

"""What reaches the goals of toy scenes, from state observations alone, in about 10 to 40 steps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters import toy
from gym_grounding.types import Goal, Predicate, SceneFacts

Row = Mapping[str, NDArray[Any]]
Array = NDArray[np.float64]

_GRASP = np.array([0.0, 0.0, 0.02])
"""From an object's foot to its middle, where the hand holds it [m]."""
_NEAR = 0.005
"""Distance from which a place counts as reached [m]; half of what the toy's goals ask for at most."""


class ToyExpert:
    """Plays one goal in one toy scene; see ``adapters.Expert``. It needs no memory."""

    def __init__(self, scene: SceneFacts, goal: Goal) -> None:
        self._scene, self._goal = scene, goal

    def start(self) -> None:
        """No memory."""

    def act(self, observation: Row, memory: None) -> tuple[Array, None]:
        """See ``answer``."""
        return self.answer(observation), None

    def answer(self, observation: Row) -> Array:
        """Works on the first predicate that does not look true, shape (4,); stands still when all do."""
        for predicate in self._goal.all_of:
            action = self._towards(observation, predicate)
            if action is not None:
                return action
        return np.array([0.0, 0.0, 0.0, -1.0])

    def _towards(self, observation: Row, predicate: Predicate) -> Array | None:
        name, subject = predicate.name, predicate.args[0]
        if name in ("open", "close", "turnon", "turnoff"):
            return self._flip(observation, subject, name in ("open", "turnon"))
        foot, hand = observation[f"{subject}_pos"], observation["hand_pos"]
        held = bool(observation["hand_gripper"][0]) and float(np.abs(foot + _GRASP - hand).max()) < _NEAR
        if name == "lifted":
            return _move(hand, np.array([hand[0], hand[1], toy.CEILING]), 1.0) if held else _grasp(hand, foot)
        reference = predicate.args[1]
        if name == "in":
            opening = self._flip(observation, reference, True)
            if opening is not None:
                return opening
        place = self._place(observation, reference)
        there = float(np.abs(foot[:2] - place).max()) < _NEAR
        if held:
            above = np.array([*place, toy.HOVER])
            return np.array([0.0, 0.0, 0.0, -1.0]) if there else _move(hand, above, 1.0)
        return None if there else _grasp(hand, foot)

    def _place(self, observation: Row, reference: str) -> Array:
        for region in self._goal.regions:
            if region.name == reference:
                x_min, y_min, x_max, y_max = region.ranges
                return np.array([(x_min + x_max) / 2, (y_min + y_max) / 2])
        return np.array(observation[f"{reference}_pos"][:2])

    def _flip(self, observation: Row, name: str, wanted: bool) -> Array | None:
        fixture, index, scene = name, 0, self._scene
        if scene.entities[name].kind == "site":
            fixture = scene.entities[name].category
            drawers = [site.name for site in scene.of_kind("site") if site.category == fixture and site.joints]
            index = drawers.index(name)
        if (observation[f"{fixture}_joint_pos"][index] > 0.5) == wanted:
            return None
        return _go_and_close(observation["hand_pos"], observation[f"{name}_pos"])


def _grasp(hand: Array, foot: Array) -> Array:
    return _go_and_close(hand, foot + _GRASP)


def _go_and_close(hand: Array, point: Array) -> Array:
    there = float(np.abs(point - hand).max()) < _NEAR
    return np.array([0.0, 0.0, 0.0, 1.0]) if there else _move(hand, point, -1.0)


def _move(hand: Array, point: Array, grip: float) -> Array:
    return np.append(np.clip((point - hand) / toy.STRIDE, -1.0, 1.0), grip)

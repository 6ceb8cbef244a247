"""How the hand takes the bar of a handle, or presses on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Frame
from gym_grounding.errors import NoPlan
from gym_grounding.experts.control import turn_between
from gym_grounding.experts.skills._fixture import UP, Bar
from gym_grounding.experts.skills._hand import TIP, clashes, struck
from gym_grounding.experts.skills._reach import STANDOFF
from gym_grounding.experts.world import OPEN, World

Array = NDArray[np.float64]
REST = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
"""The hand's axes at the start of an episode; the wrist turns by about two radians from there, either way."""
TILTS = (1.2, 1.3, 1.4, 1.05, 0.9)
"""Angles between the approach and straight down [rad]."""
ROLLS = (0.0, 0.3, -0.3, 0.6, -0.6, 0.9, -0.9, 1.2, -1.2)
"""Turns of the hand about its approach [rad]."""
PAST = 0.004
"""How far the grip site is brought past the middle of the bar [m]."""
STRUCK = 3.0
"""Points struck from which on a way is no way."""


@dataclass(frozen=True, slots=True)
class Grip:
    """How the hand takes a bar.

    Attributes:
        tilt: angle between the approach and straight down, towards the front [rad].
        roll: turn about the approach [rad]; at 0 the closing axis is upright.
        flipped: which finger is above.
        beside: where along the bar, from its middle [m].
    """

    tilt: float
    roll: float
    flipped: bool = False
    beside: float = 0.0

    def rotation(self, bar: Bar) -> Array:
        """The hand's axes, shape (3, 3), world."""
        approach = -np.cos(self.tilt) * UP - np.sin(self.tilt) * bar.outward
        upright = np.sin(self.tilt) * UP - np.cos(self.tilt) * bar.outward
        closing = Rotation.from_rotvec(self.roll * approach).apply(-upright if self.flipped else upright)
        return np.stack([closing, np.cross(approach, closing), approach], axis=1)

    def grasp(self, bar: Bar) -> Frame:
        """The hand around the bar."""
        rotation = self.rotation(bar)
        return Frame(bar.centre + self.beside * bar.along + PAST * rotation[:, 2], rotation)

    def press(self, bar: Bar) -> Frame:
        """The hand with its fingertips on the face of the bar."""
        rotation = self.rotation(bar)
        face = bar.centre + self.beside * bar.along + bar.depth / 2 * bar.outward
        return Frame(face - TIP * rotation[:, 2], rotation)


def between(hand: Frame, bar: Bar, slack: float) -> bool:
    """Whether the bar passes between the fingers, off the pads' middle by at most ``slack`` [m]."""
    centre, along = hand.inverse(bar.centre), hand.rotation.T @ bar.along
    nearest = centre - along * np.clip(centre @ along, -bar.length / 2, bar.length / 2)
    return bool(abs(nearest[0]) < OPEN / 2 and abs(nearest[2] + PAST) < slack and abs(nearest[1]) < slack)


def grips(world: World, fixture: str, number: int, bar: Bar, travel: float, pressing: bool) -> list[Grip]:
    """Ways to take or press a bar, best first: what the hand would strike counts most, then how far it has to turn.

    Args:
        bar: of what hangs on joint ``number`` of ``fixture``.
        travel: how far it will be moved outward [m].

    Raises:
        NoPlan: the hand would strike something in each; names a thing that could be moved aside.
    """
    around = _around(world, fixture, number, bar)
    own = world.part_cloud(fixture, number)
    ranked = []
    for grip in _candidates(pressing, bar):
        pose, width = (grip.press(bar), 0.0) if pressing else (grip.grasp(bar), OPEN)
        entry = -bar.outward if pressing else pose.rotation[:, 2]
        before = Frame(pose.position - STANDOFF * entry, pose.rotation)
        after = Frame(pose.position + travel * bar.outward, pose.rotation)
        hits = clashes(world, (pose, before, after), width, around) + clashes(world, (pose, before), width, own)
        turn = float(np.linalg.norm(turn_between(REST, pose.rotation)))
        skew = 0.0 if pressing else abs(grip.roll) * (bar.along[2] == 0.0)
        ranked.append((hits + 0.5 * turn + skew + abs(grip.tilt - TILTS[0]), len(ranked), grip, hits))
    ranked.sort(key=lambda entry: entry[:2])
    if ranked[0][3] >= STRUCK:
        raise _blocked(world, fixture, ranked[0][2], bar, pressing)
    return [grip for _, _, grip, hits in ranked if hits < STRUCK]


def _candidates(pressing: bool, bar: Bar) -> Iterator[Grip]:
    straight = 0.0 if bar.along[2] == 0.0 else np.pi / 2
    for flipped in (False, True):
        for tilt in TILTS:
            for roll in ROLLS:
                yield Grip(tilt, straight + roll, flipped)


def _around(world: World, fixture: str, number: int, bar: Bar) -> Array:
    """Points of everything near but what hangs on the joint, shape (n, 3)."""
    carriers = {piece.joint for piece in world.body(fixture).pieces} - {number}
    still = [world.part_cloud(fixture, joint) for joint in sorted(carriers, key=str)]
    points = np.concatenate([world.others([fixture]), *still])
    return points[np.linalg.norm(points - bar.centre, axis=1) < 0.5]


def _blocked(world: World, fixture: str, grip: Grip, bar: Bar, pressing: bool) -> NoPlan:
    pose = grip.press(bar) if pressing else grip.grasp(bar)
    before = Frame(pose.position - STANDOFF * pose.rotation[:, 2], pose.rotation)
    movable = [name for name, body in world.anatomy.bodies.items() if body.movable]
    hits = {name: int(sum(struck(one, OPEN, world.cloud(name)).sum() for one in (pose, before))) for name in movable}
    worst = max(hits, key=lambda name: hits[name], default="")
    blocker = worst if worst and hits[worst] else ""
    return NoPlan(f"the handle of {fixture} cannot be taken: {blocker or 'something'} is in the way", blocker)

"""How the hand takes, drags or presses the bar of a handle."""

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
from gym_grounding.experts.skills._hand import HALF, TIP, clashes, struck
from gym_grounding.experts.skills._reach import STANDOFF, offset
from gym_grounding.experts.world import OPEN, World

Array = NDArray[np.float64]
AROUND, UPON, AGAINST = "around", "upon", "against"
"""Open fingers that close around the bar; closed fingertips that press down upon it; or against its face."""
REST = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, -1.0]])
"""The hand's axes at the start of an episode; the wrist turns by about two radians from there, either way."""
TILTS = {AROUND: (1.2, 1.3, 1.4, 1.05), UPON: (0.9, 0.8, 1.0, 0.6), AGAINST: (1.1, 1.25, 0.95, 0.8)}
"""Angles between the approach and straight down [rad]."""
ROLLS = {
    AROUND: (0.0, 0.3, -0.3, 0.6, -0.6, 0.9, -0.9),
    UPON: (np.pi / 2, -np.pi / 2),
    AGAINST: (np.pi / 2, -np.pi / 2),
}
"""Turns of the hand about its approach [rad]; at 0 the closing axis is upright."""
PAST = 0.004
"""How far the grip site is brought past the middle of the bar [m]."""
OUTER = 0.002
"""How far outward of the bar's middle the fingertips press down [m]."""
HIT, TURN = 0.1, 0.5
"""What a point struck and a radian of turning cost."""
STRUCK = 60.0
"""Points struck from which on a way is no way."""


@dataclass(frozen=True, slots=True)
class Grip:
    """A way to have a bar.

    Attributes:
        kind: ``AROUND``, ``UPON`` or ``AGAINST``.
        tilt: angle between the approach and straight down, towards the front [rad].
        roll: turn about the approach [rad]; at 0 the closing axis is upright.
        flipped: which finger is above.
    """

    kind: str
    tilt: float
    roll: float
    flipped: bool = False

    def rotation(self, bar: Bar) -> Array:
        """The hand's axes, shape (3, 3), world."""
        approach = -np.cos(self.tilt) * UP - np.sin(self.tilt) * bar.outward
        upright = np.sin(self.tilt) * UP - np.cos(self.tilt) * bar.outward
        closing = Rotation.from_rotvec(self.roll * approach).apply(-upright if self.flipped else upright)
        return np.stack([closing, np.cross(approach, closing), approach], axis=1)

    def pose(self, bar: Bar) -> Frame:
        """The hand that has the bar."""
        rotation = self.rotation(bar)
        if self.kind == AROUND:
            return Frame(bar.centre + PAST * rotation[:, 2], rotation)
        if self.kind == AGAINST:
            return Frame(bar.centre + bar.depth / 2 * bar.outward - TIP * rotation[:, 2], rotation)
        lower = np.cos(self.tilt) * bar.outward - np.sin(self.tilt) * UP
        top = bar.centre + bar.thickness / 2 * UP + OUTER * bar.outward
        return Frame(top - TIP * rotation[:, 2] - HALF * lower, rotation)

    def entry(self, bar: Bar) -> Array:
        """Direction in which the pose is entered, shape (3,), unit length."""
        return -bar.outward if self.kind == AGAINST else self.rotation(bar)[:, 2]

    def has(self, world: World, bar: Bar) -> bool:
        """Whether the bar follows the hand now: it is between the pads and they have stopped, or under the tips."""
        hand, pose = world.hand, self.pose(bar)
        if self.kind == AROUND:
            stopped = 0.5 * bar.thickness < world.width < 0.068 and abs(world.closing) < 0.02
            return stopped and between(hand, bar, 0.014)
        rel = hand.position - pose.position
        if self.kind == AGAINST:
            return bool(rel @ bar.outward < 0.01 and offset(hand, pose, -bar.outward).lateral < 0.02)
        over = abs(rel @ bar.outward) < 0.012 and abs(rel @ bar.along) < bar.length / 2
        return bool(over and rel[2] < 0.006 and offset(hand, pose, pose.rotation[:, 2]).spin < 0.25)


def between(hand: Frame, bar: Bar, slack: float) -> bool:
    """Whether the bar passes between the fingers, off the pads' middle by at most ``slack`` [m]."""
    centre, along = hand.inverse(bar.centre), hand.rotation.T @ bar.along
    nearest = centre - along * np.clip(centre @ along, -bar.length / 2, bar.length / 2)
    return bool(abs(nearest[0]) < OPEN / 2 and abs(nearest[2] + PAST) < slack and abs(nearest[1]) < slack)


def grips(world: World, fixture: str, number: int, bar: Bar, travel: float, kinds: tuple[str, ...]) -> list[Grip]:
    """Ways to have a bar, best first: what the hand would strike counts most, then how far it has to turn.

    Args:
        bar: of what hangs on joint ``number`` of ``fixture``.
        travel: how far it will be moved outward [m].
        kinds: kinds of ways to think of; of two that are as good, that of the first kind is preferred.

    Raises:
        NoPlan: the hand would strike something in each; names a thing that could be moved aside.
    """
    around = _around(world, fixture, number, bar)
    ranked: list[tuple[float, int, Grip, float]] = []
    for rank, kind in enumerate(kinds):
        for grip in _candidates(kind, bar):
            pose, width = grip.pose(bar), OPEN if kind == AROUND else 0.0
            before = Frame(pose.position - STANDOFF * grip.entry(bar), pose.rotation)
            after = Frame(pose.position + travel * bar.outward, pose.rotation)
            hits = clashes(world, (pose, before, after), width, around)
            turn = float(np.linalg.norm(turn_between(REST, pose.rotation)))
            ranked.append((HIT * hits + TURN * turn + rank, len(ranked), grip, hits))
    ranked.sort(key=lambda entry: entry[:2])
    if ranked[0][3] >= STRUCK:
        raise _blocked(world, fixture, ranked[0][2], bar)
    return [grip for _, _, grip, hits in ranked if hits < STRUCK]


def _candidates(kind: str, bar: Bar) -> Iterator[Grip]:
    """Ways of a kind; of the two that differ by which finger is above, the one for which the hand turns less."""
    for tilt in TILTS[kind]:
        for roll in ROLLS[kind]:
            pair = (Grip(kind, tilt, roll, flipped) for flipped in (False, True))
            yield min(pair, key=lambda grip: float(np.linalg.norm(turn_between(REST, grip.rotation(bar)))))


def _around(world: World, fixture: str, number: int, bar: Bar) -> Array:
    """Points of everything near but what hangs on the joint, shape (n, 3), thinned."""
    carriers = {piece.joint for piece in world.body(fixture).pieces} - {number}
    still = [world.part_cloud(fixture, joint) for joint in sorted(carriers, key=str)]
    points = np.concatenate([world.others([fixture]), *still])
    points = points[np.linalg.norm(points - bar.centre, axis=1) < 0.5]
    _, first = np.unique(np.round(points / 0.01).astype(int), axis=0, return_index=True)
    return np.asarray(points[first])


def _blocked(world: World, fixture: str, grip: Grip, bar: Bar) -> NoPlan:
    pose = grip.pose(bar)
    before = Frame(pose.position - STANDOFF * grip.entry(bar), pose.rotation)
    movable = [name for name, body in world.anatomy.bodies.items() if body.movable]
    hits = {name: int(sum(struck(one, OPEN, world.cloud(name)).sum() for one in (pose, before))) for name in movable}
    worst = max(hits, key=lambda name: hits[name], default="")
    blocker = worst if worst and hits[worst] else ""
    return NoPlan(f"the handle of {fixture} cannot be reached: {blocker or 'something'} is in the way", blocker)

"""How the hand takes, drags or presses the bar of a handle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Frame
from gym_grounding.errors import NoPlan
from gym_grounding.experts.skills._fixture import UP, Bar
from gym_grounding.experts.skills._hand import HALF, TIP, clashes, struck
from gym_grounding.experts.skills._reach import STANDOFF, offset
from gym_grounding.experts.skills._way import thinned
from gym_grounding.experts.world import OPEN, World

Array = NDArray[np.float64]
AROUND, UPON, AGAINST = "around", "upon", "against"
"""Open fingers that close around the bar; closed fingertips that press down upon it; or against its face."""
NEUTRAL = np.array([[-1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, -np.sqrt(2)]]) / np.sqrt(2)
"""The hand's axes pointing down with the last joint of the wrist in the middle of its range."""
TILTS = {AROUND: (1.2, 1.3, 1.4, 1.05), UPON: (0.9, 0.8, 1.0, 0.6), AGAINST: (0.6, 0.8, 1.0, 0.4, 1.2)}
"""Angles between the approach and straight down [rad]."""
ROLLS = {
    AROUND: (0.0, 0.3, -0.3, 0.6, -0.6, 0.9, -0.9),
    UPON: (np.pi / 2,),
    AGAINST: (np.pi / 2,),
}
"""Turns of the hand about its approach [rad]; at 0 the closing axis is upright."""
SWINGS = {AROUND: (0.0,), UPON: (0.0,), AGAINST: (0.0, 0.5, -0.5)}
"""Turns of the whole hand about the vertical [rad]; at 0 it comes from straight in front."""
PAST = 0.004
"""How far the grip site is brought past the middle of the bar [m]."""
OUTER = 0.002
"""How far outward of the bar's middle the fingertips press down [m]."""
UNDER, SHY = 0.006, 0.002
"""How far below the bar fingers that push it reach, and how far before its face they come down [m]."""
FINGERS = np.stack(np.meshgrid([-0.018, 0.018], [-HALF, HALF], np.linspace(-0.045, TIP, 28)), axis=-1).reshape(-1, 3)
"""Points along the edges of the closed fingers, in the grip site's axes, shape (n, 3) [m]."""
HIT, TURN, INWARD = 0.1, 0.5, 2.0
"""What a point struck, a radian of turning and an approach towards the robot cost."""
GRAIN = 0.015
"""Side of the cells in which one point stands for all, for what the hand would strike [m]."""
ENOUGH = 4
"""Ways after which no worse ones are looked at."""
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
        swing: turn of the whole hand about the vertical [rad].
    """

    kind: str
    tilt: float
    roll: float
    flipped: bool = False
    swing: float = 0.0

    def rotation(self, bar: Bar) -> Array:
        """The hand's axes, shape (3, 3), world."""
        front = Rotation.from_rotvec(self.swing * UP).apply(bar.outward)
        approach = -np.cos(self.tilt) * UP - np.sin(self.tilt) * front
        upright = np.sin(self.tilt) * UP - np.cos(self.tilt) * front
        closing = Rotation.from_rotvec(self.roll * approach).apply(-upright if self.flipped else upright)
        return np.stack([closing, np.cross(approach, closing), approach], axis=1)

    def pose(self, bar: Bar) -> Frame:
        """The hand that has the bar."""
        rotation = self.rotation(bar)
        if self.kind == AROUND:
            return Frame(bar.centre + PAST * rotation[:, 2], rotation)
        if self.kind == AGAINST:
            return Frame(_before(bar, rotation), rotation)
        lower = np.cos(self.tilt) * bar.outward - np.sin(self.tilt) * UP
        top = bar.centre + bar.thickness / 2 * UP + OUTER * bar.outward
        return Frame(top - TIP * rotation[:, 2] - HALF * lower, rotation)

    def entry(self, bar: Bar) -> Array:
        """Direction in which the pose is entered, shape (3,), unit length."""
        return self.rotation(bar)[:, 2]

    def has(self, world: World, bar: Bar) -> bool:
        """Whether the bar follows the hand now: it is between the pads and they have stopped, or under the tips."""
        hand, pose = world.hand, self.pose(bar)
        if self.kind == AROUND:
            stopped = 0.5 * bar.thickness < world.width < 0.068 and abs(world.closing) < 0.02
            return stopped and between(hand, bar, 0.014)
        rel = hand.position - pose.position
        if self.kind == AGAINST:
            off = offset(hand, pose, -bar.outward)
            return bool(off.within(0.015, 0.015, 0.25) and abs(rel[2]) < 0.01)
        over = abs(rel @ bar.outward) < 0.012 and abs(rel @ bar.along) < bar.length / 2
        return bool(over and rel[2] < 0.006 and offset(hand, pose, pose.rotation[:, 2]).spin < 0.25)


def _before(bar: Bar, rotation: Array) -> Array:
    """Position of the grip site when closed fingers are just before the face of the bar, shape (3,), world [m]."""
    points = FINGERS @ rotation.T
    half = bar.thickness / 2 if abs(bar.along[2]) < 0.5 else bar.length / 2
    rise = float(bar.centre[2]) - half - UNDER - float(points[:, 2].min())
    beside = np.abs(points[:, 2] + rise - bar.centre[2]) <= half
    reach = float((points[beside] @ bar.outward).min())
    face = bar.centre + (bar.depth / 2 + SHY - reach) * bar.outward
    return np.array([*face[:2], rise])


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
    away = (bar.centre - world.anatomy.base) * [1.0, 1.0, 0.0]
    away /= np.linalg.norm(away)
    bounds = [
        (TURN * _turn(grip.rotation(bar)) + INWARD * max(0.0, -float(grip.rotation(bar)[:, 2] @ away)) + rank, grip)
        for rank, kind in enumerate(kinds)
        for grip in _candidates(kind, bar)
    ]
    ranked: list[tuple[float, Grip, float]] = []
    for bound, grip in sorted(bounds, key=lambda entry: entry[0]):
        if sum(cost <= bound for cost, _, _ in ranked) >= ENOUGH:
            break
        pose, width = grip.pose(bar), OPEN if grip.kind == AROUND else 0.0
        before = Frame(pose.position - STANDOFF * grip.entry(bar), pose.rotation)
        after = Frame(pose.position + travel * bar.outward, pose.rotation)
        hits = clashes(world, (pose, before, after), width, around)
        ranked.append((bound + HIT * hits, grip, hits))
    ranked.sort(key=lambda entry: entry[0])
    if ranked[0][2] >= STRUCK:
        raise _blocked(world, fixture, ranked[0][1], bar)
    return [grip for _, grip, hits in ranked if hits < STRUCK]


def _turn(rotation: Array) -> float:
    """Angle from the wrist's middle [rad]."""
    return float(np.arccos(np.clip((np.sum(NEUTRAL * rotation) - 1) / 2, -1, 1)))


def _candidates(kind: str, bar: Bar) -> Iterator[Grip]:
    """Ways of a kind; of the two that differ by which finger is above, the one for which the hand turns less."""
    for tilt, roll, swing in product(TILTS[kind], ROLLS[kind], SWINGS[kind]):
        pair = (Grip(kind, tilt, roll, flipped, swing) for flipped in (False, True))
        yield min(pair, key=lambda grip: _turn(grip.rotation(bar)))


def _around(world: World, fixture: str, number: int, bar: Bar) -> Array:
    """Points of everything near but what hangs on the joint, shape (n, 3), thinned."""
    carriers = {piece.joint for piece in world.body(fixture).pieces} - {number}
    still = [world.part_cloud(fixture, joint) for joint in sorted(carriers, key=str)]
    points = np.concatenate([world.others([fixture]), *still])
    points = points[np.linalg.norm(points - bar.centre, axis=1) < 0.5]
    return thinned(points, GRAIN)


def _blocked(world: World, fixture: str, grip: Grip, bar: Bar) -> NoPlan:
    pose = grip.pose(bar)
    before = Frame(pose.position - STANDOFF * grip.entry(bar), pose.rotation)
    movable = [name for name, body in world.anatomy.bodies.items() if body.movable]
    hits = {name: int(sum(struck(one, OPEN, world.cloud(name)).sum() for one in (pose, before))) for name in movable}
    worst = max(hits, key=lambda name: hits[name], default="")
    blocker = worst if worst and hits[worst] else ""
    return NoPlan(f"the handle of {fixture} cannot be reached: {blocker or 'something'} is in the way", blocker)

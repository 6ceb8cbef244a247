"""Where to take hold of a thing: candidates from its collision geometry, judged by what the hand would hit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters import Frame
from gym_grounding.experts import arm
from gym_grounding.experts.skills._way import thinned
from gym_grounding.experts.world import OPEN, World

Array = NDArray[np.float64]

DEEP = 0.028
"""How far below a thing's top it is held, at most [m]."""
SHARE = 0.4
"""The same as a share of its height, for lower things."""
FLAT = 0.03
"""Things lower than this are held closer to their top."""
WIDEST = 0.068
"""Widest slice that fits between the open pads with some room [m]."""
TIP, PAD, HALF = 0.011, 0.012, 0.011
"""How far the fingers reach beyond the grip site, half the pads' height, half a finger's breadth [m]."""
OUTER = 0.060
"""Outer side of the open fingers, from the middle [m]."""
HAND_LOW, HAND_HIGH = np.array([-0.104, -0.034, -0.140]), np.array([0.104, 0.034, -0.045])
"""The hand's body in the grip site's frame [m]."""
ABOVE = 0.06
"""How far back along the approach the way must be free as well [m]."""
LEANS = (0.0, 0.5, 1.0)
"""Angles between the approach and straight down [rad]."""
NEAR = 0.26
"""Nothing farther from the grip site than this can touch the hand [m]."""
MISSED = 0.015
"""What the arm may miss a pose of the hand by, to get there [m, a radian as 0.1]."""
ROOM, ENDS = 0.15, 6.0
"""A joint nearer than this to its end costs, so much at its end [rad]."""
TOUCHED, COARSE = 4.0, 0.025
"""What a point in the arm costs, one in each cell of this size [m]."""
LOOKED = 240
"""So many grasps are looked at where one of them will do."""
TOGETHER = 24
"""So many grasps are looked at together."""
THIN = 0.01
"""Obstacles are known by one point in each cell of this size [m]."""


@dataclass(frozen=True, slots=True, eq=False)
class Grasp:
    """A way to hold a thing.

    Attributes:
        hand: the grip site in the thing's frame.
        rotation: the grip site's axes in the world as the thing lies now, shape (3, 3).
        width: of what is between the pads [m].
        cost: what speaks against it; what it would hit counts most.
        slack: how far short of it the fingers may close, along the approach [m].
    """

    hand: Frame
    rotation: Array
    width: float
    cost: float
    slack: float = 0.007


def axes(closing: Array, lean: float = 0.0) -> Array:
    """Hand axes, shape (3, 3), with a level closing axis, leaning by ``lean`` [rad] from straight down.

    Args:
        closing: level direction, shape (3,), unit length.
    """
    forward = np.cross([0.0, 0.0, -1.0], closing)
    approach = np.cos(lean) * np.array([0.0, 0.0, -1.0]) + np.sin(lean) * forward
    return np.stack([closing, np.cross(approach, closing), approach], axis=1)


def efforts(hands: Sequence[Frame], world: World, before: Array | None = None) -> tuple[Array, Array]:
    """What the arm itself says against poses of the hand, shape (n,), inf where it does not get there; and its joints.

    Args:
        hands: the poses.
        before: joints from where it comes, shape (n, 7) [rad]; None for the present ones.
    """
    joints, left = arm.settled(hands, world.anatomy.base, world.arm if before is None else before)
    room = np.minimum(joints - arm.LOW, arm.HIGH - joints).min(axis=1)
    cost = ENDS * np.maximum(0.0, 1.0 - room / ROOM)
    return np.where(left > MISSED, np.inf, cost), joints


def hits(frame: Frame, cloud: Array) -> int:
    """How many points of a cloud, shape (n, 3), lie inside the hand with open fingers at ``frame``."""
    if not len(cloud):
        return 0
    points = frame.inverse(cloud)
    hand = np.all((points > HAND_LOW) & (points < HAND_HIGH), axis=1)
    across, depth = np.abs(points[:, 0]), points[:, 2]
    slender = (np.abs(points[:, 1]) < HALF) & (depth > HAND_HIGH[2]) & (depth < TIP)
    fingers = slender & (across > OPEN / 2) & (across < OUTER)
    return int(np.count_nonzero(hand | fingers))


def candidates(world: World, thing: str, hand: Array, leans: Sequence[float] = LEANS) -> list[Grasp]:
    """Ways to hold a thing as it lies now, whatever is around it; their cost tells how firm and how natural they are.

    Args:
        hand: present hand axes, shape (3, 3); turning far costs.
    """
    cloud, frame = world.cloud(thing), world.frame(thing)
    found = list(_dish(cloud, frame, hand))
    for point, closing in _points(cloud):
        for lean in leans:
            for signed in (closing, -closing) if lean else (_natural(closing),):
                rotation = axes(signed, lean)
                one = _candidate(cloud, frame, point, rotation, hand)
                if one is not None:
                    found.append(one)
    return found


def _natural(closing: Array) -> Array:
    """The sign of a level direction for which the hand turns least from its rest, where it closes along y."""
    return closing if closing[1] > 1e-9 or (abs(closing[1]) <= 1e-9 and closing[0] > 0) else -closing


def _points(cloud: Array) -> Iterator[tuple[Array, Array]]:
    """Points and level closing directions to try: the middle of the thing, its rim, and what is slender elsewhere."""
    low, high = float(cloud[:, 2].min()), float(cloud[:, 2].max())
    depth = min(DEEP, SHARE * (high - low)) if high - low > FLAT else min(0.25 * (high - low), 0.005)
    level = high - depth
    slab = cloud[np.abs(cloud[:, 2] - level) < 0.012]
    if len(slab) < 4:
        slab = cloud
    middle = (slab.min(axis=0) + slab.max(axis=0)) / 2
    for angle in np.linspace(0, np.pi, 24, endpoint=False):
        closing = np.array([np.cos(angle), np.sin(angle), 0.0])
        across = slab @ closing
        if across.max() - across.min() < WIDEST:
            yield np.array([*middle[:2], level]), closing
    yield from _rim(cloud, high, min(0.02, max(depth, 0.004)))
    yield from _elsewhere(cloud, middle, depth)


def _dish(cloud: Array, frame: Frame, hand: Array) -> Iterator[Grasp]:
    """A flat dish: one finger inside, one outside its raised rim, as deep as the work surface lets them."""
    low, high = cloud.min(axis=0), cloud.max(axis=0)
    middle, radius = (low + high) / 2, float((high - low)[:2].min() / 2)
    if high[2] - low[2] > FLAT or radius < WIDEST / 2:
        return
    for angle in np.linspace(0, 2 * np.pi, 24, endpoint=False):
        outward = np.array([np.cos(angle), np.sin(angle), 0.0])
        rotation = axes(_natural(outward))
        point = np.array([*(middle[:2] + outward[:2] * (radius - 0.018)), low[2] + 0.0045])
        turn = float(np.arccos(np.clip((np.trace(rotation @ hand.T) - 1) / 2, -1, 1)))
        yield Grasp(Frame(frame.inverse(point), frame.rotation.T @ rotation), rotation, 0.02, 1.2 * turn, 0.013)


def _rim(cloud: Array, high: float, depth: float) -> Iterator[tuple[Array, Array]]:
    top = cloud[cloud[:, 2] > high - 0.02]
    middle = (top.min(axis=0) + top.max(axis=0)) / 2
    offsets = top[:, :2] - middle[:2]
    for angle in np.linspace(0, 2 * np.pi, 24, endpoint=False):
        outward = np.array([np.cos(angle), np.sin(angle)])
        along, beside = offsets @ outward, np.abs(offsets @ [-outward[1], outward[0]])
        line = along[(beside < 0.012) & (along > 0)]
        if len(line) and line.max() > 0.02:
            inset = 0.012 if depth < 0.01 else 0.006
            yield np.array([*(middle[:2] + outward * (line.max() - inset)), high - depth]), np.array([*outward, 0.0])


def _elsewhere(cloud: Array, middle: Array, depth: float) -> Iterator[tuple[Array, Array]]:
    """Handles, spouts, lids: the highest point of each cell of 2 cm, closing in six directions."""
    cells = np.round(cloud[:, :2] / 0.02).astype(int)
    order = np.lexsort((cloud[:, 2], cells[:, 1], cells[:, 0]))
    last = np.append(np.any(np.diff(cells[order], axis=0) != 0, axis=1), True)
    for top in cloud[order[last]]:
        if np.linalg.norm(top[:2] - middle[:2]) > 0.02:
            for angle in np.linspace(0, np.pi, 6, endpoint=False):
                yield top - [0.0, 0.0, min(depth, 0.02)], np.array([np.cos(angle), np.sin(angle), 0.0])


def _candidate(cloud: Array, frame: Frame, point: Array, rotation: Array, hand: Array) -> Grasp | None:
    """The grasp centred on what is between the pads; None where that is nothing or too wide."""
    between, width = _between(cloud, Frame(point, rotation))
    if between is None or width > WIDEST:
        return None
    point = point + rotation[:, 0] * between
    again, width = _between(cloud, Frame(point, rotation))
    if again is None or abs(again) > 0.006 or width > WIDEST:
        return None
    centre = (cloud.min(axis=0) + cloud.max(axis=0)) / 2
    lean = float(np.arccos(np.clip(-rotation[2, 2], -1, 1)))
    turn = float(np.arccos(np.clip((np.trace(rotation @ hand.T) - 1) / 2, -1, 1)))
    away = float(np.linalg.norm(point[:2] - centre[:2]))
    # Off the middle, a thin wall is held well, and the chord of a round rim is not.
    cost = 4 * lean + 1.2 * turn + 20 * away + 1200 * away * width + 10 * max(0.0, width - 0.055)
    local = Frame(frame.inverse(point), frame.rotation.T @ rotation)
    return Grasp(local, rotation, width, cost + hits(Frame(point, rotation), cloud))


def _between(cloud: Array, frame: Frame) -> tuple[float | None, float]:
    """Middle and width, along the closing axis, of what is between the pads."""
    points = frame.inverse(cloud)
    inside = (np.abs(points[:, 1]) < HALF) & (np.abs(points[:, 2]) < PAD) & (np.abs(points[:, 0]) < OPEN / 2)
    across = points[inside, 0]
    if not len(across):
        return None, 0.0
    return float(across.min() + across.max()) / 2, float(across.max() - across.min())


class Ways:
    """Grasps of a thing as it lies now, cheapest first, and what the arm says against getting there.

    Args:
        found: the grasps.
        world: where the thing and the arm are now.
        thing: what is to be taken.
        obstacles: points of everything else, shape (n, 3).
    """

    def __init__(self, found: Sequence[Grasp], world: World, thing: str, obstacles: Array) -> None:
        self.grasps = sorted(found, key=lambda grasp: grasp.cost)
        self.frame = world.frame(thing)
        self.world = world
        self._obstacles, self._coarse = obstacles, thinned(obstacles, COARSE)
        self._looked: list[tuple[float, Array]] = []

    def effort(self, number: int) -> tuple[float, Array]:
        """What the arm says against a grasp, inf where it does not get there, and its joints there, shape (7,)."""
        while number >= len(self._looked):
            first = len(self._looked)
            hands = [self.frame.then(one.hand) for one in self.grasps[first : first + TOGETHER]]
            before, joints = efforts([back(hand) for hand in hands], self.world)
            there, joints = efforts(hands, self.world, joints)
            touched = TOUCHED * arm.struck(joints, self.world.anatomy.base, self._coarse)
            self._looked += zip((before + there + touched).tolist(), joints, strict=True)
        return self._looked[number]

    def best(self, goal: Frame | None, around: Array) -> Grasp | None:
        """The grasp that costs least, with what the hand would hit and the arm's effort added; None of none.

        Args:
            goal: frame of the thing when it is let go; None where it is only held.
            around: points of everything else then, shape (n, 3).
        """
        chosen: Grasp | None = None
        for first in range(0, len(self.grasps), TOGETHER):
            least = np.inf if chosen is None else chosen.cost
            if self.grasps[first].cost >= least or (chosen is not None and first >= LOOKED):
                break  # what is looked at here only adds to its cost
            some = self._taken(first, least)
            if goal is not None:
                some = self._let_go(some, goal, around)
            for one, _ in some:
                if one.cost < (np.inf if chosen is None else chosen.cost):
                    chosen = one
        return chosen

    def _taken(self, first: int, least: float) -> list[tuple[Grasp, Array]]:
        """Some grasps that cost less than ``least`` with what speaks against taking them, and the arm's joints."""
        result = []
        for number in range(first, min(first + TOGETHER, len(self.grasps))):
            one = self.grasps[number]
            effort, joints = self.effort(number)
            hand = self.frame.then(one.hand)
            cost = one.cost + effort
            if cost < least:
                cost += 2.0 * hits(hand, self._obstacles) + 0.5 * hits(back(hand), self._obstacles)
                cost += _buried(hand, self.world.anatomy.ground)
            if cost < least:
                result.append((replace(one, cost=cost), joints))
        return result

    def _let_go(self, some: list[tuple[Grasp, Array]], goal: Frame, around: Array) -> list[tuple[Grasp, Array]]:
        """The same with what speaks against letting go."""
        hands = [goal.then(one.hand) for one, _ in some]
        there, joints = efforts(hands, self.world, np.array([before for _, before in some]).reshape(-1, 7))
        there = there + TOUCHED * arm.struck(joints, self.world.anatomy.base, thinned(around, COARSE))
        result = []
        for (one, _), hand, effort, after in zip(some, hands, there, joints, strict=True):
            cost = one.cost + effort
            if np.isfinite(cost):
                cost += 1.5 * hits(hand, around) + _buried(hand, self.world.anatomy.ground)
                result.append((replace(one, cost=cost), after))
        return result


def back(hand: Frame) -> Frame:
    """The pose from which a hand goes straight into another."""
    return Frame(hand.position - ABOVE * hand.rotation[:, 2], hand.rotation)


def blocker(world: World, thing: str, hand: Frame) -> str:
    """The object that the hand would strike most on its way into a pose; empty for none."""
    movable = [name for name, body in world.anatomy.bodies.items() if body.movable and name != thing]
    struck = {name: sum(hits(pose, world.cloud(name)) for pose in (hand, back(hand))) for name in movable}
    worst = max(struck, key=lambda name: struck[name], default="")
    return worst if worst and struck[worst] else ""


def near(cloud: Array, position: Array) -> Array:
    """The points of a cloud, shape (n, 3), that a hand holding a thing at ``position`` could touch, thinned out."""
    close = cloud[np.abs(cloud - position).max(axis=1) < 1.5 * NEAR] if len(cloud) else cloud
    return thinned(close, THIN)


def _buried(hand: Frame, ground: float) -> float:
    """Cost of finger tips below the work surface."""
    tips = hand.apply(np.array([[OPEN / 2, 0.0, TIP], [-OPEN / 2, 0.0, TIP]]))
    below = ground - float(tips[:, 2].min())
    return 1000 * max(0.0, below - 0.008)

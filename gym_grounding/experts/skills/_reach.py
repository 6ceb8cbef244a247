"""Bringing the hand to a fixture or a thing: straight there where the way is free, else over what stands around."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters import Frame
from gym_grounding.experts.control import Command, turn_between
from gym_grounding.experts.skills._hand import lowest, struck
from gym_grounding.experts.skills._way import Relief, over, thinned
from gym_grounding.experts.world import World

Array = NDArray[np.float64]
STANDOFF = 0.10
"""Length of the line on which a pose is entered [m]."""
BESIDE = 0.05
"""Farther from that line than this, the way leads to its beginning first [m]."""
OVER = 0.04
"""Room left above what is flown over [m]."""
CORRIDOR = 0.09
"""Half breadth of the way over things that must be free [m]."""
ROOM = 0.012
"""Room left around the hand on the straight way [m]."""
CELL = 0.01
"""Side of the cells of which one point each is kept [m]."""
STAGES = np.linspace(0.0, 1.0, 7)
"""Parts of the straight way at which the hand is tried."""


@dataclass(frozen=True, slots=True, eq=False)
class Surroundings:
    """What stands around, read once for a deed.

    Attributes:
        points: of everything, one for each small cell, shape (n, 3).
        relief: how high it reaches.
    """

    points: Array
    relief: Relief

    @classmethod
    def of(cls, world: World) -> Surroundings:
        """What stands around now."""
        points = thinned(world.others(), CELL)
        return cls(points, Relief.of(points, world.anatomy.ground))


@dataclass(frozen=True, slots=True)
class Offset:
    """How the hand is off a pose.

    Attributes:
        depth: how far it is before the pose, along the line of entry; below 0 when past it [m].
        lateral: distance from that line [m].
        spin: angle [rad].
    """

    depth: float
    lateral: float
    spin: float

    def within(self, depth: float, lateral: float, spin: float) -> bool:
        """Whether it is off by less than that."""
        return abs(self.depth) < depth and self.lateral < lateral and self.spin < spin


def offset(hand: Frame, goal: Frame, entry: Array) -> Offset:
    """How ``hand`` is off ``goal``, which is entered along ``entry``, shape (3,), unit length."""
    gap = goal.position - hand.position
    depth = float(gap @ entry)
    spin = float(np.linalg.norm(turn_between(hand.rotation, goal.rotation)))
    return Offset(depth, float(np.linalg.norm(gap - depth * entry)), spin)


def towards(world: World, around: Surroundings, goal: Frame, entry: Array, grip: float, lead: float = 0.0) -> Command:
    """One step on the way into a pose: the closer to the line of entry and to its rotation, the deeper.

    Args:
        around: what stands around.
        entry: direction of the last piece of the way, shape (3,), unit length.
        grip: gripper command.
        lead: how far beyond the pose is aimed once the hand is on the line [m].
    """
    off = offset(world.hand, goal, entry)
    back = 1.5 * max(0.0, off.lateral - 0.007) + 0.3 * max(0.0, off.spin - 0.1)
    target = goal.position + entry * (lead if back == 0.0 else -min(back, STANDOFF))
    if off.lateral > BESIDE or not -BESIDE < off.depth < 1.5 * STANDOFF:
        target = fly(world, around, Frame(goal.position - entry * STANDOFF, goal.rotation))
    return Command(target, goal.rotation, grip)


def fly(world: World, around: Surroundings, goal: Frame) -> Array:
    """Where to head for now on the way to ``goal``, shape (3,): straight there, or over everything."""
    hand = world.hand
    if is_free(world, around, goal):
        return goal.position
    hanging = max(
        hand.position[2] - lowest(Frame(hand.position, turn), world.width) for turn in (hand.rotation, goal.rotation)
    )
    height = around.relief.highest(hand.position[:2], goal.position[:2], CORRIDOR) + OVER + hanging
    return over(hand.position, goal.position, height, BESIDE)


def is_free(world: World, around: Surroundings, goal: Frame) -> bool:
    """Whether the hand strikes nothing on the straight way to ``goal``, turned as now at first and as there at last."""
    hand = world.hand
    way = goal.position - hand.position
    for share in STAGES:
        rotation = hand.rotation if share < 0.3 else goal.rotation
        pose = Frame(hand.position + share * way, rotation)
        if lowest(pose, world.width) < world.anatomy.ground + ROOM:
            return False
        if struck(pose, world.width, around.points, ROOM).any():
            return False
    return True

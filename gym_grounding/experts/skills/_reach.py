"""Bringing the hand into a pose at a fixture: over what stands around it first, then along one line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters import Frame
from gym_grounding.experts.control import Command, turn_between
from gym_grounding.experts.skills._hand import lowest
from gym_grounding.experts.skills._way import Relief, over
from gym_grounding.experts.world import World

Array = NDArray[np.float64]
STANDOFF = 0.10
"""Length of the line on which a pose is entered [m]."""
BESIDE = 0.05
"""Farther from that line than this, the way leads over everything to its beginning [m]."""
OVER = 0.04
"""Room left above what is flown over [m]."""
CORRIDOR = 0.09
"""Half breadth of the way that must be free [m]."""


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


def towards(world: World, goal: Frame, entry: Array, grip: float, lead: float = 0.0) -> Command:
    """One step on the way into a pose: the closer to the line of entry and to its rotation, the deeper.

    Args:
        entry: direction of the last piece of the way, shape (3,), unit length.
        grip: gripper command.
        lead: how far beyond the pose is aimed once the hand is on the line [m].
    """
    off = offset(world.hand, goal, entry)
    if off.lateral < BESIDE and -BESIDE < off.depth < 1.5 * STANDOFF:
        back = 1.5 * max(0.0, off.lateral - 0.007) + 0.3 * max(0.0, off.spin - 0.1)
        ahead = lead if back == 0.0 else -min(back, STANDOFF)
        return Command(goal.position + entry * ahead, goal.rotation, grip)
    return Command(fly(world, goal.position - entry * STANDOFF, goal.rotation), goal.rotation, grip)


def fly(world: World, target: Array, rotation: Array) -> Array:
    """Where to head for now on the way over everything to ``target``, shape (3,)."""
    hand = world.hand
    relief = Relief.of(world.others(), world.anatomy.ground)
    hanging = max(world.hand.position[2] - lowest(pose, world.width) for pose in (hand, Frame(hand.position, rotation)))
    height = relief.highest(hand.position[:2], target[:2], CORRIDOR) + OVER + hanging
    return over(hand.position, target, height, BESIDE)

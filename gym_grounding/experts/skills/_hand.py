"""The shape of the hand, and what it would strike in a pose."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters import Frame
from gym_grounding.experts.world import World

Array = NDArray[np.float64]
TIP, HALF = 0.009, 0.0105
"""How far the fingertips lie beyond the grip site along the approach, and half the breadth of a finger [m]."""
PALM = np.array([[-0.104, -0.034, -0.125], [0.104, 0.034, -0.031]])
"""Least and greatest corner of the box around the palm, in the grip site's axes [m]."""
WRIST = np.array([[-0.07, -0.07, -0.28], [0.07, 0.07, -0.125]])
"""The same of the flange behind it."""
MARGIN = 0.001
"""How far things should stay from the hand [m]."""


def boxes(width: float) -> Array:
    """Boxes that enclose the hand, its pads ``width`` apart, shape (n, 2, 3) [m]."""
    inner, outer = width / 2, width / 2 + 0.018
    right = np.array([[inner, -HALF, -0.045], [outer, HALF, TIP]])
    left = np.array([[-outer, -HALF, -0.045], [-inner, HALF, TIP]])
    return np.stack([right, left, PALM, WRIST])


def struck(pose: Frame, width: float, points: Array, margin: float = MARGIN) -> NDArray[np.bool_]:
    """Which of ``points``, shape (n, 3), lie in the hand or within ``margin`` of it."""
    inside = np.zeros(len(points), bool)
    x, y, z = pose.inverse(points).T
    for low, high in boxes(width):
        low, high = low - margin, high + margin
        inside |= (x > low[0]) & (x < high[0]) & (y > low[1]) & (y < high[1]) & (z > low[2]) & (z < high[2])
    return inside


def lowest(pose: Frame, width: float) -> float:
    """Height of the hand's lowest point [m]."""
    low, high = boxes(width).transpose(1, 0, 2)
    down = pose.rotation[2]
    return float(pose.position[2] + np.minimum(low * down, high * down).sum(axis=1).min())


def clashes(world: World, poses: Iterable[Frame], width: float, points: Array) -> float:
    """How badly the hand would strike ``points`` or the work surface in ``poses``; 0 for not at all."""
    total = 0.0
    for pose in poses:
        sunk = world.anatomy.ground + MARGIN - lowest(pose, width)
        total += float(struck(pose, width, points).sum()) + max(0.0, sunk) * SUNK
    return total


SUNK = 1000.0
"""Points that one metre below the work surface counts for."""

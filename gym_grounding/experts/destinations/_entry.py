"""The last piece of the way to where a thing is let go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters import Body, Frame
from gym_grounding.experts.destinations._relief import Placed, planes
from gym_grounding.experts.destinations._rest import Rest

Array = NDArray[np.float64]
DOWN = np.array([0.0, 0.0, -1.0])
STEP, FARTHEST, GROWN = 0.008, 0.32, 0.003
"""The way is looked at in steps of this and is this long at most; obstacles seem this much thicker, lest a wall falls
between two steps [m]."""
LIFT = 0.008
"""A thing is carried this much over its support until it is there [m]."""
OUTSIDE = 0.02
"""How far beyond what stands around it a thing begins its last piece of the way [m]."""
SHORTEST, LONGEST = 0.06, 0.30
"""Bounds of the last piece of a way straight down [m]."""
POINTS = 300
"""So many of a thing's points are looked at."""
_SLOPES = (2.0, 1.0, 0.5, 0.0)
"""Descent per metre sideways of the ways that are tried, steep ones first."""


@dataclass(frozen=True, slots=True, eq=False)
class Way:
    """A straight way in.

    Attributes:
        direction: of motion, shape (3,), unit length.
        length: from where the thing is free above to its rest [m].
    """

    direction: Array
    length: float


def way(body: Body, rest: Rest, obstacles: Sequence[Placed], known: Sequence[Way] = ()) -> Way | None:
    """How a thing gets to its rest: straight down where nothing hangs over it, else sideways; None if it does not.

    Args:
        known: ways of similar rests, which are tried first.
    """
    if not rest.roofed:
        return Way(DOWN, float(np.clip(rest.rim + OUTSIDE, SHORTEST, LONGEST)))
    surface = np.concatenate([piece.surface for piece in body.pieces])
    points = Frame(rest.position + np.array([0.0, 0.0, LIFT]), rest.rotation).apply(_thinned(surface))
    near = _Obstacles(points, obstacles)
    for directions in [[one.direction] for one in known] + _directions():
        lengths = [near.length(points, -one) for one in directions]
        free = np.array([np.inf if length is None else length for length in lengths])
        if np.isfinite(free).any():
            # Of equally long ways the one in the middle of others.
            open_sides = np.roll(np.isfinite(free), 1) + 0.0 + np.roll(np.isfinite(free), -1)
            best = int(np.argmin(free - STEP / 2 * open_sides))
            return Way(directions[best], float(free[best]))
    return None


def _directions() -> list[list[Array]]:
    """Ways in from eight sides, steep ones first."""
    result = []
    for slope in _SLOPES:
        angles = np.arange(8) * np.pi / 4
        flat = [-np.array([np.cos(angle), np.sin(angle), slope]) for angle in angles]
        result.append([one / np.linalg.norm(one) for one in flat])
    return result


def _thinned(points: Array) -> Array:
    """At most ``POINTS`` of the points, evenly taken."""
    return points[:: max(1, len(points) // POINTS)]


class _Obstacles:
    """Convex obstacles near some points.

    Args:
        points: shape (n, 3).
        parts: the obstacles.
    """

    def __init__(self, points: Array, parts: Sequence[Placed]) -> None:
        first, last = points.min(axis=0) - FARTHEST, points.max(axis=0) + FARTHEST
        self._sides: list[Array] = []
        bounds = []
        for piece, frame in parts:
            corners = frame.apply(piece.corners)
            low, high = corners.min(axis=0), corners.max(axis=0)
            if np.all(low < last) and np.all(high > first):
                sides = planes(piece)
                normals = sides[:, :3] @ frame.rotation.T
                self._sides.append(np.column_stack([normals, sides[:, 3] - normals @ frame.position - GROWN]))
                bounds.append((low - GROWN, high + GROWN))
        self._low, self._high = (np.array(some).reshape(-1, 3) for some in zip(*bounds, strict=True))

    def length(self, points: Array, back: Array) -> float | None:
        """How far the points must be drawn back until nothing hangs over them; None where something is in the way."""
        for length in np.arange(STEP, FARTHEST, STEP):
            moved = points + length * back
            if self._hit(moved):
                return None
            if length >= SHORTEST - OUTSIDE and not self._covered(moved):
                return float(length + OUTSIDE)
        return None

    def _hit(self, points: Array) -> bool:
        low, high = points.min(axis=0), points.max(axis=0)
        for index in np.flatnonzero(np.all((self._low < high) & (self._high > low), axis=1)):
            close = points[np.all((points > self._low[index]) & (points < self._high[index]), axis=1)]
            sides = self._sides[index]
            if len(close) and bool((close @ sides[:, :3].T + sides[:, 3] < 0).all(axis=1).any()):
                return True
        return False

    def _covered(self, points: Array) -> bool:
        """Whether one of the obstacles, taken as boxes, hangs over the points."""
        low, high = points.min(axis=0), points.max(axis=0)
        flat = np.all((self._low[:, :2] < high[:2]) & (self._high[:, :2] > low[:2]), axis=1)
        for index in np.flatnonzero(flat & (self._high[:, 2] > low[2])):
            inside = np.all((points[:, :2] > self._low[index, :2]) & (points[:, :2] < self._high[index, :2]), axis=1)
            if (points[inside, 2] < self._high[index, 2]).any():
                return True
        return False

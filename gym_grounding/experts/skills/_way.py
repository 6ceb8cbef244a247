"""Ways of the hand around what stands in the scene."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

CELL = 0.01
"""Side of a cell of the relief [m]."""


@dataclass(frozen=True, slots=True, eq=False)
class Relief:
    """How high things reach, seen from above.

    Attributes:
        cells: middle of each occupied cell, shape (n, 2), world [m].
        tops: highest point in it, shape (n,), world [m].
        ground: height of the work surface [m].
    """

    cells: Array
    tops: Array
    ground: float

    @classmethod
    def of(cls, cloud: Array, ground: float) -> Relief:
        """The relief of a cloud, shape (n, 3)."""
        if not len(cloud):
            return cls(np.empty((0, 2)), np.empty(0), ground)
        numbers = np.round(cloud[:, :2] / CELL).astype(int)
        order = np.lexsort((cloud[:, 2], numbers[:, 1], numbers[:, 0]))
        last = np.append(np.any(np.diff(numbers[order], axis=0) != 0, axis=1), True)
        return cls(numbers[order[last]] * CELL, cloud[order[last], 2], ground)

    def highest(self, start: Array, end: Array, width: float) -> float:
        """Height of what stands within ``width`` of the way from ``start`` to ``end``, shapes (2,) [m]."""
        if not len(self.tops):
            return self.ground
        way = end - start
        length = float(way @ way)
        share = np.clip((self.cells - start) @ way / length, 0, 1) if length > 1e-9 else np.zeros(len(self.cells))
        gaps = np.linalg.norm(self.cells - start - share[:, None] * way, axis=1)
        near = self.tops[gaps < width]
        return max(self.ground, float(near.max())) if len(near) else self.ground


def thinned(points: Array, cell: float) -> Array:
    """One point of each cell of side ``cell`` [m], shape (m, 3), of points, shape (n, 3)."""
    cells = np.round(points / cell).astype(np.int64) @ [1 << 40, 1 << 20, 1]
    return np.asarray(points[np.unique(cells, return_index=True)[1]])


def over(now: Array, target: Array, height: float, near: float) -> Array:
    """Where to head for now so that the way to ``target`` leads over everything, shape (3,).

    Args:
        now: present position, shape (3,).
        height: height at which the way is free.
        near: within this distance from the target, seen from above, it is headed for directly [m].
    """
    if float(np.linalg.norm(target[:2] - now[:2])) < near:
        return target
    height = max(height, target[2])
    lacking = height - now[2]
    if lacking > 0.04:  # up first: sideways only as the height allows
        return np.array([*now[:2], height])
    share = 1.0 if lacking < 0.01 else 0.3
    aim = now[:2] + share * (target[:2] - now[:2])
    return np.array([*aim, height])

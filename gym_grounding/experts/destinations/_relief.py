"""Heights of convex pieces over a grid: what a thing let down from above comes to rest on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from gym_grounding.adapters import Body, Frame, Piece
from gym_grounding.experts.world import World

Array = NDArray[np.float64]
Placed = tuple[Piece, Frame]
"""A piece and the frame that it is given in."""
CELL = 0.005
"""Side of a grid cell [m]."""
_UPRIGHT = 1e-6
"""A plane steeper than this is a wall: it bounds no height."""


@dataclass(frozen=True, slots=True, eq=False)
class Grid:
    """Square cells seen from above.

    Attributes:
        corner: world x and y of the centre of cell (0, 0), shape (2,) [m].
        shape: number of cells along x and y.
    """

    corner: Array
    shape: tuple[int, int]

    @classmethod
    def over(cls, low: Array, high: Array) -> Grid:
        """The grid whose cells' centres span a rectangle, corners of shape (2,) [m]."""
        columns, rows = np.maximum(np.ceil((high - low) / CELL - 1e-9).astype(int) + 1, 1)
        return cls(np.asarray(low, np.float64), (int(columns), int(rows)))

    @classmethod
    def around(cls, reach: float) -> Grid:
        """The grid of a square whose middle cell lies at the origin."""
        count = int(np.ceil(reach / CELL))
        return cls(np.array([-count * CELL, -count * CELL]), (2 * count + 1, 2 * count + 1))

    def centres(self) -> Array:
        """Centres of the cells, shape (columns, rows, 2) [m]."""
        x = self.corner[0] + CELL * np.arange(self.shape[0])
        y = self.corner[1] + CELL * np.arange(self.shape[1])
        return np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1)


def tops(parts: Iterable[Placed], grid: Grid, grown: float = CELL / 2) -> Array:
    """Height of the highest point in each cell; -inf over nothing [m].

    Args:
        grown: half side of the square that a cell takes in [m]: at half a cell, a wall thinner than a cell is not
            missed, and gaps seem narrower than they are.
    """
    heights = np.full(grid.shape, -np.inf)
    for window, _, upper in _heights(parts, grid, grown):
        np.maximum(heights[window], upper, out=heights[window])
    return heights


def bottoms(parts: Iterable[Placed], grid: Grid, grown: float = 0.0) -> Array:
    """Height of the lowest point in each cell; inf under nothing [m]. ``grown`` is as in ``tops``."""
    heights = np.full(grid.shape, np.inf)
    for window, lower, _ in _heights(parts, grid, grown):
        np.minimum(heights[window], lower, out=heights[window])
    return heights


def placed(world: World, *names: str) -> list[Placed]:
    """The pieces of objects and fixtures where they are now."""
    parts: list[Placed] = []
    for name in names:
        pieces = world.body(name).pieces
        frames = {joint: world.part(name, joint) for joint in {piece.joint for piece in pieces}}
        parts += [(piece, frames[piece.joint]) for piece in pieces]
    return parts


def ground(world: World) -> Placed:
    """The work surface as a piece."""
    x_min, y_min, x_max, y_max = np.clip(world.anatomy.extent, -3.0, 3.0)
    top = world.anatomy.ground
    corners = np.array([[x, y, z] for x in (x_min, x_max) for y in (y_min, y_max) for z in (top - 0.05, top)])
    return Piece(corners, corners), Frame(np.zeros(3), np.eye(3))


def others(world: World, *without: str) -> list[Placed]:
    """The pieces of every object and fixture but the named."""
    return placed(world, *(name for name in world.anatomy.bodies if name not in without))


@lru_cache(maxsize=1024)
def middle(body: Body) -> Array:
    """Centre of an entity's volume in its own frame, shape (3,) [m]; stands in for the centre of mass."""
    weights, centres = zip(*(_volume(piece) for piece in body.pieces), strict=True)
    centre: Array = np.average(np.array(centres), axis=0, weights=np.maximum(weights, 1e-12))
    return centre


def _heights(parts: Iterable[Placed], grid: Grid, margin: float) -> Iterator[tuple[tuple[slice, slice], Array, Array]]:
    """Window of the grid, and lowest and highest point in its cells, of each piece that reaches into the grid."""
    for piece, frame in parts:
        corners = frame.apply(piece.corners)
        low, high = corners.min(axis=0), corners.max(axis=0)
        first = np.maximum(np.ceil((low[:2] - margin - grid.corner) / CELL).astype(int), 0)
        last = np.minimum(np.floor((high[:2] + margin - grid.corner) / CELL).astype(int), np.array(grid.shape) - 1)
        if np.any(first > last):
            continue
        x = grid.corner[0] + CELL * np.arange(first[0], last[0] + 1)
        y = grid.corner[1] + CELL * np.arange(first[1], last[1] + 1)
        lower, upper = _bounds(planes(piece), frame, x, y, margin)
        empty = lower > upper
        lower[empty], upper[empty] = np.inf, -np.inf
        window = (slice(int(first[0]), int(last[0]) + 1), slice(int(first[1]), int(last[1]) + 1))
        yield window, lower, upper


def _bounds(sides: Array, frame: Frame, x: Array, y: Array, margin: float) -> tuple[Array, Array]:
    """Lowest and highest point of a hull over each (x, y); the lowest is above the highest outside of it."""
    normals = sides[:, :3] @ frame.rotation.T
    offsets = sides[:, 3] - normals @ frame.position - margin * np.abs(normals[:, :2]).sum(axis=1)
    side = offsets[:, None, None] + normals[:, 0, None, None] * x[:, None] + normals[:, 1, None, None] * y
    slope = normals[:, 2]
    up, down = slope > _UPRIGHT, slope < -_UPRIGHT
    upper: Array = (-side[up] / slope[up, None, None]).min(axis=0)
    lower: Array = (-side[down] / slope[down, None, None]).max(axis=0)
    outside = (side[~up & ~down] > 0).any(axis=0)
    upper[outside] = -np.inf
    return lower, upper


@lru_cache(maxsize=8192)
def planes(piece: Piece) -> Array:
    """Outward normals and offsets of a piece's sides, shape (n, 4): a point p is inside where n p + offset <= 0."""
    try:
        sides = ConvexHull(piece.corners).equations
    except (QhullError, ValueError):  # flat, or fewer than four corners
        low, high = piece.corners.min(axis=0), piece.corners.max(axis=0)
        sides = np.concatenate([np.column_stack([np.eye(3), -high]), np.column_stack([-np.eye(3), low])])
    _, first = np.unique(np.round(sides, 6), axis=0, return_index=True)
    unique: Array = sides[np.sort(first)]
    return unique


def _volume(piece: Piece) -> tuple[float, Array]:
    """Volume [m3] and centre, shape (3,) [m], of one piece."""
    try:
        size = float(ConvexHull(piece.corners).volume)
    except (QhullError, ValueError):
        size = 0.0
    return size, (piece.corners.min(axis=0) + piece.corners.max(axis=0)) / 2

"""What a thing may rest on and what is in its way, as heights seen from above."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter

from gym_grounding.experts.destinations._relief import CELL, Grid, Placed, bottoms, tops

Array = NDArray[np.float64]
Cells = NDArray[np.int64]
"""Columns and rows of a grid, shape (n, 2)."""
HOLLOW, WALLS = 0.01, 0.20
"""Something lies in a hollow where its surroundings are this much higher, this close on all sides [m]."""
WALL = 0.02
"""What a support rises more than this next to a thing is in the way [m]."""
WIDER = (2, 4, 6)
"""Numbers of cells by which the room around a thing is measured."""
_NEAR, _UNDER = 4, 2
"""Cells sideways within which something stands close, and within which it hangs over."""


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The pieces of a scenery.

    Attributes:
        support: what the thing is to rest on.
        other: what it may not touch from above.
        later: what will be in its way when something is shut around it.
        below: pieces that start higher hang over it [m].
    """

    support: Sequence[Placed]
    other: Sequence[Placed]
    later: Sequence[Placed] = ()
    below: float = np.inf


@dataclass(frozen=True, eq=False)
class Scenery:
    """What a thing may rest on and what is in its way, as heights seen from above.

    Attributes:
        grid: the cells; it holds the thing wherever its origin is looked at.
        support: heights of what it is to rest on, -inf elsewhere.
        other: heights of everything else that it may not rest on.
        roof: heights of the undersides of what hangs over it now, inf elsewhere.
        ceiling: the same with what will hang over it later.
        tight: whether gaps are seen as wide as they are, at the price of missing what is thinner than a cell.
    """

    grid: Grid
    support: Array
    other: Array
    roof: Array
    ceiling: Array
    tight: bool

    @classmethod
    def of(cls, grid: Grid, parts: Parts, tight: bool) -> Scenery:
        """Read heights from pieces."""
        grown = 0.0 if tight else CELL / 2
        (support, roof), (other, more), (later, last) = (
            _split(some, parts.below) for some in (parts.support, parts.other, parts.later)
        )
        now = bottoms((*roof, *more), grid, grown)
        ceiling = np.minimum(now, bottoms(last, grid, grown))
        return cls(grid, tops(support, grid, grown), tops((*other, *later), grid, grown), now, ceiling, tight)

    @property
    def roofed(self) -> bool:
        """Whether there is a ceiling somewhere."""
        return bool(np.isfinite(self.ceiling).any())

    @cached_property
    def wider(self) -> tuple[Array, ...]:
        """What stands in the way, ``support`` too where it rises by more than ``WALL``, grown sideways by ``WIDER``."""
        tall = np.maximum(self.other, self.support - WALL)
        return tuple(maximum_filter(tall, 2 * cells + 1, mode="nearest") for cells in WIDER)

    @cached_property
    def around(self) -> Array:
        """Everything, grown sideways by a little."""
        grown: Array = maximum_filter(np.maximum(self.support, self.other), 2 * _NEAR + 1, mode="nearest")
        return grown

    @cached_property
    def under_roof(self) -> Array:
        """0 where something hangs over a cell, or close to it unless room is tight; -inf elsewhere."""
        roof = np.where(np.isfinite(self.roof), 0.0, -np.inf)
        return roof if self.tight else maximum_filter(roof, 2 * _UNDER + 1, mode="nearest")

    def hollow(self, cells: Cells) -> Array:
        """Heights of bottom and brim of the hollow that each cell lies in, inf where in none, shape (n, 2) [m].

        Nothing leaves a hollow: within ``WALLS``, the support is higher on all sides.
        """
        around = Grid.around(WALLS)
        half = around.shape[0] // 2
        padded = np.pad(self.support, half, mode="edge")
        heights = np.lib.stride_tricks.sliding_window_view(padded, around.shape)[cells[:, 0], cells[:, 1]]
        floor = heights[:, half - 1 : half + 2, half - 1 : half + 2].max(axis=(1, 2))
        offsets = around.centres()
        distance = np.linalg.norm(offsets, axis=-1)
        side = (np.arctan2(offsets[..., 1], offsets[..., 0]) / (np.pi / 8)).round().astype(int) % 16
        sides = [(side == number) & (distance <= WALLS) & (distance > CELL) for number in range(16)]
        brim = np.stack([heights[:, one].max(axis=1) for one in sides]).min(axis=0)
        found = np.stack([floor, brim], axis=1)
        return np.where((brim > floor + HOLLOW)[:, None], found, np.inf)


def _split(parts: Sequence[Placed], below: float) -> tuple[list[Placed], list[Placed]]:
    """The pieces that start lower than ``below`` [m], and the others."""
    if below == np.inf:
        return list(parts), []
    lower = [float(frame.apply(piece.corners)[:, 2].min()) < below for piece, frame in parts]
    return [one for one, is_low in zip(parts, lower, strict=True) if is_low], [
        one for one, is_low in zip(parts, lower, strict=True) if not is_low
    ]


class View:
    """A scenery around each of some cells.

    Args:
        scenery: the whole.
        cells: where to look from.
        half: number of cells that are seen to each side.
    """

    def __init__(self, scenery: Scenery, cells: Cells, half: int) -> None:
        self.scenery = scenery
        self.half = half
        self._cells = cells
        self._seen: dict[int, Array] = {}

    def __len__(self) -> int:
        return len(self._cells)

    def of(self, relief: Array) -> Array:
        """A relief of the scenery around each cell, shape (n, size, size)."""
        if id(relief) not in self._seen:
            windows = np.lib.stride_tricks.sliding_window_view(relief, (2 * self.half + 1, 2 * self.half + 1))
            self._seen[id(relief)] = windows[self._cells[:, 0] - self.half, self._cells[:, 1] - self.half]
        return self._seen[id(relief)]

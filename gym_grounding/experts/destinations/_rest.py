"""Where a thing comes to rest when it is let down somewhere, and how well it lies there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Body, Frame
from gym_grounding.experts.destinations._relief import CELL, Grid, Placed, bottoms, middle, tops

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Margin = Callable[[Array], Array]
"""From origins, shape (n, 3), to how far inside the goal's bounds they are, shape (n,) [m]; negative outside."""

TOUCH, LOOSE = 0.003, 0.008
"""A gap as small as this counts as contact, on slopes perhaps [m]."""
SHAKY = 0.008
"""Nearest to toppling that a thing in a hollow may be, lest it slide down [m]."""
SAME = 0.001
"""Heights closer than this are equal [m]."""
HOLLOW, WALLS = 0.01, 0.12
"""Something lies in a hollow where its surroundings are this much higher, this close on all sides [m]."""
WIDE, STEADY, CLEAR = 0.03, 0.02, 0.03
"""More distance than this from the goal's bounds, from toppling and from other things is worth nothing [m]."""
WALL = 0.02
"""What a support rises more than this next to a thing is in the way [m]."""
DRIFT, FALL = 0.1, 0.5
"""What a metre away from the favourite position costs, and a metre of further fall [m]."""
TURN, TILT = 0.003, 0.01
"""What a radian of turning costs, and a radian of tilting on top of it [m]."""
ROOFED = 0.03
"""What it costs to lie under something [m]."""
FREEDOM = 0.03
"""What it is worth that any turn about the vertical will do [m]."""
ROLLS = 0.015
"""What it costs to rest only after rolling or tipping a little [m]."""
FAR = 0.1
"""Cost of what cannot be [m]."""
POSITIONS, BEST = 150, 24
"""About so many positions are looked at, and so many of them closely."""
_SIDES = np.arange(16) * np.pi / 8
_DIRECTIONS = np.stack([np.cos(_SIDES), np.sin(_SIDES)])


@dataclass(frozen=True, slots=True, eq=False)
class Rest:
    """A pose at rest.

    Attributes:
        position: of the thing's origin, shape (3,), world [m].
        rotation: of the thing, shape (3, 3).
        free: whether any turn about the vertical lies as well.
        weight: height of its centre of mass [m].
        score: sum of bounded distances from the goal's bounds, from toppling and from other things, less costs [m].
        inside: distance from the goal's bounds [m].
        clear: room around the thing, at most ``CLEAR`` [m].
        rim: height of what stands close around it, above its lowest point [m].
        roofed: whether something hangs over it.
        raised: height of its lowest point over the bottom of the hollow that it lies in and could not leave [m]; inf
            where it lies in none.
        sunk: depth of its lowest point under the brim of that hollow [m]; 0 where it lies in none.
        steady: distance from toppling [m]; at most 0 where it tips and stays in its hollow.
    """

    position: Array
    rotation: Array
    free: bool
    weight: float
    score: float
    inside: float
    clear: float
    rim: float
    roofed: bool
    raised: float
    sunk: float
    steady: float

    def dearer(self, cost: float) -> Rest:
        """The same with a lower score."""
        return replace(self, score=self.score - cost)


def ranked(found: Sequence[Rest]) -> list[Rest]:
    """Rests with what they cost for lying higher than the lowest one, best first."""
    lowest = min((rest.weight for rest in found), default=0.0)
    return sorted((rest.dearer(FALL * (rest.weight - lowest)) for rest in found), key=lambda rest: -rest.score)


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
    """

    grid: Grid
    support: Array
    other: Array
    roof: Array
    ceiling: Array

    @classmethod
    def of(cls, grid: Grid, parts: Parts, tight: bool) -> Scenery:
        """Read heights from pieces; ``tight`` sees gaps as wide as they are, and misses what is thinner than a cell."""
        grown = 0.0 if tight else CELL / 2
        (support, roof), (other, more), (later, last) = (
            _split(some, parts.below) for some in (parts.support, parts.other, parts.later)
        )
        now = bottoms((*roof, *more), grid, grown)
        ceiling = np.minimum(now, bottoms(last, grid, grown))
        return cls(grid, tops(support, grid, grown), tops((*other, *later), grid, grown), now, ceiling)

    @property
    def roofed(self) -> bool:
        """Whether there is a ceiling somewhere."""
        return bool(np.isfinite(self.ceiling).any())

    @cached_property
    def wider(self) -> tuple[Array, ...]:
        """What stands in the way, grown sideways by 1, 2 and 3 cm: ``other``, and ``support`` where it rises by more than ``WALL``."""
        tall = np.maximum(self.other, self.support - WALL)
        return tuple(maximum_filter(tall, 2 * cells + 1, mode="nearest") for cells in (2, 4, 6))

    @cached_property
    def around(self) -> Array:
        """Everything, grown sideways by 2 cm."""
        return maximum_filter(np.maximum(self.support, self.other), 9, mode="nearest")

    @cached_property
    def under_roof(self) -> Array:
        """0 where something hangs over a cell or within 1 cm of it, -inf elsewhere."""
        return maximum_filter(np.where(np.isfinite(self.roof), 0.0, -np.inf), 5, mode="nearest")

    def hollow(self, cells: NDArray[np.int64]) -> Array:
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


def upright(rotation: Array) -> Array:
    """The nearest rotation with one of the thing's own axes vertical: things are modelled along their axes."""
    axis = int(np.abs(rotation[2]).argmax())
    direction = np.array([0.0, 0.0, np.sign(rotation[2, axis])])
    turn = Rotation.align_vectors(direction[None], rotation[:, axis][None])[0].as_matrix()
    straight: Array = turn @ rotation
    return straight


def turned(rotation: Array, angle: float) -> Array:
    """``rotation``, then a turn about the vertical by ``angle`` [rad]."""
    result: Array = Rotation.from_rotvec([0.0, 0.0, angle]).as_matrix() @ rotation
    return result


def breadth(body: Body, rotation: Array) -> float:
    """Largest horizontal distance of a point of a body from its origin [m]."""
    corners = np.concatenate([piece.corners for piece in body.pieces]) @ rotation.T
    return float(np.linalg.norm(corners[:, :2], axis=1).max())


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """A search for rests.

    Attributes:
        body: what is to rest.
        now: its present rotation, shape (3, 3).
        low, high: corners of the origins looked at, shape (2,) each [m].
        margin: the goal's bounds.
        favourite: best x and y where nothing else matters, shape (2,) [m].
    """

    body: Body
    now: Array
    low: Array
    high: Array
    margin: Margin
    favourite: Array

    def grid(self, rotations: Sequence[Array]) -> Grid:
        """Cells that hold the thing in any of ``rotations`` wherever its origin is looked at."""
        around = max(breadth(self.body, rotation) for rotation in rotations) + 2 * CELL
        return Grid.over(self.low - around, self.high + around)

    def rests(
        self, scenery: Scenery, rotations: Sequence[Array], turns: int = 4, circle: int = 0, leaning: bool = False
    ) -> list[Rest]:
        """Poses in which the thing rests on the support within the goal's bounds.

        Args:
            scenery: of ``grid(rotations)``.
            rotations: that are tried, each with its quarter turns about the vertical.
            turns: number of quarter turns, 1 for the rotation alone.
            circle: so many of ``rotations``, from the first, make a full circle with their quarter turns: where all
                of them rest, any turn will.
            leaning: whether the thing is to fall against something: then its edges count rather than the support's, and
                it may be as near to toppling as it likes.
        """
        least, grown = (0.0, CELL / 2) if leaning else (SHAKY, 0.0)
        wide = max(breadth(self.body, rotation) for rotation in rotations)
        shapes = [shape for one in rotations for shape in _Shape.quarters(self.body, one, wide, grown)[:turns]]
        cells = _cells(scenery.grid, self.low, self.high)
        centres = scenery.grid.corner + CELL * cells
        view = _View(scenery, cells, shapes[0].under.shape[0] // 2)
        heights = np.stack([shape.heights(view) for shape in shapes])
        origins = np.concatenate([np.broadcast_to(centres, (*heights.shape, 2)), heights[..., None]], axis=-1)
        lying = np.isfinite(heights)
        inside = np.full(heights.shape, -np.inf)
        inside[lying] = self.margin(origins[lying])
        raised = heights - np.min(heights[inside > 0], initial=0.0 if not (inside > 0).any() else np.inf)
        value = np.minimum(inside, WIDE) - DRIFT * np.linalg.norm(centres - self.favourite, axis=-1)
        best = np.argsort(-(value - FALL * raised).max(axis=0), kind="stable")[:BEST]
        best = best[inside[:, best].max(axis=0) > 0]
        if not len(best):
            return []
        view = _View(scenery, cells[best], view.half)
        hollow = scenery.hollow(cells[best])
        judged = [shape.judge(view, hollow, least) for shape in shapes]
        found: list[Rest] = []
        for number, spot in enumerate(best):
            fits = [
                self._rest(origins[i, spot], shape, judged[i][number], inside[i, spot], value[i, spot], leaning)
                for i, shape in enumerate(shapes)
                if inside[i, spot] > 0 and judged[i][number, 0] > -FAR
            ]
            found += _joined(fits, shapes[: 4 * circle])
        return found

    def _rest(self, origin: Array, shape: _Shape, judged: Array, inside: float, value: float, leaning: bool) -> Rest:
        steady, clear, rim, roofed, raised, sunk = judged
        turn = float(Rotation.from_matrix(shape.rotation @ self.now.T).magnitude())
        tilt = float(np.arccos(np.clip((upright(self.now)[2] * shape.rotation[2]).sum(), -1.0, 1.0)))
        score = float(value) + min(steady, 0.0 if leaning else STEADY) + clear - TURN * turn - TILT * tilt - ROOFED * roofed
        return Rest(
            origin, shape.rotation, False, float(origin[2] + shape.weight[2]), score, float(inside), float(clear), float(rim), bool(roofed), float(raised), float(sunk),
            float(steady),
        )


def _joined(fits: list[Rest], circle: Sequence[_Shape]) -> list[Rest]:
    """Rests in one position, as a single one where every shape of the circle rests."""
    turns = {id(rest.rotation) for rest in fits}
    if not circle or not all(id(shape.rotation) in turns for shape in circle):
        return fits
    heights = [float(rest.position[2]) for rest in fits]
    if max(heights) - min(heights) > TOUCH and any(rest.steady > 0 for rest in fits):
        return fits
    worst = min(fits, key=lambda rest: rest.score)
    nearest = max(fits, key=lambda rest: rest.score)
    position = np.array([*worst.position[:2], max(heights)])
    rim = max(rest.rim for rest in fits)
    return [
        replace(worst, position=position, rotation=nearest.rotation, free=True, score=worst.score + FREEDOM, rim=rim)
    ]


def _cells(grid: Grid, low: Array, high: Array) -> NDArray[np.int64]:
    """About ``POSITIONS`` cells of a rectangle, evenly spread, shape (n, 2)."""
    first = np.ceil((low - grid.corner) / CELL - 1e-6).astype(int)
    last = np.maximum(np.floor((high - grid.corner) / CELL + 1e-6).astype(int), first)
    step = 1
    while np.prod((last - first) // step + 1) > POSITIONS:
        step += 1
    first = first + (last - first) % step // 2
    columns, rows = (np.arange(a, b + 1, step) for a, b in zip(first, last, strict=True))
    return np.stack(np.meshgrid(columns, rows, indexing="ij"), axis=-1).reshape(-1, 2)


class _View:
    """A scenery around each of some cells.

    Args:
        scenery: the whole.
        cells: shape (n, 2).
        half: number of cells that are seen to each side.
    """

    def __init__(self, scenery: Scenery, cells: NDArray[np.int64], half: int) -> None:
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


@dataclass(frozen=True, slots=True, eq=False)
class _Shape:
    """A thing's underside and upper side in one rotation, relative to its origin.

    Attributes:
        rotation: of the thing, shape (3, 3).
        under: heights, inf where there is nothing; its middle cell is the origin.
        over: the same of its upper side, -inf where there is nothing.
        weight: its centre of mass, shape (3,) [m].
    """

    rotation: Array
    under: Array
    over: Array
    weight: Array

    @classmethod
    def quarters(cls, body: Body, rotation: Array, wide: float, grown: float) -> list[_Shape]:
        """The shape in a rotation and its three quarter turns, on a grid that reaches ``wide`` to each side [m]."""
        grid, frame = Grid.around(wide), Frame(np.zeros(3), rotation)
        parts = [(piece, frame) for piece in body.pieces]
        under, over = bottoms(parts, grid, grown), tops(parts, grid, 0.0)
        weight = frame.apply(middle(body))
        return [
            cls(
                turned(rotation, number * np.pi / 2),
                np.rot90(under, number),
                np.rot90(over, number),
                turned(weight, number * np.pi / 2),
            )
            for number in range(4)
        ]

    def heights(self, view: _View) -> Array:
        """Heights of the origin at rest on the support around each cell, shape (n,) [m].

        Infinite where something else holds it up, where no support is under it and where a ceiling is too low.
        """
        on_support, on_other = self._gaps(view, view.scenery.support), self._gaps(view, view.scenery.other)
        height = on_support.max(axis=1)
        blocked = (on_other.max(axis=1) > height - SAME) | ~np.isfinite(height)
        if view.scenery.roofed:
            full = np.isfinite(self.over)
            stuck = (self.over[full] - view.of(view.scenery.ceiling)[:, full]).max(axis=1)
            blocked |= height + stuck > -TOUCH
        return np.where(blocked, np.inf, height)

    def judge(self, view: _View, hollow: Array, least: float) -> Array:
        """How the thing lies over each cell.

        Args:
            hollow: as ``Scenery.hollow``.
            least: nearest to toppling that it may be in a hollow [m].

        Returns:
            Distance from toppling, room around, height of what stands around [m], 1 under a roof, and height over the
            bottom of a hollow, inf outside of one, and depth of its lowest point in it [m]; shape (n, 6). In a hollow a thing that would topple goes no further: the first is then what it still falls,
            as a cost, and ``-FAR`` or less where it topples out.
        """
        full = np.isfinite(self.under)
        gaps = self._gaps(view, view.scenery.support)
        heights = gaps.max(axis=1)
        leverage = ((np.argwhere(full) - view.half) * CELL - self.weight[:2]) @ _DIRECTIONS
        steady = _steadiness(gaps > heights[:, None] - TOUCH, leverage)
        loose = _steadiness(gaps > heights[:, None] - LOOSE, leverage)
        steady = np.where(steady > 0, steady, np.where(loose > 0, -ROLLS, -FAR))
        bottom, brim = hollow.T
        caught = np.isfinite(bottom)
        lowest = heights + self.under[full].min()
        falls = FALL * (lowest - np.where(caught, bottom, 0.0))
        steady = np.where(caught & (steady <= least), np.maximum(-falls, -FAR), steady)
        clear = np.zeros(len(view))
        for number, relief in enumerate(view.scenery.wider):
            free = self._gaps(view, relief).max(axis=1) <= heights + SAME
            clear = np.where(free & (clear == 2 * number * CELL), 2 * (number + 1) * CELL, clear)
        rim = view.of(view.scenery.around)[:, full].max(axis=1) - lowest
        roofed = view.of(view.scenery.under_roof)[:, full].max(axis=1) > -np.inf
        return np.stack([steady, clear, rim, roofed, np.where(caught, lowest - bottom, np.inf), np.where(caught, brim - lowest, 0.0)], axis=1)

    def _gaps(self, view: _View, relief: Array) -> Array:
        """Heights of the origin at which each part of the underside meets the relief, shape (n, parts)."""
        full = np.isfinite(self.under)
        gaps: Array = view.of(relief)[:, full] - self.under[full]
        return gaps


def _steadiness(contact: Mask, leverage: Array) -> Array:
    """Distance from the centre of mass to the outline of the contacts, negative outside, shape (n,) [m].

    Half a cell less than measured, since cells touch that are only partly covered.

    Args:
        contact: which parts touch, shape (n, parts).
        leverage: how far each part lies from the centre of mass in each direction, shape (parts, directions).
    """
    reached = np.where(contact[..., None], leverage, -np.inf).max(axis=1)
    distance: Array = reached.min(axis=-1) - CELL / 2
    return distance

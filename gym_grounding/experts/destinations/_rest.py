"""Where a thing comes to rest when it is let down somewhere, and how well it lies there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Body
from gym_grounding.experts.destinations._relief import CELL, Grid
from gym_grounding.experts.destinations._scenery import Cells, Scenery, View
from gym_grounding.experts.destinations._shape import FALL, FAR, TOUCH, Lies, Shape, breadth, upright

Array = NDArray[np.float64]
Margin = Callable[[Array], Array]
"""From origins, shape (n, 3), to how far inside the goal's bounds they are, shape (n,) [m]; negative outside."""

SHAKY = 0.008
"""Nearest to toppling that a thing in a hollow may be, lest it slide down [m]."""
WIDE, STEADY, CLEAR = 0.03, 0.02, 0.03
"""More distance than this from the goal's bounds, from toppling and from other things is worth nothing [m]."""
DRIFT = 0.1
"""What a metre away from the favourite position costs [m]."""
TURN, TILT = 0.003, 0.01
"""What a radian of turning costs, and a radian of tilting on top of it [m]."""
ROOFED = 0.03
"""What it costs to lie under something [m]."""
FREEDOM = 0.03
"""What it is worth that any turn about the vertical will do [m]."""
POSITIONS, BEST = 150, 24
"""About so many positions are looked at, and so many of them closely."""


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

    def grid(self, rotations: Sequence[Array], shift: float = 0.0) -> Grid:
        """Cells that hold the thing in each rotation wherever its origin is looked at, moved by ``shift`` [m]."""
        around = max(breadth(self.body, rotation) for rotation in rotations) + 2 * CELL
        return Grid.over(self.low - around + shift, self.high + around + shift)

    def rests(
        self,
        scenery: Scenery,
        rotations: Sequence[Array],
        turns: int = 4,
        circle: int = 0,
        singly: bool = False,
        leaning: bool = False,
    ) -> list[Rest]:
        """Poses in which the thing rests on the support within the goal's bounds.

        Args:
            scenery: of ``grid(rotations)``.
            rotations: that are tried, each with its quarter turns about the vertical.
            turns: number of quarter turns, 1 for the rotation alone.
            circle: so many of ``rotations``, from the first, make a full circle with their quarter turns: where all
                of them rest, any turn will.
            singly: whether the turns of a circle are wanted one by one as well, and positions far and wide.
            leaning: whether the thing is to fall against something: then its edges count rather than the support's, and
                it may be as near to toppling as it likes.
        """
        least, grown = (0.0, CELL / 2) if leaning else (SHAKY, 0.0)
        wide = max(breadth(self.body, rotation) for rotation in rotations)
        shapes = [shape for one in rotations for shape in Shape.quarters(self.body, one, wide, grown)[:turns]]
        cells = _cells(scenery.grid, self.low, self.high)
        centres = scenery.grid.corner + CELL * cells
        view = View(scenery, cells, shapes[0].under.shape[0] // 2)
        heights = np.stack([shape.heights(view) for shape in shapes])
        origins = np.concatenate([np.broadcast_to(centres, (*heights.shape, 2)), heights[..., None]], axis=-1)
        lying = np.isfinite(heights)
        inside = np.full(heights.shape, -np.inf)
        inside[lying] = self.margin(origins[lying])
        raised = heights - np.min(heights[inside > 0], initial=0.0 if not (inside > 0).any() else np.inf)
        value = np.minimum(inside, WIDE) - DRIFT * np.linalg.norm(centres - self.favourite, axis=-1)
        best = np.argsort(-(value - FALL * raised).max(axis=0), kind="stable")[:BEST]
        best = best[inside[:, best].max(axis=0) > 0]
        if singly:
            inner = np.flatnonzero(inside.max(axis=0) > 0)
            best = inner[:: len(inner) // (2 * BEST) + 1]
        if not len(best):
            return []
        view = View(scenery, cells[best], view.half)
        hollow = scenery.hollow(cells[best])
        lies = [shape.lies(view, hollow, least) for shape in shapes]
        prices = [self._price(shape) for shape in shapes]
        found: list[Rest] = []
        for number, spot in enumerate(best):
            fits = [
                _rest(origins[i, spot], shape, lies[i], number, inside[i, spot], value[i, spot] - prices[i])
                for i, shape in enumerate(shapes)
                if inside[i, spot] > 0 and lies[i].steady[number] > -FAR
            ]
            joined = _joined(fits, shapes[: 4 * circle])
            found += joined if not singly or joined == fits else joined + fits
        return found

    def _price(self, shape: Shape) -> float:
        """What turning and tilting into a shape's rotation costs [m]."""
        turn = float(Rotation.from_matrix(shape.rotation @ self.now.T).magnitude())
        tilt = float(np.arccos(np.clip((upright(self.now)[2] * shape.rotation[2]).sum(), -1.0, 1.0)))
        return TURN * turn + TILT * tilt


def _rest(origin: Array, shape: Shape, lies: Lies, number: int, inside: float, value: float) -> Rest:
    steady, clear, roofed = float(lies.steady[number]), float(lies.clear[number]), bool(lies.roofed[number])
    return Rest(
        position=origin,
        rotation=shape.rotation,
        free=False,
        weight=float(origin[2] + shape.weight[2]),
        score=float(value) + min(steady, STEADY) + clear - ROOFED * roofed,
        inside=float(inside),
        clear=clear,
        rim=float(lies.rim[number]),
        roofed=roofed,
        raised=float(lies.raised[number]),
        sunk=float(lies.sunk[number]),
        steady=steady,
    )


def _joined(fits: list[Rest], circle: Sequence[Shape]) -> list[Rest]:
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


def _cells(grid: Grid, low: Array, high: Array) -> Cells:
    """About ``POSITIONS`` cells of a rectangle, evenly spread, shape (n, 2)."""
    first = np.ceil((low - grid.corner) / CELL - 1e-6).astype(int)
    last = np.maximum(np.floor((high - grid.corner) / CELL + 1e-6).astype(int), first)
    step = 1
    while np.prod((last - first) // step + 1) > POSITIONS:
        step += 1
    first = first + (last - first) % step // 2
    columns, rows = (np.arange(a, b + 1, step) for a, b in zip(first, last, strict=True))
    return np.stack(np.meshgrid(columns, rows, indexing="ij"), axis=-1).reshape(-1, 2)

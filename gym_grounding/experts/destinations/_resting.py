"""Whether a thing rests where it is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gym_grounding.experts.destinations._relief import CELL, Grid, Placed, bottoms, ground, others, placed, tops
from gym_grounding.experts.destinations._shape import breadth
from gym_grounding.experts.world import World

Array = NDArray[np.float64]
RESTING, TOUCHING = 0.012, 0.015
"""A thing lower than this over what is under it rests; a support as near as this is touched [m]."""


def rests(world: World, thing: str, support: str | None = None) -> bool:
    """Whether a thing rests on what is under it, and on ``support`` if one is named."""
    frame, body = world.frame(thing), world.body(thing)
    wide = breadth(body, frame.rotation) + CELL
    grid = Grid.over(frame.position[:2] - wide, frame.position[:2] + wide)
    own = [(piece, frame) for piece in body.pieces]
    under = bottoms(own, grid)
    full = np.isfinite(under)
    middle = float(world.cloud(thing)[:, 2].mean())
    if support is not None and not _gap(placed(world, support), grid, under, full, middle) < TOUCHING:
        return False
    return bool(_gap([ground(world), *others(world, thing)], grid, under, full, middle) < RESTING)


def _gap(parts: Sequence[Placed], grid: Grid, under: Array, full: NDArray[np.bool_], below: float) -> float:
    lower = [one for one in parts if float(one[1].apply(one[0].corners)[:, 2].min()) < below]
    return float((under - tops(lower, grid))[full].min())

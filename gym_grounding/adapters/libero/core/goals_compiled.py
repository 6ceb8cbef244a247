"""All literals of a table in one call, as machine code; the same as ``goals_plain``.

All of it is in this one file but for the two numbers that the table's module names: numba's cache on disk notices
changes of the file alone that holds a function, so they are arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np

from gym_grounding.adapters.libero import install
from gym_grounding.adapters.libero.core.arrays import Floats
from gym_grounding.adapters.libero.core.goals_plain import Booleans, Geoms
from gym_grounding.adapters.libero.core.literals import BAND, UNDECIDED, Flags, Present, Table

_CACHED = install.can_cache(Path(__file__).parent)
Function = TypeVar("Function", bound=Callable[..., Any])


def _compiled(function: Function) -> Function:
    made: Any = numba.njit(nogil=True, cache=_CACHED)(function)
    return cast(Function, made)


def judge(table: Table, now: Present, geoms: Geoms, touching: Booleans, verdicts: Flags) -> None:
    """See ``goals_plain.judge``."""
    _judge(table, now, np.ascontiguousarray(geoms), touching, verdicts, BAND, UNDECIDED)


@_compiled
def _judge(
    table: Table, now: Present, geoms: Geoms, touching: Booleans, verdicts: Flags, band: float, undecided: int
) -> None:
    touching[:] = False
    touching[-1, -1] = True
    for contact in range(len(geoms)):
        first, second = table.groups[geoms[contact, 0]], table.groups[geoms[contact, 1]]
        touching[first, second] = touching[second, first] = True
    for row in table.zones:
        met = touching[row.touching[0], row.touching[1]]
        verdicts[row.literal] = _zone(row, now, band, undecided) if met else 0
    for row in table.pairs:
        met = touching[row.touching[0], row.touching[1]]
        verdicts[row.literal] = _pair(row, now, band, undecided) if met else 0
    for row in table.heights:
        verdicts[row.literal] = 1 if now.bodies[row.subject, 2] >= row.bound else 0
    for row in table.limits:
        count = 0
        for number in range(row.start, row.stop):
            joint = table.joints[number]
            turned = now.positions[joint.position] * joint.sign
            count += turned > joint.bound or (joint.reached and turned == joint.bound)
        verdicts[row.literal] = 1 if count == row.stop - row.start or (count > 0 and not row.every) else 0


@_compiled
def _zone(row: Any, now: Present, band: float, undecided: int) -> int:
    place, turned = _apart(row, now), np.zeros(3)
    for axis in range(3):
        for other in range(3):
            part = row.size[other] if row.boxed else place[other]
            turned[axis] += now.site_rotations[row.site, 3 * axis + other] * part
    verdict = 1
    for axis in range(3):
        extent = abs(turned[axis]) if row.boxed else row.size[axis]
        low, high = -extent, extent
        if axis == 2:
            low = (low if row.boxed else extent) - row.below
            high = extent + row.above
        found = place[axis] if row.boxed else turned[axis]
        for gap in (found - low, high - found):
            if not abs(gap) > band:
                verdict = undecided
            elif gap < 0:
                return 0
    return verdict


@_compiled
def _apart(row: Any, now: Present) -> Floats:
    """From the box to the body, shape (3,)."""
    apart = np.zeros(3)
    for axis in range(3):
        place = now.sites[row.site, axis]
        if row.carrier >= 0:
            place = now.bodies[row.carrier, axis]
            for other in range(3):
                place += now.body_rotations[row.carrier, 3 * axis + other] * row.place[other]
        apart[axis] = now.bodies[row.subject, axis] - place
    return apart


@_compiled
def _pair(row: Any, now: Present, band: float, undecided: int) -> int:
    subject, reference = now.bodies[row.subject], now.bodies[row.reference]
    if not reference[2] <= subject[2]:
        return 0
    gap = row.near - np.sqrt((reference[0] - subject[0]) ** 2 + (reference[1] - subject[1]) ** 2)
    if not abs(gap) > band:
        return undecided
    return 1 if gap > 0 else 0

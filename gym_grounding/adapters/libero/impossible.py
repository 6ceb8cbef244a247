"""Attempts to put a thing where an instruction says it should go although it cannot: under, in or on something.

Only a search: what it does not find may still exist, but what it finds exists. That it would find a place is tested
with drawers that are open, things that are raised, and things that carry others.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from gym_grounding.adapters.libero.bench import Bench
from gym_grounding.adapters.libero.geometry import Array, Box, Geometry, inside
from gym_grounding.adapters.libero.relations import Relations
from gym_grounding.adapters.libero.witness import OVERLAP, SETTLING, STATES, TURNS, positions, times
from gym_grounding.errors import InvalidOption

RELATIONS = ("under", "in", "on")
_GRID = (-0.6, 0.0, 0.6)
"""Places that are tried across the reference, in parts of its half sides."""
_LEVELS = (-0.5, 0.0)
"""The same upwards, for the thing's middle."""
_START = 0.001
"""Height above the surface below at which a thing is put [m]."""
_CELL = 0.01
"""Side of the cells in which free room is measured [m]."""
_SLACK = 0.005
"""How far the thing's top may reach above an underside, or an underside below it, for a thing to be under [m]."""
_FORCED = 0.01
"""Overlap from which settling could find no place [m]."""
_DISPLACED = 0.02
"""A reference whose box moved further than this was pushed away [m]."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """The outcome.

    Attributes:
        shown: no place was found.
        tried: number of placements.
        clearance: free room [m]: for ``under`` the height below the reference, where it is as wide as the thing's
            smallest side; for ``in`` the side of the largest free cube in the reference's box; for ``on`` the smaller
            side of the reference as seen from above.
        extent: smallest side of the thing's box as it stands [m].
    """

    shown: bool
    tried: int
    clearance: float
    extent: float


def attempt(bench: Bench, subject: str, relation: str, reference: str) -> Attempt:
    """Try to put ``subject`` where ``relation`` to ``reference`` asks for, in many poses.

    A thing is under or in the reference if it is so after settling, overlaps with nothing, and the reference is where
    it was. Fixtures are tried as they stand and with everything open. A movable reference is also put on the thing.

    Args:
        bench: the task's scene.
        subject: a movable object.
        relation: ``under``, ``in`` or ``on``.
        reference: an object, a fixture or a region of one.

    Raises:
        InvalidOption: no such relation, or the scene has no such pair of things.
        SimulatorError: the simulator failed.
    """
    if relation not in RELATIONS:
        raise InvalidOption(f"Relation {relation!r}: choose one of {', '.join(RELATIONS)}")
    known = {*bench.geometry.names, *(entity.name for entity in bench.scene.of_kind("site"))} - {subject}
    if subject not in bench.env.objects_dict or reference not in known:
        raise InvalidOption(f"Scene {bench.scene.id}: {relation}({subject}, {reference}): no such pair of things")
    tried = 0
    with bench.measuring(f"be searched for {relation}({subject}, {reference})"):
        bench.restore(STATES[0])
        extent = float(np.min(bench.geometry.box(subject).size))
        clearance = _clearance(bench.geometry, relation, reference, extent)
        for succeeded in _TRIALS[relation](bench, subject, reference):
            tried += 1
            if succeeded:
                return Attempt(False, tried, clearance, extent)
    return Attempt(True, tried, clearance, extent)


def _under(bench: Bench, subject: str, reference: str) -> Iterator[bool]:
    for prepare in _settings(bench, reference):
        for x, y, turn in itertools.product(_GRID, _GRID, TURNS.values()):
            box = prepare()
            middle = box.centre + box.size / 2 * [x, y, 0]
            spot = np.array([*middle[:2], bench.geometry.origin[2] + _START])
            fits = put(bench, subject, spot, turn, from_below=True)
            yield fits and _rests(bench, subject, reference, box) and is_below(bench.geometry, subject, reference)
    if reference in bench.env.objects_dict:
        yield from _on(bench, reference, subject)


def _in(bench: Bench, subject: str, reference: str) -> Iterator[bool]:
    for prepare in _settings(bench, reference):
        for x, y, z, turn in itertools.product(_GRID, _GRID, _LEVELS, TURNS.values()):
            box = prepare()
            fits = put(bench, subject, box.centre + box.size / 2 * [x, y, z], turn, from_below=False)
            yield fits and _rests(bench, subject, reference, box) and is_in(bench.geometry, subject, reference)


def _on(bench: Bench, subject: str, reference: str) -> Iterator[bool]:
    relations = Relations(bench.env, bench.scene, bench.geometry, bench.judge)
    for prepare in _settings(bench, reference):
        for x, y, turn in itertools.product(_GRID, _GRID, TURNS.values()):
            box = prepare()
            middle = box.centre + box.size / 2 * [x, y, 0]
            spot, turned = np.array([*middle[:2], box.high[2]]), times(turn, bench.pose(subject)[3:])
            yield (
                bench.lower(subject, spot, turned, _START)
                and bench.run(SETTLING)
                and ("on", subject, reference) in relations.holding()
            )


_TRIALS: dict[str, Callable[[Bench, str, str], Iterator[bool]]] = {"under": _under, "in": _in, "on": _on}


def _settings(bench: Bench, reference: str) -> Iterator[Callable[[], Box]]:
    """What to do before each attempt, for each initial state, shut and opened; returns the reference's box.

    Of several joints each is also opened alone: under an open top drawer there is room that an open bottom one takes.
    """
    opened = positions(bench, reference, "open")
    alone = [{name: value} for name, value in opened.items()] if len(opened) > 1 else []
    for state, joints in itertools.product(STATES, [{}, *([opened] if opened else []), *alone]):

        def prepare(state: int = state, joints: dict[str, float] = joints) -> Box:
            bench.restore(state)
            bench.set_joints(joints)
            return bench.geometry.box(reference)

        yield prepare


def put(bench: Bench, name: str, spot: Array, turn: tuple[float, ...], from_below: bool) -> bool:
    """Put the middle of a thing's box, or of its lowest plane, at a spot and let it settle; False: it does not fit."""
    turned = times(turn, bench.pose(name)[3:])
    box = bench.box_at(name, turned)
    shift = np.array([*box.centre[:2], box.low[2] if from_below else box.centre[2]])
    bench.place(name, np.array([*(spot - shift), *turned]))
    if bench.geometry.depth(name) > _FORCED:
        return False
    return bench.run(SETTLING)


def _rests(bench: Bench, subject: str, reference: str, before: Box) -> bool:
    """Whether the thing overlaps with nothing and the reference is where it was."""
    after = bench.geometry.box(reference)
    moved = max(np.max(np.abs(after.low - before.low)), np.max(np.abs(after.high - before.high)))
    return bool(moved <= _DISPLACED) and bench.geometry.depth(subject) <= OVERLAP


def is_below(geometry: Geometry, subject: str, reference: str) -> bool:
    """Whether something of the reference is over the thing's middle, nothing of it under, and two sides are open."""
    box = geometry.box(subject)
    over = False
    for part, outline in zip(geometry.parts(reference), geometry.outlines(reference), strict=True):
        if part.covers(box.centre) and inside(box.centre[None, :2], outline)[0]:
            if part.high[2] <= box.low[2] + _SLACK:
                return False
            over = over or bool(part.low[2] >= box.high[2] - _SLACK)
    return over and _shut_sides(box, geometry.parts(reference)) <= 2


def is_in(geometry: Geometry, subject: str, reference: str) -> bool:
    """Whether the reference has something below the thing's middle and on three of its sides."""
    box, parts = geometry.box(subject), geometry.parts(reference)
    carried = any(part.covers(box.centre) and part.high[2] <= box.low[2] + _SLACK for part in parts)
    return carried and _shut_sides(box, parts) >= 3


def _shut_sides(box: Box, parts: list[Box]) -> int:
    """To how many of the four sides something stands in the way of the box's middle."""
    beside = [part for part in parts if part.low[2] <= box.centre[2] <= part.high[2]]
    sides = 0
    for axis, other in ((0, 1), (1, 0)):
        facing = [part for part in beside if part.low[other] <= box.centre[other] <= part.high[other]]
        sides += any(part.low[axis] >= box.centre[axis] for part in facing)
        sides += any(part.high[axis] <= box.centre[axis] for part in facing)
    return sides


def _clearance(geometry: Geometry, relation: str, reference: str, extent: float) -> float:
    if relation == "under":
        return _height_below(geometry, reference, extent)
    if relation == "in":
        return _largest_cube(geometry, reference)
    return float(np.min(geometry.box(reference).size[:2]))


def _height_below(geometry: Geometry, reference: str, width: float) -> float:
    """Largest free height between the work surface and the reference over a square of side ``width`` [m]."""
    box = geometry.box(reference)
    axes = [np.arange(box.low[axis] + _CELL / 2, box.high[axis], _CELL) for axis in (0, 1)]
    cells = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    under = np.full(cells.shape[:2], np.inf)
    for part, outline in zip(geometry.parts(reference), geometry.outlines(reference), strict=True):
        covered = inside(cells.reshape(-1, 2), outline).reshape(under.shape)
        under[covered] = np.minimum(under[covered], part.low[2] - geometry.origin[2])
    reach = int(np.ceil(width / 2 / _CELL - 0.5))
    best = 0.0
    for row, column in np.argwhere(np.isfinite(under)):
        window = under[max(0, row - reach) : row + reach + 1, max(0, column - reach) : column + reach + 1]
        best = max(best, float(np.min(window)))
    return best


def _largest_cube(geometry: Geometry, reference: str) -> float:
    """Side of the largest cube of free cells in the reference's box [m]."""
    box = geometry.box(reference)
    free = np.ones(np.maximum(1, np.floor(box.size / _CELL)).astype(int), bool)
    for part in geometry.parts(reference):
        first = np.maximum(0, np.floor((part.low - box.low) / _CELL)).astype(int)
        last = np.maximum(0, np.ceil((part.high - box.low) / _CELL)).astype(int)
        free[tuple(slice(a, b) for a, b in zip(first, last, strict=True))] = False
    side = np.zeros(np.array(free.shape) + 1, int)
    for x, y, z in np.argwhere(free):
        corner = side[x : x + 2, y : y + 2, z : z + 2]
        side[x + 1, y + 1, z + 1] = 1 + min(corner.ravel()[:7])
    return float(np.max(side)) * _CELL

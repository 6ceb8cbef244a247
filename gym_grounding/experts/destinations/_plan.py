"""From a search for rests to releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Body, Frame, Piece
from gym_grounding.errors import NoPlan
from gym_grounding.experts.destinations._entry import LONGEST, OUTSIDE, Way, way
from gym_grounding.experts.destinations._relief import CELL, Grid, Placed, bottoms, middle, placed, tops
from gym_grounding.experts.destinations._rest import CLEAR, FREEDOM, Margin, Rest, Search, ranked
from gym_grounding.experts.destinations._scenery import Parts, Scenery
from gym_grounding.experts.destinations._shape import FAR, SAME, breadth, turned, upright
from gym_grounding.experts.skills.release import Release
from gym_grounding.experts.world import World

Array = NDArray[np.float64]
MANY, FEW = 8, 4
"""So many releases are offered at most, and so many where a way in had to be found."""
APART, TURNED = 0.02, 0.3
"""Releases differ by this much at least [m, rad]."""
EDGE, SURE = 0.004, 0.0005
"""How far inside the goal's bounds an origin must be, sideways and in height [m]."""
CAREFUL, LOOSE = 0.004, 0.012
"""Bounds of the slack of a release [m]."""
SQUEEZED, TIPPED, LEVEL = 0.01, 0.025, 0.02
"""What rests cost that fit barely, that ask for a tipped thing, or that touch a slope with an edge only [m]."""
ALIKE = 0.006
"""What a release costs for each better one that is like it [m]."""
LEANS = np.radians(np.arange(2.0, 31.0, 2.0))
"""Angles at which things may lean against something [rad]."""
BETWEEN = 0.003
"""Least room between things in one place [m]."""
DEEP = 0.04
"""Into a hollow as deep as this a thing may fall [m]."""
STEEP = 0.15
"""Slope of a support along which things are laid."""
RESTING, TOUCHING = 0.012, 0.015
"""A thing lower than this over what is under it rests; a support as near as this is touched [m]."""


def releases(
    world: World, thing: str, search: Search, parts: Parts, axes: Array, problem: str, beside: Sequence[str] = ()
) -> list[Release]:
    """The best releases.

    Args:
        axes: of the place, shape (3, 3): where room is tight, things are turned along them.
        problem: what to say where there is none.
        beside: things for which room is left.

    Raises:
        NoPlan: there is none.
    """
    body = world.body(thing)
    obstacles = (*parts.support, *parts.other)
    chosen: list[Rest] = []
    ways: list[Way] = []
    found = _found(search, parts, axes, alone=not beside)
    for mate in beside:
        other = replace(search, body=world.body(mate), now=world.frame(mate).rotation)
        found = _leaving_room(body, found, world.body(mate), _found(other, parts, axes, alone=False))
    for rest in _varied(found):
        entry = way(body, rest, obstacles, ways)
        if entry is not None:
            chosen.append(rest)
            ways.append(entry)
        if len(chosen) == (MANY if not rest.roofed else FEW):
            break
    if not chosen:
        raise NoPlan(problem)
    return [_release(rest, found) for rest, found in zip(chosen, ways, strict=True)]


def search_for(
    world: World, thing: str, bounds: tuple[Array, Array], margin: Margin, favourite: Array | None = None
) -> Search:
    """A search for a thing's rests, origins within ``bounds`` (corners, shape (2,) each) and the goal's own ones."""
    low, high = bounds
    middle = (low + high) / 2 if favourite is None else favourite
    return Search(world.body(thing), world.frame(thing).rotation, low, high, margin, middle)


def ground(world: World) -> Placed:
    """The work surface as a piece."""
    x_min, y_min, x_max, y_max = np.clip(world.anatomy.extent, -3.0, 3.0)
    top = world.anatomy.ground
    corners = np.array([[x, y, z] for x in (x_min, x_max) for y in (y_min, y_max) for z in (top - 0.05, top)])
    return Piece(corners, corners), Frame(np.zeros(3), np.eye(3))


def others(world: World, *without: str) -> list[Placed]:
    """The pieces of everything but the named, and the work surface."""
    return [ground(world), *placed(world, *(name for name in world.anatomy.bodies if name not in without))]


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
    return bool(_gap(others(world, thing), grid, under, full, middle) < RESTING)


def _gap(parts: Sequence[Placed], grid: Grid, under: Array, full: NDArray[np.bool_], below: float) -> float:
    lower = [one for one in parts if float(one[1].apply(one[0].corners)[:, 2].min()) < below]
    return float((under - tops(lower, grid))[full].min())


def _found(search: Search, parts: Parts, axes: Array, alone: bool) -> list[Rest]:
    """Rests of a thing, best first; where it is not to lie ``alone``, single turns as well where any turn will do."""
    straight = upright(search.now)
    standing = [straight, turned(straight, np.pi / 4)]
    along = _aligned(straight, axes)
    if _angle(along, straight) > 0.03:
        standing.append(along)
    found = search.rests(Scenery.of(search.grid(standing), parts, False), standing, circle=2, singly=not alone)
    tilt = _slope(search, parts)
    if tilt is not None:
        turns = [turned(one, angle) for one in (along, *_tipped(along)) for angle in np.arange(4) * np.pi / 2]
        leaning = [tilt @ one for one in turns]
        found = [rest.dearer(LEVEL) for rest in found]
        found += search.rests(Scenery.of(search.grid(leaning), parts, False), leaning, turns=1)
    for shift in (0.0, CELL / 2):  # what fits barely may fit one grid only
        if not any(rest.steady > 0 and not rest.roofed for rest in found):
            grid = search.grid(standing, shift)
            narrow = search.rests(Scenery.of(grid, parts, True), standing, circle=2, singly=not alone)
            found += [rest.dearer(SQUEEZED) for rest in narrow]
    if not any(rest.steady > 0 for rest in found):
        lying = _tipped(along)
        tipped = search.rests(Scenery.of(search.grid(lying), parts, False), lying)
        found += [rest.dearer(TIPPED) for rest in tipped]
    if not any(rest.steady > 0 for rest in found) and (leaning := list(_leaning(search.body, along))):
        against = search.rests(Scenery.of(search.grid(leaning), parts, True), leaning, leaning=True)
        found += [rest for rest in against if rest.raised < SAME]
    return ranked(found)


def _leaving_room(body: Body, found: Sequence[Rest], mate: Body, mates: Sequence[Rest]) -> list[Rest]:
    """Rests, best first, those lower that leave another thing only a bad place, or none."""
    if not mates:
        return list(found)
    low, high = (np.array(some) for some in zip(*(_extent(mate, rest) for rest in mates), strict=True))
    scores = np.array([rest.score for rest in mates])
    result = []
    for rest in found:
        own_low, own_high = _extent(body, rest)
        gap = np.maximum(low - own_high, own_low - high).max(axis=1)
        value = np.where(gap > BETWEEN, scores + 2 * np.minimum(gap, CLEAR), -FAR)
        freedom = FREEDOM if rest.free else 0.0  # the other thing's place weighs more
        result.append(rest.dearer(freedom - float(value.max())))
    return ranked(result)


def _extent(body: Body, rest: Rest) -> tuple[Array, Array]:
    """Low and high corner of a thing at rest, seen from above, shape (2,) each [m]."""
    if rest.free:
        wide = breadth(body, rest.rotation)
        return rest.position[:2] - wide, rest.position[:2] + wide
    corners = np.concatenate([piece.corners for piece in body.pieces]) @ rest.rotation.T + rest.position
    return corners[:, :2].min(axis=0), corners[:, :2].max(axis=0)


def _release(rest: Rest, found: Way) -> Release:
    slack = float(np.clip(min(rest.inside, rest.clear + CAREFUL), CAREFUL, LOOSE))
    straight = not rest.roofed
    return Release(
        rest.position,
        None if rest.free else rest.rotation,
        entry=found.direction,
        depth=max(found.length, min(rest.sunk + OUTSIDE, LONGEST)) if straight else found.length,
        slack=slack,
        free=min(rest.sunk, LONGEST / 2) if straight and rest.steady > 0 and rest.sunk > DEEP else 0.0,
    )


def _varied(found: Sequence[Rest]) -> Iterator[Rest]:
    """Rests, best first, those that are like earlier ones later."""
    left = list(found)
    score = np.array([rest.score for rest in left])
    positions = np.array([rest.position for rest in left]).reshape(-1, 3)
    turns = Rotation.from_matrix(np.array([rest.rotation for rest in left])) if left else None
    for _ in left:
        best = int(score.argmax())
        if score[best] == -np.inf:
            return
        yield left[best]
        near = np.linalg.norm(positions - positions[best], axis=1) < APART
        turn = (turns * turns[best].inv()).magnitude() < TURNED
        free = np.array([rest.free for rest in left])
        score = score - ALIKE * (near.astype(float) + (turn | free))
        score[best] = score[near & (turn | free)] = -np.inf


def _angle(one: Array, other: Array) -> float:
    return float(Rotation.from_matrix(one @ other.T).magnitude())


def _aligned(rotation: Array, axes: Array) -> Array:
    """``rotation``, turned about the vertical by the least angle that lays its axes along those of a place."""
    own, wanted = _heading(rotation), _heading(axes)
    angle = (wanted - own + np.pi / 4) % (np.pi / 2) - np.pi / 4
    return turned(rotation, angle)


def _heading(axes: Array) -> float:
    """Direction of the most level axis [rad]."""
    level = int(np.abs(axes[2]).argmin())
    return float(np.arctan2(axes[1, level], axes[0, level]))


def _tipped(rotation: Array) -> list[Array]:
    """``rotation`` tipped over to each of four sides."""
    heading = turned(np.eye(3), _heading(rotation))
    sides = ((1, 0, 0), (0, 1, 0), (-1, 0, 0), (0, -1, 0))
    turns = [Rotation.from_rotvec(np.pi / 2 * np.array(side)).as_matrix() for side in sides]
    return [heading @ turn @ heading.T @ rotation for turn in turns]


def _leaning(body: Body, rotation: Array) -> Iterator[Array]:
    """Rotations tilted so far that a thing falls on until it leans against something, not back onto its foot."""
    corners = np.concatenate([piece.corners for piece in body.pieces])
    for turn in np.arange(4) * np.pi / 2:
        tilts = [Rotation.from_rotvec([angle, 0.0, 0.0]).as_matrix() @ turned(rotation, turn) for angle in LEANS]
        heights = [float((tilt @ middle(body))[2] - (corners @ tilt.T)[:, 2].min()) for tilt in tilts]
        yield from tilts[int(np.argmax(heights)) + 2 :]


def _slope(search: Search, parts: Parts) -> Array | None:
    """The least rotation that lays things along the support, shape (3, 3); None where it is level."""
    heights = tops(parts.support, Grid.over(search.low, search.high))
    if min(heights.shape) < 2:
        return None
    steps = [np.diff(np.where(np.isfinite(heights), heights, np.nan), axis=axis) / CELL for axis in (0, 1)]
    if any(np.isnan(step).all() for step in steps):
        return None
    x, y = (float(np.nanmedian(step)) for step in steps)
    if np.hypot(x, y) < STEEP:
        return None
    normal = np.array([-x, -y, 1.0]) / np.sqrt(1 + x * x + y * y)
    turn: Array = Rotation.align_vectors(normal[None], np.array([[0.0, 0.0, 1.0]]))[0].as_matrix()
    return turn

"""From rests to releases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Body
from gym_grounding.errors import NoPlan
from gym_grounding.experts.destinations._candidates import candidates
from gym_grounding.experts.destinations._entry import LONGEST, OUTSIDE, Way, way
from gym_grounding.experts.destinations._rest import CLEAR, FREEDOM, Margin, Rest, Search, ranked
from gym_grounding.experts.destinations._scenery import Parts
from gym_grounding.experts.destinations._shape import FAR, breadth
from gym_grounding.experts.skills.release import Release
from gym_grounding.experts.world import World

Array = NDArray[np.float64]
MANY, FEW = 8, 4
"""So many releases are offered at most, and so many where a way in had to be found."""
APART, TURNED = 0.02, 0.3
"""Releases differ by this much at least [m, rad]."""
EDGE, SURE = 0.004, 0.0005
"""How far inside the goal's bounds an origin must be, sideways and in height [m]."""
CAREFUL, LOOSE = 0.006, 0.012
"""Bounds of the slack of a release [m]."""
ALIKE = 0.006
"""What a release costs for each better one that is like it [m]."""
BETWEEN = 0.003
"""Least room between things in one place [m]."""
DEEP = 0.04
"""Into a hollow as deep as this a thing may fall [m]."""


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
    found = candidates(search, parts, axes, alone=not beside)
    for mate in beside:
        other = replace(search, body=world.body(mate), now=world.frame(mate).rotation)
        found = _leaving_room(body, found, world.body(mate), candidates(other, parts, axes, alone=False))
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
    slack = float(np.clip(min(rest.inside + EDGE, rest.clear + CAREFUL), EDGE, LOOSE))
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
    turns = np.array([rest.rotation for rest in left]).reshape(-1, 3, 3)
    for _ in left:
        best = int(score.argmax())
        if score[best] == -np.inf:
            return
        yield left[best]
        near = np.linalg.norm(positions - positions[best], axis=1) < APART
        turn = Rotation.from_matrix(turns @ turns[best].T).magnitude() < TURNED
        free = np.array([rest.free for rest in left])
        score = score - ALIKE * (near.astype(float) + (turn | free))
        score[best] = score[near & (turn | free)] = -np.inf

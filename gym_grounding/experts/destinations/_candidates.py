"""Ways in which a thing may lie somewhere: standing, leaning, tipped over."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Body
from gym_grounding.experts.destinations._relief import CELL, Grid, middle, tops
from gym_grounding.experts.destinations._rest import Rest, Search, ranked
from gym_grounding.experts.destinations._scenery import Parts, Scenery
from gym_grounding.experts.destinations._shape import SAME, turned, upright

Array = NDArray[np.float64]
SQUEEZED, TIPPED, LEVEL = 0.01, 0.025, 0.02
"""What rests cost that fit barely, that ask for a tipped thing, or that touch a slope with an edge only [m]."""
LEANS = np.radians(np.arange(1.0, 31.0))
"""Angles at which things may lean against something [rad]."""
FALLEN = slice(3, 7)
"""Which of them are tried, counted from the one at which a thing is balanced on its edge."""
ASKEW = np.radians((10.0, 20.0, 30.0))
"""Angles at which things may be wedged in [rad]."""
STEEP = 0.15
"""Slope of a support along which things are laid."""
TURNED = 0.03
"""Rotations closer than this are the same [rad]."""


def candidates(search: Search, parts: Parts, axes: Array, alone: bool) -> list[Rest]:
    """Rests of a thing, best first; where it is not to lie ``alone``, single turns as well where any turn will do."""
    straight = upright(search.now)
    standing = [straight, turned(straight, np.pi / 4)]
    along = _aligned(straight, axes)
    if angle_between(along, straight) > TURNED:
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
        # Whether it touches already tells grid from grid, not good from bad.
        found += [rest.dearer(max(rest.steady, 0.0)) for rest in against if rest.raised < SAME]
    if not any(rest.steady > 0 or rest.raised < SAME for rest in found):
        askew = [tilt for angle in ASKEW for tilt in _tilted(along, angle)]
        wedged = search.rests(Scenery.of(search.grid(askew), parts, False), askew)
        found += [rest.dearer(TIPPED) for rest in wedged if rest.steady > 0]
    return ranked(found)


def angle_between(one: Array, other: Array) -> float:
    """Angle of the turn between two rotations [rad]."""
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


def _tilted(rotation: Array, angle: float) -> Iterator[Array]:
    """``rotation`` tilted by ``angle`` to each of four sides of the thing; their quarter turns are its other tilts."""
    heading = _heading(rotation)
    tilt = Rotation.from_rotvec(angle * np.array([np.cos(heading), np.sin(heading), 0.0])).as_matrix()
    for turn in np.arange(4) * np.pi / 2:
        yield tilt @ turned(rotation, turn)


def _leaning(body: Body, rotation: Array) -> Iterator[Array]:
    """Rotations tilted so far that a thing falls on until it leans against something, not back onto its foot."""
    corners = np.concatenate([piece.corners for piece in body.pieces])
    for tilts in zip(*(_tilted(rotation, angle) for angle in LEANS), strict=True):
        heights = [float((tilt @ middle(body))[2] - (corners @ tilt.T)[:, 2].min()) for tilt in tilts]
        yield from tilts[int(np.argmax(heights)) :][FALLEN]


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

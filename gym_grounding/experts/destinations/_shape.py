"""How a thing lies, by its underside."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Body, Frame
from gym_grounding.experts.destinations._relief import CELL, Grid, bottoms, middle, tops
from gym_grounding.experts.destinations._scenery import WIDER, View

Array = NDArray[np.float64]
TOUCH, LOOSE = 0.003, 0.008
"""A gap as small as this counts as contact, on slopes perhaps [m]."""
SAME = 0.001
"""Heights closer than this are equal [m]."""
FALL = 0.5
"""What a metre of further fall costs [m]."""
ROLLS = 0.015
"""What it costs to rest only after rolling or tipping a little [m]."""
FAR = 0.1
"""Cost of what cannot be [m]."""
_SIDES = np.arange(16) * np.pi / 8
_DIRECTIONS = np.stack([np.cos(_SIDES), np.sin(_SIDES)])


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
class Lies:
    """How a thing lies over each of some cells; all of shape (n,).

    Attributes:
        steady: distance from toppling [m]. In a hollow a thing that topples goes no further: there it is minus what
            the fall costs; ``-FAR`` or less where it falls off.
        clear: room around it [m].
        rim: height of what stands close around it, above its lowest point [m].
        roofed: whether something hangs over it.
        raised: height of its lowest point over the bottom of the hollow that it lies in, inf where in none [m].
        sunk: depth of its lowest point under the brim of that hollow, 0 where in none [m].
    """

    steady: Array
    clear: Array
    rim: Array
    roofed: NDArray[np.bool_]
    raised: Array
    sunk: Array


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
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
    def quarters(cls, body: Body, rotation: Array, wide: float, grown: float) -> list[Shape]:
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

    def heights(self, view: View) -> Array:
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

    def lies(self, view: View, hollow: Array, least: float) -> Lies:
        """How the thing lies over each cell of a view.

        Args:
            hollow: as ``Scenery.hollow``.
            least: nearest to toppling that it may be in a hollow [m].
        """
        full = np.isfinite(self.under)
        gaps = self._gaps(view, view.scenery.support)
        heights = gaps.max(axis=1)
        bottom, brim = hollow.T
        lowest = heights + self.under[full].min()
        caught = lowest < np.where(np.isfinite(brim), brim, -np.inf) + CELL
        raised = np.where(caught, lowest - np.where(caught, bottom, 0.0), np.inf)
        clear = np.zeros(len(view))
        for cells, relief in zip(WIDER, view.scenery.wider, strict=True):
            free = self._gaps(view, relief).max(axis=1) <= heights + SAME
            clear = np.where(free, np.maximum(clear, cells * CELL), clear)
        steady = self._steady(view, gaps)
        return Lies(
            np.where(caught & (steady <= least), np.maximum(-FALL * raised, -FAR), steady),
            clear,
            view.of(view.scenery.around)[:, full].max(axis=1) - lowest,
            view.of(view.scenery.under_roof)[:, full].max(axis=1) > -np.inf,
            raised,
            np.where(caught, brim, 0.0) - np.where(caught, lowest, 0.0),
        )

    def _steady(self, view: View, gaps: Array) -> Array:
        """Distance from toppling over each cell, ``-ROLLS`` where it rolls or tips a little first, ``-FAR`` [m]."""
        leverage = ((np.argwhere(np.isfinite(self.under)) - view.half) * CELL - self.weight[:2]) @ _DIRECTIONS
        highest = gaps.max(axis=1)[:, None]
        firm, loose = (_steadiness(gaps > highest - gap, leverage) for gap in (TOUCH, LOOSE))
        return np.where(firm > 0, firm, np.where(loose > 0, -ROLLS, -FAR))

    def _gaps(self, view: View, relief: Array) -> Array:
        """Heights of the origin at which each part of the underside meets the relief, shape (n, parts)."""
        full = np.isfinite(self.under)
        gaps: Array = view.of(relief)[:, full] - self.under[full]
        return gaps


def _steadiness(contact: NDArray[np.bool_], leverage: Array) -> Array:
    """Distance from the centre of mass to the outline of the contacts, negative outside, shape (n,) [m].

    Half a cell less than measured, since cells touch that are only partly covered.

    Args:
        contact: which parts touch, shape (n, parts).
        leverage: how far each part lies from the centre of mass in each direction, shape (parts, directions).
    """
    reached = np.where(contact[..., None], leverage, -np.inf).max(axis=1)
    distance: Array = reached.min(axis=-1) - CELL / 2
    return distance

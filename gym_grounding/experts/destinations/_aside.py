"""Somewhere out of the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gym_grounding.experts.destinations import _bounds
from gym_grounding.experts.destinations._plan import releases, search_for
from gym_grounding.experts.destinations._relief import ground, others
from gym_grounding.experts.destinations._resting import rests
from gym_grounding.experts.destinations._scenery import Parts
from gym_grounding.experts.destinations._shape import breadth
from gym_grounding.experts.skills.release import Release
from gym_grounding.experts.world import World

Array = NDArray[np.float64]
NEAREST, FARTHEST, SIDEWAYS = 0.35, 0.75, 0.35
"""Where the arm reaches the work surface well, from its base forwards and to either side [m]."""
ROOM = 0.05
"""More distance than this from what must stay free is worth nothing [m]."""
HAND = 0.11
"""The hand reaches as far as this to its sides [m]."""


@dataclass(frozen=True, slots=True)
class Aside:
    """A free place on the work surface within the arm's reach, to clear something away.

    Attributes:
        avoid: regions, objects and fixtures that must stay free, also from above.
        beside: objects of which the hand will take hold.
    """

    avoid: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """``aside``."""
        return "aside"

    def releases(self, world: World, thing: str) -> Sequence[Release]:
        """See ``Destination``."""
        base, (x_min, y_min, x_max, y_max) = world.anatomy.base[:2], world.anatomy.extent
        own = breadth(world.body(thing), world.frame(thing).rotation)
        low = np.maximum(base + np.array([NEAREST, -SIDEWAYS]), [x_min + own, y_min + own])
        high = np.minimum(base + np.array([FARTHEST, SIDEWAYS]), [x_max - own, y_max - own])
        taken = self._taken(world)

        def margin(origins: Array) -> Array:
            room = np.full(origins.shape[:-1], ROOM)
            for first, last in taken:
                gap = np.maximum(first - origins[..., :2], origins[..., :2] - last).max(axis=-1)
                room = np.minimum(room, gap - own)
            return room

        now = world.frame(thing).position[:2]
        search = search_for(world, thing, (low, high), margin, np.clip(now, low, high))
        parts = Parts([ground(world)], others(world, thing))
        problem = f"there is no free place for {thing} on the work surface"
        return releases(world, thing, search, parts, np.eye(3), problem)

    def reached(self, world: World, thing: str) -> bool:
        """See ``Destination``."""
        position = world.frame(thing).position[:2]
        for first, last in self._taken(world):
            if np.all(position > first) and np.all(position < last):
                return False
        lowest = float(world.cloud(thing)[:, 2].min())
        return lowest < world.anatomy.ground + 0.02 and rests(world, thing)

    def _taken(self, world: World) -> list[tuple[Array, Array]]:
        """Low and high corners of what must stay free, shape (2,) each [m]."""
        handled = [_extent(world, name) for name in self.beside]
        return [*(_extent(world, name) for name in self.avoid), *((low - HAND, high + HAND) for low, high in handled)]


def _extent(world: World, name: str) -> tuple[Array, Array]:
    """Low and high corner of a region, object or fixture seen from above, shape (2,) each [m]."""
    if world.is_spot(name):
        low, high = _bounds.box(world.spot(name))
        return low[:2], high[:2]
    cloud = world.cloud(name)[:, :2]
    return cloud.min(axis=0), cloud.max(axis=0)

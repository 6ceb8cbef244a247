"""On things, on regions of things, on zones of the work surface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gym_grounding.errors import NoPlan
from gym_grounding.experts.destinations import _bounds
from gym_grounding.experts.destinations._plan import EDGE, SURE, releases, search_for
from gym_grounding.experts.destinations._relief import ground, others, placed
from gym_grounding.experts.destinations._resting import rests
from gym_grounding.experts.destinations._scenery import Parts
from gym_grounding.experts.destinations._shape import upright
from gym_grounding.experts.skills.release import Release
from gym_grounding.experts.world import Place, World

LEVEL = 0.3
"""A support tilted by more than this carries nothing [rad]."""


@dataclass(frozen=True, slots=True)
class OnBody:
    """On an object or fixture: origins within 3 cm of each other, horizontally, and the thing rests on it.

    Attributes:
        name: of the object or fixture.
    """

    name: str

    @property
    def words(self) -> str:
        """Such as ``on plate_1``."""
        return f"on {self.name}"

    def releases(self, world: World, thing: str) -> Sequence[Release]:
        """See ``Destination``."""
        frame = world.frame(self.name)
        tilt = float(np.arccos(np.clip((frame.rotation[2] * upright(frame.rotation)[2]).sum(), -1, 1)))
        if tilt > LEVEL:
            raise NoPlan(f"{self.name} is tilted, nothing would stay on it")
        if world.body(self.name).movable and not rests(world, self.name):
            raise NoPlan(f"{self.name} is in the air, or in motion")
        cover = _cover(world, self.name, thing)
        if cover:
            raise NoPlan(f"{cover} lies on {self.name}, where {thing} should be", cover)
        size = _bounds.NEAR - EDGE
        search = search_for(
            world,
            thing,
            (frame.position[:2] - size, frame.position[:2] + size),
            lambda origins: _bounds.on_body(frame.position, origins, SURE) - EDGE,
        )
        parts = Parts(placed(world, self.name), [ground(world), *others(world, self.name, thing)])
        return releases(world, thing, search, parts, frame.rotation, f"{thing} finds no rest on {self.name}")

    def reached(self, world: World, thing: str) -> bool:
        """See ``Destination``."""
        near = _bounds.on_body(world.frame(self.name).position, world.frame(thing).position)
        return bool(near > 0) and rests(world, thing, self.name)


@dataclass(frozen=True, slots=True)
class OnSpot:
    """On a region, resting on what carries it: an object, a fixture, or the work surface.

    Attributes:
        name: of the region.
        beside: things that are to go there later, for which room is left.
    """

    name: str
    beside: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """Such as ``on flat_stove_1_cook_region``."""
        return f"on {self.name}"

    def releases(self, world: World, thing: str) -> Sequence[Release]:
        """See ``Destination``."""
        return _on_region(world, thing, self.name, self.beside)

    def reached(self, world: World, thing: str) -> bool:
        """See ``Destination``."""
        place = world.spot(self.name)
        on = bool(_bounds.on_region(place, world.frame(thing).position) > 0)
        return on and rests(world, thing, place.parent or None)


def _on_region(world: World, thing: str, name: str, beside: tuple[str, ...]) -> list[Release]:
    place = world.spot(name)
    low, high = _bounds.over(place)
    search = search_for(
        world, thing, (low + EDGE, high - EDGE), lambda origins: _bounds.on_region(place, origins, SURE) - EDGE
    )
    coming = tuple(mate for mate in beside if not _bounds.on_region(place, world.frame(mate).position) > 0)
    if place.parent:
        parts = Parts(placed(world, place.parent), [ground(world), *others(world, place.parent, thing, *coming)])
    else:
        parts = Parts([ground(world)], others(world, thing, *coming))
    try:
        return releases(world, thing, search, parts, place.frame.rotation, f"{thing} finds no rest on {name}", coming)
    except NoPlan as problem:
        raise NoPlan(str(problem), _taker(world, place, thing)) from problem


def _taker(world: World, place: Place, thing: str) -> str:
    """Some other thing on a region; empty where there is none."""
    for other, body in world.anatomy.bodies.items():
        mine = other in (thing, place.parent)
        if body.movable and not mine and _bounds.on_region(place, world.frame(other).position) > 0:
            return other
    return ""


def _cover(world: World, name: str, thing: str) -> str:
    """What lies on the middle of an object or fixture; empty for nothing."""
    middle = world.frame(name).position
    for other, body in world.anatomy.bodies.items():
        above = body.movable and other not in (name, thing)
        if above and _bounds.on_body(middle, world.frame(other).position) > 0 and rests(world, other, name):
            return other
    return ""

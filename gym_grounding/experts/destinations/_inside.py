"""In regions: baskets, drawers, compartments, ovens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gym_grounding.adapters import Frame
from gym_grounding.errors import NoPlan
from gym_grounding.experts.destinations import _bounds
from gym_grounding.experts.destinations._plan import EDGE, SURE, releases, search_for
from gym_grounding.experts.destinations._relief import Placed, ground, others, placed
from gym_grounding.experts.destinations._resting import rests
from gym_grounding.experts.destinations._scenery import Parts
from gym_grounding.experts.skills.release import Release
from gym_grounding.experts.world import Place, World, moved

HEADROOM = 0.8
"""What starts above this share of a region's upper half hangs over what is in it."""
DRAWER, DOOR = 0.06, 0.8
"""A drawer opened less than this is shut, and a door [m, rad]."""


@dataclass(frozen=True, slots=True)
class InSpot:
    """In a region of an object or fixture.

    Attributes:
        name: of the region.
        shut: whether the drawer or oven is to be shut afterwards, so that nothing may stick out of it.
    """

    name: str
    shut: bool = False

    @property
    def words(self) -> str:
        """Such as ``in basket_1_contain_region``."""
        return f"in {self.name}"

    def releases(self, world: World, thing: str) -> Sequence[Release]:
        """See ``Destination``."""
        place = world.spot(self.name)
        if not place.parent:
            raise NoPlan(f"{self.name} is a zone of the work surface, which has no inside")
        if _shut_now(world, place):
            raise NoPlan(f"{self.name} is shut")
        low, high = _bounds.box(place)
        search = search_for(
            world,
            thing,
            (low[:2] + EDGE, high[:2] - EDGE),
            lambda origins: _bounds.in_region(place, origins, SURE) - EDGE,
        )
        inside = _inside(world, place, thing)
        problem = f"{thing} finds no room in {self.name}"

        def found(below: Sequence[str]) -> list[Release]:
            parts = self._parts(world, place, below, (thing,))
            return releases(world, thing, search, parts, place.frame.rotation, problem)

        try:
            return found(())
        except NoPlan:
            if not inside:
                raise
            return found(inside)  # on what is in it already

    def _parts(self, world: World, place: Place, below: Sequence[str], without: Sequence[str]) -> Parts:
        """What carries, what is in the way and what hangs over; the things ``below`` carry as well."""
        own = placed(world, place.parent)
        carriers = [part for part in own if place.joint in (None, part[0].joint)]
        kept = [part for part in own if place.joint not in (None, part[0].joint)]
        return Parts(
            [*carriers, *placed(world, *below)],
            [ground(world), *kept, *others(world, place.parent, *below, *without)],
            _shut(world, place, self.shut),
            _under(place),
        )

    def reached(self, world: World, thing: str) -> bool:
        """See ``Destination``; what is to be shut in must also be lower than what then hangs over it."""
        place = world.spot(self.name)
        inside = bool(_bounds.in_region(place, world.frame(thing).position) > 0)
        return inside and rests(world, thing) and not (self.shut and self._sticks_out(world, place, thing))

    def _sticks_out(self, world: World, place: Place, thing: str) -> bool:
        lowest = [float(frame.apply(piece.corners)[:, 2].min()) for piece, frame in _shut(world, place, True)]
        ceiling = min((low for low in lowest if low > _under(place)), default=np.inf)
        return float(world.cloud(thing)[:, 2].max()) > ceiling


def _under(place: Place) -> float:
    """Height above which what begins there hangs over the region [m]."""
    return float(place.frame.position[2] + HEADROOM * np.abs(place.frame.rotation @ place.half)[2])


def _inside(world: World, place: Place, thing: str) -> tuple[str, ...]:
    """Things that are in the region already."""
    return tuple(
        name
        for name, body in world.anatomy.bodies.items()
        if body.movable
        and name not in (thing, place.parent)
        and _bounds.in_region(place, world.frame(name).position) > 0
    )


def _shut(world: World, place: Place, drawer: bool) -> list[Placed]:
    """What will be in the way of a thing inside once everything is shut, where it will be relative to the region."""
    body = world.body(place.parent)
    own = world.frame(place.parent)
    if place.joint is None:
        doors = [(number, joint) for number, joint in enumerate(body.joints) if not joint.slides]
        frames = {number: own.then(moved(joint, 0.0)) for number, joint in doors}
        return [(piece, frames[piece.joint]) for piece in body.pieces if piece.joint in frames]
    if not drawer:
        return []
    opened = moved(body.joints[place.joint], world.joint(place.parent, place.joint))
    shift = Frame(own.rotation @ opened.position, np.eye(3))
    return [(piece, shift.then(own)) for piece in body.pieces if piece.joint != place.joint]


def _shut_now(world: World, place: Place) -> bool:
    joints = world.body(place.parent).joints
    number = 0 if place.joint is None else place.joint
    if number >= len(joints):
        return False
    least = DRAWER if joints[number].slides else DOOR
    return abs(world.joint(place.parent, number)) < least

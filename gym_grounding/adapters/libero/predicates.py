"""Goals, judged by LIBERO's own predicates; regions that a variant adds are judged by LIBERO's zone test.

Surprises:
    A zone of the work surface asks for no contact: an object up to 10 cm above it counts as on it.
    ``close`` of a drawer and ``turnoff`` of the stove are False in the untouched, closed and off state.
    ``on`` between two objects asks for contact and for origins within 3 cm of each other, horizontally.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero.robosuite_names import (
    SiteObjectState,
    TargetZone,
    get_predicate_fn,
    get_predicate_fn_dict,
)
from gym_grounding.errors import InvalidOption, SimulatorError, UnknownName
from gym_grounding.types import Goal, Predicate, Region

Literal = tuple[Predicate, Region | None]
"""A predicate, and the added region that it names."""
LIFT = 0.10
"""``lifted`` asks for this much above the height after settling [m]."""
LIFTED = "lifted"


class Judge:
    """Says which goals hold in a simulator's present state.

    Args:
        env: LIBERO's problem object.
        scene: id of the scene, for messages.
    """

    def __init__(self, env: Any, scene: str) -> None:
        self.env = self._env = env
        self._scene = scene
        self._tests: dict[Literal, Callable[[], Any]] = {}
        self._verdicts: dict[Literal, bool] = {}
        self._settled: dict[str, float] = {}

    def settled(self) -> None:
        """Note the heights from which ``lifted`` counts: those of the present state."""
        self._settled = {name: self._height(name) for name in self._env.obj_body_id}
        self.forget()

    def forget(self) -> None:
        """The state has changed; judge anew."""
        self._verdicts.clear()

    def holds(self, goal: Goal) -> bool:
        """Whether every predicate of ``goal`` is true now.

        Raises:
            InvalidOption: a predicate, entity or surface that the scene does not have; names it and the scene.
            SimulatorError: LIBERO's own code failed on the predicate.
        """
        return all([self.verdict(literal) for literal in self.literals(goal)])

    def literals(self, goal: Goal) -> list[Literal]:
        """The goal's predicates with their added regions."""
        regions = {region.name: region for region in goal.regions}
        return [
            (predicate, next((regions[name] for name in predicate.args if name in regions), None))
            for predicate in goal.all_of
        ]

    def verdict(self, literal: Literal) -> bool:
        """Whether one literal is true now; raises as ``holds`` does."""
        verdict = self._verdicts.get(literal)
        if verdict is None:
            test = self._tests.get(literal)
            if test is None:
                test = self._tests[literal] = self._test(literal)
            try:
                verdict = bool(test())
            except Exception as error:
                message = f"Scene {self._scene}: LIBERO cannot judge {literal[0]}: {error!r}"
                raise SimulatorError(message) from error
            self._verdicts[literal] = verdict
        return verdict

    def states(self, literal: Literal) -> list[Any]:
        """LIBERO's object states that the literal's arguments name, and our ``AddedZone`` for an added region.

        Raises:
            InvalidOption: an entity or surface that the scene does not have.
        """
        return [self._entity(*literal, name) for name in literal[0].args]

    def height_settled(self, name: str) -> float:
        """Height from which ``lifted`` counts [m]."""
        return self._settled[name]

    def _test(self, literal: Literal) -> Callable[[], Any]:
        predicate = literal[0]
        if predicate.name == LIFTED:
            return self._lifted_test(predicate)
        if predicate.name not in get_predicate_fn_dict():
            raise self._refused(predicate, UnknownName("predicate", predicate.name, [*get_predicate_fn_dict(), LIFTED]))
        function = get_predicate_fn(predicate.name)
        states = self.states(literal)
        return lambda: function(*states)

    def _lifted_test(self, predicate: Predicate) -> Callable[[], bool]:
        if len(predicate.args) != 1 or (name := predicate.args[0]) not in self._env.objects_dict:
            raise self._refused(predicate, UnknownName("movable object", str(predicate), self._env.objects_dict))
        return lambda: self._height(name) >= self._settled[name] + LIFT

    def _entity(self, predicate: Predicate, region: Region | None, name: str) -> Any:
        if region is not None and name == region.name:
            try:
                return AddedZone(self._env, region)
            except LookupError as error:
                raise self._refused(predicate, error) from error
        known = self._env.object_states_dict
        if name not in known:
            raise self._refused(predicate, UnknownName("entity", name, known))
        return known[name]

    def _refused(self, predicate: Predicate, reason: Exception) -> InvalidOption:
        return InvalidOption(f"Scene {self._scene}: {predicate}: {reason}")

    def _height(self, name: str) -> float:
        return float(self._env.sim.data.body_xpos[self._env.obj_body_id[name]][2])


class AddedZone(SiteObjectState):  # type: ignore[misc]  # untyped library
    """A zone of the work surface that is not in the compiled scene, judged as LIBERO judges those that are.

    Args:
        env: LIBERO's problem object.
        region: where it lies.

    Attributes:
        zone: LIBERO's zone object.
        surface: body that carries it.
        like: a site of the compiled scene that is turned as the zone is.

    Raises:
        LookupError: the scene's work surface is another one, or has no zone to take the height from.
    """

    def __init__(self, env: Any, region: Region) -> None:
        super().__init__(env, region.name, parent_name=None)
        native = next((zone for zone in env.object_sites_dict.values() if isinstance(zone, TargetZone)), None)
        if region.surface != env.workspace_name or native is None:
            raise UnknownName("work surface", region.surface, [env.workspace_name])
        self.like = env.sim.model.site_name2id(native.name)
        self.surface = env.sim.model.site_bodyid[self.like]
        self.zone = _zone(region, native, self._shift(native))

    def position(self) -> NDArray[np.float64]:
        """World position of the zone's centre [m], shape (3,), as the compiled scene would place its site."""
        data = self.env.sim.data
        rotation = data.xmat[self.surface].reshape(3, 3)
        place: NDArray[np.float64] = data.body_xpos[self.surface] + rotation @ np.array(self.zone.pos)
        return place

    def check_ontop(self, other: Any) -> Any:
        """LIBERO's verdict on an object resting on the zone."""
        return self.zone.under(self.position(), self.rotation(), self._origin(other))

    def check_contain(self, other: Any) -> Any:
        """LIBERO's verdict on an object inside the zone."""
        return self.zone.in_box(self.position(), self.rotation(), self._origin(other))

    def _shift(self, native: Any) -> NDArray[np.float64]:
        """Where the surface's body has the point that ranges count from, shape (3,) [m]: the height is a zone's.

        LIBERO's kinds of scene shift their zones each in their own way, the study sideways, the kitchen downwards, and
        only the compiled sites show it.
        """
        ranges = self.env.parsed_problem["regions"][native.name]["ranges"][0]
        shift: NDArray[np.float64] = self.env.sim.model.site_pos[self.like] - [*_centre(ranges), 0.0]
        return np.round(shift, 6)

    def rotation(self) -> NDArray[np.float64]:
        """World rotation of the zone, shape (3, 3): its siblings'."""
        rotation: NDArray[np.float64] = self.env.sim.data.site_xmat[self.like].reshape(3, 3)
        return rotation

    def _origin(self, other: Any) -> NDArray[np.float64]:
        origin: NDArray[np.float64] = self.env.sim.data.body_xpos[self.env.obj_body_id[other.object_name]]
        return origin


def zone_origin(env: Any) -> tuple[NDArray[np.float64], float]:
    """World position from which the ranges of added regions count, at a zone's height, shape (3,); its half height [m].

    Raises:
        SimulatorError: a scene without a zone, or one whose zones are turned.
    """
    native = next((zone for zone in env.object_sites_dict.values() if isinstance(zone, TargetZone)), None)
    if native is None:
        raise SimulatorError("The scene's work surface has no zone, so none can be added to it")
    origin = AddedZone(env, Region("", env.workspace_name, (0.0, 0.0, 0.0, 0.0)))
    if not np.allclose(origin.rotation(), np.eye(3)):
        raise SimulatorError(f"Zone {native.name} is turned; added regions are laid along the world's axes")
    return origin.position(), float(origin.zone.size[2])


def _zone(region: Region, native: Any, shift: NDArray[np.float64]) -> Any:
    """The target zone that LIBERO's arena would make of the region, as thick as its siblings.

    Args:
        region: where it lies.
        native: a zone of the same surface.
        shift: what LIBERO adds to the middle of the ranges, shape (3,) [m].
    """
    x_min, y_min, x_max, y_max = region.ranges
    x, y = _centre(region.ranges) + shift[:2]
    return TargetZone(
        name=region.name,
        zone_size=((x_max - x_min) / 2, (y_max - y_min) / 2),
        zone_centroid_xy=(x, y),
        zone_height=native.size[2],
        z_offset=shift[2],
    )


def _centre(ranges: Sequence[float]) -> NDArray[np.float64]:
    x_min, y_min, x_max, y_max = ranges
    return np.array([(x_max + x_min) / 2, (y_max + y_min) / 2])

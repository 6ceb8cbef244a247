"""Goals, judged by LIBERO's own predicates; regions that a variant adds are judged by LIBERO's zone test.

Surprises:
    A zone of the work surface asks for no contact: an object up to 10 cm above it counts as on it.
    ``close`` of a drawer and ``turnoff`` of the stove are False in the untouched, closed and off state.
    ``on`` between two objects asks for contact and for origins within 3 cm of each other, horizontally.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
        self._env = env
        self._scene = scene
        self._tests: dict[tuple[Predicate, Region | None], Callable[[], Any]] = {}
        self._verdicts: dict[tuple[Predicate, Region | None], bool] = {}
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
        regions = {region.name: region for region in goal.regions}
        return all([self._holds(predicate, regions) for predicate in goal.all_of])

    def _holds(self, predicate: Predicate, regions: Mapping[str, Region]) -> bool:
        key = (predicate, next((regions[name] for name in predicate.args if name in regions), None))
        verdict = self._verdicts.get(key)
        if verdict is None:
            test = self._tests.get(key)
            if test is None:
                test = self._tests[key] = self._test(predicate, regions)
            try:
                verdict = bool(test())
            except Exception as error:
                raise SimulatorError(f"Scene {self._scene}: LIBERO cannot judge {predicate}: {error!r}") from error
            self._verdicts[key] = verdict
        return verdict

    def _test(self, predicate: Predicate, regions: Mapping[str, Region]) -> Callable[[], Any]:
        if predicate.name == LIFTED:
            return self._lifted_test(predicate)
        if predicate.name not in get_predicate_fn_dict():
            raise self._refused(predicate, UnknownName("predicate", predicate.name, [*get_predicate_fn_dict(), LIFTED]))
        function = get_predicate_fn(predicate.name)
        states = [self._entity(predicate, name, regions) for name in predicate.args]
        return lambda: function(*states)

    def _lifted_test(self, predicate: Predicate) -> Callable[[], bool]:
        if len(predicate.args) != 1 or (name := predicate.args[0]) not in self._env.objects_dict:
            raise self._refused(predicate, UnknownName("movable object", str(predicate), self._env.objects_dict))
        return lambda: self._height(name) >= self._settled[name] + LIFT

    def _entity(self, predicate: Predicate, name: str, regions: Mapping[str, Region]) -> Any:
        if name in regions:
            try:
                return AddedZone(self._env, regions[name])
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

    Raises:
        LookupError: the scene's work surface is another one, or has no zone to take the height from.
    """

    def __init__(self, env: Any, region: Region) -> None:
        super().__init__(env, region.name, parent_name=None)
        native = next((zone for zone in env.object_sites_dict.values() if isinstance(zone, TargetZone)), None)
        if region.surface != env.workspace_name or native is None:
            raise UnknownName("work surface", region.surface, [env.workspace_name])
        self._like = env.sim.model.site_name2id(native.name)
        self._surface = env.sim.model.site_bodyid[self._like]
        self.zone = _zone(region, native, self._shift(native))

    def position(self) -> NDArray[np.float64]:
        """World position of the zone's centre [m], shape (3,), as the compiled scene would place its site."""
        data = self.env.sim.data
        rotation = data.xmat[self._surface].reshape(3, 3)
        place: NDArray[np.float64] = data.body_xpos[self._surface] + rotation @ np.array(self.zone.pos)
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
        shift: NDArray[np.float64] = self.env.sim.model.site_pos[self._like] - [*_centre(ranges), 0.0]
        return np.round(shift, 6)

    def rotation(self) -> NDArray[np.float64]:
        """World rotation of the zone, shape (3, 3): its siblings'."""
        rotation: NDArray[np.float64] = self.env.sim.data.site_xmat[self._like].reshape(3, 3)
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

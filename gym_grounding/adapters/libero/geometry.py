"""Where the collision geometry of a compiled scene's entities is, and what touches what."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull

from gym_grounding.adapters.libero.robosuite_names import TargetZone, mjtGeom
from gym_grounding.errors import SimulatorError

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Box:
    """An upright box.

    Attributes:
        low, high: corners, shape (3,) [m].
    """

    low: Array
    high: Array

    @property
    def centre(self) -> Array:
        """Shape (3,) [m]."""
        middle: Array = (self.low + self.high) / 2
        return middle

    @property
    def size(self) -> Array:
        """Lengths of the sides, shape (3,) [m]."""
        sides: Array = self.high - self.low
        return sides

    def moved(self, offset: Array) -> Box:
        """The box shifted by ``offset``, shape (3,) [m]."""
        return Box(self.low + offset, self.high + offset)

    def covers(self, point: Array) -> bool:
        """Whether a point lies within the box as seen from above; only x and y count."""
        return bool(np.all(point[:2] >= self.low[:2]) and np.all(point[:2] <= self.high[:2]))


class Geometry:
    """Reads boxes and contacts from a simulator's present state.

    Args:
        env: LIBERO's problem object.
    """

    def __init__(self, env: Any) -> None:
        self._env = env
        model = env.sim.model
        bodies = {name: subtree(model, env.obj_body_id[name]) for name in (*env.objects_dict, *env.fixtures_dict)}
        owner = {body: name for name, members in bodies.items() for body in members}
        surface = self._surface_body()
        self._of: dict[str, list[int]] = {name: [] for name in bodies}
        self._owner: dict[int, str] = {}
        ground: list[int] = []
        for geom in range(model.ngeom):
            if not (model.geom_contype[geom] or model.geom_conaffinity[geom]):
                continue
            body = int(model.geom_bodyid[geom])
            if body in owner:
                self._of[owner[body]].append(geom)
                self._owner[geom] = owner[body]
            elif body in surface:
                ground.append(geom)
        self._points = {geom: hull_points(model, geom) for geoms in (*self._of.values(), ground) for geom in geoms}
        self._ground = ground
        self._parts = dict(self._of)
        for name, site in env.object_sites_dict.items():
            if site.parent_name in self._of:
                members = subtree(model, int(model.site_bodyid[model.site_name2id(name)]))
                own = [geom for geom in self._of[site.parent_name] if int(model.geom_bodyid[geom]) in members]
                self._parts[name] = own if site.joints and own else self._of[site.parent_name]
        self.origin = np.array([*env.workspace_offset[:2], self._ground_top()])
        """World position that a BDDL file's ranges count from, on the work surface's top, shape (3,) [m]."""

    @property
    def names(self) -> tuple[str, ...]:
        """Objects and fixtures."""
        return tuple(self._of)

    def box(self, name: str) -> Box:
        """World box around the collision geometry of an object, fixture or drawer (by its region)."""
        return around(self.parts(name))

    def outline(self, name: str) -> Array:
        """Corners of an object's or fixture's convex outline as seen from above, in order, shape (n, 2), world [m]."""
        return _hull(np.concatenate([self._placed(geom)[:, :2] for geom in self._parts[name]]))

    def parts(self, name: str) -> list[Box]:
        """World box of each collision geom of an object or fixture, or of the drawer that carries a region."""
        return [self._geom_box(geom) for geom in self._parts[name]]

    def outlines(self, name: str) -> list[Array]:
        """``outline`` of each of ``parts``, in the same order."""
        return [_hull(self._placed(geom)[:, :2]) for geom in self._parts[name]]

    def touching(self) -> Mapping[frozenset[str], float]:
        """Pairs of objects and fixtures in contact -> depth of the deepest overlap [m]; negative across a gap."""
        depths: dict[frozenset[str], float] = {}
        for contact in self._contacts():
            names = [self._owner.get(int(geom)) for geom in (contact.geom1, contact.geom2)]
            if names[0] is None or names[1] is None or names[0] == names[1]:
                continue
            pair = frozenset(name for name in names if name)
            depths[pair] = max(depths.get(pair, -np.inf), -float(contact.dist))
        return depths

    def depth(self, name: str, but: Iterable[str] = ()) -> float:
        """How deep an object overlaps with anything else [m], entities ``but`` left out; 0 where it touches nothing."""
        left_out = {name, *but}
        deepest = 0.0
        for contact in self._contacts():
            owners = [self._owner.get(int(geom)) for geom in (contact.geom1, contact.geom2)]
            if name in owners and not {*owners} <= left_out:
                deepest = max(deepest, -float(contact.dist))
        return deepest

    def _contacts(self) -> Iterator[Any]:
        data = self._env.sim.data
        return (data.contact[index] for index in range(data.ncon))

    def _geom_box(self, geom: int) -> Box:
        placed = self._placed(geom)
        return Box(placed.min(axis=0), placed.max(axis=0))

    def _placed(self, geom: int) -> Array:
        """Points of a geom's hull in the world, shape (n, 3) [m]."""
        data = self._env.sim.data
        placed: Array = self._points[geom] @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
        return placed

    def _zone_body(self) -> int:
        zone = next(name for name, site in self._env.object_sites_dict.items() if isinstance(site, TargetZone))
        model = self._env.sim.model
        return int(model.site_bodyid[model.site_name2id(zone)])

    def _surface_body(self) -> frozenset[int]:
        return frozenset(subtree(self._env.sim.model, self._zone_body()))

    def _ground_top(self) -> float:
        """Height of the work surface [m]: the highest point of its collision geometry."""
        return max(float(self._geom_box(geom).high[2]) for geom in self._ground)


def around(boxes: list[Box]) -> Box:
    """The box around boxes."""
    return Box(np.min([box.low for box in boxes], axis=0), np.max([box.high for box in boxes], axis=0))


def subtree(model: Any, root: int) -> list[int]:
    members = [root]
    for body in range(root + 1, model.nbody):
        if int(model.body_parentid[body]) in members:
            members.append(body)
    return members


def inside(points: Array, outline: Array) -> NDArray[np.bool_]:
    """Which of ``points``, shape (k, 2), lie within a convex outline, shape (n, 2) in order: shape (k,)."""
    outward = _outward(outline)
    within: NDArray[np.bool_] = np.all(np.einsum("kni,ni->kn", points[:, None] - outline[None], outward) <= 0, axis=1)
    return within


def gap(first: Array, second: Array) -> float:
    """Distance between two convex outlines, shapes (n, 2) and (m, 2) in order [m]; 0 where they overlap."""
    if not (_apart(first, second) or _apart(second, first)):
        return 0.0
    return min(_to_edges(first, second), _to_edges(second, first))


def _apart(outline: Array, other: Array) -> bool:
    """Whether some edge of ``outline`` has all of ``other`` on its outer side."""
    heights = np.einsum("nki,ni->nk", other[None] - outline[:, None], _outward(outline))
    return bool(np.any(np.all(heights > 0, axis=1)))


def _outward(outline: Array) -> Array:
    """A vector to the outside of every edge, shape (n, 2); corners run counter-clockwise."""
    edges = np.roll(outline, -1, axis=0) - outline
    outward: Array = np.stack([edges[:, 1], -edges[:, 0]], axis=1)
    return outward


def _hull(points: Array) -> Array:
    corners: Array = points[ConvexHull(points).vertices]
    return corners


def _to_edges(points: Array, outline: Array) -> float:
    edges = np.roll(outline, -1, axis=0) - outline
    along = np.einsum("pei,ei->pe", points[:, None] - outline[None], edges) / np.sum(edges**2, axis=1)
    nearest = outline[None] + np.clip(along, 0, 1)[..., None] * edges[None]
    return float(np.min(np.linalg.norm(points[:, None] - nearest, axis=2)))


def hull_points(model: Any, geom: int) -> Array:
    """Points whose convex hull is the geom, in its own frame, shape (n, 3) [m].

    Round geoms are replaced by points of their surface; a plane by its centre, for it only bounds from below.
    """
    kind, size = int(model.geom_type[geom]), np.array(model.geom_size[geom])
    if kind == mjtGeom.mjGEOM_MESH:
        mesh = int(model.geom_dataid[geom])
        start, count = int(model.mesh_vertadr[mesh]), int(model.mesh_vertnum[mesh])
        return np.array(model.mesh_vert[start : start + count], np.float64)
    if kind == mjtGeom.mjGEOM_BOX:
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], np.float64)
        corners: Array = signs * size
        return corners
    if kind == mjtGeom.mjGEOM_CYLINDER:
        axis = np.array([0.0, 0.0, size[1]])
        return np.concatenate([size[0] * _RIM - axis, size[0] * _RIM + axis])
    if kind == mjtGeom.mjGEOM_SPHERE:
        ball: Array = size[0] * _BALL
        return ball
    if kind == mjtGeom.mjGEOM_CAPSULE:
        axis = np.array([0.0, 0.0, size[1]])
        return np.concatenate([size[0] * _BALL - axis, size[0] * _BALL + axis])
    if kind == mjtGeom.mjGEOM_PLANE:
        return np.zeros((1, 3))
    raise SimulatorError(f"Collision geom {geom} has mujoco's type {kind}, whose extent this package does not know")


def _circle(radius: float, height: float) -> Array:
    turns = np.linspace(0, 2 * np.pi, 32, endpoint=False)
    return np.stack([radius * np.cos(turns), radius * np.sin(turns), np.full(32, height)], axis=1)


_RIM = _circle(1.0, 0.0)
_BALL = np.concatenate([_circle(np.cos(tilt), np.sin(tilt)) for tilt in np.linspace(-np.pi / 2, np.pi / 2, 17)])

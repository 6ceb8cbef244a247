"""The anatomy of a compiled LIBERO scene: collision geoms, joints and sites relative to the bodies that carry them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

from gym_grounding.adapters._anatomy import Anatomy, Array, Body, Frame, Joint, Piece, Spot
from gym_grounding.adapters.libero.geometry import hull_points, subtree
from gym_grounding.adapters.libero.predicates import zone_origin
from gym_grounding.adapters.libero.robosuite_names import TargetZone, mjtJoint
from gym_grounding.errors import SimulatorError

SPACING = 0.012
"""Distance of neighbouring surface points [m]."""


def read(env: Any, scene: str) -> Anatomy:
    """The anatomy of LIBERO's problem object ``env``; reads constants of its model only.

    Raises:
        SimulatorError: a body that hangs on two joints, or a scene without a zone to take heights from.
    """
    model = env.sim.model
    bodies = {name: _body(env, model, name) for name in (*env.objects_dict, *env.fixtures_dict)}
    spots = {name: _spot(env, model, name, site) for name, site in env.object_sites_dict.items()}
    origin, thickness = zone_origin(env)
    ground, extent = _surface(env, model)
    base = np.array(env.sim.data.body_xpos[model.body_name2id("robot0_base")])
    return Anatomy(scene, bodies, spots, ground, extent, origin, thickness, base)


def _body(env: Any, model: Any, name: str) -> Body:
    root = int(env.obj_body_id[name])
    movable = name in env.objects_dict
    names = () if movable else tuple(env.fixtures_dict[name].joints)
    joints = [int(model.joint_name2id(joint)) for joint in names]
    pieces = []
    for part in subtree(model, root):
        frame, joint = _rest(model, part, root, joints)
        for geom in _geoms(model, part):
            corners = frame.apply(_own(model.geom_pos[geom], model.geom_quat[geom]).apply(hull_points(model, geom)))
            pieces.append(Piece(corners, surface(corners), joint))
    return Body(name, movable, tuple(pieces), tuple(_joint(model, joint, root, joints) for joint in joints))


def _geoms(model: Any, body: int) -> Iterator[int]:
    for geom in range(int(model.body_geomadr[body]), int(model.body_geomadr[body]) + int(model.body_geomnum[body])):
        if model.geom_contype[geom] or model.geom_conaffinity[geom]:
            yield geom


def _rest(model: Any, body: int, root: int, joints: list[int]) -> tuple[Frame, int | None]:
    """A body's frame in its root's with all joints at 0, and the number of the joint that it hangs on."""
    frame, found = Frame(np.zeros(3), np.eye(3)), None
    while body != root:
        count, first = int(model.body_jntnum[body]), int(model.body_jntadr[body])
        if count > 1 or (count and found is not None):
            raise SimulatorError(f"Body {model.body_id2name(body)} hangs on more than one joint")
        if count:
            found = joints.index(first)
        frame = _own(model.body_pos[body], model.body_quat[body]).then(frame)
        body = int(model.body_parentid[body])
    return frame, found


def _joint(model: Any, joint: int, root: int, joints: list[int]) -> Joint:
    frame, _ = _rest(model, int(model.jnt_bodyid[joint]), root, joints)
    low, high = (float(bound) for bound in model.jnt_range[joint])
    slides = int(model.jnt_type[joint]) == int(mjtJoint.mjJNT_SLIDE)
    axis = frame.rotation @ np.array(model.jnt_axis[joint])
    return Joint(str(model.joint_id2name(joint)), slides, axis, frame.apply(np.array(model.jnt_pos[joint])), low, high)


def _spot(env: Any, model: Any, name: str, site: Any) -> Spot:
    number = int(model.site_name2id(name))
    own, half = _own(model.site_pos[number], model.site_quat[number]), np.array(site.size, np.float64)
    if isinstance(site, TargetZone):
        data = env.sim.data
        frame = Frame(np.array(data.site_xpos[number]), np.array(data.site_xmat[number]).reshape(3, 3))
        return Spot(name, "", None, frame, half)
    parent = site.parent_name
    joints = [int(model.joint_name2id(joint)) for joint in getattr(env.fixtures_dict.get(parent), "joints", ())]
    frame, joint = _rest(model, int(model.site_bodyid[number]), int(env.obj_body_id[parent]), joints)
    return Spot(name, parent, joint, frame.then(own), half)


def _surface(env: Any, model: Any) -> tuple[float, tuple[float, float, float, float]]:
    """Height and extent of the work surface's top, from its collision geometry; it never moves."""
    zone = next(name for name, site in env.object_sites_dict.items() if isinstance(site, TargetZone))
    data = env.sim.data
    clouds = [
        hull_points(model, geom) @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
        for body in subtree(model, int(model.site_bodyid[model.site_name2id(zone)]))
        for geom in _geoms(model, body)
    ]
    top = max(clouds, key=lambda cloud: float(cloud[:, 2].max()))
    (x_min, y_min), (x_max, y_max) = top[:, :2].min(axis=0), top[:, :2].max(axis=0)
    if len(top) == 1:  # a plane: the floor has no end
        x_min = y_min = -np.inf
        x_max = y_max = np.inf
    return float(top[:, 2].max()), (float(x_min), float(y_min), float(x_max), float(y_max))


def _own(position: Any, quaternion: Any) -> Frame:
    rotation = Rotation.from_quat(np.roll(np.array(quaternion, np.float64), -1)).as_matrix()
    return Frame(np.array(position, np.float64), rotation)


def surface(corners: Array) -> Array:
    """Points of the surface of a convex hull, neighbours at most ``SPACING`` from each other, shape (n, 3) [m]."""
    if len(corners) < 4:
        return corners
    hull = ConvexHull(corners)
    tips, inner = corners[hull.vertices], []
    for triangle in corners[hull.simplices]:
        sides = np.linalg.norm(triangle - np.roll(triangle, 1, axis=0), axis=1)
        count = int(np.ceil(sides.max() / SPACING))
        if count > 1:
            inner.append(_grid(count) @ triangle)
    found = np.concatenate([tips, *inner])
    _, first = np.unique(np.round(found / (SPACING / 2)).astype(int), axis=0, return_index=True)
    kept = np.union1d(first, np.arange(len(tips)))  # every tip stays: extents are exact
    thinned: Array = found[kept]
    return thinned


def _grid(count: int) -> Array:
    """Barycentric coordinates of a grid on a triangle with ``count`` steps on each side, shape (n, 3)."""
    steps = [(i, j, count - i - j) for i in range(count + 1) for j in range(count + 1 - i)]
    return np.array(steps, np.float64) / count

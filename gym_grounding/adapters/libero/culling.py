"""Which geoms of a scene can change a picture: those left out would leave every pixel as it is.

MuJoCo draws the whole scene once more into each mirror: a box or plane with reflectance, such as the stove. Only the
pixels of the mirror depend on that, so a picture is drawn once without mirrors, and the rectangle around each mirror
once more with the few geoms that reach it. Of these the meshes are thinned further, see ``triangles``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero.robosuite_names import mjtGeom

HIDDEN = 0
"""Group of the geoms that collide; LIBERO hides it, and shows the others."""
_PIXELS = 2.0
"""What counts as inside beyond an edge, against rounding in GL [pixels]."""
_NEAR = 1e-3
"""Corners closer to the camera's plane have no safe place in the picture [m]."""

_LARGE = 0.5
"""Mirrors that take more of a picture than this are not worth a drawing of their own."""
_SIGNS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
_EDGES = np.array([(a, b) for a in range(8) for b in range(a) if abs(_SIGNS[a] - _SIGNS[b]).sum() == 2])
"""Of a box, by the numbers of its corners, shape (12, 2)."""

Booleans = NDArray[np.bool_]
Floats = NDArray[np.float64]


class Window(NamedTuple):
    """A rectangle of pixels, raw order: columns from the left, rows from the bottom; the upper ends are left out."""

    left: int
    right: int
    bottom: int
    top: int


class Look(NamedTuple):
    """How a part of a picture sees the world, straight or by a mirror.

    Attributes:
        turn: with ``shift``, from a place to pixels along x and y, each times the depth, and the depth; shape (3, 3).
        shift: shape (3,).
        window: the part.
        size: side of the picture [pixels].
        pixels: what a length takes along an edge of the picture, times its depth and divided by it [pixels].
        side: 1, or -1 where all is mirrored.
    """

    turn: Floats
    shift: Floats
    window: Window
    size: int
    pixels: float
    side: int

    def mirrored(self, point: Floats, normal: Floats) -> Look:
        """The same by a mirror."""
        turn = self.turn - 2 * np.outer(self.turn @ normal, normal)
        return self._replace(turn=turn, shift=self.shift + 2 * (point @ normal) * (self.turn @ normal), side=-self.side)


class Pass(NamedTuple):
    """One drawing of a scene.

    Attributes:
        shown: geoms to draw, shape (ngeom,).
        mirrors: whether mirrors are to reflect.
        windows: parts of the picture that it gives.
        looks: what these parts show of the geoms.
    """

    shown: Booleans
    mirrors: bool
    windows: tuple[Window, ...]
    looks: tuple[Look, ...]


class Culling:
    """What to draw of one model.

    Args:
        model: the full ``mujoco.MjModel``.

    Attributes:
        groups: of the geoms, as compiled.
        exact: whether anything can be left out.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self.groups = model.geom_group.copy()
        boxes = [_boxes(model, geom) for geom in range(model.ngeom)]
        self._bounded = np.array([len(one) > 0 for one in boxes], bool)
        self._owners = np.repeat(np.arange(model.ngeom), [len(one) for one in boxes])
        low, high = np.concatenate([np.zeros((0, 2, 3)), *boxes]).transpose(1, 0, 2)
        # Vertices are of float32's precision.
        half = (high - low) / 2 * (1 + 1e-5) + 1e-6
        self._boxes = ((low + high) / 2)[:, None] + _SIGNS * half[:, None]
        self._mirrors = _mirrors(model)
        # Shadows and other cameras than LIBERO's would need more than what is in view.
        self.exact = not np.any(model.light_castshadow) and not _has_lens(model) and not _has_mirror_sites(model)

    def passes(self, data: Any, camera: int, size: int, mirrors: bool = True) -> list[Pass]:
        """The drawings that together give a picture, later ones over earlier ones.

        Args:
            data: its ``MjData``, with fresh poses.
            camera: number of a fixed camera.
            size: side of the picture [pixels].
            mirrors: whether mirrors are to reflect.
        """
        whole = (Window(0, size, 0, size),)
        if not self.exact:
            return [Pass(self.groups != HIDDEN, mirrors, whole, ())]
        axes = data.geom_xmat.reshape(-1, 3, 3)[self._owners].transpose(0, 2, 1)
        corners = data.geom_xpos[self._owners][:, None] + self._boxes @ axes
        eye, turn = data.cam_xpos[camera], data.cam_xmat[camera].reshape(3, 3)
        sight = _Sight(eye, turn, np.tan(np.radians(self._model.cam_fovy[camera]) / 2), size)
        drawn = self.groups != HIDDEN
        seen = drawn & self._any(sight.reached(corners, whole[0]))
        reflecting, windows, mirrored_looks = np.zeros_like(seen), [], []
        look = sight.look(whole[0])
        for mirror in self._mirrors[seen[self._mirrors]] if mirrors else ():
            face, normal = _face(self._model, data, mirror)
            window = sight.window(face)
            if window is None or (eye - face[0]) @ normal < -_NEAR:
                continue
            above, mirrored = _mirrored(corners, face[0], normal)
            reflecting |= drawn & self._any(above & sight.reached(mirrored, window))
            reflecting |= seen & self._any(sight.reached(corners, window))
            windows.append(window)
            mirrored_looks.append(look._replace(window=window).mirrored(face[0], normal))
        # A mirror may keep others from reflecting, also where it is not seen itself.
        reflecting[self._mirrors] = True
        taken = sum((one.right - one.left) * (one.top - one.bottom) for one in windows)
        if not windows:
            return [Pass(seen, False, whole, (look,))]
        if taken > _LARGE * size**2:
            return [Pass(seen | reflecting, True, whole, (look, *mirrored_looks))]
        straight = [look._replace(window=window) for window in windows]
        return [
            Pass(seen, False, whole, (look,)),
            Pass(reflecting, True, tuple(windows), (*straight, *mirrored_looks)),
        ]

    def _any(self, boxes: Booleans) -> Booleans:
        """Geoms of which a box is true, and those that have none, shape (ngeom,)."""
        found = ~self._bounded
        found[self._owners[boxes]] = True
        return found


class _Sight(NamedTuple):
    """Where a camera sees points."""

    eye: Floats
    axes: Floats
    slope: float
    size: int

    def reached(self, corners: Floats, window: Window) -> Booleans:
        """Whether hulls of corners, shape (n, 8, 3), can reach a window; True where in doubt, shape (n,)."""
        right, up, depth = self._coordinates(corners)
        outside = (depth <= 0).all(axis=1)
        margin = 2 * _PIXELS / self.size
        for along, low, high in ((right, window.left, window.right), (up, window.bottom, window.top)):
            outside |= (along < (self._edge(low) - margin) * depth).all(axis=1)
            outside |= (along > (self._edge(high) + margin) * depth).all(axis=1)
        return np.asarray(~outside)

    def look(self, window: Window) -> Look:
        """How a window sees the world."""
        half = self.size / 2
        along = np.array([[half / self.slope, 0, -half], [0, half / self.slope, -half], [0, 0, -1]])
        turn = along @ self.axes.T
        return Look(turn, -turn @ self.eye, window, self.size, half / self.slope, 1)

    def window(self, points: Floats) -> Window | None:
        """The pixels that the hull of points, shape (n, 3), can touch; None where there are none."""
        right, up, depth = self._coordinates(points)
        if (depth < _NEAR).all():
            return None
        if (depth < _NEAR).any():
            return Window(0, self.size, 0, self.size)
        ends = []
        for along in (right, up):
            places = (along / depth + 1) / 2 * self.size
            ends += [
                max(0, int(np.floor(places.min() - _PIXELS))),
                min(self.size, int(np.ceil(places.max() + _PIXELS))),
            ]
        left, end, bottom, top = ends
        return Window(left, end, bottom, top) if left < end and bottom < top else None

    def _coordinates(self, points: Floats) -> tuple[Floats, Floats, Floats]:
        """To the right and up, in units where the picture's edges are at -1 and 1 times the depth, and the depth."""
        seen = (points - self.eye) @ self.axes
        return seen[..., 0] / self.slope, seen[..., 1] / self.slope, -seen[..., 2]

    def _edge(self, pixel: int) -> float:
        return 2 * pixel / self.size - 1


def _mirrored(corners: Floats, point: Floats, normal: Floats) -> tuple[Booleans, Floats]:
    """Which boxes reach above a plane, shape (n,), and the mirrored corners of what is above, shape (n, 24, 3)."""
    ends = corners[:, _EDGES]
    height = (ends - point) @ normal + _NEAR
    fall = height[..., :1] - height[..., 1:]
    crossing = ends[:, :, :1] + (height[..., :1] / np.where(fall, fall, 1.0))[..., None] * (
        ends[:, :, 1:] - ends[:, :, :1]
    )
    kept = np.where((height < 0)[..., None], crossing, ends)
    # Edges that are wholly below have no part in it; any point of the box's upper part may stand for theirs.
    above: Booleans = np.any(height >= 0, axis=2)
    some = np.take_along_axis(kept, above.argmax(axis=1)[:, None, None, None], axis=1)
    kept = np.where(above[:, :, None, None], kept, some).reshape(len(corners), -1, 3)
    return np.asarray(above.any(axis=1)), kept - 2 * ((kept - point) @ normal)[..., None] * normal


def _boxes(model: Any, geom: int) -> Floats:
    """Ends of a box that holds a geom, in its own frame, shape (1, 2, 3); none for one without an end."""
    kind, size, mesh = model.geom_type[geom], model.geom_size[geom], model.geom_dataid[geom]
    if kind == mjtGeom.mjGEOM_MESH:
        first = model.mesh_vertadr[mesh]
        vertices = model.mesh_vert[first : first + model.mesh_vertnum[mesh]].astype(float)
        return np.array([[vertices.min(axis=0), vertices.max(axis=0)]])
    if kind == mjtGeom.mjGEOM_SPHERE:
        half = np.full(3, size[0])
    elif kind == mjtGeom.mjGEOM_CYLINDER:
        half = size[[0, 0, 1]]
    elif kind == mjtGeom.mjGEOM_CAPSULE:
        half = size[0] + np.array([0, 0, size[1]])
    elif kind in (mjtGeom.mjGEOM_BOX, mjtGeom.mjGEOM_ELLIPSOID):
        half = size
    else:
        return np.zeros((0, 2, 3))
    return np.array([[-half, half]])


def _mirrors(model: Any) -> NDArray[np.int64]:
    """Geoms that reflect the scene, as MuJoCo decides it, transparent ones too."""
    flat = (model.geom_type == mjtGeom.mjGEOM_BOX) | (model.geom_type == mjtGeom.mjGEOM_PLANE)
    shiny = np.isin(model.geom_matid, np.flatnonzero(model.mat_reflectance > 0))
    return np.flatnonzero(flat & shiny & (model.geom_group != HIDDEN))


def _face(model: Any, data: Any, mirror: int) -> tuple[Floats, Floats]:
    """Corners of what reflects, shape (4, 3), and its normal: of a box the side towards its own +z."""
    middle, axes = data.geom_xpos[mirror], data.geom_xmat[mirror].reshape(3, 3)
    half = model.geom_size[mirror].copy()
    if model.geom_type[mirror] == mjtGeom.mjGEOM_PLANE:
        # An infinite plane has the size 0.
        half = np.array([half[0] or 1e3, half[1] or 1e3, 0.0])
    own = np.array([[x, y, 1.0] for x in (-1, 1) for y in (-1, 1)]) * half
    return middle + own @ axes.T, axes[:, 2]


def _has_lens(model: Any) -> bool:
    """Whether a camera has more than a field of view."""
    sensors = getattr(model, "cam_sensorsize", np.zeros(1))
    orthographic = getattr(model, "cam_orthographic", np.zeros(1))
    return bool(np.any(sensors) or np.any(orthographic))


def _has_mirror_sites(model: Any) -> bool:
    used = model.site_matid[model.site_matid >= 0]
    return bool(np.any(model.mat_reflectance[used] > 0))


def hide(model: Any, groups: NDArray[np.int32], shown: Booleans) -> None:
    """Leave only some geoms in view.

    Args:
        model: is changed.
        groups: of its geoms, as compiled.
        shown: shape (ngeom,).
    """
    model.geom_group[:] = np.where(shown, groups, HIDDEN)

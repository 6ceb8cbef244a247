"""Which triangles of a scene's meshes can change a picture: only those are handed to GL.

LIBERO's meshes have many more triangles than a small picture has samples, and GL spends its time on them. A triangle
that covers no sample, or shows the camera its back, changes no pixel. The others are drawn by MuJoCo as ever, with the
same corners and normals and in the same order, since equal depths are decided by it.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero.core.stepper import jitted
from gym_grounding.adapters.libero.culling import Look
from gym_grounding.adapters.libero.gl import Grid
from gym_grounding.adapters.libero.robosuite_names import mjtGeom, mujoco

_KINDS = [mjtGeom.mjGEOM_MESH, getattr(mjtGeom, "mjGEOM_SDF", mjtGeom.mjGEOM_MESH)]
"""Geoms that are drawn as their mesh."""
_ROUNDING = 2e-6
"""How far GL's single precision may move a vertex in space [m]."""


class Triangles:
    """The meshes of a model, of which only some triangles are drawn.

    Args:
        model: the full ``mujoco.MjModel``; its meshes hold no triangles now, nor will a context that is made of it.
        covering: the compiled search.
    """

    def __init__(self, model: Any, covering: types.ModuleType) -> None:
        self._model, self._covering = model, covering
        self._original = tuple(own.copy() for own in _faces(model))
        self._corners = self._original[0].astype(np.uint32)
        self._counts = model.mesh_facenum.copy()
        self._kept = np.zeros(len(self._corners), np.bool_)
        self._meshes = np.isin(model.geom_type, _KINDS) & (model.geom_dataid >= 0)
        self._grid: Grid | None = None
        model.mesh_facenum[:] = 0
        # Convex hulls would be handed over with each mesh, and are not shown.
        model.mesh_graphadr[:] = -1

    def sampled(self, grid: Grid | None, context: Any) -> bool:
        """Take the grid of a new context; without one the context gets all triangles, and False is returned."""
        self._grid = grid
        if grid is None:
            self._kept[:] = True
            self._upload(np.arange(self._model.nmesh), context)
        return grid is not None

    def draw(self, data: Any, shown: NDArray[np.bool_], looks: Sequence[Look], context: Any) -> None:
        """Let a context draw the meshes of some geoms as far as some looks need it.

        Args:
            data: ``MjData`` with fresh poses.
            shown: the geoms, shape (ngeom,).
            looks: of one drawing.
            context: ``MjrContext`` of the model, whose GL context is current.
        """
        assert self._grid is not None
        model, geoms = self._model, np.flatnonzero(shown & self._meshes)
        meshes = model.geom_dataid[geoms]
        spans = np.stack([model.mesh_vertadr, model.mesh_vertnum, model.mesh_faceadr, self._counts], axis=1)
        turns, middles = data.geom_xmat[geoms].reshape(-1, 3, 3), data.geom_xpos[geoms]
        near, far = model.vis.map.znear * model.stat.extent, model.vis.map.zfar * model.stat.extent
        self._kept[:] = False
        for look in looks:
            places = np.concatenate([look.turn @ turns, (middles @ look.turn.T + look.shift)[..., None]], axis=2)
            # What is mirrored is also cut by the mirror's plane.
            size = look.size if look.side == 1 else 0
            limits = np.array([near, far, size, self._grid.step, _ROUNDING * look.pixels, look.side])
            window = np.array(look.window, float)
            self._covering.mark(
                model.mesh_vert, self._corners, spans[meshes], places, window, self._grid.samples, limits, self._kept
            )
        self._upload(np.unique(meshes), context)

    def _upload(self, used: NDArray[np.integer[Any]], context: Any) -> None:
        model = self._model
        parts = np.stack([used, model.mesh_faceadr[used], self._counts[used]], axis=1)
        self._covering.pack(parts, self._kept, self._original, _faces(model), model.mesh_facenum)
        for mesh in used:
            mujoco.mjr_uploadMesh(model, context, int(mesh))


def drawn(model: Any) -> Triangles | None:
    """The triangles of a model; None where numba does not compile."""
    if not jitted():
        return None
    from gym_grounding.adapters.libero.core import covering

    return Triangles(model, covering)


def _faces(model: Any) -> tuple[NDArray[np.int32], ...]:
    return model.mesh_face, model.mesh_facenormal, model.mesh_facetexcoord

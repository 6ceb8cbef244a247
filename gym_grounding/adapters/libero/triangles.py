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

from gym_grounding.adapters.libero import gl
from gym_grounding.adapters.libero.core.stepper import jitted
from gym_grounding.adapters.libero.culling import Look
from gym_grounding.adapters.libero.robosuite_names import mjtGeom, mujoco

_ROUNDING = 2e-6
"""How far GL's single precision may move a vertex in space [m]."""


class Triangles:
    """The meshes of a model, of which only some triangles are drawn.

    MuJoCo draws a mesh by calling the GL list of a number. A second range of lists holds what is left of the meshes,
    and the geoms of a scene are sent there.

    Args:
        model: the full ``mujoco.MjModel``; its faces are changed by drawing, see ``restore``.
        covering: the compiled search.
    """

    def __init__(self, model: Any, covering: types.ModuleType) -> None:
        self._model, self._covering = model, covering
        self._original = tuple(own.copy() for own in _faces(model))
        self._corners = self._original[0].astype(np.uint32)
        self._counts = model.mesh_facenum.copy()
        self._kept = np.zeros(len(self._corners), np.bool_)
        self._grid: gl.Grid | None = None
        self._lists = self._shift = 0
        # Convex hulls would be handed over with each mesh, and are not shown.
        model.mesh_graphadr[:] = -1

    def restore(self) -> None:
        """Make the model's meshes whole again, as a context that is made of it needs them."""
        self._model.mesh_facenum[:] = self._counts
        for own, original in zip(_faces(self._model), self._original, strict=True):
            own[:] = original

    def attach(self, context: Any) -> bool:
        """Take a new context, which is current; False where GL does not tell what is needed: draw whole meshes then."""
        self._grid = gl.grid(context.offSamples)
        self._lists = gl.new_lists(2 * self._model.nmesh, self._lists)
        return self._grid is not None and self._lists > context.baseMesh

    def draw(self, data: Any, shown: NDArray[np.bool_], looks: Sequence[Look], scene: Any, context: Any) -> None:
        """Let a scene draw its meshes as far as some looks need them.

        Args:
            data: ``MjData`` with fresh poses.
            shown: the geoms in the scene, shape (ngeom,).
            looks: of one drawing.
            scene: ``MjvScene`` of them, just made; is changed.
            context: ``MjrContext`` as attached.
        """
        assert self._grid is not None
        model = self._model
        geoms = np.flatnonzero(shown & (model.geom_type == mjtGeom.mjGEOM_MESH) & (model.geom_dataid >= 0))
        meshes = model.geom_dataid[geoms]
        spans = np.stack([model.mesh_vertadr, model.mesh_vertnum, model.mesh_faceadr, self._counts], axis=1)[meshes]
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
                model.mesh_vert, self._corners, spans, places, window, self._grid.samples, limits, self._kept
            )
        self._send(scene, self._uploaded(np.unique(meshes), context))

    def _uploaded(self, meshes: NDArray[np.int32], context: Any) -> set[int]:
        """Hand over what is marked; the meshes that are not whole."""
        model, whole = self._model, context.baseMesh
        parts = np.stack([meshes, model.mesh_faceadr[meshes], self._counts[meshes]], axis=1)
        self._covering.pack(parts, self._kept, self._original, _faces(model), model.mesh_facenum)
        thinned: list[int] = meshes[model.mesh_facenum[meshes] < self._counts[meshes]].tolist()
        context.baseMesh = self._lists
        for mesh in thinned:
            mujoco.mjr_uploadMesh(model, context, mesh)
        context.baseMesh = whole
        self._shift = self._lists - whole
        return set(thinned)

    def _send(self, scene: Any, thinned: set[int]) -> None:
        geoms = scene.geoms
        for number in range(scene.ngeom):
            geom = geoms[number]
            # A scene counts two lists per mesh: its own and its hull's.
            if geom.type == mjtGeom.mjGEOM_MESH and geom.dataid // 2 in thinned:
                geom.dataid += self._shift


def of(model: Any) -> Triangles | None:
    """The triangles of a model; None where numba does not compile."""
    if not jitted():
        return None
    from gym_grounding.adapters.libero.core import covering

    return Triangles(model, covering)


def _faces(model: Any) -> tuple[NDArray[np.int32], ...]:
    return model.mesh_face, model.mesh_facenormal, model.mesh_facetexcoord

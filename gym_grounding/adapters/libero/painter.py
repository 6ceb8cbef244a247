"""Drawing: per scene and process one full model with one GL context, made when the first picture is asked for.

All simulators of the scene share it. Each picture is drawn from a ``View``, which holds everything that may differ
between them, so nothing of one can show in another's pictures.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero import gl, install, triangles
from gym_grounding.adapters.libero.culling import HIDDEN, Culling, hide
from gym_grounding.adapters.libero.memory import return_freed_memory
from gym_grounding.adapters.libero.robosuite_names import mujoco
from gym_grounding.errors import MissingRenderer, SimulatorError

GEOMS = 1000
"""Most geoms of a picture; LIBERO's number."""

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class View:
    """What a picture shows: a moment of one simulator.

    Attributes:
        placed: positions and quaternions of the bodies in their parents, shapes (nbody, 3) and (nbody, 4).
        colours: of the sites, shape (nsite, 4).
        positions: the joints, shape (nq,); None to take the poses of ``data``.
        data: ``MjData`` of a full model, whose poses are taken as they are when the picture is drawn.
    """

    placed: tuple[Array, Array]
    colours: Array
    positions: Array | None = None
    data: Any = None

    @classmethod
    def of(cls, model: Any, positions: Array | None = None, data: Any = None) -> View:
        """A copy of what a model of the scene, also a small one, says now."""
        placed = (model.body_pos.copy(), model.body_quat.copy())
        return cls(placed, model.site_rgba.copy(), None if positions is None else np.array(positions), data)


class Easel:
    """One simulator's share of its scene's painters.

    Args:
        text: gives the full model as LIBERO's environment compiles it.
    """

    def __init__(self, text: Callable[[], str]) -> None:
        self._text = text
        self._painters: dict[bool, Painter] = {}
        self._lock = threading.Lock()
        self._closed = False

    def draw(self, view: View, camera: str, size: int, fast: bool = False) -> NDArray[np.uint8]:
        """See ``Painter.draw``.

        Raises:
            MissingRenderer: no usable GL library.
            SimulatorError: the simulator was closed, or this process was forked from one that had drawn.
        """
        gl.refuse_fork()
        with self._lock:
            if self._closed:
                raise SimulatorError("The simulator of this picture was closed before it was read; read it earlier")
            if fast not in self._painters:
                self._painters[fast] = _hired(self._text(), fast)
            painter = self._painters[fast]
        return painter.draw(view, camera, size)

    def close(self) -> None:
        """Give the share back; safe to call twice."""
        with self._lock:
            self._closed = True
            painters, self._painters = [*self._painters.values()], {}
        for painter in painters:
            _left(painter)


class Painter:
    """Draws a scene with LIBERO's own settings.

    Args:
        text: its full model.
        fast: without reflections and with one sample per pixel, which shows.

    Attributes:
        shares: how many simulators use it.

    Raises:
        MissingRenderer: no usable GL library; names it and the packages that bring it.
        SimulatorError: this process was forked from one that had already drawn.
    """

    def __init__(self, text: str, fast: bool = False) -> None:
        backend = install.require_pictures()
        gl.refuse_fork()
        self.shares = 0
        self._fast, self._process = fast, os.getpid()
        self._lock = threading.Lock()
        self._model = mujoco.MjModel.from_xml_string(text)
        self._data = mujoco.MjData(self._model)
        return_freed_memory()
        self._culling = Culling(self._model)
        self._triangles = triangles.of(self._model) if self._culling.exact else None
        self._scene = mujoco.MjvScene(self._model, maxgeom=GEOMS)
        self._camera, self._force, self._option = mujoco.MjvCamera(), mujoco.MjvPerturb(), mujoco.MjvOption()
        self._camera.type = mujoco.mjtCamera.mjCAMERA_FIXED
        self._option.geomgroup[HIDDEN] = 0
        if fast:
            self._model.vis.quality.offsamples = 0
        self._context: Any = None
        with gl.current_kept():
            try:
                self._gl = gl.new_context()
                self._gl.make_current()
                self._buffers(0)
            except Exception as error:
                reason = f"the GL back end {backend} failed ({type(error).__name__}: {error})"
                raise MissingRenderer(install.missing(reason, backend)) from error

    def draw(self, view: View, camera: str, size: int) -> NDArray[np.uint8]:
        """A picture in OpenGL order (first row at the bottom), shape (size, size, 3); from any thread.

        Args:
            view: of this scene.
            camera: its name in the model.
            size: side of the picture [pixels].
        """
        with self._lock, gl.current_kept():
            if self._context is None:
                raise SimulatorError("The scene of this picture was closed before it was read; read it earlier")
            self._gl.make_current()
            self._buffers(size)
            return self._drawn(self._posed(view), camera, size)

    def close(self) -> None:
        """Free the GL context; safe to call twice."""
        if self._process != os.getpid():
            return
        with self._lock, gl.current_kept():
            if self._context is not None:
                # MuJoCo frees by number, in whatever context is current.
                self._gl.make_current()
                self._context.free()
                self._gl.free()
                self._context = self._data = self._model = self._scene = None

    def _posed(self, view: View) -> Any:
        model, data = self._model, self._data
        model.body_pos[:], model.body_quat[:] = view.placed
        model.site_rgba[:] = view.colours
        if view.positions is None:
            return view.data
        data.qpos[:] = view.positions
        for stage in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_camlight):
            stage(model, data)
        return data

    def _drawn(self, data: Any, camera: str, size: int) -> NDArray[np.uint8]:
        model, scene, whole = self._model, self._scene, mujoco.MjrRect(0, 0, size, size)
        self._camera.fixedcamid = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_CAMERA, camera)
        picture = np.empty((size, size, 3), np.uint8)
        for drawing in self._culling.passes(data, self._camera.fixedcamid, size, mirrors=not self._fast):
            hide(model, self._culling.groups, drawing.shown)
            scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = drawing.mirrors
            mujoco.mjv_updateScene(
                model, data, self._option, self._force, self._camera, mujoco.mjtCatBit.mjCAT_ALL, scene
            )
            if self._triangles is not None:
                self._triangles.draw(data, drawing.shown, drawing.looks, scene, self._context)
            mujoco.mjr_render(whole, scene, self._context)
            for left, right, bottom, top in drawing.windows:
                part = np.empty((top - bottom, right - left, 3), np.uint8)
                mujoco.mjr_readPixels(
                    part, None, mujoco.MjrRect(left, bottom, right - left, top - bottom), self._context
                )
                picture[bottom:top, left:right] = part
        return picture

    def _buffers(self, size: int) -> None:
        """Where pictures of a size are drawn, grown as LIBERO's grow."""
        context, settings = self._context, self._model.vis.global_
        if context is not None:
            if size <= min(context.offWidth, context.offHeight):
                return
            settings.offwidth, settings.offheight = max(size, settings.offwidth), max(size, settings.offheight)
            context.free()
        if self._triangles is not None:
            self._triangles.restore()
        self._context = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_150)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        if self._triangles is not None and not self._triangles.attach(self._context):
            self._triangles = None


_painters: dict[tuple[str, bool], Painter] = {}
_lock = threading.Lock()


def close_all() -> None:
    """Free every painter of this process; runs when the interpreter ends."""
    with _lock:
        painters = [*_painters.values()]
        _painters.clear()
    for painter in painters:
        painter.close()


def _hired(text: str, fast: bool) -> Painter:
    """The scene's painter, made if there is none."""
    with _lock:
        key = (text, fast)
        if key not in _painters:
            _painters[key] = Painter(*key)
            # What registers later runs earlier: the GL library that was brought in must shut down after us.
            atexit.unregister(close_all)
            atexit.register(close_all)
        _painters[key].shares += 1
        return _painters[key]


def _left(painter: Painter) -> None:
    """Free the painter if nobody else uses it."""
    with _lock:
        painter.shares -= 1
        unused = [key for key, one in _painters.items() if one is painter and not one.shares]
        for key in unused:
            del _painters[key]
    if unused:
        painter.close()


def _forget() -> None:
    """A forked child must not free what its parent draws with, nor wait for its locks."""
    global _lock, _painters
    _inherited.append(_painters)
    _lock, _painters = threading.Lock(), {}


_inherited: list[object] = []
os.register_at_fork(after_in_child=_forget)

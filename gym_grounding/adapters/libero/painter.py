"""Drawing a compiled scene: one GL context, made only when a picture is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero import install
from gym_grounding.adapters.libero.robosuite_names import MjRenderContextOffscreen, binding_utils, mujoco
from gym_grounding.errors import MissingRenderer, SimulatorError

_PARTS = ("con", "gl_ctx", "scn", "cam", "vopt", "pert", "model", "data", "sim")
_first_process: int | None = None


class Painter:
    """Draws the present state of a simulator with LIBERO's own settings; never touches its physics.

    Args:
        sim: robosuite's ``MjSim``.

    Attributes:
        sim: the same.

    Raises:
        MissingRenderer: no usable GL library; names it and the packages that bring it.
        SimulatorError: this process was forked from one that had already drawn.
    """

    def __init__(self, sim: Any) -> None:
        backend = install.require_pictures()
        _refuse_fork()
        # Constructors that fail leave objects whose destructors would print an ignored error; hence the two steps.
        binding_utils.GLContext._context = None
        context = MjRenderContextOffscreen.__new__(MjRenderContextOffscreen)
        try:
            context.__init__(_Host(sim), device_id=-1)
        except Exception as error:
            for part in _PARTS:
                if not hasattr(context, part):
                    setattr(context, part, _Nothing())
            reason = f"the GL back end {backend} failed ({type(error).__name__}: {error})"
            raise MissingRenderer(install.missing(reason, backend)) from error
        # Group 0 holds the collision shapes, group 1 the visible ones.
        context.vopt.geomgroup[0], context.vopt.geomgroup[1] = 0, 1
        self._context: Any = context
        self.sim: Any = sim
        self._cameras = sim.model.camera_name2id
        self._posed: Any = None

    @contextmanager
    def posed(self, positions: NDArray[np.float64]) -> Iterator[None]:
        """Within it, ``draw`` shows the scene with these positions, shape (nq,), instead of its present state."""
        model, present = self._context.model._model, self._context.data
        if self._posed is None:
            self._posed = SimpleNamespace(_data=mujoco.MjData(model))
        data = self._posed._data
        data.qpos[:] = positions
        for stage in (mujoco.mj_kinematics, mujoco.mj_comPos, mujoco.mj_camlight):
            stage(model, data)
        self._context.data = self._posed
        try:
            yield
        finally:
            self._context.data = present

    def draw(self, camera: str, size: int) -> NDArray[np.uint8]:
        """A picture of the present state in OpenGL order (first row at the bottom), shape (size, size, 3)."""
        # Several scenes may be open in one process, each with a context of its own.
        self._context.gl_ctx.make_current()
        self._context.render(size, size, camera_id=self._cameras(camera))
        picture: NDArray[np.uint8] = self._context.read_pixels(size, size)
        return picture

    def close(self) -> None:
        """Free the GL context; safe to call twice."""
        self._context = self._posed = self.sim = None


class _Host:
    """What a render context asks of its simulator, without the forward pass that would freshen its contacts."""

    def __init__(self, sim: Any) -> None:
        self.model, self.data = sim.model, sim.data

    def forward(self) -> None:
        """Not wanted."""

    def add_render_context(self, context: Any) -> None:
        """The painter keeps it."""


class _Nothing:
    """A part of a context that was never made."""

    def free(self) -> None:
        """Nothing to free."""


def _refuse_fork() -> None:
    global _first_process
    if _first_process is None:
        _first_process = os.getpid()
    elif _first_process != os.getpid():
        raise SimulatorError(
            "This process was forked from one that had already drawn pictures, and drawing here would hang. "
            "Start workers with multiprocessing's 'spawn' context, or open no scene before they start"
        )

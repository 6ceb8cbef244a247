"""GL contexts, which are current in one thread at a time, shared politely with whoever else draws in this process."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero.robosuite_names import binding_utils
from gym_grounding.errors import SimulatorError

_RENDERER = b"llvmpipe"
_first_process: int | None = None


class Grid(NamedTuple):
    """Where GL looks at a picture.

    Attributes:
        samples: places of a pixel's samples in it, shape (n, 2), from its left lower corner [pixels].
        step: of the places that corners of triangles are moved to [pixels].
    """

    samples: NDArray[np.float64]
    step: float


def new_context() -> Any:
    """A GL context of robosuite's, as LIBERO's environment makes it. Making one drops the thread's current one."""
    # Where the constructor fails, the destructor would miss this attribute and print so.
    binding_utils.GLContext._context = None
    return binding_utils.GLContext(max_width=640, max_height=480, device_id=-1)


@contextmanager
def current_kept() -> Iterator[None]:
    """Leaves the thread with the context that it had, or none; LIBERO's own environment never makes its own current."""
    restore = _remembered()
    try:
        yield
    finally:
        restore()


def grid(count: int) -> Grid | None:
    """Of the framebuffer that is drawn to in the current context; None where GL does not tell it.

    Also None where something else than Mesa's llvmpipe draws: another one's rounding was never compared, and a graphics
    card draws a whole mesh sooner than it takes a part of one.

    Args:
        count: samples of a pixel, 0 for one in its middle.
    """
    from OpenGL import GL, error

    try:
        if _RENDERER not in (GL.glGetString(GL.GL_RENDERER) or b""):
            return None
        bits = int(GL.glGetIntegerv(GL.GL_SUBPIXEL_BITS))
        if count == 0:
            return Grid(np.full((1, 2), 0.5), 0.5**bits) if bits > 0 else None
        samples = np.zeros((count, 2), np.float32)
        for number in range(count):
            GL.glGetMultisamplefv(GL.GL_SAMPLE_POSITION, number, samples[number])
    except error.Error:
        return None
    told = bits > 0 and len(np.unique(samples, axis=0)) == count and (samples >= 0).all() and (samples <= 1).all()
    return Grid(samples.astype(float), 0.5**bits) if told else None


def new_lists(count: int, old: int) -> int:
    """The first of a new range of GL's lists in the current context, 0 if there is none.

    Args:
        count: of the lists.
        old: first of as many that are no longer needed, or 0.
    """
    from OpenGL import GL, error

    try:
        if old:
            GL.glDeleteLists(old, count)
        return int(GL.glGenLists(count))
    except error.Error:
        return 0


def refuse_fork() -> None:
    """Remembers the first process that draws.

    Raises:
        SimulatorError: this process was forked from one that had already drawn.
    """
    global _first_process
    if _first_process is None:
        _first_process = os.getpid()
    elif _first_process != os.getpid():
        raise SimulatorError(
            "This process was forked from one that had already drawn pictures, and drawing here would hang. "
            "Start workers with multiprocessing's 'spawn' context, or open no scene before they start"
        )


def _forget_ends() -> None:
    """A forked child must not end EGL when it exits: its copy of the library would wait for threads that it lacks."""
    ends = getattr(sys.modules.get("mujoco.egl.egl_ext"), "eglTerminate", None)
    if ends is not None:
        atexit.unregister(ends)


os.register_at_fork(after_in_child=_forget_ends)


def _remembered() -> Callable[[], None]:
    """Makes current again what is current now."""
    name = binding_utils.GLContext.__module__.rpartition(".")[2]
    return {"egl_context": _egl, "osmesa_context": _osmesa}.get(name, _glfw)()


def _egl() -> Callable[[], None]:
    from mujoco.egl import egl_ext as egl
    from robosuite.renderers.context import egl_context

    egl.eglBindAPI(egl.EGL_OPENGL_API)
    context = egl.eglGetCurrentContext()
    if not context:
        return lambda: _egl_released(egl, egl_context)
    display = egl.eglGetCurrentDisplay()
    surfaces = [egl.eglGetCurrentSurface(kind) for kind in (egl.EGL_DRAW, egl.EGL_READ)]
    return lambda: egl.eglMakeCurrent(display, *surfaces, context)


def _egl_released(egl: Any, egl_context: Any) -> None:
    if egl_context.EGL_DISPLAY is not None and egl.eglGetCurrentContext():
        egl.eglMakeCurrent(egl_context.EGL_DISPLAY, egl.EGL_NO_SURFACE, egl.EGL_NO_SURFACE, egl.EGL_NO_CONTEXT)


def _osmesa() -> Callable[[], None]:
    """OSMesa gives no way back to another context's buffer, so none is current afterwards."""
    from OpenGL import GL, osmesa

    return lambda: osmesa.OSMesaMakeCurrent(None, None, GL.GL_FLOAT, 0, 0)


def _glfw() -> Callable[[], None]:
    import glfw

    window = glfw.get_current_context()
    return lambda: glfw.make_context_current(window)

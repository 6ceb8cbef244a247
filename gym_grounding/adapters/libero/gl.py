"""GL contexts, which are current in one thread at a time, shared politely with whoever else draws in this process."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gym_grounding.adapters.libero.robosuite_names import binding_utils
from gym_grounding.errors import SimulatorError

_first_process: int | None = None


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

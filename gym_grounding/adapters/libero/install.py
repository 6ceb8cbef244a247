"""Bring robosuite and LIBERO in on first use: versions checked, a GL back end chosen, nothing printed or written.

Surprises:
    robosuite 1.4.0 reads its settings from ``robosuite.macros``, which a private macro file does not reach; they are
    set here before its first import. Left alone it logs to a file in the temporary folder and forces ``MUJOCO_GL``.
    robosuite imports OpenCV for a viewer that is never opened here. Where OpenCV's GL and X libraries are missing, a
    placeholder stands in during that import.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import io
import os
import sys
import tempfile
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gym_grounding.adapters.libero.versions import ROBOSUITE_VERSION, check_versions, installed_versions
from gym_grounding.errors import MissingRenderer, SimulatorError, WrongVersion

PACKAGES = {"egl": "libegl1 libgl1 libgl1-mesa-dri", "osmesa": "libosmesa6", "glfw": "libgl1 libglfw3"}
"""Debian and Ubuntu packages that bring each GL back end."""

_OFF = ("disable", "disabled", "off", "false", "0")
_MODULES = {"egl": ("OpenGL.EGL",), "osmesa": ("OpenGL.GL", "OpenGL.osmesa"), "glfw": ("glfw",)}
_LIBRARIES = {
    "egl": (("libEGL.so.1",), ("libOpenGL.so.0", "libGL.so.1")),
    "osmesa": (("libOSMesa.so.8", "libOSMesa.so.6"),),
}


@dataclass(frozen=True, slots=True)
class Backend:
    """What draws.

    Attributes:
        name: ``egl``, ``osmesa`` or ``glfw``; ``none`` when nothing can.
        reason: why nothing can draw; empty otherwise.
        wanted: the back end whose libraries would help.
    """

    name: str
    reason: str = ""
    wanted: str = "egl"


_loaded: Backend | None = None


def backend() -> Backend:
    """The GL back end: ``MUJOCO_GL`` where the user set it, else EGL, else OSMesa, else none. Imports nothing."""
    if _loaded is not None:
        return _loaded
    asked = os.environ.get("MUJOCO_GL", "").lower().strip()
    if asked in _OFF:
        return Backend("none", f"MUJOCO_GL={asked} turns drawing off")
    if asked and asked not in _LIBRARIES:
        return Backend("glfw")
    names = [asked] if asked else list(_LIBRARIES)
    for name in names:
        if all(any(_loads(library) for library in either) for either in _LIBRARIES[name]):
            return Backend(name)
    libraries = ", ".join(" or ".join(either) for name in names for either in _LIBRARIES[name])
    asking = f"MUJOCO_GL={asked} asks for {asked}, and " if asked else "no GL back end was found: "
    return Backend("none", f"{asking}{libraries} cannot be loaded", names[0])


def require_pictures() -> str:
    """Name of the back end that draws.

    Raises:
        MissingRenderer: nothing can draw; names the library and the packages that bring it.
    """
    found = backend()
    if found.name == "none":
        raise MissingRenderer(missing(found.reason, found.wanted))
    return found.name


def missing(reason: str, name: str = "egl") -> str:
    """The message for pictures that cannot be drawn."""
    packages = PACKAGES.get(name, PACKAGES["egl"])
    return (
        f"Pictures cannot be drawn: {reason}. On Debian or Ubuntu: apt-get install {packages}; "
        "without pictures: observation='state'"
    )


@contextlib.contextmanager
def importing() -> Iterator[None]:
    """Around the first import of robosuite and LIBERO.

    Raises:
        WrongVersion: see ``versions.check_versions``; or one of the two cannot be imported.
        SimulatorError: an environment variable has a value that they refuse.
    """
    global _loaded
    check_versions(installed_versions())
    choice = _confirmed(backend())
    if "robosuite" not in sys.modules:
        _preset_macros()
    try:
        with _gl_variable(choice), _opencv_or_placeholder(), warnings.catch_warnings(), quiet():
            # Their sources hold stray backslashes, and LIBERO changes the filters.
            for category in (SyntaxWarning, DeprecationWarning):
                warnings.simplefilter("ignore", category)
            yield
    except ImportError as error:
        raise WrongVersion(f"robosuite {ROBOSUITE_VERSION} or LIBERO cannot be imported: {error}") from error
    except (AssertionError, RuntimeError) as error:
        # Their answers to environment variables such as MUJOCO_EGL_DEVICE_ID and MUJOCO_GL.
        raise SimulatorError(f"robosuite or mujoco refuses to be imported: {error}") from error
    _loaded = choice
    # A submodule that was in sys.modules beforehand is not bound to its package by the import.
    sys.modules["robosuite"].macros = sys.modules["robosuite.macros"]  # type: ignore[attr-defined]


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Swallows what the libraries print."""
    with contextlib.redirect_stdout(io.StringIO()):
        yield


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _confirmed(choice: Backend) -> Backend:
    """``choice`` if its Python modules can be imported, else none, with the reason."""
    if choice.name == "none":
        return choice
    platform = os.environ.get("PYOPENGL_PLATFORM")
    if choice.name in _LIBRARIES and not platform:
        os.environ["PYOPENGL_PLATFORM"] = choice.name
    try:
        for module in _MODULES[choice.name]:
            importlib.import_module(module)
    # PyOpenGL fails in many ways when a library is absent (AttributeError, TypeError, ...); each means "cannot draw".
    except Exception as error:
        if not platform:
            os.environ.pop("PYOPENGL_PLATFORM", None)
        reason = f"the GL back end {choice.name} cannot be used ({type(error).__name__}: {error})"
        return Backend("none", reason, choice.name)
    return choice


@contextlib.contextmanager
def _gl_variable(choice: Backend) -> Iterator[None]:
    """``MUJOCO_GL`` as mujoco and robosuite shall read it; it stays set only when it names a usable back end."""
    before = os.environ.get("MUJOCO_GL")
    if choice.name == "none":
        os.environ["MUJOCO_GL"] = "disable"
    elif not before:
        os.environ["MUJOCO_GL"] = choice.name
    try:
        yield
    finally:
        if choice.name == "none":
            os.environ.pop("MUJOCO_GL", None)
            if before is not None:
                os.environ["MUJOCO_GL"] = before


def _preset_macros() -> None:
    spec = importlib.util.find_spec("robosuite")
    if spec is None or not spec.submodule_search_locations:
        return
    root = Path(spec.submodule_search_locations[0])
    macros_spec = importlib.util.spec_from_file_location("robosuite.macros", root / "macros.py")
    if macros_spec is None or macros_spec.loader is None:
        return
    macros = importlib.util.module_from_spec(macros_spec)
    macros_spec.loader.exec_module(macros)
    macros.MUJOCO_GPU_RENDERING = False  # type: ignore[attr-defined]  # else MUJOCO_GL is overridden
    macros.CONSOLE_LOGGING_LEVEL = None  # type: ignore[attr-defined]
    macros.FILE_LOGGING_LEVEL = None  # type: ignore[attr-defined]
    macros.CACHE_NUMBA = can_cache(root / "utils")  # type: ignore[attr-defined]
    if not macros.CACHE_NUMBA:
        advice = "set NUMBA_CACHE_DIR to a writable folder"
        warnings.warn(f"Numba finds no place for its cache, so each process compiles anew: {advice}", stacklevel=3)
    sys.modules["robosuite.macros"] = macros
    if not (root / "macros_private.py").exists():
        # Its absence alone makes robosuite warn in three lines.
        sys.modules.setdefault("robosuite.macros_private", types.ModuleType("robosuite.macros_private"))


def can_cache(folder: Path) -> bool:
    """Whether numba finds a place for its cache of the modules in ``folder``; without one its decorator raises.

    Numba tries ``NUMBA_CACHE_DIR``, the ``__pycache__`` beside the source and the user's cache folder.
    """
    caches = user_caches()
    places = [
        os.environ.get("NUMBA_CACHE_DIR", ""),
        str(folder / "__pycache__"),
        str(caches / "numba" if caches else ""),
    ]
    return any(place and _writable(Path(place)) for place in places)


def user_caches() -> Path | None:
    """The user's folder for caches; None for a user without a home."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    return caches if caches.is_absolute() else None


def _writable(folder: Path) -> bool:
    existing = folder
    while not existing.exists() and existing != existing.parent:
        existing = existing.parent
    try:
        with tempfile.TemporaryFile(dir=existing):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def _opencv_or_placeholder() -> Iterator[None]:
    """OpenCV if it can be imported; else a stand-in, for the time of the import only, so that nobody else meets it."""
    try:
        importlib.import_module("cv2")
    except ImportError as error:
        sys.modules["cv2"] = _Placeholder(str(error))
        try:
            yield
        finally:
            sys.modules.pop("cv2", None)
    else:
        yield


class _Placeholder(types.ModuleType):
    """Stands for OpenCV; any use says what is missing."""

    def __init__(self, reason: str) -> None:
        super().__init__("cv2")
        self._reason = reason

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        raise MissingRenderer(
            f"OpenCV cannot be imported ({self._reason}), so robosuite's on-screen viewer is unavailable. "
            "On Debian or Ubuntu: apt-get install libgl1 libglib2.0-0"
        )

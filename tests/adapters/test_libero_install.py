"""Bringing the simulator in: silence, absent GL libraries, caches. Most of it in processes of its own."""

import os
import subprocess
import sys

import pytest

from gym_grounding.adapters.libero import install
from gym_grounding.errors import MissingRenderer

OPEN = """
import numpy as np
from gym_grounding import manifest
from gym_grounding.adapters.libero import ADAPTER
from gym_grounding.errors import MissingRenderer
from gym_grounding.types import SceneSettings
data = manifest.load()
def opened(**settings):
    return ADAPTER.open(data.scene_of("LiberoGoal-T8"), data.tasks, SceneSettings(settle_steps=1, **settings))
"""
EPISODE = """
scene = opened(observation="state")
scene.reset(data.task("LiberoGoal-T8"), 0)
before = scene.step(np.ones(7))["robot0_eef_pos"]
assert np.linalg.norm(scene.step(np.ones(7))["robot0_eef_pos"] - before) > 0.001
assert not scene.holds(data.task("LiberoGoal-T8").goal)
"""
WITHOUT_GL_MODULES = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("cv2", "OpenGL", "glfw") or name in ("mujoco.egl", "mujoco.osmesa", "mujoco.glfw"):
            raise ImportError(f"lib{name}.so.1: cannot open shared object file")
sys.meta_path.insert(0, Refuse())
"""
WITHOUT_GL_LIBRARIES = """
import ctypes
class Library(ctypes.CDLL):
    def __init__(self, name, *args, **kwargs):
        if name and any(part in str(name) for part in ("libEGL", "libGL", "libOpenGL", "libOSMesa")):
            raise OSError(f"{name}: cannot open shared object file")
        super().__init__(name, *args, **kwargs)
ctypes.CDLL = Library
"""
ASK = """
for ask in ([scene.render] if scene else []) + [lambda: opened(observation="pixels")]:
    try:
        ask()
    except MissingRenderer as error:
        print(error)
"""
NO_PICTURES = (
    ASK
    + """
assert "cv2" not in sys.modules
scene.step(np.zeros(7))
print(ADAPTER.versions()["gl"])
"""
)
NO_CACHE = """
from numba.core import caching
(getattr(caching, "CacheImpl", None) or caching._CacheImpl)._locator_classes = []
from gym_grounding.adapters.libero import install
install._writable = lambda folder: False
"""
IMPORT = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from gym_grounding.adapters.libero import robosuite_names
import robosuite
assert robosuite.macros.CACHE_NUMBA is False
print(*(warning.message for warning in caught))
"""
LEAVE = """
import atexit
from gym_grounding.adapters.libero import painter, robosuite_names
from robosuite.renderers.context import egl_context
def report():
    print("freed" if freed == [True] else freed)
atexit.register(report)
freed = []
terminate = egl_context.EGL.eglTerminate
def watched(display):
    freed.append(painter._painters == {})
    terminate(display)
egl_context.EGL.eglTerminate = watched
scene = opened(observation="pixels", image_size=16)
scene.reset(data.task("LiberoGoal-T8"), 0)
"""
FAILING_CONTEXT = """
from gym_grounding.adapters.libero.painter import Painter
from gym_grounding.errors import MissingRenderer
try:
    Painter("<mujoco/>")
except MissingRenderer as error:
    print(error)
"""
QUIET = """
import logging, os
import robosuite
from robosuite import macros
assert macros.FILE_LOGGING_LEVEL is None and macros.CONSOLE_LOGGING_LEVEL is None
assert logging.getLogger("robosuite_logs").handlers == []
"""


def run(code, folder, **environment):
    """Run code in a new interpreter whose working folder is ``folder``; variables set to None are removed."""
    variables = {**os.environ, **{key: value for key, value in environment.items() if value is not None}}
    for key in [key for key, value in environment.items() if value is None]:
        variables.pop(key, None)
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, cwd=folder, env=variables
    )


@pytest.mark.sim
@pytest.mark.parametrize("chosen", [None, "elsewhere"])
def test_a_state_episode_prints_nothing_and_writes_only_its_compiled_model(chosen, tmp_path):
    work, home = tmp_path / "work", tmp_path / "home"
    work.mkdir()
    home.mkdir()
    cache = home / ".cache" / "gym-grounding" if chosen is None else tmp_path / chosen
    folders = {"HOME": str(home), "XDG_CACHE_HOME": None, "XDG_CONFIG_HOME": None}
    done = run(OPEN + EPISODE + QUIET, work, **folders, GYM_GROUNDING_CACHE=chosen and str(cache))
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert [(path.parent, path.suffix) for path in written] == [(cache, ".bin")]


@pytest.mark.sim
def test_without_gl_states_work_and_pictures_are_refused_by_name(tmp_path):
    done = run(WITHOUT_GL_LIBRARIES + WITHOUT_GL_MODULES + OPEN + EPISODE + NO_PICTURES, tmp_path, MUJOCO_GL=None)
    assert (done.stderr, done.returncode) == ("", 0)
    rendered, opened, backend = done.stdout.splitlines()
    assert backend == "none"
    for message in (rendered, opened):
        assert "libEGL.so.1" in message
        assert "apt-get install libegl1 libgl1" in message
        assert "observation='state'" in message


@pytest.mark.sim
def test_a_chosen_back_end_that_fails_at_import_is_refused_by_name(tmp_path):
    done = run(WITHOUT_GL_MODULES + OPEN + "\nscene = None\n" + ASK, tmp_path, MUJOCO_GL="egl", PYOPENGL_PLATFORM=None)
    assert (done.stderr, done.returncode) == ("", 0)
    assert "the GL back end egl cannot be used (ImportError: libOpenGL" in done.stdout


@pytest.mark.sim
@pytest.mark.gl
def test_leaving_without_close_frees_the_context_and_prints_nothing(tmp_path):
    if install.backend().name != "egl":
        pytest.skip("only EGL has a shutdown of its own")
    done = run(OPEN + LEAVE, tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("freed\n", "", 0)


@pytest.mark.sim
@pytest.mark.gl
def test_a_context_that_fails_names_the_back_end_and_prints_nothing(tmp_path):
    done = run(FAILING_CONTEXT, tmp_path, MUJOCO_GL="egl", MUJOCO_EGL_DEVICE_ID="77")
    assert (done.stderr, done.returncode) == ("", 0)
    assert "the GL back end egl failed" in done.stdout
    assert "77" in done.stdout


@pytest.mark.sim
def test_without_a_place_for_numbas_cache_the_import_still_works(tmp_path):
    done = run(NO_CACHE + IMPORT, tmp_path)
    assert (done.stderr, done.returncode) == ("", 0)
    assert "set NUMBA_CACHE_DIR" in done.stdout


@pytest.mark.parametrize(
    ("variable", "expected"),
    [("disable", "none"), ("off", "none"), ("OSMesa", "osmesa"), ("egl", "egl"), ("1", "glfw")],
)
def test_the_users_choice_of_back_end_is_kept(variable, expected, monkeypatch):
    monkeypatch.setattr(install, "_loaded", None)
    monkeypatch.setattr(install, "_loads", lambda library: True)
    monkeypatch.setenv("MUJOCO_GL", variable)
    assert install.backend().name == expected


@pytest.mark.parametrize(
    ("present", "expected"),
    [
        ({"libEGL.so.1", "libGL.so.1", "libOSMesa.so.8"}, "egl"),
        ({"libEGL.so.1", "libOpenGL.so.0"}, "egl"),
        ({"libEGL.so.1", "libOSMesa.so.6"}, "osmesa"),
        ({"libEGL.so.1"}, "none"),
        (set(), "none"),
    ],
)
def test_the_back_end_is_chosen_by_what_can_be_loaded(present, expected, monkeypatch):
    monkeypatch.setattr(install, "_loaded", None)
    monkeypatch.setattr(install, "_loads", present.__contains__)
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    assert install.backend().name == expected
    if expected == "none":
        with pytest.raises(MissingRenderer, match=r"libEGL\.so\.1.*apt-get install"):
            install.require_pictures()


def test_a_chosen_back_end_without_its_library_is_named(monkeypatch):
    monkeypatch.setattr(install, "_loaded", None)
    monkeypatch.setattr(install, "_loads", lambda library: False)
    monkeypatch.setenv("MUJOCO_GL", "osmesa")
    assert install.backend().name == "none"
    with pytest.raises(MissingRenderer, match=r"MUJOCO_GL=osmesa .*libOSMesa\.so\.8 .*apt-get install libosmesa6"):
        install.require_pictures()


def test_a_cache_is_possible_where_one_of_numbas_places_is_writable(tmp_path, monkeypatch):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert install.can_cache(blocked) is False
    assert install.can_cache(tmp_path / "package") is True
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert install.can_cache(blocked) is True
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    assert install.can_cache(blocked) is True


def test_the_placeholder_of_opencv_explains_itself():
    placeholder = install._Placeholder("libGL.so.1: cannot open shared object file")
    with pytest.raises(MissingRenderer, match=r"libGL\.so\.1.*apt-get install libgl1"):
        _ = placeholder.imshow
    assert not hasattr(placeholder, "__path__")

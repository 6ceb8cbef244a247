"""The layout of demonstration files, as LIBERO's writer and readers have it."""

import json

import h5py
import numpy as np
import pytest
from demos import fake_arm
from hypothesis import given
from hypothesis import strategies as st

from gym_grounding.demos.layout import axis_angle
from gym_grounding.demos.make import make
from gym_grounding.demos.record import rows_of

LIBERO = {
    "actions": ((7,), np.float64),
    "states": ((16,), np.float64),
    "robot_states": ((9,), np.float64),
    "rewards": ((), np.uint8),
    "dones": ((), np.uint8),
    "obs/gripper_states": ((2,), np.float64),
    "obs/joint_states": ((7,), np.float64),
    "obs/ee_states": ((6,), np.float64),
    "obs/ee_pos": ((3,), np.float64),
    "obs/ee_ori": ((3,), np.float64),
}
PICTURES = {"obs/agentview_rgb": ((128, 128, 3), np.uint8), "obs/eye_in_hand_rgb": ((128, 128, 3), np.uint8)}
HEADER = {
    "env_name",
    "problem_info",
    "macros_image_convention",
    "bddl_file_name",
    "bddl_file_content",
    "env_args",
    "num_demos",
    "total",
}


def datasets(group):
    found = {}
    group.visititems(lambda name, item: found.update({name: item}) if isinstance(item, h5py.Dataset) else None)
    return found


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("drawn")
    return make(fake_arm.order(folder, per_task=1, pictures=True))[0].path


@pytest.mark.parametrize("pictures", [False, True])
def test_keys_shapes_and_types_are_liberos(sound, drawn, pictures):
    expected = LIBERO | PICTURES if pictures else LIBERO
    with h5py.File(drawn if pictures else sound) as file:
        demo = file["data/demo_0"]
        length = demo.attrs["num_samples"]
        found = {name: item for name, item in datasets(demo).items() if not name.startswith("observations/")}
        assert set(found) == {*expected, "clean_actions"}
        for name, (shape, kind) in expected.items():
            assert (found[name].shape, found[name].dtype) == ((length, *shape), kind), name


def test_attributes_are_liberos(sound):
    with h5py.File(sound) as file:
        data = file["data"]
        assert set(data.attrs) == HEADER | {"tag", "task", "instruction", "made"}
        assert data.attrs["num_demos"] == len(data) == 4
        assert data.attrs["total"] == sum(len(data[name]["actions"]) for name in data)
        info, environment = json.loads(data.attrs["problem_info"]), json.loads(data.attrs["env_args"])
        assert info == {
            "problem_name": "desk",
            "domain_name": "robosuite",
            "language_instruction": "put the cup on the shelf",
        }
        assert data.attrs["bddl_file_name"] == "bddl_files/mini/put_the_cup_on_the_shelf.bddl"
        assert set(environment) == {"type", "env_name", "problem_name", "bddl_file", "env_kwargs"}
        assert environment["env_kwargs"]["camera_names"] == ["robot0_eye_in_hand", "agentview"]
        assert {"num_samples", "model_file", "init_state"} <= set(data["demo_0"].attrs)


def test_added_attributes_say_how_it_was_made(sound):
    with h5py.File(sound) as file:
        attributes = dict(file["data/demo_1"].attrs)
        made = json.loads(file["data"].attrs["made"])
        assert attributes["length"] == len(file["data/demo_1/actions"])
    assert {name: attributes[name] for name in ("start", "noise", "settle_steps", "fake_version", "verdict")} == {
        "start": "random",
        "noise": "none",
        "settle_steps": 10,
        "fake_version": "1",
        "verdict": "stable",
    }
    assert attributes["seed"] > 0
    assert attributes["attempt"] >= 1
    assert (made["starts"], made["per_task"], made["versions"]) == ("random", 4, {"fake": "1"})


def test_states_are_from_before_the_action_and_observations_from_after_it(sound):
    with h5py.File(sound) as file:
        demo = file["data/demo_0"]
        states, actions = demo["states"][()], demo["actions"][()]
        assert np.allclose(states[1:, 1:4], states[:-1, 1:4] + fake_arm.FACTOR * actions[:-1, :3])
        assert np.array_equal(demo["obs/joint_states"][:-1], states[1:, 1:8])
        assert np.array_equal(demo["obs/ee_pos"][:-1], states[1:, 1:4])
        assert np.array_equal(demo["observations/robot0_eef_pos"][:-1], states[:, 1:4])
        assert np.array_equal(demo["observations/robot0_eef_pos"][1:], demo["obs/ee_pos"])
        assert np.array_equal(demo["robot_states"][:, 2:5], demo["obs/ee_pos"])
        assert np.array_equal(demo["robot_states"][:, :2], demo["obs/gripper_states"])
        assert np.array_equal(demo["obs/ee_states"], np.hstack([demo["obs/ee_pos"], demo["obs/ee_ori"]]))
        last = np.eye(1, len(actions), len(actions) - 1, dtype=np.uint8)[0]
        assert np.array_equal(demo["rewards"], last)
        assert np.array_equal(demo["dones"], last)
        assert not any(name.endswith("image") for name in demo["observations"])


def test_the_first_row_is_the_first_after_settling_and_the_start_is_kept(sound):
    with h5py.File(sound) as file:
        demo = file["data/demo_0"]
        assert np.array_equal(demo.attrs["init_state"], demo["states"][0])
        assert demo.attrs["start_state"][0] == 0.0
        assert demo["states"][0, 0] == pytest.approx(10 * 0.05)


def test_the_model_has_the_fixtures_of_its_own_episode(sound):
    with h5py.File(sound) as file:
        for name in file["data"]:
            demo = file["data"][name]
            assert f'pos="{float(demo.attrs["seed"]) / 7.0!r} 0.1 0.2"' in demo.attrs["model_file"]


def test_pictures_are_from_after_the_action_and_chunked_one_by_one(drawn):
    with h5py.File(drawn) as file:
        demo = file["data/demo_0"]
        pictures = demo["obs/agentview_rgb"]
        assert pictures.chunks == (1, 128, 128, 3)
        after = demo["states"][1:, 0] * 1000
        assert np.array_equal(pictures[:-1, 0, 0, 0], after.astype(int) % 256)


def test_noise_is_executed_and_the_wanted_action_kept(tmp_path):
    path = make(fake_arm.order(tmp_path, per_task=2, noise="full"))[0].path
    with h5py.File(path) as file:
        demo = file["data/demo_0"]
        actions, clean, states = demo["actions"][()], demo["clean_actions"][()], demo["states"][()]
        assert np.abs(actions - clean).max() > 0.01
        assert np.allclose(states[1:, 1:4], states[:-1, 1:4] + fake_arm.FACTOR * actions[:-1, :3])
        assert demo.attrs["noise"] == "full"
        assert json.loads(file["data"].attrs["made"])["noise_sizes"]["position"] > 0


@pytest.fixture(scope="module")
def robosuites():
    """The function by which LIBERO's recorder makes axis-angles."""
    from gym_grounding.adapters.libero import install

    with install.importing():
        from robosuite.utils.transform_utils import quat2axisangle
    return quat2axisangle


unit = st.lists(st.floats(-1, 1), min_size=4, max_size=4).filter(lambda q: np.linalg.norm(q) > 1e-3)


@pytest.mark.sim
@given(
    rows=st.lists(st.one_of(unit, st.sampled_from([[0, 0, 0, 1.0], [0, 0, 0, -1.0], [1e-9, 0, 0, 1.0]])), min_size=1)
)
def test_axis_angles_are_robosuites_to_the_last_bit(robosuites, rows):
    quaternions = np.array([np.array(row) / np.linalg.norm(row) for row in rows], np.float64)
    found = axis_angle(quaternions)
    assert np.array_equal(found, [robosuites(one.copy()) for one in quaternions])


def test_axis_angles_turn_as_their_quaternions_do():
    half = np.sqrt(0.5)
    quaternions = np.array([[0.0, 0, 0, 1], [0, 0, 0, -1], [half, 0, 0, half], [0, -1, 0, 0], [0, 0, half, -half]])
    quarter = np.pi / 2
    expected = [[0, 0, 0], [0, 0, 0], [quarter, 0, 0], [0, -np.pi, 0], [0, 0, 3 * quarter]]
    assert axis_angle(quaternions) == pytest.approx(np.array(expected))


@pytest.mark.parametrize(
    ("held", "rest", "rows"),
    [
        ("0001111", 2, 5),  # up to the last deed
        ("0000011", 2, 6),  # the goal came true at rest: up to where it holds for good
        ("0101011", 1, 6),
        ("1111", 2, 2),
        ("0001", 1, 4),
    ],
)
def test_a_demonstration_ends_with_the_last_deed_and_with_its_goal_true(held, rest, rows):
    found = [one == "1" for one in held]
    assert rows_of(found, rest) == rows
    assert found[rows - 1]

"""Checking demonstration files: every problem by name, and what a replay shows."""

import numpy as np
import pytest
from demos import fake_arm
from demos.test_demo_read import attribute, drop, put

from gym_grounding.demos.check import problems, replays
from gym_grounding.demos.make import make


def shown(path, arm, task=None, limit=None):
    """Replays of a file in scenes of the fake arm."""
    return list(replays(lambda task: fake_arm.FakeScene(fake_arm_settings()), arm, path, task, limit))


def fake_arm_settings():
    from gym_grounding.types import SceneSettings

    return SceneSettings(observation="state")


def changed(name, change, group="demo_1"):
    """Rewrite a dataset."""

    def spoil(data):
        rows = data[group][name][()]
        data[group][name][...] = change(rows)

    return spoil


def as_type(name, kind, group="demo_1"):
    """Keep a dataset as another number type."""

    def spoil(data):
        rows = data[group][name][()].astype(kind)
        del data[group][name]
        data[group][name] = rows

    return spoil


def bent(rows):
    rows[2, 1] += 0.1
    return rows


def long(rows):
    rows[2, 1] = 1.5
    return rows


def both_actions(change):
    """Change what was executed and what was wanted."""

    def spoil(data):
        for name in ("actions", "clean_actions"):
            changed(name, change)(data)

    return spoil


def test_a_sound_file_has_no_problems(sound, tmp_path):
    assert problems(sound) == []
    assert problems(make(fake_arm.order(tmp_path, per_task=1, pictures=True, noise="full"))[0].path) == []


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (drop("demo_1/actions"), ["demo_1: no dataset 'actions' in the demonstration"]),
        (drop("demo_1/obs/ee_pos"), ["demo_1: no dataset 'ee_pos' in obs"]),
        (drop("demo_1/dones"), ["demo_1: no dataset 'dones' in the demonstration"]),
        (put("demo_1/robot_states", np.zeros((3, 9))), ["demo_1: robot_states has 3 rows, actions has "]),
        (
            both_actions(long),
            [f"demo_1: {name} has values up to 1.5, expected -1 to 1" for name in ("actions", "clean_actions")],
        ),
        (
            changed("clean_actions", long),
            [
                "demo_1: clean_actions has values up to 1.5, expected -1 to 1",
                "clean_actions and actions differ by up to",
            ],
        ),
        (changed("rewards", lambda rows: 0 * rows), ["demo_1: rewards is not 0 with a 1 in the last row"]),
        (changed("dones", lambda rows: rows[::-1]), ["demo_1: dones is not 0 with a 1 in the last row"]),
        (
            changed("obs/ee_pos", bent),
            [
                "obs/ee_states and obs/ee_pos disagree by up to 0.1",
                "robot_states and obs/ee_pos disagree by up to 0.1",
                "obs/ee_pos and observations/robot0_eef_pos disagree by up to 0.1",
            ],
        ),
        (
            changed("obs/ee_ori", bent),
            ["obs/ee_states and obs/ee_ori disagree by up to 0.1", "robot_states and obs/ee_ori disagree by up to 0.1"],
        ),
        (
            changed("obs/gripper_states", bent),
            [
                "robot_states and obs/gripper_states disagree by up to 0.1",
                "obs/gripper_states and observations/robot0_gripper_qpos disagree by up to 0.1",
                "states and obs/gripper_states disagree by up to 0.1",
            ],
        ),
        (attribute("num_samples", 3), ["demo_1: attribute 'num_samples' is 3, actions has "]),
        (attribute("length", 3), ["demo_1: attribute 'length' is 3, actions has "]),
        (attribute("init_state", np.zeros(16)), ["demo_1: attribute 'init_state' is not the first row of states"]),
        (attribute("init_state", "no"), ["attribute 'init_state' holds NaN, an infinity or no numbers"]),
        (lambda data: data["demo_1"].attrs.pop("model_file"), ["demo_1: no attribute 'model_file' that is text"]),
        (lambda data: data["demo_1"].attrs.pop("num_samples"), ["demo_1: no attribute 'num_samples'"]),
        (lambda data: data.attrs.update({"num_demos": 7}), ["data: attribute num_demos is 7, there are 4 demonst"]),
        (lambda data: data.attrs.update({"total": 7}), ["data: attribute total is 7, there are "]),
        (lambda data: data.attrs.pop("problem_info"), ["data: no attribute 'problem_info' that is text"]),
        (lambda data: data.move("demo_1", "demo_9"), ["data: 'demo_9' is no demo_0 to demo_3"]),
        (lambda data: [data.pop(name) for name in list(data)], ["data: holds no demonstration", "num_demos", "total"]),
        (
            lambda data: (
                data["demo_1"].__delitem__("observations"),
                data["demo_1"].create_dataset("observations", (), "f8"),
            ),
            ["demo_1: observations is no group of datasets"],
        ),
        (as_type("actions", "f4"), ["demo_1: actions has type float32, expected float64"]),
        (as_type("obs/ee_pos", "f4"), ["demo_1: obs/ee_pos has type float32, expected float64"]),
        (as_type("dones", "i8"), ["demo_1: dones has type int64, expected uint8"]),
        (attribute("start_state", np.full(16, np.nan)), ["attribute 'start_state' holds NaN, an infinity or no num"]),
        (attribute("seed", 2**32), ["demo_1: attribute 'seed' is 4294967296.0, expected 0 to 4294967295"]),
        (attribute("seed", "one"), ["demo_1: attribute 'seed' holds NaN, an infinity or no numbers"]),
        (attribute("settle_steps", -1), ["demo_1: attribute 'settle_steps' is -1.0, expected 0 to 1000"]),
        (attribute("num_samples", [7, 7]), ["demo_1: attribute 'num_samples' is [7. 7.], actions has 7 rows"]),
        (
            drop("demo_1/observations/cup_1_pos"),
            ["demo_1: has no observations/cup_1_pos, which other demonstrations of the file have"],
        ),
        (
            drop("demo_1/observations"),
            ["demo_1: has no observations/cup_1_pos, observations/robot0_eef_pos, observations/robot0_eef_quat, obs"],
        ),
        (drop("demo_1/clean_actions"), ["demo_1: has no clean_actions, which other demonstrations of the file have"]),
        (
            put("demo_1/observations/cup_1_pos", np.zeros((8, 2))),
            ["cup_1_pos has rows of shape (2,), float64; others have (3,), float64"],
        ),
        (
            as_type("observations/cup_1_pos", "f4"),
            ["cup_1_pos has rows of shape (3,), float32; others have (3,), float64"],
        ),
        (put("demo_1/observations/cup_1_pos", np.zeros((1, 3))), ["cup_1_pos has 1 rows, actions has "]),
    ],
)
def test_every_problem_is_named_and_no_other(spoiled, change, expected):
    path = spoiled(change)
    found = problems(path)
    assert len(found) == len(expected), found
    for line, words in zip(found, expected, strict=True):
        assert words in line
        assert line.startswith(str(path))


def test_several_problems_are_all_named(spoiled):
    def change(data):
        del data["demo_0/obs/ee_pos"]
        del data["demo_2/states"]
        data["demo_3"].attrs["num_samples"] = 0

    assert [line.split(": ")[1] for line in problems(spoiled(change))] == ["demo_0", "demo_2", "demo_3"]


def test_observations_from_before_their_action_are_noticed(spoiled):
    def early(data):
        demo = data["demo_1"]
        demo["obs/joint_states"][...] = demo["states"][:, 1:8]

    (line,) = problems(spoiled(early))
    assert "obs/joint_states has rows from before their action; LIBERO's are from after it" in line


def test_demonstrations_of_different_scenes_are_noticed(spoiled):
    def change(data):
        states = data["demo_1/states"][()]
        del data["demo_1/states"]
        data["demo_1/states"] = states[:, :-1]
        data["demo_1"].attrs["init_state"] = states[0, :-1]

    (line,) = problems(spoiled(change))
    assert "rows of states have different lengths [15, 16]" in line


def test_pictures_of_one_camera_alone_are_noticed(tmp_path):
    import h5py

    path = make(fake_arm.order(tmp_path, per_task=1, pictures=True))[0].path
    with h5py.File(path, "r+") as file:
        del file["data/demo_0/obs/eye_in_hand_rgb"]
    (line,) = problems(path)
    assert line.endswith("demo_0: has the pictures of one camera, not of both")


def test_wide_pictures_are_noticed(tmp_path):
    import h5py

    path = make(fake_arm.order(tmp_path, per_task=1, pictures=True))[0].path
    with h5py.File(path, "r+") as file:
        as_type("obs/agentview_rgb", "u2", "demo_0")(file["data"])
    (line,) = problems(path)
    assert line.endswith("demo_0: obs/agentview_rgb has type uint16, expected uint8")


def test_a_file_as_libero_writes_it_is_sound(spoiled):
    """Its types and shapes are those of LIBERO's recorder, and nothing that is added here is in it."""

    def foreign(data):
        for name in ("tag", "task", "instruction", "made"):
            del data.attrs[name]
        for demo in data.values():
            del demo["observations"], demo["clean_actions"]
            for name in set(demo.attrs) - {"num_samples", "model_file", "init_state"}:
                del demo.attrs[name]
            for name in ("agentview_rgb", "eye_in_hand_rgb"):
                demo[f"obs/{name}"] = np.zeros((len(demo["actions"]), 128, 128, 3), np.uint8)

    assert problems(spoiled(foreign)) == []


def test_files_that_are_none_are_one_problem(tmp_path):
    (tmp_path / "text.hdf5").write_text("hello")
    (line,) = problems(tmp_path / "text.hdf5")
    assert line == f"{tmp_path / 'text.hdf5'}: no readable HDF5 file; it is damaged, half-written or something else"
    assert problems(tmp_path) == [f"{tmp_path}: is a folder; name the files in it"]


@pytest.mark.parametrize("settings", [{}, {"noise": "full"}, {"starts": "stored", "noise": "mild"}])
def test_what_was_made_here_replays_to_the_last_bit(tmp_path, arm, settings):
    path = make(fake_arm.order(tmp_path, per_task=3, attempts=40, **settings))[0].path
    found = shown(path, arm)
    assert [one.name for one in found] == ["demo_0", "demo_1", "demo_2"]
    assert all(one.exact and one.equal and one.reached and one.held_at_end for one in found)


def test_changed_actions_and_states_show_in_the_replay(spoiled, arm):
    def actions(data):
        data["demo_1/actions"][0, 0] = -1.0
        data["demo_1/actions"][1, 0] = -1.0

    found = shown(spoiled(actions), arm)
    assert [one.equal for one in found] == [True, False, True, True]
    assert found[1].positions > 0.01
    assert (found[1].reached, found[1].held_at_end) == (False, False)
    states = shown(spoiled(changed("states", lambda rows: rows + np.array([0.0] * 13 + [0.25] * 3))), arm)[1]
    assert (states.positions, states.velocities, states.reached) == (0.0, pytest.approx(0.25), True)


def test_files_without_a_start_are_replayed_from_their_first_row(spoiled, arm):
    def foreign(data):
        for name in data:
            for key in ("start_state", "seed", "settle_steps"):
                del data[name].attrs[key]

    found = shown(spoiled(foreign), arm)
    assert not any(one.exact for one in found)
    assert all(one.reached and one.positions < 1e-3 for one in found)
    assert len(shown(spoiled(foreign), arm, limit=2)) == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (attribute("model_file", "<mujoco"), "demo_1: model_file: the model is no XML"),
        (attribute("model_file", "<mujoco/>"), "demo_1: model_file: the model has no body 'box_1_main'"),
        (
            attribute("model_file", '<mujoco><body name="box_1_main" pos="1 2"/></mujoco>'),
            "demo_1: model_file: the model's body 'box_1_main' has no pose of seven numbers",
        ),
        (put("demo_1/states", np.zeros((9, 4))), "demo_1: states has "),
        (attribute("start_state", np.zeros(3)), "demo_1: states: another scene"),
        (attribute("seed", -1), "demo_1: attribute 'seed' is -1.0, expected 0 to 4294967295"),
        (attribute("settle_steps", 10**9), "demo_1: attribute 'settle_steps' is 1000000000.0, expected 0 to 1000"),
        (attribute("settle_steps", 0.5), "demo_1: attribute 'settle_steps' is 0.5"),
        (attribute("seed", [1, 2]), "demo_1: attribute 'seed' is [1. 2.]"),
    ],
)
def test_models_and_states_of_other_scenes_stop_one_replay_only(spoiled, arm, change, message):
    found = shown(spoiled(change), arm)
    assert [isinstance(one, str) for one in found] == [False, True, False, False]
    assert message in found[1]


def test_a_file_of_no_task_is_told(spoiled, arm):
    path = spoiled(lambda data: data.attrs.update({"problem_info": '{"language_instruction": "sing"}'}))
    (line,) = shown(path, arm)
    assert "'sing' is that of no task" in line


def shifted(name, by, rows=slice(None), group="demo_1"):
    """Add a number to a dataset."""

    def spoil(data):
        data[group][name][rows] = data[group][name][rows] + by

    return spoil


def every(*changes):
    def spoil(data):
        for change in changes:
            change(data)

    return spoil


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (shifted("obs/joint_states", 0.5), "obs/joint_states and observations/robot0_joint_pos disagree by up to 0.5"),
        (shifted("obs/joint_states", 1e-9), "obs/joint_states and observations/robot0_joint_pos disagree by up to 1e"),
        (shifted("observations/robot0_eef_pos", 0.1), "obs/ee_pos and observations/robot0_eef_pos disagree by up to 0"),
        (shifted("observations/robot0_eef_quat", 0.1), "robot_states and observations/robot0_eef_quat disagree by up"),
        (
            shifted("observations/robot0_joint_pos", 0.1, 0),
            "states and observations/robot0_joint_pos disagree by up to",
        ),
        (
            every(shifted("obs/joint_states", 0.1), shifted("observations/robot0_joint_pos", 0.1)),
            "states and obs/joint_states disagree by up to 0.1",
        ),
        (
            changed("clean_actions", lambda rows: 0 * rows),
            "clean_actions and actions differ by up to 1, though there was",
        ),
        (
            shifted("states", 1.0, (slice(3, None), 0)),
            "states has a time, its first column, that rises by 1.05 s after row 2",
        ),
        (shifted("states", -1.0, (3, 0)), "states has a time, its first column, that does not rise after row 2"),
        (
            shifted("states", 2.7e306, (3, 11)),
            "states has values up to 2.7e+306, which no simulator leaves as they are",
        ),
        (
            shifted("observations/cup_1_pos", 1e11, 3),
            "observations/cup_1_pos has values up to 1e+11, which no simulator",
        ),
        (attribute("noise", "mild"), "demo_1: attribute 'noise' is 'mild', made has noise 'none'"),
    ],
)
def test_learning_data_that_are_wrong_are_noticed_without_a_replay(spoiled, change, expected):
    found = problems(spoiled(change))
    assert found
    assert any(expected in line for line in found), found
    assert all(": demo_1: " in line for line in found)


@pytest.fixture(scope="module")
def disturbed(tmp_path_factory):
    """Files that were made with each kind of noise."""
    folder = tmp_path_factory.mktemp("noise")
    return {
        noise: make(fake_arm.order(folder, noise, per_task=3, attempts=60, noise=noise))[0].path
        for noise in ("mild", "full")
    }


@pytest.mark.parametrize("noise", ["mild", "full"])
def test_clean_actions_that_no_noise_disturbed_so_are_noticed(disturbed, tmp_path, noise):
    import shutil

    import h5py

    assert problems(disturbed[noise]) == []

    def with_clean(change):
        path = tmp_path / "copy.hdf5"
        shutil.copy(disturbed[noise], path)
        with h5py.File(path, "r+") as file:
            demo = file["data/demo_0"]
            demo["clean_actions"][...] = change(demo["clean_actions"][()])
        return problems(path)

    (line,) = with_clean(lambda rows: rows * np.array([1, 1, 1, 1, 1, 1, 0.0]))
    assert f"clean_actions and actions differ by 1 in the gripper; noise {noise!r} by 0" in line
    flipped = with_clean(lambda rows: rows * np.array([1, 1, 1, 1, 1, 1, -1.0]))
    assert len(flipped) == (0 if noise == "full" else 1)
    (line,) = with_clean(lambda rows: rows + np.array([0, 0, 0, 0.9, 0, 0, 0]))
    assert "in their components 3 to 5; noise" in line


def header(name, value):
    return lambda data: data.attrs.update({name: value})


def edited(name, **fields):
    import json

    return lambda data: data.attrs.update({name: json.dumps(json.loads(data.attrs[name]) | fields)})


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (header("bddl_file_content", "nonsense"), ["is no BDDL text", "is not the BDDL text whose sha256 is in made"]),
        (header("bddl_file_content", "(define)"), ["bddl_file_content is not the BDDL text whose sha256 is in made"]),
        (
            header("env_args", "{}"),
            ["env_args is no JSON object with type, env_name, problem_name, bddl_file, env_kwargs"],
        ),
        (
            header("env_args", "["),
            ["env_args is no JSON object with type, env_name, problem_name, bddl_file, env_kwargs"],
        ),
        (edited("env_args", env_name="Other"), ["env_args has env_name 'Other', elsewhere it is 'Fake'"]),
        (edited("env_args", problem_name="x"), ["env_args has problem_name 'x', elsewhere it is 'desk'"]),
        (edited("env_args", bddl_file="x"), ["env_args has bddl_file 'x', elsewhere it is 'bddl_files/mini/"]),
        (header("made", "{}"), ["made is no JSON object with per_task, task, goal, bddl"]),
        (lambda data: data.attrs.pop("made"), ["made is no JSON object with per_task, task, goal, bddl"]),
        (header("task", "Mini-T1"), ["made has task 'Mini-T0', attribute task is 'Mini-T1'"]),
        (edited("made", noise_sizes={"position": "x"}), ["made has noise_sizes {'position': 'x'}, which are no sizes"]),
        (
            edited("problem_info", language_instruction="sing"),
            ["is of 'put the cup on the shelf', problem_info says 's"],
        ),
    ],
)
def test_headers_that_contradict_themselves_are_noticed(spoiled, change, expected):
    found = problems(spoiled(change))
    assert len(found) == len(expected), found
    assert all(words in line and ": data: " in line for line, words in zip(found, expected, strict=True)), found


def test_headers_of_another_task_than_the_registrys_are_noticed(spoiled, arm):
    from gym_grounding.demos.headers import task_problems
    from gym_grounding.demos.read import opened

    task = arm.task("Mini-T0")
    for change, words in (
        (edited("made", goal="on(a, b)"), "made has goal 'on(a, b)', of Mini-T0 it is 'on(cup_1, shelf_1_top)'"),
        (edited("made", bddl="0"), "made has bddl '0', of Mini-T0 it is '"),
        (header("instruction", "sing"), "attribute instruction is 'sing', of Mini-T0 it is 'put the cup on the shelf'"),
    ):
        with opened(spoiled(change)) as file:
            (line,) = task_problems(file, task)
        assert words in line
    with opened(spoiled(lambda data: None)) as file:
        assert list(task_problems(file, task)) == []


def test_a_group_that_is_missing_is_told_once(spoiled):
    (line,) = problems(spoiled(drop("demo_1/obs")))
    assert "demo_1: no group 'obs'" in line


def test_what_is_observed_is_compared_in_a_replay(spoiled, arm):
    for name in ("observations/cup_1_pos", "obs/ee_ori", "robot_states"):
        found = shown(spoiled(shifted(name, 1e-9, -1)), arm)[1]
        assert (found.equal, found.positions, found.dataset) == (False, 0.0, name)
        assert found.observed == pytest.approx(1e-9, rel=1e-3)
    found = shown(spoiled(lambda data: data.create_dataset("demo_1/observations/new", data=np.zeros((8, 2)))), arm)[1]
    assert (found.observed, found.dataset) == (np.inf, "observations/new")

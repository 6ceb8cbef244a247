"""Object tokens: the same from a file and from a live observation, for any suite's things."""

import json

import numpy as np
import pytest

pytest.importorskip("torch")

from gym_grounding_policies.data import tokens
from gym_grounding_policies.data.inputs import PictureInputs
from gym_grounding_policies.data.language import words_of
from gym_grounding_policies.data.tokens import StateInputs, fitted, identity, rotation
from gym_grounding_policies.data.windows import Settings, TaskFile, Windows, observed
from scipy.spatial.transform import Rotation

from gym_grounding.demos.layout import axis_angle, quaternions
from gym_grounding.errors import InvalidOption
from policies import small_files

TASK = small_files.task()


@pytest.fixture
def rows():
    return small_files.observations(np.random.default_rng(0), 30)


@pytest.fixture
def known(rows):
    return fitted([rows])


def test_a_file_and_a_live_observation_give_the_same(tmp_path):
    path = tmp_path / "a.hdf5"
    truth = small_files.write(path, TASK)
    files, settings = [TaskFile(path, TASK, 0)], Settings(history=1, pairing="before")
    for objects in tokens.OBJECTS:
        inputs = StateInputs(objects, fitted(observed(files, StateInputs(objects), settings)))
        windows = Windows(files, inputs, words_of("hashing"), settings)
        for number, (demo, moment) in enumerate(windows.places.tolist()):
            # a live observation is one row, with keys in another order and some that are not used
            live = {key: part[moment : moment + 1] for key, part in reversed(truth[demo][0].items())}
            live["instruction"] = np.zeros((1, 256), np.uint8)
            read = windows.batch([number]).observations
            made = inputs(live)
            assert read.keys() == made.keys()
            for name, part in made.items():
                assert np.array_equal(read[name][0], part), name


def test_the_layout_of_a_token(rows):
    inputs = StateInputs()
    made = inputs(rows)
    parts = inputs.parts
    assert inputs.things(rows) == ("bowl_1", "plate_1", "wooden_cabinet_1")
    assert made["tokens"].shape == (30, 3, inputs.sizes["tokens"])
    assert made["tokens"].dtype == made["proprio"].dtype == np.float32
    assert made["proprio"].shape == (30, inputs.sizes["proprio"]) == (30, 18)
    assert made["present"].all()
    token = made["tokens"][7, 2]
    offset = rows["wooden_cabinet_1_pos"][7] - rows["robot0_eef_pos"][7]
    assert np.allclose(token[parts["offset"]], offset)
    assert np.allclose(token[parts["position"]], rows["wooden_cabinet_1_pos"][7])
    assert np.allclose(token[parts["near"]], offset / (0.03 + abs(offset)))
    turned = Rotation.from_quat(rows["wooden_cabinet_1_quat"][7]).as_matrix()
    assert np.allclose(token[parts["rotation"]], turned[:, :2].T.ravel(), atol=1e-6)
    joints = rows["wooden_cabinet_1_joint_pos"][7]
    assert np.allclose(token[parts["joints"]], [*joints / (0.1 + abs(joints)), *joints / (1 + abs(joints))])
    assert np.array_equal(token[parts["identity"]], identity("wooden_cabinet_1"))
    assert not made["tokens"][:, 0, parts["joints"]].any()
    assert np.allclose(made["proprio"][7, :9], [*rows["robot0_joint_pos"][7], *rows["robot0_gripper_qpos"][7]])
    assert np.allclose(made["proprio"][7, 12:], rotation(rows["robot0_eef_quat"][7:8])[0])


def test_what_is_read_can_be_chosen(rows):
    joints = StateInputs("joints")(rows)
    assert joints["tokens"].shape == (30, 1, 38)
    moved = {**rows, "wooden_cabinet_1_pos": rows["wooden_cabinet_1_pos"] + 1, "bowl_1_quat": -rows["bowl_1_quat"]}
    assert np.array_equal(StateInputs("joints")(moved)["tokens"], joints["tokens"])
    assert np.array_equal(
        StateInputs()({**rows, "bowl_1_quat": -rows["bowl_1_quat"]})["tokens"], StateInputs()(rows)["tokens"]
    )
    assert StateInputs("none")(rows).keys() == StateInputs("none").sizes.keys() == {"proprio"}
    with pytest.raises(InvalidOption, match="choose one of all, joints, none"):
        StateInputs("some")


def test_scaled_numbers_have_mean_zero_and_deviation_one(rows, known):
    inputs = StateInputs("all", known)
    made = inputs(rows)
    for name in ("offset", "position"):
        part = made["tokens"][:, :, inputs.parts[name]].reshape(-1, 3)
        assert np.allclose(part.mean(0), 0, atol=1e-6)
        assert np.allclose(part.std(0), 1, atol=1e-6)
    assert np.allclose(made["proprio"][:, :12].mean(0), 0, atol=1e-6)


def test_constants_do_not_depend_on_the_parts_they_came_in(rows, known):
    split = fitted({key: part[a:b] for key, part in rows.items()} for a, b in ((0, 1), (1, 12), (12, 30)))
    for name in tokens.SCALED:
        assert np.allclose(split.mean[name], known.mean[name], rtol=1e-12)
        assert np.allclose(split.deviation[name], known.deviation[name], rtol=1e-12)


def test_what_never_moved_is_not_blown_up(rows):
    still = {**rows, "robot0_joint_pos": np.zeros((30, 7))}
    known = fitted([still])
    assert known.deviation["robot0_joint_pos"] == (0.05,) * 7
    moved = StateInputs("none", known)({**still, "robot0_joint_pos": np.ones((30, 7))})
    assert moved["proprio"][:, :7].max() == tokens.FURTHEST


def test_constants_without_any_thing_are_usable(rows):
    bare = {key: part for key, part in rows.items() if key.startswith("robot0")}
    known = fitted([bare])
    assert known.deviation["offset"] == (1.0,) * 3
    with pytest.raises(InvalidOption, match="no demonstration"):
        fitted([])


def test_inputs_survive_json_to_the_last_bit(rows, known, tmp_path):
    inputs = StateInputs("all", known)
    inputs.save(tmp_path / "inputs.json")
    again = StateInputs.load(tmp_path / "inputs.json")
    assert again == inputs
    assert np.array_equal(again(rows)["tokens"], inputs(rows)["tokens"])
    assert StateInputs.from_dict(json.loads(json.dumps(StateInputs("none").as_dict()))) == StateInputs("none")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.pop("objects"), "have the fields"),
        (lambda data: data.update(normalisation=[1]), "cannot be read"),
        (lambda data: data["normalisation"].pop("offset"), "mean has"),
        (lambda data: data["normalisation"]["offset"].update(mean=[1, 2]), "mean of offset"),
        (lambda data: data["normalisation"]["offset"].update(mean=[1, 2, float("nan")]), "mean of offset"),
        (lambda data: data["normalisation"]["offset"].update(deviation=[1, 2, 0]), "deviation of offset"),
    ],
)
def test_a_damaged_description_is_refused(known, tmp_path, change, message):
    data = StateInputs("all", known).as_dict()
    change(data)
    path = tmp_path / "inputs.json"
    path.write_text(json.dumps(data))
    with pytest.raises(InvalidOption, match=message):
        StateInputs.load(path)
    path.write_text("{")
    with pytest.raises(InvalidOption, match=r"inputs\.json"):
        StateInputs.load(path)
    with pytest.raises(InvalidOption, match="No such file"):
        StateInputs.load(tmp_path / "none.json")


def test_a_name_says_what_a_thing_is_and_not_which(rows):
    mug, other, plate = (identity(name) for name in ("red_coffee_mug_1", "white_yellow_mug_1", "plate_1"))
    assert np.array_equal(identity("plate_1"), identity("plate_2"))
    assert np.allclose([mug @ mug, plate @ plate], 1)
    assert mug @ other > mug @ plate
    assert not np.array_equal(mug, other)
    # the same in every process and with every version of NumPy
    assert np.array_equal(np.sign(identity("plate_1"))[:8], [-1, -1, 1, 1, 1, -1, 1, 1])
    unseen = {**rows, "zebra_1_pos": rows["bowl_1_pos"], "zebra_1_quat": rows["bowl_1_quat"]}
    assert StateInputs()(unseen)["tokens"].shape == (30, 4, StateInputs().sizes["tokens"])


def test_every_thing_of_every_suite_is_another(rows):
    from gym_grounding import manifest as manifests

    scenes = manifests.load().scenes.values()
    things = {one.name.rpartition("_")[0]: one.joints for scene in scenes for one in scene.of_kind("object", "fixture")}
    known = np.array([identity(f"{name}_1") for name in sorted(things)])
    assert len(known) >= 28
    assert (known @ known.T - np.eye(len(known))).max() < 0.95
    assert max(things.values()) <= tokens.MOST_JOINTS


def test_missing_keys_are_named(rows):
    for key, message in (("robot0_eef_quat", "no robot0_eef_quat"), ("bowl_1_quat", "no bowl_1_quat in the")):
        with pytest.raises(InvalidOption, match=message):
            StateInputs()({name: part for name, part in rows.items() if name != key})
    with pytest.raises(InvalidOption, match="needs agentview_image, robot0_eye_in_hand_image"):
        PictureInputs().keys(rows)


def test_pictures_keep_their_orientation():
    rows = small_files.observations(np.random.default_rng(0), 2, side=4)
    made = PictureInputs()(rows)
    assert made.keys() == {"joint", "gripper", "agentview", "eye_in_hand"}
    assert np.array_equal(made["agentview"][1, 2], rows["agentview_image"][1, :, :, 2])
    with pytest.raises(InvalidOption, match="pictures are"):
        PictureInputs()({**rows, "agentview_image": rows["agentview_image"].astype(float)})


def test_axis_angles_come_back_as_quaternions():
    quats = Rotation.random(50, random_state=0).as_quat()
    quats[0], quats[1] = [0, 0, 0, 1], [1e-9, 0, 0, 1]
    again = quaternions(axis_angle(quats))
    assert np.allclose(again, quats, atol=1e-7)
    turned = axis_angle(quats)
    by_scipy = Rotation.from_rotvec(turned).as_quat()
    sign = np.sign((again * by_scipy).sum(1, keepdims=True))
    assert np.allclose(again, sign * by_scipy, atol=1e-12)

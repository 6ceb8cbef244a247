"""The reader of demonstration files: only what is asked for, and one clear error for whatever is no such file."""

import dataclasses
import random

import h5py
import numpy as np
import pytest
from demos import fake_arm

from gym_grounding.demos.layout import COLUMNS
from gym_grounding.demos.make import make
from gym_grounding.demos.read import opened
from gym_grounding.errors import InvalidDemonstration, UnknownName


def everything(path):
    """Read whatever there is."""
    with opened(path) as file:
        for name in file.names:
            demo = file.demonstration(name)
            for key in COLUMNS:
                if COLUMNS[key].required or key in demo.keys:
                    demo.rows(key)
            for key in demo.observation_keys:
                demo.observation(key)
            demo.text("model_file")
            demo.numbers("init_state")
            _ = demo.attributes
        return file.instruction, file.names


def test_what_was_written_is_read(sound, arm):
    with opened(sound) as file, h5py.File(sound) as raw:
        assert file.names == ("demo_0", "demo_1", "demo_2", "demo_3")
        assert file.task(arm) == arm.task("Mini-T0")
        demo, group = file.demonstration("demo_2"), raw["data/demo_2"]
        assert demo.length == len(group["actions"])
        assert "obs/agentview_rgb" not in demo.keys
        for key in demo.keys:
            assert np.array_equal(demo.rows(key), group[key])
        assert set(demo.observation_keys) == set(group["observations"])
        assert np.array_equal(demo.observation("cup_1_pos"), group["observations/cup_1_pos"])
        assert np.array_equal(demo.numbers("start_state"), group.attrs["start_state"])
        assert demo.numbers("of_no_such_name") is None
        attributes = demo.attributes
        assert (attributes["start"], attributes["length"]) == ("random", demo.length)
        assert not {"model_file", "start_state"} & set(attributes)


def test_windows_are_read_without_the_rest(sound, monkeypatch):
    asked, plain = [], h5py.Dataset.__getitem__

    def watched(self, index, *rest, **options):
        asked.append((self.name, index))
        return plain(self, index, *rest, **options)

    monkeypatch.setattr(h5py.Dataset, "__getitem__", watched)
    with opened(sound) as file:
        demo = file.demonstration("demo_1")
        assert asked == []
        window = demo.rows("states", slice(2, 5))
        chosen = demo.rows("actions", np.array([0, 3]))
        none = demo.rows("actions", np.array([], np.intp))
    assert [name for name, _ in asked] == ["/data/demo_1/states", "/data/demo_1/actions"]
    assert asked[0][1] == slice(2, 5)
    assert (window.shape, chosen.shape, none.shape) == ((3, 16), (2, 7), (0, 7))


def drop(name):
    def change(data):
        del data[name]

    return change


def put(name, value, kind=None):
    def change(data):
        del data[name]
        data[name] = np.asarray(value, kind)

    return change


def attribute(name, value, group="demo_1"):
    def change(data):
        data[group].attrs[name] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop("demo_1/actions"), "demo_1: no dataset 'actions'"),
        (drop("demo_1/obs"), "demo_1: no group 'obs'"),
        (drop("demo_1/obs/ee_pos"), "demo_1: no dataset 'ee_pos' in obs"),
        (put("demo_1/obs", 3), "demo_1: no group 'obs'"),
        (put("demo_1/actions", 3.0), "demo_1: no dataset 'actions'"),
        (put("demo_1/actions", np.zeros((9, 6))), r"demo_1: actions has rows of shape \(6,\), expected \(7,\)"),
        (put("demo_1/actions", np.zeros((9, 7, 1))), r"actions has rows of shape \(7, 1\)"),
        (put("demo_1/actions", np.full((9, 7), np.nan)), "demo_1: actions holds NaN"),
        (put("demo_1/actions", np.full((9, 7), b"x")), "demo_1: actions has type"),
        (put("demo_1/states", np.full((2, 16), np.inf)), r"states has 2 rows, actions has \d+$"),
        (put("demo_1/observations/cup_1_pos", np.zeros((2, 3))), r"cup_1_pos has 2 rows, actions has \d+; expected"),
        (put("demo_1/observations", 1), "demo_1: observations is no group of datasets"),
        (put("demo_1/observations/cup_1_pos", 1), "demo_1: no dataset 'cup_1_pos' in observations"),
        (put("demo_1/rewards", np.zeros(3, "M8[s]").astype("V8")), "rewards has type"),
        (put("demo_1", np.zeros(3)), "no demonstration 'demo_1'"),
        (attribute("model_file", 3), "demo_1: no attribute 'model_file' that is text"),
        (attribute("init_state", "text"), "attribute 'init_state' holds NaN, an infinity or no numbers"),
        (attribute("init_state", np.nan), "attribute 'init_state' holds NaN"),
        (attribute("init_state", np.zeros((2, 2))), "attribute 'init_state' holds NaN, an infinity or no numbers"),
        (lambda data: data.attrs.pop("problem_info"), "no attribute 'problem_info' that is text"),
        (lambda data: data.attrs.update({"problem_info": "{"}), "no readable problem_info with language_instruction"),
        (lambda data: data.attrs.update({"problem_info": "[" * 99_999}), "no readable problem_info"),
        (lambda data: data.attrs.update({"problem_info": "{}"}), "no readable problem_info with language_instruction"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(spoiled, change, message):
    path = spoiled(change)
    with pytest.raises(InvalidDemonstration, match=message) as caught:
        everything(path)
    assert str(path) in str(caught.value)


def test_a_claim_of_endless_rows_is_no_reason_to_fill_the_memory(spoiled):
    def change(data):
        del data["demo_1/actions"]
        data["demo_1"].create_dataset("actions", (10**12, 7), "f8", chunks=(1000, 7))

    with pytest.raises(InvalidDemonstration, match="claims 1000000000000 rows"):
        everything(spoiled(change))


def test_links_to_other_files_are_not_followed(spoiled, sound):
    def linked(data):
        del data["demo_1/actions"]
        data["demo_1/actions"] = h5py.ExternalLink(str(sound), "/data/demo_1/actions")

    def soft(data):
        del data["demo_1/actions"]
        data["demo_1/actions"] = h5py.SoftLink("/data/demo_1/actions")

    def outside(data):
        del data["demo_1/actions"]
        data["demo_1"].create_dataset("actions", (9, 7), "f8", external=[("/etc/passwd", 0, 504)])

    def virtual(data):
        del data["demo_1/actions"]
        layout = h5py.VirtualLayout((9, 7), "f8")
        layout[:] = h5py.VirtualSource(str(sound), "/data/demo_1/obs/ee_states", (9, 7))
        data["demo_1"].create_virtual_dataset("actions", layout)

    def group(data):
        del data["demo_1"]
        data["demo_1"] = h5py.ExternalLink(str(sound), "/data/demo_1")

    for change in (linked, soft):
        with pytest.raises(InvalidDemonstration, match="no dataset 'actions'"):
            everything(spoiled(change))
    for change in (outside, virtual):
        with pytest.raises(InvalidDemonstration, match="keeps its rows in other files"):
            everything(spoiled(change))
    with pytest.raises(InvalidDemonstration, match="no demonstration 'demo_1'"):
        everything(spoiled(group))


def test_files_that_are_none_are_refused(tmp_path):
    with pytest.raises(InvalidDemonstration, match="no such file"):
        everything(tmp_path / "none.hdf5")
    with pytest.raises(InvalidDemonstration, match="is a folder; name the files in it"):
        everything(tmp_path)
    (tmp_path / "text.hdf5").write_text("hello")
    (tmp_path / "empty.hdf5").write_bytes(b"")
    for name in ("text", "empty"):
        with pytest.raises(InvalidDemonstration, match="no readable HDF5 file"):
            everything(tmp_path / f"{name}.hdf5")
    for content in ({}, {"data": 3}, {"other": None}):
        path = tmp_path / "foreign.hdf5"
        with h5py.File(path, "w") as file:
            for name, value in content.items():
                file.create_group(name) if value is None else file.create_dataset(name, data=value)
        with pytest.raises(InvalidDemonstration, match="no group 'data'; this is no LIBERO demonstration file"):
            everything(path)


def test_half_written_files_are_refused_wherever_they_end(sound, tmp_path):
    content, path = sound.read_bytes(), tmp_path / "half.hdf5"
    for end in range(0, len(content), len(content) // 40):
        path.write_bytes(content[:end])
        with pytest.raises(InvalidDemonstration, match="no readable HDF5 file"):
            everything(path)


def test_damaged_bytes_never_are_another_error(tmp_path):
    # Small and compressed, so that damage hits what HDF5 must decode.
    content = make(fake_arm.order(tmp_path, per_task=1, pictures=True))[0].path.read_bytes()
    numbers, path, refused = random.Random(3), tmp_path / "damaged.hdf5", []
    for _ in range(80):
        damaged = bytearray(content)
        for _ in range(20):
            damaged[numbers.randrange(len(damaged))] = numbers.randrange(256)
        path.write_bytes(damaged)
        try:
            everything(path)
        except InvalidDemonstration as error:
            refused.append(str(error))
    assert len(refused) > 20
    assert all(str(path) in message for message in refused)


def test_the_task_is_found_by_its_text_or_by_its_name(spoiled, arm):
    def said(text):
        return lambda data: data.attrs.update({"problem_info": f'{{"language_instruction": {text}}}'})

    with opened(spoiled(said('["\\"Put the cup ", "on the shelf\\""]'))) as file:
        assert file.instruction == "Put the cup on the shelf"
        assert file.task(arm).id == file.task(arm, "Mini-T0").id == "Mini-T0"
        with pytest.raises(InvalidDemonstration, match="demonstrates 'Put the cup on the shelf', not Mini-T1"):
            file.task(arm, "Mini-T1")
        with pytest.raises(UnknownName, match="No task 'Mini-T9'"):
            file.task(arm, "Mini-T9")
    with (
        opened(spoiled(said('"sing"'))) as file,
        pytest.raises(InvalidDemonstration, match="'sing' is that of no task; name the task"),
    ):
        file.task(arm)


def test_demonstrations_come_by_number_not_by_text(spoiled):
    def more(data):
        data.copy("demo_0", "demo_10")
        data.copy("demo_0", "demo_x")

    with opened(spoiled(more)) as file:
        assert file.names == ("demo_0", "demo_x", "demo_1", "demo_2", "demo_3", "demo_10")
        with pytest.raises(InvalidDemonstration, match=r"no demonstration 'demo_7'; it has .* \(6 in all\)"):
            file.demonstration("demo_7")


def test_of_tasks_with_one_text_the_file_that_says_its_own_is_of_that(sound, spoiled, arm):
    task = arm.task("Mini-T0")
    twins = dataclasses.replace(arm, tasks={**arm.tasks, "Mini-T9": dataclasses.replace(task, id="Mini-T9")})
    with opened(sound) as file:
        assert file.task(twins) == task
        assert file.task(twins, "Mini-T9").id == "Mini-T9"
    with (
        opened(spoiled(lambda data: data.attrs.pop("task"))) as file,
        pytest.raises(InvalidDemonstration, match="is that of Mini-T0, Mini-T9; name the task"),
    ):
        file.task(twins)

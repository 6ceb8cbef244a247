"""Windows of demonstration files: against a naive reader, in order, from any number of processes, and damaged."""

import os
import pickle
import signal

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from gym_grounding_policies.data.batch import Batch
from gym_grounding_policies.data.files import OpenFiles
from gym_grounding_policies.data.inputs import PictureInputs
from gym_grounding_policies.data.language import words_of
from gym_grounding_policies.data.loader import batches, order
from gym_grounding_policies.data.tokens import StateInputs, fitted
from gym_grounding_policies.data.windows import Joined, Settings, TaskFile, Windows, observed, task_files
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gym_grounding.errors import InvalidDemonstration, InvalidOption, WorkerDied
from policies import small_files

WORDS = words_of("hashing")
STATE = Settings(history=4, chunk=3, padding="masked", pairing="before")
TASK = small_files.task()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A file with everything but pictures, and what is in it."""
    path = tmp_path_factory.mktemp("made") / "mini" / f"{TASK.name}_demo.hdf5"
    return path, small_files.write(path, TASK)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A file as LIBERO writes it, with pictures of 8 pixels."""
    path = tmp_path_factory.mktemp("drawn") / "a.hdf5"
    return path, small_files.write(path, TASK, side=8, added=False, clean=False)


def windows(path, settings=STATE, inputs=None, **changes):
    return Windows([TaskFile(path, TASK, changes.get("number", 0))], inputs or StateInputs(), WORDS, settings)


def naive(truth, inputs, settings):
    """(observations, actions, weight) of every window, by the simplest means."""
    for seen, executed, wanted in truth:
        actions = wanted if settings.clean else executed
        length = len(actions)
        shift = 1 if settings.pairing == "libero" else 0
        rows = inputs({key: rows[shift : shift + length] for key, rows in seen.items()})
        for start in range(0, length, settings.stride):
            frames = [min(start + step, length - 1) for step in range(settings.history)]
            chunks = [
                [min(start + step + ahead, length - 1) for ahead in range(settings.chunk)]
                for step in range(settings.history)
            ]
            weight = [
                [
                    float(settings.padding == "counts" or start + step + ahead < length)
                    for ahead in range(settings.chunk)
                ]
                for step in range(settings.history)
            ]
            yield {name: part[frames] for name, part in rows.items()}, actions[chunks].astype(np.float32), weight


@given(
    history=st.integers(1, 12),
    chunk=st.integers(1, 6),
    stride=st.integers(1, 5),
    padding=st.sampled_from(("counts", "masked")),
    pairing=st.sampled_from(("libero", "before")),
    clean=st.booleans(),
    memory=st.sampled_from((0, 5_000, 2**20)),
)
@hypothesis_settings(max_examples=25, deadline=None, derandomize=True)
def test_every_window_is_that_of_a_naive_reader(made, **choice):
    path, truth = made
    settings = Settings(**choice)
    found, expected = windows(path, settings), list(naive(truth, StateInputs(), settings))
    assert len(found) == len(expected)
    batch = found.batch(range(len(found)))
    for number, (rows, actions, weight) in enumerate(expected):
        for name, part in rows.items():
            assert np.array_equal(batch.observations[name][number], part), name
        assert np.array_equal(batch.actions[number], actions)
        assert np.array_equal(batch.weight[number], weight)
    assert batch.tasks.tolist() == [0] * len(expected)


def test_every_start_is_there_once_and_in_order(made):
    found = windows(made[0], Settings(pairing="before"))
    assert found.places.tolist() == [[demo, start] for demo, length in enumerate((5, 9, 1)) for start in range(length)]


@pytest.mark.parametrize("memory", [0, 2_000, 2**20])
def test_pictures_are_liberos_row_by_row_and_channels_come_first(drawn, memory):
    path, truth = drawn
    settings = Settings(memory=memory)
    found = windows(path, settings, PictureInputs())
    batch = found.batch([0, 3, 14, 3])
    expected = list(naive(truth, PictureInputs(), settings))
    for row, number in enumerate((0, 3, 14, 3)):
        for name, part in expected[number][0].items():
            # an axis-angle is not needed here, so every input is exact
            assert np.array_equal(batch.observations[name][row], part), name
    assert batch.observations["agentview"].shape == (4, 10, 3, 8, 8)
    assert batch.observations["agentview"].dtype == torch.uint8
    assert batch.weight.min() == 1


def test_before_an_action_is_the_row_before_it_in_liberos_columns(drawn):
    path, truth = drawn
    batch = windows(path, Settings(history=2, pairing="before"), PictureInputs()).batch([0, 4])
    seen, executed, _ = truth[0]
    assert np.array_equal(batch.observations["joint"][0], np.float32(seen["robot0_joint_pos"][1:3]))
    assert np.array_equal(batch.actions[0, :, 0], np.float32(executed[1:3]))
    # the first demonstration has four such pairs, so window 4 begins the second
    assert np.array_equal(batch.actions[1, 0, 0], np.float32(truth[1][1][1]))


def test_public_files_serve_proprioception_but_no_objects(drawn):
    path, truth = drawn
    batch = windows(path, Settings(history=1), StateInputs("none")).batch([2])
    assert batch.observations.keys() == {"proprio"}
    expected = StateInputs("none")({key: rows[3:4] for key, rows in truth[0][0].items()})["proprio"]
    assert np.allclose(batch.observations["proprio"][0], expected, atol=1e-6)
    with pytest.raises(InvalidDemonstration, match=r"demo_0: the observation holds no objects.*objects='none'"):
        windows(path)


def test_the_first_demonstrations_are_the_ones_that_are_read(made):
    few = windows(made[0], Settings(demonstrations=2))
    assert np.array_equal(few.batch(range(len(few))).actions, windows(made[0], Settings()).batch(range(14)).actions)
    with pytest.raises(InvalidDemonstration, match="holds 3 demonstrations, 4 were asked for"):
        windows(made[0], Settings(demonstrations=4))


def same(one, other):
    parts = [(one.actions, other.actions), (one.weight, other.weight), (one.tasks, other.tasks)]
    parts += [(part, other.observations[name]) for name, part in one.observations.items()]
    parts += [(part, other.words[name]) for name, part in one.words.items()]
    return all(torch.equal(left, right) for left, right in parts)


def test_the_order_is_the_generators_whatever_the_number_of_workers(made):
    found = windows(made[0])
    before = torch.random.get_rng_state()
    passes = [list(batches(found, 4, np.random.default_rng(3), workers=workers)) for workers in (0, 1, 2)]
    assert torch.equal(before, torch.random.get_rng_state())
    assert [len(batch) for batch in passes[0]] == [4, 4, 4, 3]
    for other in passes[1:]:
        assert all(same(one, two) for one, two in zip(passes[0], other, strict=True))
    assert not same(passes[0][0], next(batches(found, 4, np.random.default_rng(4))))
    later = list(batches(found, 4, np.random.default_rng(3), skip=2))
    assert len(later) == 2
    assert same(later[0], passes[0][2])


def test_a_pass_has_every_window_once_and_draws_at_once():
    generator = np.random.default_rng(0)
    assert sorted(np.concatenate(order(17, 5, generator)).tolist()) == list(range(17))
    assert np.concatenate(order(7, 3)).tolist() == list(range(7))
    first, second = np.random.default_rng(0), np.random.default_rng(0)
    batches(range(17), 5, first)
    second.permutation(17)
    assert first.bit_generator.state == second.bit_generator.state


def test_workers_open_the_files_anew(drawn, monkeypatch):
    found = windows(drawn[0], Settings(memory=0), PictureInputs())
    found.batch([0])  # files are open here now
    here = [batch.observations["agentview"] for batch in batches(found, 5)]
    there = [batch.observations["agentview"] for batch in batches(found, 5, workers=2)]
    assert all(torch.equal(one, two) for one, two in zip(here, there, strict=True))
    opened = OpenFiles(os.path.basename)
    monkeypatch.setattr("gym_grounding_policies.data.files.os.getpid", lambda: -1)
    assert not pickle.loads(pickle.dumps(opened))._open  # noqa: S301 - our own


def test_few_files_are_open_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("gym_grounding_policies.data.files.MOST", 2)
    tasks = [small_files.task(f"do_thing_{index}", index) for index in range(4)]
    for one in task_files(tmp_path, tasks):
        small_files.write(one.path, one.task, lengths=(2,), seed=one.number)
    found = Windows(task_files(tmp_path, tasks), StateInputs(), WORDS, Settings(memory=0))
    batch = found.batch([0, 2, 4, 6, 1])
    assert len(found._store._open._open) == 2
    assert batch.tasks.tolist() == [0, 1, 2, 3, 0]
    assert torch.equal(batch.words["sentence"], WORDS([tasks[n].instruction for n in (0, 1, 2, 3, 0)])["sentence"])


def test_parts_and_joins_are_the_same_windows(tmp_path, made):
    other_task = small_files.task("open_it", 1)
    small_files.write(tmp_path / "b.hdf5", other_task, (3,), seed=9, things={"cup_1": 0})
    other = Windows([TaskFile(tmp_path / "b.hdf5", other_task, 1)], StateInputs(), WORDS, STATE)
    first = windows(made[0])
    some = first.subset([4, 2, 11])
    assert same(some.batch([2, 0]), first.batch([11, 4]))
    both = Joined([some, other])
    assert len(both) == 6
    assert both.tasks.tolist() == [0, 0, 0, 1, 1, 1]
    batch = both.batch([5, 0, 3, 2])
    assert batch.tasks.tolist() == [1, 0, 1, 0]
    # the other scene has one thing, this one three
    assert batch.observations["present"].sum(2)[:, 0].tolist() == [1, 3, 1, 3]
    assert batch.observations["tokens"][0, :, 1:].abs().max() == 0
    assert torch.equal(batch.actions[0], other.batch([2]).actions[0])
    assert torch.equal(batch.observations["tokens"][3], first.batch([11]).observations["tokens"][0])


def test_batches_join_only_what_fits(made):
    batch = windows(made[0]).batch([0, 1])
    assert len(batch.joined(batch)) == 4
    assert same(batch.to("cpu"), batch)
    other = windows(made[0], Settings(history=2, chunk=3)).batch([0])
    with pytest.raises(InvalidOption, match="several shapes"):
        batch.joined(other)
    with pytest.raises(InvalidOption, match="different inputs"):
        batch.joined(windows(made[0], STATE, StateInputs("none")).batch([0]))
    with pytest.raises(InvalidOption, match="different numbers of windows"):
        Batch(batch.observations, batch.words, batch.actions, batch.weight, batch.tasks[:1])
    with pytest.raises(InvalidOption, match="asked for windows"):
        windows(made[0]).batch([15])


def gone(key):
    def change(data):
        del data[f"demo_1/{key}"]

    return change


def put(key, change_rows):
    def change(data):
        rows = data[f"demo_1/{key}"][()]
        del data[f"demo_1/{key}"]
        data[f"demo_1/{key}"] = change_rows(rows)

    return change


def without(thing):
    """A demonstration whose scene lacks something."""

    def change(data):
        group = data["demo_1/observations"]
        for key in [key for key in group if key.startswith(thing)]:
            del group[key]

    return change


def with_nan(rows):
    rows[1] = np.nan
    return rows


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (gone("actions"), "demo_1: no dataset 'actions'"),
        (gone("observations/bowl_1_quat"), "demo_1: no bowl_1_quat"),
        (gone("observations"), "demo_1: the observation holds no objects"),
        (put("clean_actions", with_nan), "demo_1: clean_actions holds NaN"),
        (put("observations/plate_1_pos", with_nan), "demo_1: observations/plate_1_pos holds NaN"),
        (put("observations/plate_1_pos", lambda rows: rows[:-1]), "observations/plate_1_pos has 9 rows"),
        (
            put("observations/plate_1_pos", lambda rows: rows[:, :2]),
            r"demo_1: observations/plate_1_pos has rows of shape \(2,\), expected \(3,\)",
        ),
        (
            put("observations/robot0_joint_pos", lambda rows: rows[:, :6]),
            r"observations/robot0_joint_pos has rows of shape \(6,\), expected \(7,\)",
        ),
        (
            put("observations/bowl_1_quat", lambda rows: rows[:, 0]),
            r"bowl_1_quat has rows of shape \(\), expected \(4,\)",
        ),
        (put("observations/wooden_cabinet_1_joint_pos", lambda rows: rows.repeat(2, 1)), "has 6 joints; a token has"),
        (put("actions", lambda rows: rows[:, :6]), r"demo_1: actions has rows of shape \(6,\)"),
        (put("actions", lambda rows: np.where(rows == rows[2, 3], np.nan, rows)), "demo_1: actions holds NaN"),
        (put("actions", lambda rows: rows * 1.1 / np.abs(rows).max()), r"actions holds -?1\.1, which is over 1\.001"),
        (put("clean_actions", lambda rows: rows * -1e9), r"demo_1: clean_actions holds -?\d\.\d+e\+08, which is over"),
        (put("observations/bowl_1_pos", lambda rows: rows * 0 + 1e10), r"observations/bowl_1_pos holds 1e\+10, which"),
        (put("observations/bowl_1_quat", lambda rows: rows * 2), "observations/bowl_1_quat holds"),
        (
            put("observations/robot0_joint_pos", lambda rows: rows * 0 - 21),
            "robot0_joint_pos holds -21, which is over 20",
        ),
        (without("bowl_1"), "demo_1: observations/bowl_1_pos is missing, which .*demo_0 has"),
        (without("wooden_cabinet_1_joint"), "demo_1: observations/wooden_cabinet_1_joint_pos is missing, which"),
    ],
)
def test_damage_is_found_when_the_windows_are_made(tmp_path, change, message):
    path = tmp_path / "a.hdf5"
    small_files.write(path, TASK)
    small_files.spoil(path, change)
    with pytest.raises(InvalidDemonstration, match=message) as caught:
        windows(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        (
            "observations/plate_1_pos",
            lambda rows: np.hstack([rows, rows])[:, :4],
            r"plate_1_pos has rows of shape \(4,\)",
        ),
        ("observations/robot0_gripper_qpos", lambda rows: rows[:, :1], r"robot0_gripper_qpos has rows of shape \(1,\)"),
        ("observations/robot0_joint_pos", lambda rows: rows[:, 0], r"robot0_joint_pos has rows of shape \(\)"),
        ("clean_actions", lambda rows: rows * np.nan, "clean_actions holds NaN"),
        ("actions", lambda rows: rows * np.nan, "demo_1: actions holds NaN"),
    ],
)
def test_damage_is_found_before_anything_is_fitted(tmp_path, name, change, message):
    path = tmp_path / "a.hdf5"
    small_files.write(path, TASK)
    small_files.spoil(path, put(name, change))
    with pytest.raises(InvalidDemonstration, match=message) as caught:
        fitted(observed([TaskFile(path, TASK, 0)], StateInputs(), STATE))
    assert f"{path}: demo_1: {name}" in str(caught.value)


def test_liberos_columns_have_bounds_too(tmp_path):
    path = tmp_path / "a.hdf5"
    small_files.write(path, TASK, added=False, clean=False)
    small_files.spoil(path, put("obs/ee_pos", lambda rows: rows + 1e3))
    with pytest.raises(InvalidDemonstration, match=r"a\.hdf5: demo_1: obs/ee_pos holds"):
        windows(path, Settings(), StateInputs("none"))


def test_parked_objects_and_rounded_actions_are_sound(tmp_path):
    path = tmp_path / "a.hdf5"
    small_files.write(path, TASK)
    small_files.spoil(path, put("actions", lambda rows: np.sign(rows) * 1.0005))
    small_files.spoil(path, put("observations/bowl_1_pos", lambda rows: rows * 0 + 10))
    assert len(windows(path)) == 15


def test_another_task_an_empty_file_half_a_file_and_none_are_refused(tmp_path):
    path = tmp_path / "a.hdf5"
    small_files.write(path, TASK)
    with pytest.raises(InvalidDemonstration, match="not Mini-T1"):
        Windows([TaskFile(path, small_files.task("open_it", 1), 0)], StateInputs(), WORDS, STATE)
    with pytest.raises(InvalidDemonstration, match="no such file"):
        windows(tmp_path / "b.hdf5")
    (tmp_path / "half.hdf5").write_bytes(path.read_bytes()[:3000])
    with pytest.raises(InvalidDemonstration, match="no readable HDF5"):
        windows(tmp_path / "half.hdf5")
    (tmp_path / "empty.hdf5").write_bytes(b"")
    with pytest.raises(InvalidDemonstration, match="no readable HDF5"):
        windows(tmp_path / "empty.hdf5")
    small_files.spoil(path, lambda data: [data.__delitem__(name) for name in list(data)])
    with pytest.raises(InvalidDemonstration, match="holds 0 demonstrations"):
        windows(path)
    with pytest.raises(InvalidOption, match="no demonstration files"):
        Windows([], StateInputs(), WORDS, STATE)


def test_pictures_of_another_size_and_damaged_ones_name_the_demonstration(tmp_path):
    path = tmp_path / "a.hdf5"
    small_files.write(path, TASK, (6, 6), side=8, added=False)
    good = path.read_bytes()
    small_files.spoil(path, put("obs/agentview_rgb", lambda rows: rows[:, :4]))
    with pytest.raises(InvalidDemonstration, match=r"demo_1: obs/agentview_rgb has pictures of \(4, 8, 3\)"):
        windows(path, Settings(), PictureInputs())
    path.write_bytes(good)
    found = windows(path, Settings(memory=0), PictureInputs())
    data = bytearray(good)
    start = good.rindex(b"\x78\x5e") if b"\x78\x5e" in good else len(good) // 2
    data[start : start + 40] = bytes(40)
    path.write_bytes(data)
    for workers in (0, 1):
        with pytest.raises(InvalidDemonstration, match=r"a\.hdf5: demo_\d: obs/\w+ cannot be read"):
            list(batches(found, 3, workers=workers))


class Deadly:
    """Windows whose reader dies."""

    def __len__(self):
        return 3

    def batch(self, indexes):
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_worker_is_said_so():
    with pytest.raises(WorkerDied, match="use fewer workers"):
        list(batches(Deadly(), 1, workers=1))


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"history": 0}, "history is 0"),
        ({"stride": -1}, "stride is -1"),
        ({"demonstrations": 0}, "demonstrations is 0"),
        ({"padding": "none"}, "choose counts or masked"),
        ({"pairing": "after"}, "choose libero or before"),
        ({"memory": -1}, "memory is -1"),
    ],
)
def test_settings_outside_their_domain_are_refused(choice, message):
    with pytest.raises(InvalidOption, match=message):
        Settings(**choice)


def test_what_is_observed_is_what_the_windows_hold(made):
    path, truth = made
    rows = list(observed([TaskFile(path, TASK, 0)], StateInputs(), STATE))
    assert [len(one["robot0_eef_pos"]) for one in rows] == [5, 9, 1]
    assert np.array_equal(rows[1]["bowl_1_pos"], truth[1][0]["bowl_1_pos"][:9])
    assert "robot0_joint_vel" not in rows[0]

"""Checkpoints: the same again, the old or the new one whatever happens, and clear words about what is none."""

import json
import os
import pickle

import pytest

pytest.importorskip("torch")

import torch
from gym_grounding_policies.training import checkpoint as module
from gym_grounding_policies.training.checkpoint import FILE, Checkpoint, describe, exists, read, write
from policies.training import little

from gym_grounding.errors import CorruptRun, UnwritableOutput, WrongVersion


def found(seed=0, going_on=True):
    draw = torch.Generator().manual_seed(seed)
    learner = {"a": torch.randn(3, 4, generator=draw), "n": torch.tensor(5), "on": torch.tensor([True, False])}
    more = ({"place": {"task": seed}, "big": 2**100}, {"stream": draw.get_state()}) if going_on else ({}, {})
    return Checkpoint({"method": "er", "seed": seed}, {"begun": 1}, learner, *more)


def same(one, other):
    return (
        little.equal(one.learner, other.learner)
        and little.equal(one.training, other.training)
        and (one.about, one.structure, one.going_on) == (other.about, other.structure, other.going_on)
    )


def test_what_is_read_is_what_was_written(tmp_path):
    write(tmp_path / "deep" / "one", found())
    assert exists(tmp_path / "deep" / "one")
    assert not exists(tmp_path / "deep")
    assert same(read(tmp_path / "deep" / "one", training=True), found())
    alone = read(tmp_path / "deep" / "one")
    assert alone.training == {}
    assert little.equal(alone.learner, found().learner)


def test_tensors_that_share_memory_are_kept_apart(tmp_path):
    one = torch.arange(6.0).reshape(2, 3)
    write(tmp_path, Checkpoint({}, {}, {"whole": one, "part": one[:, 1], "turned": one.t(), "again": one}))
    again = read(tmp_path).learner
    assert torch.equal(again["part"], one[:, 1])
    assert torch.equal(again["turned"], one.t())
    assert torch.equal(again["again"], one)


def test_only_safetensors_and_json_are_written_and_nothing_is_unpickled(tmp_path, monkeypatch):
    def never(*_, **__):
        raise AssertionError("pickle")

    monkeypatch.setattr(torch, "load", never)
    monkeypatch.setattr(torch, "save", never)
    monkeypatch.setattr(pickle, "loads", never)
    monkeypatch.setattr(pickle, "load", never)
    write(tmp_path, found())
    assert same(read(tmp_path, training=True), found())
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".json", ".safetensors", ".safetensors"]
    assert json.loads((tmp_path / FILE).read_text())["about"] == {"method": "er", "seed": 0}


def test_a_new_one_takes_the_old_ones_place_and_leaves_other_files_alone(tmp_path):
    write(tmp_path, found())
    (tmp_path / "mine.safetensors").write_bytes(b"x")
    write(tmp_path, found(1))
    assert same(read(tmp_path, training=True), found(1))
    assert len(list(tmp_path.iterdir())) == 4
    write(tmp_path, found(1, going_on=False))
    assert len(list(tmp_path.iterdir())) == 3


@pytest.mark.parametrize("fails", [0, 1, 2])
def test_a_disk_that_fills_up_leaves_the_old_one_whole(tmp_path, monkeypatch, fails):
    write(tmp_path, found())
    count, real = [], os.replace

    def full(source, target):
        count.append(target)
        if len(count) > fails:
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UnwritableOutput, match="No space left on device"):
        write(tmp_path, found(1))
    monkeypatch.undo()
    assert same(read(tmp_path, training=True), found())
    write(tmp_path, found(2))
    assert same(read(tmp_path, training=True), found(2))
    assert len(list(tmp_path.iterdir())) == 3


def test_the_json_comes_last_and_everything_is_on_disk_before_it(tmp_path, monkeypatch):
    events, real_write, real_sync = [], module.write_bytes, module._sync
    monkeypatch.setattr(
        module, "write_bytes", lambda path, content: (events.append(path.name), real_write(path, content))
    )
    monkeypatch.setattr(module, "_sync", lambda folder: (events.append("sync"), real_sync(folder)))
    write(tmp_path, found())
    assert [event.partition("-")[0] for event in events] == ["learner", "training", "sync", FILE, "sync"]


def damaged(path, change):
    raw = bytearray(path.read_bytes())
    change(raw)
    path.write_bytes(bytes(raw))


@pytest.mark.parametrize(
    "change",
    [lambda raw: raw.__setitem__(-1, raw[-1] ^ 1), lambda raw: raw.__delitem__(slice(20, None)), bytearray.clear],
)
@pytest.mark.parametrize("part", ["learner", "training"])
def test_a_damaged_file_is_named(tmp_path, change, part):
    write(tmp_path, found())
    (path,) = tmp_path.glob(f"{part}-*")
    damaged(path, change)
    with pytest.raises(CorruptRun, match=f"{path.name}: is damaged"):
        read(tmp_path, training=True)
    # A damaged file is written anew, although its name says that it is there.
    write(tmp_path, found())
    assert same(read(tmp_path, training=True), found())
    path.unlink()
    with pytest.raises(CorruptRun, match=f"{path.name}: cannot be read"):
        read(tmp_path, training=True)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("{", CorruptRun, "cannot be read"),
        ("[" * 100_000, CorruptRun, "cannot be read"),
        ("[]", CorruptRun, "is no checkpoint"),
        ('{"format": "other"}', CorruptRun, "is no checkpoint"),
        (
            '{"format": "gym-grounding-policies checkpoint", "version": 1}',
            WrongVersion,
            "version 1, this program reads",
        ),
        ('{"format": "gym-grounding-policies checkpoint", "version": 2}', CorruptRun, "is damaged"),
        ('{"format": "gym-grounding-policies checkpoint", "version": 2, "files": 3}', CorruptRun, "is damaged"),
    ],
)
def test_a_foreign_json_is_refused(tmp_path, text, error, message):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(error, match=message):
        read(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text["about"].update(seed=1),
        lambda text: text["going_on"]["place"].update(task=-1),
        lambda text: text["structure"].update(more=None),
        lambda text: text.pop("going_on"),
        lambda text: text.pop("sha256"),
        lambda text: text.update(sha256="0" * 64),
    ],
)
def test_any_edit_is_found(tmp_path, change):
    write(tmp_path, found())
    path = tmp_path / FILE
    text = json.loads(path.read_text())
    path.write_text(json.dumps(text))
    assert same(read(tmp_path, training=True), found())  # spaces do not count
    change(text)
    path.write_text(json.dumps(text))
    with pytest.raises(CorruptRun, match=f"{FILE}: is damaged or was edited .*; take another checkpoint"):
        describe(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.update(about=[]), "about is no mapping"),
        (lambda text: text.update(structure=3), "structure is no mapping"),
        (lambda text: text.pop("going_on"), "going_on is no mapping"),
        (lambda text: text.pop("files"), "files is no mapping"),
        (lambda text: text["files"].pop("learner"), "files.learner has no name and sha256"),
        (lambda text: text["files"].update(training=["x"]), "files.training has no name and sha256"),
        (lambda text: text["files"]["learner"].update(sha256=3), "files.learner has no name and sha256"),
    ],
)
def test_parts_that_are_something_else_are_named(tmp_path, change, message):
    write(tmp_path, found())
    little.edit(tmp_path, change)
    with pytest.raises(CorruptRun, match=rf"{FILE}: is damaged \({message}\)"):
        describe(tmp_path)


def test_a_hash_bears_whatever_json_bears(tmp_path):
    odd = Checkpoint({"é": (1, 2.5e-300, None)}, {10: "a", 9: "b", "x": [True]}, found().learner)
    write(tmp_path, odd)
    assert read(tmp_path).about == {"é": [1, 2.5e-300, None]}


def test_in_a_run_the_remedy_is_to_train_again(tmp_path):
    for folder in (tmp_path / "run" / "now", tmp_path / "run" / "stage-00", tmp_path / "run"):
        write(folder, found())
    for folder in (tmp_path / "run" / "stage-00", tmp_path / "run", tmp_path / "run" / "now"):
        (path,) = folder.glob("learner-*")
        path.unlink()
        with pytest.raises(CorruptRun, match=f"cannot be read.*; remove {tmp_path}/run/now, and the command that made"):
            read(folder)


def test_no_checkpoint_is_said(tmp_path):
    with pytest.raises(CorruptRun, match="holds no checkpoint"):
        describe(tmp_path)
    write(tmp_path, found(going_on=False))
    with pytest.raises(CorruptRun, match="weights alone"):
        read(tmp_path, training=True)


def test_a_path_in_the_json_leads_nowhere_else(tmp_path):
    write(tmp_path / "one", found())
    (other,) = (tmp_path / "one").glob("learner-*")
    other.rename(tmp_path / "outside.safetensors")
    little.edit(tmp_path / "one", lambda text: text["files"]["learner"].update(name="../outside.safetensors"))
    with pytest.raises(CorruptRun, match="cannot be read"):
        read(tmp_path / "one")

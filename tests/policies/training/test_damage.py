"""Runs whose files were damaged, edited or removed: one message with the place and the remedy, and the remedy helps."""

import dataclasses
import json
import shutil

import pytest
from click.testing import CliRunner

pytest.importorskip("torch")

from gym_grounding_policies.commands import main
from gym_grounding_policies.training import log, plan
from gym_grounding_policies.training.checkpoint import FILE, read
from gym_grounding_policies.training.stages import pretrain
from policies.training import little, little_arm
from policies.training.test_stages import HOW, After, asking, records, run, tensors

from gym_grounding.errors import CorruptRun, PlanMismatch

REMEDY = "remove {out}/now, and the command that made it trains again from the beginning; records of evaluations stay"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A registry and demonstrations of three tasks."""
    return little_arm.world(tmp_path_factory.mktemp("world"))


@pytest.fixture
def asked(world):
    return asking(world)


def stopped_in(folder, asked, count):
    with pytest.raises(KeyboardInterrupt):
        run(asked, folder, stop=After(count))
    return folder


@pytest.fixture(scope="module")
def stopped(world, tmp_path_factory):
    """A run without evaluations that was stopped in the second task."""
    out = stopped_in(tmp_path_factory.mktemp("stopped") / "run", unevaluated(asking(world)), 24)
    assert json.loads((out / "now" / FILE).read_text())["going_on"]["loop"]["place"]["task"] == 1
    return out


@pytest.fixture
def copied(stopped, tmp_path):
    return shutil.copytree(stopped, tmp_path / "run")


@pytest.fixture(scope="module")
def first(world, tmp_path_factory):
    """A checkpoint of pretraining."""
    out = tmp_path_factory.mktemp("first") / "first"
    joint = dataclasses.replace(asking(world), method="seqft", tasks=("Mini-T0", "Mini-T2"), suite="", init_states=())
    pretrain(plan.planned(joint), joint.demonstrations, out, HOW)
    return out


def unevaluated(asked):
    return dataclasses.replace(asked, init_states=())


def loop(**values):
    return lambda text: text["going_on"]["loop"].update(values)


def at(**values):
    return lambda text: text["going_on"]["loop"]["place"].update(values)


def lacking(*path):
    def change(text):
        for part in path[:-1]:
            text = text[part]
        del text[path[-1]]

    return change


EDITS = {
    "no loop": lacking("going_on", "loop"),
    "no place": lacking("going_on", "loop", "place"),
    "no order": lacking("going_on", "loop", "order"),
    "no scaler": lacking("going_on", "loop", "scaler"),
    "no points": lacking("going_on", "points"),
    "no log": lacking("going_on", "log"),
    "no curves": lacking("going_on", "curves"),
    "no senses": lacking("about", "senses"),
    "no profile": lacking("about", "profile"),
    "no epoch": lacking("going_on", "loop", "place", "epoch"),
    "a list as place": loop(place=[]),
    "a list as loop": lambda text: text["going_on"].update(loop=[]),
    "another order": loop(order={"bit_generator": "MT19937"}),
    "wrong points": lambda text: text["going_on"].update(points=[[1]]),
    "a text as log": lambda text: text["going_on"].update(log="x"),
    "another field": at(more=1),
    "task -1": at(task=-1),
    "task 9": at(task=9),
    "task 1.0": at(task=1.0),
    "phase 9": at(phase=9),
    "phase -1": at(phase=-1),
    "epoch true": at(epoch=True),
    "batch 9999": at(batch=9999),
    "begun x": lambda text: text["structure"].update(begun="x"),
    "negative sizes": lambda text: text["structure"].update(stored=[-1, -1]),
    "sizes of sizes": lambda text: text["structure"].update(stored=[[-1, -1]]),
    "no structure": lambda text: text.update(structure={}),
    "senses of nothing": lambda text: text["about"].update(senses={"inputs": 3}),
    "an odd profile": lambda text: text["about"]["profile"].update(width=-1),
}


@pytest.mark.parametrize("name", EDITS)
@pytest.mark.parametrize("sealed", [False, True])
def test_an_edited_place_is_refused_in_one_message(asked, copied, name, sealed):
    path = copied / "now" / FILE
    text = json.loads(path.read_text())
    EDITS[name](text)
    path.write_text(json.dumps(text))
    if sealed:
        little.edit(copied / "now", lambda text: None)
    before = {path: path.read_bytes() for path in copied.glob("stage-*/*")}
    with pytest.raises(CorruptRun) as caught:
        run(unevaluated(asked), copied)
    if name != "batch 9999" or not sealed:
        assert str(path.parent) in str(caught.value)
        assert REMEDY.format(out=copied) in str(caught.value)
    assert before == {path: path.read_bytes() for path in copied.glob("stage-*/*")}


def test_a_random_stream_that_is_missing_is_refused(asked, copied, monkeypatch):
    real = read

    def without(place, training=False):
        found = real(place, training)
        kept = {name: value for name, value in found.training.items() if name != "stream.learner"}
        return dataclasses.replace(found, training=kept)

    monkeypatch.setattr("gym_grounding_policies.training.stages.read", without)
    with pytest.raises(CorruptRun, match=r"now/checkpoint\.json: says something that cannot be .*stream\.learner"):
        run(unevaluated(asked), copied)


def test_without_a_damaged_now_the_run_is_trained_again_and_records_stay(asked, tmp_path):
    whole, out = tmp_path / "whole", tmp_path / "run"
    run(asked, whole)
    stopped_in(out, asked, 27)
    kept = records(out)
    assert kept
    (path,) = (out / "now").glob("training-*")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(CorruptRun, match="is damaged") as caught:
        run(asked, out)
    assert REMEDY.format(out=out) in str(caught.value)
    shutil.rmtree(out / "now")
    run(asked, out)
    assert records(out)[: len(kept)] == kept
    assert records(out) == records(whole)
    for name in ("stage-00", "stage-01"):
        assert little.equal(tensors(out, name), tensors(whole, name))
    plain = [[line | {"seconds": 0} for line in log.read(folder)] for folder in (out, whole)]
    assert plain[0] == plain[1]


@pytest.mark.parametrize("text", ["[]", "3", "{", "[" * 100_000, b"\xff"])
def test_a_damaged_description_of_a_run_can_be_written_anew(asked, copied, text):
    path = copied / plan.FILE
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(CorruptRun, match=f"{path}: .*; remove it, and the same command writes it anew"):
        run(unevaluated(asked), copied)
    path.unlink()
    with pytest.raises(PlanMismatch, match="seed is 0 there, 1 asked"):
        run(dataclasses.replace(unevaluated(asked), seed=1), copied)
    path.unlink()
    run(unevaluated(asked), copied)


def test_a_log_that_is_gone_begins_where_the_run_goes_on(asked, copied):
    (copied / log.FILE).unlink()
    run(unevaluated(asked), copied)
    lines = log.read(copied)
    assert lines
    assert {line["task"] for line in lines} == {1}


@pytest.mark.parametrize(
    "change",
    [
        lacking("about", "profile"),
        lacking("about", "senses"),
        lacking("files"),
        lacking("about", "kind"),
        lambda text: text.update(about=[]),
        lambda text: text["about"].update(profile={"width": 3}),
    ],
)
@pytest.mark.parametrize("sealed", [False, True])
def test_an_edited_start_is_refused_in_one_message(asked, first, tmp_path, change, sealed):
    start = shutil.copytree(first, tmp_path / "first")
    text = json.loads((start / FILE).read_text())
    change(text)
    (start / FILE).write_text(json.dumps(text))
    if sealed:
        little.edit(start, lambda text: None)
    with pytest.raises(CorruptRun, match=str(start)):
        run(dataclasses.replace(unevaluated(asked), method="seqft", start=start), tmp_path / "run", start=start)


def arguments(world, out, *more):
    return [
        *("train", "--method", "seqft", "--suite", "Mini", "--registry", world / "registry.yaml"),
        *("--demos", world / "demos", "--demonstrations", "2", "--encoder", "hashing", "--net", "width=8"),
        *("--net", "layers=1", "--order", "1,0", "--init-states", "0:1", "--horizon", "4", "--workers", "0"),
        *("--tensorboard", "off", "--quiet", "--out", out, *more),
    ]


def called(arguments):
    return CliRunner().invoke(main, list(map(str, arguments)))


def refused(result, *parts):
    assert result.exit_code == 2, result.output
    assert result.output.count("Error: ") == 1
    assert isinstance(result.exception, SystemExit)
    for part in parts:
        assert part in result.output


def test_a_run_goes_on_without_the_start_that_was_removed(world, tmp_path):
    start, out = tmp_path / "first", tmp_path / "run"
    shared = ["--registry", world / "registry.yaml", "--demos", world / "demos", "--encoder", "hashing"]
    small = [
        "--net",
        "width=8",
        "--net",
        "layers=1",
        "--epochs",
        "1",
        "--demonstrations",
        "2",
        "--tensorboard",
        "off",
        "--quiet",
    ]
    assert called(["pretrain", "--tasks", "Mini:0,2", *shared, *small, "--out", start]).exit_code == 0
    command = arguments(world, out, "--epochs", "1", "--no-evaluation", "--init", start)
    assert called(command).exit_code == 0
    kept = tensors(out, "stage-01")
    shutil.rmtree(start)
    again = called(command)
    assert again.exit_code == 0, again.output
    assert "going on in" in again.output
    assert little.equal(tensors(out, "stage-01"), kept)
    refused(called(arguments(world, out, "--epochs", "1", "--no-evaluation")), "start is")
    shutil.rmtree(out / "now")
    refused(called(command), f"{start}: holds no checkpoint")


def test_edits_are_one_message_on_the_command_line(world, first, tmp_path):
    start = shutil.copytree(first, tmp_path / "first")
    little.edit(start, lambda text: text.update(about=[]))
    refused(called(["show", start]), f"{start / FILE}: is damaged (about is no mapping)")
    command = arguments(world, tmp_path / "run", "--no-evaluation", "--init", start)
    refused(called(command), f"{start / FILE}: is damaged (about is no mapping)")


def test_weights_that_no_network_bears_become_no_stage(world, tmp_path):
    out = tmp_path / "run"
    result = called(arguments(world, out, "--epochs", "1", "--batch-size", "512", "--lr", "1e30"))
    refused(
        result, "seqft, task 0, phase 'learn', epoch 1, step 1: a weight has the magnitude", "smaller learning rate"
    )
    assert not list(out.glob("stage-*"))

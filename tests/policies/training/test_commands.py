"""The command line of the learners, as processes and in this one; a learner of another package; signals."""

import json
import re
import signal
import sys
import textwrap
import time

import pytest
from click.testing import CliRunner

pytest.importorskip("torch")

from gym_grounding_policies import learners
from gym_grounding_policies.commands import main
from gym_grounding_policies.training import log
from gym_grounding_policies.training.checkpoint import FILE, read
from gym_grounding_policies.training.versions import code_of
from policies.training import little, little_arm

from gym_grounding.cli import main as suite
from gym_grounding.errors import UnknownName
from gym_grounding.store import RunStore

PACKAGE = '''
"""A method of somebody else."""

from dataclasses import dataclass

from gym_grounding_policies.learners._base import Learner


@dataclass(frozen=True)
class Settings:
    share: float = 0.5


class Halved(Learner):
    """Takes a share of the loss."""

    name = "halved"
    Settings = Settings

    def loss(self, batch, phase):
        return self.settings.share * self.actor.nll(batch)


LEARNER = Halved
NUMBER = 3
'''


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A registry and demonstrations of three tasks."""
    return little_arm.world(tmp_path_factory.mktemp("world"))


def options(world, out, *more, method="seqft"):
    return [
        *("train", "--method", method, "--suite", "Mini", "--registry", world / "registry.yaml"),
        *("--demos", world / "demos", "--demonstrations", "2", "--encoder", "hashing", "--net", "width=8"),
        *("--net", "layers=1", "--order", "1,0", "--init-states", "0:1", "--horizon", "4", "--workers", "0"),
        *("--tensorboard", "off", "--out", out, *more),
    ]


def called(arguments, command=main):
    return CliRunner().invoke(command, list(map(str, arguments)))


def test_train_says_its_choices_goes_on_and_reports(world, tmp_path):
    out = tmp_path / "run"
    result = called(options(world, out, "--epochs", "1"))
    assert result.exit_code == 0, result.output
    for line in (
        "method seqft, seed 0, on cpu",
        "tasks in this order: Mini-T1, Mini-T0",
        "each 1 epochs of AdamW, batch 64",
        "padding masked, pairing before, 2 demonstrations a task",
        "evaluated after each stage: collision, contrast, original, paraphrase on 1 initial states, horizon 4",
        "weights that go on: those of the last epoch",
        "inputs are scaled by mean and deviation of the demonstrations of all 2 tasks",
    ):
        assert line in result.output
    with RunStore.open(out) as store:
        assert len(store.episodes()) == 9
        assert store.header.name == "seqft"
    again = called(options(world, out, "--epochs", "1"))
    assert again.exit_code == 0
    assert "going on in" in again.output
    other = called(options(world, out, "--epochs", "2"))
    assert other.exit_code == 2
    assert "kit.recipe.epochs is 1 there, 2 asked" in other.output
    report = called(["report", out, "--out", tmp_path / "report"], suite)
    assert report.exit_code == 0, report.output
    assert "seqft" in report.output


@pytest.mark.parametrize(
    ("method", "more", "rate"),
    [("er", [], "0.002"), ("tail", [], "0.004"), ("tail", ["--lr", "0.01"], "0.01")],
)
def test_methods_that_adapt_a_frozen_actor_have_a_rate_of_their_own(world, tmp_path, method, more, rate):
    result = called(options(world, tmp_path / "run", "--epochs", "0", "--no-evaluation", *more, method=method))
    assert result.exit_code == 0, result.output
    assert f"batch 64, rate {rate} (one-cycle)" in result.output


def test_the_trained_policy_is_one_for_the_suites_own_command(world, tmp_path):
    out = tmp_path / "run"
    assert called(options(world, out, "--epochs", "1", "--no-evaluation")).exit_code == 0
    assert not (out / "run.sqlite").exists()
    arguments = ["evaluate", "--policy", "gym_grounding_policies.trained:Trained", "--policy-option", f"run={out}"]
    arguments += ["--suite", "Mini", "--registry", world / "registry.yaml", "--order", "1,0", "--init-states", "0:1"]
    arguments += ["--conditions", "original", "--horizon", "4", "--workers", "0"]
    result = called([*arguments, "--out", tmp_path / "again"], suite)
    assert result.exit_code == 0, result.output
    with RunStore.open(tmp_path / "again") as store:
        assert [one.notes for one in store.episodes()] == [{}] * 2
        assert (
            store.header.versions["gym-grounding-policies source"] == code_of("seqft")["gym-grounding-policies source"]
        )


def test_a_learner_of_another_package_plugs_in(world, tmp_path, monkeypatch):
    package = tmp_path / "their_package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "halved.py").write_text(textwrap.dedent(PACKAGE))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one])
    name = "their_package.halved:LEARNER"
    result = called(options(world, tmp_path / "run", "--epochs", "1", "--set", "share=0.25", method=name))
    assert result.exit_code == 0, result.output
    assert f"method {name} (share=0.25), seed 0" in result.output
    about = read(tmp_path / "run" / "stage-01").about
    assert about["method"] == name
    assert about["settings"] == {"share": 0.25}
    with RunStore.open(tmp_path / "run") as store:
        assert store.header.name == "halved"
    wrong = called(options(world, tmp_path / "other", "--set", "shara=1", method=name))
    assert wrong.exit_code == 2
    assert "Did you mean 'share'?" in wrong.output
    for spec, message in (
        ("their_package.halved:NUMBER", "is no class of learners"),
        ("their_package.halved:NONE", "NONE"),
        ("their_package.nothing:LEARNER", "no module 'their_package.nothing'"),
        ("seqtf", "Did you mean 'seqft'?"),
    ):
        with pytest.raises(UnknownName, match=re.escape(message)):
            learners.get(spec)


def test_methods_are_listed_with_their_settings():
    result = called(["methods"])
    assert result.exit_code == 0, result.output
    for name in learners.names():
        assert f"\n{name}: " in f"\n{result.output}"
    assert "seqft" in learners.names()
    assert "_base" not in learners.names()


def test_a_run_starts_from_pretraining_and_a_checkpoint_is_shown(world, tmp_path):
    first = tmp_path / "first"
    shared = ["--registry", world / "registry.yaml", "--demos", world / "demos", "--encoder", "hashing"]
    small = ["--net", "width=8", "--epochs", "1", "--demonstrations", "2", "--tensorboard", "off"]
    result = called(["pretrain", "--tasks", "Mini:0,2", *shared, *small, "--out", first])
    assert result.exit_code == 0, result.output
    assert "2 tasks together" in result.output
    shown = called(["show", first])
    assert shown.exit_code == 0
    assert '"kind": "pretraining"' in shown.output
    assert re.search(r"\d+ tensors, [\d,]+ numbers", shown.output)
    out = tmp_path / "run"
    started = called(options(world, out, "--epochs", "0", "--no-evaluation", "--init", first))
    assert started.exit_code == 0, started.output
    assert f"weights, inputs and their scaling come from {first}" in started.output
    assert little.equal(read(out / "stage-01").learner, read(first).learner)
    nowhere = called(options(world, tmp_path / "x", "--init", tmp_path / "nowhere"))
    assert nowhere.exit_code == 2
    assert "holds no checkpoint" in nowhere.output


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--profile", "gpu"], "No profile 'gpu'"),
        (["--select", "best"], "no epoch is evaluated; give --curve-every"),
        (["--select", "best", "--curve-every", "1", "--curve-states", "0:2"], "would select the weights"),
        (["--net", "depth=3"], "No setting of the network 'depth'"),
        (["--precision", "int8"], "precision is 'int8'"),
        (["--order", "9,"], "No task"),
        (["--encoder", "bert"], "No sentence encoder 'bert'"),
        (["--tensorboard", "yes"], "tensorboard is 'yes'"),
        (["--demonstrations", "40"], "demonstrations, 40 were asked for"),
        (["--lr", "-1"], "lr is -1"),
    ],
)
def test_bad_input_is_one_message_and_code_2(world, tmp_path, more, message):
    result = called(options(world, tmp_path / "run", *more))
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert "Traceback" not in result.output


def wait(process, ready, seconds=120):
    """Until it is ready, or the process is over."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and process.poll() is None and not ready():
        time.sleep(0.05)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_saves_and_the_same_command_goes_on(world, tmp_path, sent):
    out = tmp_path / "run"
    arguments = options(world, out, "--epochs", "2000", "--no-evaluation", "--quiet")
    process = little_arm.begin(*arguments)
    wait(process, lambda: (out / log.FILE).exists() and log.read(out))
    process.send_signal(sent)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "stopped and saved" in errors
    assert "the same command goes on" in errors
    place = json.loads((out / "now" / FILE).read_text())["going_on"]["loop"]["place"]
    assert place["task"] == 0
    assert (place["epoch"], place["batch"]) > (0, 0)


def test_a_killed_run_goes_on_from_its_last_checkpoint(world, tmp_path):
    out = tmp_path / "run"
    arguments = options(world, out, "--epochs", "60", "--no-evaluation", "--quiet")
    process = little_arm.begin(*arguments)
    wait(process, (out / "now" / FILE).exists)
    process.kill()
    process.communicate(timeout=60)
    again = called(arguments)
    assert again.exit_code == 0, again.output
    assert "going on in" in again.output
    whole = called(options(world, tmp_path / "whole", "--epochs", "60", "--no-evaluation", "--quiet"))
    assert whole.exit_code == 0
    assert little.equal(read(out / "stage-01").learner, read(tmp_path / "whole" / "stage-01").learner)
    told, expected = (
        [(line["task"], line["step"]) for line in log.read(folder) if line["event"] == "step"]
        for folder in (out, tmp_path / "whole")
    )
    assert told == expected

"""The command line of the learners, as processes and in this one; a learner of another package; signals."""

import json
import os
import re
import shutil
import signal
import subprocess
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


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("NUMBER = 3", "NUMBER = 3 / 0"), "fault.py, line 24: ZeroDivisionError"),
        (("NUMBER = 3", "NUMBER = = 3"), "fault.py, line 24: SyntaxError"),
        (("NUMBER = 3", "raise SystemExit"), "fault.py, line 24: SystemExit"),
        (("NUMBER = 3", "import not_here_at_all"), "fault.py, line 24: it needs a missing module"),
        (("NUMBER = 3", "from json import not_here"), "fault.py, line 24: ImportError: cannot import name"),
        (("NUMBER = 3", "Halved.nothing"), "fault.py, line 24: AttributeError"),
        (("    Settings = Settings\n", ""), "fault.py: class Halved lacks Settings (a dataclass)"),
        (("    Settings = Settings", "    Settings = 3"), "fault.py: class Halved lacks Settings (a dataclass)"),
        (('name = "halved"', "pass"), "fault.py: class Halved lacks name (a text)"),
        (("def loss", "def los"), "fault.py: class Halved lacks loss()"),
    ],
)
def test_a_fault_of_another_packages_file_is_said(world, tmp_path, monkeypatch, change, message):
    assert change[0] in PACKAGE
    (tmp_path / "fault.py").write_text(textwrap.dedent(PACKAGE.replace(*change)).lstrip())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one])
    monkeypatch.delitem(sys.modules, "fault", raising=False)
    result = called(options(world, tmp_path / "run", method="fault:LEARNER"))
    assert result.exit_code == 2, result.output
    assert f"method 'fault:LEARNER': {tmp_path}" in result.output
    assert message in result.output
    sys.modules.pop("fault", None)


def test_a_folder_where_a_file_of_demonstrations_should_be_is_said(world, tmp_path):
    place = shutil.copytree(world / "demos", tmp_path / "demos")
    file = place / "mini" / "put_the_cup_on_the_shelf_demo.hdf5"
    file.unlink()
    file.mkdir()
    result = called([*options(world, tmp_path / "run"), "--demos", place])
    assert result.exit_code == 2
    assert f"{file}: is a folder, not a file" in result.output


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
    small = ["--net", "width=8", "--net", "layers=1", "--epochs", "1", "--demonstrations", "2", "--tensorboard", "off"]
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
    wider = called(options(world, tmp_path / "wide", "--net", "width=12", "--net", "dropout=0", "--init", first))
    assert wider.exit_code == 2
    assert "was pretrained with width 8 there, 12 asked; train with the same" in wider.output
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


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--set", "share=1"], "No setting 'share'"),
        (["--net", "width=abc"], '--net: setting of the network width is "abc"'),
        (["--device", "foo"], "device is 'foo', on which nothing can be computed here"),
        (["--device", "meta"], "there is cpu"),
        (["--threads", (os.cpu_count() or 1) + 1], "'--threads': "),
        (["--act", "foo"], "act is 'foo'; choose sample or mean"),
        (["--seed", str(2**63)], f"seed is {2**63}; give a whole number from 0 to {2**63 - 1}"),
        (["--profile", "paper"], "--encoder hashing is for the profile cpu"),
        (["--profile", "paper", "--encoder", "clip"], "--net width=8, layers=1 is for the profile cpu"),
        (["--no-evaluation", "--curve-every", "1"], "the run has no evaluation (--no-evaluation)"),
        (["--no-evaluation", "--select", "best"], "the run has no evaluation (--no-evaluation)"),
    ],
)
def test_what_cannot_be_is_said_before_anything_is_begun(world, tmp_path, more, message):
    result = called(options(world, tmp_path / "run", *more))
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("missing", "arguments"),
    [
        ("torch", ["methods"]),
        ("torch", ["train", "--method", "er", "--demos", "x", "--out", "y"]),
        ("safetensors", ["train", "--method", "er", "--demos", "x", "--out", "y"]),
        ("safetensors", ["show", "x"]),
    ],
)
def test_without_the_extra_the_commands_say_what_to_install(tmp_path, missing, arguments):
    code = f"import sys; sys.modules[{missing!r}] = None; from gym_grounding_policies.commands import main; main()"
    process = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        env=little_arm.environment(),
        text=True,
        capture_output=True,
        cwd=tmp_path,
    )
    assert process.returncode == 2, process.stderr
    assert f"{missing} is not installed. Run: pip install 'gym-grounding[policies]'" in process.stderr
    assert "Traceback" not in process.stderr


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

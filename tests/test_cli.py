"""The commands, end to end in the toy world."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from gym_grounding import cli, manifest
from gym_grounding.errors import InvalidOption
from gym_grounding.store import RunStore
from gym_grounding.testing import TOY_REGISTRY

TOY = ["--registry", str(TOY_REGISTRY), "--suite", "Toy", "--tasks", "0,2", "--init-states", "0:2", "--horizon", "6"]
POLICY = "gym_grounding.testing.fakes:ToyPolicy"


def run(*arguments):
    return CliRunner().invoke(cli.main, [str(argument) for argument in arguments])


def evaluated(out, *more):
    return run(
        "evaluate", "--policy", POLICY, "--policy-option", "deaf=true", *TOY, "--workers", 0, "--out", out, *more
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [("0:3", (0, 1, 2)), ("5", (5,)), ("0,7", (0, 7)), ("0:2, 9", (0, 1, 9)), (" 4 ", (4,))],
)
def test_numbers(text, expected):
    assert cli.numbers(text, "--init-states") == expected


@pytest.mark.parametrize(
    "text", ["", "a", "3:1", "1,1", "0:2,1", "1:2:3", "1.5", "0:x", "8,", "0:10000000000", "0:6000,6000:12000"]
)
def test_bad_numbers_name_the_option(text):
    with pytest.raises(InvalidOption, match="--init-states"):
        cli.numbers(text, "--init-states")


@pytest.mark.parametrize(
    ("text", "order"), [("8", 8), (" 8 ", 8), ("8,", (8,)), ("8,4,1", (8, 4, 1)), ("0:2", (0, 1)), ("5:6", (5,))]
)
def test_an_order_is_one_of_liberos_or_a_list(text, order):
    assert cli.order_of(text) == order


@pytest.mark.parametrize("text", ["", ",", "a", "8,,", "-1:"])
def test_bad_orders_name_the_option(text):
    with pytest.raises(InvalidOption, match="--order"):
        cli.order_of(text)


def test_evaluate_report_and_resume(tmp_path):
    done = evaluated(tmp_path / "run")
    assert done.exit_code == 0, done.output
    with RunStore.open(tmp_path / "run") as store:
        rows = store.episodes()
    assert rows
    assert {row.task for row in rows} == {"Toy-T0", "Toy-T2"}
    assert f"{len(rows)} of {len(rows)} episodes recorded, 0 ended in an error" in done.output
    assert evaluated(tmp_path / "run").exit_code == 0

    report = run("report", tmp_path / "run", "--out", tmp_path / "report")
    assert report.exit_code == 0, report.output
    assert json.loads((tmp_path / "report" / "metrics.json").read_text())
    assert (tmp_path / "report" / "report.html").read_text().lower().startswith("<!doctype html>")


def test_a_report_is_summarised_as_plain_text(tmp_path):
    evaluated(tmp_path / "run", "--name", "one_two [a|b]", "--conditions", "original")
    summary = run("report", tmp_path / "run", "--out", tmp_path / "report").output
    assert "one_two [a|b]" in summary
    assert "\\" not in summary
    titles = [line.strip("# ") for line in summary.splitlines() if line.startswith("#")]
    assert titles
    assert len(titles) == len(set(titles))


def failing(out, *more):
    options = ["--policy-option", "fault=raise", "--policy-option", "at=put the bowl on the tray"]
    return run(
        "evaluate", "--policy", "faulty_policies:Faulty", *options, *TOY, "--workers", 0, "--out", out,
        "--observation", "state", *more,
    )  # fmt: skip


def test_errors_are_told_at_the_end_and_the_code_is_2(tmp_path):
    out = tmp_path / "run"
    result = failing(out)
    assert result.exit_code == 2
    assert "20 of 22 episodes recorded, 2 ended in an error" in result.stdout
    (first, last) = result.stderr.splitlines()
    assert first.startswith("2 x policy error, 5/Toy-T0-ContrastObject1/0/0: PolicyError: act failed in")
    assert first.endswith("ValueError: lost the thread")
    assert "missing, not as failures, and the same command tries them again" in last
    assert f"gym-grounding errors {out} --traceback" in last
    assert failing(out).exit_code == 2

    listed = run("errors", out)
    assert listed.exit_code == 0
    assert [line.split(":")[0] for line in listed.stdout.splitlines()] == [
        f"policy error, 5/Toy-T0-ContrastObject1/{k}/0" for k in (0, 1)
    ]
    traces = run("errors", out, "--traceback").stdout
    assert traces.count("faulty_policies.py") >= 2
    assert traces.count("\nValueError: lost the thread\n") == 2

    assert evaluated(tmp_path / "good", "--conditions", "original").exit_code == 0
    assert run("errors", tmp_path / "good").stdout == f"{tmp_path / 'good'}: no errors\n"
    assert run("errors", tmp_path).exit_code == 2


def test_a_long_list_of_errors_is_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(cli, "SHOWN_ERRORS", 0)
    assert failing(tmp_path / "run").stderr.splitlines()[0] == "and 1 other errors"
    monkeypatch.setattr(cli, "SHOWN_ERRORS", 1)
    monkeypatch.setattr(cli, "SHOWN_LENGTH", 12)
    assert failing(tmp_path / "run").stderr.splitlines()[0] == "2 x policy error"


def test_what_is_planned_is_told_once_it_begins(tmp_path):
    refused = evaluated(tmp_path / "run", "--policy-option", "registry=/no/such/file")
    assert (refused.exit_code, "episodes into" in refused.output) == (2, False)
    assert list(tmp_path.iterdir()) == []
    begun = evaluated(tmp_path / "run").stdout.splitlines()
    assert begun[0] == f"{POLICY}: 22 episodes into {tmp_path / 'run'}, in this process"
    again = evaluated(tmp_path / "run").stdout.splitlines()
    assert again[0] == f"{POLICY}: 22 episodes into {tmp_path / 'run'}, in this process, 22 of them recorded before"


def test_observe_and_probe(tmp_path):
    assert evaluated(tmp_path / "run").exit_code == 0
    stored = run("observe", *TOY, "--policy", POLICY, "--every", 2, "--expert", "--out", tmp_path / "moments.npz")
    assert stored.exit_code == 0, stored.output
    asked = run("probe", tmp_path / "run", "--observations", tmp_path / "moments.npz")
    assert asked.exit_code == 0, asked.output
    with RunStore.open(tmp_path / "run") as store:
        probes = store.probes()
    assert probes
    assert all(one.action_original == one.action_variant for one in probes)


def test_a_run_of_another_plan_is_refused_with_code_2_and_kept(tmp_path):
    evaluated(tmp_path / "run")
    with RunStore.open(tmp_path / "run") as store:
        before = store.episodes()
    other = evaluated(tmp_path / "run", "--stop", "horizon")
    assert other.exit_code == 2
    assert "stop" in other.output
    with RunStore.open(tmp_path / "run") as store:
        assert store.episodes() == before


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--conditions", "paraphase"], "Did you mean 'paraphrase'"),
        (["--tasks", "99"], "99"),
        (["--slots", "colour"], "colour"),
        (["--tiers", "loose"], "loose"),
        (["--init-states", "0:1000"], "init"),
        (["--horizon", "0"], "horizon"),
        (["--seeds", "x"], "--seeds"),
        (["--stages", "77"], "77"),
        (["--policy", "gym_grounding.testing.fakes:ToyPolice"], "Did you mean 'ToyPolicy'"),
        (["--policy", "no_such_module:X"], "no_such_module"),
        (["--policy", "orcale"], "Did you mean 'oracle'? Known: deaf, noisy_oracle"),
        (["--policy-option", "deaf"], "--policy-option 'deaf': write KEY=VALUE"),
        (["--registry", "/no/such/registry.yaml"], "/no/such/registry.yaml"),
        (["--suite", "LiberoGaol"], "LiberoGaol"),
        (["--init-states", "0:10000000000"], "--init-states '0:10000000000': more than 10000 numbers"),
        (["--init-states", "0:20"], "--init-states 0:5"),
        (["--stages", "foo"], "write last, all, or numbers"),
        (["--timeout", "-1"], "timeout is -1.0"),
        (["--start-timeout", "nan"], "start_timeout is nan"),
    ],
)
def test_bad_input_ends_with_code_2_and_leaves_nothing(tmp_path, more, message):
    result = evaluated(tmp_path / "run", *more)
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "run" / "run.sqlite").exists()


@pytest.mark.parametrize("name", ["oracle", "deaf", "noisy-oracle"])
def test_a_reference_policy_is_named_and_needs_no_more(tmp_path, name):
    blind = run(
        "evaluate", "--policy", name, *TOY, "--workers", 0, "--out", tmp_path / "run", "--observation", "pixels"
    )
    assert blind.exit_code == 2
    wanted = f"{name.replace('-', '_')} wants observation='state', not 'pixels'; ask for 'state' or 'both'"
    assert wanted in blind.output
    done = run("evaluate", "--policy", name, *TOY, "--workers", 0, "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    with RunStore.open(tmp_path / "run") as store:
        assert store.header.policy == store.header.name == name.replace("-", "_")
        assert store.header.task_identity
        assert store.header.settings["observation"] == "state"
    stored = run("observe", *TOY, "--policy", name, "--every", 2, "--out", tmp_path / "moments.npz")
    assert stored.exit_code == 0, stored.output
    asked = run("probe", tmp_path / "run", "--observations", tmp_path / "moments.npz")
    assert asked.exit_code == 0, asked.output


def test_a_report_of_nothing_is_refused(tmp_path):
    result = run("report", tmp_path, "--out", tmp_path / "report")
    assert result.exit_code == 2
    assert "holds no run" in result.output
    assert not (tmp_path / "report").exists()


def test_an_unwritable_output_is_refused(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = evaluated(tmp_path / "file" / "run")
    assert result.exit_code == 2
    assert "file" in result.output


def test_an_empty_or_taken_output_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for result in (evaluated(""), run("observe", *TOY, "--out", ""), run("report", "x", "--out", "")):
        assert result.exit_code == 2
        assert "'--out': it is empty" in result.output
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("mine")
    result = evaluated("file")
    assert result.exit_code == 2
    assert "a file is in the way" in result.output
    assert "recorded before" not in result.output


def command(*arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", "gym_grounding", *map(str, arguments)], stderr=subprocess.PIPE, text=True, **more
    )


def test_a_full_or_closed_output_is_no_traceback(monkeypatch):
    with open("/dev/full", "w") as full:
        done = command("list", stdout=full)
    assert (done.returncode, done.stderr) == (2, "Error: [Errno 28] No space left on device\n")
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as closed:
        done = command("list", stdout=closed)
    assert done.returncode != 0
    assert done.stderr == ""


def test_the_package_is_the_command():
    done = command("evaluat", stdout=subprocess.PIPE)
    assert done.returncode == 2
    assert "Usage: gym-grounding [OPTIONS]" in done.stderr


def test_a_policy_that_is_never_imported_is_given_up(tmp_path):
    (tmp_path / "mine_stuck.py").write_text("import time\ntime.sleep(600)\n")
    done = command(
        "evaluate", "--policy", "mine_stuck:POLICY", *TOY, "--start-timeout", 0.5, "--out", "run",
        cwd=tmp_path, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == (
        "Error: mine_stuck:POLICY took longer than 0.5 s to be imported; give it more time with --start-timeout\n"
    )
    assert not (tmp_path / "run").exists()


def test_every_option_and_command_has_help():
    for name, command in cli.main.commands.items():
        assert command.help, name
        assert [one.name for one in command.params if isinstance(one, click.Option) and not one.help] == []


def test_list_shows_ids_instructions_counts_and_gaps():
    ids = run("list", "--suite", "LiberoGoal", "--conditions", "original").output.splitlines()
    assert len(ids) == 10
    assert "Grounding/LiberoGoal-T8-Original-v0\tput the bowl on the plate" in ids
    count = len(manifest.load().select("LiberoGoal"))
    assert run("list", "--suite", "LiberoGoal", "--counts").output.splitlines()[-1].split() == ["all", str(count)]
    assert "frame" in run("list", "--absent").output


def test_validate_prints_every_problem_and_ends_with_2(tmp_path):
    assert run("validate").exit_code == 0
    broken = tmp_path / "mine.yaml"
    broken.write_text(Path(TOY_REGISTRY).read_text().replace("condition: original", "condition: orignal"))
    result = run("validate", "--registry", broken)
    assert result.exit_code == 2
    assert result.output.count("orignal") >= 3
    assert str(broken) in result.output


def test_metrics_page_defines_what_the_tables_name():
    page = run("metrics").output
    for name in ("NBT", "AUC", "GSA", "OGP", "CGAR", "AIR"):
        assert name in page


@pytest.mark.parametrize(("asked", "used"), [([], "state"), (["--observation", "both"], "both")])
def test_the_policy_declares_what_it_observes_unless_told_otherwise(tmp_path, asked, used):
    result = evaluated(tmp_path, *asked)
    assert result.exit_code == 0, result.output
    with RunStore.open(tmp_path) as store:
        assert store.header.settings["observation"] == used


def test_salvage_copies_what_a_damaged_run_still_holds(tmp_path):
    evaluated(tmp_path / "run")
    path = tmp_path / "run" / "run.sqlite"
    with RunStore.open(tmp_path / "run") as store:
        count = len(store.episodes())
    path.write_bytes(path.read_bytes()[:-4096])
    refused = run("report", tmp_path / "run", "--out", tmp_path / "report")
    assert refused.exit_code == 2
    assert "gym-grounding salvage" in refused.output
    saved = run("salvage", tmp_path / "run", tmp_path / "new")
    assert saved.exit_code == 0, saved.output
    with RunStore.open(tmp_path / "new") as store:
        assert 0 < len(store.episodes()) <= count


def test_the_cache_is_shown_and_cleared(tmp_path, monkeypatch):
    from gym_grounding.adapters.libero.core import cache

    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "kept"))
    cache.write("a scene", bytes(3_000_000))
    assert run("cache").output == f"{tmp_path / 'kept'}: 1 scenes, 3 MB\n"
    assert run("cache", "--clear").output == f"{tmp_path / 'kept'}: 1 scenes, 3 MB; 1 removed\n"
    assert run("cache").output == f"{tmp_path / 'kept'}: 0 scenes, 0 MB\n"
    monkeypatch.setattr(cache, "folder", lambda: None)
    assert "GYM_GROUNDING_CACHE" in run("cache").output

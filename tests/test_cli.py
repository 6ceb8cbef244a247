"""The commands, end to end in the toy world."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from gym_grounding import cli
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


@pytest.mark.parametrize("text", ["", "a", "3:1", "1,1", "0:2,1", "1:2:3", "1.5", "0:x"])
def test_bad_numbers_name_the_option(text):
    with pytest.raises(InvalidOption, match="--init-states"):
        cli.numbers(text, "--init-states")


def test_policy_options_are_json_or_text():
    assert cli.options_of(("p=0.5", "names=[1, 2]", "path=a=b", "flag=true")) == {
        "p": 0.5,
        "names": [1, 2],
        "path": "a=b",
        "flag": True,
    }
    with pytest.raises(InvalidOption, match="KEY=VALUE"):
        cli.options_of(("nothing",))


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
        (["--registry", "/no/such/registry.yaml"], "/no/such/registry.yaml"),
        (["--suite", "LiberoGaol"], "LiberoGaol"),
    ],
)
def test_bad_input_ends_with_code_2_and_leaves_nothing(tmp_path, more, message):
    result = evaluated(tmp_path / "run", *more)
    assert result.exit_code == 2, result.output
    assert message in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "run" / "run.sqlite").exists()


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


def test_list_shows_ids_instructions_counts_and_gaps():
    ids = run("list", "--suite", "LiberoGoal", "--conditions", "original").output.splitlines()
    assert len(ids) == 10
    assert "Grounding/LiberoGoal-T8-Original-v0\tput the bowl on the plate" in ids
    assert run("list", "--suite", "LiberoGoal", "--counts").output.splitlines()[-1].split() == ["all", "121"]
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

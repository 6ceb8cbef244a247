"""Reports of runs whose registry certifies what an oracle reached: what is not shown reachable stands apart."""

import csv
import json
from pathlib import Path

import pytest

from gym_grounding import Plan, conditions, manifest
from gym_grounding.manifest._source import parse
from gym_grounding.report import _write as writing
from gym_grounding.report import write_report
from gym_grounding.report._book import STANDING_WORDS
from gym_grounding.report._remarks import worth_a_look
from gym_grounding.report._study import load
from gym_grounding.testing import TOY_REGISTRY
from gym_grounding.testing.records import write_run
from gym_grounding.variants import _yaml


def counts(stable=0, transient=0, trivial=0):
    successes = stable + transient + trivial
    row = {"attempts": 4, "successes": successes, "stable": stable, "transient": transient, "trivial": trivial}
    verdicts = {"stable": stable, "transient": transient, "trivial": trivial}
    row["verdict"] = max(verdicts, key=verdicts.get) if successes else "not_reached"
    return row | ({"median_steps": 40} if successes else {})


@pytest.fixture(scope="module")
def names(toy):
    """Contrasts of the toy registry that become not shown, transient and trivial; a swap that is not shown."""
    strict = [row for row in toy.variants.values() if row.tier == "strict"]
    goals = {}
    for row in strict:
        goals.setdefault((row.task, row.goal), row.id)
    own = list(goals.values())
    swaps = [row.id for row in toy.select(conditions=["swap"]) if (row.task, row.goal) not in goals]
    return {"not_shown": own[0], "transient": own[1], "trivial": own[2], "swap": swaps[0]}


@pytest.fixture(scope="module")
def certified(toy, names, tmp_path_factory):
    """The toy registry with certificates of every goal but that of the last reverse pair."""
    data = parse(Path(TOY_REGISTRY).read_bytes(), "toy.yaml")
    data["oracle"] = {"version": "1", "physics": "toy 1", "horizon": 600}
    kinds = {
        names["not_shown"]: counts(),
        names["swap"]: counts(),
        names["transient"]: counts(stable=1, transient=2),
        names["trivial"]: counts(trivial=3),
    }
    by_goal = {}
    for name, row in kinds.items():
        variant = toy.variant(name)
        by_goal[variant.task, variant.goal, tuple(variant.joints.items())] = row
    left_out = [row for row in toy.select(conditions=["reverse"])][-1]
    for row in data["variants"]:
        variant = toy.variant(row["id"])
        if variant.goal is None or (variant.task, variant.joints) == (left_out.task, left_out.joints):
            continue
        oracle = by_goal.get((variant.task, variant.goal, tuple(variant.joints.items())), counts(stable=4))
        reachable = "shown" if oracle["successes"] else "not_shown"
        row["certificate"] = {**row.get("certificate", {}), "reachable": reachable, "oracle": oracle}
    path = tmp_path_factory.mktemp("certified") / "toy.yaml"
    path.write_bytes(_yaml.dump(data))
    return path


def planned(path):
    return Plan.make("Toy", registry=path, init_states=range(3), conditions=conditions.names())


@pytest.fixture(scope="module")
def runs(certified, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    known = manifest.load(certified)
    return [write_run(folder / name, known, planned(certified), name, probes=True) for name in ("deaf", "listening")]


def written(runs, folder):
    """Without figures, which take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "draw", lambda book: ())
        return write_report(runs, folder / "report")


@pytest.fixture(scope="module")
def report(runs, tmp_path_factory):
    return written(runs, tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def bare(toy, tmp_path_factory):
    """The report of the same policies where the registry certifies nothing."""
    folder, known = tmp_path_factory.mktemp("bare"), planned(TOY_REGISTRY)
    return written([write_run(folder / name, toy, known, name, probes=True) for name in ("deaf", "listening")], folder)


def table(report, name):
    with (report / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_registry_is_read_as_it_was_meant(certified, names):
    known = manifest.load(certified)
    assert manifest.standing(known.variant(names["not_shown"])) == "not_shown"
    assert manifest.standing(known.variant(names["transient"])) == "transient"
    assert manifest.standing(known.variant(names["trivial"])) == "trivial"
    assert {manifest.standing(row) for row in known.variants.values()} == {None, *STANDING_WORDS}


def test_words_are_known_for_every_standing():
    assert tuple(STANDING_WORDS) == manifest.STANDINGS


def test_contrasts_that_are_not_shown_reachable_have_a_row_of_their_own(report, toy):
    rows = [row for row in table(report, "table_2_contrasts_strict") if row["method"] == "listening"]
    by_slot = {row["slot"]: row for row in rows}
    assert next(iter(by_slot)) == "all"
    assert list(by_slot)[-1] == "not shown reachable"
    every = len([row for row in toy.variants.values() if row.tier == "strict"])
    counted, apart = (int(by_slot[slot]["target_success_variants"]) for slot in ("all", "not shown reachable"))
    assert apart > 0
    assert counted == every - apart
    permissive = [row["slot"] for row in table(report, "table_2_contrasts_permissive")]
    assert "not shown reachable" not in permissive


def test_what_was_reached_has_a_table(report):
    rows = [row for row in table(report, "goal_standings") if row["method"] == "listening"]
    shown = {(row["condition"], row["tier"], row["reach"]) for row in rows}
    assert {
        ("contrast", "strict", "stable"),
        ("contrast", "strict", "transient"),
        ("contrast", "strict", "trivial"),
        ("contrast", "strict", "not shown reachable"),
        ("swap", "", "not shown reachable"),
        ("reverse", "", "not measured"),
    } <= shown
    assert all(row["goal_switch_accuracy"] == "" for row in rows if row["condition"] != "contrast")
    whole = next(row for row in table(report, "table_2_contrasts_strict") if row["method"] == "listening")
    parts = [row for row in rows if row["tier"] == "strict" and row["reach"] in ("stable", "transient", "trivial")]
    assert sum(int(row["target_success_n"]) for row in parts) == int(whole["target_success_n"])


def test_controls_that_are_not_shown_reachable_have_rows_of_their_own(report):
    rows = [row for row in table(report, "table_controls") if row["method"] == "listening"]
    parts = [(row["condition"], row["part"]) for row in rows]
    assert ("swap", "not shown reachable") in parts
    assert ("reverse", "not measured") in parts
    assert not [part for condition, part in parts if condition in ("null", "noise") and "reach" in part]
    by_part = {(row["condition"], row["part"]): row for row in rows}
    swaps = len(table(report, "table_swaps"))
    assert swaps == 2
    numbers = [int(by_part["swap", part]["control_success_variants"]) for part in ("all", "not shown reachable")]
    assert numbers[1] == 1 < numbers[0]


def test_captions_say_what_counts(report, bare):
    page = (report / "report.md").read_text()
    assert page.count("Instructed goals count that a scripted oracle reached") >= 6
    assert "What the oracle showed of the instructed goal" in page
    assert "Oracle 1 in toy 1, at most 600 control steps." in page
    before = (bare / "report.md").read_text()
    assert "oracle" not in before
    assert "not shown" not in before


def test_without_certificates_tables_are_as_before(bare, report):
    assert not (bare / "tables" / "goal_standings.csv").exists()
    assert "oracle" not in table(bare, "variants_1")[0]
    assert "reach" not in table(bare, "coverage")[0]
    assert {row["slot"] for row in table(bare, "table_2_contrasts_strict")} == {
        "all", "action", "object", "relation", "target", "attribute",
    }  # fmt: skip
    data = json.loads((bare / "metrics.json").read_text())
    assert all("reach" not in one["scope"] for one in data["measurements"])
    assert all("reach" not in method for method in data["methods"])
    assert "oracle" in table(report, "variants_1")[0]


def test_each_variant_says_what_the_oracle_showed(report, names):
    rows = {row["variant"]: row["oracle"] for row in table(report, "variants_1")}
    assert rows[names["not_shown"]] == "not shown reachable, 0 of 4"
    assert rows[names["transient"]] == "transient, 3 of 4"
    assert rows[names["trivial"]] == "trivial, 3 of 4"
    assert rows["Toy-T0-Original"] == ""


def test_cells_that_are_not_shown_reachable_are_counted_among_the_others(report, names, runs):
    rows = [row for row in table(report, "coverage") if row["method"] == "deaf"]
    strict = {row["reach"]: int(row["done"]) for row in rows if row["tier"] == "strict"}
    apart = strict["of these not shown reachable"]
    assert 0 < apart < strict[""]
    assert apart % 3 == 0
    assert sum(int(row["done"]) for row in rows if row["reach"] == "") == int(table(report, "runs")[0]["done"])


def test_the_data_says_it_too(report, names):
    data = json.loads((report / "metrics.json").read_text())
    assert data["methods"][0]["reach"][names["not_shown"]] == "not_shown"
    scopes = [one["scope"] for one in data["measurements"] if one["quantity"] == "goal_switch_accuracy"]
    assert {scope.get("reach") for scope in scopes} == {None, "stable", "transient", "trivial", "not_shown"}


def test_remarks_name_what_is_not_shown_and_do_not_blame_the_policy(certified, names, tmp_path):
    known = manifest.load(certified)
    plan = Plan.make("Toy", registry=certified, tasks=[0], init_states=range(2), conditions=["original", "contrast"])
    (method,) = load([write_run(tmp_path / "run", known, plan, "deaf", skill=0.0)]).methods
    apart, blamed = worth_a_look(method)
    assert "1 instructed goal is not shown reachable by the registry's oracle and counted apart" in apart
    assert names["not_shown"] in apart
    assert "no goal was reached in any episode" in blamed
    assert names["not_shown"] not in blamed
    assert names["transient"] in blamed


def test_a_suite_without_any_certificate_reports_all(certified, tmp_path, monkeypatch, toy):
    data = parse(certified.read_bytes(), "toy.yaml")
    for row in data["variants"]:
        row.pop("certificate", None)
    path = tmp_path / "toy.yaml"
    path.write_bytes(_yaml.dump(data))
    known = manifest.load(path)
    assert known.oracle
    run = write_run(tmp_path / "run", known, planned(path), "deaf")
    (method,) = load([run]).methods
    assert method.evidence.reach == {}

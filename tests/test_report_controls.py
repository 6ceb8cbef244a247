"""Reports of runs that evaluate control conditions, and of runs that do not."""

import csv

import numpy as np
import pytest

from gym_grounding import Plan, conditions
from gym_grounding.report import metrics_page, write_report
from gym_grounding.rollout import load_policy, run_cells
from gym_grounding.store import RunStore
from gym_grounding.testing import TOY_REGISTRY
from gym_grounding.testing.records import write_run
from gym_grounding.types import SceneSettings


@pytest.fixture(scope="module")
def plan():
    return Plan.make("Toy", registry=TOY_REGISTRY, init_states=range(3), conditions=conditions.names(), stages="all")


@pytest.fixture(scope="module")
def report(tmp_path_factory, toy, plan):
    """A deaf run, a listening one and one without controls, in one report."""
    folder = tmp_path_factory.mktemp("controls")
    runs = [write_run(folder / name, toy, plan, name, probes=True) for name in ("deaf", "listening")]
    cells = Plan.make("Toy", registry=TOY_REGISTRY, init_states=range(3), stages="all")
    runs.append(write_run(folder / "cells", toy, cells, "listening", name="cells only"))
    return write_report(runs, folder / "report", allow_mixed=True)


def table(report, name):
    with (report / "tables" / f"{name}.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_every_control_has_its_row_under_each_method_that_evaluates_it(report):
    rows = table(report, "table_controls")
    shown = [(row["method"], row["condition"], row["part"]) for row in rows]
    parts = [
        ("canonical", "all"),
        ("swap", "all"),
        ("null", "all"),
        ("shuffled", "all"),
        ("negated", "all"),
        ("noise", "all"),
        ("noise", "one error"),
        ("noise", "two errors"),
        ("reverse", "all"),
        ("reverse", "asks for change"),
        ("reverse", "is so already"),
    ]
    assert shown == [(method, *part) for method in ("deaf", "listening") for part in parts]


def numbers(report, method):
    """Row of a method's table of controls by condition and part."""
    rows = [row for row in table(report, "table_controls") if row["method"] == method]
    return {(row["condition"], row["part"]): row for row in rows}


def test_a_deaf_policy_is_told_from_a_listening_one(report):
    deaf, listening = numbers(report, "deaf"), numbers(report, "listening")
    for rows in (deaf, listening):
        for name in ("shuffled", "noise"):
            assert float(rows[name, "all"]["control_success"]) > 0.3
        for name in ("null", "negated"):
            assert rows[name, "all"]["control_success"] == ""
            assert rows[name, "all"]["control_success_remark"] == "no goal scores it"
    assert float(deaf["swap", "all"]["control_success"]) == 0 < float(listening["swap", "all"]["control_success"])
    assert float(deaf["null", "all"]["control_original"]) > 0 == float(listening["null", "all"]["control_original"])
    assert float(deaf["negated", "all"]["control_initiation"]) == 1
    assert float(listening["negated", "all"]["control_initiation"]) == 0
    assert float(listening["reverse", "asks for change"]["control_success"]) > 0
    assert float(listening["reverse", "is so already"]["control_opposite"]) == 0


def test_swaps_stand_beside_their_own_texts(report):
    rows = {row["method"]: row for row in table(report, "table_swaps")}
    assert set(rows) == {"deaf", "listening"}
    assert float(rows["deaf"]["swap_normalised"]) == 0
    for row in rows.values():
        assert float(row["swap_own_success"]) > 0.2
        assert row["n_counts"].split(" / ")[1] == "3"


def test_cells_of_controls_are_counted_after_those_of_the_others(report):
    rows = [row for row in table(report, "coverage") if row["method"] == "deaf"]
    order = ["original", "paraphrase", "contrast", "contrast", "collision"]
    assert [row["condition"] for row in rows] == [*order, "swap", "null", "shuffled", "negated", "noise", "reverse"]
    assert all(row["missing"] == "0" for row in rows)


def test_variants_of_controls_name_the_goal_that_scores_them(report, toy):
    rows = {row["variant"]: row for row in table(report, "variants_1")}
    assert set(rows) == set(toy.variants)
    goals = {name: rows[f"Toy-{name}"]["goal"] for name in ("T0-Swap1", "T0-Null", "T0-Noise1", "T2-Reverse2")}
    own, asked = "on(block_1, tray_1_top_side)", "on(block_1, chest_1_top_side)"
    assert goals == {"T0-Swap1": asked, "T0-Null": "", "T0-Noise1": own, "T2-Reverse2": ""}
    assert rows["Toy-T0-Null"]["success"] == "" != rows["Toy-T0-Swap1"]["success"]


def test_text_and_page_hold_them_too(report):
    for name in ("report.md", "report.html"):
        text = (report / name).read_text(encoding="utf-8")
        for title in ("Control conditions", "Swaps beside the same texts in their own tasks"):
            assert title in text
    page = metrics_page()
    for words in (
        "Control success: share of control episodes",
        "Swap success divided by",
        "Opposite: share of episodes",
    ):
        assert words in page


def test_without_controls_the_report_says_so(tmp_path, toy):
    plan = Plan.make("Toy", registry=TOY_REGISTRY, init_states=range(2))
    report = write_report([write_run(tmp_path / "run", toy, plan, "deaf")], tmp_path / "report")
    assert "No run evaluates control conditions." in (report / "report.md").read_text(encoding="utf-8")
    assert not (report / "tables" / "table_controls.csv").exists()


def test_real_episodes_of_every_condition_are_stored_and_reported(tmp_path, toy):
    """Played in the toy world by the policy that listens; what it records is what the report is made from."""
    plan = Plan.make(
        "Toy",
        registry=TOY_REGISTRY,
        init_states=[0, 1],
        conditions=conditions.names(),
        horizon=40,
        batch=8,
        settings=SceneSettings("state", settle_steps=2),
    )
    folder = write_run(tmp_path / "run", toy, plan, "listening", name="toy", skip=plan.cells(toy))
    policy = load_policy("gym_grounding.testing.fakes:ToyPolicy")
    with RunStore.writer(folder) as store:
        for record in run_cells(policy, plan.cells(toy), plan, toy):
            store.add_episode(record)
    report = write_report([folder], tmp_path / "report")
    rows = numbers(report, "toy")
    assert {name: float(rows[name, "all"]["control_success"]) for name in ("swap", "shuffled", "noise", "reverse")} == {
        "swap": 1,
        "shuffled": 1,
        "noise": 1,
        "reverse": 1,
    }
    assert float(rows["null", "all"]["control_initiation"]) == float(rows["negated", "all"]["control_original"]) == 0
    assert float(rows["reverse", "is so already"]["control_opposite"]) == 0
    assert np.isclose(float(table(report, "table_swaps")[0]["swap_normalised"]), 1)

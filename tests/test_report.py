"""Reports of invented runs: contents, safety of the output, merging, refusals."""

import csv
import dataclasses
import html.parser
import json
import math
import os
import re
import subprocess
import sys

import pytest

from gym_grounding import metrics
from gym_grounding.errors import CorruptRun, InvalidOption, PlanMismatch, UnwritableOutput
from gym_grounding.metrics import Value
from gym_grounding.plan import Plan
from gym_grounding.records import Cell, ErrorRecord
from gym_grounding.report import _remarks, metrics_page, write_report
from gym_grounding.report import _write as writing
from gym_grounding.report._markdown import escape
from gym_grounding.report._remarks import FROZEN
from gym_grounding.report._table import Column, Table, flat, number, write
from gym_grounding.store import RunStore
from gym_grounding.testing.records import invented_probe, write_run

NASTY = "<script>alert(1)</script> | **x** & $y_1$"


def toy_plan(toy, **changes):
    return Plan.make("Toy", **{"registry": toy.path, "init_states": range(2), **changes})


@pytest.fixture(scope="module")
def runs(toy, tmp_path_factory):
    """Deaf and listening runs with probes, all stages, two seeds in one directory."""
    root = tmp_path_factory.mktemp("runs")
    plan = toy_plan(toy, seeds=(0, 1), stages="all")
    return [write_run(root / name, toy, plan, name, probes=True) for name in ("deaf", "listening")]


@pytest.fixture(scope="module")
def report(runs, tmp_path_factory):
    """The report of both."""
    return write_report(runs, tmp_path_factory.mktemp("out") / "report")


@pytest.fixture
def quick(monkeypatch):
    """Reports without figures, which take most of the time."""
    monkeypatch.setattr(writing, "draw", lambda book: ())


def content(folder):
    return json.loads((folder / "metrics.json").read_text("utf-8"))


def find(data, quantity, method, **scope):
    (found,) = [
        one
        for one in data["measurements"]
        if one["quantity"] == quantity and one["method"] == method and one["scope"] == scope
    ]
    return found


def rows(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_everything_is_there(report):
    assert {path.name for path in report.iterdir()} == {
        *("metrics.json", "metrics.md", "report.md", "report.html", "tables", "figures")
    }
    tables = {path.stem for path in (report / "tables").iterdir()}
    assert {
        *("summary", "runs", "coverage", "table_1_paraphrase", "continual", "table_2_contrasts_strict"),
        *("table_2_contrasts_permissive", "contrast_readings", "contrast_goals", "table_collisions"),
        *("action_initiation", "action_level", "table_3_correlations", "tasks", "variants_1", "measurements"),
    } <= tables
    figures = {path.name for path in (report / "figures").iterdir()}
    assert figures == {
        *("stages_1.png", "stages_2.png", "paraphrase_gap.png", "collisions.png"),
        *("contrasts_strict.png", "contrasts_permissive.png", "contrasts_strict_by_slot.png"),
        *("contrasts_permissive_by_slot.png", "collisions_by_slot.png", "over_stages_paraphrase.png"),
        *("manifest_coverage.png", "over_stages_actions.png"),
    }
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in (report / "figures").iterdir())


def test_the_invented_policies_are_told_apart(report):
    data = content(report)
    contrast = {"condition": "contrast", "tier": "strict", "stage": 5, "judged": "own"}
    assert find(data, "goal_switch_accuracy", "deaf", **contrast)["mean"] == 0
    assert find(data, "goal_switch_accuracy", "listening", **contrast)["mean"] > 0.3
    assert find(data, "original_persistence", "listening", **contrast)["mean"] == 0
    for name in ("deaf", "listening"):
        gap = find(data, "paraphrase_gap", name, condition="paraphrase", stage=5)
        assert gap["mean"] == 0
        assert gap["seeds"] == 2
    assert any("deaf: text unused" in warning for warning in data["warnings"])


def test_a_policy_whose_probes_show_nothing_but_whose_rollouts_listen(toy, tmp_path, quick):
    plan = toy_plan(toy)
    place = write_run(tmp_path / "run", toy, plan, "listening", name="mine")
    contrast = [cell for cell in plan.cells(toy) if toy.variant(cell.variant).condition == "contrast"]
    with RunStore.create(place, RunStore.open(place).header) as store:
        store.add_probes(invented_probe(toy.variant(cell.variant), cell, "deaf", "start") for cell in contrast)
    (warning,) = content(write_report([place], tmp_path / "out"))["warnings"]
    assert "mine: actions at the stored observations do not depend on the words (contrasts were probed)" in warning
    assert "text unused" not in (tmp_path / "out" / "report.html").read_text("utf-8").partition("Definitions</h2>")[0]


def test_a_policy_that_is_one_at_every_stage_is_named(toy, tmp_path, quick):
    plan = toy_plan(toy, stages="all")
    same, learns = (
        write_run(tmp_path / name, toy, plan, "deaf", name=name, frozen=name == "same") for name in ("same", "learns")
    )
    data = content(write_report([same, learns], tmp_path / "out"))
    assert find(data, "nbt", "same", condition="original")["mean"] == 0
    assert [warning for warning in data["warnings"] if FROZEN in warning] == [f"same: {FROZEN}"]
    assert FROZEN in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_one_cell_that_differs_between_stages_is_a_change(toy, tmp_path, quick):
    plan = toy_plan(toy, stages="all")
    (cell,) = [cell for cell in plan.cells(toy) if cell == Cell(3, "Toy-T0-Original", 1, 0)]
    place = write_run(tmp_path / "run", toy, plan, "deaf", frozen=True, skip=[cell])
    assert any(FROZEN in one for one in content(write_report([place], tmp_path / "out"))["warnings"])
    with RunStore.create(place, RunStore.open(place).header) as store:
        (other,) = [one for one in store.episodes() if one.cell == dataclasses.replace(cell, stage=2)]
        store.add_episode(dataclasses.replace(other, stage=3, displacement=other.displacement + 0.01))
    assert not any(FROZEN in one for one in content(write_report([place], tmp_path / "out"))["warnings"])


def test_one_stage_says_nothing_about_change(toy, tmp_path, quick):
    place = write_run(tmp_path / "run", toy, toy_plan(toy), "deaf")
    data = content(write_report([place], tmp_path / "out"))
    assert data["warnings"] == []
    reason = find(data, "nbt", "deaf", condition="original")["reason"]
    assert reason.startswith("needs success after every stage from a task's own to the last; nothing for ")
    assert reason.endswith("(evaluated at stage 5 of 0 to 5)")


def test_contrasts_that_reach_no_goal_at_all_are_listed(toy, tmp_path, quick, monkeypatch):
    plan = toy_plan(toy, init_states=range(4))
    skilled, unskilled = (
        write_run(tmp_path / str(skill), toy, plan, "listening", name=f"skill {skill:g}", skill=skill)
        for skill in (1.0, 0.0)
    )
    lost = sorted({cell.variant for cell in plan.cells(toy) if toy.variant(cell.variant).condition == "contrast"})
    assert content(write_report([skilled], tmp_path / "out"))["remarks"] == []
    assert "Worth a look" not in (tmp_path / "out" / "report.html").read_text("utf-8")
    (remark,) = content(write_report([skilled, unskilled], tmp_path / "out"))["remarks"]
    start = f"skill 0: in {len(lost)} contrast variants no goal was reached in any episode: "
    assert remark.startswith(f"{start}{', '.join(lost)}. ")
    monkeypatch.setattr(_remarks, "LISTED", 2)
    (remark,) = content(write_report([skilled, unskilled], tmp_path / "out"))["remarks"]
    assert remark.startswith(f"{start}{lost[0]}, {lost[1]} and {len(lost) - 2} more. ")
    for name in ("report.html", "report.md"):
        assert "Worth a look" in (tmp_path / "out" / name).read_text("utf-8")


def test_titles_are_not_said_twice(report):
    page = (report / "report.html").read_text("utf-8")
    titles = re.findall(r"<(?:h2[^>]*|h3|summary)>(.*?)</", page.partition("Definitions</h2>")[0])
    assert len(titles) > 15
    assert len(titles) == len(set(titles))
    numbers = [title.partition(".")[0] for title in titles if title.startswith("Table ")]
    assert len(numbers) == len(set(numbers))


def test_the_action_tables_say_how_a_memory_is_treated(report):
    page = (report / "report.html").read_text("utf-8").partition("Definitions</h2>")[0]
    assert page.count("Each stored observation is asked as the first of an episode") == 2


def test_every_number_has_its_counts_or_its_reason(report):
    for one in content(report)["measurements"]:
        if one["mean"] is None:
            assert one["reason"], one
        else:
            assert one["n"] > 0, one
            assert math.isfinite(one["mean"])


def test_correlations_cover_both_methods(report):
    data = content(report)
    found = find(
        data, "action_divergence_correlation", "", condition="contrast", tier="strict", against="goal_switch_accuracy"
    )
    assert found["n"] == 10  # five tasks have strict contrasts
    assert -1 <= found["interval"][0] <= found["interval"][1] <= 1


class Reader(html.parser.HTMLParser):
    """Collects what a browser would load, and checks that tags are closed."""

    VOID = frozenset({"meta", "img", "br", "hr", "input", "link", "!doctype"})

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.links = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.links += [value for name, value in attributes if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing(report):
    page = (report / "report.html").read_text("utf-8")
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    assert not {"link", "iframe", "object", "img"} & set(reader.tags)
    assert all(link.startswith("#") for link in reader.links)
    assert reader.tags.count("script") == 1
    assert reader.tags.count("svg") == len(list((report / "figures").iterdir()))
    assert "url(" not in page
    assert "default-src 'none'" in page


def test_the_page_shows_header_counts_and_variants(report, toy):
    page = (report / "report.html").read_text("utf-8")
    assert toy.sha256 in page
    assert "Table IIa. Minimal contrasts, strict tier" in page
    assert "Table IIb. Minimal contrasts, permissive tier" in page
    variant = toy.variant("Toy-T0-ContrastTarget1")
    assert variant.instruction in page
    assert variant.goal.id in page


def test_tables_carry_raw_numbers_with_intervals(report):
    (row,) = [row for row in rows(report / "tables" / "table_1_paraphrase.csv") if row["method"] == "deaf"]
    low, mean, high = (float(row[f"final_original{part}"]) for part in ("_low", "", "_high"))
    assert 0 <= low <= mean <= high <= 1
    assert (row["final_original_n"], row["final_original_seeds"]) == ("24", "2")
    longest = rows(report / "tables" / "measurements.csv")
    assert len(longest) == len(content(report)["measurements"])


def test_the_variant_table_lists_outcomes_and_first_steps(report):
    listed = {row["variant"]: row for row in rows(report / "tables" / "variants_2.csv")}
    row = listed["Toy-T0-ContrastTarget1"]
    assert row["goal"] == "on(block_1, chest_1_top_side)"
    episodes, reached = int(row["success_n"]), row["reached"]
    assert float(row["success"]) == pytest.approx(int(reached.removeprefix("target ")) / episodes)
    assert 40 <= int(row["first_held"].removeprefix("target ")) < 90
    assert (row["done"], row["missing"], row["left_out"]) == ("4", "0", "")
    assert set(listed) >= {"Toy-T0-Original", "Toy-T0-CollisionObject1"}


def test_the_same_runs_give_the_same_bytes(runs, report, tmp_path):
    again = write_report(runs, tmp_path / "again")
    for path in sorted(path for path in report.rglob("*") if path.is_file()):
        assert (again / path.relative_to(report)).read_bytes() == path.read_bytes(), path.name


def test_the_seed_changes_the_bootstrap_only(runs, report, tmp_path, quick):
    other = content(write_report(runs, tmp_path / "other", seed=1))
    for one, two in zip(content(report)["measurements"], other["measurements"], strict=True):
        assert one["mean"] == two["mean"]
        assert {**one, "interval": None, "note": ""} == {**two, "interval": None, "note": ""}
        if not one["quantity"].endswith(("_correlation", "_difference", "_gap", "_gap_auc", "auc", "nbt")):
            assert one == two
    assert other["measurements"] != content(report)["measurements"]


def test_runs_of_one_name_merge_over_seeds(toy, tmp_path, quick):
    places = [
        write_run(tmp_path / str(seed), toy, toy_plan(toy, seeds=(seed,)), "deaf", name="mine") for seed in (3, 8)
    ]
    data = content(write_report(places, tmp_path / "out"))
    assert [method["name"] for method in data["methods"]] == ["mine"]
    found = find(data, "final_success", "mine", condition="original", stage=5)
    assert sorted(found["per_seed"]) == ["3", "8"]
    assert found["std"] is not None
    (row,) = rows(tmp_path / "out" / "tables" / "runs.csv")
    assert (row["seeds"], row["planned"], row["missing"]) == ("3, 8", row["done"], "0")


def test_runs_of_one_name_and_seed_are_refused(toy, tmp_path):
    places = [write_run(tmp_path / name, toy, toy_plan(toy), "deaf", name="mine") for name in "ab"]
    with pytest.raises(InvalidOption, match=r"a and .*b are both runs of 'mine' with seed 0.*--name"):
        write_report(places, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("change", "field"), [({"horizon": 50}, "plan.horizon"), ({"init_states": range(1)}, "plan.init_states")]
)
def test_runs_of_one_name_and_two_plans_are_refused(toy, tmp_path, change, field):
    first = write_run(tmp_path / "a", toy, toy_plan(toy), "deaf", name="mine")
    second = write_run(tmp_path / "b", toy, toy_plan(toy, seeds=(1,), **change), "deaf", name="mine")
    with pytest.raises(PlanMismatch, match=rf"both named 'mine' but differ in {field}: .* against "):
        write_report([first, second], tmp_path / "out")


def test_runs_of_one_name_and_two_policies_are_refused(toy, tmp_path):
    first = write_run(tmp_path / "a", toy, toy_plan(toy), "deaf", name="mine")
    second = write_run(tmp_path / "b", toy, toy_plan(toy, seeds=(1,)), "listening", name="mine")
    with pytest.raises(PlanMismatch, match="differ in policy"):
        write_report([first, second], tmp_path / "out")


def test_methods_measured_differently_need_permission(toy, tmp_path, quick):
    first = write_run(tmp_path / "a", toy, toy_plan(toy), "deaf")
    second = write_run(tmp_path / "b", toy, toy_plan(toy, horizon=50), "listening")
    with pytest.raises(PlanMismatch, match=r"differ in horizon: 600 against 50; .*--allow-mixed"):
        write_report([first, second], tmp_path / "out")
    data = content(write_report([first, second], tmp_path / "out", allow_mixed=True))
    assert any("differ in horizon: 600 against 50" in warning for warning in data["warnings"])
    assert "differ in horizon" in (tmp_path / "out" / "report.html").read_text("utf-8")


def test_methods_on_two_registries_need_permission(toy, tmp_path, quick):
    first = write_run(tmp_path / "a", toy, toy_plan(toy), "deaf")
    other = dataclasses.replace(toy, sha256="0" * 64)
    second = write_run(tmp_path / "b", other, toy_plan(toy), "listening")
    with pytest.raises(PlanMismatch, match="registry_sha256"):
        write_report([first, second], tmp_path / "out")


def test_other_differences_between_methods_are_a_visible_warning(toy, tmp_path, quick):
    first = write_run(tmp_path / "a", toy, toy_plan(toy), "deaf")
    second = write_run(tmp_path / "b", toy, toy_plan(toy, init_states=range(1)), "listening")
    data = content(write_report([first, second], tmp_path / "out"))
    assert any("differ in init_states" in warning for warning in data["warnings"])


def versioned(toy, tmp_path, name, versions, seed=0, behaviour="deaf"):
    return write_run(tmp_path / name, toy, toy_plan(toy, seeds=(seed,)), behaviour, versions=versions)


def test_other_libraries_are_refused_unless_mixed_runs_are_allowed(toy, tmp_path, quick):
    first = versioned(toy, tmp_path, "a", {"mujoco": "3.3.2"})
    second = versioned(toy, tmp_path, "b", {"mujoco": "2.3.7"}, behaviour="listening")
    seed = versioned(toy, tmp_path, "c", {"mujoco": "2.3.7"}, seed=1)
    for other in (second, seed):
        with pytest.raises(PlanMismatch, match=r"differ in the version of mujoco: .*2\.3\.7.* and .*3\.3\.2"):
            write_report([first, other], tmp_path / "out")
        report = write_report([first, other], tmp_path / "out", allow_mixed=True)
        assert "Runs differ in the version of mujoco: 2.3.7, 3.3.2" in content(report)["warnings"]


def test_other_code_and_machines_are_a_visible_warning(toy, tmp_path, quick):
    names = ("gym-grounding source", "python", "platform", "gymnasium")
    first = versioned(toy, tmp_path, "a", dict.fromkeys(names, "1"))
    second = versioned(toy, tmp_path, "b", {**dict.fromkeys(names, "2"), "torch": "2.13"}, behaviour="listening")
    warnings = content(write_report([first, second], tmp_path / "out"))["warnings"]
    for name in names:
        assert f"Runs differ in the version of {name}: 1, 2" in warnings
    assert not any("torch" in text for text in warnings)  # only one of the policies uses it


def test_a_version_that_was_accepted_is_a_visible_warning(toy, tmp_path, quick):
    first = versioned(toy, tmp_path, "a", {"mujoco": "3.3.2"})
    second = versioned(toy, tmp_path, "b", {"mujoco": "2.3.7 | 3.3.2"}, behaviour="listening")
    warnings = content(write_report([first, second], tmp_path / "out"))["warnings"]
    assert "Runs differ in the version of mujoco: 2.3.7 | 3.3.2, 3.3.2" in warnings
    assert "A run was continued with another version of mujoco: 2.3.7 | 3.3.2" in warnings


def test_methods_may_differ_in_what_they_are_made_of_and_runs_of_one_may_not(toy, tmp_path, quick):
    made = [{"policy source": name, "policy file weights": name} for name in ("a", "b", "c | d")]
    one = write_run(tmp_path / "1", toy, toy_plan(toy, seeds=(0,)), "deaf", versions=made[0])
    same = write_run(tmp_path / "2", toy, toy_plan(toy, seeds=(1,)), "deaf", versions=made[1])
    other = write_run(tmp_path / "3", toy, toy_plan(toy), "listening", versions=made[2])
    warnings = content(write_report([one, same, other], tmp_path / "report"))["warnings"]
    found = [text for text in warnings if "policy source" in text or "policy file" in text]
    assert found == [
        "Runs of deaf differ in the policy source: a, b",
        "A run was continued with another version of policy file weights: c | d",
        "A run was continued with another version of policy source: c | d",
    ]


def test_missing_and_failed_cells_are_counted_and_are_no_failures(toy, tmp_path, quick):
    plan = toy_plan(toy, seeds=(0,))
    cells = [cell for cell in plan.cells(toy) if cell.variant == "Toy-T1-Original"]
    place = write_run(tmp_path / "run", toy, plan, "deaf", skill=1.0, skip=cells)
    with RunStore.create(place, RunStore.open(place).header) as store:
        store.add_error(ErrorRecord(**dataclasses.asdict(cells[0]), kind="policy", message="broke <here>"))
    data = content(write_report([place], tmp_path / "out"))
    found = find(data, "final_success", "deaf", condition="original", stage=5)
    assert (found["mean"], found["n"], found["tasks"]) == (1.0, 10, 5)
    total = data["methods"][0]["cells"]
    assert (total["error"], total["missing"], total["planned"] - total["done"]) == (1, 1, 2)
    (row,) = [row for row in rows(tmp_path / "out" / "tables" / "coverage.csv") if row["condition"] == "original"]
    assert (row["planned"], row["done"], row["missing"], row["error"]) == ("12", "10", "1", "1")
    (row,) = rows(tmp_path / "out" / "tables" / "errors.csv")
    assert row["message"] == "broke <here>"
    assert "broke &lt;here&gt;" in (tmp_path / "out" / "report.html").read_text("utf-8")
    assert any("1 are missing and 1 ended in an error" in warning for warning in data["warnings"])


def test_a_run_without_an_episode_still_makes_a_report(toy, tmp_path):
    plan = toy_plan(toy)
    place = write_run(tmp_path / "run", toy, plan, "deaf", skip=plan.cells(toy))
    data = content(write_report([place], tmp_path / "out"))
    assert all(one["mean"] is None and one["reason"] for one in data["measurements"])
    assert data["methods"][0]["cells"]["missing"] == len(plan.cells(toy))


def test_an_unplanned_condition_is_said_to_be_absent(toy, tmp_path, quick):
    place = write_run(tmp_path / "run", toy, toy_plan(toy, conditions=["original"]), "deaf")
    out = write_report([place], tmp_path / "out")
    assert "No run evaluates minimal contrasts." in (out / "report.md").read_text("utf-8")
    contrast = {"condition": "contrast", "tier": "strict", "stage": 5, "judged": "own"}
    assert find(content(out), "goal_switch_accuracy", "deaf", **contrast)["reason"] == "the plan has no contrasts"


def test_without_the_registry_cells_cannot_be_counted(toy, tmp_path, quick):
    other = dataclasses.replace(toy, sha256="0" * 64)
    place = write_run(tmp_path / "run", other, toy_plan(toy), "deaf")
    data = content(write_report([place], tmp_path / "out"))
    assert any("not at hand" in warning for warning in data["warnings"])
    assert data["methods"][0]["cells"]["planned"] is None
    (row,) = rows(tmp_path / "out" / "tables" / "runs.csv")
    assert row["missing"] == "?"
    assert find(data, "final_success", "deaf", condition="original", stage=5)["mean"] is not None


def test_names_from_records_cannot_break_the_page(toy, tmp_path):
    place = write_run(tmp_path / "run", toy, toy_plan(toy), "deaf", name=NASTY)
    out = write_report([place], tmp_path / "out")
    page = (out / "report.html").read_text("utf-8")
    assert page.count("<script") == 1
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    reader = Reader()
    reader.feed(page)
    assert reader.open == []
    bars = 0
    for line in (out / "report.md").read_text("utf-8").splitlines():
        if line.startswith("| Method"):
            bars = line.count("|")
        elif line.startswith("|") and "alert(1)" in line:
            assert not re.search(r"(?<!\\)<", line)
            assert line.replace("\\|", "").count("|") == bars


def test_learning_curves_beside_a_run_are_read(toy, tmp_path, quick):
    place = write_run(tmp_path / "run", toy, toy_plan(toy, stages="all"), "deaf")
    lines = [f"0,{task.id},{epoch},{epoch / 10}" for task in toy.suite_tasks("Toy") for epoch in (0, 10)]
    (place / "curves.csv").write_text("seed,task,epoch,success\n" + "\n".join(lines))
    data = content(write_report([place], tmp_path / "out"))
    assert find(data, "forward_transfer", "deaf", condition="original")["mean"] == pytest.approx(0.5)
    assert find(data, "libero_auc", "deaf", condition="original")["mean"] is not None


@pytest.mark.parametrize("line", ["0,Toy-T0,0,1.5", "0,Toy-T9,0,1", "0,Toy-T0,zero,1", "0,Toy-T0"])
def test_malformed_curves_are_named(toy, tmp_path, line):
    place = write_run(tmp_path / "run", toy, toy_plan(toy), "deaf")
    (place / "curves.csv").write_text(f"seed,task,epoch,success\n{line}\n")
    with pytest.raises(CorruptRun, match=r"curves\.csv: row .* the columns are seed, task, epoch, success"):
        write_report([place], tmp_path / "out")


def test_no_runs_and_no_run_there(tmp_path):
    with pytest.raises(InvalidOption, match="at least one run"):
        write_report([], tmp_path / "out")
    with pytest.raises(CorruptRun, match="holds no run"):
        write_report([tmp_path], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_written(toy, tmp_path, quick):
    place = write_run(tmp_path / "run", toy, toy_plan(toy), "deaf")
    blocker = tmp_path / "file"
    blocker.write_text("mine")
    with pytest.raises(UnwritableOutput, match="give another folder"):
        write_report([place], blocker / "report")
    with pytest.raises(UnwritableOutput, match="is a file"):
        write_report([place], blocker)
    assert blocker.read_text() == "mine"


def test_a_folder_with_other_things_is_left_alone(toy, tmp_path, quick):
    place = write_run(tmp_path / "run", toy, toy_plan(toy), "deaf")
    with pytest.raises(UnwritableOutput, match=r"holds run\.lock|holds run\.sqlite"):
        write_report([place], place)
    assert RunStore.open(place).episodes()


def test_an_old_report_is_replaced(toy, tmp_path, quick):
    place = write_run(tmp_path / "run", toy, toy_plan(toy), "deaf")
    out = write_report([place], tmp_path / "out")
    (out / "tables" / "stale.csv").write_text("")
    write_report([place], tmp_path / "out")
    assert not (out / "tables" / "stale.csv").exists()
    assert sorted(os.listdir(tmp_path)) == ["out", "run"]
    assert out.stat().st_mode & 0o777 == 0o777 & ~_umask()


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@pytest.mark.parametrize(
    ("failure", "seen"), [(OSError(28, "No space left"), UnwritableOutput), (KeyError("x"), KeyError)]
)
def test_a_failure_halfway_leaves_the_old_report_and_nothing_else(toy, tmp_path, monkeypatch, failure, seen):
    place = write_run(tmp_path / "run", toy, toy_plan(toy), "deaf")
    monkeypatch.setattr(writing, "draw", lambda book: ())
    out = write_report([place], tmp_path / "out")
    before = (out / "report.html").read_bytes()

    def fail(book):
        raise failure

    monkeypatch.setattr(writing, "draw", fail)
    with pytest.raises(seen):
        write_report([place], tmp_path / "out")
    assert (out / "report.html").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["out", "run"]


def test_the_metrics_page_holds_every_definition():
    page = metrics_page()
    for name in metrics.names():
        family = metrics.get(name)
        assert family.definition.strip() in page
        for quantity in family.quantities:
            assert quantity.definition in page
            assert f"`{quantity.name}`" in page


def test_importing_the_report_loads_no_plotting_library():
    code = "import sys, gym_grounding.report as r; print({'matplotlib', 'scipy', 'torch', 'mujoco'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.7254, "rate", "72.5"),
        (1.0, "rate", "100.0"),
        (0.032, "difference", "+3.2"),
        (-0.032, "difference", "−3.2"),  # noqa: RUF001
        (-0.0001, "difference", "0.0"),  # no negative zero
        (-0.5, "correlation", "−0.50"),  # noqa: RUF001
        (0.12345, "distance", "0.123"),
    ],
)
def test_numbers_are_written_for_people(value, unit, text):
    assert number(value, unit) == text


def test_missing_values_are_a_dash_with_a_note():
    table = Table(
        "t",
        "T",
        "",
        (Column("a", "A", "rate"), Column("b", "B", "rate")),
        (
            (Value(None, reason="nothing"), Value(0.5, std=0.1, interval=(0.4, 0.6))),
            (Value(None, reason="nothing"), None),
        ),
    )
    notes = table.notes()
    assert notes == {"nothing": "a"}
    written = write(table.rows[0][0], "rate", notes)
    assert (written.main, written.letter) == ("–", "a")  # noqa: RUF001
    assert write(table.rows[0][1], "rate", notes).main == "50.0 ± 10.0"
    assert write(table.rows[0][1], "rate", notes).aside == "[40.0, 60.0]"
    header, lines = flat(table)
    assert header[:4] == ["a", "a_std", "a_low", "a_high"]
    assert lines[0][0] is None
    assert all(len(line) == len(header) for line in lines)


def test_markdown_escapes_what_would_be_markup():
    assert escape("a|b\n<c> *d*") == "a\\|b \\<c\\> \\*d\\*"

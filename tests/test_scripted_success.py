"""The table of the scripted policy's successes."""

import json
from pathlib import Path

import pytest

from gym_grounding import manifest
from gym_grounding.records import Cell
from gym_grounding.rollout import error_record
from gym_grounding.testing.records import episode

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import scripted_success

    return scripted_success


def test_every_goal_with_a_skill_has_one_row(script):
    registry = manifest.load()
    rows = script.chosen(registry, None, per_task=False)
    goals = [goal.id for _, goal in rows]
    assert len(set(goals)) == len(goals) >= 15
    assert {"LiberoGoal-T1-Original", "LiberoGoal-T4-Original", "LiberoGoal-T8-Original"} <= {v.id for v, _ in rows}
    assert not any("drawer" in variant.instruction or "knob" in variant.instruction for variant, _ in rows)
    assert all(variant.condition in ("original", "contrast") for variant, _ in rows)


def test_rows_can_be_had_for_each_task(script):
    rows = script.chosen(manifest.load(), [1, 4, 8], per_task=True)
    assert {"LiberoGoal-T8-ContrastTarget1", "LiberoGoal-T1-Original"} <= {variant.id for variant, _ in rows}
    assert {variant.task for variant, _ in rows} == {"LiberoGoal-T1", "LiberoGoal-T4", "LiberoGoal-T8"}


def test_a_row_counts_episodes_by_the_goal_of_its_variant(script, capsys):
    registry = manifest.load()
    variant = registry.variant("LiberoGoal-T8-ContrastTarget1")
    outcomes = [
        episode("contrast", reached={"target": 60, "original": 5}),
        episode("contrast", reached={"target": 90}, at_end=[]),
        episode("contrast", reached={"original": 7}),
        error_record(Cell(9, variant.id, 3, 0), "simulator", RuntimeError("it broke")),
    ]
    found = script.row(variant, variant.goal, outcomes)
    assert (found["episodes"], found["ever"], found["end"], found["errors"]) == (3, 2, 1, 1)
    assert (found["median"], found["max"]) == (75, 90)
    assert script.line(found).endswith("| LiberoGoal-T8-ContrastTarget1 | 2/3 | 1/3 | 75.0 | 90 | 1 |")
    assert "RuntimeError: it broke" in capsys.readouterr().err
    assert script.row(variant, variant.goal, [])["median"] is None


@pytest.mark.sim
def test_the_table(script, tmp_path, capsys):
    path = tmp_path / "rows.json"
    assert script.main(["--states", "1", "--tasks", "1", "--originals", "--horizon", "75", "--json", str(path)]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == "| goal | variant | ever | end | median | max | errors |"
    (found,) = json.loads(path.read_text())
    assert (found["variant"], found["episodes"], found["ever"], found["end"]) == ("LiberoGoal-T1-Original", 1, 1, 1)
    assert 40 < found["median"] == found["max"] < 75
    assert out[2].startswith(
        "| on(akita_black_bowl_1, flat_stove_1_cook_region) | LiberoGoal-T1-Original | 1/1 | 1/1 | "
    )

"""The table of trained methods from a report and the logs of training."""

import importlib.util
import json
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("learners", Path(__file__).parents[1] / "benchmarks" / "learners.py")
TABLE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(TABLE)
ORDER = ["S-T1", "S-T0"]


def measured(quantity, mean, **scope):
    return {"method": "er", "quantity": quantity, "mean": mean, "scope": scope}


def page():
    contrast = {"condition": "contrast", "judged": "own", "tier": "strict", "stage": 1}
    return {
        "methods": [{"name": "er", "order": ORDER, "runs": [{"directory": "first"}]}],
        "measurements": [
            measured("success", 0.5, condition="original", stage=0, task="S-T1"),
            measured("success", 0.125, condition="original", stage=1, task="S-T1"),
            measured("success", 1.0, condition="original", stage=1, task="S-T0"),
            measured("final_success", 0.25, condition="original", stage=1),
            measured("final_success", 0.75, condition="paraphrase", stage=1),
            measured("nbt", 0.31, condition="original"),
            measured("auc", 0.32, condition="original"),
            measured("auc", 0.33, condition="paraphrase"),
            measured("goal_switch_accuracy", 0.34, **contrast),
            measured("goal_switch_accuracy", 0.99, **contrast, slot="object"),
            measured("original_persistence", None, **contrast),
            measured("original_goal_persistence", 0.36, condition="collision", judged="ever", stage=1),
        ],
    }


@pytest.fixture
def run(tmp_path):
    folder = tmp_path / "first"
    folder.mkdir()
    sizes = {"trained": 1000, "acting": 2000, "kept": 3_000_000}
    events = [
        {"event": "step", "seconds": 7.0},
        {"event": "task", "seconds": 60.0, "sizes": dict.fromkeys(sizes, 0)},
        {"event": "stage", "seconds": 240.0},
        {"event": "task", "seconds": 360.0, "sizes": sizes},
        {"event": "stage", "seconds": 420.0},
    ]
    (folder / "log.jsonl").write_text("".join(json.dumps(one) + "\n" for one in events))
    return folder


def test_a_row_holds_the_reports_numbers_and_the_logs_times(run):
    numbers = ["0.75", "0.25", "-", "0.31", "0.32", "0.33", "0.34", "-", "0.36"]
    assert TABLE.row(run, page()) == ["er", *numbers, "1", "2", "3,000", "3", "4"]


def test_what_was_not_evaluated_has_no_number(run):
    few = page()
    few["measurements"] = few["measurements"][1:]
    assert TABLE.row(run, few)[1] == "-"
    few["measurements"] = [one for one in few["measurements"] if one["quantity"] != "nbt"]
    with pytest.raises(SystemExit, match=r"nbt .* 0 such numbers"):
        TABLE.row(run, few)

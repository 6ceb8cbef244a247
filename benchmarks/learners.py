"""The table of trained methods: what each kept, and what it cost.

``python benchmarks/learners.py REPORT RUN...`` reads ``metrics.json`` of a report over the runs, and the log of each
run's training, and prints a row for each. Success on original instructions in ``RUN-last``, an evaluation of the last
stage on other initial states, gets a column.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gym_grounding.store import RunStore

COLUMNS = {
    "after all": ("final_success", {"condition": "original"}),
    "NBT": ("nbt", {"condition": "original"}),
    "AUC": ("auc", {"condition": "original"}),
    "paraphrase AUC": ("auc", {"condition": "paraphrase"}),
    "GSA": ("goal_switch_accuracy", {"condition": "contrast", "judged": "own", "tier": "strict"}),
    "persistence": ("original_persistence", {"condition": "contrast", "judged": "own", "tier": "strict"}),
    "OGP": ("original_goal_persistence", {"condition": "collision", "judged": "ever"}),
}
"""Column -> quantity of the report, and what its scope must be besides the stage."""
AGAIN = "-last"


def shown(value: float | None) -> str:
    """Two digits."""
    return "-" if value is None else f"{value:.2f}"


def value_of(measured: Iterable[Mapping[str, Any]], quantity: str, scope: Mapping[str, Any]) -> float | None:
    """The mean of a quantity whose scope is this one, at the last stage where it has one."""
    found = [one for one in measured if one["quantity"] == quantity and matches(one["scope"], scope)]
    if len(found) != 1:
        raise SystemExit(f"{quantity} {dict(scope)}: the report has {len(found)} such numbers, expected 1")
    mean: float | None = found[0]["mean"]
    return mean


def matches(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Equal but for the stage, of which reports hold the last for these quantities."""
    return {key: value for key, value in found.items() if key != "stage"} == dict(wanted)


def just_learned(measured: Iterable[Mapping[str, Any]], order: list[str]) -> float | None:
    """Mean success on each task at the stage that trained it."""
    wanted = [{"condition": "original", "stage": stage, "task": task} for stage, task in enumerate(order)]
    found = [one["mean"] for one in measured if one["quantity"] == "success" and one["scope"] in wanted]
    return None if len(found) < len(order) or None in found else sum(found) / len(found)


def costs(run: Path) -> tuple[float, float, Mapping[str, int]]:
    """Seconds of training, seconds of evaluation, and sizes after the last task."""
    training, evaluation, before, sizes = 0.0, 0.0, 0.0, {}
    for line in (run / "log.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["event"] == "task":
            training, sizes = training + event["seconds"] - before, event["sizes"]
        elif event["event"] == "stage":
            evaluation += event["seconds"] - before
        else:
            continue
        before = event["seconds"]
    return training, evaluation, sizes


def again(run: Path) -> float | None:
    """Success on originals in the evaluation beside a run; tasks weigh the same."""
    place = run.with_name(run.name + AGAIN)
    if not place.is_dir():
        return None
    with RunStore.open(place) as store:
        episodes = store.episodes()
    rates: dict[str, list[bool]] = {}
    for one in episodes:
        if one.condition == "original":
            rates.setdefault(one.task, []).append(bool(one.success))
    return sum(sum(one) / len(one) for one in rates.values()) / len(rates)


def row(run: Path, page: Mapping[str, Any]) -> list[str]:
    """A run's cells."""
    (method,) = [one for one in page["methods"] if any(part["directory"] == run.name for part in one["runs"])]
    measured = [one for one in page["measurements"] if one["method"] == method["name"]]
    training, evaluation, sizes = costs(run)
    values = [just_learned(measured, method["order"])]
    values += [value_of(measured, quantity, scope) for quantity, scope in COLUMNS.values()]
    values.insert(2, again(run))
    size = [f"{sizes[name] / 1000:,.0f}" for name in ("trained", "acting", "kept")]
    return [method["name"], *map(shown, values), *size, f"{training / 60:.0f}", f"{evaluation / 60:.0f}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path, help="folder of `gym-grounding report`")
    parser.add_argument("runs", type=Path, nargs="+", help="folders of `gym-grounding-policies train`")
    given = parser.parse_args()
    page = json.loads((given.report / "metrics.json").read_text())
    first, *rest = COLUMNS
    head = ["method", "just learned", first, f"{first}, other starts", *rest]
    head += ["trained, thousand", "to act", "kept besides", "training, min", "evaluation, min"]
    lines = [head, ["---"] + ["---:"] * (len(head) - 1), *(row(run, page) for run in given.runs)]
    print("\n".join(f"| {' | '.join(line)} |" for line in lines))


if __name__ == "__main__":
    main()

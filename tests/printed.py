"""Where the numbers of the plan of ``staged`` stand in a report, and how they are read from its files."""

import csv
import re

from staged import LAST

from gym_grounding.metrics import Scope
from gym_grounding.metrics.collision import INITIATION

OWN_READING = {"condition": "contrast", "tier": "strict", "stage": LAST, "judged": "own"}
COLLISION = {"condition": "collision", "stage": LAST}


def scope_at(**parts):
    """A scope of the last stage."""
    return Scope(**{"stage": LAST, **parts})


OUTCOMES = ("original_goal_persistence", "canonical_goal_activation")
OUTCOMES += ("outcome_original", "outcome_other", "outcome_multiple", "outcome_none")
CONTRASTS = ("target_success", "goal_switch_accuracy", "original_persistence", "both_goals", "neither_goal")
EVER = {"condition": "collision", "judged": "ever"}
PRINTED = {
    "summary": {
        "original": ("final_success", scope_at(condition="original")),
        "gap": ("paraphrase_gap", scope_at(condition="paraphrase")),
        "gsa_strict": ("goal_switch_accuracy", Scope(**OWN_READING)),
        "persistence_strict": ("original_persistence", Scope(**OWN_READING)),
        **{name: (name, scope_at(**EVER)) for name in OUTCOMES[:2]},
        "air": ("action_initiation", scope_at(condition="collision", threshold=INITIATION)),
    },
    "table_1_paraphrase": {
        "auc_original": ("auc", Scope(condition="original")),
        "auc_paraphrase": ("auc", Scope(condition="paraphrase")),
        "gap_auc": ("paraphrase_gap_auc", Scope(condition="paraphrase")),
        "final_original": ("final_success", scope_at(condition="original")),
        "final_paraphrase": ("final_success", scope_at(condition="paraphrase")),
        "gap_final": ("paraphrase_gap", scope_at(condition="paraphrase")),
    },
    "continual": {
        "nbt_original": ("nbt", Scope(condition="original")),
        "nbt_paraphrase": ("nbt", Scope(condition="paraphrase")),
        "forward_transfer": ("forward_transfer", Scope(condition="original")),
        "libero_auc": ("libero_auc", Scope(condition="original")),
        "success_at_end": ("success_at_end", scope_at(condition="original")),
    },
    "table_2_contrasts_strict": {name: (name, Scope(**OWN_READING)) for name in CONTRASTS},
    "table_collisions": {
        "action_initiation": ("action_initiation", scope_at(condition="collision", threshold=INITIATION)),
        **{name: (name, scope_at(**EVER)) for name in OUTCOMES},
    },
    "collisions_final_state": {name: (name, scope_at(condition="collision", judged="end")) for name in OUTCOMES},
    "table_swaps": {
        name: (name, scope_at(condition="swap")) for name in ("control_success", "swap_own_success", "swap_normalised")
    },
}
"""Table -> column -> what its row for a method (all slots) must hold."""
SIGNED = ("gap", "gap_auc", "gap_final", "nbt_original", "nbt_paraphrase")
SPLIT = {
    "contrast_readings": ("judged", {"some step": {"judged": "ever"}, "last step": {"judged": "end"}}, CONTRASTS),
    "contrast_goals": (
        "goal",
        {"trained": {"trained": True}, "never trained": {"trained": False}},
        CONTRASTS[:3],
    ),
    "table_2_contrasts_strict": (
        "slot",
        {name: {"slot": name} for name in ("object", "attribute", "relation", "target")},
        CONTRASTS,
    ),
}
"""Table -> the column that splits it, what its words mean, and the quantities in it."""


def rows_of(report, table):
    """The rows of a CSV file."""
    with (report / "tables" / f"{table}.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def held(cell):
    """A number of a CSV file; None for an empty cell."""
    return float(cell) if cell else None


def planned(table, conditions):
    """Whether a plan with these conditions has rows in a table."""
    needed = {"table_2_contrasts_strict": "contrast", "table_swaps": "swap"}.get(table)
    needed = "collision" if "collisions" in table else needed
    return needed is None or needed in conditions


def written(key, value):
    """A number as people read it."""
    if value is None:
        return "–"  # noqa: RUF001
    text = f"{value:.2f}" if key == "swap_normalised" else f"{round(100 * value, 1) + 0.0:.1f}"
    return f"+{text}" if key in SIGNED and value > 0 else text.replace("-", "−")  # noqa: RUF001


TITLES = {
    "summary": "Methods side by side",
    "table_1_paraphrase": "Table I. Original and paraphrased instructions",
    "continual": "Forgetting and transfer",
    "table_2_contrasts_strict": "Table IIa. Minimal contrasts, strict tier",
    "table_collisions": "Collisions: instructions that the scene cannot satisfy",
    "collisions_final_state": "Collisions judged in the final state",
    "table_swaps": "Swaps beside the same texts in their own tasks",
}


def page_rows(report, table, methods):
    """method -> cells of its row (the first, of all slots) on the page."""
    text = (report / "report.md").read_text(encoding="utf-8").split(f"### {TITLES[table]}\n")[1].split("\n### ")[0]
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    found = {}
    for cells in lines[2:]:
        found.setdefault(re.sub(r"\\", "", cells[0]), [cell.replace("\\", "") for cell in cells])
    assert set(found) == set(methods)
    return found


def columns_of(report, table):
    """Keys of a table's columns, as the CSV file names them, without the parts of values."""
    with (report / "tables" / f"{table}.csv").open(newline="", encoding="utf-8") as stream:
        header = next(csv.reader(stream))
    parts = ("std", "low", "high", "n", "variants", "tasks", "seeds", "void", "remark")
    return [
        key for key in header if not any(key.endswith(f"_{part}") and key[: -len(part) - 1] in header for part in parts)
    ]

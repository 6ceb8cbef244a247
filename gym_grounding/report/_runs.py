"""The tables about the runs themselves: what ran, what is missing, and every variant in detail."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gym_grounding import conditions
from gym_grounding import manifest as manifests
from gym_grounding.manifest import NOT_SHOWN, Manifest
from gym_grounding.metrics.collision import INITIATION
from gym_grounding.records import EpisodeRecord
from gym_grounding.report import _captions, _coverage
from gym_grounding.report._book import STANDING_WORDS, Book
from gym_grounding.report._coverage import Coverage
from gym_grounding.report._results import METHOD, short
from gym_grounding.report._study import Method
from gym_grounding.report._table import Cell, Column, Table

CELLS = (
    Column("planned", "Planned", "count"),
    Column("done", "Done", "count"),
    Column("missing", "Missing", "count"),
    Column("error", "Error", "count"),
    Column("void", "Void", "count"),
)
UNCOUNTED = "?"


def runs_table(book: Book) -> Table:
    """One row per method: what ran."""
    rows = []
    for method in book.methods:
        header, count = method.headers[0], _coverage.total(method)
        seeds = ", ".join(str(seed) for one in method.headers for seed in one.plan["seeds"])
        told = "yes" if header.task_identity else "no"
        rows.append((method.name, header.policy, told, seeds, ", ".join(method.runs), *_cells(count)))
    return Table(
        "runs",
        "Methods and runs",
        _captions.RUNS,
        (
            METHOD,
            Column("policy", "Policy"),
            Column("task_identity", "Told the task"),
            Column("seeds", "Seeds"),
            Column("runs", "Run directories"),
            *CELLS,
        ),
        tuple(rows),
    )


def coverage_table(book: Book) -> Table:
    """Planned, done, missing, failed-to-run and void cells by condition and tier."""
    rows: list[tuple[Cell, ...]] = []
    for method in book.methods:
        for (condition, tier), count in _coverage.by_condition(method).items():
            rows.append((method.name, condition, tier, None, *_cells(count)))
            if (apart := _coverage.by_reach(method, condition, tier)) is not None:
                rows.append((method.name, condition, tier, f"of these {STANDING_WORDS[NOT_SHOWN]}", *_cells(apart)))
    table = Table(
        "coverage",
        "Cells by condition",
        _captions.COVERAGE,
        (METHOD, Column("condition", "Condition"), Column("tier", "Tier"), Column("reach", "Goal"), *CELLS),
        tuple(rows),
    )
    return table if book.certified else _without(table, "reach")


def _without(table: Table, key: str) -> Table:
    place = next(index for index, column in enumerate(table.columns) if column.key == key)
    rows = tuple((*row[:place], *row[place + 1 :]) for row in table.rows)
    return replace(table, columns=(*table.columns[:place], *table.columns[place + 1 :]), rows=rows)


def errors_table(book: Book) -> Table | None:
    """Every cell that could not be finished."""
    rows = [
        (method.name, error.variant, error.stage, error.init_state, error.seed, error.kind, error.message)
        for method in book.methods
        for error in sorted(method.errors, key=lambda error: error.cell)
    ]
    if not rows:
        return None
    columns = (
        METHOD,
        Column("variant", "Variant"),
        *(Column(name, name.replace("_", " ").capitalize(), "count") for name in ("stage", "init_state", "seed")),
        Column("kind", "Kind"),
        Column("message", "Message"),
    )
    return Table("errors", "Cells that could not be finished", _captions.ERRORS, columns, tuple(rows), folded=True)


def variant_table(book: Book, method: Method, number: int) -> Table:
    """Every variant of a method at the last stage."""
    stage = method.evidence.final_stage
    rows = [
        (method.name, *_variant_row(book, method, variant, count))
        for variant, count in _coverage.by_variant(method, stage).items()
    ]
    order = {short(task): position for position, task in enumerate(method.evidence.order)}
    rank = {condition: position for position, condition in enumerate(_coverage.CONDITIONS)}
    rows.sort(key=lambda row: (order.get(str(row[2]), len(order)), rank.get(str(row[3]), len(rank)), str(row[1])))
    certifier = method.registry.certifier if method.registry else ""
    oracle = f" {_captions.ORACLE} {certifier}".rstrip() if book.certified else ""
    table = Table(
        f"variants_{number}",
        f"Variants: {method.name}",
        f"{_captions.VARIANTS}{oracle}",
        (replace(METHOD, shown=False), *VARIANT_COLUMNS),
        tuple(rows),
        folded=True,
    )
    return table if book.certified else _without(table, "oracle")


VARIANT_COLUMNS = (
    Column("variant", "Variant", "long"),
    Column("task", "Task", shown=False),
    Column("condition", "Condition", shown=False),
    Column("slot", "Slot", shown=False),
    Column("tier", "Tier"),
    Column("kind", "Type", shown=False),
    Column("judged", "Judged"),
    Column("instruction", "Instruction", "long"),
    Column("goal", "Goal that scores it"),
    Column("oracle", "Oracle"),
    CELLS[1],
    *(replace(column, shown=False) for column in CELLS[2:]),
    Column("left_out", "Not done, void", "tally"),
    Column("success", "Success", "rate"),
    Column("reached", "Reached", "tally"),
    Column("at_end", "At end", "tally"),
    Column("first_held", "First held", "tally"),
    Column("moved", "Moved", "count"),
)


def _variant_row(book: Book, method: Method, variant: str, count: Coverage) -> tuple[Cell, ...]:
    registry, stage = method.registry, method.evidence.final_stage
    episodes = [one for one in method.evidence.episodes if one.variant == variant and one.stage == stage]
    about = _about(episodes, registry, variant)
    if about is None:
        return (variant, *[None] * 9, *_cells(count)[1:], *[None] * 6)
    task, condition, slot, tier, kind, judged, instruction = about
    value = book.value(
        method.name, "success", condition=condition, tier=tier, stage=stage, task=task, slot=slot, variant=variant
    )
    return (
        *(variant, short(task), condition, slot, tier, kind, judged, instruction),
        _goal_text(registry, variant),
        _oracle(registry, variant),
        *_cells(count)[1:],
        _listed({name: number for name, number in _short_of(count) if number}),
        value if value.n or value.void else None,
        _listed(Counter(label for one in episodes for label in one.first_held if one.reached(label))),
        _listed(Counter(label for one in episodes for label in one.held_at_end if one.reached(label, "end"))),
        _listed(_first_steps(episodes)),
        sum(any(float(crossed) >= INITIATION - 1e-9 for crossed in one.motion_steps) for one in episodes),
    )


def _about(
    episodes: Sequence[EpisodeRecord], registry: Manifest | None, variant: str
) -> tuple[str, str, str | None, str | None, str, str, str] | None:
    """What is known of a variant: from its records, else from the registry."""
    known = registry.variants.get(variant) if registry else None
    one = episodes[0] if episodes else known
    if one is None:
        return None
    return one.task, one.condition, one.slot, one.tier, one.kind, one.judged, one.instruction


def _goal_text(registry: Manifest | None, variant: str) -> str | None:
    known = registry.variants.get(variant) if registry else None
    if registry is None or known is None or conditions.scored_by(known) is None:
        return None
    goals = registry.goals(variant)
    return goals.get("target", goals["original"]).id


def _oracle(registry: Manifest | None, variant: str) -> str | None:
    """What the registry says that an oracle showed of a variant's goal."""
    known = registry.variants.get(variant) if registry else None
    found = manifests.reach(known) if known else None
    if known is None or found is None:
        return None
    return f"{STANDING_WORDS[manifests.standing(known) or NOT_SHOWN]}, {found.successes} of {found.attempts}"


def _first_steps(episodes: Iterable[EpisodeRecord]) -> dict[str, int]:
    steps: dict[str, list[int]] = {}
    for one in episodes:
        for label, step in one.first_held.items():
            if one.reached(label):
                steps.setdefault(label, []).append(step)
    return {label: int(statistics.median_low(found)) for label, found in steps.items()}


def _listed(numbers: dict[str, int]) -> str:
    """``original 12, target 3, T4 1``: the two named goals first, then tasks by name."""
    first = [label for label in ("original", "target") if label in numbers]
    rest = sorted(set(numbers) - set(first))
    return ", ".join(f"{label if label in first else short(label)} {numbers[label]}" for label in (*first, *rest))


def _short_of(count: Coverage) -> tuple[tuple[str, int], ...]:
    return ("missing", count.missing or 0), ("error", count.error), ("void", count.void)


def _cells(count: Coverage) -> tuple[Cell, ...]:
    planned = UNCOUNTED if count.planned is None else count.planned
    missing = UNCOUNTED if count.missing is None else count.missing
    return planned, count.done, missing, count.error, count.void

"""What a registry holds of what it could hold: every cell counted once, filled or empty with a reason.

A cell is a place for one sentence: for each task one original, five paraphrases, and one contrast and one collision
for each of the five slots. The control conditions stand outside the cells and are counted apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from gym_grounding import conditions
from gym_grounding.errors import RegistryError
from gym_grounding.manifest import Manifest
from gym_grounding.manifest._source import parse
from gym_grounding.types import SLOTS, TIERS, Absent, Variant
from gym_grounding.variants._standings import not_shown, standings
from gym_grounding.variants._tables import Table
from gym_grounding.variants.reasons import broken, meaning

CONDITIONS = ("original", "paraphrase", "contrast", "collision")
"""Conditions that have cells, in the order of a page."""
NO_REASON = "no_reason_given"
"""Stands where an empty cell has no row that explains it."""
ALL = "all"
"""Row of the grand totals, and their key in the registry's ``counts``."""

Paper: TypeAlias = Mapping[str, Mapping[str, object]]
_Key: TypeAlias = tuple[str, str, str | None]


@dataclass(frozen=True, slots=True)
class Cell:
    """A place for one sentence.

    Attributes:
        suite: its suite.
        task: its task's id.
        condition: one of ``CONDITIONS``.
        slot: the changed slot (contrast, collision), else None.
        number: counts from 1 within (task, condition, slot).
        variant: what fills it; None when it is empty.
        absent: rows that say why it is empty, in file order; of a filled cell the refused rest.
    """

    suite: str
    task: str
    condition: str
    slot: str | None
    number: int
    variant: Variant | None
    absent: tuple[Absent, ...] = ()

    @property
    def reason(self) -> str:
        """Code of the first row that says why the cell is empty; empty when it is filled."""
        if self.variant is not None:
            return ""
        return self.absent[0].reason if self.absent else NO_REASON


def cells(manifest: Manifest) -> tuple[Cell, ...]:
    """Every cell of a registry, by task, condition, slot and number."""
    held: dict[_Key, list[Variant]] = defaultdict(list)
    for variant in manifest.variants.values():
        held[variant.task, variant.condition, variant.slot].append(variant)
    absent: dict[_Key, list[Absent]] = defaultdict(list)
    for row in manifest.absent:
        absent[row.task, row.condition, row.slot].append(row)
    return tuple(
        Cell(task.suite, task.id, name, slot, number, variant, tuple(absent[task.id, name, slot]))
        for task in manifest.tasks.values()
        for name in CONDITIONS
        for slot in (SLOTS if conditions.get(name).has_slot else (None,))
        for number, variant in _places(held[task.id, name, slot], conditions.get(name).per_task)
    )


def _places(held: Sequence[Variant], places: int) -> Iterator[tuple[int, Variant | None]]:
    """Each variant at its own number; one with a higher number takes a place that is left."""
    own = {variant.number: variant for variant in held if variant.number <= places}
    others = iter(sorted((variant for variant in held if variant.number > places), key=lambda one: one.number))
    for number in range(1, places + 1):
        yield number, own.get(number) or next(others, None)


def controls(manifest: Manifest) -> dict[tuple[str, str], int]:
    """(suite, condition) -> number of variants of a condition without cells, in file order."""
    rows = (row for row in manifest.variants.values() if row.condition not in CONDITIONS)
    return dict(Counter((manifest.tasks[row.task].suite, row.condition) for row in rows))


def paper(manifest: Manifest) -> Paper:
    """What the registry notes of another study's numbers: suite or ``all`` -> condition -> total, or slot -> total.

    Raises:
        RegistryError: the file has vanished or changed its form since it was loaded.
    """
    try:
        table = parse(Path(manifest.path).read_bytes(), manifest.path)
    except OSError as error:
        raise RegistryError(f"{manifest.path}: cannot be read again ({error.strerror}); keep the file") from error
    counts = table.get("counts")
    rows = counts if isinstance(counts, dict) else {}
    return {
        name: row["paper"] for name, row in rows.items() if isinstance(row, dict) and isinstance(row.get("paper"), dict)
    }


def tables(manifest: Manifest) -> tuple[Table, ...]:
    """Everything that is known of a registry's coverage."""
    found, noted = cells(manifest), paper(manifest)
    return tuple(
        table
        for table in (
            _totals(found, noted),
            _by_slot(found, noted),
            _differences(found, noted),
            _reasons(found),
            _refused(manifest),
            _controls(manifest),
            standings(manifest),
            not_shown(manifest),
        )
        if table.rows
    )


def _suites(found: Iterable[Cell]) -> list[str]:
    names = list(dict.fromkeys(cell.suite for cell in found))
    return [*names, ALL] if len(names) > 1 else names


def _of(found: Iterable[Cell], suite: str, condition: str) -> list[Cell]:
    return [cell for cell in found if cell.condition == condition and suite in (cell.suite, ALL)]


def _tier(group: Iterable[Cell], tier: str | None) -> int:
    return sum(cell.variant is not None and cell.variant.tier == tier for cell in group)


def _totals(found: Sequence[Cell], noted: Paper) -> Table:
    rows: list[tuple[object, ...]] = []
    for suite in _suites(found):
        for name in CONDITIONS:
            group = _of(found, suite, name)
            filled = sum(cell.variant is not None for cell in group)
            tiers = [_tier(group, tier) or "" for tier in TIERS] if name == "contrast" else ["", ""]
            theirs = _theirs(noted, suite, name)
            rows.append(
                (suite, name, len(group), filled, *tiers, len(group) - filled, "" if theirs is None else theirs)
            )
        group = [cell for cell in found if suite in (cell.suite, ALL)]
        filled = sum(cell.variant is not None for cell in group)
        whole = [_theirs(noted, suite, name) for name in CONDITIONS]
        known = [number for number in whole if number is not None]
        rows.append(
            (suite, "sum", len(group), filled, "", "", len(group) - filled, sum(known) if len(known) == 4 else "")
        )
    return Table(
        "Cells",
        "Every cell is filled by a variant or empty with a reason. Paper: what arXiv 2610.00542 keeps of as many.",
        ("suite", "condition", "cells", "filled", *TIERS, "empty", "paper"),
        tuple(rows),
    )


def _theirs(noted: Paper, suite: str, condition: str) -> int | None:
    """The paper's total, or None where it gives none."""
    value = noted.get(suite, {}).get(condition)
    if isinstance(value, dict):
        return sum(number for number in value.values() if isinstance(number, int))
    return value if isinstance(value, int) else None


def _by_slot(found: Sequence[Cell], noted: Paper) -> Table:
    rows: list[tuple[object, ...]] = []
    for suite in _suites(found):
        for name in (name for name in CONDITIONS if conditions.get(name).has_slot):
            group = [cell for cell in _of(found, suite, name) if cell.variant is not None]
            tiers = list(dict.fromkeys(cell.variant.tier for cell in group if cell.variant))
            rows += [
                (suite, name, tier, *_slots([cell for cell in group if cell.variant and cell.variant.tier == tier]))
                for tier in TIERS
                if tier in tiers
            ]
            rows.append((suite, name, "both" if set(TIERS) <= set(tiers) else "", *_slots(group)))
            theirs = noted.get(suite, {}).get(name)
            if isinstance(theirs, dict):
                rows.append(
                    (suite, name, "paper", *(theirs.get(slot, "") for slot in SLOTS), _theirs(noted, suite, name))
                )
            elif isinstance(theirs, int):
                rows.append((suite, name, "paper", *("" for _ in SLOTS), theirs))
    return Table(
        "Contrasts and collisions by slot",
        "Number of filled cells; the paper gives its contrasts on LIBERO-Goal by slot, and else only totals.",
        ("suite", "condition", "tier", *SLOTS, "sum"),
        tuple(rows),
    )


def _slots(group: Sequence[Cell]) -> tuple[int, ...]:
    count = Counter(cell.slot for cell in group)
    return (*(count[slot] for slot in SLOTS), len(group))


def _differences(found: Sequence[Cell], noted: Paper) -> Table:
    """Where the paper's numbers are known by slot: the cells that make the difference."""
    rows: list[tuple[object, ...]] = []
    for suite, row in noted.items():
        for name in (name for name in CONDITIONS if name in row):
            theirs = row[name]
            group = _of(found, suite, name)
            if isinstance(theirs, dict):
                for slot, number in theirs.items():
                    rows += _explained(suite, [cell for cell in group if cell.slot == slot], slot, number)
            elif isinstance(theirs, int):
                filled = sum(cell.variant is not None for cell in group)
                if filled != theirs:
                    rows.append((suite, name, "all", filled, theirs, "", _why(group)))
    return Table(
        "Differences from the paper",
        "Ours counts both tiers. Listed are the cells that could make the difference: the filled ones where the paper "
        "has fewer, the empty ones where it has more, the permissive ones where the numbers agree.",
        ("suite", "condition", "slot", "ours", "paper", "cell", "what is there"),
        tuple(rows),
    )


def _explained(suite: str, group: Sequence[Cell], slot: str, theirs: object) -> Iterator[tuple[object, ...]]:
    if not isinstance(theirs, int) or not group:
        return
    filled = [cell for cell in group if cell.variant is not None]
    if len(filled) > theirs:
        shown = filled
    elif len(filled) < theirs:
        shown = [cell for cell in group if cell.variant is None]
    else:
        shown = [cell for cell in filled if cell.variant and cell.variant.tier == TIERS[1]]
    for cell in shown:
        yield suite, cell.condition, slot, len(filled), theirs, cell.task, _what(cell)


def _what(cell: Cell) -> str:
    """The sentence that fills a cell, or all that was refused for it, or why nothing was proposed."""
    if cell.variant is not None:
        codes = ", ".join(broken(cell.variant.tier_reason))
        return f"{cell.variant.instruction} ({': '.join(filter(None, [cell.variant.tier, codes]))})"
    refused = [f"{row.instruction!r} ({row.reason})" for row in cell.absent if row.instruction is not None]
    if refused:
        return f"refused: {', '.join(refused)}"
    return next((f"{row.reason}: {row.note}" for row in cell.absent if row.note), cell.reason)


def _why(group: Iterable[Cell]) -> str:
    """Reasons of the empty cells by number."""
    count = Counter(cell.reason for cell in group if cell.variant is None)
    listed = ", ".join(
        f"{code} {number}" for code, number in sorted(count.items(), key=lambda item: (-item[1], item[0]))
    )
    return f"empty: {listed}" if listed else "no cell is empty"


def _reasons(found: Sequence[Cell]) -> Table:
    count = Counter((cell.condition, cell.reason) for cell in found if cell.variant is None)
    ordered = sorted(count.items(), key=lambda item: (CONDITIONS.index(item[0][0]), -item[1], item[0][1]))
    rows = [(name, code, number, meaning(code, name)) for (name, code), number in ordered]
    total = sum(count.values())
    return Table(
        "Why cells are empty",
        "Each empty cell is counted once, under the first reason that the file gives for it.",
        ("condition", "reason", "cells", "meaning"),
        (*rows, ("sum", "", total, "")) if rows else (),
    )


def _refused(manifest: Manifest) -> Table:
    count = Counter((row.condition, row.reason) for row in manifest.absent if row.instruction is not None)
    ordered = sorted(count.items(), key=lambda item: (_position(item[0][0]), -item[1], item[0][1]))
    rows = [(name, code, number, meaning(code, name)) for (name, code), number in ordered]
    return Table(
        "Refused sentences",
        "Every sentence that was proposed and is not registered, also in cells that another one fills.",
        ("condition", "reason", "sentences", "meaning"),
        (*rows, ("sum", "", sum(count.values()), "")) if rows else (),
    )


def _position(name: str) -> tuple[int, str]:
    return (CONDITIONS.index(name) if name in CONDITIONS else len(CONDITIONS), name)


def _controls(manifest: Manifest) -> Table:
    count = controls(manifest)
    names = list(dict.fromkeys(condition for _, condition in count))
    suites = list(dict.fromkeys(suite for suite, _ in count))
    rows: list[tuple[object, ...]] = [
        (suite, *(count.get((suite, name), 0) for name in names), sum(count.get((suite, n), 0) for n in names))
        for suite in suites
    ]
    if len(suites) > 1:
        rows.append((ALL, *(sum(count.get((s, name), 0) for s in suites) for name in names), sum(count.values())))
    return Table("Control conditions", "Variants outside the cells.", ("suite", *names, "sum"), tuple(rows))

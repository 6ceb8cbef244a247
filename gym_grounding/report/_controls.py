"""The tables of the control conditions."""

from __future__ import annotations

from collections.abc import Iterator

from gym_grounding.metrics import Scope, Value
from gym_grounding.metrics.collision import INITIATION
from gym_grounding.metrics.controls import ORDER, PARTS
from gym_grounding.report import _captions
from gym_grounding.report._book import Book
from gym_grounding.report._results import ALL, METHOD, N, caption, measured
from gym_grounding.report._study import Method
from gym_grounding.report._table import Cell, Column, Table, counts

GOALS = ("control_success", "control_original", "control_canonical")
MOVED = ("control_initiation", "control_opposite")
SWAPS = ("control_success", "swap_own_success", "swap_normalised")
REFERENCE = "canonical"


def planned(book: Book) -> tuple[str, ...]:
    """Control conditions that some method's plan evaluates, or that have episodes, in the order of the report."""
    return tuple(name for name in ORDER if book.planned(name))


def tables(book: Book) -> Iterator[Table]:
    """Every table of the control conditions; none where no run evaluates any."""
    if planned(book):
        yield _overview(book)
    if book.planned("swap"):
        yield _swaps(book)


def _overview(book: Book) -> Table:
    """One row per control condition and part, under the same method's canonical texts."""
    rows: list[tuple[Cell, ...]] = []
    for method in book.methods:
        own = [name for name in planned(book) if method in book.planned(name)]
        if own:
            rows.append(_reference(book, method))
        for condition in own:
            parts = (None, *PARTS.get(condition, {}).values())
            rows += [_row(book, method, condition, part) for part in parts]
            whole = Scope(condition=condition, stage=method.evidence.final_stage)
            for words, apart in book.apart(method.name, GOALS[0], whole):
                rows.append(_row(book, method, condition, None, words, apart.reach))
    columns = (METHOD, Column("condition", "Condition"), Column("part", "Part"), *measured(*GOALS, *MOVED), N)
    return Table("table_controls", "Control conditions", caption(book, _captions.CONTROLS), columns, tuple(rows))


def _reference(book: Book, method: Method) -> tuple[Cell, ...]:
    """The method under the canonical texts, whose goal is the original one."""
    stage = method.evidence.final_stage
    success = book.value(method.name, "success", condition="original", stage=stage)
    moved = book.value(method.name, "action_initiation", condition="original", stage=stage, threshold=INITIATION)
    return (method.name, REFERENCE, ALL, success, success, None, moved, None, counts(success))


def _row(
    book: Book, method: Method, condition: str, kind: str | None, words: str = "", reach: str | None = None
) -> tuple[Cell, ...]:
    scope = {"condition": condition, "kind": kind, "stage": method.evidence.final_stage, "reach": reach}
    goals: list[Value] = [book.value(method.name, name, **scope) for name in GOALS]
    moved = book.value(method.name, "control_initiation", threshold=INITIATION, **scope)
    opposite = book.value(method.name, "control_opposite", **scope) if condition == "reverse" else None
    part = words or (kind.replace("_", " ") if kind else ALL)
    return (method.name, condition, part, *goals, moved, opposite, counts(moved))


def _swaps(book: Book) -> Table:
    """Swap success beside that of the same texts in their own tasks."""
    rows: list[tuple[Cell, ...]] = []
    for method in book.planned("swap"):
        scope = Scope(condition="swap", stage=method.evidence.final_stage)
        values = [book.at(method.name, name, scope) for name in SWAPS]
        rows.append((method.name, *values, counts(values[0])))
    title = "Swaps beside the same texts in their own tasks"
    return Table("table_swaps", title, caption(book, _captions.SWAPS), (METHOD, *measured(*SWAPS), N), tuple(rows))

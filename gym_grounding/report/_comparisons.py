"""Tables of differences: methods against each other, and what each method's own numbers can show."""

from __future__ import annotations

from collections.abc import Iterator

from gym_grounding.metrics import Scope
from gym_grounding.report import _captions
from gym_grounding.report._book import Book
from gym_grounding.report._results import METHOD
from gym_grounding.report._table import Cell, Column, Table, counts

DIFFERENCES = ("success_difference", "auc_difference", "switch_difference", "persistence_difference")
P = Column("p", "p (McNemar)", "probability")
ADJUSTED = Column("p_holm", "p (Holm)", "probability")


def tables(book: Book) -> Iterator[Table]:
    """Every table of differences; those between methods only where there are several."""
    if len(book.methods) > 1:
        yield _between(book)
    yield _budget(book)


def _between(book: Book) -> Table:
    """One row per pair of methods, outcome and condition; pairs of which nothing can be said are left out."""
    rows: list[tuple[Cell, ...]] = []
    for quantity in DIFFERENCES:
        for method in book.methods:
            for scope in book.scopes(method.name, quantity):
                value = book.at(method.name, quantity, scope)
                if value.mean is None:
                    continue
                p, adjusted = (
                    book.at(method.name, name, scope) if _tested(quantity, scope) else None
                    for name in ("mcnemar_p", "adjusted_p")
                )
                where = f"{scope.condition}, {scope.tier}" if scope.tier else str(scope.condition)
                words = OUTCOMES[quantity]
                rows.append((method.name, scope.against, words, where, value, p, adjusted, counts(value)))
    columns = (
        METHOD,
        Column("against", "Against"),
        Column("outcome", "Outcome"),
        Column("condition", "Condition"),
        Column("difference", "Difference", "difference"),
        P,
        ADJUSTED,
        Column("n_counts", "n", "count"),
    )
    return Table(
        "comparisons", "Methods against each other", _captions.COMPARISONS, columns, tuple(rows), folded=len(rows) > 40
    )


OUTCOMES = {
    "success_difference": "final success",
    "auc_difference": "AUC",
    "switch_difference": "GSA",
    "persistence_difference": "original persistence",
}


def _tested(quantity: str, scope: Scope) -> bool:
    """Whether McNemar's test of this condition is one of this outcome."""
    if quantity == "auc_difference":
        return False
    return quantity != "persistence_difference" or scope.condition == "collision"


def _budget(book: Book) -> Table:
    """What the number of episodes can show: no gap, and a difference to another method."""
    rows: list[tuple[Cell, ...]] = []
    for method in book.methods:
        for scope in book.scopes(method.name, "smallest_difference"):
            value = book.at(method.name, "smallest_difference", scope)
            same = None
            if scope.condition == "paraphrase":
                same = book.value(
                    method.name, "gap_equivalence", condition="paraphrase", stage=method.evidence.final_stage
                )
            if value.n or same:
                where = f"{scope.condition}, {scope.tier}" if scope.tier else str(scope.condition)
                rows.append((method.name, where, value, same, counts(value)))
    columns = (
        METHOD,
        Column("condition", "Condition"),
        Column("smallest_difference", "Smallest difference", "rate"),
        Column("p_no_gap", "p of no gap", "probability"),
        Column("n_counts", "n", "count"),
    )
    return Table("budget", "What this budget can show", _captions.BUDGET, columns, tuple(rows))

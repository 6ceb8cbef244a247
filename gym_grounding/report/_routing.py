"""The table of routes: how often words changed which parts of a policy acted."""

from __future__ import annotations

from gym_grounding.report import _captions
from gym_grounding.report._book import Book
from gym_grounding.report._results import METHOD, N, measured
from gym_grounding.report._table import Cell, Column, Table, counts


def routing_table(book: Book) -> Table | None:
    """One row per method, note and condition; None where no policy notes a route."""
    rows: list[tuple[Cell, ...]] = []
    for method in book.methods:
        for scope in book.scopes(method.name, "route_changed"):
            changed = book.at(method.name, "route_changed", scope)
            moved = book.index.get((method.name, "route_moved", scope))
            place = (scope.kind, scope.condition, scope.tier)
            rows.append((method.name, *place, changed, moved, counts(changed)))
    if not rows:
        return None
    columns = (
        METHOD,
        Column("note", "Note"),
        Column("condition", "Condition"),
        Column("tier", "Tier"),
        *measured("route_changed", "route_moved"),
        N,
    )
    return Table("table_routing", "Routes under other words", _captions.ROUTING, columns, tuple(rows))

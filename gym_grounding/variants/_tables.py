"""A small table, for a terminal and for a Markdown page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Table:
    """One table.

    Attributes:
        title: heading.
        caption: what is counted how.
        header: names of the columns.
        rows: as many values as there are columns.
    """

    title: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]


def as_text(tables: Iterable[Table]) -> str:
    """Tables with aligned columns, for a terminal."""
    return "\n\n".join(_text(table) for table in tables)


def as_markdown(tables: Iterable[Table]) -> str:
    """Tables for a Markdown page."""
    return "\n\n".join(_markdown(table) for table in tables)


def _text(table: Table) -> str:
    cells = [table.header, *([str(value) for value in row] for row in table.rows)]
    last = len(table.header) - 1
    widths = [max(len(row[place]) for row in cells) for place in range(last)]
    right = numeric(table)
    lines = [table.title, table.caption, ""]
    for row in cells:
        parts = [
            row[place].rjust(width) if right[place] else row[place].ljust(width) for place, width in enumerate(widths)
        ]
        end = row[last].rjust(max(len(one[last]) for one in cells)) if right[last] else row[last]
        lines.append("  ".join([*parts, end]).rstrip())
    return "\n".join(lines)


def _markdown(table: Table) -> str:
    rule = ("---:" if right else "---" for right in numeric(table))
    lines = [_row(table.header), _row(rule), *(_row(escaped(value) for value in row) for row in table.rows)]
    return f"**{table.title}.** {table.caption}\n\n" + "\n".join(lines)


def _row(values: Iterable[object]) -> str:
    return f"| {' | '.join(str(value) for value in values)} |"


def escaped(value: object) -> str:
    """Text as literal Markdown, on one line."""
    return re.sub(r"([\\`*\[\]<>|#~])", r"\\\1", " ".join(str(value).split()))


def numeric(table: Table) -> Sequence[bool]:
    """Columns that hold numbers, or nothing, throughout."""
    columns = list(zip(*table.rows, strict=True)) if table.rows else [() for _ in table.header]
    return [
        any(isinstance(value, int) for value in column)
        and all(isinstance(value, int) or value == "" for value in column)
        for column in columns
    ]

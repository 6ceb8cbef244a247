"""Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gym_grounding.report._table import TEXT, Table, Written, write


def escape(text: object) -> str:
    """Text from a record or a user as literal Markdown, on one line."""
    line = " ".join(str(text).split())
    return re.sub(r"([\\`*_{}\[\]<>|#~])", r"\\\1", line)


def table(content: Table) -> str:
    """A table with its title, caption and notes."""
    content = content.visible()
    notes = content.notes()
    lines = [
        row_of(escape(column.label) for column in content.columns),
        row_of("---" if column.unit in TEXT else "---:" for column in content.columns),
    ]
    for row in content.rows:
        cells = (write(cell, column.unit, notes) for cell, column in zip(row, content.columns, strict=True))
        lines.append(row_of(_cell(cell) for cell in cells))
    lines.append("")
    lines += [f"({letter}) {escape(text)}  " for text, letter in notes.items()]
    return f"### {escape(content.title)}\n\n{escape(content.caption)}\n\n" + "\n".join(lines).rstrip() + "\n"


def row_of(cells: Iterable[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def bullets(items: Sequence[str]) -> str:
    """A list."""
    return "\n".join(f"- {escape(item)}" for item in items)


def _cell(cell: Written) -> str:
    aside = f" {escape(cell.aside)}" if cell.aside else ""
    letter = f" ({cell.letter})" if cell.letter else ""
    return f"{escape(cell.main)}{aside}{letter}"

"""LaTeX: one table a file, with booktabs, to be read in by a paper."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gym_grounding.report._table import TEXT, Column, Table, Written, write

SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "±": r"$\pm$",
    "−": r"$-$",  # noqa: RUF001 -- the sign that tables print
    "–": "--",  # noqa: RUF001 -- the dash of a missing number
    "×": r"$\times$",  # noqa: RUF001
    "…": r"\ldots{}",
    **{sign: f"\\{sign}" for sign in "&%$#_"},
}
"""Character -> what prints it."""
HEAD = "% Needs \\usepackage{booktabs} and \\usepackage[T1]{fontenc}."


def escape(text: object) -> str:
    """Text from a record or a user as literal LaTeX, on one line."""
    return "".join(SPECIAL.get(sign, sign) for sign in " ".join(str(text).split()))


def table(content: Table) -> str:
    """A ``table`` float with its caption, label and notes."""
    content = content.visible()
    notes = content.notes()
    kinds = "".join("l" if column.unit in TEXT else "r" for column in content.columns)
    rows = [_line(_heading(column) for column in content.columns), r"\midrule"]
    for row in content.rows:
        cells = (write(cell, column.unit, notes) for cell, column in zip(row, content.columns, strict=True))
        rows.append(_line(_cell(cell) for cell in cells))
    listed = [rf"\textsuperscript{{{letter}}} {escape(text)}\par" for text, letter in notes.items()]
    lines = [
        HEAD,
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape(content.title)}. {escape(content.caption)}}}",
        rf"\label{{tab:{_label(content.name)}}}",
        rf"\begin{{tabular}}{{{kinds}}}",
        r"\toprule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
        *([r"\par\smallskip\footnotesize", *listed] if listed else []),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _label(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9:-]", "-", name)


def _heading(column: Column) -> str:
    return escape(column.label)


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def _cell(cell: Written) -> str:
    aside = f" {{\\footnotesize {escape(cell.aside)}}}" if cell.aside else ""
    letter = rf"\textsuperscript{{{cell.letter}}}" if cell.letter else ""
    return f"{escape(cell.main)}{aside}{letter}"

"""A table as data, and how its cells are written. The three formats (HTML, Markdown, CSV) share it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from gym_grounding.metrics import Value

Cell = str | int | float | None | Value
TEXT = ("text", "long", "tally")
DASH = "–"  # noqa: RUF001 -- the typographic sign for "no value"
MINUS = "−"  # noqa: RUF001 -- as wide as the digits and the plus sign


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    Attributes:
        key: name in the CSV file.
        label: heading for people.
        unit: ``text``, ``long`` (text that needs room), ``tally`` (names with numbers), ``count``, or the unit of a
            quantity (see ``metrics.Quantity``).
        shown: whether people see it; the CSV file has every column.
    """

    key: str
    label: str
    unit: str = "text"
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """One table.

    Attributes:
        name: stem of its CSV file.
        title: heading.
        caption: what is measured how.
        columns: as many as each row has cells.
        rows: the cells; a None prints as nothing, a Value without a mean as a dash with its reason below the table.
        folded: shown only on demand where the format can.
    """

    name: str
    title: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    folded: bool = False

    def visible(self) -> Table:
        """The table without the columns that only the CSV file has."""
        kept = [index for index, column in enumerate(self.columns) if column.shown]
        rows = tuple(tuple(row[index] for index in kept) for row in self.rows)
        return replace(self, columns=tuple(self.columns[index] for index in kept), rows=rows)

    def notes(self) -> dict[str, str]:
        """Text of each reason or note in the cells -> its letter, in order of appearance."""
        texts = (remark(cell) for row in self.rows for cell in row)
        found = dict.fromkeys(text for text in texts if text)
        return {text: _letter(index) for index, text in enumerate(found)}


@dataclass(frozen=True, slots=True)
class Written:
    """A cell as text: the number, what stands smaller beside it, and the letter of its note."""

    main: str
    aside: str = ""
    letter: str = ""


def remark(cell: Cell) -> str:
    """Why a cell has no number, or what must be known about its number."""
    return (cell.reason or cell.note) if isinstance(cell, Value) else ""


def write(cell: Cell, unit: str, notes: dict[str, str]) -> Written:
    """A cell for people. Rates are percent with one decimal, differences carry their sign."""
    if isinstance(cell, Value):
        letter = notes.get(remark(cell), "")
        if cell.mean is None:
            return Written(DASH, letter=letter)
        main = number(cell.mean, unit) + ("" if cell.std is None else f" ± {number(cell.std, unit, signed=False)}")
        interval = cell.interval and f"[{number(cell.interval[0], unit)}, {number(cell.interval[1], unit)}]"
        return Written(main, interval or "", letter)
    if cell is None:
        return Written("")
    return Written(number(cell, unit) if isinstance(cell, float) else str(cell))


def number(value: float, unit: str, signed: bool = True) -> str:
    """A number in its unit: percent with one decimal for rates and differences, else two or three decimals."""
    if unit == "probability":
        return "< 0.001" if value < 0.001 else f"{value:.3f}"
    sign = "+" if signed and unit in ("difference", "correlation", "log density") else ""
    scale, digits = (100, 1) if unit in ("rate", "difference") else (1, 2 if unit in ("correlation", "ratio") else 3)
    shown = round(scale * value, digits) + 0.0  # no negative zero
    return f"{shown:{sign if shown else ''}.{digits}f}".replace("-", MINUS)


def counts(value: Value) -> str:
    """How many episodes (or probes), variants, tasks and seeds are behind a number."""
    return f"{value.n} / {value.variants} / {value.tasks} / {value.seeds}"


def flat(table: Table) -> tuple[list[str], list[list[object]]]:
    """Header and rows for a CSV file: raw numbers, a Value spread over several columns."""
    spread = [any(isinstance(row[index], Value) for row in table.rows) for index in range(len(table.columns))]
    header: list[str] = []
    for column, is_value in zip(table.columns, spread, strict=True):
        header += [column.key, *(f"{column.key}_{part}" for part in PARTS)] if is_value else [column.key]
    rows = [
        [part for cell, is_value in zip(row, spread, strict=True) for part in _parts(cell, is_value)]
        for row in table.rows
    ]
    return header, rows


PARTS = ("std", "low", "high", "n", "variants", "tasks", "seeds", "void", "remark")


def _parts(cell: Cell, is_value: bool) -> Iterable[object]:
    if not is_value:
        return [cell]
    if not isinstance(cell, Value):
        return [cell, *[None] * len(PARTS)]
    low, high = cell.interval or (None, None)
    return [cell.mean, cell.std, low, high, cell.n, cell.variants, cell.tasks, cell.seeds, cell.void, remark(cell)]


def _letter(index: int) -> str:
    """a, b, ..., z, aa, ab, ..."""
    quotient, rest = divmod(index, 26)
    return (_letter(quotient - 1) if quotient else "") + chr(ord("a") + rest)


def first_value(values: Sequence[Value]) -> Value:
    """The first value that has a number, for counts that the whole row shares; else the first."""
    return next((value for value in values if value.mean is not None), values[0])

"""Reading the fields of one row: types and missing or unknown fields."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

from gym_grounding.manifest._report import Report, no_such, shown
from gym_grounding.manifest._source import Table

_KINDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    Table: "a mapping",
}


class Row:
    """One mapping of the file. Getters record a problem and return an empty value of their type when a field is bad.

    Args:
        report: where problems go.
        place: how messages name the row.
        table: the data.
        prefix: path of fields inside the row, such as ``certificate.``.

    Attributes:
        ok: no problem was found in this row so far.
    """

    def __init__(self, report: Report, place: str, table: Table, prefix: str = "") -> None:
        self.report, self.place, self.table, self.prefix = report, place, table, prefix
        self.ok = True
        self._known: set[str] = set()

    def bad(self, field: str, message: str) -> None:
        """Record a problem of a field."""
        self.ok = False
        self.report.add(self.place, self.prefix + field, message)

    def __contains__(self, field: str) -> bool:
        self._known.add(field)
        return self.table.get(field) is not None

    def text(self, field: str, default: str | None = None, pattern: str = r"(?s).+") -> str:
        """A field that holds text matching ``pattern`` from end to end."""
        value = self._get(field, str, default)
        if isinstance(value, str) and value != default and not re.fullmatch(pattern, value):
            self.bad(field, f"is {shown(value)}; {'must not be empty' if not value else f'must match {pattern}'}")
        return value if isinstance(value, str) else ""

    def choice(self, field: str, known: Sequence[str], default: str | None = None) -> str:
        """A field that holds one of the known names."""
        value = self.text(field, default)
        if value and value != default and value not in known:
            self.bad(field, no_such(field, value, known))
        return value

    def integer(self, field: str, low: int, high: int, default: int | None = None) -> int:
        """A field that holds a whole number in [low, high]."""
        value = self._get(field, int, default)
        if not isinstance(value, int):
            return low
        if not low <= value <= high:
            self.bad(field, f"is {value}; must be in [{low}, {high}]")
        return value

    def flag(self, field: str, default: bool | None = None) -> bool:
        """A field that holds true or false."""
        return bool(self._get(field, bool, default))

    def items(self, field: str, kind: type = str, default: tuple[object, ...] | None = None) -> list[object]:
        """A field that holds a list whose members all have one type."""
        value = self._get(field, list, default)
        if not isinstance(value, list):
            return []
        for index, item in enumerate(value):
            if not _is(item, kind):
                self.bad(f"{field}[{index}]", f"is {shown(item)}; must be {_KINDS[kind]}")
                return []
        return value

    def number(self, field: str, low: float = -math.inf) -> float:
        """A field that holds a finite number of at least ``low``."""
        value = self._get(field, float, None)
        if not isinstance(value, int | float) or isinstance(value, bool):
            return 0.0
        if not math.isfinite(value):
            self.bad(field, f"is {value}; must be finite")
        elif value < low:
            self.bad(field, f"is {value}; must be at least {low:g}")
        return float(value)

    def texts(self, field: str, default: tuple[object, ...] | None = None, pattern: str = "(?s).+") -> tuple[str, ...]:
        """A field that holds a list of different texts that match ``pattern`` from end to end."""
        values = tuple(str(item) for item in self.items(field, str, default))
        seen: set[str] = set()
        for index, value in enumerate(values):
            if value in seen:
                self.bad(field, f"names {shown(value)} twice; keep one")
            elif not re.fullmatch(pattern, value):
                must = f"must match {pattern}" if value else "must not be empty"
                self.bad(f"{field}[{index}]", f"is {shown(value)}; {must}")
            seen.add(value)
        return values

    def numbers(self, field: str, count: int) -> tuple[float, ...]:
        """A field that holds ``count`` finite numbers."""
        values = self.items(field, float)
        if self.ok and len(values) != count:
            self.bad(field, f"has {len(values)} numbers; must have {count}")
        floats = tuple(float(value) for value in values if isinstance(value, int | float))
        for index, number in enumerate(floats):
            if not math.isfinite(number):
                self.bad(f"{field}[{index}]", f"is {number}; must be finite")
        return floats

    def row(self, field: str) -> Row | None:
        """A field that holds a mapping, as a row of its own; None when it is absent or bad."""
        if field not in self:
            return None
        value = self._get(field, Table, None)
        return Row(self.report, self.place, value, f"{self.prefix}{field}.") if isinstance(value, Table) else None

    def members(self, field: str) -> Iterator[tuple[str, Row]]:
        """A field that holds a mapping from names to mappings; a problem in one is a problem of this row."""
        table = self._get(field, Table, None)
        for name, value in table.items() if isinstance(table, Table) else ():
            if isinstance(value, Table):
                member = Row(self.report, self.place, value, f"{self.prefix}{field}.{name}.")
                yield name, member
                self.ok &= member.ok
            else:
                self.bad(f"{field}.{name}", f"is {shown(value)}; must be a mapping")

    def done(self) -> bool:
        """Complain of unknown fields; whether the row is free of problems."""
        for field in self.table:
            if field not in self._known:
                self.bad(str(field), no_such("field", str(field), self._known))
        return self.ok

    def _get(self, field: str, kind: type, default: object) -> object:
        self._known.add(field)
        value = self.table.get(field)
        if value is None:
            if default is None:
                state = "is empty" if field in self.table else "is missing"
                self.bad(field, f"{state}; must be {_KINDS[kind]}")
            return list(default) if isinstance(default, tuple) else default
        if not _is(value, kind):
            quote = "; put it in quotes" if kind is str and isinstance(value, int | float) else ""
            self.bad(field, f"is {shown(value)}; must be {_KINDS[kind]}{quote}")
            return list(default) if isinstance(default, tuple) else default
        return value


def _is(value: object, kind: type) -> bool:
    if isinstance(value, bool):
        return kind is bool
    return isinstance(value, (int, float) if kind is float else kind)


def rows(report: Report, table: Table, section: str, known: set[str]) -> Iterator[Row]:
    """The rows of a section that holds a list of mappings, each placed by its ``id`` or its line."""
    known.add(section)
    value = table.get(section)
    if value is None:
        return
    if not isinstance(value, list):
        report.add("", section, f"is {shown(value)}; must be a list of rows")
        return
    for index, item in enumerate(value):
        if not isinstance(item, Table):
            report.add(f"{section}[{index}]", "", f"is {shown(item)}; must be a mapping")
            continue
        name = item.get("id")
        label = name if isinstance(name, str) and name else f"{section}[{index}] (line {item.line})"
        yield Row(report, label, item)


def named(report: Report, table: Table, section: str, known: set[str]) -> Iterator[tuple[str, Row]]:
    """The rows of a section that holds a mapping from names to mappings."""
    known.add(section)
    value = table.get(section)
    if value is None:
        return
    if not isinstance(value, Table):
        report.add("", section, f"is {shown(value)}; must be a mapping from names to rows")
        return
    for name, item in value.items():
        if isinstance(item, Table):
            yield name, Row(report, f"{section}.{name}", item)
        else:
            report.add(f"{section}.{name}", "", f"is {shown(item)}; must be a mapping")

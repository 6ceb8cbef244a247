"""The kinds of charts that the report's figures are made of, each a function from numbers to a drawing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gym_grounding.metrics import Value
from gym_grounding.report._canvas import SHAPES, Box, Dot, Drawing, Line, Mark, Text, below, cut, text_width, tiled
from gym_grounding.report._paint import SERIES, heat
from gym_grounding.report._table import number

WIDEST = 1000
"""Of a figure, in pixels of the page."""
SMALL = 9.5
PERCENT = ("rate", "difference")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a chart of dots.

    Attributes:
        head: lines above it.
        unit: of its values, see ``metrics.Quantity``.
        values: one per row; several are drawn below each other, the first filled, the next hollow.
        width: of its axis, in pixels.
    """

    head: tuple[str, ...]
    unit: str
    values: tuple[tuple[Value, ...], ...]
    width: float = 66


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a panel: its name, its number among all (which decides colour and marker), stage -> value."""

    name: str
    number: int
    values: Mapping[int, Value]


def series_paint(number: int) -> str:
    """Colour of the method at a place in the report."""
    return f"series{number % SERIES}"


def dots(names: Sequence[str], columns: Sequence[Column]) -> Drawing:
    """A table of dots with their intervals and numbers: one row per name.

    Columns of rates share the axis from 0 to 100 percent; those of differences have zero in the middle.
    """
    numbers, gap, high = 38.0, 18.0, 30.0 if any(len(cell) > 1 for one in columns for cell in one.values) else 24.0
    left = min(190.0, max(text_width(name) for name in names)) + 12
    head = 14.0 * max(len(column.head) for column in columns) + 6
    bottom = head + high * len(names)
    sheet = Drawing(left + sum(column.width + numbers + gap for column in columns) - gap, bottom + 20)
    for row, name in enumerate(names):
        middle = head + high * (row + 0.5)
        sheet.add(Text(0, middle + 4, cut(name, left - 12)))
        sheet.add(Line(((0, head + high * row), (sheet.width, head + high * row)), "line"))
    sheet.add(Line(((0, bottom), (sheet.width, bottom)), "line"))
    start = left
    for column in columns:
        lines = len(column.head)
        sheet.extend(
            Text(start, head - 10 - 14 * (lines - 1 - line), words, bold=line == 0)
            for line, words in enumerate(column.head)
        )
        sheet.extend(_column(column, start, head, high, names))
        start += column.width + numbers + gap
    return sheet


def _column(column: Column, start: float, head: float, high: float, names: Sequence[str]) -> Iterator[Mark]:
    plot = column.width
    low, top = _domain(column.unit, [value for cell in column.values for value in cell])

    def across(value: float) -> float:
        return start + plot * (min(top, max(low, value)) - low) / (top - low)

    bottom = head + high * len(names)
    for tick in dict.fromkeys((low, (low + top) / 2, top)):
        yield Line(((across(tick), head), (across(tick), bottom + 3)), "line")
        yield Text(across(tick), bottom + 14, _tick(tick, column.unit), "middle", "soft", SMALL)
    for row, cell in enumerate(column.values):
        step = min(11.0, high / (len(cell) + 0.5))
        for line, value in enumerate(cell):
            y = head + high * (row + 0.5) + step * (line - (len(cell) - 1) / 2)
            yield from _dot(value, column.unit, across, y, names[row], line)
            words = number(value.mean, column.unit) if value.mean is not None else "–"  # noqa: RUF001 -- no value
            paint = "ink" if value.mean is not None else "soft"
            yield Text(start + plot + 9, y + 3.5, words, paint=paint, size=SMALL if len(cell) > 1 else 10.5)


def _dot(value: Value, unit: str, across: Callable[[float], float], y: float, name: str, line: int) -> Iterator[Mark]:
    if value.mean is None:
        return
    if value.interval:
        yield Line(tuple((across(end), y) for end in value.interval), "series0", 1.4)
    yield Dot(across(value.mean), y, "series0", "o", line > 0, title=f"{name}: {_said(value, unit)}")


def _said(value: Value, unit: str) -> str:
    """A number with its interval, as a pointer over it says it."""
    assert value.mean is not None
    interval = f" [{', '.join(number(end, unit) for end in value.interval)}]" if value.interval else ""
    return f"{number(value.mean, unit)}{interval}"


def over_stages(panels: Sequence[tuple[str, str, Sequence[Series]]], stages: Sequence[int]) -> Drawing:
    """Lines over stages, named at their right ends.

    Args:
        panels: (title, unit, lines).
        stages: every stage of any line, rising.
    """
    names = {line.name for _, _, series in panels for line in series}
    room = min(120.0, max(text_width(name, SMALL) for name in names)) + 6
    return tiled([_panel(title, unit, series, stages, room) for title, unit, series in panels], WIDEST)


def _panel(title: str, unit: str, series: Sequence[Series], stages: Sequence[int], room: float) -> Drawing:
    left, plot, top, high = 34.0, 200.0, 22.0, 132.0
    sheet = Drawing(left + plot + room, top + high + 32)
    few = len(series) < 3  # with more, intervals would hide the lines
    shown = [value for line in series for value in line.values.values()]
    low, end = _domain(unit, shown if few else [replace(value, interval=None) for value in shown])

    def place(stage: int, value: float) -> tuple[float, float]:
        share = stages.index(stage) / max(1, len(stages) - 1)
        return left + 6 + (plot - 12) * share, top + high * (end - value) / (end - low)

    sheet.add(Text(0, 11, title, bold=True))
    for tick in (low + (end - low) * part / 4 for part in range(5)):
        y = top + high * (end - tick) / (end - low)
        sheet.add(Line(((left, y), (left + plot, y)), "line"))
        sheet.add(Text(left - 5, y + 3.5, _tick(tick, unit), "end", "soft", SMALL))
    every = max(1, math.ceil(len(stages) * 18 / plot))
    for stage in stages[::every]:
        sheet.add(Text(place(stage, low)[0], top + high + 13, str(stage), "middle", "soft", SMALL))
    sheet.add(Text(left + plot / 2, top + high + 27, "stage", "middle", "soft", SMALL))
    for line in series:
        sheet.extend(_line(line, unit, place, few))
    sheet.extend(_names(series, place, left + plot + 4, top, top + high, room - 6))
    return sheet


def _line(line: Series, unit: str, place: Callable[[int, float], tuple[float, float]], few: bool) -> Iterator[Mark]:
    paint, shape = series_paint(line.number), SHAPES[line.number % len(SHAPES)]
    found = [(stage, value, value.mean) for stage, value in sorted(line.values.items()) if value.mean is not None]
    if few:
        for stage, value, _ in found:
            if value.interval:
                yield Line(tuple(place(stage, bound) for bound in value.interval), paint, 0.7)
    yield Line(tuple(place(stage, mean) for stage, _, mean in found), paint, 1.6)
    for stage, value, mean in found:
        title = f"{line.name}, stage {stage}: {_said(value, unit)}"
        yield Dot(*place(stage, mean), paint, shape, radius=2.7, title=title)


def _names(
    series: Sequence[Series],
    place: Callable[[int, float], tuple[float, float]],
    x: float,
    top: float,
    bottom: float,
    room: float,
) -> Iterator[Mark]:
    """Names beside the ends of their lines, moved apart where they would overlap."""
    ends = []
    for line in series:
        means = {stage: value.mean for stage, value in line.values.items() if value.mean is not None}
        last = max(means)
        ends.append((place(last, float(means[last]))[1], line))
    ends.sort(key=lambda pair: pair[0])
    high = min(11.5, (bottom - top + 14) / max(1, len(ends)))
    heights = [y for y, _ in ends]
    for index in range(1, len(heights)):
        heights[index] = max(heights[index], heights[index - 1] + high)
    limit = bottom + 6
    for index in reversed(range(len(heights))):
        heights[index] = min(heights[index], limit)
        limit = heights[index] - high
    for y, (_, line) in zip(heights, ends, strict=True):
        yield Text(x, y + 3.5, cut(line.name, room, SMALL), paint=series_paint(line.number), size=SMALL)


def stacks(
    panels: Sequence[tuple[str, Sequence[tuple[str, Mapping[str, float]]]]], parts: Sequence[tuple[str, str, str]]
) -> Drawing:
    """Stacked bars, one panel per method.

    Args:
        panels: (title, rows of (label, part -> share in [0, 1])).
        parts: (part, its words, its paint), from left to right.
    """
    return below(_legend(parts), tiled([_stack(title, rows, parts) for title, rows in panels], WIDEST))


def _legend(parts: Sequence[tuple[str, str, str]]) -> Drawing:
    sheet, x = Drawing(0, 16), 0.0
    for _, words, paint in parts:
        sheet.add(Box(x, 3, 11, 11, paint), Text(x + 16, 12.5, words))
        x += 16 + text_width(words) + 16
    sheet.width = x
    return sheet


def _stack(
    title: str, rows: Sequence[tuple[str, Mapping[str, float]]], parts: Sequence[tuple[str, str, str]]
) -> Drawing:
    left, bar, top, high = 62.0, 230.0, 20.0, 22.0
    sheet = Drawing(left + bar + 10, top + high * len(rows) + 18)
    sheet.add(Text(0, 12, cut(title, left + bar), bold=True))
    for row, (label, shares) in enumerate(rows):
        y, x = top + high * row, left
        sheet.add(Text(left - 8, y + 14, label, "end", "soft"))
        for name, words, paint in parts:
            width = bar * shares[name]
            if width > 0:
                sheet.add(Box(x, y + 1, max(0.5, width - 1), high - 4, paint, f"{words}: {100 * shares[name]:.1f}"))
            if width >= 22:
                sheet.add(Text(x + width / 2, y + 14, f"{100 * shares[name]:.0f}", "middle", "on-bar", SMALL))
            x += width
    bottom = top + high * len(rows)
    for share in (0, 0.5, 1):
        sheet.add(Text(left + bar * share, bottom + 11, f"{100 * share:.0f}", "middle", "soft", SMALL))
    return sheet


Grid = Sequence[Sequence[tuple[float, str] | None]]
"""Rows of (share in [0, 1] that decides the shade, what is written into the cell); None where there is no cell."""


def heats(
    panels: Sequence[tuple[str, Grid]],
    rows: Sequence[str],
    columns: Sequence[str],
    axes: tuple[str, str],
    cell: float = 31,
) -> Drawing:
    """Heat maps of one shape.

    Args:
        panels: (title, cells).
        rows, columns: labels.
        axes: names of the rows and of the columns.
        cell: width of a cell, in pixels.
    """
    return tiled([_heat(title, grid, rows, columns, axes, cell) for title, grid in panels], WIDEST, gap=24)


def _heat(
    title: str, grid: Grid, rows: Sequence[str], columns: Sequence[str], axes: tuple[str, str], cell: float
) -> Drawing:
    lines = [label.split("\n") for label in columns]
    deep = 12 * max(len(parts) for parts in lines)
    left, top, high = max(44.0, max(text_width(label, 10) for label in rows) + 14), 36.0 + deep, 19.0
    sheet = Drawing(max(left + cell * len(columns), text_width(title) * 1.05), top + high * len(rows))
    sheet.add(Text(0, 11, title, bold=True), Text(left, 27, axes[1], paint="soft", size=SMALL))
    sheet.add(Text(left - 8, top - 6, axes[0], "end", "soft", SMALL))
    for column, parts in enumerate(lines):
        for line, words in enumerate(parts):
            y = top - 6 - 12 * (len(parts) - 1 - line)
            sheet.add(Text(left + cell * (column + 0.5), y, words, "middle", size=SMALL))
    for row, label in enumerate(rows):
        y = top + high * row
        sheet.add(Text(left - 8, y + 13, label, "end", size=10))
        for column in range(len(columns)):
            sheet.extend(_cell(grid[row][column], left + cell * column, y, cell - 1, high - 1))
    return sheet


def _cell(found: tuple[float, str] | None, x: float, y: float, width: float, height: float) -> Iterator[Mark]:
    if found is None:
        yield Line(((x + width / 2 - 3, y + height / 2), (x + width / 2 + 3, y + height / 2)), "line")
        return
    share, words = found
    paint, ink = heat(share)
    yield Box(x, y, width, height, paint)
    yield Text(x + width / 2, y + height / 2 + 3.5, words, "middle", ink, SMALL)


TINY = 1e-12
"""What is smaller is drawn as zero."""


def _domain(unit: str, values: Sequence[Value]) -> tuple[float, float]:
    """Ends of an axis: 0 and 1 for rates; else round numbers around all means, with zero in the middle or at an end."""
    if unit == "rate":
        return 0.0, 1.0
    means = [value.mean for value in values if value.mean is not None]
    ends = [end for value in values for end in value.interval or () if unit in (*PERCENT, "correlation")]
    reach = max((abs(one) for one in (*means, *ends)), default=0.0)
    reach = reach if reach > TINY else 1.0
    scale = 10 ** math.floor(math.log10(reach))
    top = next(step * scale for step in (1, 2, 4, 6, 8, 10) if step * scale >= reach * (1 - 1e-9))
    return (-top, top) if unit in ("difference", "correlation") or min(means, default=0) < 0 else (0.0, top)


def _tick(value: float, unit: str) -> str:
    shown = 100 * value if unit in PERCENT else value
    return f"{shown:.3g}".replace("-", "−")  # noqa: RUF001 -- as wide as the digits

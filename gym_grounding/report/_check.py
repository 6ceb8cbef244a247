"""Whether a report still says what its records say: everything is computed again and compared, file by file."""

from __future__ import annotations

import csv
import difflib
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gym_grounding.errors import CorruptRun

NUMBER = re.compile(r"[-+−]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")  # noqa: RUF001 -- the sign that tables print
SHOWN = 5
"""Differences named of one file; the others are counted."""


def differences(report: Path, fresh: Path) -> tuple[list[str], int]:
    """How the files of a report differ from those made anew from the records.

    Pictures are compared by their bytes, data by their values, pages line by line.

    Args:
        report: the report to be checked.
        fresh: the same report, just made.

    Returns:
        One line for each difference, with file, place and both values; and how many numbers agree.

    Raises:
        CorruptRun: there is no report.
    """
    if not (report / "metrics.json").is_file():
        raise CorruptRun(f"{report}: holds no report (no metrics.json); make it first, without --check")
    found: list[str] = []
    agreeing = 0
    for name in sorted(_files(report) | _files(fresh)):
        old, new = report / name, fresh / name
        if not new.is_file():
            found.append(f"{name}: is in the report, but the records give no such file")
        elif not old.is_file():
            found.append(f"{name}: is missing in the report")
        elif old.read_bytes() == new.read_bytes():
            agreeing += _numbers(new)
        else:
            own = list(_differences(name, old, new))
            found += own[:SHOWN]
            if len(own) > SHOWN:
                found.append(f"{name}: and {len(own) - SHOWN} more differences")
    return found, agreeing


def _files(folder: Path) -> set[str]:
    """Relative names of all files but films, which no record holds."""
    names = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    return {name.as_posix() for name in names if name.parts[0] != "films"}


def _numbers(path: Path) -> int:
    """How many numbers a data file holds; pages repeat them and are not counted."""
    if path.name == "metrics.json":
        return sum(1 for _, value in _leaves(json.loads(path.read_text(encoding="utf-8"))) if _is_number(value))
    if path.suffix == ".csv":
        return len(NUMBER.findall(path.read_text(encoding="utf-8")))
    return 0


def _differences(name: str, old: Path, new: Path) -> Iterator[str]:
    if new.suffix == ".png":
        yield f"{name}: the picture is another one"
        return
    try:
        texts = [path.read_text(encoding="utf-8") for path in (old, new)]
        if new.suffix == ".json":
            yield from _json(name, *texts)
        elif new.suffix == ".csv":
            yield from _csv(name, *texts)
        else:
            yield from _lines(name, *texts)
    except (UnicodeDecodeError, ValueError, csv.Error) as error:
        yield f"{name}: cannot be read ({error})"


def _json(name: str, old: str, new: str) -> Iterator[str]:
    one, two = dict(_leaves(json.loads(old))), dict(_leaves(json.loads(new)))
    same = True
    for place in dict.fromkeys((*two, *one)):
        if one.get(place, ABSENT) != two.get(place, ABSENT) or type(one.get(place)) is not type(two.get(place)):
            same = False
            yield f"{name}: {place} is {_text(one, place)}, the records give {_text(two, place)}"
    if same:
        yield f"{name}: the same values, written differently"


def _csv(name: str, old: str, new: str) -> Iterator[str]:
    one, two = (list(csv.reader(io.StringIO(text))) for text in (old, new))
    if len(one) != len(two):
        yield f"{name}: has {len(one)} rows, the records give {len(two)}"
    head = two[0] if two else []
    for number, (left, right) in enumerate(zip(one, two, strict=False), start=1):
        if len(left) != len(right):
            yield f"{name}: row {number} has {len(left)} columns, the records give {len(right)}"
        for column, mine, theirs in zip(head, left, right, strict=False):
            if mine != theirs:
                mine, theirs = mine or "(nothing)", theirs or "(nothing)"
                yield f"{name}: row {number}, {column} is {mine}, the records give {theirs}"


def _lines(name: str, old: str, new: str) -> Iterator[str]:
    one, two = old.splitlines(), new.splitlines()
    for kind, a, b, c, d in difflib.SequenceMatcher(a=one, b=two, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        for offset in range(max(b - a, d - c)):
            mine = one[a + offset] if a + offset < b else "(nothing)"
            theirs = two[c + offset] if c + offset < d else "(nothing)"
            left, right = _apart(mine, theirs)
            yield f"{name}: line {a + offset + 1} is {left!r}, the records give {right!r}"


def _apart(mine: str, theirs: str, room: int = 60) -> tuple[str, str]:
    """Both texts, cut to where they begin to differ."""
    start = next((i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), min(len(mine), len(theirs)))
    start = max(0, start - room // 3)
    return mine[start : start + room], theirs[start : start + room]


ABSENT = object()


def _leaves(data: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """Every value of nested data with its place; measurements are named, not numbered."""
    if isinstance(data, dict) and data:
        for key, value in data.items():
            yield from _leaves(value, f"{place}.{key}" if place else str(key))
    elif isinstance(data, list) and data:
        for index, value in enumerate(data):
            yield from _leaves(value, f"{place}[{_named(index, value)}]")
    else:
        yield place, data


def _named(index: int, value: Any) -> str:
    if not isinstance(value, dict) or "quantity" not in value:
        return str(index)
    scope = " ".join(f"{key}={part}" for key, part in value.get("scope", {}).items())
    return f"{index}: {value.get('method') or 'all methods'}, {value['quantity']}, {scope}"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(values: dict[str, Any], place: str) -> str:
    return repr(values[place]) if place in values else "(nothing)"

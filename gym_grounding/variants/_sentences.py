"""Files of sentences that others wrote: CSV or JSON, read strictly, every problem with its line."""

from __future__ import annotations

import bisect
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from gym_grounding.errors import GroundingError, UnknownName
from gym_grounding.manifest import Manifest
from gym_grounding.types import SLOTS, Goal, Predicate, Task

COLUMNS = ("task", "instruction", "condition", "slot", "goal", "kind")
"""What a row may say; the first two it must."""
CONDITIONS = ("paraphrase", "contrast", "collision")
"""Conditions whose sentences can be checked; the first is meant where none is named."""
KIND = "foreign"
"""Type of a paraphrase that names none."""
MOST_BYTES = 4 << 20
"""Largest file [bytes]."""
MOST_ROWS = 10_000
_LITERAL = re.compile(r"([a-z]+)\(\s*([A-Za-z0-9_]+)\s*(?:,\s*([A-Za-z0-9_]+)\s*)?\)")


class InvalidSentences(GroundingError, ValueError):
    """A file of sentences that cannot be read or understood.

    Attributes:
        problems: one line for each thing that is wrong.
    """

    def __init__(self, path: Path, problems: Sequence[str]) -> None:
        self.problems = tuple(f"{path}: {problem}" for problem in problems)
        head = "" if len(problems) == 1 else f"{path}: {len(problems)} problems\n"
        super().__init__(head + "\n".join(self.problems))

    def __reduce__(self) -> tuple[object, ...]:
        return (GroundingError, (str(self),))


@dataclass(frozen=True, slots=True)
class Sentence:
    """One row of a file.

    Attributes:
        line: line on which it starts, from 1.
        task: task id.
        condition: one of ``CONDITIONS``.
        slot: the slot that it claims to change, or None.
        instruction: the sentence as it stands in the file.
        goal: the claimed goal, or None.
        kind: type of a paraphrase; empty for others.
    """

    line: int
    task: str
    condition: str
    slot: str | None
    instruction: str
    goal: Goal | None
    kind: str


def read(path: Path, raw: bytes, manifest: Manifest) -> tuple[Sentence, ...]:
    """The sentences of a file, in order.

    Args:
        path: its name; ``.csv`` (columns of ``COLUMNS``) or ``.json`` (a list of objects with these keys, or a mapping
            of a task to a list of sentences).
        raw: its contents.
        manifest: knows the tasks; a row names one by its id or by its name in the source.

    Raises:
        InvalidSentences: anything in it is malformed or unknown.
    """
    text = _decoded(path, raw)
    if path.suffix.lower() == ".csv":
        rows = _csv_rows(path, text)
    elif path.suffix.lower() == ".json":
        rows = _json_rows(path, text)
    else:
        raise InvalidSentences(path, [f"is neither .csv nor .json; its columns are {', '.join(COLUMNS)}"])
    tasks = _by_name(manifest.tasks.values())
    sentences: list[Sentence] = []
    problems: list[str] = []
    for number, (line, row) in enumerate(rows):
        if number == MOST_ROWS:
            raise InvalidSentences(path, [f"line {line}: more than {MOST_ROWS} sentences; split the file"])
        try:
            sentences.append(_sentence(line, row, tasks))
        except ValueError as error:
            problems.append(f"line {line}: {error}")
    if problems:
        raise InvalidSentences(path, problems)
    if not sentences:
        raise InvalidSentences(path, ["holds no sentence; a row has at least task and instruction"])
    return tuple(sentences)


def _decoded(path: Path, raw: bytes) -> str:
    if len(raw) > MOST_BYTES:
        raise InvalidSentences(path, [f"has {len(raw)} bytes; at most {MOST_BYTES} are read, so split the file"])
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise InvalidSentences(path, [f"line {line}: not UTF-8 at byte {error.start}; save it as UTF-8"]) from error


def _by_name(tasks: Iterable[Task]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for task in tasks:
        for name in dict.fromkeys((task.id, task.name)):
            found.setdefault(name, []).append(task.id)
    return found


def _csv_rows(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Rows with their lines; empty cells are left out."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] = []
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise InvalidSentences(path, [f"line {line}: malformed CSV: {error}"]) from error
        if cells is None:
            return
        if not any(cell.strip() for cell in cells):
            continue
        if not header:
            header = _header(path, line, cells)
        elif len(cells) != len(header):
            hint = 'text with a comma stands in "quotes"' if len(cells) > len(header) else "leave cells empty instead"
            raise InvalidSentences(path, [f"line {line}: has {len(cells)} cells, the header {len(header)}; {hint}"])
        else:
            yield line, {name: cell for name, cell in zip(header, cells, strict=True) if cell.strip()}


def _header(path: Path, line: int, cells: Sequence[str]) -> list[str]:
    header = [cell.strip().lower() for cell in cells]
    unknown = [cell.strip() for name, cell in zip(header, cells, strict=True) if name not in COLUMNS]
    problems = [str(UnknownName("column", name, COLUMNS)) for name in unknown]
    problems += [f"column {name!r} appears twice" for name in COLUMNS if header.count(name) > 1]
    problems += [f"column {name!r} is missing" for name in COLUMNS[:2] if name not in header]
    if problems:
        raise InvalidSentences(path, [f"line {line}: {problem}" for problem in problems])
    return header


def _json_rows(path: Path, text: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        data = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise InvalidSentences(path, [f"line {error.lineno}: malformed JSON: {error.msg}"]) from error
    except RecursionError as error:
        raise InvalidSentences(path, ["malformed JSON: nested too deeply"]) from error
    except ValueError as error:
        raise InvalidSentences(path, [f"malformed JSON: {error}"]) from error
    if not isinstance(data, list | dict):
        raise InvalidSentences(path, ["is neither a list of objects nor a mapping of tasks to lists of sentences"])
    for task, listed in data.items() if isinstance(data, dict) else ():
        if not isinstance(listed, list):
            raise InvalidSentences(path, [f"task {task!r}: {_short(listed)} is no list of sentences"])
    breaks = [found.start() for found in re.finditer("\n", text)]
    for position, task, item in _elements(text, data):
        line = bisect.bisect_left(breaks, position) + 1
        if task is not None and isinstance(item, str):
            yield line, {"task": task, "instruction": item}
        elif task is None and isinstance(item, dict):
            yield line, {name: value for name, value in item.items() if value is not None}
        else:
            wanted = "an object with task and instruction" if task is None else f"a sentence of task {task!r}"
            raise InvalidSentences(path, [f"line {line}: {_short(item)} is not {wanted}"])


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"key {_short(next(name for name in names if names.count(name) > 1))} appears twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _elements(text: str, data: object) -> Iterator[tuple[int, str | None, Any]]:
    """Position, task (None in a list of objects) and value of every element of a text that is known to be JSON.

    The standard reader does not tell where a value stood, and a message without a line is no help in a long file.
    """
    decoder = json.JSONDecoder()
    at = _next(text, 0)
    if isinstance(data, list):
        yield from ((position, None, value) for position, value in _list(text, at, decoder))
        return
    at = _next(text, at + 1)
    while text[at] != "}":
        task, end = decoder.raw_decode(text, at)
        at = _next(text, _next(text, end) + 1)
        yield from ((position, task, value) for position, value in _list(text, at, decoder))
        at = _next(text, decoder.raw_decode(text, at)[1])
        at = _next(text, at + 1) if text[at] == "," else at


def _list(text: str, at: int, decoder: json.JSONDecoder) -> Iterator[tuple[int, Any]]:
    at = _next(text, at + 1)
    while text[at] != "]":
        value, end = decoder.raw_decode(text, at)
        yield at, value
        at = _next(text, end)
        at = _next(text, at + 1) if text[at] == "," else at


def _next(text: str, at: int) -> int:
    """Position of the next character that is no blank."""
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _sentence(line: int, row: Mapping[str, Any], tasks: Mapping[str, list[str]]) -> Sentence:
    """One row, checked.

    Raises:
        ValueError: something in it is missing, unknown or of the wrong type.
    """
    for name in row:
        if name not in COLUMNS:
            raise ValueError(UnknownName("key", name, COLUMNS))
    values = {name: _value(row, name) for name in COLUMNS if name != "goal"}
    condition = values["condition"] or CONDITIONS[0]
    if condition not in CONDITIONS:
        raise ValueError(UnknownName("condition that can be checked", condition, CONDITIONS))
    slot, kind = values["slot"], values["kind"]
    if condition == "paraphrase":
        if slot or "goal" in row:
            raise ValueError(f"{'slot' if slot else 'goal'} is given, but a paraphrase keeps both; leave it out")
        kind = kind or KIND
    elif slot not in SLOTS:
        raise ValueError(f"slot is {_short(slot)}; a {condition} changes one of {', '.join(SLOTS)}")
    elif kind:
        raise ValueError(f"kind is {_short(kind)}, but only a paraphrase has one; leave it out")
    elif condition == "collision" and "goal" in row:
        raise ValueError("goal is given, but nothing fulfils a collision; leave it out")
    if not re.fullmatch(r"[a-z_]*", kind):
        raise ValueError(f"kind is {_short(kind)}; must be lower-case letters and underscores")
    goal = _goal(row["goal"]) if "goal" in row else None
    return Sentence(line, _task(values["task"], tasks), condition, slot or None, values["instruction"], goal, kind)


def _value(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name, "")
    if not isinstance(value, str):
        raise ValueError(f"{name} is {_short(value)}; must be text")
    if not all(character.isprintable() or character.isspace() for character in value):
        raise ValueError(f"{name} is {_short(value)}; must be printable")  # also half a surrogate pair
    if name == "instruction":
        if not value.strip():
            raise ValueError("instruction is missing or empty")
        return value
    return value.strip()


def _task(name: str, tasks: Mapping[str, list[str]]) -> str:
    if not name:
        raise ValueError("task is missing; name it by its id or by its name in the source")
    found = tasks.get(name, [])
    if len(found) > 1:
        raise ValueError(f"task {name!r} is the name of {' and '.join(found)}; give the id")
    if not found:
        raise ValueError(UnknownName("task", name, tasks))
    return found[0]


def _goal(value: object) -> Goal:
    """A goal as ``on(a, b) & open(c)`` or as a list of literals ``[predicate, name, ...]``."""
    literals: list[Predicate] = []
    parts = value.split("&") if isinstance(value, str) else value
    for part in parts if isinstance(parts, list) else [None]:
        if isinstance(part, list) and len(part) in (2, 3) and all(isinstance(word, str) for word in part):
            part = f"{part[0]}({', '.join(part[1:])})"
        found = _LITERAL.fullmatch(part.strip()) if isinstance(part, str) else None
        if found is None:
            raise ValueError(f"goal is {_short(value)}; write it as on(bowl_1, plate_1) & open(drawer_1)")
        name, *names = found.groups()
        literals.append(Predicate(name, tuple(one for one in names if one)))
    if not literals:
        raise ValueError("goal is empty; leave it out")
    return Goal(tuple(dict.fromkeys(literals)))


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

"""The file of recorded measurements: one JSON object a line, a question about a task and its answer."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_grounding.adapters.libero.definitions import SUITES
from gym_grounding.errors import RegistryError, UnwritableOutput
from gym_grounding.types import Goal

JSON = Any
DIGITS = 4
"""Decimals that are kept of every number."""
_REMEDY = "Delete the line; what it said is measured again when it is needed"


@dataclass(frozen=True, slots=True)
class Entry:
    """One question and its answer.

    Attributes:
        task: task id.
        kind: ``layout``, ``count``, ``witness`` or ``impossible``.
        question: its goal or names, as JSON.
        answer: JSON.
        bddl, init: sha256 (hex) of the task's files when it was answered.
        physics: such as ``mujoco 3.3.2``.
        measurement: number of the way of measuring.
    """

    task: str
    kind: str
    question: JSON
    answer: JSON
    bddl: str
    init: str
    physics: str
    measurement: int

    @property
    def key(self) -> tuple[str, str, str]:
        """Equal for equal questions."""
        return (self.task, self.kind, dumped(self.question))


def as_json(value: object) -> JSON:
    """Goals, names and numbers as they are written; floats rounded, also what is within."""
    if isinstance(value, Goal):
        literals = [[predicate.name, *predicate.args] for predicate in value.all_of]
        named = {name for predicate in value.all_of for name in predicate.args}
        regions = [[one.name, one.surface, *as_json(one.ranges)] for one in value.regions if one.name in named]
        return {"goal": literals, "regions": regions} if regions else {"goal": literals}
    if isinstance(value, float):
        return round(value, DIGITS) + 0.0  # no -0.0
    if isinstance(value, Mapping):
        return {key: as_json(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(one) for one in value]
    return value


def dumped(value: JSON) -> str:
    """One line of JSON; equal for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def read(path: Path) -> Iterator[Entry]:
    """The entries of a file; none where there is no file.

    Raises:
        RegistryError: the file cannot be read, or a line is no entry; names the line and what to do.
    """
    if not path.exists():
        return
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise RegistryError(
            f"{path} cannot be read ({error}). Restore it, or delete it: all is measured anew"
        ) from error
    for number, line in enumerate(lines, 1):
        where = f"{path}: line {number}"
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise RegistryError(f"{where} is no JSON ({error.msg} at column {error.colno}). {_REMEDY}") from None
        if problem := _problem(row):
            raise RegistryError(f"{where}: {problem}. {_REMEDY}")
        yield Entry(**row)


def write(path: Path, entries: Iterable[Entry]) -> None:
    """Write a file, whole or not at all; equal entries give equal bytes.

    Raises:
        UnwritableOutput: it cannot be written.
    """
    rows = sorted(entries, key=lambda entry: (task_order(entry.task), *entry.key))
    replace(path, "".join(dumped({name: getattr(entry, name) for name in _FIELDS}) + "\n" for entry in rows))


def replace(path: Path, text: str) -> None:
    """Put a file in the place of another, whole or not at all.

    Raises:
        UnwritableOutput: it cannot be written.
    """
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):  # where nothing can be written, nothing can be removed
            part.unlink(missing_ok=True)
        reason = error.strerror or type(error).__name__
        raise UnwritableOutput(f"{path}: cannot be written ({reason}); give another file") from error


def refuse_unwritable(path: Path) -> None:
    """Find out before long work whether ``replace`` will be able to write here; leaves no trace.

    Raises:
        UnwritableOutput: no file can be made beside the path.
    """
    try:
        with tempfile.TemporaryFile(dir=path.absolute().parent):
            pass
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UnwritableOutput(f"{path}: cannot be written ({reason}); give another file") from error


_FIELDS = tuple(Entry.__annotations__)
_ANSWERS: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    "layout": {"footprints": (dict,), "of": (int,), "relations": (dict,), "robot": (list,)},
    "count": {"of": (int,), "raw": (int,), "settled": (int,), "tolerant": (int,)},
    "witness": {
        "found": (bool,),
        "original": (bool, type(None)),
        "placement": (str,),
        "state": (int, type(None)),
        "tried": (int,),
    },
    "impossible": {"clearance": (float,), "extent": (float,), "shown": (bool,), "tried": (int,)},
}
"""Kind -> field of the answer -> types."""


def _problem(row: JSON) -> str:
    if not isinstance(row, dict) or set(row) != set(_FIELDS):
        return f"it is no object with the fields {', '.join(sorted(_FIELDS))}"
    wrong = [name for name in ("task", "kind", "bddl", "init", "physics") if not isinstance(row[name], str)]
    if wrong or type(row["measurement"]) is not int:
        return f"{', '.join(wrong) or 'measurement'} has the wrong type"
    suite, _, index = row["task"].rpartition("-T")
    if not suite or not index.isdigit():
        return f"{row['task']!r} is no task id"
    if row["kind"] not in _ANSWERS:
        return f"kind {row['kind']!r} is none of {', '.join(_ANSWERS)}"
    fields, answer = _ANSWERS[row["kind"]], row["answer"]
    if not isinstance(answer, dict) or set(answer) != set(fields):
        return f"its answer is no object with the fields {', '.join(fields)}"
    wrong = [name for name, types in fields.items() if type(answer[name]) not in types]
    if row["kind"] == "layout" and not wrong:
        wrong = [name for name, sound in _SOUND.items() if not sound(answer[name])]
    return f"{', '.join(wrong)} of its answer has the wrong type" if wrong else ""


def _are_numbers(value: JSON, count: int) -> bool:
    return isinstance(value, list) and len(value) == count and all(type(one) in (int, float) for one in value)


def _are_states(value: JSON) -> bool:
    """Whether relations lead to subjects, subjects to references, and references to numbers of states."""
    subjects = list(value.values())
    if not all(isinstance(one, dict) for one in subjects):
        return False
    references = [one for subject in subjects for one in subject.values()]
    if not all(isinstance(one, dict) for one in references):
        return False
    return all(type(states) is int for one in references for states in one.values())


_SOUND: Mapping[str, Callable[[JSON], bool]] = {
    "footprints": lambda value: all(_are_numbers(one, 6) for one in value.values()),
    "relations": _are_states,
    "robot": lambda value: _are_numbers(value, 2),
}


def task_order(task: str) -> tuple[int, str, int]:
    """For sorting ids of tasks: suites in their order, tasks by number."""
    suite, _, index = task.rpartition("-T")
    known = [*SUITES]
    return (known.index(suite) if suite in known else len(known), suite, int(index))

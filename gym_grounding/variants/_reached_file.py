"""The file of the oracle's episodes: one JSON object a line, a goal of a task and what each start showed of it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_grounding.errors import RegistryError, UnwritableOutput
from gym_grounding.manifest import VERDICTS
from gym_grounding.variants._evidence_file import JSON, as_json, dumped, replace, task_order

LETTERS = dict(zip(VERDICTS, "stvn", strict=True))
"""Verdict -> what stands for it in a line."""
LONGEST = 1000
"""Characters that are kept of the text that says why the oracle gave up, and of the words of a deed."""
_WORDS = {letter: verdict for verdict, letter in LETTERS.items()}
_FIELDS = (
    *("task", "goal", "joints", "horizon", "bddl", "init", "oracle", "physics", "measurement"),
    *("states", "verdicts", "at_end", "first", "problems"),
)
_PLAN = "plan"
"""Deeds of one start that failed, left out where none is known."""
_REMEDY = "Delete the line; what it said is measured again by `gym-grounding variants certify`"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one start showed.

    Attributes:
        verdict: ``stable``, ``transient``, ``trivial`` or ``not_reached``.
        at_end: whether the goal held after the last step.
        first: control step (from 1) at which it first held; 0 at the start, -1 never.
        problem: why the oracle gave up; empty where it is stable or trivial.
        plan: its deeds in words, where it is not stable or trivial; a file keeps those of the first such start alone.
    """

    verdict: str
    at_end: bool
    first: int
    problem: str = ""
    plan: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What an outcome depends on beside task, goal and start; of other circumstances it says nothing.

    Attributes:
        bddl, init: sha256 (hex) of the task's files.
        oracle: version of the oracle.
        physics: such as ``mujoco 3.3.2, robosuite 1.4.0``.
        measurement: number of the way of measuring.
    """

    bddl: str
    init: str
    oracle: str
    physics: str
    measurement: int


@dataclass(frozen=True, slots=True)
class Key:
    """A question: can this goal be reached in this task, from its starts, within so many steps?

    Attributes:
        task: task id.
        goal: as JSON, dumped.
        joints: presets as JSON, dumped.
        horizon: control steps at most.
    """

    task: str
    goal: str
    joints: str
    horizon: int


@dataclass(frozen=True, slots=True)
class Entry:
    """A line: a question, the circumstances, and initial state -> outcome."""

    key: Key
    under: Circumstances
    outcomes: Mapping[int, Outcome]


def key_of(task: str, goal: object, joints: Mapping[str, float], horizon: int) -> Key:
    """The question about a ``Goal`` of a task."""
    return Key(task, dumped(as_json(goal)), dumped(as_json(dict(joints))), horizon)


def read(path: Path) -> dict[Key, Entry]:
    """The entries of a file; none where there is no file.

    Raises:
        RegistryError: the file cannot be read, or a line is no entry; names the line and what to do.
    """
    if not path.exists():
        return {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        remedy = "Restore it, or delete it: all is measured anew by `gym-grounding variants certify`"
        raise RegistryError(f"{path} cannot be read ({error}). {remedy}") from error
    entries: dict[Key, Entry] = {}
    for number, line in enumerate(lines, 1):
        where = f"{path}: line {number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise RegistryError(f"{where} is no JSON ({error}). {_REMEDY}") from None
        if problem := _problem(row):
            raise RegistryError(f"{where}: {problem}. {_REMEDY}")
        entry = _entry(row)
        if entry.key in entries:
            raise RegistryError(f"{where}: its goal has a line before it. {_REMEDY}")
        entries[entry.key] = entry
    return entries


def write(path: Path, entries: Iterable[Entry]) -> None:
    """Write a file, whole or not at all; equal entries give equal bytes.

    Raises:
        UnwritableOutput: it cannot be written.
    """
    replace(path, "".join(f"{dumped(_row(one))}\n" for one in sorted(entries, key=_order)))


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """No other process changes the file meanwhile, if it asks too; the lock lies on the folder and leaves no trace.

    Raises:
        UnwritableOutput: there is no such folder.
    """
    try:
        folder = os.open(path.absolute().parent, os.O_RDONLY)
    except OSError as error:
        raise UnwritableOutput(f"{path}: cannot be written ({error.strerror}); give another file") from error
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _order(entry: Entry) -> tuple[object, ...]:
    key = entry.key
    return (task_order(key.task), key.goal, key.joints, key.horizon)


def _row(entry: Entry) -> JSON:
    key, under = entry.key, entry.under
    states = sorted(entry.outcomes)
    outcomes = [entry.outcomes[state] for state in states]
    problems: dict[str, list[int]] = {}
    for state, outcome in zip(states, outcomes, strict=True):
        if outcome.problem:
            problems.setdefault(outcome.problem, []).append(state)
    planned = [state for state in states if entry.outcomes[state].plan]
    plan = {"state": planned[0], "deeds": list(entry.outcomes[planned[0]].plan)} if planned else None
    return {
        "task": key.task,
        "goal": json.loads(key.goal),
        "joints": json.loads(key.joints),
        "horizon": key.horizon,
        "bddl": under.bddl,
        "init": under.init,
        "oracle": under.oracle,
        "physics": under.physics,
        "measurement": under.measurement,
        "states": states,
        "verdicts": "".join(LETTERS[one.verdict] for one in outcomes),
        "at_end": "".join("1" if one.at_end else "0" for one in outcomes),
        "first": [one.first for one in outcomes],
        "problems": problems,
        **({_PLAN: plan} if plan else {}),
    }


def _entry(row: Mapping[str, Any]) -> Entry:
    reasons = {state: text for text, states in row["problems"].items() for state in states}
    plan = row.get(_PLAN, {})
    plans = {plan["state"]: tuple(plan["deeds"])} if plan else {}
    outcomes = {
        state: Outcome(_WORDS[letter], end == "1", first, reasons.get(state, ""), plans.get(state, ()))
        for state, letter, end, first in zip(row["states"], row["verdicts"], row["at_end"], row["first"], strict=True)
    }
    under = Circumstances(row["bddl"], row["init"], row["oracle"], row["physics"], row["measurement"])
    return Entry(Key(row["task"], dumped(row["goal"]), dumped(row["joints"]), row["horizon"]), under, outcomes)


def _problem(row: JSON) -> str:
    if not isinstance(row, dict) or set(row) - {_PLAN} != set(_FIELDS):
        return f"it is no object with the fields {', '.join(sorted(_FIELDS))}"
    texts = ("task", "bddl", "init", "oracle", "physics", "verdicts", "at_end")
    wrong = [name for name in texts if not isinstance(row[name], str)]
    wrong += [name for name in ("goal", "joints", "problems") if not isinstance(row[name], dict)]
    wrong += [name for name in ("horizon", "measurement") if type(row[name]) is not int]
    wrong += [name for name in ("states", "first") if not _are_integers(row[name])]
    if wrong:
        return f"{', '.join(wrong)} has the wrong type"
    if not re.fullmatch(r".+-T[0-9]+", row["task"]):
        return f"{row['task']!r} is no task id"
    states = row["states"]
    if not states or len({*states}) != len(states) or min(states) < 0:
        return "its states are no numbers of initial states, each once"
    if any(len(row[name]) != len(states) for name in ("verdicts", "at_end", "first")):
        return "verdicts, at_end and first do not have one entry for each of its states"
    if set(row["verdicts"]) - set(_WORDS) or set(row["at_end"]) - {"0", "1"}:
        return f"verdicts are letters of {''.join(_WORDS)}, at_end is 0 or 1"
    explained = [state for listed in row["problems"].values() for state in (listed if _are_integers(listed) else [-1])]
    if not {*explained} <= {*states} or len({*explained}) != len(explained):
        return "its problems do not belong to its states"
    return "" if _PLAN not in row else _plan_problem(row[_PLAN], states)


def _plan_problem(plan: JSON, states: list[int]) -> str:
    if not isinstance(plan, dict) or set(plan) != {"state", "deeds"}:
        return "its plan has a state and deeds"
    deeds = plan["deeds"]
    if not isinstance(deeds, list) or not deeds or not all(isinstance(deed, str) for deed in deeds):
        return "the deeds of its plan are texts, at least one"
    return "" if type(plan["state"]) is int and plan["state"] in states else "its plan does not belong to its states"


def _are_integers(value: JSON) -> bool:
    return isinstance(value, list) and all(type(one) is int for one in value)

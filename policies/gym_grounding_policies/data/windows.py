"""Windows of demonstration files: read when they are needed, in a seeded order, by any number of processes.

A demonstration of T moments gives a window for every start (or every ``stride``-th). A window that runs over the end
goes on with the last observation and the last action, as in LIBERO's loader (robomimic's ``SequenceDataset`` with
``pad_seq_length``).

Which observation answers which action (``Settings.pairing``): LIBERO's columns hold in row t what was seen *after*
action t, and its own loader hands out the two side by side, so its policies learn to repeat the action that led here.
Published numbers were had so: ``libero``. With ``before`` an observation comes with the action that follows it: from
the group ``observations`` of files made here, which begins before the first action, or else from LIBERO's columns with
the action of the next row, which costs the first moment.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from gym_grounding.demos import layout
from gym_grounding.demos.layout import OBSERVATIONS, PICTURES, file_of
from gym_grounding.demos.read import Demonstration, DemonstrationFile, opened
from gym_grounding.errors import InvalidDemonstration, InvalidOption
from gym_grounding.types import Task
from gym_grounding_policies.data.batch import Batch, stacked
from gym_grounding_policies.data.files import OpenFiles
from gym_grounding_policies.data.inputs import Inputs, channels_first
from gym_grounding_policies.data.language import Words
from gym_grounding_policies.data.tokens import PROPRIOCEPTION

_COLUMN_OF = {key: name for name, key in (layout.PROPRIOCEPTION | PICTURES).items()}
PAIRINGS = ("libero", "before")
MOST_ACTION = 1.001
"""Greatest magnitude in an action: robosuite cuts at 1, and LIBERO's own files and those made here stay within; the
rest is room for the rounding of copies."""
BOUNDS = {"_joint_pos": (None, 20.0), "_gripper_qpos": (2, 20.0), "_pos": (3, 20.0), "_quat": (4, 1.001)}
"""End of an observation's key, the first that fits -> numbers of a row, None for any; greatest magnitude [rad, m].

A scene is within 3 m of its origin, and robosuite parks at 10 m what it does not use; joints of arm and furniture turn
by less than 2 pi; quaternions have length 1, to rounding.
"""
Indexes = Sequence[int] | NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Settings:
    """How demonstrations are cut. The defaults are those of the published policy.

    Attributes:
        history: steps of a window, H.
        chunk: actions to predict at each step, C.
        stride: distance between the starts of two windows of a demonstration.
        padding: ``counts``: what follows the end counts in the loss like the rest, as published; ``masked``: it does
            not.
        pairing: ``libero`` or ``before``, see the module.
        clean: whether to learn what the demonstrator wanted where a file says so, and not what noise made of it.
        demonstrations: of each file, the first by their numbers; None for all.
        memory: for rows that are kept once they were read, in each process [bytes]; what comes first is kept.
    """

    history: int = 10
    chunk: int = 1
    stride: int = 1
    padding: str = "counts"
    pairing: str = "libero"
    clean: bool = True
    demonstrations: int | None = None
    memory: int = 512 * 2**20

    def __post_init__(self) -> None:
        """Raises InvalidOption for values outside their domain."""
        for name in ("history", "chunk", "stride", "demonstrations"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidOption(f"{name} is {value}; must be at least 1")
        for name, known in (("padding", ("counts", "masked")), ("pairing", PAIRINGS)):
            if getattr(self, name) not in known:
                raise InvalidOption(f"{name} is {getattr(self, name)!r}; choose {' or '.join(known)}")
        if self.memory < 0:
            raise InvalidOption(f"memory is {self.memory}; must not be negative")


@dataclass(frozen=True, slots=True)
class TaskFile:
    """The demonstrations of one task.

    Attributes:
        path: the file.
        task: that they must be of.
        number: of the task in the sequence.
        instruction: that they are learned with; None for the task's own.
    """

    path: Path
    task: Task
    number: int
    instruction: str | None = None

    @property
    def sentence(self) -> str:
        """What the policy hears."""
        return self.task.instruction if self.instruction is None else self.instruction


def task_files(folder: str | Path, tasks: Sequence[Task]) -> tuple[TaskFile, ...]:
    """The files of tasks in a folder of demonstrations, numbered in the order of the tasks; none is opened."""
    return tuple(TaskFile(file_of(Path(folder), task), task, number) for number, task in enumerate(tasks))


def observed(files: Iterable[TaskFile], inputs: Inputs, settings: Settings) -> Iterator[dict[str, NDArray[Any]]]:
    """The observations that are the keys of ``inputs``: (T, ...) of one demonstration after the other.

    Raises:
        InvalidDemonstration: as ``Windows``.
    """
    for one in files:
        with opened(one.path) as file:
            for _, moments in _opened(file, one, lambda demo: _Moments(demo, inputs, settings), settings):
                _ = moments.actions  # what is wrong with them is said now, not when their task's turn comes
                yield {key: moments.rows(key) for key in moments.keys}


class Windows:
    """Windows of several files, each by its number: file after file, demonstration after demonstration, start by start.

    Everything but ``Inputs.pictures`` is read and checked when it is made. A process that it is handed to opens the
    files anew.

    Args:
        files: of the tasks.
        inputs: makes inputs of observations.
        words: makes ``Batch.words`` of the tasks' sentences.
        settings: how to cut.

    Raises:
        InvalidDemonstration: no such file, another task, a missing dataset, a wrong shape, NaN, a number that is out of
            bounds, other things than in the file's other demonstrations, no window at all; names file, demonstration
            and dataset.
    """

    def __init__(self, files: Sequence[TaskFile], inputs: Inputs, words: Words, settings: Settings) -> None:
        if not files:
            raise InvalidOption("no demonstration files")
        self.settings = settings
        self._store = _Store(files, inputs, settings)
        self._words = dict(words([one.sentence for one in files]))
        counts = [range(0, length, settings.stride) for length in self._store.lengths]
        pairs = [(number, start) for number, starts in enumerate(counts) for start in starts]
        if not pairs:
            raise InvalidDemonstration(f"{', '.join(str(one.path) for one in files)}: no demonstration to learn from")
        self._index = np.array(pairs, np.intp)

    def __len__(self) -> int:
        """Number of windows."""
        return len(self._index)

    @property
    def tasks(self) -> NDArray[np.int64]:
        """Number of the task of each window."""
        return self._store.tasks[self._index[:, 0]]

    @property
    def places(self) -> NDArray[np.intp]:
        """Where each window begins, (W, 2): number of the demonstration among all of them, and of its first moment."""
        return self._index.copy()

    def subset(self, indexes: Indexes) -> Windows:
        """Some of the windows, in the order given; what was read is shared."""
        part = copy.copy(self)
        part._index = self._index[np.asarray(indexes, np.intp)]
        return part

    def batch(self, indexes: Indexes) -> Batch:
        """Some of the windows, in the order given.

        Raises:
            InvalidOption: none, or one that is not there.
            InvalidDemonstration: what is read only now is damaged.
        """
        chosen = np.asarray(indexes, np.intp)
        if not len(chosen) or chosen.min() < 0 or chosen.max() >= len(self):
            raise InvalidOption(f"asked for windows {chosen.tolist()[:5]} ... of {len(self)}")
        demos, starts = self._index[chosen].T
        last = self._store.lengths[demos, None] - 1
        steps = starts[:, None] + np.arange(self.settings.history)
        wanted = steps[..., None] + np.arange(self.settings.chunk)
        weight = (wanted <= last[..., None]) | (self.settings.padding == "counts")
        frames, targets = np.minimum(steps, last), np.minimum(wanted, last[..., None])
        windows = [self._store.window(demo, rows) for demo, rows in zip(demos, frames, strict=True)]
        actions = [self._store.actions[demo][rows] for demo, rows in zip(demos, targets, strict=True)]
        files = torch.from_numpy(self._store.files[demos])
        return Batch(
            {name: stacked(name, [torch.from_numpy(one[name])[None] for one in windows]) for name in windows[0]},
            {name: part[files] for name, part in self._words.items()},
            torch.from_numpy(np.stack(actions)),
            torch.from_numpy(weight.astype(np.float32)),
            torch.from_numpy(self._store.tasks[demos]),
        )


class Joined:
    """Windows of several parts as one, such as a memory of old tasks; part after part."""

    def __init__(self, parts: Sequence[Windows | Joined]) -> None:
        if not parts:
            raise InvalidOption("no windows to join")
        self._parts = tuple(parts)
        self._ends = np.cumsum([len(part) for part in parts])

    def __len__(self) -> int:
        """Number of windows."""
        return int(self._ends[-1])

    @property
    def tasks(self) -> NDArray[np.int64]:
        """Number of the task of each window."""
        return np.concatenate([part.tasks for part in self._parts])

    def batch(self, indexes: Indexes) -> Batch:
        """Some of the windows, in the order given; see ``Windows.batch``."""
        chosen = np.asarray(indexes, np.intp)
        if not len(chosen) or chosen.min() < 0 or chosen.max() >= len(self):
            raise InvalidOption(f"asked for windows {chosen.tolist()[:5]} ... of {len(self)}")
        owners = np.searchsorted(self._ends, chosen, side="right")
        firsts = self._ends - [len(part) for part in self._parts]
        order = [np.flatnonzero(owners == owner) for owner in range(len(self._parts))]
        found: Batch | None = None
        for part, first, places in zip(self._parts, firsts, order, strict=True):
            if len(places):
                one = part.batch(chosen[places] - first)
                found = one if found is None else found.joined(one)
        assert found is not None
        return found.taken(torch.from_numpy(np.argsort(np.concatenate(order))))


class _Moments:
    """One demonstration of an open file as T pairs of observation and action."""

    def __init__(self, demo: Demonstration, inputs: Inputs, settings: Settings) -> None:
        self._demo = demo
        self._added, self._seen = set(demo.observation_keys), set(demo.seen_keys)
        try:
            self.keys = inputs.keys(self._added | self._seen)
        except InvalidOption as error:
            raise InvalidDemonstration(f"{demo.where}: {error}") from error
        # An added row t is from before action t, LIBERO's from after it.
        self._later = settings.pairing == "libero"
        needed = {*self.keys, *inputs.pictures}
        self._first = 0 if self._later or needed <= self._added else 1
        self.length = max(demo.length - self._first, 0)
        self._columns = ("actions", "clean_actions") if "clean_actions" in demo.keys else ("actions",)
        self._clean = settings.clean

    def rows(self, key: str, start: int = 0, end: int | None = None) -> NDArray[Any]:
        """Observations of the moments from ``start`` to before ``end``; None for all."""
        end = self.length if end is None else end
        first = self._first + int(self._later)
        if key in self._added:
            rows = self._demo.observation(key, slice(first + start, first + end))
        else:
            rows = self._demo.seen(key, slice(first - 1 + start, first - 1 + end))
        _check_rows(f"{self._demo.where}: {self.called(key)}", key, rows)
        return rows

    def called(self, key: str) -> str:
        """Where an observation is in the file, for messages."""
        return f"{OBSERVATIONS}/{key}" if key in self._added else _COLUMN_OF.get(key, key)

    @property
    def where(self) -> str:
        """File and demonstration, for messages."""
        return self._demo.where

    @property
    def actions(self) -> NDArray[np.float32]:
        """The action that goes with each moment, (T, 7); what else the file has of actions is checked too."""
        found = [self._demo.rows(name) for name in self._columns]
        for name, rows in zip(self._columns, found, strict=True):
            _check_most(f"{self._demo.where}: {name}", rows, MOST_ACTION)
        return found[-1 if self._clean else 0][self._first :].astype(np.float32)


class _Store:
    """Rows of all demonstrations by the demonstration's number; each is kept while there is room."""

    def __init__(self, files: Sequence[TaskFile], inputs: Inputs, settings: Settings) -> None:
        self._inputs, self._settings = inputs, settings
        self._room = settings.memory
        self._open = OpenFiles(self._view)
        self._places: list[tuple[Path, str]] = []
        self._kept: dict[tuple[int, str], dict[str, NDArray[Any]]] = {}
        self.actions: list[NDArray[np.float32]] = []
        self._forms: dict[str, tuple[str, tuple[int, ...]]] = {}
        owners = [number for number, one in enumerate(files) for _ in range(self._take(one))]
        self.files = np.array(owners, np.int64)
        self.tasks = np.array([files[owner].number for owner in owners], np.int64)
        self.lengths = np.array([len(one) for one in self.actions], np.intp)

    def window(self, demo: int, frames: NDArray[np.intp]) -> dict[str, NDArray[Any]]:
        """Inputs (H, ...) at the given moments, which rise by at most one."""
        found = {name: rows[frames] for name, rows in self._numbers(demo).items()}
        for key, name in self._inputs.pictures.items():
            found[name] = self._pictures(demo, key, name, frames)
        return found

    def _take(self, one: TaskFile) -> int:
        with opened(one.path) as file:
            count = 0
            for demo, moments in _opened(file, one, self._view, self._settings):
                self.actions.append(moments.actions)
                self._places.append((one.path, demo.name))
                self._read(len(self._places) - 1, moments)
                self._check_pictures(demo)
                count += 1
        return count

    def _numbers(self, demo: int) -> dict[str, NDArray[Any]]:
        kept = self._kept.get((demo, ""))
        return self._read(demo, self._moments(demo)) if kept is None else kept

    def _read(self, demo: int, moments: _Moments) -> dict[str, NDArray[Any]]:
        where = f"{self._places[demo][0]}: {self._places[demo][1]}"
        try:
            found = self._inputs({key: moments.rows(key) for key in moments.keys})
        except InvalidOption as error:
            raise InvalidDemonstration(f"{where}: {error}") from error
        self._keep((demo, ""), found)
        return found

    def _pictures(self, demo: int, key: str, name: str, frames: NDArray[np.intp]) -> NDArray[Any]:
        kept = self._kept.get((demo, key))
        if kept is not None:
            return kept[name][frames]
        moments, first, end = self._moments(demo), int(frames[0]), int(frames[-1]) + 1
        height, width = self._forms[key][1][:2]
        if 3 * height * width * moments.length <= self._room:
            whole = channels_first(moments.rows(key))
            self._keep((demo, key), {name: whole})
            return whole[frames]
        return channels_first(moments.rows(key, first, end))[frames - first]

    def _view(self, demo: Demonstration) -> _Moments:
        return _Moments(demo, self._inputs, self._settings)

    def _moments(self, demo: int) -> _Moments:
        return self._open.get(*self._places[demo])

    def _keep(self, place: tuple[int, str], rows: dict[str, NDArray[Any]]) -> None:
        size = sum(one.nbytes for one in rows.values())
        if size <= self._room:
            self._room -= size
            self._kept[place] = rows

    def _check_pictures(self, demo: Demonstration) -> None:
        """Their size, without reading one: the same everywhere."""
        for name, key in PICTURES.items():
            if key not in self._inputs.pictures:
                continue
            shape = tuple(demo.column(name).shape[1:])
            place, first = self._forms.setdefault(key, (demo.where, shape))
            if shape != first:
                raise InvalidDemonstration(f"{demo.where}: {name} has pictures of {shape}, {place} of {first}")


def _opened(
    file: DemonstrationFile, one: TaskFile, view: Callable[[Demonstration], _Moments], settings: Settings
) -> Iterator[tuple[Demonstration, _Moments]]:
    """The demonstrations of a file that are read; all have the same observations."""
    first: _Moments | None = None
    for name in _names(file, one, settings):
        demo = file.demonstration(name)
        moments = view(demo)
        first = first or moments
        for here, there in ((moments, first), (first, moments)):
            lacking = [key for key in there.keys if key not in here.keys]
            if lacking:
                raise InvalidDemonstration(
                    f"{here.where}: {there.called(lacking[0])} is missing, which {there.where} has; make the file anew"
                )
        yield demo, moments


def _check_rows(where: str, key: str, rows: NDArray[Any]) -> None:
    """Raises InvalidDemonstration for rows of another size, or numbers that cannot be."""
    for end, (size, most) in BOUNDS.items():
        if key.endswith(end):
            wanted = PROPRIOCEPTION.get(key, size)
            if rows.ndim != 2 or wanted not in (None, rows.shape[1]):
                raise InvalidDemonstration(f"{where} has rows of shape {rows.shape[1:]}, expected ({wanted or 'any'},)")
            _check_most(where, rows, most)
            return


def _check_most(where: str, rows: NDArray[Any], most: float) -> None:
    if rows.size and not -most <= rows.min() <= rows.max() <= most:
        found = rows.flat[np.abs(rows).argmax()]
        raise InvalidDemonstration(f"{where} holds {found:g}, which is over {most:g}; the file is damaged")


def _names(file: DemonstrationFile, one: TaskFile, settings: Settings) -> tuple[str, ...]:
    """The demonstrations of a file that are read, when it is the task's."""
    file.check_task(one.task)
    names = file.names[: settings.demonstrations]
    if not names or len(names) < (settings.demonstrations or 0):
        wanted = settings.demonstrations or 1
        raise InvalidDemonstration(f"{file.path}: holds {len(names)} demonstrations, {wanted} were asked for")
    return names

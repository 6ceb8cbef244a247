"""The one reader of demonstration files: LIBERO's own, those made here, and whatever else claims to be one.

Nothing is read before it is asked for, and then only the rows that are asked for.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from gym_grounding.demos.layout import COLUMNS, LONGEST, OBSERVATIONS, PICTURES, PROPRIOCEPTION, quaternions
from gym_grounding.errors import InvalidDemonstration
from gym_grounding.manifest import Manifest
from gym_grounding.types import Task

_BROKEN = (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError, MemoryError)
"""What h5py raises where the bytes of a file are damaged."""


_SEEN = {key: name for name, key in (PROPRIOCEPTION | PICTURES).items()}


class Demonstration:
    """One demonstration of an open file.

    Attributes:
        name: such as ``demo_0``.
        length: its number of rows, T.
        where: file and name, for messages.
    """

    def __init__(self, path: Path, name: str, group: Any) -> None:
        self.where = f"{path}: {name}"
        self._group = group
        self.name = name
        self.length = len(self.column("actions"))

    @property
    def keys(self) -> tuple[str, ...]:
        """Names of the datasets of ``layout.COLUMNS`` that it has."""
        return tuple(name for name in COLUMNS if self._found(name) is not None)

    @property
    def observation_keys(self) -> tuple[str, ...]:
        """Keys of the environment's observations that were added, see ``layout``; none in LIBERO's own files.

        Raises:
            InvalidDemonstration: something else has the group's name.
        """
        with _reading(f"{self.where}: {OBSERVATIONS}"):
            group = self._found(OBSERVATIONS)
            if group is None:
                return ()
            if not isinstance(group, h5py.Group):
                raise InvalidDemonstration(f"{self.where}: {OBSERVATIONS} is no group of datasets")
            return tuple(group)

    @property
    def forms(self) -> dict[str, tuple[tuple[int, ...], str]]:
        """Dataset -> shape of a row and number type, of those that not every file has; no row is read.

        Raises:
            InvalidDemonstration: as ``column`` and ``observation``.
        """
        kept = {name: self.column(name) for name in self.keys if not COLUMNS[name].required}
        added = {f"{OBSERVATIONS}/{key}": self._added(key) for key in self.observation_keys}
        return {name: (data.shape[1:], str(data.dtype)) for name, data in {**kept, **added}.items()}

    def column(self, name: str) -> Any:
        """A dataset of ``layout.COLUMNS`` whose shape and type are as they should be; no row is read.

        Raises:
            InvalidDemonstration: it is missing, or has another shape, length or type; names file, demonstration and
                dataset.
        """
        with _reading(f"{self.where}: {name}"):
            column, data = COLUMNS[name], self._dataset(name)
            fits = len(data.shape) == 1 + len(column.shape) and all(
                want in (-1, has) for want, has in zip(column.shape, data.shape[1:], strict=True)
            )
            if not fits:
                wanted = str(column.shape).replace("-1", "any")
                raise InvalidDemonstration(
                    f"{self.where}: {name} has rows of shape {data.shape[1:]}, expected {wanted}"
                )
            if data.dtype != column.type and data.dtype.kind not in column.kinds:
                raise InvalidDemonstration(f"{self.where}: {name} has type {data.dtype}, expected {column.type}")
            self._check_length(name, data, len(data) if name == "actions" else self.length)
            return data

    def rows(self, name: str, index: slice | NDArray[np.intp] = slice(None)) -> NDArray[Any]:
        """Some rows of a dataset, and no others.

        Args:
            name: of ``layout.COLUMNS``.
            index: which rows, or their numbers in rising order; default: all.

        Raises:
            InvalidDemonstration: as ``column``; or NaN, an infinity, or bytes that cannot be read.
        """
        return self._read(name, self.column(name), index)

    def observation(self, key: str, index: slice | NDArray[np.intp] = slice(None)) -> NDArray[Any]:
        """Some of the T + 1 rows of an added observation; row t is from before action t.

        Raises:
            InvalidDemonstration: it is missing, or as ``rows``.
        """
        return self._read(f"{OBSERVATIONS}/{key}", self._added(key), index)

    @property
    def seen_keys(self) -> tuple[str, ...]:
        """Keys of the environment's observations that LIBERO's own columns hold, see ``seen``."""
        return tuple(key for key, name in _SEEN.items() if self._found(name) is not None)

    def seen(self, key: str, index: slice | NDArray[np.intp] = slice(None)) -> NDArray[Any]:
        """Some of the T rows of an environment's observation out of LIBERO's own columns; row t is from after action t.

        Args:
            key: of ``seen_keys``; the hand's orientation comes as a quaternion x, y, z, w.

        Raises:
            InvalidDemonstration: no column holds it, or as ``rows``.
        """
        if key not in _SEEN:
            raise InvalidDemonstration(f"{self.where}: none of LIBERO's datasets holds {key!r}")
        rows = self.rows(_SEEN[key], index)
        return quaternions(rows) if key == "robot0_eef_quat" else rows

    def text(self, name: str) -> str:
        """An attribute that is text, such as ``model_file``.

        Raises:
            InvalidDemonstration: it is missing or no text.
        """
        return _text(self.where, self._group, name)

    def numbers(self, name: str) -> NDArray[np.float64] | None:
        """An attribute that is one finite number, shape (), or a row of them, shape (k,); None where it is missing.

        Raises:
            InvalidDemonstration: it is something else.
        """
        with _reading(f"{self.where}: attribute {name!r}"):
            if name not in self._group.attrs:
                return None
            value = np.asarray(self._group.attrs[name])
        if value.dtype.kind not in "fiu" or value.ndim > 1 or not np.isfinite(value).all():
            raise InvalidDemonstration(f"{self.where}: attribute {name!r} holds NaN, an infinity or no numbers")
        return value.astype(np.float64)

    @property
    def says_its_length(self) -> bool:
        """Whether the attribute ``num_samples`` is its number of rows."""
        said = self.numbers("num_samples")
        return said is not None and said.ndim == 0 and bool(said == self.length)

    @property
    def attributes(self) -> dict[str, Any]:
        """Every attribute that is text or one number, but for ``model_file``."""
        with _reading(f"{self.where}: its attributes"):
            found = {name: value for name, value in self._group.attrs.items() if name != "model_file"}
        plain = {name: value.item() if isinstance(value, np.generic) else value for name, value in found.items()}
        return {name: value for name, value in plain.items() if isinstance(value, str | int | float)}

    def _added(self, key: str) -> Any:
        """The dataset of an added observation, with T + 1 rows."""
        name = f"{OBSERVATIONS}/{key}"
        with _reading(f"{self.where}: {name}"):
            data = self._dataset(name)
            self._check_length(name, data, self.length + 1)
            return data

    def _found(self, name: str) -> Any:
        """What has this name, or None; links to other files are not followed."""
        with _reading(f"{self.where}: {name}"):
            place = self._group
            for part in name.split("/"):
                if not isinstance(place, h5py.Group) or not isinstance(place.get(part, getlink=True), h5py.HardLink):
                    return None
                place = place.get(part)
            return place

    def _dataset(self, name: str) -> Any:
        parent, _, last = name.rpartition("/")
        if parent and not isinstance(self._found(parent), h5py.Group):
            raise InvalidDemonstration(f"{self.where}: no group {parent!r}")
        data = self._found(name)
        if not isinstance(data, h5py.Dataset) or data.ndim < 1:
            raise InvalidDemonstration(f"{self.where}: no dataset {last!r} in {parent or 'the demonstration'}")
        if data.is_virtual or data.external:
            raise InvalidDemonstration(f"{self.where}: {name} keeps its rows in other files; copy them into this one")
        return data

    def _check_length(self, name: str, data: Any, expected: int) -> None:
        if len(data) > LONGEST:
            raise InvalidDemonstration(f"{self.where}: {name} claims {len(data)} rows; the file is damaged")
        if len(data) != expected:
            raise InvalidDemonstration(
                f"{self.where}: {name} has {len(data)} rows, actions has {self.length}"
                + (f"; expected {expected}" if expected != self.length else "")
            )

    def _read(self, name: str, data: Any, index: slice | NDArray[np.intp]) -> NDArray[Any]:
        with _reading(f"{self.where}: {name}"):
            empty = isinstance(index, np.ndarray) and not len(index)
            rows = np.empty((0, *data.shape[1:]), data.dtype) if empty else np.asarray(data[index])
        if rows.dtype.kind not in "fiub" or not np.isfinite(rows).all():
            raise InvalidDemonstration(f"{self.where}: {name} holds NaN, an infinity or no numbers")
        return rows


class DemonstrationFile:
    """An open file of demonstrations of one task. Made by ``opened``.

    Attributes:
        path: the file.
        names: its demonstrations by their number: ``demo_2`` comes before ``demo_10``.
    """

    def __init__(self, path: Path, file: Any) -> None:
        self.path, self._data = path, file["data"]
        with _reading(f"{path}: data"):
            self.names = tuple(sorted(self._data, key=_number))

    def demonstration(self, name: str) -> Demonstration:
        """One of ``names``.

        Raises:
            InvalidDemonstration: no such group, or none with actions.
        """
        with _reading(f"{self.path}: {name}"):
            linked = self._data.get(name, getlink=True)
            group = self._data.get(name) if isinstance(linked, h5py.HardLink) else None
        if not isinstance(group, h5py.Group):
            raise InvalidDemonstration(f"{self.path}: no demonstration {name!r}; it has {_listed(self.names)}")
        return Demonstration(self.path, name, group)

    @property
    def instruction(self) -> str:
        """The BDDL text of the task, as the file spells it.

        Raises:
            InvalidDemonstration: the file does not say.
        """
        info = _text(f"{self.path}: data", self._data, "problem_info")
        try:
            text = json.loads(info)["language_instruction"]
        except (KeyError, ValueError, TypeError, RecursionError) as error:
            raise InvalidDemonstration(
                f"{self.path}: data has no readable problem_info with language_instruction"
            ) from error
        found = "".join(map(str, text)) if isinstance(text, list) else str(text)
        return found.strip().strip('"')

    def attribute(self, name: str) -> Any:
        """Text or number among the attributes of ``data``; None where it is missing or something else."""
        with _reading(f"{self.path}: attribute {name!r}"):
            value = self._data.attrs.get(name)
        value = value.item() if isinstance(value, np.generic) else value
        return value if isinstance(value, str | int | float) else None

    def task(self, manifest: Manifest, name: str | None = None) -> Task:
        """The task that was demonstrated.

        Args:
            manifest: knows the tasks.
            name: id of the task; default: what the file names.

        Raises:
            InvalidDemonstration: the file names no task, another one, or one of several with the same text.
            UnknownName: no task is called ``name``.
        """
        if name is not None:
            asked = manifest.task(name)
            self.check_task(asked)
            return asked
        text, said = self.instruction, self.attribute("task")
        found = [task for task in manifest.tasks.values() if _same(text, task)]
        own = [task for task in found if task.id == said]
        if len(own or found) != 1:
            which = ", ".join(task.id for task in found) or "no task"
            raise InvalidDemonstration(f"{self.path}: its instruction {text!r} is that of {which}; name the task")
        return (own or found)[0]

    def check_task(self, task: Task) -> None:
        """Refuse a file of another task.

        Raises:
            InvalidDemonstration: its text is not the task's.
        """
        if not _same(self.instruction, task):
            raise InvalidDemonstration(
                f"{self.path}: demonstrates {self.instruction!r}, not {task.id} ({task.source_instruction!r}); name "
                "its own task"
            )


@contextmanager
def opened(path: str | Path) -> Iterator[DemonstrationFile]:
    """A demonstration file for reading, until the block ends.

    Raises:
        InvalidDemonstration: no such file, a folder, a file that is damaged or half-written, or no demonstration file.
    """
    path = Path(path)
    if path.is_dir():
        raise InvalidDemonstration(f"{path}: is a folder; name the files in it")
    try:
        file = h5py.File(path, "r")
    except FileNotFoundError:
        raise InvalidDemonstration(f"{path}: no such file") from None
    except OSError as error:
        # HDF5's own texts are long and name places in memory.
        reason = f"; {os.strerror(error.errno)}" if error.errno else "; it is damaged, half-written or something else"
        raise InvalidDemonstration(f"{path}: no readable HDF5 file{reason}") from error
    with file:
        with _reading(f"{path}: data"):
            found = isinstance(file.get("data", getlink=True), h5py.HardLink) and file.get("data")
        if not isinstance(found, h5py.Group):
            raise InvalidDemonstration(f"{path}: no group 'data'; this is no LIBERO demonstration file")
        yield DemonstrationFile(path, file)


@contextmanager
def _reading(where: str) -> Iterator[None]:
    try:
        yield
    except InvalidDemonstration:
        raise
    except _BROKEN as error:
        raise InvalidDemonstration(f"{where} cannot be read ({error}); the file is damaged") from error


def _text(where: str, group: Any, name: str) -> str:
    with _reading(f"{where}: attribute {name!r}"):
        value = group.attrs.get(name)
        if isinstance(value, bytes):
            value = value.decode()
    if not isinstance(value, str):
        raise InvalidDemonstration(f"{where}: no attribute {name!r} that is text")
    return value


def _same(text: str, task: Task) -> bool:
    known = (task.source_instruction, task.instruction)
    return text.casefold() in [one.casefold() for one in known]


def _number(name: str) -> tuple[int, str]:
    digits = name.rpartition("_")[2]
    return (int(digits) if digits.isascii() and digits.isdigit() else 0, name)


def _listed(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:5])
    return (f"{shown}, ... ({len(names)} in all)" if len(names) > 5 else shown) or "none"

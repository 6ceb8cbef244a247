"""Writes demonstration files: a part for each demonstration, and the file of a task when all are there.

A file appears under its name when it is whole and on disk, and not before.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from gym_grounding.demos.layout import OBSERVATIONS
from gym_grounding.demos.read import opened
from gym_grounding.errors import GroundingError, InvalidDemonstration, UnwritableOutput

_PART = "data/demo_0"
_COUNTED = ("num_demos", "total")
"""Attributes of ``data`` that count."""
LEVEL = 4
"""Of gzip for pictures: about a third of their size; more costs time and saves little."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One demonstration that is to be written.

    Attributes:
        columns: dataset -> rows, shape (T, ...); see ``layout``.
        observations: key of the environment -> rows, shape (T + 1, ...).
        attributes: of its group: text, numbers, or a row of numbers.
        header: attributes of ``data``, the same in every demonstration of a task; mappings become JSON.
    """

    columns: Mapping[str, NDArray[Any]]
    observations: Mapping[str, NDArray[Any]]
    attributes: Mapping[str, Any]
    header: Mapping[str, Any]


def write_part(path: Path, recorded: Recorded) -> None:
    """Write one demonstration as a file of its own; an old one is replaced.

    Raises:
        UnwritableOutput: such as on a full disk; nothing is left then.
    """
    with _in_memory(path) as file:
        group = file.create_group(_PART)
        for name, rows in recorded.columns.items():
            _add(group, name, rows)
        for key, rows in recorded.observations.items():
            _add(group, f"{OBSERVATIONS}/{key}", rows)
        for name, value in recorded.attributes.items():
            group.attrs[name] = value
        for name, value in recorded.header.items():
            group.parent.attrs[name] = json.dumps(value) if isinstance(value, Mapping) else value


@contextlib.contextmanager
def _in_memory(path: Path) -> Iterator[Any]:
    """A new HDF5 file, written to its place at once at the end of the block."""
    # On a full disk HDF5 loses what it has not flushed, and says so in many ways.
    image = io.BytesIO()
    with h5py.File(image, "w") as file:
        yield file
    write_bytes(path, image.getvalue())


def take_apart(path: Path, parts: Sequence[Path], left_out: Collection[str]) -> None:
    """Write the demonstrations of a file as parts again, so that ``assemble`` gives the same file; others stay.

    Args:
        path: the file, with ``demo_0``, ``demo_1``, ...
        parts: where each of them goes.
        left_out: attributes of ``data`` that ``assemble`` was given.

    Raises:
        UnwritableOutput: such as on a full disk.
    """
    own = {*left_out, *_COUNTED}
    with h5py.File(path, "r") as source:
        for number, part in enumerate(parts):
            if part.exists():
                continue
            with _in_memory(part) as file:
                data = file.create_group("data")
                for key, value in source["data"].attrs.items():
                    if key not in own:
                        data.attrs[key] = value
                source.copy(f"data/demo_{number}", data, name="demo_0")


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file at once: whole or not at all.

    Raises:
        UnwritableOutput: such as on a full disk.
    """
    with _appearing(path) as unfinished:
        unfinished.write_bytes(content)


def assemble(path: Path, parts: Sequence[Path], attributes: Mapping[str, Any]) -> None:
    """Write the file of a task from its parts; an old one is replaced when the new one is whole.

    Args:
        path: the file.
        parts: of ``write_part``; they become ``demo_0``, ``demo_1``, ...
        attributes: of ``data``, besides the parts' header.

    Raises:
        UnwritableOutput: such as on a full disk; nothing is left then.
        InvalidDemonstration: a part cannot be read; nothing is left then.
    """
    with _appearing(path) as unfinished, h5py.File(unfinished, "w") as file:
        data, total = file.create_group("data"), 0
        for number, part in enumerate(parts):
            total += _copied(part, data, f"demo_{number}")
        for key, value in attributes.items():
            data.attrs[key] = value
        for key, count in zip(_COUNTED, (len(parts), total), strict=True):
            data.attrs[key] = count


def _copied(part: Path, data: Any, name: str) -> int:
    """Copies a part, with its header into the first of them, and returns its number of rows."""
    rows = _rows(part)
    with h5py.File(part, "r") as source:
        for key, value in source["data"].attrs.items() if not len(data) else ():
            data.attrs[key] = value
        source.copy(_PART, data, name=name)
    return rows


def _rows(part: Path) -> int:
    """Number of rows of a part, of which everything has been read once: what fails later is the new file's fault."""
    try:
        with opened(part) as file:
            demonstration = file.demonstration(_PART.rpartition("/")[2])
            for name in demonstration.keys:
                demonstration.rows(name)
            for key in demonstration.observation_keys:
                demonstration.observation(key)
            if not demonstration.says_its_length:
                raise InvalidDemonstration(f"{demonstration.where}: attribute 'num_samples' is not its number of rows")
            return demonstration.length
    except InvalidDemonstration as error:
        raise InvalidDemonstration(
            f"{error}. Remove {part}, and give the same command again to make it anew"
        ) from error


def _add(group: Any, name: str, rows: NDArray[Any]) -> None:
    if rows.ndim == 4:
        # One picture a chunk, as learners read them.
        group.create_dataset(name, data=rows, chunks=(1, *rows.shape[1:]), compression="gzip", compression_opts=LEVEL)
    else:
        group.create_dataset(name, data=np.ascontiguousarray(rows))


@contextlib.contextmanager
def _appearing(path: Path) -> Iterator[Path]:
    """Where to write what appears as ``path`` at the end of the block; nothing is left if the block fails."""
    unfinished = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield unfinished
        with unfinished.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except (OSError, RuntimeError) as error:
        if isinstance(error, GroundingError):
            raise
        number = getattr(error, "errno", None)
        # HDF5's own texts are long and of several lines.
        reason = os.strerror(number) if number else str(error).partition("\n")[0]
        raise UnwritableOutput(
            f"{path} cannot be written ({reason}); free space or name another place, and give the same command again "
            "to continue"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            unfinished.unlink(missing_ok=True)

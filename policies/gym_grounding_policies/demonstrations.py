"""LIBERO demonstration files as stored observations with expert actions, for the probes.

``python -m gym_grounding_policies.demonstrations FILE.hdf5 ... --out demonstrations.npz`` and then
``gym-grounding probe RUN --observations demonstrations.npz``.

Surprises of the format (LIBERO's writer script): a row of ``obs`` was taken after the action of the same row, so the
expert's answer to row t is the action of row t + 1; ``bddl_file_name`` is a path on the machine that recorded; the
file's ``language_instruction`` is the BDDL text, which is not always the canonical instruction. Joint velocities and
poses of objects are not in the file: a policy that needs them cannot be probed with it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import h5py
import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from gym_grounding import manifest as manifests
from gym_grounding.errors import GroundingError, InvalidDemonstration, UnknownName
from gym_grounding.manifest import Manifest
from gym_grounding.probe import StoredObservations, save_observations
from gym_grounding.types import Task

KEYS = {
    "joint_states": ("robot0_joint_pos", (7,)),
    "gripper_states": ("robot0_gripper_qpos", (2,)),
    "ee_pos": ("robot0_eef_pos", (3,)),
    "ee_ori": ("robot0_eef_quat", (3,)),
}
"""Dataset of ``obs`` -> key of the environment's observation and shape of a row; ``ee_ori`` is an axis-angle."""
PICTURES = {"agentview_rgb": "agentview_image", "eye_in_hand_rgb": "robot0_eye_in_hand_image"}
"""Pictures in ``obs`` -> keys of the environment; raw orientation, as LIBERO gives them."""
ACTION = (7,)


def read_demonstrations(path: str | Path, task: Task, every: int = 10, limit: int | None = None) -> StoredObservations:
    """Every so many moments of a LIBERO demonstration file, with the expert's next action.

    Args:
        path: an HDF5 file in LIBERO's layout; only the chosen rows are read.
        task: the task that was demonstrated; must be the one that the file names.
        every: distance between stored rows.
        limit: number of demonstrations, in the order of their numbers; None for all.

    Raises:
        InvalidDemonstration: no such file, no HDF5, another task, a missing dataset, a wrong shape, NaN; names the
            file, the demonstration and the dataset.
    """
    if every < 1 or (limit is not None and limit < 1):
        raise InvalidDemonstration(f"{path}: every={every} and limit={limit} must be at least 1")
    with _opened(path) as file:
        _check_task(path, file, task)
        demos = sorted(file["data"], key=_number)[:limit]
        parts = [_moments(path, file["data"][name], name, every) for name in demos]
        names = [f"{task.id}/{name}/{row}" for name, (rows, _, _) in zip(demos, parts, strict=True) for row in rows]
    if not names:
        raise InvalidDemonstration(f"{path}: holds no demonstration of two rows or more")
    keys = parts[0][1].keys()
    if any(part[1].keys() != keys for part in parts):
        raise InvalidDemonstration(f"{path}: its demonstrations have different datasets in obs")
    return StoredObservations(
        tuple(names),
        {key: np.concatenate([part[1][key] for part in parts]) for key in keys},
        np.concatenate([part[2] for part in parts]),
    )


def task_of(path: str | Path, manifest: Manifest) -> Task:
    """The task that a demonstration file names, by its BDDL text.

    Raises:
        InvalidDemonstration: the file names no task of the registry, or its text belongs to several.
    """
    with _opened(path) as file:
        text = _source_instruction(path, file)
    found = [task for task in manifest.tasks.values() if text in (task.source_instruction, task.instruction)]
    if len(found) != 1:
        raise InvalidDemonstration(
            f"{path}: its instruction {text!r} is that of {', '.join(t.id for t in found) or 'no task'}; name the task"
        )
    return found[0]


@contextmanager
def _opened(path: str | Path) -> Iterator[Any]:
    try:
        file = h5py.File(path, "r")
    except FileNotFoundError:
        raise InvalidDemonstration(f"{path}: no such file") from None
    except OSError as error:
        raise InvalidDemonstration(f"{path}: no readable HDF5 file ({error})") from error
    with file:
        if not isinstance(file.get("data"), h5py.Group):
            raise InvalidDemonstration(f"{path}: no group 'data'; this is no LIBERO demonstration file")
        yield file


def _source_instruction(path: str | Path, file: Any) -> str:
    try:
        info = json.loads(file["data"].attrs["problem_info"])
        text = info["language_instruction"]
    except (KeyError, ValueError, TypeError) as error:
        raise InvalidDemonstration(f"{path}: data has no readable problem_info with language_instruction") from error
    return "".join(text) if isinstance(text, list) else str(text)


def _check_task(path: str | Path, file: Any, task: Task) -> None:
    text = _source_instruction(path, file)
    if text not in (task.source_instruction, task.instruction):
        raise InvalidDemonstration(
            f"{path}: demonstrates {text!r}, not {task.id} ({task.source_instruction!r}); name its own task"
        )


def _number(name: str) -> tuple[int, str]:
    digits = name.rpartition("_")[2]
    return (int(digits) if digits.isdigit() else 0, name)


def _moments(
    path: str | Path, demo: Any, name: str, every: int
) -> tuple[range, dict[str, NDArray[Any]], NDArray[np.float64]]:
    where = f"{path}: {name}"
    if not isinstance(demo, h5py.Group) or not isinstance(demo.get("obs"), h5py.Group):
        raise InvalidDemonstration(f"{where}: no group 'obs'")
    length = len(_dataset(demo, "actions", where, ACTION))
    rows = range(0, length - 1, every)
    index = np.asarray(rows, dtype=np.intp)
    found: dict[str, NDArray[Any]] = {}
    for key, (ours, shape) in KEYS.items():
        found[ours] = _rows(_dataset(demo["obs"], key, where, shape, length), index, f"{where}: obs/{key}")
    found["robot0_eef_quat"] = Rotation.from_rotvec(found["robot0_eef_quat"]).as_quat()
    for key, ours in PICTURES.items():
        if key in demo["obs"]:
            found[ours] = _rows(_dataset(demo["obs"], key, where, None, length), index, f"{where}: obs/{key}")
    actions = _rows(demo["actions"], index + 1, f"{where}: actions").astype(np.float64)
    return rows, found, actions


def _dataset(group: Any, key: str, where: str, shape: tuple[int, ...] | None, length: int | None = None) -> Any:
    data = group.get(key)
    if not isinstance(data, h5py.Dataset) or data.ndim < 1:
        raise InvalidDemonstration(f"{where}: no dataset {key!r}")
    if shape is not None and data.shape[1:] != shape:
        raise InvalidDemonstration(f"{where}: {key} has rows of shape {data.shape[1:]}, expected {shape}")
    if length is not None and len(data) != length:
        raise InvalidDemonstration(f"{where}: {key} has {len(data)} rows, actions has {length}")
    return data


def _rows(data: Any, index: NDArray[np.intp], where: str) -> NDArray[Any]:
    rows = np.asarray(data[index]) if len(index) else np.empty((0, *data.shape[1:]), data.dtype)
    if rows.dtype.kind not in "fiu" or not np.isfinite(rows).all():
        raise InvalidDemonstration(f"{where} holds NaN, an infinity or no numbers")
    return rows


@click.command()
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--task", "tasks", multiple=True, help="Task id of each file, in their order; default: by the file's text."
)
@click.option("--every", type=int, default=10, show_default=True, help="Store every so many rows.")
@click.option("--limit", type=int, help="Demonstrations per file; default: all.")
@click.option("--registry", type=click.Path(path_type=Path), help="A registry file of your own.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The .npz file.")
def main(
    files: Sequence[Path], tasks: Sequence[str], every: int, limit: int | None, registry: Path | None, out: Path
) -> None:
    """Turn LIBERO demonstration files into observations with expert actions for `gym-grounding probe`."""
    try:
        manifest = manifests.load(registry)
        if tasks and len(tasks) != len(files):
            raise UnknownName("task for each file", ", ".join(tasks), manifest.tasks, "--task")
        stored: dict[str, StoredObservations] = {}
        for index, path in enumerate(files):
            task = manifest.task(tasks[index]) if tasks else task_of(path, manifest)
            if task.id in stored:
                raise InvalidDemonstration(f"{path}: a second file for {task.id}; give one file per task")
            stored[task.id] = read_demonstrations(path, task, every, limit)
        save_observations(out, stored)
    except GroundingError as error:
        click.echo(f"Error: {error}", err=True)
        raise SystemExit(2) from error
    click.echo(f"{out}: {sum(len(one.names) for one in stored.values())} observations of {len(stored)} tasks")


if __name__ == "__main__":
    main()

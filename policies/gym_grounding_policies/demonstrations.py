"""LIBERO demonstration files as stored observations with expert actions, for the probes.

``python -m gym_grounding_policies.demonstrations FILE.hdf5 ... --out demonstrations.npz`` and then
``gym-grounding probe RUN --observations demonstrations.npz``.

A row of ``obs`` was taken after the action of the same row, so the expert's answer to row t is the action of row t + 1:
that of ``clean_actions`` where the file keeps what the expert wanted, since ``actions`` then are disturbed.
Files of `gym-grounding demos` also hold the environment's own observations, and those are taken. LIBERO's own files
have proprioception and pictures only: joint velocities and poses of objects are not in them, and a policy that needs
those cannot be probed with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from gym_grounding import manifest as manifests
from gym_grounding.demos.layout import PICTURES, PROPRIOCEPTION
from gym_grounding.demos.read import Demonstration, opened
from gym_grounding.errors import GroundingError, InvalidDemonstration, UnknownName
from gym_grounding.manifest import Manifest
from gym_grounding.probe import StoredObservations, save_observations
from gym_grounding.types import Task


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
    with opened(path) as file:
        file.check_task(task)
        demos = file.names[:limit]
        parts = [_moments(file.demonstration(name), every) for name in demos]
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


def _moments(demo: Demonstration, every: int) -> tuple[range, dict[str, NDArray[Any]], NDArray[np.float64]]:
    rows = range(0, demo.length - 1, every)
    index = np.asarray(rows, dtype=np.intp)
    pictures = tuple(key for key in PICTURES.values() if key in demo.seen_keys)
    found = {key: demo.seen(key, index) for key in (*PROPRIOCEPTION.values(), *pictures)}
    # Row t of these is from before action t: what was seen after action t is their row t + 1.
    found |= {key: demo.observation(key, index + 1) for key in demo.observation_keys}
    wanted = "clean_actions" if "clean_actions" in demo.keys else "actions"
    return rows, found, demo.rows(wanted, index + 1).astype(np.float64)


def _task_of(path: Path, manifest: Manifest) -> Task:
    with opened(path) as file:
        return file.task(manifest)


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
            task = manifest.task(tasks[index]) if tasks else _task_of(path, manifest)
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

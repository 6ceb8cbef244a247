"""Where the fixtures stand in each (task, initial state): a table, and the command that makes it.

LIBERO's initial states do not hold the fixtures; its ``reset`` places them at random. The table holds what LIBERO
itself draws: for initial state k the placement of the first ``reset`` of a new environment after ``env.seed(k)``. So
every user of LIBERO can repeat it: ``env = OffScreenRenderEnv(...); env.seed(k); env.reset();
env.set_init_state(states[k])``.

``python -m gym_grounding.adapters.libero.fixtures`` compares the shipped table with fresh draws; ``--write`` replaces
it.
"""

from __future__ import annotations

import argparse
import functools
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero import facts
from gym_grounding.types import Task

TABLE = Path(__file__).with_name("fixture_poses.npz")
SUITES = ("libero_goal", "libero_spatial", "libero_object", "libero_10")
COUNT = 50
"""Initial states of every task of the four suites."""


def poses(task: Task, init_state: int) -> dict[str, NDArray[np.float64]] | None:
    """Pose of every fixture: position [m] and quaternion (w, x, y, z), shape (7,), by name; None outside the table."""
    names, rows = _table().get(f"{task.source}/{task.name}", ((), np.empty((0, 0, 7))))
    if init_state >= len(rows):
        return None
    return {name: rows[init_state, index] for index, name in enumerate(names)}


@functools.cache
def _table() -> Mapping[str, tuple[tuple[str, ...], NDArray[np.float64]]]:
    """Task -> names of its fixtures and their poses, shape (initial states, fixtures, 7)."""
    with np.load(TABLE, allow_pickle=False) as archive:
        arrays = [archive[f"poses_{index}"] for index in range(int(archive["groups"].max()) + 1)]
        for array in arrays:
            array.flags.writeable = False
        rows = zip(archive["tasks"], archive["fixtures"], archive["groups"], strict=True)
        return {str(task): (tuple(str(names).split()), arrays[group]) for task, names, group in rows}


def draw_table(tasks: Iterable[tuple[str, str]], count: int) -> dict[str, NDArray[Any]]:
    """The table as arrays: ``tasks``, ``fixtures`` (names joined by blanks), ``groups``, and ``poses_0`` and on.

    Args:
        tasks: (suite, task name) of each row.
        count: initial states per task.
    """
    from gym_grounding.adapters.libero.environment import Environment

    keys, fixtures, groups = [], [], []
    arrays: list[NDArray[np.float64]] = []
    for suite, name in tasks:
        bddl = facts.root() / "bddl_files" / suite / f"{name}.bddl"
        environment = Environment(bddl)
        drawn = []
        for seed in range(count):
            environment.reset(bddl, seed)
            drawn.append(environment.fixture_poses())
        environment.close()
        rows = np.array([list(one.values()) for one in drawn]).reshape(count, -1, 7)
        group = next((i for i, array in enumerate(arrays) if array.tobytes() == rows.tobytes()), len(arrays))
        if group == len(arrays):
            arrays.append(rows)
        keys.append(f"{suite}/{name}")
        fixtures.append(" ".join(drawn[0]))
        groups.append(group)
    named = {f"poses_{index}": array for index, array in enumerate(arrays)}
    return {"tasks": np.array(keys), "fixtures": np.array(fixtures), "groups": np.array(groups), **named}


def tasks_of(suites: Iterable[str]) -> Iterator[tuple[str, str]]:
    """(suite, task name) of LIBERO's own suites."""
    from libero.libero.benchmark.libero_suite_task_map import libero_task_map

    for suite in suites:
        for name in libero_task_map[suite]:
            yield suite, name


def main(arguments: list[str] | None = None) -> int:
    """Compare or write the table; 0 when it equals the fresh draws."""
    parser = argparse.ArgumentParser(prog="gym_grounding.adapters.libero.fixtures", description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="compare (the default)")
    parser.add_argument("--write", action="store_true", help="replace the shipped table")
    parser.add_argument("--suites", nargs="+", default=SUITES, choices=SUITES, help="suites to compare")
    options = parser.parse_args(arguments)
    fresh = draw_table(tasks_of(SUITES if options.write else options.suites), COUNT)
    if options.write:
        np.savez(TABLE, **fresh)  # type: ignore[arg-type]  # one stub for arrays and options
        _table.cache_clear()
    differing = [key for index, key in enumerate(fresh["tasks"]) if not _equal(fresh, index, str(key))]
    for key in differing:
        sys.stdout.write(f"{TABLE.name}: {key} differs from LIBERO's own draws\n")
    sys.stdout.write(f"{len(fresh['tasks']) - len(differing)} of {len(fresh['tasks'])} tasks equal\n")
    return 1 if differing else 0


def _equal(fresh: Mapping[str, NDArray[Any]], index: int, key: str) -> bool:
    names, rows = _table().get(key, ((), np.empty(0)))
    expected = fresh[f"poses_{fresh['groups'][index]}"]
    return tuple(str(fresh["fixtures"][index]).split()) == names and rows.tobytes() == expected.tobytes()


if __name__ == "__main__":
    sys.exit(main())

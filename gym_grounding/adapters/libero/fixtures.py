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

Poses = dict[str, NDArray[np.float64]]


def poses(task: Task, init_state: int) -> Poses:
    """Pose of every fixture: position [m] and quaternion (w, x, y, z), shape (7,), by name.

    Tasks outside the table are drawn by the same rule on first use; that compiles a scene for each task.
    """
    key = f"{task.source}/{task.name}"
    table = _table()
    if key not in table or init_state >= len(table[key][1]):
        return _drawn(str(facts.bddl_path(task)), init_state)
    names, rows = table[key]
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


@functools.lru_cache(maxsize=256)
def _drawn(bddl: str, init_state: int) -> Poses:
    return _drawer(bddl)(init_state)


@functools.lru_cache(maxsize=2)
def _drawer(bddl: str) -> Drawer:
    return Drawer(Path(bddl))


class Drawer:
    """Repeats what LIBERO draws in new environments, with one environment.

    Args:
        bddl: the task's BDDL file.
    """

    def __init__(self, bddl: Path) -> None:
        from gym_grounding.adapters.libero.simulator import built

        self.env: Any = built(bddl).env
        self._initializers = list(self.env.object_property_initializers)

    def __call__(self, seed: int) -> Poses:
        """Fixture poses of a new environment after ``env.seed(seed)`` and ``env.reset()``."""
        from gym_grounding.adapters.libero.robosuite_names import RandomizationError
        from gym_grounding.adapters.libero.simulator import numpy_generator_kept

        # A new environment has loaded its model once; each reset loads it again, and with it a copy of these samplers.
        initializers = list(self._initializers)
        with numpy_generator_kept():
            self.env.seed(seed)
            while True:
                initializers += self._initializers
                self.env.object_property_initializers = initializers
                try:
                    self.env.reset()
                    break
                except RandomizationError:
                    continue
        model = self.env.sim.model
        bodies = {name: self.env.obj_body_id[name] for name in self.env.fixtures_dict}
        return {name: np.concatenate([model.body_pos[body], model.body_quat[body]]) for name, body in bodies.items()}

    def close(self) -> None:
        """Free the scene."""
        self.env.close()


def draw_table(tasks: Iterable[tuple[str, str]], count: int) -> dict[str, NDArray[Any]]:
    """The table as arrays: ``tasks``, ``fixtures`` (names joined by blanks), ``groups``, and ``poses_0`` and on.

    Args:
        tasks: (suite, task name) of each row.
        count: initial states per task.
    """
    keys, fixtures, groups = [], [], []
    arrays: list[NDArray[np.float64]] = []
    for suite, name in tasks:
        drawer = Drawer(facts.root() / "bddl_files" / suite / f"{name}.bddl")
        drawn = [drawer(seed) for seed in range(count)]
        drawer.close()
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

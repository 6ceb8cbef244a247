"""Our pictures beside those of LIBERO's own picture environment, in one process: equal pixels, and what they cost.

``python benchmarks/pictures.py`` (all 21 scenes: twenty minutes on two cores; ``--scenes 1 --steps 5`` one minute).
Both sides take the same actions in turn from the same start. CPU times of the process, medians of the ratios within a
step, above 1 where ours takes less. It is a check: it fails where one pixel of one picture differs.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gym_grounding.adapters.libero import facts, fixtures, install
from gym_grounding.adapters.libero.robosuite_names import ControlEnv, task_maps
from gym_grounding.adapters.libero.simulator import Simulator
from gym_grounding.adapters.libero.spaces import CAMERAS
from gym_grounding.types import Goal, Slots, Task

SUITES = ("libero_goal", "libero_spatial", "libero_object", "libero_10")
INIT_STATE, SIZE = 2, 128
KEYS = tuple(f"{camera}_image" for camera in CAMERAS)


def timed(deed: Callable[[], Any]) -> tuple[float, Any]:
    """CPU time of all threads [ms], since GL libraries draw in their own; and the result."""
    before = time.process_time_ns()
    result = deed()
    return (time.process_time_ns() - before) / 1e6, result


def resident() -> float:
    """Memory of this process [MB]."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def scenes() -> Iterator[tuple[str, Task, Simulator]]:
    """Each scene once, with an environment that nobody has used."""
    seen = set()
    for suite in SUITES:
        for index, name in enumerate(task_maps[suite]):
            task = Task(f"{suite}-T{index}", suite, index, name, suite, "", "", Slots(), Goal(()), suite, 50)
            with install.quiet():
                simulator = Simulator(facts.bddl_path(task), draws=True)
            assert simulator._environment is not None
            text = simulator._environment.full_text()
            if text in seen:
                simulator.close()
                continue
            seen.add(text)
            yield task.id, task, simulator


class Measured:
    """One scene's figures.

    Args:
        title: of the row.
        task: one of its tasks.
        ours: its simulator; is closed.
        steps: control steps, each with both pictures read on both sides.
    """

    def __init__(self, title: str, task: Task, ours: Simulator, steps: int) -> None:
        self.title = title
        self.differing = self.compared = 0
        self.rows: list[tuple[float, float, float]] = []
        bddl, state = facts.bddl_path(task), facts.init_state(task, INIT_STATE)
        with install.quiet():
            theirs = ControlEnv(str(bddl), camera_heights=SIZE, camera_widths=SIZE, ignore_done=True)
            theirs.seed(INIT_STATE)
            theirs.reset()
        expected = theirs.set_init_state(state)
        ours.image_size = SIZE
        seen = ours.start(bddl, INIT_STATE, state, fixtures.poses(task, INIT_STATE), drawing=True)
        self.first, _ = timed(lambda: self._compare(seen, expected))
        actions = np.random.default_rng(5).uniform(-1, 1, (steps, 7))
        actions[:, 2] -= 0.3
        for action in np.clip(actions, -1, 1):
            libero, expected = timed(lambda action=action: theirs.step(action)[0])
            unread, seen = timed(lambda action=action: ours.step(action, drawing=True))
            read, _ = timed(lambda seen=seen: [seen[key].read() for key in KEYS])
            self._compare(seen, expected)
            self.rows.append((libero, unread, unread + read))
        self.further = self._further(bddl, ours)
        ours.close()
        with contextlib.suppress(Exception):  # LIBERO's GL contexts complain when they are freed
            theirs.close()

    def _compare(self, seen: Any, expected: Any) -> None:
        for key in KEYS:
            self.compared += 1
            self.differing += not np.array_equal(np.asarray(seen[key]), expected[key])

    def _further(self, bddl: Path, first: Simulator) -> float:
        """Memory of one more environment of the scene that has drawn [MB]."""
        more, before = [], resident()
        for _ in range(4):
            with install.quiet():
                more.append(Simulator(bddl, draws=True))
            assert more[-1]._stepper is not None
            more[-1]._stepper.begin()
            more[-1].picture(CAMERAS[0], SIZE)
        grown = (resident() - before) / len(more)
        for one in more:
            one.close()
        return grown

    def line(self) -> str:
        """The figures, as a row of the table."""
        rows = np.array(self.rows)
        libero, unread, read = (statistics.median(column) for column in rows.T)
        return (
            f"{self.title:20}{self.compared - self.differing:>6} of {self.compared:<4}"
            f"{libero:9.1f}{read:9.1f}{unread:9.2f}"
            f"{statistics.median(rows[:, 0] / rows[:, 2]):11.2f}{statistics.median(rows[:, 0] / rows[:, 1]):11.0f}"
            f"{self.further:11.1f}"
        )


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 0 when every pixel is LIBERO's."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--steps", type=int, default=20, help="control steps per scene")
    parser.add_argument("--scenes", type=int, default=99, help="only the first so many scenes")
    options = parser.parse_args(arguments)
    print(f"step with two {SIZE}x{SIZE} pictures [ms]: LIBERO's, ours with both read, ours with none read")
    print("further: memory of one more environment of the scene [MB]\n")
    heads = f"{'scene':20}{'equal pictures':>14}{'LIBERO':>9}{'read':>9}{'unread':>9}{'LIBERO/read':>12}{'/unread':>10}"
    print(f"{heads}{'further':>11}")
    differing = 0
    for number, (title, task, simulator) in enumerate(scenes()):
        if number == options.scenes:
            simulator.close()
            break
        measured = Measured(title, task, simulator, options.steps)
        print(measured.line(), flush=True)
        differing += measured.differing
    print(f"\nevery pixel as LIBERO draws it: {'yes' if not differing else f'NO, {differing} pictures differ'}")
    return 0 if not differing else 1


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    os._exit(code)  # LIBERO's GL contexts complain when they are freed at the interpreter's end

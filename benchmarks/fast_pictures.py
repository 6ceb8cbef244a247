"""How far ``pictures="fast"`` is from the benchmark's own pictures, and what it saves.

``python benchmarks/fast_pictures.py`` (one minute on two cores). An episode of random actions in one scene of each
suite, every picture drawn both ways. Differences are those of single colour values, 0 to 255.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero import facts, fixtures, install
from gym_grounding.adapters.libero.painter import View
from gym_grounding.adapters.libero.robosuite_names import task_maps
from gym_grounding.adapters.libero.simulator import Simulator
from gym_grounding.adapters.libero.spaces import CAMERAS
from gym_grounding.types import Goal, Slots, Task

SCENES = (("libero_goal", 8), ("libero_spatial", 0), ("libero_object", 0), ("libero_10", 2))
SIZE = 128


def drawn(simulator: Simulator, camera: str, fast: bool) -> tuple[NDArray[np.int64], float]:
    """A picture of the last observation's moment, and its CPU time [ms]."""
    assert simulator._stepper is not None
    view = View.of(simulator._stepper.model, simulator._stepper.memory.drawn)
    before = time.process_time_ns()
    picture = simulator._easel.draw(view, camera, SIZE, fast)
    return picture.astype(np.int64), (time.process_time_ns() - before) / 1e6


def main(arguments: list[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--steps", type=int, default=10, help="control steps per scene")
    parser.add_argument("--scenes", type=int, default=len(SCENES), help="only the first so many scenes")
    options = parser.parse_args(arguments)
    heads = f"{'scene':20}{'camera':26}{'mean':>7}{'largest':>9}{'over 8':>9}{'exact [ms]':>12}{'fast [ms]':>11}"
    print(f"{SIZE}x{SIZE}; over 8: share of values that differ by more than 8\n\n{heads}")
    for suite, index in SCENES[: options.scenes]:
        name = list(task_maps[suite])[index]
        task = Task(f"{suite}-T{index}", suite, index, name, suite, "", "", Slots(), Goal(()), suite, 50)
        with install.quiet():
            simulator = Simulator(facts.bddl_path(task), draws=True)
        bddl, poses = facts.bddl_path(task), fixtures.poses(task, 0)
        simulator.start(bddl, 0, facts.init_state(task, 0), poses, drawing=False)
        for fast in (False, True):
            drawn(simulator, CAMERAS[0], fast)  # the first picture makes the model
        apart: dict[str, list[NDArray[np.int64]]] = {camera: [] for camera in CAMERAS}
        times: dict[str, list[tuple[float, float]]] = {camera: [] for camera in CAMERAS}
        for action in np.random.default_rng(0).uniform(-1, 1, (options.steps, 7)):
            simulator.step(action, drawing=False)
            for camera in CAMERAS:
                (exact, slow), (fast, quick) = drawn(simulator, camera, False), drawn(simulator, camera, True)
                apart[camera].append(np.abs(exact - fast))
                times[camera].append((slow, quick))
        simulator.close()
        for camera in CAMERAS:
            all_of_it = np.array(apart[camera])
            slow, quick = (statistics.median(column) for column in zip(*times[camera], strict=True))
            print(
                f"{task.id:20}{camera:26}{all_of_it.mean():7.2f}{all_of_it.max():9}{(all_of_it > 8).mean():9.1%}"
                f"{slow:12.1f}{quick:11.1f}"
            )


if __name__ == "__main__":
    main()

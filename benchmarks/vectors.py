"""Two environments side by side: in threads, in turn and in processes, against LIBERO's own two-process vector.

``python benchmarks/vectors.py`` (a minute on two cores; ``--steps 20 --repeats 2`` half of it). All work block after
block in turn, from the same start and with the same actions, without pictures. Times are CPU times of all processes of
a side, per step of one environment. It is also a check: all must end in the same states, to the last bit.
"""

from __future__ import annotations

import argparse
import functools
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from gym_grounding import ThreadVectorEnv, manifest
from gym_grounding.adapters.libero import facts
from gym_grounding.adapters.libero.robosuite_names import ControlEnv

TASK, INIT_STATE = "LiberoGoal-T8", 2
IDS = [f"gym_grounding:Grounding/{TASK}-{kind}-v0" for kind in ("Original", "ContrastTarget1")]
TICK = 1.0 / os.sysconf("SC_CLK_TCK")


class State(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Can be asked for the simulator's state, also in another process."""

    def state(self) -> Any:
        return self.env.get_wrapper_attr("scene").state()


def made(name: str) -> State:
    """A registered environment without settle steps, which are ordinary steps."""
    return State(gymnasium.make(name, observation="state", settle_steps=0, stop="horizon", horizon=10**6))


class Ours:
    """The registered environments.

    Args:
        kind: of vector environment.
    """

    def __init__(self, kind: Callable[[Sequence[Callable[[], Any]]], Any]) -> None:
        self._vector = kind([functools.partial(made, name) for name in IDS])
        self._vector.reset(options={"init_state": INIT_STATE})

    def step(self, actions: Any) -> None:
        self._vector.step(actions)

    def states(self) -> Any:
        return self._vector.call("state")

    def close(self) -> None:
        self._vector.close()


class Libero:
    """LIBERO's environments in LIBERO's vector of processes."""

    def __init__(self) -> None:
        from libero.libero.envs import SubprocVectorEnv

        task = manifest.load().task(TASK)
        bddl = str(facts.bddl_path(task))
        make = functools.partial(ControlEnv, bddl, use_camera_obs=False, has_offscreen_renderer=False)
        self._vector: Any = SubprocVectorEnv([make] * len(IDS))
        self._vector.seed([INIT_STATE] * len(IDS))
        self._vector.reset()
        self._vector.set_init_state([facts.init_states(task)[INIT_STATE]] * len(IDS))

    def step(self, actions: Any) -> None:
        self._vector.step(actions.astype(np.float64))

    def states(self) -> Any:
        return self._vector.get_sim_state()

    def close(self) -> None:
        self._vector.close()


SIDES: dict[str, Callable[[], Any]] = {  # those with processes first: they are forked, and must inherit nothing
    "LIBERO's SubprocVectorEnv": Libero,
    "ours, AsyncVectorEnv": functools.partial(Ours, AsyncVectorEnv),
    "ours, SyncVectorEnv": functools.partial(Ours, SyncVectorEnv),
    "ours, ThreadVectorEnv": functools.partial(Ours, ThreadVectorEnv),
}
LIBERO, *OURS = SIDES


def children() -> float:
    """CPU time of the living child processes [s]."""
    total = 0.0
    for child in multiprocessing.active_children():
        fields = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) * TICK
    return total


def spent(deed: Callable[[], None]) -> float:
    """CPU time of a deed, in all processes [s]."""
    before = time.process_time() + children()
    deed()
    return time.process_time() + children() - before


def measure(repeats: int, steps: int) -> tuple[dict[str, list[float]], bool]:
    """CPU time per step of one environment [ms] in each block, by side; whether all ended in the same states."""
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (repeats + 1, steps, len(IDS), 7)).astype(np.float32)
    actions[..., 2] -= 0.3  # down to the table, so that there are contacts
    actions = np.clip(actions, -1.0, 1.0)
    sides = {name: make() for name, make in SIDES.items()}

    def block(name: str, number: int) -> None:
        for action in actions[number]:
            sides[name].step(action)

    for name in sides:
        block(name, repeats)  # warms up what is compiled at first use
    times: dict[str, list[float]] = {name: [] for name in sides}
    for repeat in range(repeats):
        for name in [*SIDES][:: 1 if repeat % 2 else -1]:
            used = spent(functools.partial(block, name, repeat))
            times[name].append(1000 * used / (steps * len(IDS)))
    states = [side.states() for side in sides.values()]
    for side in sides.values():
        side.close()
    return times, all(np.array_equal(states[0], other) for other in states[1:])


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 0 when all sides ended in the same states."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="blocks per side")
    parser.add_argument("--steps", type=int, default=60, help="control steps per block")
    parser.add_argument("--json", type=Path, help="also write the times to this file")
    options = parser.parse_args(arguments)
    times, equal = measure(options.repeats, options.steps)
    if options.json:
        options.json.write_text(json.dumps(times, indent=2) + "\n")
    print(f"{'CPU time per step of one environment':<38}{'[ms]':>8}{'LIBERO /':>10}{'range':>16}")
    for name, row in times.items():
        ratios = [theirs / ours for theirs, ours in zip(times[LIBERO], row, strict=True)]
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"{name:<38}{statistics.median(row):>8.2f}{statistics.median(ratios):>10.2f}{spread:>16}")
    print(f"\nended in the same states, to the last bit: {'yes' if equal else 'NO'}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())

"""One side of a comparison in a process of its own, for ``table``: prints one number, CPU time [s].

``rollouts``: LIBERO's evaluation loop (``lifelong/metric.py``), which is not in its wheels: one of its environments in
its vector form, for each episode a reset, the initial state, idle steps, and random actions until the horizon.
``vector``: LIBERO's two-process vector, per step of one environment; ``threads``: two of ours in two threads.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from gym_grounding import manifest
from gym_grounding.adapters.libero import facts

TASK = "LiberoGoal-T8"
WARM = 10


def libero() -> Any:
    """LIBERO's environment of the task, state only; also called in LIBERO's own processes."""
    from gym_grounding.adapters.libero import install
    from gym_grounding.adapters.libero.robosuite_names import ControlEnv

    with install.quiet():
        path = str(facts.bddl_path(manifest.load().task(TASK)))
        return ControlEnv(path, use_camera_obs=False, has_offscreen_renderer=False, ignore_done=True)


def libero_vectors() -> Any:
    """LIBERO's module of vector environments, which must not be the first to bring robosuite in."""
    importlib.import_module("gym_grounding.adapters.libero.robosuite_names")
    return importlib.import_module("libero.libero.envs.venv")


def ours() -> Any:
    """The registered environment of the task, state only, started."""
    import gymnasium

    name = f"gym_grounding:Grounding/{TASK}-Original-v0"
    env = gymnasium.make(name, observation="state", settle_steps=0, stop="horizon", horizon=10**6)
    env.reset(seed=0, options={"init_state": 0})
    return env


def actions(count: int) -> Any:
    """Down to the table, shape (count, 7)."""
    drawn = np.random.default_rng(0).uniform(-1.0, 1.0, (count, 7))
    drawn[:, 2] -= 0.3
    return np.clip(drawn, -1.0, 1.0)


def rollouts(episodes: int, steps: int) -> None:
    """LIBERO's evaluation loop."""
    env = libero_vectors().DummyVectorEnv([libero])
    states = facts.init_states(manifest.load().task(TASK))
    settle, drawn = manifest.load().settle, actions(steps)
    env.seed(0)
    for episode in range(episodes):
        env.reset()
        env.set_init_state(states[episode % len(states) : episode % len(states) + 1])
        done = False
        for _ in range(settle):
            env.step(np.zeros((1, 7)))
        for action in drawn:
            _, _, dones, _ = env.step(action[None])
            done = done or bool(dones[0])
    env.close()


def vector(steps: int) -> float:
    """LIBERO's two processes, and this one, which serves them."""
    env = libero_vectors().SubprocVectorEnv([libero, libero])
    env.reset()
    states = facts.init_states(manifest.load().task(TASK))
    env.set_init_state(states[:2])
    drawn = actions(steps + WARM)
    for action in drawn[:WARM]:
        env.step(np.array([action, action]))
    before = _spent()
    for action in drawn[WARM:]:
        env.step(np.array([action, action]))
    spent = _spent() - before
    env.close()
    return spent / (2 * steps)


def threads(steps: int) -> float:
    """Two of ours, each in a thread; they meet after each step, as in a vector."""
    envs = [ours(), ours()]
    drawn = actions(steps + WARM).astype(np.float32)
    with ThreadPoolExecutor(2) as pool:

        def run(part: Any) -> None:
            for action in part:
                list(pool.map(lambda env, action=action: env.step(action), envs))

        run(drawn[:WARM])
        before = time.process_time()
        run(drawn[WARM:])
        spent = time.process_time() - before
    for env in envs:
        env.close()
    return spent / (2 * steps)


def _spent() -> float:
    """CPU time of this process and its living children [s]."""
    tick = os.sysconf("SC_CLK_TCK")
    numbers = [child.pid for child in multiprocessing.active_children()]
    fields = [Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split() for number in numbers]
    return time.process_time() + sum((int(field[11]) + int(field[12])) / tick for field in fields)


def main(arguments: list[str] | None = None) -> int:
    """Run a side and print its time."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("side", choices=("rollouts", "vector", "threads"))
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument("--steps", type=int, default=100)
    given = parser.parse_args(arguments)
    if given.side == "rollouts":
        rollouts(given.episodes, given.steps)
        print(time.process_time())
    else:
        sides: dict[str, Callable[[int], float]] = {"vector": vector, "threads": threads}
        print(sides[given.side](given.steps))
    return 0


if __name__ == "__main__":
    sys.exit(main())

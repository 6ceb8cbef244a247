"""LIBERO's evaluation loop in a process of its own, for ``table``: prints its CPU time [s].

The loop (``lifelong/metric.py``) is not in LIBERO's wheels: one of its environments in its vector form, for each
episode a reset, the initial state, idle steps, and random actions until the horizon.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from typing import Any

import numpy as np

from gym_grounding import manifest
from gym_grounding.adapters.libero import facts

TASK = "LiberoGoal-T8"


def libero() -> Any:
    """LIBERO's environment of the task, state only."""
    from gym_grounding.adapters.libero import install
    from gym_grounding.adapters.libero.robosuite_names import ControlEnv

    with install.quiet():
        path = str(facts.bddl_path(manifest.load().task(TASK)))
        return ControlEnv(path, use_camera_obs=False, has_offscreen_renderer=False, ignore_done=True)


def libero_vectors() -> Any:
    """LIBERO's module of vector environments, which must not be the first to bring robosuite in."""
    importlib.import_module("gym_grounding.adapters.libero.robosuite_names")
    return importlib.import_module("libero.libero.envs.venv")


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


def main(arguments: list[str] | None = None) -> int:
    """Run the loop and print its time."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--episodes", type=int, default=10)
    parser.add_argument("--steps", type=int, default=100)
    given = parser.parse_args(arguments)
    rollouts(given.episodes, given.steps)
    print(time.process_time())
    return 0


if __name__ == "__main__":
    sys.exit(main())

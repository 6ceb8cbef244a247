"""Whether memory grows with the episodes of one process.

``python benchmarks/memory.py`` runs 10,000 short episodes of all variants of some tasks, closing and opening
environments on the way (ten minutes; ``--episodes 500`` half of one), and prints the resident memory as it goes.
Growth is counted from the moment when everything is loaded: a fifth of the episodes, in which each scene was open.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import gymnasium
import numpy as np

from gym_grounding import manifest

TASKS = ("LiberoGoal-T8", "LiberoSpatial-T4", "LiberoObject-T0", "LiberoLong-T9")
SAMPLES = 20
EPISODES_EACH = 5
"""Before an environment is closed and the next one opened."""


def resident() -> float:
    """Resident memory of this process without garbage [MB]."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def ids() -> list[str]:
    """Variants of the tasks, those of different scenes after each other."""
    loaded = manifest.load()
    own = [[one.id for one in loaded.variants.values() if one.task == task] for task in TASKS]
    mixed = itertools.chain.from_iterable(itertools.zip_longest(*own))
    return [f"gym_grounding:Grounding/{name}-v{loaded.version}" for name in mixed if name]


def sampled(episodes: int, steps: int) -> list[tuple[int, float]]:
    """(episodes so far, memory [MB]) at even distances, from before the first scene is opened."""
    generator = np.random.default_rng(0)
    samples = [(0, resident())]
    names = itertools.cycle(ids())
    every, done = max(1, episodes // SAMPLES), 0
    while done < episodes:
        env = gymnasium.make(next(names), observation="state", stop="horizon", horizon=steps, disable_env_checker=True)
        for _ in range(min(EPISODES_EACH, episodes - done)):
            env.reset(seed=int(generator.integers(2**31)))
            for _ in range(steps):
                env.step(generator.uniform(-1.0, 1.0, 7).astype(np.float32))
            done += 1
            if done % every == 0:
                samples.append((done, resident()))
        env.close()
    return samples


def growth(samples: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """MB per 1000 episodes by least squares after the first fifth, and the largest distance from that line [MB]."""
    settled = np.array([sample for sample in samples if sample[0] * 5 >= samples[-1][0]])
    slope, base = np.polyfit(settled[:, 0], settled[:, 1], 1)
    return float(slope * 1000), float(np.abs(settled[:, 1] - slope * settled[:, 0] - base).max())


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the samples and the growth."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--episodes", type=int, default=10_000)
    parser.add_argument("--steps", type=int, default=2, help="of each, after settling")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    given = parser.parse_args(arguments)
    samples = sampled(given.episodes, given.steps)
    for done, size in samples:
        print(f"{done:>8} episodes{size:>9.1f} MB")
    slope, noise = growth(samples)
    print(f"growth {slope:+.2f} MB per 1000 episodes; samples lie within {noise:.1f} MB of that line")
    if given.json:
        numbers = {"samples": samples, "mb_per_1000_episodes": slope, "noise_mb": noise}
        given.json.write_text(json.dumps(numbers, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What the training loop costs beside a plain loop of PyTorch over the same network and the same batches.

``python benchmarks/training.py`` makes random demonstrations of the size of LIBERO's states, trains the ``cpu`` network
by both loops in turns on one thread, and prints windows per second of CPU time, how much of the loop's time goes into
reading windows, and the largest resident memory. ``--json FILE`` keeps the numbers.
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import numpy as np
import torch
from gym_grounding_policies.data.language import words_of
from gym_grounding_policies.data.tokens import StateInputs
from gym_grounding_policies.data.windows import TaskFile, Windows
from gym_grounding_policies.learners.seqft import LEARNER, Settings
from gym_grounding_policies.nets.actor import Actor
from gym_grounding_policies.training.kits import CPU
from gym_grounding_policies.training.loop import Streams, Training, stream

from gym_grounding.demos.layout import columns
from gym_grounding.demos.write import Recorded, assemble, write_part
from gym_grounding.types import Goal, Slots, Task

TASK = Task("Some-T0", "Some", 0, "move_it", "some", "move it", "move it", Slots(), Goal(()), "scene", 1)
THINGS = ("bowl_1", "bottle_1", "cheese_1", "plate_1", "cabinet_1", "stove_1", "rack_1")
ROWS = 80
"""Of a demonstration."""


def demonstrations(path: Path, count: int) -> None:
    """Writes a file of random demonstrations with seven things in the scene."""
    rng, parts = np.random.default_rng(0), []
    for number in range(count):
        seen = {
            "robot0_joint_pos": rng.normal(size=(ROWS + 1, 7)),
            "robot0_gripper_qpos": rng.normal(size=(ROWS + 1, 2)),
        }
        for name in ("robot0_eef", *THINGS):
            quaternions = rng.normal(size=(ROWS + 1, 4))
            seen[f"{name}_pos"] = rng.normal(size=(ROWS + 1, 3))
            seen[f"{name}_quat"] = quaternions / np.linalg.norm(quaternions, axis=1, keepdims=True)
        actions = rng.uniform(-1, 1, (ROWS, 7))
        rows = columns(rng.normal(size=(ROWS, 4)), actions, actions, {key: value[1:] for key, value in seen.items()})
        header = {"problem_info": {"language_instruction": TASK.source_instruction}, "task": TASK.id}
        parts.append(path.with_name(f"part_{number}.hdf5"))
        write_part(parts[-1], Recorded(rows, seen, {"num_samples": ROWS}, header))
    assemble(path, parts, {})


def loop(windows: Windows, actor: Actor, batch: int, epochs: int) -> float:
    """Seconds of CPU time of the training loop."""
    streams = Streams(0)
    recipe = CPU.recipe.__class__(epochs=epochs, batch=batch, lr=1e-3, weight_decay=0.0)
    training = Training(LEARNER(actor, Settings(), streams.learner), recipe, streams)
    began = time.process_time()
    for _ in training.task(training.data(windows)):
        pass
    return time.process_time() - began


def plain(windows: Windows, actor: Actor, batch: int, epochs: int) -> tuple[float, float]:
    """Seconds of CPU time of a loop as anyone would write it, and what of them was for reading windows."""
    optimizer = torch.optim.AdamW(actor.parameters(), lr=1e-3, weight_decay=0.0)
    steps = epochs * -(-len(windows) // batch)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=steps)
    rng, reading = np.random.default_rng(0), 0.0
    actor.train()
    began = time.process_time()
    for _ in range(epochs):
        order = rng.permutation(len(windows))
        for first in range(0, len(order), batch):
            start = time.process_time()
            one = windows.batch(order[first : first + batch])
            reading += time.process_time() - start
            loss = actor.nll(one)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(actor.parameters(), 100.0)
            optimizer.step()
            schedule.step()
    return time.process_time() - began, reading


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--demonstrations", type=int, default=20)
    parser.add_argument("--batch", type=int, default=CPU.recipe.batch)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args(arguments)
    torch.set_num_threads(1)
    inputs, words = StateInputs(), words_of("hashing")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "move_it_demo.hdf5"
        demonstrations(path, given.demonstrations)
        windows = Windows([TaskFile(path, TASK, 0)], inputs, words, CPU.windows)
        profile = CPU.profile(inputs, words)
        ours, theirs, shares = [], [], []
        for repeat in range(given.repeats):
            first, second = (Actor.made(profile, stream(repeat, 9)) for _ in range(2))
            ours.append(loop(windows, first, given.batch, given.epochs))
            seconds, reading = plain(windows, second, given.batch, given.epochs)
            theirs.append(seconds)
            shares.append(reading / seconds)
        count = given.epochs * len(windows)
    numbers = {
        "windows_per_second": {"loop": count / median(ours), "plain": count / median(theirs)},
        "ratio": median(theirs) / median(ours),
        "reading": median(shares),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        "batch": given.batch,
        "repeats": given.repeats,
    }
    rates, times = numbers["windows_per_second"], f"{given.epochs} epochs, median of {given.repeats}"
    print(f"{len(windows)} windows, batches of {given.batch}, {times}, one thread")
    print(f"training loop {rates['loop']:.0f} windows/s, plain loop {rates['plain']:.0f}, ratio {numbers['ratio']:.2f}")
    print(f"reading windows takes {numbers['reading']:.0%} of the time; largest memory {numbers['peak_mb']:.0f} MB")
    if given.json is not None:
        given.json.write_text(json.dumps(numbers, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

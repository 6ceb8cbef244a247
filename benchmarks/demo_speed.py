"""How long making demonstrations takes and how large they are: the figures of `gym_grounding/demos/estimate.py`.

`python benchmarks/demo_speed.py` makes 50 state demonstrations of one task in two processes, as users do; `--pictures`
and `--per-task 5` for the cameras. It prints the time of the whole command, of a control step, and the sizes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import h5py

from gym_grounding import manifest
from gym_grounding.demos.estimate import REST, estimate
from gym_grounding.demos.make import Order, make
from gym_grounding.demos.settings import Settings


def main(arguments: list[str] | None = None) -> int:
    """Make, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", default="LiberoGoal-T8", help="ids, written with commas")
    parser.add_argument("--per-task", type=int, default=50)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--pictures", action="store_true")
    parser.add_argument("--noise", default="none")
    parser.add_argument("--out", type=Path, help="keep the files here")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(noise=options.noise, pictures=options.pictures)
        tasks = tuple(options.tasks.split(","))
        order = Order(options.out or Path(folder), tasks, options.per_task, 4 * options.per_task, settings)
        print(f"estimated: {estimate(order, manifest.load(), options.workers).words}")
        began = time.monotonic()
        made = make(order, workers=options.workers)
        seconds = time.monotonic() - began
        lengths = [length for one in made for length in one.lengths]
        rows, size, model = sum(lengths), sum(one.size for one in made), 0
        for one in made:
            with h5py.File(one.path, "r") as file:
                model += sum(len(demo.attrs["model_file"]) for demo in file["data"].values())
    attempts = sum(one.attempts for one in made)
    # Attempts that fail are about as long as the others.
    steps = (rows / len(lengths) + REST) * attempts
    print(f"{len(lengths)} demonstrations of {len(made)} tasks in {attempts} attempts, {options.workers} processes")
    print(f"{seconds:.1f} s in all, {1000 * seconds * options.workers / steps:.1f} ms a control step and process")
    print(
        f"rows: {min(lengths)} to {max(lengths)}, median {statistics.median(lengths):g}, mean {rows / len(lengths):.1f}"
    )
    print(f"{size / 1e6:.1f} MB, {(size - model) / rows:.0f} bytes a row, {model / len(lengths):.0f} a model")
    return 0


if __name__ == "__main__":
    sys.exit(main())

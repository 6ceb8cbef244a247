"""How long a report takes and how much memory, on many invented episode records: `python benchmarks/report.py`.

Eight methods with three seeds each on one suite, every stage, original, paraphrases, contrasts, collisions, Swap and
Null, so many initial states that there are about 200,000 episodes. The records are written first, in a process of their
own, and are not part of what is measured.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import tempfile
import time
from pathlib import Path

from gym_grounding import manifest as manifests
from gym_grounding.plan import Plan
from gym_grounding.report import write_report
from gym_grounding.testing.records import BEHAVIOURS, write_run

METHODS, SEEDS, WANTED = 8, (0, 1, 2), 200_000
CONDITIONS = ("original", "paraphrase", "contrast", "collision", "swap", "null")
LONGEST, LARGEST = 20.0, 1.0
"""Seconds and GB that such a report may take."""


def invent(folder: str) -> None:
    """Runs of invented policies that differ in skill, in a folder."""
    manifest = manifests.load()
    one = Plan.make("LiberoGoal", conditions=CONDITIONS, init_states=(0,), seeds=(0,), stages="all")
    states = round(WANTED / len(one.cells(manifest)) / METHODS / len(SEEDS))
    for index in range(METHODS):
        for seed in SEEDS:
            plan = Plan.make(
                "LiberoGoal", conditions=CONDITIONS, init_states=range(states), seeds=(seed,), stages="all"
            )
            place = Path(folder) / f"method{index}-{seed}"
            behaviour = BEHAVIOURS[index % len(BEHAVIOURS)]
            write_run(place, manifest, plan, behaviour, name=f"method{index}", skill=0.2 + 0.1 * index)


def report(folder: str, out: str) -> None:
    """The report; prints what it took."""
    began = time.perf_counter()
    runs = sorted(path for path in Path(folder).iterdir() if path.is_dir())
    write_report(runs, out)
    seconds = time.perf_counter() - began
    cells = [one["cells"]["done"] for one in json.loads((Path(out) / "metrics.json").read_text())["methods"]]
    size = (Path(out) / "report.html").stat().st_size / 1e6
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(
        f"{sum(cells):,} episodes: {seconds:.1f} s (at most {LONGEST:.0f}), {memory:.2f} GB (at most {LARGEST:.0f}), "
        f"page of {size:.1f} MB"
    )


def main() -> None:
    """Write records, unless they are there, and measure their report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", help="folder of the records; made if it is not there, and kept")
    parser.add_argument("--out", help="folder of the report; kept if given")
    given = parser.parse_args()
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as place:
        runs = given.runs or str(Path(place) / "runs")
        for target, arguments in ((invent, (runs,)), (report, (runs, given.out or str(Path(place) / "report")))):
            if target is invent and Path(runs).exists():
                continue
            process = spawn.Process(target=target, args=arguments)
            process.start()
            process.join()
            if process.exitcode:
                raise SystemExit(process.exitcode)


if __name__ == "__main__":
    main()

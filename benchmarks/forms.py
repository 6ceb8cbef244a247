"""Evaluation in processes, as ``evaluate`` does it, beside the same batches in threads of one process.

``python benchmarks/forms.py`` (a minute on two cores). The same policy, plan and batches on state observations; both
must give the same records. CPU times of all processes, per step and for the start; the wall time of the batches means
something only where as many cores are free. The last column is the share of CPU time outside the control step proper:
mostly Python, for which threads wait for each other.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from vectors import children

from gym_grounding import manifest as manifests
from gym_grounding.adapters.libero.core.stepper import Stepper
from gym_grounding.plan import Plan
from gym_grounding.policy import PolicySource
from gym_grounding.records import EpisodeRecord
from gym_grounding.rollout import Outcome, units
from gym_grounding.types import SceneSettings
from gym_grounding.workers import InProcess, Unit, runner

Jobs = list[tuple[Unit, frozenset[Any]]]


@contextmanager
def processes(count: int, source: PolicySource, plan: Plan) -> Iterator[Callable[[Jobs], list[Outcome]]]:
    """Runs batches as ``evaluate`` does."""
    run = runner(count, source, plan)
    run.prepare(0, 0)
    try:
        yield lambda jobs: list(run.run(jobs))
    finally:
        run.close()


@contextmanager
def threads(count: int, source: PolicySource, plan: Plan) -> Iterator[Callable[[Jobs], list[Outcome]]]:
    """Runs batches in threads, each with a policy of its own."""
    with ThreadPoolExecutor(count) as pool:
        runs = [InProcess(PolicySource(source.policy), plan) for _ in range(count)]

        def all_of(jobs: Jobs) -> list[Outcome]:
            parts = pool.map(lambda number: list(runs[number].run(jobs[number::count])), range(count))
            return [outcome for part in parts for outcome in part]

        yield all_of


def cpu() -> float:
    """CPU time of this process and its living children [s]."""
    return time.process_time() + children()


@contextmanager
def stepping() -> Iterator[list[float]]:
    """CPU times of this process's control steps [s]."""
    step, times = Stepper.step, []

    def timed(stepper: Stepper, action: Any) -> None:
        before = time.thread_time()
        step(stepper, action)
        times.append(time.thread_time() - before)

    Stepper.step = timed  # type: ignore[method-assign]
    try:
        yield times
    finally:
        Stepper.step = step  # type: ignore[method-assign]


def measured(form: Any, count: int, policy: str, plan: Plan, batches: list[Unit]) -> tuple[str, list[str]]:
    """A row of the table, and the records as text."""
    jobs = [(unit, frozenset(unit)) for unit in batches]
    before = cpu()
    with form(count, PolicySource(policy), plan) as run:
        run(jobs[:count])  # opens a scene in each
        started, began = cpu(), time.monotonic()
        with stepping() as times:
            found = run(jobs[count:])
        used, wall = cpu() - started, time.monotonic() - began
    steps = sum(outcome.steps for outcome in found if isinstance(outcome, EpisodeRecord))
    share = f"{1 - sum(times) / used:.0%}" if times else "-"
    row = f"{form.__name__:<12}{count:>3}{started - before:>12.2f}{1000 * used / steps:>16.2f}{wall:>10.1f}{share:>10}"
    return row, sorted(str(dataclasses.replace(one, seconds=0.0)) for one in found)  # type: ignore[call-arg]


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 0 when all forms gave the same records."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--policy", default="still", help="a reference policy, or module:OBJECT")
    parser.add_argument("--workers", type=int, default=2, help="processes or threads")
    parser.add_argument("--episodes", type=int, default=8, help="episodes per form")
    parser.add_argument("--horizon", type=int, default=40, help="steps per episode")
    options = parser.parse_args(arguments)
    count, settings = options.workers, SceneSettings(observation="state")
    starts = range(options.episodes + count)
    plan = Plan.make(
        "LiberoGoal",
        tasks=[8],
        init_states=starts,
        conditions=["original"],
        horizon=options.horizon,
        stop="horizon",
        settings=settings,
        batch=1,
    )
    manifest = manifests.load()
    batches = list(units(plan.cells(manifest), plan, manifest))
    print(f"{'form':<15}{'start [s]':>12}{'a step [ms]':>16}{'wall [s]':>10}{'Python':>10}")
    records = []
    for form, number in ((processes, count), (threads, count), (threads, 1)):
        row, found = measured(form, number, options.policy, plan, batches[count - number :])
        print(row, flush=True)
        records.append(found)
    equal = all(found == records[0] for found in records)
    print(f"\nequal records: {'yes' if equal else 'NO'}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())

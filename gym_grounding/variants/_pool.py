"""Jobs in several processes, each result as soon as it is there."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import TypeVar

from gym_grounding.errors import WorkerDied
from gym_grounding.processes import pool

Job = TypeVar("Job")
Result = TypeVar("Result")
WAITING = 2
"""Jobs that lie ready for each process."""


def each(work: Callable[[Job], Result], jobs: Iterable[Job], workers: int) -> Generator[Result, None, None]:
    """The results of all jobs, in the order in which they are done; with one worker, here and in their own order.

    Closing the generator stops the processes; a job in progress is not waited for.

    Args:
        work: can be sent to another process by name.
        jobs: can be sent to another process.
        workers: processes.

    Raises:
        WorkerDied: a process ended by itself.
    """
    if workers <= 1:
        yield from map(work, jobs)
        return
    try:
        with pool(workers) as executor:
            yield from _results(executor, work, iter(jobs), workers * WAITING)
    except BrokenProcessPool as error:
        raise WorkerDied(
            "a worker process ended (out of memory?). What is recorded is kept: the same command continues, perhaps "
            "with fewer --workers"
        ) from error


def _results(
    executor: ProcessPoolExecutor, work: Callable[[Job], Result], jobs: Iterator[Job], most: int
) -> Iterator[Result]:
    running: set[Future[Result]] = set()
    while True:
        running |= {executor.submit(work, job) for job in islice(jobs, most - len(running))}
        if not running:
            return
        done, running = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()

"""Jobs in several processes, each result as soon as it is there."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from typing import TypeVar

from gym_grounding.errors import WorkerDied
from gym_grounding.workers import THREAD_VARIABLES

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
    others = set(multiprocessing.active_children())
    # A forked process would share the compiled scenes of this one.
    spawn = multiprocessing.get_context("spawn")
    with _one_thread_each():
        pool = ProcessPoolExecutor(workers, mp_context=spawn, initializer=_enter)
        try:
            yield from _results(pool, work, iter(jobs), workers * WAITING)
        except BaseException as error:
            for process in multiprocessing.active_children():
                if process not in others:
                    process.kill()
            if isinstance(error, BrokenProcessPool):
                raise WorkerDied(
                    "a worker process ended (out of memory?). What is recorded is kept: the same command continues, "
                    "perhaps with fewer --workers"
                ) from error
            raise
        finally:
            pool.shutdown(cancel_futures=True)


def _results(
    pool: ProcessPoolExecutor, work: Callable[[Job], Result], jobs: Iterator[Job], most: int
) -> Iterator[Result]:
    running: set[Future[Result]] = set()
    while True:
        running |= {pool.submit(work, job) for job in islice(jobs, most - len(running))}
        if not running:
            return
        done, running = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            yield future.result()


def _enter() -> None:
    """A worker process's first deed: leave Ctrl-C to the parent, and do not outlive it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def watch() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def _one_thread_each() -> Iterator[None]:
    """Processes started inside compute with one thread each, unless the caller has said otherwise."""
    added = [name for name in THREAD_VARIABLES if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]

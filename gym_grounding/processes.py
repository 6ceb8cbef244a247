"""Processes that work for this one: they leave Ctrl-C to it, do not outlive it, and compute with one thread each."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Set to 1 in workers unless they are set already: N workers with N threads each would fight for the cores, and sums
that are split over threads differ in their last bits from machine to machine."""


@contextlib.contextmanager
def pool(workers: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of fresh processes. Whatever ends the block early also ends them, in the middle of a job.

    Args:
        workers: processes.
    """
    others = set(multiprocessing.active_children())
    # A forked process would share the compiled scenes of this one, and could not draw after it has drawn.
    spawn = multiprocessing.get_context("spawn")
    with one_thread_each():
        executor = ProcessPoolExecutor(workers, mp_context=spawn, initializer=enter)
        try:
            yield executor
        except BaseException:
            for process in multiprocessing.active_children():
                if process not in others:
                    process.kill()
            raise
        finally:
            executor.shutdown(cancel_futures=True)


def enter() -> None:
    """A worker process's first deed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    exit_with_parent()


def exit_with_parent() -> None:
    """End this process within moments of its parent's end, also in the middle of a job."""

    def watch() -> None:
        parent = multiprocessing.parent_process()
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextlib.contextmanager
def one_thread_each() -> Iterator[None]:
    """Processes started inside inherit ``THREAD_VARIABLES`` as 1 where nobody set them; this process keeps its own."""
    added = [name for name in THREAD_VARIABLES if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]

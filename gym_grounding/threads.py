"""Threads that things live on, such as simulators: what is done to a thing is done on its own thread."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import gymnasium

from gym_grounding.errors import GroundingError, InvalidOption


class Crew:
    """Threads that things live on: whatever is done to a thing is done on its own thread.

    Args:
        names: of the things, for errors.
        threads: how many at most; None for as many as there are cores.

    Raises:
        InvalidOption: no whole number of threads.
    """

    def __init__(self, names: Sequence[str], threads: int | None = None) -> None:
        if threads is not None and (isinstance(threads, bool) or not isinstance(threads, int) or threads < 1):
            raise InvalidOption(f"threads is {threads!r}; give a number of threads, or None for one per core")
        self._names = tuple(names)
        count = min(len(names), threads or len(os.sched_getaffinity(0)))
        self._threads = [ThreadPoolExecutor(1, "environments") for _ in range(count)]
        self._process = os.getpid()

    def name(self, index: int) -> str:
        """How errors call a thing."""
        return f"environment {index} ({self._names[index]})"

    def each(self, deed: Callable[[int], Any], indices: Iterable[int] | None = None) -> list[Any]:
        """What ``deed(index)`` returns for each thing, in order; all of them are tried.

        Raises:
            Exception: the first thing's that failed, with its name in it.
        """
        chosen = range(len(self._names)) if indices is None else list(indices)
        if self._process != os.getpid():
            raise InvalidOption("the vector environment lives in threads of another process; make one in this process")
        shares = [[index for index in chosen if index % len(self._threads) == n] for n in range(len(self._threads))]
        futures: list[Future[list[tuple[int, Any, Exception | None]]]] = [
            thread.submit(_done, deed, share) for thread, share in zip(self._threads, shares, strict=True) if share
        ]
        found = {index: (value, error) for future in futures for index, value, error in future.result()}
        failed = [(index, error) for index in chosen if (error := found[index][1]) is not None]
        if failed:
            raise self._told(failed)
        return [found[index][0] for index in chosen]

    def end(self) -> None:
        """Wait for what is being done, and end the threads; safe to call twice."""
        for thread in self._threads:
            thread.shutdown()

    def _told(self, failed: Sequence[tuple[int, Exception]]) -> Exception:
        (index, first), *others = failed
        where = f"{self.name(index)}: "
        # Others may keep more than a message in their arguments.
        if isinstance(first, GroundingError | gymnasium.error.Error) and [*map(type, first.args)] == [str]:
            first.args = (where + first.args[0],)
        else:
            first.add_note(f"in {where[:-2]}")
        for other, error in others:
            first.add_note(f"{self.name(other)} failed too: {type(error).__name__}: {error}")
        return first


def _done(deed: Callable[[int], Any], share: Sequence[int]) -> list[tuple[int, Any, Exception | None]]:
    results: list[tuple[int, Any, Exception | None]] = []
    for index in share:
        try:
            results.append((index, deed(index), None))
        except Exception as error:
            results.append((index, None, error))
    return results

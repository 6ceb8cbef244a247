"""Threads that things live on, such as simulators: what is done to a thing is done on its own thread."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from queue import SimpleQueue
from typing import Any

import gymnasium

from gym_grounding.errors import GroundingError, InvalidOption

Results = list[tuple[int, Any, BaseException | None]]
"""Index of a thing, what a deed returned for it, and what it raised."""
_Work = tuple[Callable[[int], Any], Sequence[int], "SimpleQueue[Results]"]


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
        # A fifth of the cost of concurrent.futures, which shows beside a step of 2 ms.
        self._inboxes: list[SimpleQueue[_Work | None]] = [SimpleQueue() for _ in range(count)]
        self._threads = [threading.Thread(target=_live, args=(inbox,), daemon=True) for inbox in self._inboxes]
        for thread in self._threads:
            thread.start()
        self._process = os.getpid()
        # Also when the crew is dropped, and when the interpreter ends.
        self._stop = weakref.finalize(self, _dismiss, self._inboxes)

    def name(self, index: int) -> str:
        """How errors call a thing."""
        return f"environment {index} ({self._names[index]})"

    def each(self, deed: Callable[[int], Any], indices: Iterable[int] | None = None) -> list[Any]:
        """What ``deed(index)`` returns for each thing, in order; all of them are tried.

        Raises:
            Exception: the first thing's that failed, with its name in it.
            InvalidOption: the crew has ended, or lives in another process.
        """
        chosen = range(len(self._names)) if indices is None else list(indices)
        if self._process != os.getpid():
            raise InvalidOption("the vector environment lives in threads of another process; make one in this process")
        if not self._stop.alive:
            raise InvalidOption("the vector environment is closed; make a new one")
        answers: SimpleQueue[Results] = SimpleQueue()
        count = len(self._inboxes)
        shares = [[index for index in chosen if index % count == number] for number in range(count)]
        for inbox, share in zip(self._inboxes, shares, strict=True):
            if share:
                inbox.put((deed, share, answers))
        found = {index: (value, error) for _ in filter(None, shares) for index, value, error in answers.get()}
        failed = [(index, error) for index in chosen if (error := found[index][1]) is not None]
        if failed:
            raise self._told(failed)
        return [found[index][0] for index in chosen]

    def end(self) -> None:
        """Wait for what is being done, and end the threads; safe to call twice."""
        self._stop()
        for thread in self._threads:
            thread.join()

    def _told(self, failed: Sequence[tuple[int, BaseException]]) -> BaseException:
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


def _live(inbox: SimpleQueue[_Work | None]) -> None:
    """A thread's whole life."""
    while (work := inbox.get()) is not None:
        deed, share, answers = work
        answers.put(_done(deed, share))
        del work, deed, answers  # while it waits, it keeps nobody alive


def _done(deed: Callable[[int], Any], share: Sequence[int]) -> Results:
    results: Results = []
    for index in share:
        try:
            results.append((index, deed(index), None))
        except BaseException as error:  # whoever waits for the answer must get one
            results.append((index, None, error))
    return results


def _dismiss(inboxes: Iterable[SimpleQueue[_Work | None]]) -> None:
    for inbox in inboxes:
        inbox.put(None)

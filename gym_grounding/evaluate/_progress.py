"""How far a run is: a bar on a terminal, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import NoReturn, Protocol, Self

from tqdm import tqdm

INTERVAL = 60.0
"""Seconds between two lines of a log."""


class Progress(Protocol):
    """Is told of every episode; a context manager."""

    def update(self, failed: bool) -> None:
        """One more episode is over; ``failed``: by an error."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None: ...


def progress_of(total: int, done: int, shown: bool = True) -> Progress:
    """What suits the error output.

    Args:
        total: number of episodes of the run.
        done: how many of them were recorded before.
        shown: False for none at all.
    """
    if not shown or sys.stderr is None:
        return Silent()
    return Bar(total, done) if sys.stderr.isatty() else Lines(total, done)


class Silent:
    """Shows nothing."""

    def update(self, failed: bool) -> None:
        """Nothing to show."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Nothing to end."""


class Bar(Silent):
    """Episodes, rate, time left and errors as a bar that is drawn anew."""

    def __init__(self, total: int, done: int) -> None:
        self._bar: tqdm[NoReturn] = tqdm(total=total, initial=done, unit="episode", dynamic_ncols=True)
        self._errors = 0

    def update(self, failed: bool) -> None:
        if failed:
            self._errors += 1
            self._bar.set_postfix(errors=self._errors, refresh=False)
        self._bar.update()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.close()


class Lines(Silent):
    """The same as one line every ``INTERVAL`` at most; none in a run that is shorter."""

    def __init__(self, total: int, done: int) -> None:
        self._total, self._before = total, done
        self._over = self._errors = 0
        self._began = self._said = time.monotonic()

    def update(self, failed: bool) -> None:
        self._over += 1
        self._errors += failed
        now = time.monotonic()
        if now - self._said >= INTERVAL:
            self._said = now
            sys.stderr.write(f"{self._line(now - self._began)}\n")
            sys.stderr.flush()

    def _line(self, seconds: float) -> str:
        over = self._before + self._over
        rate = self._over / seconds
        left = tqdm.format_interval((self._total - over) / rate)
        return f"{over}/{self._total} episodes, {rate:.3g} episode/s, {left} left, {self._errors} errors"

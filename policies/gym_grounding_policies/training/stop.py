"""Ctrl-C and SIGTERM in a program that wants to finish its step and save before it ends."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any, Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stop:
    """A context in which the two signals only set ``asked``; the second one, or one inside ``at_once``, interrupts.

    Attributes:
        asked: whether a signal came.
    """

    def __init__(self) -> None:
        self.asked = False
        self._now = False
        self._before: list[tuple[signal.Signals, Any]] = []

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = [(one, signal.signal(one, self._told)) for one in SIGNALS]
        return self

    def __exit__(self, *_: object) -> None:
        for one, before in self._before:
            signal.signal(one, before)
        self._before = []

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """For what loses nothing when it is interrupted."""
        self._now = True
        try:
            yield
        finally:
            self._now = False

    def _told(self, number: int, frame: FrameType | None) -> None:
        if self._now or self.asked:
            raise KeyboardInterrupt
        self.asked = True

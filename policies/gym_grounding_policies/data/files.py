"""Demonstration files that stay open, in each process for itself."""

from __future__ import annotations

import contextlib
import os
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

from gym_grounding.demos.read import Demonstration, DemonstrationFile, opened

View = TypeVar("View")

MOST = 64
"""Files that are open at once; the one that was not asked for the longest is closed."""


class OpenFiles(Generic[View]):
    """Opens files when they are asked for, and keeps some open.

    A process that was forked off opens its own: HDF5's handles do not bear being shared. Pickled, it has none open.

    Args:
        view: what is to be had of a demonstration.
    """

    def __init__(self, view: Callable[[Demonstration], View]) -> None:
        self._view = view
        self._owner = os.getpid()
        self._open: OrderedDict[Path, _Open[View]] = OrderedDict()
        self._inherited: list[object] = []

    def get(self, path: Path, name: str) -> View:
        """The view of a demonstration; to be used before another is asked for.

        Raises:
            InvalidDemonstration: the file cannot be opened, or has no such demonstration.
        """
        if self._owner != os.getpid():
            # Kept, since to drop them would close them here.
            self._inherited.append(self._open)
            self._owner, self._open = os.getpid(), OrderedDict()
        if path not in self._open:
            while len(self._open) >= MOST:
                self._open.popitem(last=False)[1].stack.close()
            self._open[path] = _Open(path)
        self._open.move_to_end(path)
        one = self._open[path]
        if name not in one.views:
            one.views[name] = self._view(one.file.demonstration(name))
        return one.views[name]

    def __reduce__(self) -> tuple[object, ...]:
        return (OpenFiles, (self._view,))


class _Open(Generic[View]):
    def __init__(self, path: Path) -> None:
        self.stack = contextlib.ExitStack()
        self.file: DemonstrationFile = self.stack.enter_context(opened(path))
        self.views: dict[str, View] = {}

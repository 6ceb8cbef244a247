"""What a training run tells: JSON lines, TensorBoard where it is installed, and progress with the time left."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import sys
import time
from pathlib import Path
from typing import Any

from tqdm import tqdm

from gym_grounding.errors import InvalidOption, UnwritableOutput
from gym_grounding_policies.training.loop import Moment

FILE = "log.jsonl"
EVENTS = "tensorboard"
"""Folder of TensorBoard's event files."""
TENSORBOARD = ("auto", "on", "off")
INTERVAL = 60.0
"""Seconds between two lines of progress outside a terminal."""


class Log:
    """``log.jsonl`` in a run's folder: an object a line, each with ``event`` and ``task``.

    A line's ``seconds`` are those since the program began and are for information only. A run that goes on drops the
    lines that came after the place from which it goes on, so the file tells each step once.

    Args:
        folder: of the run.
        length: of the file at the place from which the run goes on [bytes]; 0 for a new run. Of a file that has become
            shorter all whole lines stay.
        tensorboard: ``auto`` writes event files where the package is installed.

    Raises:
        InvalidOption: ``on``, and it is not installed.
        UnwritableOutput: the file cannot be written.
    """

    def __init__(self, folder: Path, length: int = 0, tensorboard: str = "auto") -> None:
        if tensorboard not in TENSORBOARD:
            raise InvalidOption(f"tensorboard is {tensorboard!r}; choose {', '.join(TENSORBOARD)}")
        installed = importlib.util.find_spec("tensorboard") is not None
        if tensorboard == "on" and not installed:
            raise InvalidOption("TensorBoard is not installed: pip install tensorboard, or leave --tensorboard out")
        self._path = folder / FILE
        self._began = time.monotonic()
        self._events: Any = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with self._path.open("a+b") as file:
                file.seek(0)
                file.truncate(file.read(max(length, 0)).rfind(b"\n") + 1)
        except OSError as error:
            raise UnwritableOutput(f"{self._path}: cannot be written ({error.strerror})") from error
        if tensorboard != "off" and installed:
            from torch.utils.tensorboard import SummaryWriter  # slow to import, and optional

            self._events = SummaryWriter(str(folder / EVENTS))  # type: ignore[no-untyped-call,unused-ignore]

    @property
    def length(self) -> int:
        """Of the file [bytes]."""
        return self._path.stat().st_size

    def write(self, event: str, task: int, **values: Any) -> None:
        """One line more.

        Raises:
            UnwritableOutput: such as on a full disk.
        """
        line = {"event": event, "task": task, **values, "seconds": round(time.monotonic() - self._began, 3)}
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, allow_nan=False) + "\n")
        except OSError as error:
            raise UnwritableOutput(
                f"{self._path}: cannot be written ({error.strerror}); free space, and give the same command again"
            ) from error

    def step(self, moment: Moment) -> None:
        """The numbers of a step."""
        task, phase = moment.place.task, moment.phase.name
        self.write("step", task, phase=phase, step=moment.step, **moment.numbers)
        if self._events is not None:
            for name, value in moment.numbers.items():
                self._events.add_scalar(f"task {task}/{phase}/{name}", value, moment.step)

    def success(self, task: int, name: str, value: float, step: int) -> None:
        """A rate of success, for TensorBoard."""
        if self._events is not None:
            self._events.add_scalar(f"success/{name}", value, step)

    def close(self) -> None:
        """End the event file."""
        if self._events is not None:
            self._events.close()


def read(folder: Path) -> list[dict[str, Any]]:
    """The lines of a run's log; one that was cut off is left out."""
    lines = (folder / FILE).read_text(encoding="utf-8", errors="replace").split("\n")
    found = []
    for line in lines:
        with contextlib.suppress(ValueError):
            found.append(json.loads(line))
    return found


class Progress:
    """Steps of a phase: a bar on a terminal, else a line every ``INTERVAL`` seconds; with rate and time left."""

    def __init__(self, shown: bool = True) -> None:
        self._shown = shown and sys.stderr is not None
        self._bar: tqdm[Any] | None = None
        self._what: tuple[int, str] | None = None
        self._began = self._said = 0.0
        self._first = 0

    def tell(self, moment: Moment, of: int) -> None:
        """A step is over.

        Args:
            of: number of tasks.
        """
        if not self._shown:
            return
        what = (moment.place.task, moment.phase.name)
        if what != self._what:
            self._begin(what, moment, of)
        if self._bar is not None:
            self._bar.set_postfix(loss=f"{moment.numbers.get('loss', 0.0):.3f}", refresh=False)
            self._bar.update(moment.step - self._bar.n)
        elif time.monotonic() - self._said >= INTERVAL:
            self._said = time.monotonic()
            sys.stderr.write(f"{self._line(moment, of)}\n")
            sys.stderr.flush()

    def close(self) -> None:
        """End the bar."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None
        self._what = None

    def _begin(self, what: tuple[int, str], moment: Moment, of: int) -> None:
        self.close()
        self._what, self._began, self._first = what, time.monotonic(), moment.step - 1
        self._said = self._began
        if sys.stderr.isatty():
            name = f"task {what[0] + 1}/{of} {what[1]}"
            self._bar = tqdm(total=moment.steps, initial=self._first, desc=name, unit="step", dynamic_ncols=True)

    def _line(self, moment: Moment, of: int) -> str:
        rate = (moment.step - self._first) / max(time.monotonic() - self._began, 1e-9)
        left = tqdm.format_interval((moment.steps - moment.step) / max(rate, 1e-9))
        return (
            f"task {moment.place.task + 1}/{of} {moment.phase.name}: {moment.step}/{moment.steps} steps, "
            f"{rate:.3g} step/s, {left} left, loss {moment.numbers.get('loss', 0.0):.3f}"
        )

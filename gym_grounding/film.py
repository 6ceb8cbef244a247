"""Films as files: MP4 through the ffmpeg that moviepy brings, animated GIF, and a contact sheet as PNG.

A file appears under its name when it is whole, and not before.
"""

from __future__ import annotations

import abc
import contextlib
import math
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.errors import InvalidOption, UnwritableOutput

Picture = NDArray[np.uint8]

SHEET = 12
"""Most pictures on a contact sheet."""
COLUMNS = 4
"""Pictures in a row of a contact sheet."""
KEPT = 96
"""Most pictures that wait for a contact sheet; a long film would fill the memory."""
ENDINGS = (signal.SIGTERM, signal.SIGHUP)
"""What a process gets when a job, a machine or a terminal is closed."""


class Film(abc.ABC):
    """A file that takes pictures of one size, shape (H, W, 3) uint8, one after another.

    As a context manager: the file is there when the block ends well. Otherwise nothing is left, no new folder either,
    also where the process is told to end (SIGTERM, SIGHUP), which then is a ``SystemExit``; only a kill leaves a part.

    Args:
        path: the file.
        fps: pictures per second.
    """

    def __init__(self, path: Path, fps: float) -> None:
        self.path, self.fps = path, fps
        self._part = path.with_name(f".{path.name}.part")
        self._empty = True
        self._cleanup = contextlib.ExitStack()

    def add(self, picture: Picture) -> None:
        """Take one more picture.

        Raises:
            UnwritableOutput: such as on a full disk.
        """
        with _written(self.path):
            self._add(picture)
        self._empty = False

    def __enter__(self) -> Film:
        with contextlib.ExitStack() as stack:
            stack.enter_context(_ending_in_order())
            with _written(self.path):
                for folder in _missing(self.path.parent):
                    folder.mkdir(exist_ok=True)
                    stack.callback(_removed, folder.rmdir)
                stack.callback(_removed, self._part.unlink)
                self._part.touch()
            stack.callback(self._abandon)
            self._cleanup = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with self._cleanup:
            if kind is None and not self._empty:
                with _written(self.path):
                    self._finish()
                    os.replace(self._part, self.path)

    @abc.abstractmethod
    def _add(self, picture: Picture) -> None: ...

    @abc.abstractmethod
    def _finish(self) -> None: ...

    def _abandon(self) -> None:  # noqa: B027  # most films begin nothing outside of this process
        """End what was begun outside of this process, if it is not over."""


class Mp4(Film):
    """H.264 in a form that every player knows; sides that are odd lose a row or column."""

    _process: subprocess.Popen[bytes] | None = None

    def _add(self, picture: Picture) -> None:
        height, width = (side - side % 2 for side in picture.shape[:2])
        if self._process is None:
            self._process = self._begun(width, height)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(np.ascontiguousarray(picture[:height, :width]).tobytes())
        except BrokenPipeError:
            self._finish()
            raise

    def _begun(self, width: int, height: int) -> subprocess.Popen[bytes]:
        from moviepy.config import FFMPEG_BINARY

        pictures = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{self.fps:g}", "-i", "-"]
        coded = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-movflags", "+faststart"]
        command = [FFMPEG_BINARY, "-y", "-loglevel", "error", *pictures, *coded, "-f", "mp4", f"file:{self._part}"]
        # In a session of its own: Ctrl-C is handled here, not there.
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )

    def _finish(self) -> None:
        assert self._process is not None
        _, said = self._process.communicate()
        if self._process.returncode != 0:
            words = " ".join(said.decode(errors="replace").split())
            raise OSError(words[-300:] or f"ffmpeg ended with code {self._process.returncode}")

    def _abandon(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.kill()
            with contextlib.suppress(OSError):
                self._process.communicate()


class Gif(Film):
    """An animated GIF that repeats for ever; large, and of few colours."""

    _pictures: tuple[Any, ...] = ()

    def _add(self, picture: Picture) -> None:
        from PIL import Image

        self._pictures = (*self._pictures, Image.fromarray(picture).quantize())

    def _finish(self) -> None:
        first, *rest = self._pictures
        first.save(self._part, format="GIF", save_all=True, append_images=rest, duration=1000 / self.fps, loop=0)


class Sheet(Film):
    """At most ``SHEET`` pictures beside and below each other, evenly spread in time; the first and last are on it."""

    def __init__(self, path: Path, fps: float) -> None:
        super().__init__(path, fps)
        self._kept: list[Picture] = []
        self._last = np.zeros((0, 0, 3), np.uint8)
        self._every, self._seen = 1, 0

    def _add(self, picture: Picture) -> None:
        self._last = np.array(picture)
        if self._seen % self._every == 0:
            self._kept.append(self._last)
        if len(self._kept) == KEPT:
            self._kept, self._every = self._kept[::2], 2 * self._every
        self._seen += 1

    def _finish(self) -> None:
        from PIL import Image

        pictures = [*self._kept, *([self._last] if self._kept[-1] is not self._last else [])]
        chosen = np.unique(np.linspace(0, len(pictures) - 1, SHEET).round().astype(int))
        height, width = self._last.shape[:2]
        rows, columns = math.ceil(len(chosen) / COLUMNS), min(COLUMNS, len(chosen))
        sheet = np.full((rows * height, columns * width, 3), 255, np.uint8)
        for place, number in enumerate(chosen):
            top, left = place // COLUMNS * height, place % COLUMNS * width
            sheet[top : top + height, left : left + width] = pictures[number]
        Image.fromarray(sheet).save(self._part, format="PNG")


FORMATS: dict[str, type[Film]] = {".mp4": Mp4, ".gif": Gif, ".png": Sheet}
"""Ending of a file -> what is written."""


def film(path: Path, fps: float, force: bool = False) -> Film:
    """The film that the file's ending asks for; nothing is written before it is entered.

    Args:
        path: the file.
        fps: pictures per second; a contact sheet does not care.
        force: an old file may be replaced.

    Raises:
        InvalidOption: an unknown ending.
        UnwritableOutput: a file is there already, or a folder.
    """
    if path.suffix.lower() not in FORMATS:
        raise InvalidOption(f"{path}: end it in .mp4 or .gif for a film, or in .png for a contact sheet")
    if path.is_dir():
        raise UnwritableOutput(f"{path} is a folder; name a file in it")
    if path.exists() and not force:
        raise UnwritableOutput(f"{path} is there already; name another file, or replace it with --force")
    return FORMATS[path.suffix.lower()](path, fps)


def _missing(folder: Path) -> list[Path]:
    """The folders on the way to ``folder``, and itself, that are not there; the outermost comes first."""
    return [one for one in (*reversed(folder.parents), folder) if not one.exists()]


def _removed(remove: Callable[[], object]) -> None:
    """Remove something if it is there, and if nothing else is in it."""
    with contextlib.suppress(OSError):
        remove()


@contextlib.contextmanager
def _ending_in_order() -> Iterator[None]:
    """Signals that would end the process at once unwind it instead, where nobody else has taken them."""
    taken = []
    if threading.current_thread() is threading.main_thread():
        taken = [one for one in ENDINGS if signal.getsignal(one) is signal.SIG_DFL]

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    for one in taken:
        signal.signal(one, end)
    try:
        yield
    finally:
        for one in taken:
            signal.signal(one, signal.SIG_DFL)


@contextlib.contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnwritableOutput(f"{path} cannot be written ({reason}); free space or name another place") from error

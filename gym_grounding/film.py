"""Films as files: MP4 through the ffmpeg that moviepy brings, animated GIF, and a contact sheet as PNG.

A file appears under its name when it is whole, and not before.
"""

from __future__ import annotations

import abc
import contextlib
import math
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.errors import InvalidOption, UnwritableOutput

Picture = NDArray[np.uint8]

SHEET = 12
"""Most pictures on a contact sheet."""
COLUMNS = 4
"""Pictures in a row of a contact sheet."""


class Film(abc.ABC):
    """A file that takes pictures of one size, shape (H, W, 3) uint8, one after another."""

    def __init__(self, path: Path, fps: float) -> None:
        self.path, self.fps = path, fps

    @abc.abstractmethod
    def add(self, picture: Picture) -> None:
        """Take one more picture."""

    @abc.abstractmethod
    def close(self) -> None:
        """Write what is left.

        Raises:
            OSError: the file cannot be written.
        """

    def abandon(self) -> None:
        """Stop without caring for the file; what was begun outside of this process ends."""


class Mp4(Film):
    """H.264, playable everywhere; odd sides lose their last row or column."""

    def __init__(self, path: Path, fps: float) -> None:
        super().__init__(path, fps)
        self._process: subprocess.Popen[bytes] | None = None
        self._said = tempfile.TemporaryFile()

    def add(self, picture: Picture) -> None:
        height, width = (side - side % 2 for side in picture.shape[:2])
        if self._process is None:
            self._process = self._begin(width, height)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(np.ascontiguousarray(picture[:height, :width]).tobytes())
        except BrokenPipeError:
            self._finish()

    def close(self) -> None:
        self._finish()

    def abandon(self) -> None:
        if self._process is not None:
            self._process.kill()
            with contextlib.suppress(OSError):
                self._process.communicate()

    def _begin(self, width: int, height: int) -> subprocess.Popen[bytes]:
        from moviepy.config import FFMPEG_BINARY

        pictures = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{width}x{height}", "-r", f"{self.fps:g}", "-i", "-"]
        coded = ["-an", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-crf", "18", "-movflags", "+faststart"]
        command = [FFMPEG_BINARY, "-y", "-loglevel", "error", *pictures, *coded, "-f", "mp4", f"file:{self.path}"]
        # A group of its own: Ctrl-C is ours to handle.
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=self._said, start_new_session=True
        )

    def _finish(self) -> None:
        process, self._process = self._process, None
        if process is None:
            raise OSError("there is no picture to write")
        with contextlib.suppress(BrokenPipeError):
            process.communicate()
        if process.returncode != 0:
            self._said.seek(0)
            words = " ".join(self._said.read().decode(errors="replace").split())
            raise OSError(words[-300:] or f"ffmpeg ended with code {process.returncode}")


class Gif(Film):
    """An animated GIF that repeats for ever; large, and with few colours."""

    def __init__(self, path: Path, fps: float) -> None:
        super().__init__(path, fps)
        self._pictures: list[Any] = []

    def add(self, picture: Picture) -> None:
        from PIL import Image

        self._pictures.append(Image.fromarray(picture).quantize())

    def close(self) -> None:
        if not self._pictures:
            raise OSError("there is no picture to write")
        first, *rest = self._pictures
        first.save(self.path, format="GIF", save_all=True, append_images=rest, duration=1000 / self.fps, loop=0)


class Sheet(Film):
    """At most ``SHEET`` pictures beside and below each other, evenly spread in time; the first and last are on it."""

    def __init__(self, path: Path, fps: float) -> None:
        super().__init__(path, fps)
        self._kept: list[Picture] = []
        self._last: Picture | None = None
        self._every, self._seen = 1, 0

    def add(self, picture: Picture) -> None:
        self._last = np.array(picture)
        if self._seen % self._every == 0:
            self._kept.append(self._last)
        if len(self._kept) == 8 * SHEET:  # a long film would fill the memory
            self._kept, self._every = self._kept[::2], 2 * self._every
        self._seen += 1

    def close(self) -> None:
        from PIL import Image

        if self._last is None:
            raise OSError("there is no picture to write")
        pictures = [*self._kept, *([self._last] if self._kept[-1] is not self._last else [])]
        chosen = np.unique(np.linspace(0, len(pictures) - 1, SHEET).round().astype(int))
        height, width = self._last.shape[:2]
        sheet = np.full((math.ceil(len(chosen) / COLUMNS) * height, min(COLUMNS, len(chosen)) * width, 3), 255, np.uint8)
        for place, number in enumerate(chosen):
            top, left = place // COLUMNS * height, place % COLUMNS * width
            sheet[top : top + height, left : left + width] = pictures[number]
        Image.fromarray(sheet).save(self.path, format="PNG")


FORMATS: dict[str, type[Film]] = {".mp4": Mp4, ".gif": Gif, ".png": Sheet}
"""Ending of the file -> what is written."""


def check(path: Path, force: bool = False) -> None:
    """Refuse a place that cannot take a film, before anything slow begins.

    Args:
        path: the file.
        force: an old file may be replaced.

    Raises:
        InvalidOption: an unknown ending.
        UnwritableOutput: a file is there already, or the place cannot be written.
    """
    if path.suffix.lower() not in FORMATS:
        raise InvalidOption(f"{path}: end it in .mp4 or .gif for a film, or in .png for a contact sheet")
    if path.is_dir():
        raise UnwritableOutput(f"{path} is a folder; name a file in it")
    if path.exists() and not force:
        raise UnwritableOutput(f"{path} is there already; name another file, or replace it with --force")
    part = _part(path)
    with _written(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        part.touch()
        part.unlink()


@contextlib.contextmanager
def film(path: Path, fps: float, force: bool = False) -> Iterator[Film]:
    """A film that is written while pictures are added, and there when the block ends well; nothing is left otherwise.

    Args:
        path: the file; its ending says the format, see ``FORMATS``.
        fps: pictures per second; a contact sheet does not care.
        force: an old file is replaced.

    Raises:
        InvalidOption, UnwritableOutput: see ``check``; or the disk is full.
    """
    check(path, force)
    made = FORMATS[path.suffix.lower()](_part(path), fps)
    try:
        with _written(path):
            yield made
            made.close()
            os.replace(made.path, path)
    except BaseException:
        made.abandon()
        made.path.unlink(missing_ok=True)
        raise


def _part(path: Path) -> Path:
    return path.with_name(f".{path.name}.part")


@contextlib.contextmanager
def _written(path: Path) -> Iterator[None]:
    try:
        yield
    except UnwritableOutput:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise UnwritableOutput(f"{path} cannot be written ({reason}); free space or name another place") from error

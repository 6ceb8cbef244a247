"""A registry to look at: one self-contained page per suite, and an index. Works from a file, without any server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from gym_grounding.errors import UnwritableOutput
from gym_grounding.manifest import Manifest
from gym_grounding.types import Task
from gym_grounding.variants._pictures import Picture, settled
from gym_grounding.variants.gallery._index import index_page
from gym_grounding.variants.gallery._page import suite_page

__all__ = ["INDEX", "SIZE", "Draw", "write_gallery"]

Draw: TypeAlias = Callable[[Manifest, Sequence[Task], int], Iterable[tuple[str, Picture]]]
"""(registry, tasks, side of the pictures [pixels]) -> (task id, picture) for each of the tasks."""
INDEX = "index.html"
SIZE = 256
"""Side of a picture [pixels]; it is shown at three quarters of that."""


def write_gallery(
    manifest: Manifest,
    out: Path,
    suite: str | None = None,
    size: int = SIZE,
    draw: Draw | None = settled,
    progress: Callable[[Iterable[tuple[str, Picture]], int], Iterable[tuple[str, Picture]]] = lambda drawn, total: (
        drawn
    ),
) -> tuple[Path, ...]:
    """Draw every task and write the pages; nothing is written before all of them are made.

    Args:
        manifest: the registry.
        out: folder of the pages; made where it is missing. Other files in it are left alone.
        suite: only this one; None for all.
        size: side of the pictures [pixels].
        draw: who draws; None for pages without pictures.
        progress: (pictures, how many) -> the same pictures, while it tells how far they are.

    Returns:
        The written files, the index first.

    Raises:
        UnknownName: no such suite.
        MissingRenderer, MissingSource, WrongVersion, SimulatorError: a scene cannot be drawn.
        UnwritableOutput: the folder cannot be written.
    """
    tasks = {name: manifest.suite_tasks(name) for name in ([suite] if suite is not None else manifest.suites)}
    _usable(out)
    every = [task for members in tasks.values() for task in members]
    pictures = dict(progress(draw(manifest, every, size), len(every))) if draw is not None else {}
    pages = {INDEX: index_page(manifest, tasks, pictures)}
    for name, members in tasks.items():
        pages[f"{name}.html"] = suite_page(manifest, name, members, pictures)
    return tuple(_written(out, pages))


def _usable(out: Path) -> None:
    """Refuse a folder that cannot be written before the pictures are drawn, not after."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UnwritableOutput(f"{out}: no folder can be made there ({error.strerror}); give another one") from error
    if not os.access(out, os.W_OK | os.X_OK):
        raise UnwritableOutput(f"{out}: cannot be written; give another folder")


def _written(out: Path, pages: dict[str, str]) -> Iterator[Path]:
    for name, text in pages.items():
        path, part = out / name, out / f"{name}.part"
        try:
            part.write_text(text, encoding="utf-8")
            part.replace(path)
        except OSError as error:
            raise UnwritableOutput(f"{path}: cannot be written ({error.strerror}); give another folder") from error
        yield path

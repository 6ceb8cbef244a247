"""Pictures of settled scenes, drawn by the adapter's own simulator, with the regions that variants add."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding import adapters
from gym_grounding.manifest import Manifest
from gym_grounding.types import Region, SceneSettings, Task, Variant

GREEN = (0, 158, 115)
"""Colour of a region (red, green, blue), that of the instructed goal in figures."""
FILL = 0.3
"""Opacity of a region's inside."""
EDGE = 1.6
"""Width of its border [pixels]."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A settled scene.

    Attributes:
        pixels: the agent view, upright, shape (size, size, 3), uint8.
        regions: name of an added region -> (column, row) of its corners in order round it [pixels], shape (4, 2);
            empty where the adapter cannot say where a region lies in the picture.
    """

    pixels: NDArray[np.uint8]
    regions: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)


def settled(
    manifest: Manifest, tasks: Iterable[Task], size: int, init_state: int = 0, variant: Variant | None = None
) -> Iterator[tuple[str, Picture]]:
    """(task id, picture) of every task; tasks of one scene share one opening.

    Args:
        manifest: holds the tasks.
        tasks: which to draw; ordered by scene, the openings are fewest.
        size: side of the picture [pixels].
        init_state: which initial state.
        variant: whose start and regions are shown; None for the tasks' own start and the regions of all their variants.

    Raises:
        InvalidOption: an initial state that a task does not have.
        MissingRenderer: nothing can draw; names the libraries to install.
        MissingSource, WrongVersion, SimulatorError: a scene cannot be opened.
    """
    # A scene that observes pictures refuses at once where nothing can draw, before seconds of compiling.
    settings = SceneSettings(observation="pixels", image_size=size, settle_steps=manifest.settle)
    for scene_id, members in groupby(tasks, key=lambda task: task.scene):
        facts = manifest.scenes[scene_id]
        adapter = adapters.get(facts.adapter)
        every = {task.id: task for task in manifest.scene_tasks(scene_id)}
        with closing(adapter.open(facts, every, settings)) as scene:
            for task in members:
                scene.reset(task, init_state, *([variant.joints] if variant is not None and variant.joints else []))
                yield task.id, Picture(np.array(scene.render()), _corners(scene, added(manifest, task, variant)))
        # Scenes that are kept for later use would fill the memory; whether any are kept is the adapter's own affair.
        getattr(adapter, "clear", lambda: None)()


def added(manifest: Manifest, task: Task, variant: Variant | None = None) -> tuple[Region, ...]:
    """Regions that a variant adds, or all variants of a task, by name."""
    rows = [variant] if variant is not None else manifest.select(tasks=[task.id])
    found = {region.name: region for row in rows if row.goal is not None for region in row.goal.regions}
    return tuple(found[name] for name in sorted(found))


def _corners(scene: adapters.Scene, regions: Iterable[Region]) -> dict[str, NDArray[np.float64]]:
    outline = getattr(scene, "outline", None)  # no part of the protocol: a simulator may have no such camera
    return {} if outline is None else {region.name: np.asarray(outline(region), float) for region in regions}


def marked(picture: Picture) -> NDArray[np.uint8]:
    """The pixels with every region filled and bordered, shape (size, size, 3)."""
    result = picture.pixels.astype(float)
    for corners in picture.regions.values():
        inside, depth = _depth(corners, picture.pixels.shape[0])
        opacity = np.where(inside, np.where(depth < EDGE, 1.0, FILL), 0.0)[..., None]
        result = result * (1 - opacity) + np.array(GREEN) * opacity
    return result.round().astype(np.uint8)


def _depth(corners: NDArray[np.float64], size: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Whether each pixel lies in a convex polygon, and how far from its nearest edge [pixels]; shapes (size, size)."""
    rows, columns = np.mgrid[0:size, 0:size] + 0.5
    edges = np.roll(corners, -1, axis=0) - corners
    across = [
        (edge[0] * (rows - corner[1]) - edge[1] * (columns - corner[0])) / max(float(np.hypot(*edge)), 1e-9)
        for corner, edge in zip(corners, edges, strict=True)
    ]
    sides = np.stack(across)
    inside = np.logical_or((sides >= 0).all(axis=0), (sides <= 0).all(axis=0))
    return inside, np.abs(sides).min(axis=0)


def encoded(pixels: NDArray[np.uint8], form: str) -> bytes:
    """The bytes of a picture file; ``form`` is ``png`` or ``jpeg``."""
    from matplotlib import image

    buffer = io.BytesIO()
    options: dict[str, Any] = {"pil_kwargs": {"quality": 88, "optimize": True}}
    if form == "png":
        options = {"metadata": {"Software": None}}  # the same bytes whatever the library's version
    image.imsave(buffer, np.ascontiguousarray(pixels), format=form, **options)
    return buffer.getvalue()

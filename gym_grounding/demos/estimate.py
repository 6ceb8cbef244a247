"""What making demonstrations will take, from stored figures of ``benchmarks/demo_speed.py``."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gym_grounding.demos.make import Order
from gym_grounding.manifest import Manifest
from gym_grounding.types import Task

ROWS = {
    "LiberoGoal": (70, 80, 90, 205, 95, 190, 95, 105, 70, 120),
    "LiberoSpatial": (80, 95, 75, 85, 120, 85, 175, 95, 85, 130),
    "LiberoObject": (115, 100, 105, 105, 115, 105, 115, 120, 115, 105),
    "LiberoLong": (195, 260, 200, 170, 160, 130, 165, 395, 295, 340),
}
"""Mean length of a demonstration of each task, from two starts with oracle 1; single ones are up to twice as long."""
USUAL_ROWS = 120
"""Of tasks that are not listed."""
REST = 30
"""Control steps of an attempt that are not in the demonstration: settling, and at rest at the end."""
STEP = {False: 0.015, True: 0.120}
"""Time of a control step without and with pictures [s]; one of two cores of a server's processor, drawn in software."""
OPENING = 8.0
"""Time until a process has its scene [s]."""
MODEL = 90_000
"""Size of the model in each demonstration [bytes]."""
ROW = {False: 2_600, True: 50_000}
"""Size of a row without and with pictures [bytes]."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What an order will take if every attempt succeeds.

    Attributes:
        seconds: of waiting.
        size: of the files [bytes]; while they are made the disk needs one task more.
    """

    seconds: float
    size: int

    @property
    def words(self) -> str:
        """Both, for people."""
        minutes = math.ceil(self.seconds / 60)
        time = f"{minutes} minutes" if minutes > 1 else f"{math.ceil(self.seconds / 10) * 10} s"
        return f"about {time} and {size_words(self.size)}"


def size_words(size: int) -> str:
    """A size in bytes, for people."""
    return f"{math.ceil(size / 1e3)} kB" if size < 1e6 else f"{size / 1e6:,.0f} MB"


def estimate(order: Order, manifest: Manifest, workers: int) -> Estimate:
    """See ``Estimate``."""
    pictures, seconds, size = order.settings.pictures, 0.0, 0
    scenes = {manifest.task(name).scene for name in order.tasks}
    for name in order.tasks:
        rows = _rows(manifest.task(name))
        seconds += order.per_task * (rows + REST) * STEP[pictures] / workers
        size += order.per_task * (MODEL + rows * ROW[pictures])
    return Estimate(seconds + len(scenes) * OPENING, size)


def _rows(task: Task) -> int:
    known = ROWS.get(task.suite, ())
    return known[task.index] if task.index < len(known) else USUAL_ROWS

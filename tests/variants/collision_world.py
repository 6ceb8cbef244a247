"""LIBERO's tasks with made-up measurements: where LIBERO-Spatial's bowls are, and what cannot be put where."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from gym_grounding.types import Goal, SceneFacts, Task
from gym_grounding.variants import definitions
from gym_grounding.variants.types import GoalCount, Impossible, Layout, Proposal

OF = 50
BOWL, OTHER = "akita_black_bowl_1", "akita_black_bowl_2"
BETWEEN = ("between", "glazed_rim_porcelain_ramekin_1 plate_1")
RAMEKIN = ("next to", "glazed_rim_porcelain_ramekin_1")
BOX = ("next to", "cookies_1")
PLATE = ("next to", "plate_1")
CENTER = ("center", "main_table")
ON_BOX = ("on", "cookies_1")
ON_RAMEKIN = ("on", "glazed_rim_porcelain_ramekin_1")
ON_STOVE = ("on", "flat_stove_1")
ON_CABINET = ("on", "wooden_cabinet_1")
DRAWER = ("in", "wooden_cabinet_1_top_region")
PLACES = (
    (BETWEEN, RAMEKIN), (RAMEKIN, BOX), (CENTER, PLATE), (ON_BOX, ON_CABINET), (DRAWER, ON_CABINET),
    (ON_RAMEKIN, ON_BOX), (BOX, ON_STOVE), (ON_STOVE, ON_CABINET), (PLATE, RAMEKIN), (ON_CABINET, ON_STOVE),
)  # fmt: skip
"""Where the two bowls of each task of LIBERO-Spatial are; in the first one both are next to the ramekin."""


def relations(task: Task) -> dict[tuple[str, str, str], int]:
    """What holds in every settled state of a task."""
    if task.suite != "LiberoSpatial":
        return {}
    found = {(relation, BOWL, place): OF for relation, place in PLACES[task.index][:1]}
    found |= {(relation, OTHER, place): OF for relation, place in PLACES[task.index][1:]}
    if task.index == 0:
        found[(RAMEKIN[0], BOWL, RAMEKIN[1])] = OF
    return found


@dataclass
class World:
    """Evidence without a simulator; see ``Evidence``.

    Attributes:
        more: further relations of every task, with their counts.
        free: references under which there is room.
        true: goals that hold in some initial states.
        asked: what was asked about impossible placements.
    """

    more: dict[tuple[str, str, str], int] = field(default_factory=dict)
    free: frozenset[str] = frozenset({"wine_rack_1"})
    true: dict[Goal, GoalCount] = field(default_factory=dict)
    asked: list[tuple[str, str, str]] = field(default_factory=list)
    physics: str = "made up"

    def layout(self, task: Task) -> Layout:
        return Layout({}, relations(task) | self.more, (-0.6, 0.0), OF)

    def count(self, task: Task, goal: Goal) -> GoalCount:
        return self.true.get(goal, GoalCount(0, 0, 0, OF))

    def impossible(self, task: Task, subject: str, relation: str, reference: str) -> Impossible:
        self.asked.append((subject, relation, reference))
        return Impossible(reference not in self.free, 12, 0.01, 0.06)


@functools.cache
def known() -> definitions.Definitions:
    """LIBERO's definitions."""
    return definitions.load()


def place(task_id: str) -> tuple[Task, SceneFacts]:
    """A task and its scene."""
    return known().task(task_id), known().scene_of(task_id)


def proposed(task_id: str, slot: str | None, text: str) -> Proposal:
    """A proposal of a collision."""
    return Proposal(task_id, "collision", slot, text)

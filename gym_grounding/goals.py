"""Which registered goals hold now, and when each first held."""

from __future__ import annotations

from collections.abc import Mapping

from gym_grounding.adapters import Scene
from gym_grounding.types import Goal

NEVER = -1
"""Stands for the first step of a goal that has not held."""


class GoalTracker:
    """Follows the goals of one variant through one episode after another.

    A goal that already holds right after settling is void for the episode: nobody reached it, so it never counts,
    whatever happens to it later.

    Args:
        goals: label -> goal; labels are those of ``records.EpisodeRecord``: ``original``, ``target``, other task ids.

    Attributes:
        goals: as given.
        first_held: label -> first policy step (from 1) at which the goal held; void goals never enter.
        held: labels of the goals that hold in the present state, void ones included.
        void: labels of the goals that held right after settling.
    """

    def __init__(self, goals: Mapping[str, Goal]) -> None:
        self.goals = dict(goals)
        self.first_held: dict[str, int] = {}
        self.held: frozenset[str] = frozenset()
        self.void: frozenset[str] = frozenset()

    def start(self, scene: Scene) -> None:
        """Begin an episode in the settled scene."""
        self.first_held = {}
        self.held = self.void = self._holding(scene)

    def update(self, scene: Scene, step: int) -> None:
        """Read the goals after policy step ``step`` (from 1)."""
        self.held = self._holding(scene)
        for label in self.held - self.void:
            self.first_held.setdefault(label, step)

    def counts(self, label: str) -> bool:
        """Whether the labelled goal holds now and is not void."""
        return label in self.held and label not in self.void

    def reached(self, label: str, judged: str) -> bool:
        """Whether the labelled goal counts as reached so far: at some step (``ever``) or now (``end``)."""
        return self.counts(label) if judged == "end" else label in self.first_held

    def first_step(self, label: str) -> int:
        """First policy step at which the goal held, or ``NEVER``."""
        return self.first_held.get(label, NEVER)

    def _holding(self, scene: Scene) -> frozenset[str]:
        return frozenset(label for label, goal in self.goals.items() if scene.holds(goal))

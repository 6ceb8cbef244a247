"""Does the scene's own task whatever the words.

Expected: paraphrase gap 0, GSA 0, original persistence and OGP equal to its success, action divergence 0.
"""

from __future__ import annotations

from gym_grounding.manifest import Manifest
from gym_grounding.reference._guided import Guided
from gym_grounding.types import Goal, Task


class Deaf(Guided):
    """Does the task's original goal; see ``Guided`` for its arguments."""

    def goal(self, registry: Manifest, task: Task, instruction: str, seed: int) -> Goal | None:
        """The task's goal."""
        return task.goal


POLICY = Deaf

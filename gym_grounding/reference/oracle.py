"""Does the goal of the instruction that it is given, and nothing where the instruction asks for nothing.

Expected: GSA equal to the rate at which its goals can be reached, persistence 0 on goals that exclude the original one,
no action under collisions.
"""

from __future__ import annotations

from gym_grounding.manifest import Manifest
from gym_grounding.reference._guided import Guided
from gym_grounding.reference._meaning import asked
from gym_grounding.types import Goal, Task


class Oracle(Guided):
    """Does what the instruction asks for, according to the registry; see ``Guided`` for its arguments."""

    def goal(self, registry: Manifest, task: Task, instruction: str, seed: int) -> Goal | None:
        """The instruction's goal."""
        return asked(registry, task.id, instruction)


POLICY = Oracle

"""What a skill is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from gym_grounding.experts.control import Command
from gym_grounding.experts.world import World

RUNNING, DONE, FAILED = "running", "done", "failed"


@dataclass(frozen=True, slots=True)
class Step:
    """A skill's answer to one observation.

    Attributes:
        command: what the hand should do now.
        memory: what the skill wants to know at the next observation; immutable.
        status: ``RUNNING``, ``DONE`` or ``FAILED``; the last two end the skill, and the command is still carried out.
        reason: why it failed, in words.
        careful: whether a disturbance of this step should be small (fingers are closing, something is pulled).
    """

    command: Command
    memory: Any
    status: str = RUNNING
    reason: str = ""
    careful: bool = False


class Skill(Protocol):
    """One closed-loop deed, as near as possible a function of the present state. Frozen, compared by value.

    With ``memory`` None it begins wherever the world is, in the middle of the deed too (thing already held, drawer half
    open). Memory holds what an observation does not show: what was chosen and tried, and since when nothing moves.
    Bounded: it gives up with ``FAILED`` and a reason rather than going on for ever.
    """

    @property
    def words(self) -> str:
        """The deed in words, such as ``open drawer 0 of wooden_cabinet_1``."""
        ...

    def done(self, world: World) -> bool:
        """Whether there is nothing left to do, as far as an observation shows it."""
        ...

    def advance(self, world: World, memory: Any) -> Step:
        """The next step; ``memory`` is None at first, then what the last step returned.

        Raises:
            NoPlan: the deed cannot be done here (no grasp, no room); says why.
        """
        ...

"""Pick a thing up and hold it up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from gym_grounding.adapters import Frame
from gym_grounding.errors import NoPlan
from gym_grounding.experts.control import CLOSED, OPENED, Command
from gym_grounding.experts.skills._base import DONE, FAILED, RUNNING, Step
from gym_grounding.experts.skills.put import CARRY, CLOSE, FETCH, LIFT, SLOW, TRIES, Carrying, dropped, pick, planned
from gym_grounding.experts.world import World

HEIGHT = 0.15
"""How far above its start a thing is held [m]; ``lifted`` asks for 0.10."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Pick ``thing`` up and hold it at least 0.13 m above where it stood, for as long as it is asked."""

    thing: str
    lasting: ClassVar[bool] = True

    @property
    def words(self) -> str:
        """Such as ``hold up plate_1``."""
        return f"hold up {self.thing}"

    def done(self, world: World) -> bool:
        """Never: it lasts."""
        return False

    def advance(self, world: World, memory: Carrying | None) -> Step:
        """See ``Skill.advance``; ``DONE`` while the thing is up."""
        if memory is None:
            memory = planned(world, self.thing, None, ())
        memory = replace(memory, steps=memory.steps + 1, since=memory.since + 1)
        if memory.phase != CARRY and memory.steps > SLOW:
            return Step(Command(None, grip=OPENED), None, FAILED, f"not done after {SLOW} steps, while: {memory.phase}")
        if memory.phase in (FETCH, CLOSE, LIFT):
            return pick(self, world, memory)
        if dropped(world, self.thing, memory):
            return self.again(world, memory, f"{self.thing} slipped out of the fingers")
        hand, height = world.hand, float(world.frame(self.thing).position[2])
        up = np.array([*hand.position[:2], hand.position[2] + memory.height + HEIGHT - height])
        status = DONE if height > memory.height + HEIGHT - 0.02 else RUNNING
        return Step(Command(up, memory.grasp.rotation, CLOSED, reach=0.03), memory, status, careful=True)

    def again(self, world: World, memory: Carrying, reason: str) -> Step:
        """Another grasp, or the end."""
        failed: tuple[Frame, ...] = (*memory.failed, memory.grasp.hand)
        if len(failed) >= TRIES:
            return Step(Command(None, grip=OPENED), None, FAILED, reason)
        try:
            following = planned(world, self.thing, None, failed)
        except NoPlan as problem:
            return Step(Command(None, grip=OPENED), None, FAILED, f"{reason}; {problem}")
        return Step(Command(None, grip=OPENED), replace(following, steps=memory.steps))

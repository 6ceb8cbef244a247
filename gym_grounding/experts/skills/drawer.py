"""Drawers: pulled by the bar of the handle, pushed in with closed fingers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gym_grounding.experts.control import CLOSED, OPENED, Command
from gym_grounding.experts.skills._base import DONE, FAILED, RUNNING, Step
from gym_grounding.experts.skills._fixture import Bar, handle, openness
from gym_grounding.experts.skills._grip import Grip, between, grips
from gym_grounding.experts.skills._reach import Surroundings, offset, towards
from gym_grounding.experts.world import World

Array = NDArray[np.float64]
OPEN_AT, PULLED_TO = 0.88, 0.94
"""Openness from which a drawer counts as open (LIBERO: 0.875), and to which it is pulled."""
SHUT_AT, PUSHED_TO = -0.005, -0.02
"""Openness below which a drawer counts as shut (LIBERO: 0), and to which it is pushed."""
PULL, LEAD = 0.035, 0.02
"""Offset that a pull asks for in one step, and how far ahead of the bar it aims; a stronger one slips off [m]."""
PRESS = 0.025
"""How far behind the face of the bar a push aims [m]."""
CLEAR = 0.09
"""The hand has left when it is this far back [m]."""
TRIES, LIMIT = 5, 120
"""Ways to take the bar that are tried, and steps for each."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered from step to step.

    Attributes:
        around: what stands around.
        ways: ways to take or press the bar, the present one first.
        tries: ways given up.
        held: whether the bar was held at the last step.
        steps: since the present way was chosen.
    """

    around: Surroundings
    ways: tuple[Grip, ...]
    tries: int = 0
    held: bool = False
    steps: int = 0

    @property
    def grip(self) -> Grip:
        """The present way."""
        return self.ways[0]

    def next_step(self, held: bool) -> Memory:
        """The memory for the next step; another way where the bar slipped or nothing happens."""
        if (self.held and not held) or self.steps > LIMIT:
            return replace(self, ways=(*self.ways[1:], self.ways[0]), tries=self.tries + 1, held=False, steps=0)
        return replace(self, held=held, steps=self.steps + 1)


@dataclass(frozen=True, slots=True)
class PullDrawer:
    """Open a drawer.

    Attributes:
        fixture: what has the drawer.
        joint: number of its joint.
    """

    fixture: str
    joint: int

    @property
    def words(self) -> str:
        """The deed in words."""
        return f"open drawer {self.joint} of {self.fixture}"

    def done(self, world: World) -> bool:
        """Whether the drawer is open."""
        return openness(world, self.fixture, self.joint) >= OPEN_AT

    def advance(self, world: World, memory: Memory | None) -> Step:
        """The next step; see ``Skill``."""
        bar = handle(world, self.fixture, self.joint)
        share = openness(world, self.fixture, self.joint)
        if memory is None:
            travel = (PULLED_TO - share) * abs(_reach(world, self))
            memory = Memory(
                Surroundings.of(world), tuple(grips(world, self.fixture, self.joint, bar, travel, pressing=False))
            )
        held = _holds(world, bar)
        if share >= PULLED_TO or (share >= OPEN_AT and not held):
            return _leave(world, bar, memory)
        memory = memory.next_step(held)
        if memory.tries >= TRIES:
            return Step(
                Command(grip=OPENED), memory, FAILED, f"the handle slipped or could not be reached {TRIES} times"
            )
        goal = memory.grip.grasp(bar)
        if held:
            command = Command(goal.position + LEAD * bar.outward, goal.rotation, CLOSED, reach=PULL)
            return Step(command, memory, careful=True)
        off = offset(world.hand, goal, goal.rotation[:, 2])
        closing = world.width < 0.07 and between(world.hand, bar, 0.011) and world.closing > 0.01
        if closing or off.within(0.012, 0.01, 0.15):
            return Step(Command(goal.position, goal.rotation, CLOSED), memory, careful=True)
        command = towards(world, memory.around, goal, goal.rotation[:, 2], OPENED)
        return Step(command, memory, careful=abs(off.depth) < 0.05 and off.lateral < 0.03)


@dataclass(frozen=True, slots=True)
class ShutDrawer:
    """Push a drawer in, so far that it counts as shut.

    Attributes:
        fixture: what has the drawer.
        joint: number of its joint.
    """

    fixture: str
    joint: int

    @property
    def words(self) -> str:
        """The deed in words."""
        return f"close drawer {self.joint} of {self.fixture}"

    def done(self, world: World) -> bool:
        """Whether the drawer is shut."""
        return openness(world, self.fixture, self.joint) <= SHUT_AT

    def advance(self, world: World, memory: Memory | None) -> Step:
        """The next step; see ``Skill``."""
        bar = handle(world, self.fixture, self.joint)
        share = openness(world, self.fixture, self.joint)
        if memory is None:
            travel = (PUSHED_TO - share) * abs(_reach(world, self))
            memory = Memory(
                Surroundings.of(world), tuple(grips(world, self.fixture, self.joint, bar, travel, pressing=True))
            )
        goal = memory.grip.press(bar)
        off = offset(world.hand, goal, -bar.outward)
        touching = off.depth < 0.01 and off.lateral < 0.03
        if share <= PUSHED_TO or (share <= SHUT_AT and not touching):
            return _withdraw(world, bar, memory)
        memory = memory.next_step(False)
        if memory.tries >= TRIES:
            return Step(Command(grip=CLOSED), memory, FAILED, f"the drawer could not be pushed in {TRIES} times")
        command = towards(world, memory.around, goal, -bar.outward, CLOSED, PRESS)
        return Step(command, memory, careful=off.depth < 0.05)


def _reach(world: World, deed: PullDrawer | ShutDrawer) -> float:
    joint = world.body(deed.fixture).joints[deed.joint]
    return max(abs(joint.low), abs(joint.high))


def _holds(world: World, bar: Bar) -> bool:
    """Whether the bar is held: it is between the pads, and they have stopped at it."""
    stopped = 0.5 * bar.thickness < world.width < 0.068 and abs(world.closing) < 0.02
    return stopped and between(world.hand, bar, 0.014)


def _leave(world: World, bar: Bar, memory: Memory) -> Step:
    goal = memory.grip.grasp(bar)
    approach = world.hand.rotation[:, 2]
    off = offset(world.hand, goal, approach)
    if world.width < bar.thickness + 0.02 and between(world.hand, bar, 0.02):
        return Step(Command(grip=OPENED), memory, careful=True)
    away = off.depth > CLEAR or off.lateral > CLEAR
    return Step(Command(world.hand.position - 0.05 * approach, grip=OPENED), memory, DONE if away else RUNNING)


def _withdraw(world: World, bar: Bar, memory: Memory) -> Step:
    goal = memory.grip.press(bar)
    off = offset(world.hand, goal, -bar.outward)
    away = off.depth > CLEAR or off.lateral > CLEAR
    return Step(Command(world.hand.position + 0.05 * bar.outward, grip=CLOSED), memory, DONE if away else RUNNING)

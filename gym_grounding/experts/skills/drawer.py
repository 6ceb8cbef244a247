"""Drawers: pulled by the bar of the handle, pushed in with closed fingers."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gym_grounding.experts.control import CLOSED, OPENED, Command
from gym_grounding.experts.skills._base import DONE, FAILED, RUNNING, Step
from gym_grounding.experts.skills._fixture import UP, Bar, handle, openness
from gym_grounding.experts.skills._grip import AGAINST, AROUND, UPON, Grip, between, grips
from gym_grounding.experts.skills._reach import Surroundings, offset, towards
from gym_grounding.experts.world import World

Array = NDArray[np.float64]
OPEN_AT, PULLED_TO = 0.876, 0.987
"""Openness from which a drawer counts as open (LIBERO: 0.875), and to which it is pulled."""
WIDE_AT = 0.97
"""Openness from which it is open as wide as it gets."""
SHUT_AT, PUSHED_TO = -0.003, -0.006
"""Openness below which a drawer counts as shut (LIBERO: 0), and to which it is pushed; it goes in to -0.01."""
PULL, LEAD = 0.035, 0.02
"""Offset that a pull asks for in one step, and how far ahead of the bar it aims; a stronger one slips off [m]."""
PRESS = 0.012
"""How far into the bar closed fingers press to drag it along [m]."""
PUSH = 0.025
"""How far behind the face of the bar a push aims [m]."""
CLEAR = 0.06
"""The hand has left when it is this far back [m]."""
TRIES, LIMIT = 5, 120
"""Ways to have the bar that are tried, and steps for each."""
STALLED, STUCK, PATIENCE = 5, 8, 30
"""Steps without progress after which the hand is as near as it gets, and after which another way is tried: while the
bar is had, and on the way to it."""
FULL = 0.16
"""About how far a drawer opens [m]."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered from step to step.

    Attributes:
        around: what stands around.
        ways: ways to have the bar, the present one first.
        tries: ways given up.
        held: whether the bar followed the hand at the last step.
        steps: since the present way was chosen.
        left: least that was left to go, of the way or of the drawer's travel [m].
        still: steps since that grew less.
    """

    around: Surroundings
    ways: tuple[Grip, ...]
    tries: int = 0
    held: bool = False
    steps: int = 0
    left: float = np.inf
    still: int = 0

    @property
    def grip(self) -> Grip:
        """The present way."""
        return self.ways[0]

    def next_step(self, held: bool, left: float) -> Memory:
        """The memory for the next step; another way where the bar slipped or nothing happens."""
        if (self.held and not held) or self.steps > LIMIT or self.still > (STUCK if held else PATIENCE):
            ways = (*self.ways[1:], self.ways[0])
            return replace(self, ways=ways, tries=self.tries + 1, held=False, steps=0, left=np.inf, still=0)
        changed = held != self.held or left < self.left - 0.002
        return replace(
            self,
            held=held,
            steps=self.steps + 1,
            left=left if changed else self.left,
            still=0 if changed else self.still + 1,
        )


@dataclass(frozen=True, slots=True)
class PullDrawer:
    """Open a drawer.

    Attributes:
        fixture: what has the drawer.
        joint: number of its joint.
        wide: whether it must be open as wide as it gets, to make room.
    """

    fixture: str
    joint: int
    wide: bool = False

    @property
    def words(self) -> str:
        """The deed in words."""
        return f"open drawer {self.joint} of {self.fixture}{' wide' if self.wide else ''}"

    def done(self, world: World) -> bool:
        """Whether the drawer is open."""
        return openness(world, self.fixture, self.joint) >= (WIDE_AT if self.wide else OPEN_AT)

    def advance(self, world: World, memory: Memory | None) -> Step:
        """The next step; see ``Skill``."""
        bar = handle(world, self.fixture, self.joint)
        share = openness(world, self.fixture, self.joint)
        if memory is None:
            memory = _begun(world, self, bar, PULLED_TO - share, (UPON, AROUND))
        grip = memory.grip
        held = grip.has(world, bar)
        if share >= PULLED_TO or (self.done(world) and (not held or memory.still > STALLED)):
            return _leave(world, bar, memory)
        goal = grip.pose(bar)
        off = offset(world.hand, goal, grip.entry(bar))
        memory = memory.next_step(held, -share * FULL if held else off.depth + off.lateral + 0.1 * off.spin)
        if memory.tries >= TRIES:
            return Step(Command(grip=OPENED), memory, FAILED, f"the handle slipped or was not reached {TRIES} times")
        if held:
            aim = goal.position + LEAD * bar.outward - (PRESS * UP if grip.kind == UPON else 0.0)
            return Step(Command(aim, goal.rotation, CLOSED, reach=PULL), memory, careful=True)
        there = off.within(0.012, 0.01, 0.15) or (memory.still > STALLED and off.within(0.02, 0.01, 0.15))
        if grip.kind == AROUND and self._closes(world, bar, there):
            return Step(Command(goal.position, goal.rotation, CLOSED), memory, careful=True)
        command = towards(world, memory.around, goal, grip.entry(bar), OPENED if grip.kind == AROUND else CLOSED)
        return Step(command, memory, careful=abs(off.depth) < 0.05 and off.lateral < 0.03)

    @staticmethod
    def _closes(world: World, bar: Bar, there: bool) -> bool:
        return there or (world.width < 0.07 and between(world.hand, bar, 0.011) and world.closing > 0.01)


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
            memory = _begun(world, self, bar, PUSHED_TO - share, (AGAINST,))
        grip = memory.grip
        held = grip.has(world, bar)
        if share <= PUSHED_TO or (share <= SHUT_AT and not held):
            return _leave(world, bar, memory)
        goal = grip.pose(bar)
        off = offset(world.hand, goal, grip.entry(bar))
        memory = memory.next_step(held, share * FULL if held else off.depth + off.lateral + 0.1 * off.spin)
        if memory.tries >= TRIES:
            return Step(Command(grip=CLOSED), memory, FAILED, f"the drawer could not be pushed in {TRIES} times")
        if held:
            return Step(Command(goal.position - PUSH * bar.outward, goal.rotation, CLOSED), memory, careful=True)
        command = towards(world, memory.around, goal, grip.entry(bar), CLOSED)
        return Step(command, memory, careful=off.depth < 0.05)


def _begun(world: World, deed: PullDrawer | ShutDrawer, bar: Bar, share: float, kinds: tuple[str, ...]) -> Memory:
    joint = world.body(deed.fixture).joints[deed.joint]
    travel = share * max(abs(joint.low), abs(joint.high))
    return Memory(Surroundings.of(world), tuple(grips(world, deed.fixture, deed.joint, bar, travel, kinds)))


def _leave(world: World, bar: Bar, memory: Memory) -> Step:
    """Let go and back off: upwards from upon a bar, else the way in which the hand came."""
    grip, hand = memory.grip, world.hand
    around = grip.kind == AROUND
    if around and world.width < 0.07 and between(hand, bar, 0.02):
        return Step(Command(grip=OPENED), memory, careful=True)
    entry = -UP if grip.kind == UPON else grip.entry(bar)
    off = offset(hand, grip.pose(bar), entry)
    away = off.depth > CLEAR or off.lateral > CLEAR
    return Step(
        Command(hand.position - 0.05 * entry, grip=OPENED if around else CLOSED), memory, DONE if away else RUNNING
    )

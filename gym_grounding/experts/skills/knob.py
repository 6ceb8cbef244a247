"""Knobs that turn about an upright axis, such as a stove's: held at their ridge from above, and turned."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Frame
from gym_grounding.errors import NoPlan
from gym_grounding.experts.control import CLOSED, OPENED, Command
from gym_grounding.experts.skills._base import DONE, FAILED, RUNNING, Step
from gym_grounding.experts.skills._fixture import UP, across
from gym_grounding.experts.skills._reach import Surroundings, offset, towards
from gym_grounding.experts.skills.grasp import axes
from gym_grounding.experts.world import OPEN, World

Array = NDArray[np.float64]
ON, OFF = 0.5, 0.0
"""A knob is on from the first and off below the second [rad] (LIBERO)."""
TURNED_ON, TURNED_OFF = 0.75, -0.003
"""To where it is turned [rad]."""
RIDGE = 0.02
"""What is at most this far below a knob's top is its ridge [m]."""
DEEP = 0.018
"""How far below the top it is held [m]."""
CLOSE_BY, LEAN = 0.4, 0.25
"""Closer to the robot than the first [m], a hand that points straight down has no room in the wrist; by how much it
leans [rad]."""
AHEAD, SLIGHT = 0.3, 0.1
"""How far the hand is turned ahead of itself [rad]."""
MIDDLE, MOST = np.pi / 4, 2.5
"""Yaw of the hand in the middle of the wrist's range, and how far from there it may be turned [rad]."""
CLEAR = 0.06
"""The hand has left when it is this far above where it held [m]."""
SETTLED, REST = 5, 0.0002
"""Steps for which a knob must have moved less than the second [rad]; it is heavy, and coasts or bounces off its end."""
COAST = 15.0
"""Steps at its present speed that a coasting knob still goes."""
STUCK, LIMIT, TRIES = 20, 300, 5
"""Steps without a turn after which the ridge is taken anew, steps of the whole deed, times it is taken."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered from step to step.

    Attributes:
        around: what stands around.
        farthest: the farthest position of the joint so far, in the direction of the deed [rad].
        position: of the joint at the last step [rad].
        held: whether the ridge was held at the last step.
        still: steps for which the joint has not moved.
        idle: steps since it was reached with the ridge held.
        letting_go: whether the hand opens to take the ridge anew.
        tries: how often it did.
        steps: of the whole deed.
    """

    around: Surroundings
    farthest: float
    position: float
    held: bool = False
    still: int = 0
    idle: int = 0
    letting_go: bool = False
    tries: int = 0
    steps: int = 0


@dataclass(frozen=True, slots=True)
class TurnKnob:
    """Turn a knob on or off.

    Attributes:
        fixture: what has the knob.
        joint: number of its joint.
        on: whether to turn it on.
    """

    fixture: str
    joint: int
    on: bool

    @property
    def words(self) -> str:
        """The deed in words."""
        return f"turn {'on' if self.on else 'off'} {self.fixture}"

    def done(self, world: World) -> bool:
        """Whether LIBERO calls it on (or off)."""
        position = world.joint(self.fixture, self.joint)
        return position >= ON if self.on else position < OFF

    def advance(self, world: World, memory: Memory | None) -> Step:
        """The next step; see ``Skill``."""
        position, sign = world.joint(self.fixture, self.joint), 1.0 if self.on else -1.0
        if memory is None:
            memory = Memory(Surroundings.of(world), position, position)
        goal = self._hold(world)
        held = _holds(world, goal, memory.held)
        was, memory = memory.position, self._next(world, memory, position, held)
        if memory.tries >= TRIES or memory.steps > LIMIT:
            return Step(Command(grip=OPENED), memory, FAILED, f"the knob of {self.fixture} did not turn")
        ahead = Rotation.from_rotvec(self._turning(world) * AHEAD * UP).as_matrix() @ _upright(world)
        slightly = Rotation.from_rotvec(self._turning(world) * SLIGHT * UP).as_matrix() @ _upright(world)
        near = offset(world.hand, goal, -UP).lateral < 0.02 and world.hand.position[2] < goal.position[2] + 0.02
        reached = sign * position >= sign * (TURNED_ON if self.on else TURNED_OFF)
        if reached and held and not self.on and memory.idle < SETTLED:
            return Step(Command(None, slightly, CLOSED), memory, careful=True)
        if reached or (self.done(world) and not held):
            coasts = COAST * (position - was)
            rests = self.on or (memory.still >= SETTLED and position + coasts < TURNED_OFF / 4)
            return _leave(world, goal, memory, slightly if near else None, rests)
        if memory.letting_go:
            return Step(Command(goal.position, _upright(world), OPENED), memory, careful=True)
        if held:
            return Step(Command(goal.position, ahead, CLOSED), memory, careful=True)
        off = offset(world.hand, goal, -UP)
        if off.within(0.010, 0.008, 0.15) or (near and world.closing > 0.01 and world.width < 0.07):
            return Step(Command(goal.position, goal.rotation, CLOSED), memory, careful=True)
        return Step(towards(world, memory.around, goal, -UP, OPENED), memory, careful=off.lateral < 0.03)

    def _next(self, world: World, memory: Memory, position: float, held: bool) -> Memory:
        sign = 1.0 if self.on else -1.0
        still = memory.still + 1 if abs(position - memory.position) < REST else 0
        memory = replace(memory, steps=memory.steps + 1, held=held, position=position, still=still)
        if memory.letting_go:
            return replace(memory, letting_go=world.width < OPEN - 0.015)
        if sign * (position - memory.farthest) > 0.01:
            return replace(memory, farthest=position, idle=0)
        idle = memory.idle + 1 if held else 0
        if idle > STUCK:
            return replace(memory, idle=0, letting_go=True, tries=memory.tries + 1)
        return replace(memory, idle=idle)

    def _turning(self, world: World) -> float:
        """+1 where the hand must turn counter-clockwise, seen from above, else -1."""
        joint = world.body(self.fixture).joints[self.joint]
        up = float((world.frame(self.fixture).rotation @ joint.axis)[2])
        return float(np.sign(up)) * (1.0 if self.on else -1.0)

    def _hold(self, world: World) -> Frame:
        """The hand around the ridge as it is now, the way round that leaves the wrist room for the rest of the turn.

        Raises:
            NoPlan: nothing hangs on the joint.
        """
        cloud = world.part_cloud(self.fixture, self.joint)
        if not len(cloud):
            raise NoPlan(f"{self.fixture} has nothing on its joint to take hold of")
        top = float(cloud[:, 2].max())
        ridge = cloud[cloud[:, 2] > top - RIDGE]
        middle = (ridge.min(axis=0) + ridge.max(axis=0)) / 2
        rest = abs((TURNED_ON if self.on else TURNED_OFF) - world.joint(self.fixture, self.joint))
        closing = across(ridge)
        yaw = _roomy(float(np.arctan2(-closing[0], closing[1])), self._turning(world) * rest)
        spot = np.array([*middle[:2], top - DEEP])
        return Frame(spot, _leaning(world, np.array([-np.sin(yaw), np.cos(yaw), 0.0]), spot))


def _roomy(yaw: float, turn: float) -> float:
    """Of the yaws that close in the same direction, that for which the wrist stays nearest to the middle of its range.

    Args:
        turn: how far the hand will turn from there [rad].
    """

    def worst(one: float) -> float:
        return max(abs(one - MIDDLE), min(abs(one + turn - MIDDLE), MOST))

    return min((yaw + half * np.pi for half in (-1, 0, 1)), key=worst)


def _holds(world: World, goal: Frame, before: bool) -> bool:
    """Whether the ridge is between the pads and they have stopped at it; held ``before``, they may tremble."""
    gap = world.hand.position - goal.position
    slack = 0.03 if before else 0.015
    near = float(np.linalg.norm(gap[:2])) < slack and abs(gap[2]) < slack
    return near and 0.012 < world.width < 0.045 and (before or abs(world.closing) < 0.02)


def _leave(world: World, goal: Frame, memory: Memory, ahead: Array | None, rests: bool) -> Step:
    """Open, still turning, so that the knob is not dragged back; then up."""
    if ahead is not None and world.width < OPEN - 0.025:
        return Step(Command(None, ahead, OPENED), memory, careful=True)
    gap = world.hand.position - goal.position
    away = gap[2] > CLEAR or float(np.linalg.norm(gap[:2])) > CLEAR
    if away and not rests:
        return Step(Command(grip=OPENED), memory)
    return Step(Command(world.hand.position + 0.05 * UP, grip=OPENED), memory, DONE if away else RUNNING)


def _upright(world: World) -> Array:
    """The hand's axes without the tilt that turning has brought in, shape (3, 3)."""
    closing = world.hand.rotation[:, 0] * [1.0, 1.0, 0.0]
    return _leaning(world, closing / np.linalg.norm(closing), world.hand.position)


def _leaning(world: World, closing: Array, spot: Array) -> Array:
    """Axes of a hand over ``spot``; close to the robot its fingers point a little back to it, shape (3, 3)."""
    back = (world.anatomy.base - spot) * [1.0, 1.0, 0.0]
    lean = LEAN if float(np.linalg.norm(back)) < CLOSE_BY else 0.0
    forward = np.cross([0.0, 0.0, -1.0], closing)
    return axes(closing, lean if float(forward @ back) > 0 else -lean)

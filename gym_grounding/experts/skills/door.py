"""Doors on an upright hinge, such as a microwave's: dragged open by the top of the handle, pushed shut at the face."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters import Frame
from gym_grounding.errors import NoPlan
from gym_grounding.experts.control import CLOSED, Command, turn_between
from gym_grounding.experts.skills._base import DONE, FAILED, RUNNING, Step
from gym_grounding.experts.skills._fixture import UP, handle, hinged, openness
from gym_grounding.experts.skills._hand import HALF, TIP, clashes
from gym_grounding.experts.skills._reach import Surroundings, offset, towards
from gym_grounding.experts.skills.grasp import axes
from gym_grounding.experts.world import World

Array = NDArray[np.float64]
OPEN_AT, DRAGGED_TO = 0.621, 0.67
"""Openness from which a door counts as open (LIBERO: -1.3 of -2.094), and to which it is dragged."""
SHUT_AT, PUSHED_TO = 0.002, 0.001
"""Openness below which a door counts as shut (LIBERO: -0.005 of -2.094), and to which it is pushed."""
INWARD = 0.012
"""How far behind the bar of the handle the fingertips press down, on the post that carries it [m]."""
PRESS, LEAD, PULL = 0.012, 0.025, 0.04
"""How far fingertips press into the handle, how far ahead they drag it, and the most asked for in one step [m]."""
ARM, SUNK, PUSH = 0.7, 0.04, 0.025
"""Where on the door it is pushed, as a share of its breadth from the hinge; how far below its top edge, and how far
behind its face that push aims [m]."""
YAWS = (0.0, np.pi / 4, np.pi / 2, -np.pi / 4)
"""Turns of the hand about the vertical that are tried [rad]."""
MIDDLE = np.pi / 4
"""That in the middle of the wrist's range."""
HIT = 0.1
"""What a point struck costs, in radians of turning."""
CLEAR = 0.06
"""The hand has left when it is this far off [m]."""
TRIES, LIMIT = 4, 150
"""Ways that are tried, and steps for each."""


@dataclass(frozen=True, slots=True)
class Memory:
    """What is remembered from step to step.

    Attributes:
        around: what stands around.
        yaws: turns of the hand about the vertical, the present one first [rad].
        tries: how many were given up.
        steps: since the present one was chosen.
    """

    around: Surroundings
    yaws: tuple[float, ...]
    tries: int = 0
    steps: int = 0

    def next_step(self) -> Memory:
        """The memory for the next step; another way where nothing happens."""
        if self.steps > LIMIT:
            return replace(self, yaws=(*self.yaws[1:], self.yaws[0]), tries=self.tries + 1, steps=0)
        return replace(self, steps=self.steps + 1)


@dataclass(frozen=True, slots=True)
class OpenDoor:
    """Open a door.

    Attributes:
        fixture: what has the door.
        joint: number of its joint.
    """

    fixture: str
    joint: int

    @property
    def words(self) -> str:
        """The deed in words."""
        return f"open the door of {self.fixture}"

    def done(self, world: World) -> bool:
        """Whether the door is open."""
        return openness(world, self.fixture, self.joint) >= OPEN_AT

    def advance(self, world: World, memory: Memory | None) -> Step:
        """The next step; see ``Skill``."""
        if memory is None:
            memory = _begun(world, self, lambda yaw: self._pose(world, yaw)[0])
        pose, onward = self._pose(world, memory.yaws[0])
        rel = world.hand.position - pose.position
        spin = offset(world.hand, pose, -UP).spin
        has = float(np.linalg.norm(rel[:2])) < 0.014 and rel[2] < 0.006 and spin < 0.3
        share = openness(world, self.fixture, self.joint)
        if share >= DRAGGED_TO or (share >= OPEN_AT and not has):
            return _up(world, pose, memory)
        memory = memory.next_step()
        if memory.tries >= TRIES:
            return Step(Command(grip=CLOSED), memory, FAILED, f"the handle slipped or was not reached {TRIES} times")
        if has:
            aim = pose.position + LEAD * onward - PRESS * UP
            return Step(Command(aim, pose.rotation, CLOSED, reach=PULL), memory, careful=True)
        return Step(towards(world, memory.around, pose, -UP, CLOSED), memory, careful=rel[2] < 0.04)

    def _pose(self, world: World, yaw: float) -> tuple[Frame, Array]:
        """The hand with its fingertips upon the handle, and the direction in which that moves as the door opens."""
        bar = handle(world, self.fixture, self.joint)
        top = bar.centre + bar.length / 2 * UP
        hinge = hinged(world, self.fixture, self.joint)
        onward = np.cross(hinge.axis, top - hinge.anchor)
        onward /= np.linalg.norm(onward)
        return Frame(top - INWARD * onward + TIP * UP, _down(yaw)), onward


@dataclass(frozen=True, slots=True)
class ShutDoor:
    """Shut a door.

    Attributes:
        fixture: what has the door.
        joint: number of its joint.
    """

    fixture: str
    joint: int

    @property
    def words(self) -> str:
        """The deed in words."""
        return f"close the door of {self.fixture}"

    def done(self, world: World) -> bool:
        """Whether the door is shut."""
        return openness(world, self.fixture, self.joint) <= SHUT_AT

    def advance(self, world: World, memory: Memory | None) -> Step:
        """The next step; see ``Skill``."""
        if memory is None:
            memory = _begun(world, self, lambda yaw: self._pose(world, yaw)[0])
        pose, onward = self._pose(world, memory.yaws[0])
        rel = world.hand.position - pose.position
        ahead, spin = float(rel @ onward), offset(world.hand, pose, -UP).spin
        beside = float(np.linalg.norm((rel - ahead * onward)[:2]))
        has = -0.03 < ahead < 0.012 and abs(rel[2]) < 0.015 and beside < 0.03 and spin < 0.3
        share = openness(world, self.fixture, self.joint)
        if share <= PUSHED_TO or (share <= SHUT_AT and not has):
            return _back(world, pose, onward, memory)
        memory = memory.next_step()
        if memory.tries >= TRIES:
            return Step(Command(grip=CLOSED), memory, FAILED, f"the door could not be pushed shut {TRIES} times")
        if has:
            return Step(Command(pose.position + PUSH * onward, pose.rotation, CLOSED), memory, careful=True)
        before = Frame(pose.position - 0.5 * PUSH * onward, pose.rotation)
        return Step(towards(world, memory.around, before, -UP, CLOSED), memory, careful=rel[2] < 0.04)

    def _pose(self, world: World, yaw: float) -> tuple[Frame, Array]:
        """The hand with its fingers at the door's outer face, and the direction in which that moves as it shuts.

        Raises:
            NoPlan: there is nothing to push at.
        """
        hinge, rotation = hinged(world, self.fixture, self.joint), _down(yaw)
        cloud = world.part_cloud(self.fixture, self.joint)
        upper = (cloud - hinge.anchor)[cloud[:, 2] > cloud[:, 2].max() - SUNK] * [1.0, 1.0, 0.0]
        reach = np.linalg.norm(upper, axis=1)
        along = upper[np.argmax(reach)] / reach.max()
        onward = -np.cross(hinge.axis, along)
        arm = ARM * float(reach.max())
        near = upper[np.abs(upper @ along - arm) < 0.02]
        if not len(near):
            raise NoPlan(f"{self.fixture}: its door has nothing to push at")
        thick = abs(rotation[:, 0] @ onward) * 0.018 + abs(rotation[:, 1] @ onward) * HALF
        point = hinge.anchor + arm * along + (float((near @ onward).min()) - thick) * onward
        return Frame(np.array([*point[:2], float(cloud[:, 2].max()) - SUNK + TIP]), rotation), onward


def _down(yaw: float) -> Array:
    """Axes of a hand that points down, shape (3, 3)."""
    return axes(np.array([-np.sin(yaw), np.cos(yaw), 0.0]))


def _begun(world: World, deed: OpenDoor | ShutDoor, pose: Callable[[float], Frame]) -> Memory:
    """The ways in which the hand strikes least and turns least come first."""
    around = Surroundings.of(world)

    def cost(yaw: float) -> float:
        here = pose(yaw)
        above = Frame(here.position + CLEAR * UP, here.rotation)
        turn = float(np.linalg.norm(turn_between(_down(MIDDLE), here.rotation)))
        return turn + HIT * clashes(world, (here, above), 0.0, world.others([deed.fixture]))

    return Memory(around, tuple(sorted(YAWS, key=cost)))


def _up(world: World, pose: Frame, memory: Memory) -> Step:
    rel = world.hand.position - pose.position
    away = rel[2] > CLEAR or float(np.linalg.norm(rel[:2])) > CLEAR
    return Step(Command(world.hand.position + 0.05 * UP, grip=CLOSED), memory, DONE if away else RUNNING)


def _back(world: World, pose: Frame, onward: Array, memory: Memory) -> Step:
    rel = world.hand.position - pose.position
    away = rel[2] > CLEAR or float(np.linalg.norm(rel[:2])) > CLEAR
    rise = 0.05 * UP if rel @ onward < -0.008 else np.zeros(3)
    return Step(Command(world.hand.position - 0.03 * onward + rise, grip=CLOSED), memory, DONE if away else RUNNING)

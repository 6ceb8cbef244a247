"""Shut a door that hangs on an upright hinge, such as a microwave's; open one by its free edge."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gym_grounding.experts.control import CLOSED, METRES, Command
from gym_grounding.experts.skills._base import DONE, FAILED, Step
from gym_grounding.experts.skills._way import Relief, over
from gym_grounding.experts.skills.grasp import axes
from gym_grounding.experts.world import World

Array = NDArray[np.float64]

OPENED_AT, SHUT_AT = -1.3, -0.005
"""LIBERO's microwave is open below the first and shut above the second [rad] (``default_open_ranges`` of its class)."""
ARM = 0.8
"""Where on the door it is pushed, as a share of its breadth from the hinge."""
BELOW = 0.035
"""How far below the door's top edge the finger tips push [m]."""
ROOM = 0.035
"""From the door's face to the finger before it pushes [m]."""
SLOW = 260


@dataclass(frozen=True, slots=True, eq=False)
class Swinging:
    """What the deed remembers: ``relief`` of what stands around, whether it ``pushes`` or ``leaves``, and ``steps``."""

    relief: Relief
    pushes: bool = False
    leaves: int = 0
    steps: int = 0


@dataclass(frozen=True, slots=True)
class ShutDoor:
    """Push the door on joint ``number`` of ``fixture`` shut."""

    fixture: str
    number: int

    @property
    def words(self) -> str:
        """Such as ``shut the door of microwave_1``."""
        return f"shut the door of {self.fixture}"

    def done(self, world: World) -> bool:
        """Whether LIBERO calls it shut."""
        return world.joint(self.fixture, self.number) > SHUT_AT

    def advance(self, world: World, memory: Swinging | None) -> Step:
        """See ``Skill.advance``."""
        return _swing(self, world, memory, 1.0)


@dataclass(frozen=True, slots=True)
class OpenDoor:
    """Open the door on joint ``number`` of ``fixture`` by its inner face: a shut door gives the finger no way in."""

    fixture: str
    number: int

    @property
    def words(self) -> str:
        """Such as ``open the door of microwave_1``."""
        return f"open the door of {self.fixture}"

    def done(self, world: World) -> bool:
        """Whether LIBERO calls it open."""
        return world.joint(self.fixture, self.number) < OPENED_AT

    def advance(self, world: World, memory: Swinging | None) -> Step:
        """See ``Skill.advance``."""
        return _swing(self, world, memory, -1.0)


def _swing(deed: ShutDoor | OpenDoor, world: World, memory: Swinging | None, sign: float) -> Step:
    if memory is None:
        memory = Swinging(Relief.of(world.others(), world.anatomy.ground))
    memory = replace(memory, steps=memory.steps + 1)
    if memory.steps > SLOW:
        return Step(Command(None, grip=CLOSED), None, FAILED, f"the door of {deed.fixture} did not move")
    contact, way, along = _contact(world, deed, sign)
    hand, rotation = world.hand, axes(_level(along))
    if deed.done(world) or memory.leaves:
        memory = replace(memory, leaves=memory.leaves + 1)
        target = hand.position - 0.04 * way + np.array([0.0, 0.0, 0.02])
        if memory.leaves > 12:
            if deed.done(world):
                return Step(Command(target, rotation, CLOSED), None, DONE)
            return Step(Command(target, rotation, CLOSED), None, FAILED, f"the door of {deed.fixture} swung back")
        return Step(Command(target, hand.rotation, CLOSED), memory, careful=True)
    before = contact - ROOM * way
    offset = contact - hand.position
    beside = offset - (offset @ way) * way
    if not memory.pushes and float(np.linalg.norm(before - hand.position)) > 0.02:
        target = before
        if float(np.linalg.norm(beside[:2])) > 0.04 or float(offset @ way) < 0.0:
            height = memory.relief.highest(hand.position[:2], before[:2], 0.08) + 0.05
            target = over(hand.position, before, max(height, before[2]), 0.03)
        return Step(Command(target, rotation, CLOSED), memory)
    if memory.pushes and float(offset @ way) > 0.10:
        memory = replace(memory, pushes=False)
    memory = replace(memory, pushes=True)
    target = hand.position + beside + 0.05 * way
    return Step(Command(target, rotation, CLOSED, reach=METRES * 0.8), memory, careful=True)


def _contact(world: World, deed: ShutDoor | OpenDoor, sign: float) -> tuple[Array, Array, Array]:
    """Where the finger pushes, which way, and the direction from the hinge to the door's free edge, shapes (3,)."""
    frame, joint = world.frame(deed.fixture), world.body(deed.fixture).joints[deed.number]
    anchor, axis = frame.apply(joint.anchor), frame.rotation @ joint.axis
    cloud = world.part_cloud(deed.fixture, deed.number)
    arms = (cloud - anchor) * [1.0, 1.0, 0.0]
    reach = np.linalg.norm(arms, axis=1)
    tip = arms[reach > 0.9 * reach.max()].mean(axis=0)
    along = tip / np.linalg.norm(tip)
    way = sign * np.cross(axis, along)
    arm = ARM * float(reach.max())
    near = np.abs(arms @ along - arm) < 0.03
    face = float((arms[near] @ way).min())
    point = anchor + arm * along + face * way
    return np.array([*point[:2], float(cloud[:, 2].max()) - BELOW]), way, along


def _level(along: Array) -> Array:
    """The closing axis along the door, with the sign nearest to the hand's rest."""
    return along if along[1] >= 0 else -along

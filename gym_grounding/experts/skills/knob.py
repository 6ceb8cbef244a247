"""Turn a knob that stands upright, such as a stove's."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Frame
from gym_grounding.errors import NoPlan
from gym_grounding.experts.control import CLOSED, METRES, OPENED, Command, turn_between
from gym_grounding.experts.skills._base import DONE, FAILED, RUNNING, Step
from gym_grounding.experts.skills._way import Relief, over
from gym_grounding.experts.skills.grasp import axes
from gym_grounding.experts.world import OPEN, World

Array = NDArray[np.float64]

UP = np.array([0.0, 0.0, 1.0])
FETCH, CLOSE, TURN, LEAVE = "fetch", "close", "turn", "leave"
ON, OFF = 0.5, 0.0
"""Positions between which a knob is neither [rad]; LIBERO's flat stove (``turn_on_ranges``, ``turn_off_ranges``)."""
PAST_ON, PAST_OFF = 0.85, -0.002
"""Where the knob is let go: fingers drag it back by some tenths of a radian when they open [rad]."""
DEEP = 0.018
"""How far below the knob's top it is held [m]."""
STEP = 0.25
"""How far the hand is turned ahead of itself [rad]."""
MOST = 1.5
"""Turn from the wrist's rest beyond which it lets go and takes hold anew [rad]."""
TRIES, SLOW = 5, 300


@dataclass(frozen=True, slots=True, eq=False)
class Turning:
    """What the deed remembers.

    Attributes:
        phase: what it does.
        relief: what stands around.
        side: 1 or -1: which way round the fingers take the ridge.
        since: steps in this phase.
        steps: steps in all.
        tries: how often it took hold.
        best: the farthest position so far [rad].
    """

    phase: str
    relief: Relief
    side: float
    since: int = 0
    steps: int = 0
    tries: int = 1
    best: float = 0.0


@dataclass(frozen=True, slots=True)
class TurnKnob:
    """Turn the knob on joint ``number`` of ``fixture`` on, or off."""

    fixture: str
    number: int
    on: bool

    @property
    def words(self) -> str:
        """Such as ``turn on flat_stove_1``."""
        return f"turn {'on' if self.on else 'off'} {self.fixture}"

    def done(self, world: World) -> bool:
        """Whether LIBERO calls it on (or off)."""
        position = world.joint(self.fixture, self.number)
        return position >= ON if self.on else position < OFF

    def advance(self, world: World, memory: Turning | None) -> Step:
        """See ``Skill.advance``.

        Raises:
            NoPlan: nothing hangs on the joint.
        """
        if memory is None:
            relief = Relief.of(world.others({self.fixture}), world.anatomy.ground)
            memory = Turning(FETCH, relief, self._side(world))
        if memory.steps > SLOW or memory.tries > TRIES:
            return Step(Command(None, grip=OPENED), None, FAILED, f"the knob of {self.fixture} did not turn")
        memory = replace(memory, steps=memory.steps + 1, since=memory.since + 1)
        if self._enough(world) and memory.phase in (FETCH, CLOSE, TURN):
            memory = _to(memory, LEAVE)
        if memory.phase == FETCH:
            return self._fetch(world, memory)
        if memory.phase == CLOSE:
            if memory.since >= 7 and (abs(world.closing) < 0.01 or memory.since > 14):
                memory = replace(_to(memory, TURN), best=world.joint(self.fixture, self.number))
            held = self._hold(world, memory)
            return Step(Command(held.position, held.rotation, CLOSED), memory, careful=True)
        return self._turn(world, memory) if memory.phase == TURN else self._leave(world, memory)

    def _enough(self, world: World) -> bool:
        position = world.joint(self.fixture, self.number)
        return position > PAST_ON if self.on else position < PAST_OFF

    def _fetch(self, world: World, memory: Turning) -> Step:
        held, hand = self._hold(world, memory), world.hand
        offset = held.position - hand.position
        lateral, turn = float(np.linalg.norm(offset[:2])), _angle(hand, held)
        if lateral < 0.006 and abs(offset[2]) < 0.008 and turn < 0.12 and world.width > OPEN - 0.02:
            return Step(Command(held.position, held.rotation, CLOSED), _to(memory, CLOSE), careful=True)
        if memory.since > 120:
            return Step(
                Command(None, grip=OPENED), replace(_to(memory, FETCH), tries=memory.tries + 1, side=-memory.side)
            )
        back = float(np.clip(1.5 * (lateral - 0.006), 0, 0.08)) + min(0.05, 0.12 * max(0.0, turn - 0.1))
        if world.width < OPEN - 0.02:
            back = max(back, 0.06)
        aim = held.position + back * UP
        if lateral > 0.08:
            height = memory.relief.highest(hand.position[:2], aim[:2], 0.07) + 0.05
            aim = over(hand.position, aim, max(height, aim[2]), 0.03)
        return Step(Command(aim, held.rotation, OPENED), memory, RUNNING, careful=lateral < 0.02)

    def _turn(self, world: World, memory: Turning) -> Step:
        position, hand = world.joint(self.fixture, self.number), world.hand
        ahead = (position - memory.best) * (1 if self.on else -1)
        if ahead > 0.01:
            memory = replace(memory, best=position, since=0)
        joint = world.body(self.fixture).joints[self.number]
        axis = world.frame(self.fixture).rotation @ joint.axis
        sign = 1.0 if self.on else -1.0
        rotation = Rotation.from_rotvec(sign * STEP * axis).as_matrix() @ _upright(hand)
        held = self._hold(world, memory)
        if memory.since > 15 or world.width < 0.001:  # the wrist is at its end, or the ridge slipped out
            return Step(
                Command(held.position + 0.06 * UP, hand.rotation, OPENED),
                replace(_to(memory, FETCH), tries=memory.tries + 1, side=self._side(world)),
            )
        return Step(Command(held.position, rotation, CLOSED, reach=METRES / 2), memory, careful=True)

    def _leave(self, world: World, memory: Turning) -> Step:
        hand = world.hand
        if world.width < OPEN - 0.025 and memory.since < 12:
            return Step(Command(hand.position, hand.rotation, OPENED), memory, careful=True)
        top = float(world.part_cloud(self.fixture, self.number)[:, 2].max())
        clear = hand.position[2] > top + 0.05
        command = Command(hand.position + 0.04 * UP, _upright(hand), OPENED)
        if not clear and memory.since < 40:
            return Step(command, memory)
        if self.done(world):
            return Step(command, None, DONE)
        return Step(command, replace(_to(memory, FETCH), tries=memory.tries + 1, side=self._side(world)))

    def _hold(self, world: World, memory: Turning) -> Frame:
        """Where the hand takes the ridge as it stands now."""
        cloud = world.part_cloud(self.fixture, self.number)
        if not len(cloud):
            raise NoPlan(f"{self.fixture} has nothing on its joint to take hold of")
        upper = cloud[cloud[:, 2] > cloud[:, 2].max() - 0.02]
        middle = (upper.min(axis=0) + upper.max(axis=0)) / 2
        closing = _thin(upper) * memory.side
        return Frame(np.array([*middle[:2], float(cloud[:, 2].max()) - DEEP]), axes(closing))

    def _side(self, world: World) -> float:
        """The way round that keeps the wrist nearest to its rest over the whole turn."""
        cloud = world.part_cloud(self.fixture, self.number)
        upper = cloud[cloud[:, 2] > cloud[:, 2].max() - 0.02]
        position = world.joint(self.fixture, self.number)
        joint = world.body(self.fixture).joints[self.number]
        up = float((world.frame(self.fixture).rotation @ joint.axis)[2])
        way = ((PAST_ON if self.on else PAST_OFF) - position) * np.sign(up)
        yaws = {side: _yaw(_thin(upper) * side) for side in (1.0, -1.0)}
        return min(yaws, key=lambda side: max(abs(yaws[side]), abs(yaws[side] + np.clip(way, -MOST, MOST))))


def _thin(points: Array) -> Array:
    """The level direction in which points reach least far, shape (3,)."""
    angles = np.linspace(0, np.pi, 90, endpoint=False)
    across = points[:, :2] @ np.stack([np.cos(angles), np.sin(angles)])
    angle = float(angles[np.argmin(across.max(axis=0) - across.min(axis=0))])
    return np.array([np.cos(angle), np.sin(angle), 0.0])


def _yaw(closing: Array) -> float:
    """Turn of a closing axis from its rest along y, in (-pi, pi] [rad]."""
    return float(np.arctan2(-closing[0], closing[1]))


def _angle(hand: Frame, held: Frame) -> float:
    return float(np.linalg.norm(turn_between(hand.rotation, held.rotation)))


def _upright(hand: Frame) -> Array:
    """The hand's axes without the tilt that turning has brought in, shape (3, 3)."""
    closing = hand.rotation[:, 0] * [1.0, 1.0, 0.0]
    return axes(closing / np.linalg.norm(closing))


def _to(memory: Turning, phase: str) -> Turning:
    return replace(memory, phase=phase, since=0)

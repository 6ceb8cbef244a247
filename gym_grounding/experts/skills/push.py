"""Slide a flat thing over the work surface: closed fingers press into it from above and drag it along."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters import Frame
from gym_grounding.errors import NoPlan
from gym_grounding.experts.control import CLOSED, Command, turn_between
from gym_grounding.experts.skills._base import DONE, FAILED, Step
from gym_grounding.experts.skills._fixture import UP
from gym_grounding.experts.skills._hand import TIP, clashes
from gym_grounding.experts.skills._reach import CELL, Surroundings, towards
from gym_grounding.experts.skills._way import thinned
from gym_grounding.experts.skills.grasp import axes
from gym_grounding.experts.skills.release import Destination
from gym_grounding.experts.world import World

Array = NDArray[np.float64]
FINGER = 0.015
"""Radius around the thing's middle on which the fingertips stand [m]."""
HOLLOW = 0.028
"""How far the thing may rise above where the fingertips stand, or the palm strikes it [m]."""
PRESS = 0.004
"""How far into the thing the fingertips press; pressed harder it sticks to the work surface [m]."""
AHEAD = 0.025
"""How far ahead the hand is sent [m]."""
RIM = 0.025
"""So far from its place the fingertips may be at the thing's rim, and would climb it at that speed [m]."""
NEAR, LOST = 0.008, 0.05
"""How far beside its place the hand may come down, and from where on it has slipped off, into or over the rim [m]."""
TOUCH = 0.006
"""The fingertips stand on the thing when they are no higher above it [m]."""
SLACK, ENOUGH = 0.008, 0.025
"""How far off its goal the thing may be let go, and how far where it counts as being there [m]."""
CLEAR = 0.06
"""The hand has left when it is this far above [m]."""
LEVEL = 0.985
"""Cosine of the tilt at which the fingers let go of it."""
RISEN = 0.02
"""Only a thing that stands, and will stand, no higher above the work surface can be slid over it [m]."""
YAWS, HIT = (0.0, np.pi / 4, np.pi / 2, -np.pi / 4), 0.1
"""Turns of the hand about the vertical that are tried, and what a point struck costs [rad]."""
THIN = 0.003
"""What rises no higher above the work surface is slid over [m]."""
LOOK, ROOM = 0.08, 0.006
"""How far ahead the way is looked at, and the room that is left beside things [m]."""
HEADINGS = tuple(np.linspace(-1.6, 1.6, 17)[np.argsort(np.abs(np.linspace(-1.6, 1.6, 17)))])
"""Turns from the straight way that are tried, small ones first [rad]."""
STRIKES = 60.0
"""What a metre less room than that costs, in radians of turning."""
TRIES, STUCK, LIMIT = 4, 25, 300
"""How often it presses anew, steps without progress after which it does, and steps of the whole deed."""


@dataclass(frozen=True, slots=True, eq=False)
class Sliding:
    """What is remembered from step to step.

    Attributes:
        around: what stands around.
        low: what stands around at the thing's height, seen from above, shape (m, 2), world [m].
        goals: where the thing's origin may go, the present one first, shape (n, 2), world [m].
        yaw: turn of the hand about the vertical [rad].
        upright: the thing's own direction that was up at first, shape (3,), unit length.
        pressed: whether the fingertips stood on the thing at the last step.
        leaving: whether the hand goes up, away from the thing.
        tries: how often it slipped or got stuck.
        left: the shortest way that was left to go [m].
        still: steps since that grew shorter.
        steps: of the whole deed.
    """

    around: Surroundings
    goals: Array
    low: Array
    yaw: float
    upright: Array
    pressed: bool = False
    leaving: bool = False
    tries: int = 0
    left: float = np.inf
    still: int = 0
    steps: int = 0


@dataclass(frozen=True, slots=True)
class Push:
    """Slide ``thing`` over the work surface to where it belongs."""

    thing: str
    destination: Destination

    @property
    def words(self) -> str:
        """Such as ``push plate_1 on main_table_stove_front_region``."""
        return f"push {self.thing} {self.destination.words}"

    def done(self, world: World) -> bool:
        """Whether it is there."""
        return self.destination.reached(world, self.thing)

    def advance(self, world: World, memory: Sliding | None) -> Step:
        """See ``Skill.advance``.

        Raises:
            NoPlan: the thing is not flat, or its place is not on the work surface.
        """
        if memory is None:
            memory = Sliding(
                Surroundings.of(world),
                self._goals(world),
                self._low(world),
                self._yaw(world),
                world.frame(self.thing).rotation[2],
            )
        spot, hand = self._spot(world, memory.yaw), world.hand
        memory = replace(memory, steps=memory.steps + 1)
        way = memory.goals[0] - world.frame(self.thing).position[:2]
        far = float(np.linalg.norm(way))
        beside = float(np.linalg.norm(hand.position[:2] - spot.position[:2]))
        height = float(hand.position[2] - spot.position[2])
        there = far < SLACK or (far < ENOUGH and self.done(world))
        tilted = float(world.frame(self.thing).rotation[2] @ memory.upright) < LEVEL
        if memory.leaving or (memory.pressed and (there or tilted)):
            return self._leave(world, replace(memory, leaving=True), beside > CLEAR or height > CLEAR)
        if memory.tries >= TRIES or memory.steps > LIMIT:
            return Step(Command(hand.position + 0.05 * UP, grip=CLOSED), None, FAILED, f"{self.thing} did not slide")
        pressed = height < TOUCH and beside < (LOST if memory.pressed else NEAR)
        memory = _next(memory, pressed, far)
        if not pressed:
            command = towards(world, memory.around, spot, -UP, CLOSED, PRESS)
            return Step(command, memory, careful=beside < 0.03)
        ahead = min(far, AHEAD if beside < RIM else AHEAD / 2) * self._heading(world, memory, way)
        target = np.array([*(hand.position[:2] + ahead), spot.position[2] - PRESS])
        return Step(Command(target, spot.rotation, CLOSED), memory, careful=True)

    def _heading(self, world: World, memory: Sliding, way: Array) -> Array:
        """The direction in which to drag, shape (2,): towards the goal, or past what is in the way."""
        cloud = world.cloud(self.thing)[:, :2]
        low, high = cloud.min(axis=0), cloud.max(axis=0)
        radius = float((high - low).max()) / 2 + ROOM
        far = max(float(np.linalg.norm(way)), 1e-6)
        gaps = memory.low - (low + high) / 2
        near = gaps[np.linalg.norm(gaps, axis=1) < radius + LOOK]
        length = min(far, LOOK)

        def cost(angle: float) -> float:
            along = _turned(way / far, angle)
            share = np.clip(near @ along, 0.0, length)
            least = float(np.linalg.norm(near - share[:, None] * along, axis=1).min(initial=radius))
            return abs(angle) + STRIKES * max(0.0, radius - least)

        return _turned(way / far, min(HEADINGS, key=cost))

    def _spot(self, world: World, yaw: float) -> Frame:
        """The hand with its fingertips on the middle of the thing."""
        cloud = world.cloud(self.thing)
        middle = (cloud[:, :2].max(axis=0) + cloud[:, :2].min(axis=0)) / 2
        gaps = np.linalg.norm(cloud[:, :2] - middle, axis=1)
        height = float(cloud[gaps < max(FINGER, float(gaps.min()) + 1e-6), 2].max())
        closing = np.array([-np.sin(yaw), np.cos(yaw), 0.0])
        return Frame(np.array([*middle, height + TIP]), axes(closing))

    def _yaw(self, world: World) -> float:
        """The turn with which the hand strikes least as it comes down, and has to turn least."""
        others = thinned(world.others({self.thing}), CELL)

        def cost(yaw: float) -> float:
            spot = self._spot(world, yaw)
            above = Frame(spot.position + CLEAR * UP, spot.rotation)
            turn = float(np.linalg.norm(turn_between(world.hand.rotation, spot.rotation)))
            return turn + HIT * clashes(world, (spot, above), 0.0, others)

        return min(YAWS, key=cost)

    def _goals(self, world: World) -> Array:
        """Where the thing may go, shape (n, 2), world [m].

        Raises:
            NoPlan: nowhere on the work surface, or the thing's middle is too deep for the hand.
        """
        frame, cloud = world.frame(self.thing), world.cloud(self.thing)
        if float(cloud[:, 2].max() - self._spot(world, 0.0).position[2]) + TIP > HOLLOW:
            raise NoPlan(f"{self.thing} cannot be slid: it has no flat middle to press on")
        if float(cloud[:, 2].min()) > world.anatomy.ground + RISEN:
            raise NoPlan(f"{self.thing} cannot be slid: it does not stand on the work surface")
        releases = self.destination.releases(world, self.thing)
        level = [one.position for one in releases if abs(one.position[2] - frame.position[2]) < RISEN]
        if not level:
            raise NoPlan(f"{self.thing} cannot be slid {self.destination.words}: that is not on the work surface")
        return np.stack(level)[:, :2]

    def _low(self, world: World) -> Array:
        """What the thing would strike on its way, seen from above, shape (m, 2), world [m]."""
        points = thinned(world.others({self.thing}), CELL)
        top = float(world.cloud(self.thing)[:, 2].max())
        return points[(points[:, 2] < top) & (points[:, 2] > world.anatomy.ground + THIN)][:, :2]

    def _leave(self, world: World, memory: Sliding, away: bool) -> Step:
        """Straight up; then it is there, or the hand tries again."""
        command = Command(world.hand.position + 0.05 * UP, grip=CLOSED)
        if not away:
            return Step(command, memory)
        if self.done(world):
            return Step(command, None, DONE)
        goals = np.roll(memory.goals, -1, axis=0)
        around, low = Surroundings.of(world), self._low(world)
        return Step(command, replace(_anew(memory), leaving=False, goals=goals, around=around, low=low))


def _turned(direction: Array, angle: float) -> Array:
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([[cos, -sin], [sin, cos]]) @ direction


def _next(memory: Sliding, pressed: bool, far: float) -> Sliding:
    """The memory for the next step; up and down again where the thing slipped off or does not move."""
    still = memory.still + 1 if pressed and far > memory.left - 0.002 else 0
    if still > STUCK:
        return replace(_anew(memory), leaving=True)
    if memory.pressed and not pressed:
        return _anew(memory)
    left = min(memory.left, far) if pressed and still == 0 else memory.left
    return replace(memory, pressed=pressed, left=left, still=still)


def _anew(memory: Sliding) -> Sliding:
    return replace(memory, pressed=False, left=np.inf, still=0, tries=memory.tries + 1)

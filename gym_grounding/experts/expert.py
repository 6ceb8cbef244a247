"""The oracle of one scene and goal: it reads poses, plans, and acts through the robot's own seven numbers."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters import Anatomy
from gym_grounding.errors import NoPlan
from gym_grounding.experts import arm, planner
from gym_grounding.experts.control import AS_IS, Command, action
from gym_grounding.experts.skills import DONE, FAILED, Skill, Step
from gym_grounding.experts.world import World
from gym_grounding.types import Goal

ORACLE_VERSION = "1"
"""Raised whenever the same episode can get other actions."""
PATIENCE = 3
"""How often one deed may be given up before the expert gives up."""
DEEDS = 16
"""How many deeds an episode may take; more means that one undoes the other."""
WANTS, RESTS = 0.7, 0.002
"""A hand that is asked to move by more than the first (of 5 cm) and moves less than the second [m] is blocked."""
WAIT = 10
"""Steps after which a deed that could not begin is tried again: things may still be in motion."""
END = 0.02
"""A joint as near as this to its end is at it [rad]."""
BLOCKED, ENDED, FREEING = 10, 15, 60
"""Steps after which an arm draws back that is blocked, or has a joint at its end, and for how many it does at most."""
UNWIND, ARRIVED = 0.25, 0.35
"""How far ahead on the joints' way the hand is asked to be, and how near all joints are near enough [rad]."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Memory:
    """One episode's memory; immutable.

    Attributes:
        plan: the deeds so far in words, the present one last.
        finished: whether nothing is left to do (what lasts, such as holding a thing up, goes on).
        problem: why it gave up; empty otherwise.
        failures: how many deeds were given up.
        careful: whether the present step is a delicate one.
        deed: the present deed, None before the first and between two.
        own: the deed's own memory.
        tired: deed -> how often it was given up.
        last: the hand's position at the observation before, shape (3,), world [m]; None at first.
        blocked: steps in which the hand wanted to move and did not.
        ended: steps in which it wanted to move with a joint at its end.
        freeing: steps that the arm still takes to draw back to where its joints have room.
        waiting: steps that it still rests before it plans again.
    """

    plan: tuple[str, ...] = ()
    finished: bool = False
    problem: str = ""
    failures: int = 0
    careful: bool = False
    deed: Skill | None = None
    own: Any = None
    tired: Mapping[Skill, int] = field(default_factory=dict)
    last: Array | None = None
    blocked: int = 0
    ended: int = 0
    freeing: int = 0
    waiting: int = 0


class Expert:
    """Reaches a goal, or says why not. Immutable: what an episode needs is in its ``Memory``.

    Args:
        anatomy: the scene's bodies.
        goal: what to reach.
    """

    def __init__(self, anatomy: Anatomy, goal: Goal) -> None:
        self._anatomy, self._goal = anatomy, goal

    def start(self) -> Memory:
        """The memory with which an episode begins."""
        return Memory()

    def act(self, observation: Mapping[str, NDArray[Any]], memory: Memory) -> tuple[Array, Memory]:
        """The action, shape (7,), each component in [-1, 1], and the memory for the next observation.

        An expert that has finished or given up stays where it is.

        Raises:
            PolicyError: the observation lacks a pose.
            UnknownName: the goal names something that the scene does not have.
        """
        world = World(self._anatomy, observation, self._goal.regions)
        lasting = memory.deed is not None and getattr(memory.deed, "lasting", False)
        if memory.problem or (memory.finished and not lasting):
            return _still(world), memory
        if memory.freeing > 0:
            return _drawn_back(world, memory)
        if memory.waiting > 0:
            return _still(world), replace(memory, waiting=memory.waiting - 1)
        step, memory = self._advance(world, memory)
        if step is None:
            return _still(world), replace(memory, careful=False)
        asked = action(step.command, world.hand)
        return asked, _watched(memory, world, asked)

    def answer(self, observation: Mapping[str, NDArray[Any]]) -> Array:
        """What it does on the way, by one observation alone, shape (7,); see ``act``."""
        return self.act(observation, self.start())[0]

    def _advance(self, world: World, memory: Memory) -> tuple[Step | None, Memory]:
        """The present deed's next step, or the next deed's first; None where it is done, gives up or waits."""
        stopped: set[Skill] = set()
        while not memory.problem:
            if memory.deed is None:
                memory = self._begun(memory, world, stopped)
                if memory.deed is None:
                    return None, memory
            try:
                step = memory.deed.advance(world, memory.own)
            except NoPlan as problem:
                stopped.add(memory.deed)
                memory = self._cleared(memory, problem, world)
                continue
            memory = self._after(memory, step)
            return (None if memory.problem else step), memory
        return None, memory

    def _begun(self, memory: Memory, world: World, stopped: Collection[Skill]) -> Memory:
        """With the next deed, if there is one; one that was stopped just now waits until the world may be another."""
        try:
            deed = planner.next_deed(self._goal, world, memory.tired)
        except NoPlan as problem:
            return _ended(memory, str(problem))
        if deed is None:
            return replace(memory, finished=True)
        return replace(memory, waiting=WAIT) if deed in stopped else self._with(memory, deed)

    def _with(self, memory: Memory, deed: Skill) -> Memory:
        if len(memory.plan) >= DEEDS:
            return _ended(memory, f"not done after {DEEDS} deeds, the last: {', '.join(memory.plan[-3:])}")
        return replace(memory, deed=deed, own=None, plan=(*memory.plan, deed.words))

    def _after(self, memory: Memory, step: Step) -> Memory:
        if step.status == FAILED:
            assert memory.deed is not None
            return replace(self._given_up(memory, step.reason), careful=step.careful)
        if step.status == DONE and not getattr(memory.deed, "lasting", False):
            return replace(memory, deed=None, own=None, careful=step.careful)
        return replace(memory, own=step.memory, careful=step.careful, finished=step.status == DONE)

    def _given_up(self, memory: Memory, reason: str) -> Memory:
        deed = memory.deed
        assert deed is not None
        times = memory.tired.get(deed, 0) + 1
        if times >= PATIENCE:
            return _ended(memory, f"{deed.words}: {reason} ({times} times)")
        return replace(memory, deed=None, own=None, tired={**memory.tired, deed: times}, failures=memory.failures + 1)

    def _cleared(self, memory: Memory, problem: NoPlan, world: World) -> Memory:
        """Give the deed up for now, and first take aside what stops it."""
        stopped = memory.deed
        assert stopped is not None
        memory = self._given_up(memory, str(problem))
        if memory.problem or not problem.blocker:
            return memory
        try:
            return self._with(memory, planner.cleared(problem, self._goal, world, stopped))
        except NoPlan:
            return memory


def _ended(memory: Memory, problem: str) -> Memory:
    return replace(memory, deed=None, own=None, problem=problem, careful=False)


def _watched(memory: Memory, world: World, asked: Array) -> Memory:
    """Counts steps without motion, or at the end of a joint; an arm that is blocked so draws back."""
    now = world.hand.position
    wants = float(np.linalg.norm(asked[:3])) > WANTS
    rests = memory.last is not None and float(np.linalg.norm(now - memory.last)) < RESTS
    ended = memory.ended + 1 if wants and arm.room(world.arm) < END else 0
    blocked = memory.blocked + 1 if wants and rests else 0
    if blocked >= BLOCKED or ended >= ENDED:
        return replace(memory, last=now, blocked=0, ended=0, freeing=FREEING)
    return replace(memory, last=now, blocked=blocked, ended=ended)


def _drawn_back(world: World, memory: Memory) -> tuple[Array, Memory]:
    """The hand goes where the joints bring it on their straight way to the posture of an episode's start."""
    way = arm.START - world.arm
    farthest = float(np.abs(way).max())
    (position,), (rotation,), _ = arm.hands((world.arm + way * min(1.0, UNWIND / max(farthest, 1e-9)))[None])
    asked = action(Command(position + world.anatomy.base, rotation, AS_IS), world.hand)
    there = farthest < ARRIVED
    return asked, replace(memory, freeing=0 if there else memory.freeing - 1, last=world.hand.position, careful=False)


def _still(world: World) -> Array:
    return action(Command(grip=AS_IS), world.hand)

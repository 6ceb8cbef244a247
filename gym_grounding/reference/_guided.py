"""What the privileged reference policies share: from a goal to the actions of an expert."""

from __future__ import annotations

import abc
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding import adapters, manifest
from gym_grounding.adapters import Adapter, Expert
from gym_grounding.errors import PolicyError
from gym_grounding.manifest import Manifest
from gym_grounding.policy import Observations
from gym_grounding.types import Goal, Task

Row = Mapping[str, NDArray[Any]]
Array = NDArray[np.float64]

REMEMBERED = 4096
"""Answers to stored observations that are kept: a probe asks for each again and again, and each needs a new plan."""


@dataclass(frozen=True, slots=True, eq=False)
class Episode:
    """State of one episode.

    Attributes:
        idle: what is done where there is nothing to do: no motion, open gripper; shape (n,).
        expert: who plays the goal; None stands still.
        memory: the expert's.
    """

    idle: Array
    expert: Expert | None = None
    memory: Any = None


State = tuple[Episode, ...]


class Guided(abc.ABC):
    """Has an expert play a goal in each episode; which goal, a subclass says.

    Args:
        registry: path of the registry file; None for the shipped one.
    """

    observation = "state"
    needs_task_identity = True

    def __init__(self, registry: str | Path | None = None) -> None:
        self._registry = registry
        self._experts: dict[tuple[str, Goal], Expert] = {}
        self._answers: dict[tuple[int, bytes], Array] = {}

    @abc.abstractmethod
    def goal(self, registry: Manifest, task: Task, instruction: str, seed: int) -> Goal | None:
        """What to do in an episode; None to stand still."""

    def start(self, instructions: Sequence[str], seed: Sequence[int], tasks: Sequence[str]) -> State:
        """Begin B episodes of the given task ids. May compile a scene, once in a process (seconds).

        Raises:
            UnknownName: no such task, or a sentence that the suite does not have.
            PolicyError: a sentence with two meanings, or a simulator without an expert.
        """
        known = manifest.load(self._registry)
        rows = zip(instructions, seed, tasks, strict=True)
        return tuple(self._begun(known, known.task(task), text, number) for text, number, task in rows)

    def act(self, observations: Observations, state: State) -> tuple[Array, State]:
        """Actions of shape (B, n)."""
        actions, following = [], []
        for row, episode in zip(_rows(observations, len(state)), state, strict=True):
            action = episode.idle
            if episode.expert is not None:
                action, memory = episode.expert.act(row, episode.memory)
                episode = replace(episode, memory=memory)
            actions.append(action)
            following.append(episode)
        return np.array(actions, np.float64), tuple(following)

    def mean_action(self, observations: Observations, state: State) -> Array:
        """What ``act`` does on the way, shape (B, n), by the observation alone; of the state only the goal counts.

        What is held already and what is done already is read off the poses, so a stored observation is answered as it
        would be on the way there.
        """
        rows = zip(_rows(observations, len(state)), state, strict=True)
        return np.array([self._answer(row, episode) for row, episode in rows], np.float64)

    def remarks(self, state: State) -> list[str]:
        """B sentences for people: what the expert does, or why it gave up; empty where it does not say."""
        return [_remark(episode) for episode in state]

    def _answer(self, row: Row, episode: Episode) -> Array:
        if episode.expert is None:
            return episode.idle
        key = (id(episode.expert), _digest(row))
        if key not in self._answers:
            if len(self._answers) == REMEMBERED:
                self._answers.clear()
            self._answers[key] = episode.expert.answer(row)
        return self._answers[key]

    def _begun(self, registry: Manifest, task: Task, instruction: str, seed: int) -> Episode:
        adapter = adapters.get(registry.adapter_name(task.id))
        idle = np.zeros(adapter.action_space(registry.scene_of(task.id)).shape)
        idle[-1] = -1.0
        goal = self.goal(registry, task, instruction, seed)
        if goal is None:
            return Episode(idle)
        key = (task.scene, goal)
        if key not in self._experts:
            self._experts[key] = _expert(adapter, registry, task, goal)
        expert = self._experts[key]
        return Episode(idle, expert, expert.start())


def _remark(episode: Episode) -> str:
    if episode.expert is None:
        return "nothing to do"
    problem, plan = getattr(episode.memory, "problem", ""), getattr(episode.memory, "plan", ())
    if problem:
        return f"gave up: {problem}"
    return "done" if getattr(episode.memory, "finished", False) else "".join(plan[-1:])


def _digest(row: Row) -> bytes:
    """Hash of the numbers of a row; pictures and words, which experts do not read, are left out."""
    total = hashlib.sha256()
    for name in sorted(row):
        if row[name].dtype.kind == "f":
            total.update(name.encode())
            total.update(np.ascontiguousarray(row[name]).tobytes())
    return total.digest()


def _rows(observations: Observations, count: int) -> list[Row]:
    return [{key: value[index] for key, value in observations.items()} for index in range(count)]


def _expert(adapter: Adapter, registry: Manifest, task: Task, goal: Goal) -> Expert:
    scene = registry.scene_of(task.id)
    tasks = {row.id: row for row in registry.scene_tasks(scene.id)}
    own = getattr(adapter, "expert", None)
    if own is not None:
        return own(scene, tasks, goal)  # type: ignore[no-any-return]
    anatomy = getattr(adapter, "anatomy", None)
    if anatomy is None:
        raise PolicyError(f"nobody can play {task.id}: the adapter {adapter.name!r} has neither expert() nor anatomy()")
    from gym_grounding.experts import Expert as Arm

    return Arm(anatomy(scene, tasks), goal)

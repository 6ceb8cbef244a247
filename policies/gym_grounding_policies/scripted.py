"""Picking and placing in LIBERO-Goal's scene, driven by the state observation: one form is deaf, one listens.

They calibrate the metrics on the real simulator. The deaf form always does the scene's own task: no paraphrase gap, no
switch of goals, full persistence. The listening form does what the instruction asks for: the opposite. Both are
privileged: they read object poses, and what a sentence means is looked up in the registry, not understood.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding import conditions, manifest
from gym_grounding.errors import PolicyError, UnknownName
from gym_grounding.manifest import Manifest
from gym_grounding.policy import Observations
from gym_grounding.types import Goal, Variant
from gym_grounding_policies._pick_place import Progress, seen, step, still
from gym_grounding_policies._skills import FINGERS, NEEDED, Skill, skill_for

SUITE = "LiberoGoal"


@dataclass(frozen=True, slots=True)
class Episode:
    """State of one episode; ``skill`` None stands still."""

    skill: Skill | None
    progress: Progress = field(default_factory=Progress)


State = tuple[Episode, ...]


def has_skill(goal: Goal) -> bool:
    """Whether the scripted policies can reach ``goal``.

    They pick up the bowl, the cream cheese, the wine bottle or the plate and put it on the stove, on top of the
    cabinet, on the zone in front of the stove, on a region that a variant adds to the table or (not the plate) on
    another object; or hold it up (not the plate, which slips). Not: drawers, the stove's knob, the wine rack, goals of
    several predicates.
    """
    return skill_for(goal) is not None


class _Scripted:
    """Shared by both forms: from goals to actions."""

    observation = "state"

    def __init__(self, registry: str | Path | None = None) -> None:
        self._registry = registry

    def act(self, observations: Observations, state: State) -> tuple[NDArray[np.float64], State]:
        """Actions of shape (B, 7).

        Raises:
            PolicyError: the observations lack a pose that a skill reads.
        """
        actions, following = [], []
        for row, episode in enumerate(state):
            action, episode = _act({key: value[row] for key, value in observations.items()}, episode)
            actions.append(action)
            following.append(episode)
        return np.array(actions).reshape(len(state), 7), tuple(following)

    def mean_action(self, observations: Observations, state: State) -> NDArray[np.float64]:
        """What ``act`` does on the way, shape (B, 7), by the observation alone; of the state only the skill counts.

        Whether the object is still to be grasped, is held or lies at its place is read off fingers and poses, so a
        stored observation is answered as it would be on the way there.

        Raises:
            PolicyError: the observations lack a pose that a skill reads, or the fingers.
        """
        rows = ({key: value[index] for key, value in observations.items()} for index in range(len(state)))
        actions = [_answer(row, episode.skill) for row, episode in zip(rows, state, strict=True)]
        return np.array(actions).reshape(len(state), 7)

    def _manifest(self) -> Manifest:
        return manifest.load(self._registry)


class Deaf(_Scripted):
    """Does the scene's own task, whatever the words; stands still where it has no skill for it.

    Args:
        registry: path of the registry file; None for the shipped one.
    """

    needs_task_identity = True

    def start(self, instructions: Sequence[str], seed: Sequence[int], tasks: Sequence[str]) -> State:
        """Begin B episodes of the given task ids."""
        known = self._manifest()
        return tuple(Episode(skill_for(known.task(task).goal)) for task in tasks)


class Listening(_Scripted):
    """Does what the instruction asks for, according to the registry; stands still where that is no goal it can reach.

    Originals and paraphrases ask for the task's goal, contrasts and swaps for their own, collisions for none (see
    ``conditions.asked``). It is not told the task: within a suite, a sentence means the same in every task.

    Args:
        registry: path of the registry file; None for the shipped one.
        suite: suite whose sentences it knows.
    """

    needs_task_identity = False

    def __init__(self, registry: str | Path | None = None, suite: str = SUITE) -> None:
        super().__init__(registry)
        self._suite = suite
        self._goals: Mapping[str, Goal | None] | None = None

    def start(self, instructions: Sequence[str], seed: Sequence[int]) -> State:
        """Begin B episodes.

        Raises:
            UnknownName: a sentence that the suite does not have.
            PolicyError: the suite gives one sentence two meanings.
        """
        if self._goals is None:
            self._goals = meanings(self._manifest(), self._suite)
        for instruction in instructions:
            if instruction not in self._goals:
                raise UnknownName("instruction", instruction, self._goals, f"suite {self._suite}")
        return tuple(Episode(skill_for(self._goals[instruction])) for instruction in instructions)


def meanings(registry: Manifest, suite: str) -> dict[str, Goal | None]:
    """What each instruction of a suite asks for: a goal, or None where there is nothing to do.

    Raises:
        UnknownName: no such suite.
        PolicyError: one sentence has two meanings; names the variants.
    """
    found: dict[str, Goal | None] = {}
    first: dict[str, Variant] = {}
    rows = registry.select(suite=suite)
    for variant in (row for row in rows if not row.described):
        goal = conditions.asked(variant, registry.task(variant.task))
        text = variant.instruction
        if text in found and found[text] != goal:
            ids = f"{first[text].id} and {variant.id}"
            raise PolicyError(f"{ids} say the same, {text!r}, and mean different goals: no sentence tells them apart")
        first.setdefault(text, variant)
        found[text] = goal
    # Where it is described only, a text asks for what is so already.
    return dict.fromkeys(row.instruction for row in rows if row.described) | found


def _act(row: Mapping[str, NDArray[Any]], episode: Episode) -> tuple[NDArray[np.float64], Episode]:
    if episode.skill is None:
        return still(), episode
    _check(row, NEEDED)
    action, progress = step(episode.skill, row, episode.progress)
    return action, replace(episode, progress=progress)


def _answer(row: Mapping[str, NDArray[Any]], skill: Skill | None) -> NDArray[np.float64]:
    if skill is None:
        return still()
    _check(row, (*NEEDED, *FINGERS))
    return step(skill, row, seen(skill, row))[0]


def _check(row: Mapping[str, NDArray[Any]], keys: Sequence[str]) -> None:
    lacking = [key for key in keys if key not in row]
    if lacking:
        raise PolicyError(
            f"the scripted policies read object poses, and the observation lacks {', '.join(lacking)}; evaluate "
            f"{SUITE} with observation='state' or 'both'"
        )


DEAF = Deaf()
LISTENING = Listening()

"""One episode of the oracle in an open scene, and what it shows about the goal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters import Anatomy, Observation, Scene
from gym_grounding.experts.expert import Expert
from gym_grounding.experts.noise import Disturbance, Noise
from gym_grounding.goals import NEVER
from gym_grounding.manifest import NOT_REACHED, STABLE, TRANSIENT, TRIVIAL
from gym_grounding.types import Goal, Task

REST = 20
"""Control steps after the last deed in each of which a goal must hold, to be stable."""
TOUCH = 0.015
"""A joint that moved less than this was only touched [m or rad]."""
JOINED = ("open", "close", "turnon", "turnoff")
"""Literals about joints alone."""

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Trial:
    """What one episode showed.

    Attributes:
        verdict: ``stable`` (the oracle had done everything, and the goal held in each of 20 steps in which it rested),
            ``transient`` (true at some step, but not so: it became false, the oracle gave up, or the time was over),
            ``not_reached``, or ``trivial`` (true at the start, or made true by a touch: every literal is about a joint,
            and no joint had moved by 0.015 m or rad).
        first: control step (from 1) at which the goal first held; 0 at the start, -1 never.
        steps: control steps of the whole episode.
        problem: why the oracle gave up; empty when it did not.
        plan: its deeds in words.
    """

    verdict: str
    first: int
    steps: int
    problem: str
    plan: tuple[str, ...]


class Watcher(Protocol):
    """Is told of every control step."""

    def __call__(
        self, before: Observation, clean: Array, executed: Array, after: Observation, held: bool
    ) -> object: ...


def run(
    scene: Scene,
    task: Task,
    init_state: int,
    goal: Goal,
    *,
    anatomy: Anatomy,
    joints: Mapping[str, float] | None = None,
    horizon: int = 600,
    noise: Noise | None = None,
    rng: np.random.Generator | None = None,
    on_step: Watcher | None = None,
) -> Trial:
    """Let the oracle try to reach ``goal`` from an initial state.

    Args:
        scene: an open scene that observes ``state`` or ``both``.
        joints: presets of the episode; see ``Scene.reset``.
        horizon: control steps at most.
        noise: disturbs the executed actions; needs ``rng``.
        on_step: called after every control step with the observation before, the clean and the executed action, the
            observation after, and whether the goal holds.

    Raises:
        InvalidOption, SimulatorError, UnknownName
    """
    observation = scene.reset(task, init_state, **({"joints": joints} if joints else {}))
    return attempt(scene, observation, goal, anatomy=anatomy, horizon=horizon, noise=noise, rng=rng, on_step=on_step)


def attempt(
    scene: Scene,
    observation: Observation,
    goal: Goal,
    *,
    anatomy: Anatomy,
    horizon: int = 600,
    noise: Noise | None = None,
    rng: np.random.Generator | None = None,
    on_step: Watcher | None = None,
) -> Trial:
    """``run`` from the present state of a scene, of which ``observation`` was just taken."""
    expert = Expert(anatomy, goal)
    memory = expert.start()
    disturbed = Disturbance(noise, rng) if noise is not None and rng is not None else None
    start = joint_positions(observation)
    first, step, resting, lasts = (0 if scene.holds(goal) else NEVER), 0, 0, 0
    touched = first == 0
    while step < horizon and resting < REST:
        before = observation
        clean, memory = expert.act(before, memory)
        calm = memory.finished or bool(memory.problem)
        executed = clean if disturbed is None or calm else disturbed(clean, memory.careful)
        observation = scene.step(executed)
        held = scene.holds(goal)
        step, resting = step + 1, resting + 1 if calm else 0
        lasts = lasts + 1 if held and calm and not memory.problem else 0
        if held and first == NEVER:
            first, touched = step, _only_touched(goal, start, joint_positions(observation))
        if on_step is not None:
            on_step(before, clean, executed, observation, held)
    problem = memory.problem or ("" if memory.finished else f"not finished after {horizon} steps")
    return Trial(_verdict(first, touched, lasts >= REST), first, step, problem, memory.plan)


def joint_positions(observation: Mapping[str, NDArray[Any]]) -> Array:
    """Positions of all joints of fixtures that an observation holds, shape (n,) [m or rad]."""
    keys = sorted(key for key in observation if key.endswith("_joint_pos") and not key.startswith("robot0_"))
    return np.concatenate([np.zeros(0), *(np.ravel(observation[key]) for key in keys)])


def _only_touched(goal: Goal, start: Array, now: Array) -> bool:
    about_joints = all(literal.name in JOINED for literal in goal.all_of)
    return about_joints and bool(np.all(np.abs(now - start) < TOUCH))


def _verdict(first: int, touched: bool, lasts: bool) -> str:
    if first == NEVER:
        return NOT_REACHED
    if touched:
        return TRIVIAL
    return STABLE if lasts else TRANSIENT

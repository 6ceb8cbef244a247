"""What an adapter is: facts from data, scenes from a simulator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from gym_grounding.types import Goal, SceneFacts, SceneSettings, Task

Observation = dict[str, NDArray[Any]]


class Scene(Protocol):
    """An open scene: one simulator, any task and goal that lives in it. No language in it.

    Optional attribute, looked up by name:
        lazy (bool): may be set; where it is true, observations hold ``pictures.Picture``s instead of drawn pictures.
    """

    def reset(self, task: Task, init_state: int, joints: Mapping[str, float] | None = None) -> Observation:
        """Start an episode; a pure function of (task, init_state, joints, settings), equal to the last bit.

        Args:
            task: lives in this scene.
            init_state: number of the stored initial state.
            joints: entity with exactly one joint -> position [m or rad] in place of the initial state's own; it is set,
                at rest, before the scene settles, and no later episode knows of it. Only passed when there are any.

        Raises:
            InvalidOption: init_state outside ``range(task.init_states)``, or a joint that cannot be preset.
        """
        ...

    def step(self, action: NDArray[np.float64]) -> Observation:
        """Advance one control step. ``action`` has been checked and clipped by the caller."""
        ...

    def holds(self, goal: Goal) -> bool:
        """Whether every predicate of ``goal`` is true in the present state."""
        ...

    def displacement(self) -> float:
        """Distance of the robot's hand from where it was at the first observation of the episode [m]."""
        ...

    def state(self) -> NDArray[np.float64]:
        """The simulator's flattened state (time, positions, velocities), a copy; for parity tests and records."""
        ...

    def render(self) -> NDArray[np.uint8]:
        """An upright picture of the present state, shape (H, W, 3)."""
        ...

    def close(self) -> None:
        """Give the simulator back; safe to call twice."""
        ...


class Expert(Protocol):
    """Plays one goal in one scene by the poses that it reads. Its memory is a value that the caller keeps.

    Observations are those of one episode, of the kind ``state`` or ``both``; actions have shape (n,), in [-1, 1].
    """

    def start(self) -> Any:
        """The memory of an episode that begins."""
        ...

    def act(self, observation: Mapping[str, NDArray[Any]], memory: Any) -> tuple[NDArray[np.float64], Any]:
        """The action and the next memory."""
        ...

    def answer(self, observation: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
        """What it does on the way, by the observation alone."""
        ...


class Adapter(Protocol):
    """Opens the scenes of one simulator. Spaces and versions come from data, without starting it.

    Attributes:
        name: the module's name.
        fps: control steps per simulated second [1/s].

    Optional methods, looked up by name; the reference policies need one of the two:
        anatomy(scene, tasks) -> Anatomy: shapes, joints and regions, from which ``experts.Expert`` finds its way.
        expert(scene, tasks, goal) -> Expert: who plays a goal, for a simulator that brings its own.
    """

    name: str
    fps: int

    def observation_space(self, scene: SceneFacts, settings: SceneSettings) -> spaces.Dict:
        """The flat space of ``Scene.reset``'s result: LIBERO's key names, arrays only."""
        ...

    def action_space(self, scene: SceneFacts) -> spaces.Box:
        """Box(-1, 1, (n,), float32)."""
        ...

    def open(self, scene: SceneFacts, tasks: Mapping[str, Task], settings: SceneSettings) -> Scene:
        """Open a scene for the given tasks (all of which live in it). May be slow; called at the first reset.

        Raises:
            MissingSource, MissingRenderer, WrongVersion, SimulatorError
        """
        ...

    def verify(self, task: Task) -> None:
        """Check, without a simulator, that the task's source files are there and are the registered ones.

        Raises:
            MissingSource: names the file and the task.
        """
        ...

    def versions(self) -> dict[str, str]:
        """Name and version of everything below the adapter that can change a number (no import of it needed)."""
        ...

"""One attempt in an open scene, as it is written down."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters import Observation
from gym_grounding.demos.layout import PICTURES, columns, header
from gym_grounding.demos.settings import NOISE, Array, Played, RecordedScene, Settings, player_of, start_of
from gym_grounding.demos.write import Recorded
from gym_grounding.manifest import Manifest
from gym_grounding.types import Task

_DRAWN = tuple(PICTURES.values())


class Tape:
    """Takes down an episode, step by step.

    Args:
        scene: in which it happens; the episode has just begun.
        first: its first observation.
    """

    def __init__(self, scene: RecordedScene, first: Observation) -> None:
        self._scene = scene
        self._states = [scene.state()]
        self._observations = [first]
        self._clean: list[Array] = []
        self._executed: list[Array] = []
        self.held: list[bool] = []

    def __call__(self, before: Observation, clean: Array, executed: Array, after: Observation, held: bool) -> None:
        """Take down one control step; see ``settings.Told``."""
        self._states.append(self._scene.state())
        self._observations.append(after)
        self._clean.append(np.array(clean, np.float64))
        self._executed.append(np.array(executed, np.float64))
        self.held.append(held)

    def columns(self, rows: int) -> dict[str, NDArray[Any]]:
        """Everything with T rows, see ``layout.columns``.

        Args:
            rows: how many of the steps, from the first on.
        """
        after = {key: self._stacked(key, 1, rows + 1) for key in self._observations[0]}
        before = np.array(self._states[:rows])
        return columns(before, np.array(self._executed[:rows]), np.array(self._clean[:rows]), after)

    def observations(self, rows: int) -> dict[str, NDArray[Any]]:
        """The T + 1 observations without pictures, by key."""
        return {key: self._stacked(key, 0, rows + 1) for key in self._observations[0] if key not in _DRAWN}

    def _stacked(self, key: str, first: int, end: int) -> NDArray[Any]:
        return np.array([one[key] for one in self._observations[first:end]])


def record(scene: RecordedScene, manifest: Manifest, task: Task, settings: Settings, attempt: int) -> Recorded | Played:
    """Make one attempt; what it became is a pure function of the arguments.

    Args:
        scene: observes ``state``, or ``both`` in raw orientation where pictures are recorded.
        attempt: counts from 0.

    Returns:
        The demonstration, or what became of an attempt that failed.
    """
    start = start_of(task, settings, attempt)
    number = start.init_state
    state, poses = scene.drawn_start(task, start.seed) if number is None else scene.stored_start(task, number)
    first = scene.reset_from(task, start.seed, state, poses)
    model, tape, noise = scene.model_text(), Tape(scene, first), NOISE[settings.noise]
    facts = manifest.scene_of(task.id)
    tasks = {row.id: row for row in manifest.scene_tasks(facts.id)}
    player = player_of(settings)
    played = player(scene, facts, tasks, task.goal, first, settings.horizon, noise, start.rng, tape)
    if not played.rows:
        return played
    rows = tape.columns(played.rows)
    attributes: dict[str, Any] = {
        "num_samples": played.rows,
        "model_file": model,
        "init_state": rows["states"][0],
        "start_state": state,
        "settle_steps": manifest.settle,
        "start": settings.starts,
        "seed": start.seed,
        "attempt": attempt,
        "length": played.rows,
        "noise": settings.noise,
        f"{player.name}_version": player.version,
        **played.notes,
    }
    if number is not None:
        attributes["start_number"] = number
    about = header(task, facts.problem, scene.origin(task))
    return Recorded(rows, tape.observations(played.rows), attributes, about)


def rows_of(held: list[bool], rest: int) -> int:
    """Control steps up to the last deed, or to where the goal held for good, whichever is later.

    Args:
        held: whether the goal held after each step; it does at the end.
        rest: steps at rest at the end.
    """
    for_good = max((index for index, holds in enumerate(held) if not holds), default=-1) + 2
    return max(len(held) - rest, min(for_good, len(held)))

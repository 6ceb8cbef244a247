"""A process that makes attempts: it keeps one scene open, and writes each attempt down before the next."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_grounding import adapters
from gym_grounding import manifest as manifests
from gym_grounding.demos.progress import Parts
from gym_grounding.demos.record import record
from gym_grounding.demos.settings import Played, RecordedScene, Settings
from gym_grounding.demos.write import Recorded, write_bytes, write_part
from gym_grounding.errors import InvalidOption, SimulatorError
from gym_grounding.manifest import Manifest
from gym_grounding.types import SceneFacts, SceneSettings, Task

_NEEDED = ("stored_start", "drawn_start", "reset_from", "model_text", "poses_in", "origin", "look")


@dataclass(frozen=True, slots=True)
class Job:
    """One attempt.

    Attributes:
        registry: path of the registry file.
        task: id.
        path: the file of the task.
        settings: what decides the attempt, with its number.
        attempt: counts from 0.
    """

    registry: str
    task: str
    path: Path
    settings: Settings
    attempt: int


class Stage:
    """The open scene of the present task; the one before is given back."""

    def __init__(self) -> None:
        self._key: tuple[str, str, bool] | None = None
        self._scene: RecordedScene | None = None

    def scene(self, manifest: Manifest, task: Task, pictures: bool) -> RecordedScene:
        """The scene of a task, opened if it is not.

        Raises:
            InvalidOption: it cannot be recorded in LIBERO's layout.
            MissingSource, MissingRenderer, WrongVersion, SimulatorError
        """
        key = (manifest.path, task.scene, pictures)
        if self._scene is None or self._key != key:
            self.close()
            self._scene, self._key = opened_scene(manifest, manifest.scene_of(task.id), task, pictures), key
        return self._scene

    def close(self) -> None:
        """Give the scene back; safe to call twice."""
        if self._scene is not None:
            self._scene.close()
            self._scene = None


def opened_scene(manifest: Manifest, facts: SceneFacts, task: Task, pictures: bool) -> RecordedScene:
    """A scene that can be recorded: it observes ``state``, or with pictures ``both``.

    Raises:
        InvalidOption: it cannot.
        MissingSource, MissingRenderer, WrongVersion, SimulatorError
    """
    settings = SceneSettings(observation="both" if pictures else "state", settle_steps=manifest.settle)
    tasks = {row.id: row for row in manifest.scene_tasks(facts.id)}
    scene: Any = adapters.get(manifest.adapter_name(task.id)).open(facts, tasks, settings)
    if any(not hasattr(scene, name) for name in _NEEDED):
        scene.close()
        raise InvalidOption(
            f"{task.id}: scenes of the adapter {facts.adapter!r} have no LIBERO layout to be recorded in"
        )
    found: RecordedScene = scene
    return found


STAGE = Stage()
"""This process's."""


def attempt(job: Job) -> bool:
    """Make an attempt and write it down; whether it was kept.

    Raises:
        UnwritableOutput: such as on a full disk.
        InvalidOption, MissingSource, MissingRenderer, WrongVersion
    """
    manifest = manifests.load(job.registry)
    task, parts = manifest.task(job.task), Parts(job.path)
    scene = STAGE.scene(manifest, task, job.settings.pictures)
    try:
        made: Recorded | Played = record(scene, manifest, task, job.settings, job.attempt)
    except SimulatorError as error:
        made = Played(0, str(error))
    if isinstance(made, Recorded):
        write_part(parts.kept(job.attempt), made)
        return True
    write_bytes(parts.failed(job.attempt), json.dumps({"problem": made.problem, **made.notes}).encode())
    return False

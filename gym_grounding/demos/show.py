"""A demonstration as a film or a contact sheet, drawn from its stored states."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from gym_grounding.demos.check import begin
from gym_grounding.demos.read import opened
from gym_grounding.demos.settings import Array, RecordedScene
from gym_grounding.errors import InvalidDemonstration
from gym_grounding.film import film
from gym_grounding.manifest import Manifest
from gym_grounding.types import Task

Moments = Callable[[Iterable[Array], int], Iterable[Array]]


def show(
    scene_of: Callable[[Task], RecordedScene],
    manifest: Manifest,
    path: Path,
    out: Path,
    *,
    number: int = 0,
    task: str | None = None,
    camera: str = "agentview",
    size: int = 256,
    fps: float = 20,
    force: bool = False,
    progress: Moments = lambda moments, total: moments,
) -> int:
    """Draw a demonstration state by state, with the fixtures where its ``model_file`` has them; number of pictures.

    Nothing is stepped: what is drawn is what the file says, whatever its actions would do.

    Args:
        scene_of: opens the scene of a task.
        path: the file of demonstrations.
        out: the film; its ending says of which kind, see ``film``.
        number: of the demonstration.
        task: id; default: what the file names.
        camera: ``agentview`` or ``robot0_eye_in_hand``.
        size: side of a picture [pixels].
        fps: pictures per second.
        force: an old film may be replaced.
        progress: wraps the states that are gone through.

    Raises:
        InvalidDemonstration: no such demonstration, or states of another scene.
        InvalidOption, UnwritableOutput: see ``film``.
        MissingRenderer: nothing can be drawn.
    """
    pictures = film(out, fps, force)
    with opened(path) as file:
        found = file.task(manifest, task)
        demonstration = file.demonstration(f"demo_{number}")
        states = demonstration.rows("states")
        scene = scene_of(found)
        begin(scene, found, demonstration)
        if states.shape[1:] != scene.state().shape:
            raise InvalidDemonstration(f"{demonstration.where}: states are of another scene than {found.id}'s")
        with pictures:
            for state in progress(states, len(states)):
                pictures.add(scene.look(state, camera, size))
    return len(states)

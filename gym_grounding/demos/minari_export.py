"""Demonstration files as datasets of Minari's published format, written by Minari's own library."""

from __future__ import annotations

import contextlib
import os
import shutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from gym_grounding.demos.check import unlike
from gym_grounding.demos.layout import PICTURES
from gym_grounding.demos.read import Demonstration, DemonstrationFile, opened
from gym_grounding.errors import InvalidDemonstration, InvalidOption, UnwritableOutput, WrongVersion
from gym_grounding.manifest import Manifest

NAMESPACE = "gym-grounding"
ROOT = "MINARI_DATASETS_PATH"
"""The variable in which Minari looks for its folder of datasets."""
Refused = Callable[[InvalidDemonstration], object]
_LIBERO = ("obs/joint_states", "obs/gripper_states", "obs/ee_states")
"""Observations of files that were not made here."""


@dataclass(frozen=True, slots=True)
class Exported:
    """One Minari dataset.

    Attributes:
        id: for ``minari.load_dataset``.
        episodes: how many.
        steps: of all of them.
    """

    id: str
    episodes: int
    steps: int


def _stop(error: InvalidDemonstration) -> None:
    raise error


def export(
    files: Sequence[Path],
    out: Path,
    manifest: Manifest,
    *,
    task: str | None = None,
    force: bool = False,
    refused: Refused = _stop,
) -> Iterator[Exported]:
    """Write one dataset for each file, ``gym-grounding/TASK-v0``, below a folder that Minari can read.

    Actions are those that were executed, rewards 1 at the last step; ``infos`` keeps ``clean_actions``, row by row,
    where there are any. Observations are the environment's own, from
    before each action and after the last; of files that were not made here LIBERO's proprioception, and since that is
    from after each action, the first action is left out. Pictures are kept as they are, not as JPEG.

    Args:
        out: Minari's folder of datasets (``MINARI_DATASETS_PATH`` for its readers).
        task: id; default: what each file names.
        force: datasets that are there already are replaced.
        refused: is told of a file that cannot be exported, and then the others are; default: raises it.

    Raises:
        WrongVersion: Minari is not installed.
        InvalidDemonstration: see ``read``; or demonstrations whose observations differ from the others'.
        InvalidOption: two files of one task.
        UnknownName: no task is called ``task``.
        UnwritableOutput: a dataset is there already, or cannot be written.
    """
    try:
        import minari  # noqa: F401  # before anything is removed
    except ImportError as error:
        raise WrongVersion("Minari is not installed. Run: pip install 'gym-grounding[minari]'") from error
    # Minari loses its way below a relative path.
    out, names = out.absolute(), dict[str, Path]()
    for path in files:
        try:
            with opened(path) as file:
                found = file.task(manifest, task).id
        except InvalidDemonstration as error:
            refused(error)
            continue
        if (other := names.get(found)) is not None:
            raise InvalidOption(f"{path}: a second file of {found} beside {other}; give one file per task")
        names[found] = path
    _check_free(out, names, force)
    for name, path in names.items():
        try:
            with opened(path) as file:
                exported = _written(file, out, name, manifest.task(name).instruction)
        except InvalidDemonstration as error:
            refused(error)
        else:
            yield exported


def dataset_id(task: str) -> str:
    """Minari's name of a task's dataset."""
    return f"{NAMESPACE}/{task}-v0"


def _check_free(out: Path, names: dict[str, Path], force: bool) -> None:
    for name in names:
        folder = out / dataset_id(name)
        if folder.exists() and not force:
            raise UnwritableOutput(f"{folder} is there already; name another --out, or replace it with --force")


def _written(file: DemonstrationFile, out: Path, task: str, instruction: str) -> Exported:
    """Write a dataset beside its place, and move it there when it is whole."""
    import minari

    for difference in unlike(file):
        raise InvalidDemonstration(f"{difference}; a dataset has one space, so they cannot be in one")
    name, unfinished = dataset_id(task), out / ".unfinished"
    try:
        shutil.rmtree(unfinished, ignore_errors=True)
        with _minari_folder(unfinished), warnings.catch_warnings():
            # Minari asks for an author, a mail address and an environment that a file cannot know.
            warnings.simplefilter("ignore", UserWarning)
            episodes = (_episode(file.demonstration(one), index) for index, one in enumerate(file.names))
            space = _space(file)
            dataset = minari.create_dataset_from_buffers(
                dataset_id=name,
                buffer=[next(episodes)],
                observation_space=space,
                action_space=spaces.Box(-1.0, 1.0, (7,), np.float64),
                algorithm_name=str(file.attribute("tag") or "human demonstrations"),
                description=f"{instruction} ({task})",
                jpeg_encoding=False,
            )
            # One after another: pictures of all of them would fill the memory.
            for episode in episodes:
                dataset.storage.update_episodes([episode])
            whole = minari.load_dataset(name)
        found = Exported(name, int(whole.total_episodes), int(whole.total_steps))
        (out / NAMESPACE).mkdir(parents=True, exist_ok=True)
        for part in sorted((unfinished / NAMESPACE).iterdir()):
            target = out / NAMESPACE / part.name
            if target.is_dir():
                shutil.rmtree(target)
            os.replace(part, target)
    except OSError as error:
        if isinstance(error, UnwritableOutput):
            raise
        raise UnwritableOutput(
            f"{out / name} cannot be written ({error.strerror or error}); free space or name another --out"
        ) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return found


@contextlib.contextmanager
def _minari_folder(folder: Path) -> Iterator[None]:
    """Minari writes there; it takes its folder from the environment alone."""
    before = os.environ.get(ROOT)
    os.environ[ROOT] = str(folder)
    try:
        yield
    finally:
        if before is None:
            del os.environ[ROOT]
        else:
            os.environ[ROOT] = before


def _episode(demonstration: Demonstration, index: int) -> Any:
    from minari.data_collector import EpisodeBuffer

    actions = demonstration.rows("actions")
    observations = _observations(demonstration)
    first = len(actions) + 1 - len(next(iter(observations.values())))
    clean = {name: demonstration.rows(name)[first:] for name in ("clean_actions",) if name in demonstration.keys}
    actions = actions[first:]
    if not len(actions):
        raise InvalidDemonstration(f"{demonstration.where}: too short to be an episode")
    ends = np.zeros(len(actions), bool)
    ends[-1] = True
    return EpisodeBuffer(
        id=index,
        observations=observations,
        actions=actions,
        rewards=ends.astype(np.float64),
        terminations=ends,
        truncations=np.zeros(len(actions), bool),
        infos=clean,
    )


def _observations(demonstration: Demonstration) -> dict[str, NDArray[Any]]:
    """Rows from before each action and after the last; see ``export``."""
    found = {key: demonstration.observation(key) for key in demonstration.observation_keys}
    drawn = {PICTURES[key]: demonstration.rows(key) for key in PICTURES if key in demonstration.keys}
    if not found:
        return {key.removeprefix("obs/"): demonstration.rows(key) for key in _LIBERO} | drawn
    # There is no picture from before the first action.
    return {key: rows[1:] for key, rows in found.items()} | drawn if drawn else found


def _space(file: DemonstrationFile) -> spaces.Dict:
    """The space of what ``_observations`` gives of the first demonstration."""
    if not file.names:
        raise InvalidDemonstration(f"{file.path}: holds no demonstration")
    first = _observations(file.demonstration(file.names[0]))
    boxes: dict[str, spaces.Space[Any]] = {}
    for key, rows in first.items():
        low, high = (0, 255) if rows.dtype == np.uint8 else (-np.inf, np.inf)
        boxes[key] = spaces.Box(low, high, rows.shape[1:], rows.dtype.type)
    return spaces.Dict(boxes)

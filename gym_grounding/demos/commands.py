"""The commands of ``gym-grounding demos``: make, check, show and export demonstration files.

Heavy modules are imported by the command that needs them. Exit code 2 means an error or a file with problems, 1 that a
replay is not as it should be.
"""

from __future__ import annotations

import shutil
import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gym_grounding import manifest as manifests
from gym_grounding.demos import NOISES, STARTS
from gym_grounding.errors import InvalidDemonstration, UnknownName

if TYPE_CHECKING:
    from gym_grounding.demos.check import Replay
    from gym_grounding.demos.make import Made
    from gym_grounding.demos.settings import RecordedScene
    from gym_grounding.manifest import Manifest
    from gym_grounding.types import Task

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

DIFFERENT = 1
"""Exit code of a check that finds a replay which is not as the file says."""
_STOPPED = "interrupted; what is finished is kept, and the same command continues"
_FOLDER = click.Path(path_type=Path)


@click.group()
def demos() -> None:
    """Demonstrations in LIBERO's file layout: make, check, look at and export them."""


def registry_option(function: F) -> F:
    """``--registry``, as everywhere."""
    return click.option("--registry", type=_FOLDER, help="A registry file of your own; default: the shipped.")(function)


def task_option(function: F) -> F:
    """``--task``, for files whose text belongs to several tasks or to none."""
    return click.option("--task", help="Id of the task; default: what the file names.")(function)


@demos.command()
@click.option("--suite", default="LiberoGoal", show_default=True, help="Suite of the registry.")
@click.option("--tasks", help="Only these: numbers or ids, such as 1,4 or LiberoGoal-T8; default: the whole suite.")
@click.option("--per-task", type=click.IntRange(1), default=50, show_default=True, help="Demonstrations of each task.")
@click.option("--out", type=_FOLDER, required=True, help="Folder; files are OUT/libero_goal/TASK_demo.hdf5.")
@click.option("--pictures", is_flag=True, help="Both cameras, 128 x 128, at every step; slow and large.")
@click.option(
    "--noise",
    type=click.Choice(NOISES),
    default="none",
    show_default=True,
    help="On executed actions, so that demonstrations show how to come back; the wanted ones are kept beside them.",
)
@click.option(
    "--starts",
    type=click.Choice(STARTS),
    default="random",
    show_default=True,
    help="random: LIBERO's samplers place everything anew; stored: the states that evaluations start from.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of starts and noise.")
@click.option(
    "--horizon", type=click.IntRange(1), default=600, show_default=True, help="Control steps of an attempt at most."
)
@click.option("--attempts", type=click.IntRange(1), help="Attempts per task at most; default: four times --per-task.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="Processes.")
@click.option(
    "--force",
    is_flag=True,
    help="Replace files that are there but are not what is asked for, and what was begun with other settings.",
)
@registry_option
def make(
    suite: str,
    tasks: str | None,
    per_task: int,
    out: Path,
    attempts: int | None,
    workers: int,
    force: bool,
    registry: Path | None,
    **given: Any,
) -> None:
    """Have the oracle demonstrate tasks; the same command continues what was stopped."""
    from tqdm import tqdm

    from gym_grounding.demos.estimate import estimate
    from gym_grounding.demos.make import Order
    from gym_grounding.demos.make import make as run
    from gym_grounding.demos.settings import Settings

    manifest = manifests.load(registry)
    chosen = _tasks(manifest, suite, tasks)
    order = Order(out, chosen, per_task, 4 * per_task if attempts is None else attempts, Settings(**given), registry)
    expected = estimate(order, manifest, workers)
    total = per_task * len(chosen)
    what = f"{_counted(total, 'demonstration')} of {_counted(len(chosen), 'task')}"
    click.echo(f"{what} into {out}: {expected.words} if all is to be made")
    _warn_of_full_disk(out, expected.size)
    failed = 0
    with tqdm(total=total, unit="demo", disable=None) as bar:

        def told(task: str, kept: bool) -> None:
            nonlocal failed
            failed += not kept
            bar.set_postfix_str(f"{task}, {failed} attempts failed", refresh=False)
            bar.update(int(kept))

        try:
            made = run(order, workers=workers, force=force, told=told)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_STOPPED) from None
    for one in made:
        click.echo(_line(one))


def _line(made: Made) -> str:
    from gym_grounding.demos.estimate import size_words

    lengths = made.lengths
    how = _counted(made.attempts, "attempt") if made.attempts else "there already"
    spread = f"{min(lengths)} to {max(lengths)} rows, median {statistics.median(lengths):g}"
    found = f"{_counted(len(lengths), 'demonstration')} ({how}), {spread}, {size_words(made.size)}"
    return f"{made.path}: {made.task}, {found}"


def _warn_of_full_disk(out: Path, size: int) -> None:
    place = next((folder for folder in (out, *out.absolute().parents) if folder.is_dir()), None)
    from gym_grounding.demos.estimate import size_words

    free = None if place is None else shutil.disk_usage(place).free
    if free is not None and free < size:
        click.echo(f"warning: {place} has {size_words(free)} free, which may be too little", err=True)


def _tasks(manifest: Manifest, suite: str, text: str | None) -> tuple[str, ...]:
    """Ids of the tasks that are named by number or id; of the whole suite where none is named.

    Raises:
        UnknownName: no such suite or task.
    """
    known = {str(task.index): task.id for task in manifest.suite_tasks(suite)}
    if text is None:
        return tuple(known.values())
    found = [known.get(word, word) for word in (part.strip() for part in text.split(",")) if word]
    for name in found:
        if name not in known.values():
            raise UnknownName("task", name, [*known, *known.values()], "--tasks")
    return tuple(dict.fromkeys(found))


@demos.command()
@click.argument("files", nargs=-1, required=True, type=_FOLDER)
@click.option("--replays", type=click.IntRange(0), help="Demonstrations of each file to be replayed; default: all.")
@task_option
@registry_option
def check(files: Sequence[Path], replays: int | None, task: str | None, registry: Path | None) -> None:
    """Check FILES, ours or LIBERO's, and play their actions again in the simulator."""
    manifest, bad, different = manifests.load(registry), 0, 0
    if task is not None:
        manifest.task(task)  # a name that no file can have
    for path in files:
        problems, wrong = _checked(manifest, path, task, replays)
        bad, different = bad + bool(problems), different + wrong
    if bad:
        raise InvalidDemonstration(f"{bad} of {_counted(len(files), 'file')} {'has' if bad == 1 else 'have'} problems")
    if different:
        click.get_current_context().exit(DIFFERENT)


def _checked(manifest: Manifest, path: Path, task: str | None, limit: int | None) -> tuple[int, int]:
    """Tell what is wrong with a file; number of its problems, and of replays that are not as they should be."""
    from gym_grounding.demos.check import problems, replays
    from gym_grounding.demos.headers import task_problems
    from gym_grounding.demos.read import opened

    found = problems(path)
    try:
        with opened(path) as file:
            demonstrated = file.task(manifest, task)
            count, name = len(file.names), demonstrated.id
            found = list(dict.fromkeys([*found, *task_problems(file, demonstrated)]))
    except InvalidDemonstration as error:
        found = list(dict.fromkeys([*found, str(error)]))
    for line in found:
        click.echo(line)
    if found:
        return len(found), 0
    told = f"{path}: {name}, {_counted(count, 'demonstration')}"
    if not (number := count if limit is None else min(limit, count)):
        click.echo(f"{told}, no problems")
        return 0, 0
    with _Scenes(manifest) as scenes:
        outcomes = list(_shown(replays(scenes.of, manifest, path, task, limit), number, "demo"))
    played = [one for one in outcomes if not isinstance(one, str)]
    stopped = [one for one in outcomes if isinstance(one, str)]
    wrong = [one for one in played if one.exact and not (one.equal and one.held_at_end)]
    for line in (*stopped, *(f"{path}: {one.name}: played again, {_fault(one)}" for one in wrong)):
        click.echo(line)
    click.echo(f"{told}, {_counted(len(stopped), 'problem') if stopped else 'no problems'}; {_difference(played)}")
    return len(stopped), len(wrong)


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" + ("" if count == 1 else "s")


def _fault(one: Replay) -> str:
    """What is wrong with a replay that should be exact."""
    if not one.equal:
        where = f", most in {one.dataset}" if one.dataset else ""
        return f"its {_largest([one])}{where}: other versions of the simulator, or a file that was changed"
    return "the goal holds on the way but not at the end" if one.reached else "the goal is not reached"


def _difference(played: Sequence[Replay]) -> str:
    if not played:
        return "none could be played again"
    reached = sum(one.reached for one in played)
    kind = "" if all(one.exact for one in played) else " (the file does not say how its episodes began)"
    equal = all(one.equal for one in played)
    same = "states and observations equal to the last bit" if equal else _largest(played)
    return f"{len(played)} played again, {reached} reach the goal, {same}{kind}"


def _largest(played: Sequence[Replay]) -> str:
    positions, velocities = max(one.positions for one in played), max(one.velocities for one in played)
    observed = max(one.observed for one in played)
    states = f"states differ by up to {positions:.2g} in positions, {velocities:.2g} in velocities"
    return f"{states}, observations by up to {observed:.2g}"


@demos.command()
@click.argument("file", type=_FOLDER)
@click.option("--demo", "number", type=click.IntRange(0), default=0, show_default=True, help="Which demonstration.")
@click.option("--out", type=_FOLDER, required=True, help=".png for a contact sheet, .mp4 or .gif for a film.")
@click.option(
    "--camera", type=click.Choice(("agentview", "robot0_eye_in_hand")), default="agentview", show_default=True
)
@click.option("--size", type=click.IntRange(64, 2048), default=256, show_default=True, help="Of a picture [pixels].")
@click.option("--force", is_flag=True, help="Replace the file if it is there already.")
@task_option
@registry_option
def show(file: Path, out: Path, task: str | None, registry: Path | None, **given: Any) -> None:
    """Draw a demonstration of FILE from its stored states."""
    from gym_grounding.demos.show import show as draw

    manifest = manifests.load(registry)
    with _Scenes(manifest) as scenes:
        count = draw(scenes.of, manifest, file, out, task=task, progress=_shown, **given)
    click.echo(f"{out}: demo_{given['number']} of {file}, {count} states")


@demos.command()
@click.argument("folder", type=_FOLDER)
@click.option("--out", type=_FOLDER, required=True, help="Minari's folder of datasets, MINARI_DATASETS_PATH.")
@click.option("--force", is_flag=True, help="Replace datasets that are there already.")
@task_option
@registry_option
def minari(folder: Path, out: Path, force: bool, task: str | None, registry: Path | None) -> None:
    """Export every demonstration file below FOLDER (or one file) as a Minari dataset, one for each task.

    Files that cannot be exported are named and left out.
    """
    from gym_grounding.demos.minari_export import export

    manifest = manifests.load(registry)
    files = [folder] if folder.is_file() else sorted(folder.rglob("*_demo.hdf5"))
    if not files:
        raise InvalidDemonstration(f"{folder}: no file *_demo.hdf5 in it")
    left_out: list[str] = []
    exported = export(files, out, manifest, task=task, force=force, refused=lambda error: left_out.append(str(error)))
    for one in _shown(exported, len(files), "file"):
        click.echo(f"{out}: {one.id}, {_counted(one.episodes, 'episode')}, {_counted(one.steps, 'step')}")
    if left_out:
        listed = "\n".join(left_out)
        raise InvalidDemonstration(f"{listed}\n{len(left_out)} of {_counted(len(files), 'file')} left out")


class _Scenes:
    """Opens the scenes that a command needs, and gives them back."""

    def __init__(self, manifest: Manifest) -> None:
        from gym_grounding.demos.worker import Stage

        self._manifest, self._stage = manifest, Stage()

    def of(self, task: Task) -> RecordedScene:
        """The scene of a task."""
        return self._stage.scene(self._manifest, task, pictures=False)

    def __enter__(self) -> _Scenes:
        return self

    def __exit__(self, *_: object) -> None:
        from gym_grounding import adapters

        self._stage.close()
        for name in {info.adapter for info in self._manifest.suites.values()}:
            # Painters that live on until the interpreter ends complain there.
            getattr(adapters.get(name), "clear", lambda: None)()


def _shown(items: Iterable[T], total: int, unit: str = "step") -> Iterable[T]:
    """The same items with a bar on a terminal."""
    from tqdm import tqdm

    return tqdm(items, total=total, unit=unit, disable=None)

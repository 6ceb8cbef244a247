"""Makes the demonstration files of tasks: attempts in any number of processes, the successful ones kept.

What a file holds does not depend on the number of processes, nor on where the making was stopped and continued: attempt
number k of a task is a pure function of k and the settings, and the file holds the first that succeeded, in the order
of their numbers.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gym_grounding import adapters, processes
from gym_grounding import manifest as manifests
from gym_grounding.demos import worker
from gym_grounding.demos.check import problems
from gym_grounding.demos.layout import MADE, file_of
from gym_grounding.demos.progress import Parts, difference
from gym_grounding.demos.read import DemonstrationFile, opened
from gym_grounding.demos.settings import NOISE, Settings, described
from gym_grounding.demos.worker import Job
from gym_grounding.demos.write import assemble, take_apart
from gym_grounding.errors import GroundingError, InvalidOption, NoPlan, UnwritableOutput, WorkerDied
from gym_grounding.manifest import Manifest
from gym_grounding.types import Task

Kept = Callable[[str, bool], object]
"""Is told of every attempt: id of the task, and whether it was kept."""


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be made.

    Attributes:
        out: folder; the files are ``OUT/SUITE/TASK_demo.hdf5`` with LIBERO's names, as LIBERO looks for them.
        tasks: ids.
        per_task: demonstrations in each file.
        attempts: attempts per task at most.
        settings: what decides the demonstrations.
        registry: path of the registry file; None for the shipped one.
    """

    out: Path
    tasks: tuple[str, ...]
    per_task: int = 50
    attempts: int = 200
    settings: Settings = field(default_factory=Settings)
    registry: Path | None = None

    def __post_init__(self) -> None:
        if self.per_task < 1:
            raise InvalidOption(f"{self.per_task} demonstrations per task; ask for at least 1")
        if self.attempts < self.per_task:
            raise InvalidOption(
                f"{self.per_task} demonstrations per task in at most {self.attempts} attempts; allow no fewer attempts "
                "than demonstrations"
            )
        if not self.tasks or len(set(self.tasks)) != len(self.tasks):
            raise InvalidOption(f"tasks: {', '.join(self.tasks) or 'none'}; name at least one, each once")

    def path(self, task: Task) -> Path:
        """The file of a task."""
        return file_of(self.out, task)


@dataclass(slots=True)
class _Line:
    """The attempts of one task."""

    task: Task
    path: Path
    parts: Parts
    described: dict[str, Any]
    done: dict[int, bool]
    running: set[int] = field(default_factory=set)

    @property
    def kept(self) -> list[int]:
        """Numbers of the attempts that succeeded, in rising order."""
        return sorted(attempt for attempt, kept in self.done.items() if kept)

    def following(self, order: Order) -> int | None:
        """The next attempt that is worth a start: as if all that are running succeeded, so that none is wasted."""
        if len(self.kept) + len(self.running) >= order.per_task:
            return None
        number = next(n for n in range(order.attempts + 1) if n not in self.done and n not in self.running)
        return number if number < order.attempts else None


@dataclass(frozen=True, slots=True)
class Made:
    """A file of demonstrations.

    Attributes:
        path: the file.
        task: id.
        attempts: how many it took; 0 where the file was there already.
        lengths: rows of each demonstration.
        size: of the file [bytes].
    """

    path: Path
    task: str
    attempts: int
    lengths: tuple[int, ...]
    size: int


def make(order: Order, *, workers: int = 1, force: bool = False, told: Kept = lambda task, kept: None) -> list[Made]:
    """Make the files of an order; what was made before with the same settings is kept, continued or extended.

    Args:
        workers: processes; 1 stays in this one.
        force: files that are there already but are not what is asked for, and parts that were begun with other
            settings, are replaced. A file that is sound and was made with the same settings stays, so that a stopped
            order with force is continued as well.
        told: called after each attempt, also of those that were made before.

    Raises:
        UnwritableOutput: a file is there that would have to be replaced; another process makes it; a full disk.
        InvalidDemonstration: a part is damaged; names it.
        InvalidOption: parts that were begun with other settings; a scene that cannot be recorded.
        NoPlan: too few attempts of a task succeeded; the other tasks' files are made all the same.
        WorkerDied: a process ended; the same command continues.
        UnknownName: no such task or player.
    """
    manifest = manifests.load(order.registry)
    tasks = [manifest.task(name) for name in order.tasks]
    for task in tasks:
        _check_repeats(order, task)
    found = {task.id: _there(order, manifest, task, force) for task in tasks}
    made = {name: one for name, one in found.items() if one is not None and len(one.lengths) == order.per_task}
    short: list[str] = []
    with contextlib.ExitStack() as stack:
        lines = []
        for task in tasks:
            if task.id not in made:
                parts = Parts(order.path(task))
                stack.enter_context(parts.locked())
                lines.append(_begun(order, manifest, task, parts, force, grows=found[task.id] is not None))
        for line in lines:
            for kept in line.done.values():
                told(line.task.id, kept)
        for line in _finished(order, manifest, lines, workers, told):
            if len(line.kept) >= order.per_task:
                made[line.task.id] = _assembled(order, line)
            else:
                short.append(_too_few(order, line))
    if short:
        raise NoPlan("\n".join(short))
    return [made[task.id] for task in tasks]


def _there(order: Order, manifest: Manifest, task: Task, force: bool) -> Made | None:
    """The file of a task where it is there already and is what is asked for, or the beginning of it; else None."""
    path = order.path(task)
    if path.is_dir():
        raise UnwritableOutput(f"{path} is a folder; name another --out")
    if not path.exists():
        return None
    wanted = {"per_task": order.per_task, **_described(order, manifest, task)}
    try:
        with opened(path) as file:
            was = _parsed(file.attribute(MADE))
            fewer = _fewer(was, wanted)
            altered = _altered(file, fewer or order.per_task)
            # Whatever is taken over into another file is read first.
            if fewer and not altered:
                altered = "; ".join([*problems(path)[:1], *_unnumbered(file)])
            if (fewer or was == wanted) and not altered and not (force and problems(path)):
                lengths = tuple(file.demonstration(name).length for name in file.names)
                return Made(path, task.id, 0, lengths, path.stat().st_size)
            if fewer or was == wanted:
                reason = f"but was altered since it was made: {altered}"
            else:
                reason = f"made with other settings ({difference(was, wanted)})" if was else "not made here"
    except GroundingError as error:
        reason = f"damaged or something else ({error})"
    if force:
        return None
    raise UnwritableOutput(f"{path} is there already, {reason}; name another --out, or replace it with --force")


def _fewer(was: dict[str, Any], wanted: dict[str, Any]) -> int:
    """How many demonstrations a file was made with, if there are to be more of the same; else 0."""
    count = was.get("per_task")
    same = {**was, "per_task": None} == {**wanted, "per_task": None}
    return count if same and isinstance(count, int) and 0 < count < wanted["per_task"] else 0


def _unnumbered(file: DemonstrationFile) -> list[str]:
    """Why it is not known which attempts became the demonstrations of a file; empty where it is."""
    numbers = _attempts(file)
    rising = all(isinstance(number, int) and number >= 0 for number in numbers) and sorted({*numbers}) == numbers
    return [] if rising else [f"the attributes attempt of its demonstrations are {numbers}, which do not rise"]


def _attempts(file: DemonstrationFile) -> list[Any]:
    return [file.demonstration(name).attributes.get("attempt") for name in file.names]


def _altered(file: DemonstrationFile, count: int) -> str:
    """How a file does not hold what its attributes say; empty where it does."""
    if file.names != tuple(f"demo_{number}" for number in range(count)):
        held = ", ".join(file.names[:5]) + (", ..." if len(file.names) > 5 else "")
        return f"it holds {len(file.names)} demonstrations ({held or 'none'}), not demo_0 to demo_{count - 1}"
    demonstrations = [file.demonstration(name) for name in file.names]
    for one in demonstrations:
        if not one.says_its_length:
            return f"{one.name} has {one.length} rows, its attribute num_samples says otherwise"
    rows = sum(one.length for one in demonstrations)
    for name, found in (("num_demos", count), ("total", rows)):
        if (number := file.attribute(name)) != found:
            return f"its attribute {name} is {number}, not {found}"
    return ""


def _check_repeats(order: Order, task: Task) -> None:
    repeats = order.settings.starts == "stored" and NOISE[order.settings.noise] is None
    if repeats and order.per_task > task.init_states:
        raise InvalidOption(
            f"{task.id}: {order.per_task} demonstrations from {task.init_states} stored states without noise would "
            "repeat themselves; ask for fewer, for noise, or for random starts"
        )


def _begun(order: Order, manifest: Manifest, task: Task, parts: Parts, force: bool, grows: bool) -> _Line:
    about, path = _described(order, manifest, task), order.path(task)
    parts.begin(about, force)
    if grows:
        with opened(path) as file:
            numbers = _attempts(file)
        take_apart(path, [parts.kept(number) for number in numbers], (MADE,))
        parts.note_failures({*range(numbers[-1])} - {*numbers}, f"it failed when {path.name} was made")
    done = {attempt: kept for attempt, kept in parts.attempts().items() if attempt < order.attempts}
    return _Line(task, path, parts, about, done)


def _finished(order: Order, manifest: Manifest, lines: Sequence[_Line], workers: int, told: Kept) -> Iterator[_Line]:
    """Make attempts until every line has enough or may make no more; each line as soon as it has ended."""
    waiting = list(lines)
    with _runner(workers) as submit:
        running: dict[Future[bool], tuple[_Line, int]] = {}
        while waiting or running:
            _start_more(order, manifest, waiting, running, submit, workers)
            ended = [line for line in waiting if not line.running and line.following(order) is None]
            for line in ended:
                waiting.remove(line)
                yield line
            if not running:
                continue
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                line, number = running.pop(future)
                line.running.remove(number)
                line.done[number] = _result(future)
                told(line.task.id, line.done[number])


def _start_more(
    order: Order,
    manifest: Manifest,
    waiting: Sequence[_Line],
    running: dict[Future[bool], tuple[_Line, int]],
    submit: Callable[[Job], Future[bool]],
    workers: int,
) -> None:
    """Fill the processes; in the order of the tasks, so that a process seldom needs another scene."""
    for line in waiting:
        while len(running) < workers and (number := line.following(order)) is not None:
            job = Job(manifest.path, line.task.id, line.path, order.settings, number)
            line.running.add(number)
            running[submit(job)] = (line, number)


@contextlib.contextmanager
def _runner(workers: int) -> Iterator[Callable[[Job], Future[bool]]]:
    """What starts an attempt in a process, or makes it in this one."""
    if workers == 1:
        try:
            yield _made_here
        finally:
            worker.STAGE.close()
        return
    with processes.pool(workers) as pool:  # an attempt in progress is not worth waiting for
        yield lambda job: pool.submit(worker.attempt, job)


def _made_here(job: Job) -> Future[bool]:
    future: Future[bool] = Future()
    future.set_result(worker.attempt(job))
    return future


def _result(future: Future[bool]) -> bool:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise WorkerDied(
            "a worker process ended (out of memory?). What is finished is kept: the same command continues, perhaps "
            "with fewer --workers"
        ) from error


def _assembled(order: Order, line: _Line) -> Made:
    task, chosen = line.task, line.kept[: order.per_task]
    about = {MADE: json.dumps({"per_task": order.per_task, **line.described})}
    assemble(line.path, [line.parts.kept(number) for number in chosen], about)
    with opened(line.path) as file:
        lengths = tuple(file.demonstration(name).length for name in file.names)
    line.parts.remove()
    return Made(line.path, task.id, chosen[-1] + 1, lengths, line.path.stat().st_size)


def _too_few(order: Order, line: _Line) -> str:
    reasons = Counter(line.parts.problems()).most_common(3)
    listed = "; ".join(f"{count} x {reason}" for reason, count in reasons)
    return (
        f"{line.task.id}: {len(line.kept)} of {order.per_task} demonstrations in {order.attempts} attempts ({listed}). "
        "They are kept; allow more --attempts, or ask for fewer with --per-task"
    )


def _described(order: Order, manifest: Manifest, task: Task) -> dict[str, Any]:
    versions = adapters.get(manifest.adapter_name(task.id)).versions()
    return described(order.settings, manifest, task, versions)


def _parsed(text: object) -> dict[str, Any]:
    try:
        found = json.loads(text) if isinstance(text, str) else {}
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}

"""Who runs the batches: this process, or worker processes that can hang or die without harm to the run.

Each worker makes its own policy and simulators, and sends one record at a time to the parent, which alone writes.
A batch whose worker is lost starts again in a new worker with the same cells side by side, so that its records do not
depend on the loss; what has been recorded is not taken twice.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import math
import multiprocessing
import multiprocessing.connection
import pickle
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, Protocol

from gym_grounding import manifest as manifests
from gym_grounding.errors import GroundingError, InvalidOption, PolicyError, WorkerDied
from gym_grounding.plan import Plan, cell_id
from gym_grounding.policy import Policy, PolicySource, check_observation, versions_of
from gym_grounding.processes import enter, one_thread_each
from gym_grounding.records import Cell, EpisodeRecord, ErrorRecord
from gym_grounding.rollout import Outcome, Watch, error_record, run_unit

Unit = tuple[Cell, ...]

FORMS = ("this process", "processes")
"""Where episodes run. Not in threads, for any kind of observation: a step takes the same CPU time in them, but they
wait for each other in its Python part (``benchmarks/forms.py``), share the policy's module, and cannot be stopped when
a call hangs; processes exchange no more than a record per episode."""

LIBRARIES = {"torch": "torch", "stable_baselines3": "stable-baselines3", "jax": "jax", "transformers": "transformers"}
"""Modules a policy may compute with -> their distributions; their versions are recorded once they are imported."""
DEATHS = 2
"""How often the worker of a batch may die before the death is blamed on the episode in progress."""
FAILED_STARTS = 2
"""How many workers in a row may die before they are ready."""
GRACE = 5.0
"""How long idle workers may take to end by themselves, so that simulators and policies can tidy up [s]."""
PATIENCE = 1.0
"""How long the parent sleeps at most before it looks for hanging calls [s]."""
START_CALLS = 10
START_LEAST = 60.0
"""Making a policy may take as long as so many of its calls, and this long in any case [s]: it reads its weights."""


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """What is known of a policy once it has been made.

    Attributes:
        task_identity: it wants to be told the task.
        versions: distribution -> version of the libraries that it loaded, and what it declares of its code.
    """

    task_identity: bool
    versions: dict[str, str] = field(default_factory=dict)


class Runner(Protocol):
    """Runs batches. ``prepare`` first, then ``run``, ``close`` at the end."""

    def prepare(self, stage: int, seed: int) -> PolicyFacts:
        """Make the policy of a stage and seed, so that one that cannot be made fails at once.

        Raises:
            PolicyError, WorkerDied
        """
        ...

    def run(self, units: Sequence[tuple[Unit, frozenset[Cell]]]) -> Iterator[Outcome]:
        """Run batches; of each batch only the cells in its set are wanted. One outcome for each of them."""
        ...

    def close(self) -> None:
        """End at once; safe to call twice."""
        ...


def runner(
    count: int, source: PolicySource, plan: Plan, timeout: float | None = None, start_timeout: float | None = None
) -> Runner:
    """What runs a plan's batches.

    Args:
        count: number of worker processes; 0 for this process.
        timeout: longest time for one call of the policy [s], after which its worker is killed; None for no limit.
        start_timeout: longest time for making the policy of a stage and seed, the start of its worker included [s];
            None for ``START_CALLS`` times the timeout, at least ``START_LEAST``, or for no limit without a timeout.

    Raises:
        InvalidOption: a count or time outside its domain, or a limit without workers.
        PolicyError: the policy is an object that cannot be sent to another process.
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 0:
        raise InvalidOption(f"workers is {count!r}; give a number of processes, or 0 to run in this one")
    limit = start_limit(timeout, start_timeout)
    if count:
        return Workers(count, source, plan, timeout, limit)
    if limit is not None:
        raise InvalidOption("a timeout needs workers=1 or more: a call in this process cannot be stopped")
    return InProcess(source, plan)


def form_of(count: int) -> str:
    """The one of ``FORMS`` that so many workers are."""
    return FORMS[1 if count else 0]


def start_limit(timeout: float | None, start_timeout: float | None) -> float | None:
    """The longest time for making a policy [s], None for no limit; the arguments are those of ``runner``.

    Raises:
        InvalidOption: a time outside its domain.
    """
    for name, seconds in (("timeout", timeout), ("start_timeout", start_timeout)):
        if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
            raise InvalidOption(f"{name} is {seconds!r}; give a time in seconds above 0, or None")
    if start_timeout is None and timeout is not None:
        return max(START_CALLS * timeout, START_LEAST)
    return start_timeout


class InProcess:
    """Runs everything here, with this process's own thread settings; see ``Runner``."""

    def __init__(self, source: PolicySource, plan: Plan) -> None:
        self._source, self._plan = source, plan

    def prepare(self, stage: int, seed: int) -> PolicyFacts:
        return _facts(_made(self._source, self._plan, stage, seed))

    def run(self, units: Sequence[tuple[Unit, frozenset[Cell]]]) -> Iterator[Outcome]:
        manifest = manifests.load(self._plan.registry)
        for unit, wanted in units:
            policy = _made(self._source, self._plan, unit[0].stage, unit[0].seed)
            yield from (o for o in run_unit(policy, unit, self._plan, manifest) if o.cell in wanted)

    def close(self) -> None:
        """Nothing is left open between batches."""


@dataclass(slots=True)
class _Job:
    """A batch in the parent's books; ``wanted`` shrinks as outcomes come in."""

    unit: Unit
    wanted: set[Cell]
    deaths: int = 0


@dataclass(frozen=True, slots=True)
class _Clocks:
    """Shared doubles: when something in progress began (monotonic clock) [s], 0.0 while it is not in progress."""

    call: Any  # a call of the policy
    start: Any  # making the policy

    @staticmethod
    def inside(clock: Any) -> float:
        """For how long it has been in progress [s]; 0 while it is not."""
        began: float = clock.value
        return time.monotonic() - began if began else 0.0

    @staticmethod
    @contextlib.contextmanager
    def running(clock: Any) -> Iterator[None]:
        """What happens inside is in progress."""
        clock.value = time.monotonic()
        try:
            yield
        finally:
            clock.value = 0.0


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    connection: Connection
    clocks: _Clocks
    facts: PolicyFacts | None = None
    job: _Job | None = None
    running: Sequence[Cell] = ()


@dataclass(frozen=True, slots=True)
class _Running:
    cells: Sequence[Cell]


@dataclass(frozen=True, slots=True)
class _Done:
    pass


@dataclass(frozen=True, slots=True)
class _Fatal:
    error: GroundingError


class Workers:
    """Runs batches in spawned processes; see ``Runner``. Made by ``runner``."""

    def __init__(
        self, count: int, source: PolicySource, plan: Plan, timeout: float | None, start_timeout: float | None = None
    ) -> None:
        if not isinstance(source.policy, str):
            _check_sendable(source)
        self._count, self._source, self._plan = count, source, plan
        self._timeout, self._start_timeout = timeout, start_timeout
        shortest = min((limit for limit in (timeout, start_timeout) if limit is not None), default=None)
        self._patience = None if shortest is None else min(PATIENCE, shortest / 4)
        self._context = multiprocessing.get_context("spawn")
        self._workers: list[_Worker] = []
        self._queue: deque[_Job] = deque()
        self._first = (0, 0)
        self._failed_starts = 0

    def prepare(self, stage: int, seed: int) -> PolicyFacts:
        self._first = (stage, seed)
        self._workers.append(self._spawn())
        while True:
            list(self._events())  # there are no jobs yet, hence no outcomes
            if (facts := self._workers[0].facts) is not None:
                return facts

    def run(self, units: Sequence[tuple[Unit, frozenset[Cell]]]) -> Iterator[Outcome]:
        self._queue.extend(_Job(unit, set(wanted)) for unit, wanted in units)
        while len(self._workers) < min(self._count, len(self._queue)):
            self._workers.append(self._spawn())
        while self._queue or any(worker.job for worker in self._workers):
            self._assign()
            yield from self._events()

    def close(self) -> None:
        workers, self._workers = self._workers, []
        for worker in workers:
            if worker.job is None and worker.facts is not None:
                with contextlib.suppress(OSError):  # it is gone already
                    worker.connection.send(None)
            else:
                worker.process.kill()  # nothing is lost: an unfinished batch starts again from its beginning
        deadline = time.monotonic() + GRACE
        for worker in workers:
            worker.process.join(max(0.0, deadline - time.monotonic()))
            worker.process.kill()
            worker.process.join()
            worker.process.close()
            worker.connection.close()

    def _spawn(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        # it is at work on the policy from the first moment: an object's module is imported before `_work` is called
        clocks = _Clocks(self._context.RawValue("d", 0.0), self._context.RawValue("d", time.monotonic()))
        arguments = (theirs, clocks, self._source.policy, self._source.options, self._plan, self._first)
        process = self._context.Process(target=_work, args=arguments)
        with one_thread_each():
            process.start()
        theirs.close()  # else the end of the worker would not end the pipe
        return _Worker(process, ours, clocks)

    def _assign(self) -> None:
        for worker in self._workers:
            if worker.facts is not None and worker.job is None and self._queue:
                worker.job = self._queue.popleft()
                worker.running = worker.job.unit
                with contextlib.suppress(OSError):  # it has just died; its sentinel tells in a moment
                    worker.connection.send(worker.job.unit)

    def _events(self) -> Iterator[Outcome]:
        """Wait a little; outcomes that came in, and errors for episodes whose worker was lost."""
        ends: list[Any] = [end for worker in self._workers for end in (worker.connection, worker.process.sentinel)]
        ready = multiprocessing.connection.wait(ends, self._patience)
        for worker in list(self._workers):
            if worker.connection in ready or worker.process.sentinel in ready:
                yield from self._receive(worker)
            if not worker.process.is_alive():
                yield from self._receive(worker)
                yield from self._died(worker)
            elif self._timeout is not None and _Clocks.inside(worker.clocks.call) > self._timeout:
                worker.process.kill()
                worker.process.join()
                yield from self._receive(worker)
                yield from self._hung(worker)
            elif self._start_timeout is not None and _Clocks.inside(worker.clocks.start) > self._start_timeout:
                raise PolicyError(
                    f"{self._source.description} took longer than {self._start_timeout:g} s to be made; give it more "
                    "time with start_timeout (--start-timeout)"
                )

    def _receive(self, worker: _Worker) -> Iterator[Outcome]:
        with contextlib.suppress(EOFError, OSError):  # it died, perhaps in the middle of a message
            while worker.connection.poll():
                yield from self._take(worker, worker.connection.recv())

    def _take(self, worker: _Worker, message: object) -> Iterator[Outcome]:
        match message:
            case PolicyFacts():
                worker.facts = message
                self._failed_starts = 0
            case _Running():
                worker.running = message.cells
            case _Done():
                assert worker.job is None or not worker.job.wanted
                worker.job = None
            case _Fatal():
                raise message.error
            case EpisodeRecord() | ErrorRecord() if worker.job is not None and message.cell in worker.job.wanted:
                worker.job.wanted.remove(message.cell)
                yield message

    def _died(self, worker: _Worker) -> Iterator[Outcome]:
        reason = f"the worker process ended with {_exit_text(worker.process.exitcode)}"
        if worker.facts is None:
            self._failed_starts += 1
            if self._failed_starts >= FAILED_STARTS:
                raise WorkerDied(
                    f"{reason} while it made the policy {self._source.description}, {FAILED_STARTS} times in a row. "
                    "Try workers=0 to see why. A script must evaluate under `if __name__ == '__main__':`"
                )
        job = self._replace(worker)
        if job is None:
            return
        job.deaths += 1
        if job.deaths < DEATHS:
            self._queue.appendleft(job)
        else:
            yield from self._blame(job, worker.running, "worker", f"{reason}, {job.deaths} times in a row")

    def _hung(self, worker: _Worker) -> Iterator[Outcome]:
        job = self._replace(worker)
        if job is not None:
            yield from self._blame(job, worker.running, "timeout", f"a policy call took over {self._timeout:g} s")

    def _blame(self, job: _Job, running: Sequence[Cell], kind: str, reason: str) -> Iterator[Outcome]:
        """An error if one episode was in progress; otherwise each open one is tried by itself."""
        if len(running) == 1 and running[0] in job.wanted:
            job.wanted.remove(running[0])
            error = WorkerDied(f"{reason} in {cell_id(running[0])}")
            yield error_record(running[0], kind, error)
        self._queue.extendleft(_Job((cell,), {cell}) for cell in reversed(job.unit) if cell in job.wanted)

    def _replace(self, worker: _Worker) -> _Job | None:
        """Put a new worker in the place of a lost one, which leaves its job behind."""
        worker.process.join()
        worker.process.close()
        worker.connection.close()
        self._workers[self._workers.index(worker)] = self._spawn()
        return worker.job if worker.job is not None and worker.job.wanted else None


class _Pulse(Watch):
    """Tells the parent which episodes are in progress and since when the policy has been at work."""

    def __init__(self, connection: Connection, clocks: _Clocks) -> None:
        self._connection, self._clocks = connection, clocks

    def running(self, cells: Sequence[Cell]) -> None:
        self._connection.send(_Running(tuple(cells)))

    @contextlib.contextmanager
    def policy_call(self) -> Iterator[None]:
        with _Clocks.running(self._clocks.call):
            yield

    @contextlib.contextmanager
    def drawing(self) -> Iterator[None]:
        clock = self._clocks.call
        inside, clock.value = clock.value, 0.0
        try:
            yield
        finally:
            # The policy's time starts anew: what it took before is not worth a second clock.
            clock.value = time.monotonic() if inside else 0.0


def _work(
    connection: Connection, clocks: _Clocks, policy: Any, options: dict[str, Any], plan: Plan, first: tuple[int, int]
) -> None:
    """A worker's whole life: make the policy, then run a batch for every message, until the parent is gone."""
    enter()
    try:
        source = PolicySource(policy, options)
        manifest = manifests.load(plan.registry)
        with _Clocks.running(clocks.start):
            facts = _facts(_made(source, plan, *first))
        connection.send(facts)
        while (unit := connection.recv()) is not None:
            with _Clocks.running(clocks.start):
                ready = _made(source, plan, unit[0].stage, unit[0].seed)
            for outcome in run_unit(ready, unit, plan, manifest, _Pulse(connection, clocks)):
                connection.send(outcome)
            connection.send(_Done())
    except (EOFError, BrokenPipeError):
        return  # the parent is gone
    except GroundingError as error:
        connection.send(_Fatal(error))
    except Exception:
        connection.send(_Fatal(WorkerDied(f"an unforeseen error in a worker process:\n{traceback.format_exc()}")))


def _made(source: PolicySource, plan: Plan, stage: int, seed: int) -> Policy:
    policy = source.get(stage, seed, plan.registry)
    check_observation(policy, plan.settings.observation, source.description)
    return policy


def _facts(policy: Policy) -> PolicyFacts:
    versions = {}
    for module, distribution in LIBRARIES.items():
        if module in sys.modules:
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                versions[distribution] = importlib.metadata.version(distribution)
    return PolicyFacts(bool(getattr(policy, "needs_task_identity", False)), versions_of(policy) | versions)


def _check_sendable(source: PolicySource) -> None:
    try:
        pickle.dumps((source.policy, source.options))
    except Exception as error:  # whatever an object's own pickling may raise
        raise PolicyError(
            f"{source.description} cannot be sent to worker processes ({error}); give it as MODULE:OBJECT, or use "
            "workers=0"
        ) from error


def _exit_text(code: int | None) -> str:
    if code is not None and code < 0:
        hint = " (out of memory?)" if code == -signal.SIGKILL else ""
        return f"signal {signal.Signals(-code).name}{hint}"
    return f"exit code {code}"

"""Which cells are open, who runs them, where their records go."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from gym_grounding import adapters
from gym_grounding import manifest as manifests
from gym_grounding.errors import InvalidOption
from gym_grounding.evaluate._header import make_header, policy_versions
from gym_grounding.evaluate._progress import Progress, progress_of
from gym_grounding.manifest import Manifest
from gym_grounding.plan import Plan
from gym_grounding.policy import PolicySource
from gym_grounding.records import Cell, ErrorRecord
from gym_grounding.rollout import units
from gym_grounding.store import RunStore, merge_headers
from gym_grounding.workers import PolicyFacts, Runner, Unit, form_of, runner


def evaluate(
    policy: str | object,
    plan: Plan,
    out: str | Path,
    *,
    workers: int = 1,
    timeout: float | None = None,
    start_timeout: float | None = None,
    name: str | None = None,
    options: Mapping[str, Any] | None = None,
    progress: bool = True,
    accept_versions: bool = False,
    begun: Callable[[int, int], None] | None = None,
    stages: Iterable[int] | None = None,
) -> Path:
    """Run every open cell of a plan and record each as soon as it is finished; the run's directory.

    Stopping at any moment, also by kill -9, loses at most the unfinished episodes: the same call continues. Cells that
    ended in an error are tried again. Equal plans give equal records (``seconds`` excepted) whatever the number of
    workers and of interruptions, as long as the policy's rows are independent of each other, its only source of
    randomness is the seed it is given, and its numbers do not depend on the number of threads (workers compute with one
    each unless OMP_NUM_THREADS and the like say otherwise; ``workers=0`` leaves this process as it is).

    Args:
        policy: import string ``module:OBJECT``, or a policy, class or function; see ``policy.PolicySource``.
        plan: what to evaluate.
        out: the run's directory; made if missing.
        workers: number of processes; 0 to run in this one.
        timeout: longest time for one call of the policy [s]; then its episode is recorded as an error and its worker
            replaced. None for no limit.
        start_timeout: longest time for making the policy of a stage and seed [s]; beyond it the run ends. None for ten
            times the timeout, at least 60 s, or for no limit without a timeout.
        name: name of the method in reports; None for the policy's own, or what the run has already.
        options: keyword arguments for a class of policies; plain data.
        progress: show progress, rate and time left: a bar on a terminal, at most one line a minute elsewhere.
        accept_versions: continue a run that was begun with other versions; its header then names both. The code of
            this package, the file that holds the policy, and the files named by its options count as versions.
        stages: run the cells of these stages of the plan only, where the policy of later ones is not there yet; the run
            is that of the whole plan, and a later call goes on with it. None for all.
        begun: is told the number of episodes and how many are recorded already, once nothing is in the way any more.

    Raises:
        PolicyError: the policy cannot be made, or not in time; nothing is run and ``out`` stays as it was.
        PlanMismatch: ``out`` holds a run of another plan, policy, registry or of other versions.
        UnwritableOutput: ``out`` cannot be written, or another process is writing it.
        CorruptRun: ``out`` holds a damaged run.
        UnknownName, InvalidOption, RegistryError, MissingSource, MissingRenderer, WrongVersion: the plan cannot be run.
        VariantMismatch: an instruction is not the registered one.
        WorkerDied: workers end before they are ready.
        KeyboardInterrupt: with a message that says how much is done.
    """
    manifest = manifests.load(plan.registry)
    plan.validate(manifest)
    now = None if stages is None else frozenset(stages)
    if now is not None and not now <= set(plan.stages):
        raise InvalidOption(f"stages is {sorted(now)}, but the plan has only {', '.join(map(str, plan.stages))}")
    cells = tuple(cell for cell in plan.cells(manifest) if now is None or cell.stage in now)
    _verify_sources(cells, manifest)
    source = PolicySource(policy, options)
    made_of, form = policy_versions(source), form_of(workers)
    with closing(runner(workers, source, plan, timeout, start_timeout)) as run, RunStore.writer(out) as store:
        stored = None if store.is_new else store.header
        label = name or (stored.name if stored else source.description)
        if stored:  # before the policy is made, which may take long
            facts = PolicyFacts(stored.task_identity, made_of)
            merge_headers(stored, make_header(label, source, plan, manifest, facts, form), accept_versions, str(out))
        done = store.done_cells() & set(cells)
        jobs = _open_jobs(units(cells, plan, manifest), done)
        if jobs:
            facts = run.prepare(jobs[0][0][0].stage, jobs[0][0][0].seed)
            facts = PolicyFacts(facts.task_identity, {**facts.versions, **made_of})
            store.begin(make_header(label, source, plan, manifest, facts, form), accept_versions=accept_versions)
        if begun is not None:
            begun(len(cells), len(done))
        if jobs:
            _record_all(store, run, jobs, progress_of(len(cells), len(done), progress), len(cells))
    return Path(out)


def _open_jobs(all_units: Iterable[Unit], done: frozenset[Cell]) -> list[tuple[Unit, frozenset[Cell]]]:
    """Batches with an open cell, whole: a batch acts the same only with all its cells side by side."""
    jobs = [(unit, frozenset(cell for cell in unit if cell not in done)) for unit in all_units]
    return [(unit, wanted) for unit, wanted in jobs if wanted]


def _record_all(
    store: RunStore, run: Runner, jobs: Sequence[tuple[Unit, frozenset[Cell]]], progress: Progress, total: int
) -> None:
    with progress:
        try:
            for outcome in run.run(jobs):
                if isinstance(outcome, ErrorRecord):
                    store.add_error(outcome)
                else:
                    store.add_episode(outcome)
                progress.update(failed=isinstance(outcome, ErrorRecord))
        except KeyboardInterrupt:
            done = len(store.done_cells())
            raise KeyboardInterrupt(
                f"stopped; {done} of {total} episodes are recorded in {store.path.parent}, and the same command "
                "continues"
            ) from None


def _verify_sources(cells: Iterable[Cell], manifest: Manifest) -> None:
    """Raises MissingSource before anything slow begins."""
    for task in dict.fromkeys(manifest.variant(cell.variant).task for cell in cells):
        adapters.get(manifest.adapter_name(task)).verify(manifest.task(task))

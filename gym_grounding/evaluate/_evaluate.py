"""Which cells are open, who runs them, where their records go."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

from tqdm import tqdm

from gym_grounding import adapters
from gym_grounding import manifest as manifests
from gym_grounding.evaluate._header import make_header
from gym_grounding.manifest import Manifest
from gym_grounding.plan import Plan
from gym_grounding.policy import PolicySource
from gym_grounding.records import Cell, ErrorRecord
from gym_grounding.rollout import units
from gym_grounding.store import RunStore, merge_headers
from gym_grounding.workers import PolicyFacts, Runner, Unit, runner


def evaluate(
    policy: str | object,
    plan: Plan,
    out: str | Path,
    *,
    workers: int = 1,
    timeout: float | None = None,
    name: str | None = None,
    options: Mapping[str, Any] | None = None,
    progress: bool = True,
    accept_versions: bool = False,
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
        name: name of the method in reports; None for the policy's own, or what the run has already.
        options: keyword arguments for a class of policies; plain data.
        progress: show progress, rate and time left, if the error output is a terminal.
        accept_versions: continue a run that was begun with other versions; its header then names both.

    Raises:
        PolicyError: the policy cannot be made; nothing is run.
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
    cells = plan.cells(manifest)
    _verify_sources(cells, manifest)
    source = PolicySource(policy, options)
    with closing(runner(workers, source, plan, timeout)) as run, RunStore.writer(out) as store:
        stored = None if store.is_new else store.header
        label = name or (stored.name if stored else source.description)
        if stored:  # before the policy is made, which may take long
            facts = PolicyFacts(stored.task_identity)
            merge_headers(stored, make_header(label, source, plan, manifest, facts), accept_versions, str(out))
        done = store.done_cells()
        jobs = _open_jobs(units(cells, plan, manifest), done)
        if jobs:
            facts = run.prepare(jobs[0][0][0].stage, jobs[0][0][0].seed)
            store.begin(make_header(label, source, plan, manifest, facts), accept_versions=accept_versions)
            _record_all(store, run, jobs, tqdm(**_bar(progress, len(cells), len(done & set(cells)))))
    return Path(out)


def _open_jobs(all_units: Iterable[Unit], done: frozenset[Cell]) -> list[tuple[Unit, frozenset[Cell]]]:
    """Batches with an open cell, whole: a batch acts the same only with all its cells side by side."""
    jobs = [(unit, frozenset(cell for cell in unit if cell not in done)) for unit in all_units]
    return [(unit, wanted) for unit, wanted in jobs if wanted]


def _record_all(
    store: RunStore, run: Runner, jobs: Sequence[tuple[Unit, frozenset[Cell]]], bar: tqdm[NoReturn]
) -> None:
    errors = 0
    with bar:
        try:
            for outcome in run.run(jobs):
                if isinstance(outcome, ErrorRecord):
                    store.add_error(outcome)
                    errors += 1
                    bar.set_postfix(errors=errors, refresh=False)
                else:
                    store.add_episode(outcome)
                bar.update()
        except KeyboardInterrupt:
            done = len(store.done_cells())
            raise KeyboardInterrupt(
                f"stopped; {done} of {bar.total} episodes are recorded in {store.path.parent}, and the same command "
                "continues"
            ) from None


def _bar(progress: bool, total: int, done: int) -> dict[str, Any]:
    """Arguments of the progress bar: episodes, rate and time left, on a terminal only."""
    shown = progress and sys.stderr is not None and sys.stderr.isatty()
    return {"total": total, "initial": done, "unit": "episode", "disable": not shown, "dynamic_ncols": True}


def _verify_sources(cells: Iterable[Cell], manifest: Manifest) -> None:
    """Raises MissingSource before anything slow begins."""
    for task in dict.fromkeys(manifest.variant(cell.variant).task for cell in cells):
        adapters.get(manifest.adapter_name(task)).verify(manifest.task(task))

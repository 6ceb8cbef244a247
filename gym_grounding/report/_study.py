"""Run directories -> methods: read, merged over seeds, checked for comparability."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_grounding import manifest as manifests
from gym_grounding.errors import CorruptRun, GroundingError, InvalidOption, PlanMismatch
from gym_grounding.manifest import Manifest
from gym_grounding.metrics import Curve, Evidence
from gym_grounding.plan import Plan
from gym_grounding.records import POLICY_FILE, POLICY_SOURCE, Cell, ErrorRecord, RunHeader
from gym_grounding.store import JOINED, RunStore

CURVES = "curves.csv"
"""Optional file of a run directory with the columns seed, task, epoch, success: learning curves for FWT and LIBERO's
AUC."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Method:
    """One row of the report: all runs that share a name.

    Attributes:
        name: as in the headers.
        runs: names of the run directories.
        headers: one per run.
        plan: of the first run, with the seeds of all.
        evidence: what the metrics see.
        errors: cells that could not be finished.
        registry: the registry that the runs used; None when no file with its hash is at hand.
        planned: every planned cell; None without the registry.
    """

    name: str
    runs: tuple[str, ...]
    headers: tuple[RunHeader, ...]
    plan: Plan
    evidence: Evidence
    errors: tuple[ErrorRecord, ...]
    registry: Manifest | None
    planned: tuple[Cell, ...] | None


@dataclass(frozen=True, slots=True)
class Study:
    """Everything a report is made from.

    Attributes:
        methods: in the order in which their first runs were given.
        warnings: what a reader must know before comparing rows.
    """

    methods: tuple[Method, ...]
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Run:
    place: Path
    header: RunHeader
    plan: Plan
    store: RunStore
    curves: tuple[Curve, ...]


def load(runs: Sequence[str | Path], allow_mixed: bool = False) -> Study:
    """Read run directories. Runs of one name are one method: same plan except for the seeds, which must be disjoint.

    Args:
        runs: run directories.
        allow_mixed: compare methods whose registry, suite, settings, horizon or stop rule differ, and runs whose
            libraries or scenes do, with a warning each.

    Raises:
        InvalidOption: no runs, or two runs of one name share a seed.
        PlanMismatch: runs that cannot stand in one report; names the runs, the field and both values.
        CorruptRun: a directory without a readable run.
    """
    if not runs:
        raise InvalidOption("a report needs at least one run directory")
    opened = [_open(Path(run)) for run in runs]
    try:
        groups: dict[str, list[_Run]] = {}
        for run in opened:
            groups.setdefault(run.header.name, []).append(run)
        warnings = [warning for group in groups.values() for warning in _check_group(group)]
        warnings += _check_comparable([group[0] for group in groups.values()], allow_mixed)
        warnings += _check_versions(opened, allow_mixed)
        methods = tuple(_method(name, group, _registry(group[0])) for name, group in groups.items())
    finally:
        for run in opened:
            run.store.close()
    warnings += [
        f"{method.name}: the registry file that was used is not at hand (its hash is in the header), so planned and "
        "missing cells cannot be counted and goals are named by label only"
        for method in methods
        if method.registry is None
    ]
    return Study(methods, tuple(warnings))


def _open(place: Path) -> _Run:
    store = RunStore.open(place)
    header = store.header
    try:
        plan = Plan.from_json(header.plan)
    except InvalidOption as error:
        raise CorruptRun(f"{place}: the header's plan cannot be read: {error}") from error
    return _Run(place, header, plan, store, _read_curves(place / CURVES, plan.order))


def _check_group(group: Sequence[_Run]) -> list[str]:
    """Refuse runs of one name that are not one method."""
    first = group[0]
    seen: dict[int, _Run] = {}
    warnings = []
    for run in group:
        for name, mine, theirs in first.plan.differences(run.plan):
            if name != "seeds":
                _refuse(first, run, f"plan.{name}", mine, theirs)
        for name in ("policy", "registry_sha256", "task_identity"):
            if getattr(first.header, name) != getattr(run.header, name):
                _refuse(first, run, name, getattr(first.header, name), getattr(run.header, name))
        for seed in run.plan.seeds:
            if seed in seen:
                raise InvalidOption(
                    f"{seen[seed].place} and {run.place} are both runs of {first.header.name!r} with seed {seed}; "
                    "leave one out, or give them different names when they are evaluated (--name)"
                )
            seen[seed] = run
        if dict(run.header.policy_options) != dict(first.header.policy_options):
            warnings.append(
                f"Runs of {first.header.name} were made with different policy options: "
                f"{_text(first.header.policy_options)} and {_text(run.header.policy_options)}"
            )
        sources = [one.header.versions.get(POLICY_SOURCE, "none") for one in (first, run)]
        if sources[0] != sources[1]:
            warnings.append(f"Runs of {first.header.name} differ in the {POLICY_SOURCE}: {', '.join(sources)}")
    return warnings


def _refuse(first: _Run, second: _Run, field: str, mine: object, theirs: object) -> None:
    raise PlanMismatch(
        f"{first.place} and {second.place} are both named {first.header.name!r} but differ in {field}: {_text(mine)} "
        f"against {_text(theirs)}; runs of one method may differ in seeds only. Report them apart, or evaluate under "
        "different names (--name)"
    )


def _check_comparable(firsts: Sequence[_Run], allow_mixed: bool) -> list[str]:
    """Refuse (or, if allowed, warn of) methods that were measured differently; warn of plans that differ otherwise."""
    base = firsts[0]
    warnings = []
    for other in firsts[1:]:
        differences = list(base.plan.differences(other.plan))
        if base.header.registry_sha256 != other.header.registry_sha256:
            differences.append(("registry_sha256", base.header.registry_sha256, other.header.registry_sha256))
        for name, mine, theirs in differences:
            names = " and ".join(f"{run.header.name} ({run.place.name})" for run in (base, other))
            text = f"{names} differ in {name}: {_text(mine)} against {_text(theirs)}"
            if _decides(name) and not allow_mixed:
                raise PlanMismatch(
                    f"{text}; their numbers cannot be compared. Report them apart, or allow mixed runs (--allow-mixed)"
                )
            if name not in ("seeds", "batch"):
                warnings.append(text)
    return warnings


def _decides(name: str) -> bool:
    return name in ("suite", "horizon", "stop", "registry_sha256") or name.startswith("settings.")


def _check_versions(runs: Sequence[_Run], allow_mixed: bool) -> list[str]:
    """Refuse (or, if allowed, warn of) software that can change a number; warn of other differences."""
    names = sorted({name for run in runs for name in run.header.versions})
    warnings = []
    for scene in sorted({scene for run in runs for scene in run.header.scenes}):
        found = {run.header.scenes[scene]: run for run in runs if scene in run.header.scenes}
        warnings += _differing(f"the compiled scene {scene}", found, decides=not allow_mixed)
    for name in names:
        if not name.startswith((POLICY_SOURCE, POLICY_FILE)):  # methods differ in these by nature
            found = {run.header.versions[name]: run for run in runs if name in run.header.versions}
            decides = not name.endswith(HARMLESS) and not any(JOINED in version for version in found)
            warnings += _differing(f"the version of {name}", found, decides and not allow_mixed)
    versions = sorted({item for run in runs for item in run.header.versions.items()})
    mixed = [(name, version) for name, version in versions if JOINED in version]
    return warnings + [f"A run was continued with another version of {name}: {version}" for name, version in mixed]


HARMLESS = (" source", "python", "platform", "gymnasium")
"""Ends of names of versions that only warn: code changes with every comma, and what changes numbers shows in parity
tests; interpreter, machine and wrapper do no arithmetic of a rollout. A version that a run was continued with by
``--accept-versions`` was accepted there."""


def _differing(what: str, found: Mapping[str, _Run], decides: bool) -> list[str]:
    """The difference as a warning, if there is one.

    Raises:
        PlanMismatch: it decides.
    """
    if len(found) < 2:
        return []
    values = sorted(found)
    if decides:
        named = " and ".join(f"{found[value].place} ({value})" for value in values[:2])
        raise PlanMismatch(
            f"runs differ in {what}: {named}; their numbers cannot be compared. Report them apart, evaluate again with "
            "one version, or allow mixed runs (--allow-mixed)"
        )
    return [f"Runs differ in {what}: {', '.join(values)}"]


def _registry(run: _Run) -> Manifest | None:
    """The registry file with the run's hash: the one its plan names, or the shipped one."""
    for path in dict.fromkeys((run.plan.registry, None)):
        try:
            manifest = manifests.load(path)
        except (GroundingError, OSError):
            continue
        if manifest.sha256 == run.header.registry_sha256:
            return manifest
    return None


def _method(name: str, group: Sequence[_Run], registry: Manifest | None) -> Method:
    plan = group[0].plan
    evidence = Evidence(
        method=name,
        order=plan.order,
        tasks=plan.tasks or plan.order,
        stages=plan.stages,
        conditions=plan.conditions,
        tiers=plan.tiers,
        episodes=tuple(episode for run in group for episode in run.store.episodes()),
        probes=tuple(probe for run in group for probe in run.store.probes()),
        curves=tuple(curve for run in group for curve in run.curves),
        trained={} if registry is None else _trained(registry, plan.suite),
        instruction_of={} if registry is None else _instruction_of(registry, plan.suite),
        reach={} if registry is None else _reach(registry, plan.suite),
    )
    return Method(
        name=name,
        runs=tuple(run.place.resolve().name for run in group),
        headers=tuple(run.header for run in group),
        plan=plan,
        evidence=evidence,
        errors=tuple(error for run in group for error in run.store.errors()),
        registry=registry,
        planned=None if registry is None else tuple(cell for run in group for cell in run.plan.cells(registry)),
    )


def _trained(registry: Manifest, suite: str) -> Mapping[str, str]:
    """variant -> task of the same scene whose original goal the variant asks for."""
    trained: dict[str, str] = {}
    for variant in registry.select(suite):
        if variant.goal is not None:
            tasks = registry.scene_tasks(registry.task(variant.task).scene)
            owners = [task.id for task in tasks if task.goal == variant.goal and task.id != variant.task]
            if owners:
                trained[variant.id] = owners[0]
    return trained


def _instruction_of(registry: Manifest, suite: str) -> Mapping[str, str]:
    """swap -> the task whose canonical instruction it carries."""
    rows = {variant.id: variant.details.get("instruction_of") for variant in registry.select(suite)}
    return {variant: str(task) for variant, task in rows.items() if task is not None}


def _reach(registry: Manifest, suite: str) -> Mapping[str, str]:
    """variant -> what an oracle showed of its goal; empty where it tried none of the suite's."""
    found = {variant.id: manifests.standing(variant) for variant in registry.select(suite)}
    known = {variant: standing for variant, standing in found.items() if standing is not None}
    return known if set(known.values()) - {manifests.NOT_MEASURED} else {}


def _read_curves(path: Path, order: Sequence[str]) -> tuple[Curve, ...]:
    """Learning curves beside a run; none if there is no such file.

    Raises:
        CorruptRun: a malformed file; names the row.
    """
    if not path.exists():
        return ()
    points: dict[tuple[int, str], list[tuple[int, float]]] = {}
    row: object = "1"
    try:
        with path.open(newline="", encoding="utf-8") as stream:
            for row in csv.DictReader(stream):
                seed, task, epoch, success = int(row["seed"]), row["task"], int(row["epoch"]), float(row["success"])
                if task not in order or not 0 <= success <= 1:
                    raise ValueError("the task is not in the training order, or success is not in [0, 1]")
                points.setdefault((seed, task), []).append((epoch, success))
    except (KeyError, TypeError, ValueError, csv.Error, OSError) as error:
        raise CorruptRun(
            f"{path}: row {row} is no point of a learning curve ({error}); the columns are seed, task, epoch, success"
        ) from error
    return tuple(Curve(seed, task, tuple(sorted(found))) for (seed, task), found in sorted(points.items()))


def _text(value: object, limit: int = 120) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, default=_plain)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, Iterable) and not isinstance(value, Mapping) else dict(value)

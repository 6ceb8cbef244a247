"""What the oracle reaches: tables from its record and a registry, without a simulator."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from gym_grounding import manifest as manifests
from gym_grounding.manifest import NOT_SHOWN, REACHED, Manifest, Reach
from gym_grounding.plan import HORIZON
from gym_grounding.types import Variant
from gym_grounding.variants._reached import Reached, in_sum, physics, there
from gym_grounding.variants._reached_file import Outcome
from gym_grounding.variants._standings import standings
from gym_grounding.variants._tables import Table

PROBLEMS = 2
"""Reasons of the oracle that are listed for a goal."""
NOTHING = "nothing measured"


@dataclass(frozen=True, slots=True)
class Aim:
    """What is wanted of the oracle.

    Attributes:
        suite: of the originals.
        least, aim: share of episodes that succeed, in percent; averaged over tasks.
    """

    suite: str
    least: int
    aim: int


ORIGINALS = (
    Aim("LiberoGoal", 97, 99),
    Aim("LiberoSpatial", 95, 99),
    Aim("LiberoObject", 97, 99),
    Aim("LiberoLong", 80, 95),
)
STRICT, SWAPS = Aim("", 85, 100), Aim("LiberoGoal", 95, 100)
STEPS = Aim("LiberoGoal", 200, 120)
"""Median length of a successful episode [control steps], at most."""


def recorded(manifest: Manifest, path: Path | None = None) -> Reached:
    """A record as the registry took it: of the oracle and the simulator that its head names; None for the shipped.

    A registry without certificates names none: then of the package's own oracle, in the registry's simulator.

    Raises:
        RegistryError: the file is malformed.
        InvalidOption: the named file is absent.
    """
    if not manifest.oracle:
        return Reached(there(path), physics=physics(manifest.physics))
    return Reached(there(path), oracle=str(manifest.oracle["version"]), physics=str(manifest.oracle["physics"]))


def tables(manifest: Manifest, record: Reached) -> tuple[Table, ...]:
    """Everything that is known; a table without rows is left out."""
    outcomes = {task.id: record.outcomes(task, task.goal) for task in manifest.tasks.values()}
    found = (
        _figures(manifest, outcomes, record),
        _by_suite(manifest, outcomes),
        _by_task(manifest, outcomes),
        standings(manifest),
        *(_apart(manifest, record, standing) for standing in (NOT_SHOWN, "transient", "trivial")),
    )
    return tuple(table for table in found if table.rows)


def _figures(manifest: Manifest, outcomes: Mapping[str, Mapping[int, Outcome]], record: Reached) -> Table:
    rows: list[tuple[object, ...]] = []
    for one in ORIGINALS:
        if one.suite in manifest.suites:
            own = [outcomes[task.id] for task in manifest.suite_tasks(one.suite)]
            rows.append((f"{one.suite}: own goals reached", *_means(own), f"{one.least} %", f"{one.aim} %"))
    strict = manifest.select(conditions=["contrast"], tiers=["strict"])
    if strict:
        rows.append(("strict contrasts shown reachable", *_shown(strict), f"{STRICT.least} %", f"{STRICT.aim} %"))
    if STEPS.suite in manifest.suites:
        swaps = manifest.select(suite=SWAPS.suite, conditions=["swap"])
        rows.append((f"{SWAPS.suite}: swaps shown reachable", *_shown(swaps), f"{SWAPS.least} %", f"{SWAPS.aim} %"))
        steps = [step for task in manifest.suite_tasks(STEPS.suite) for step in _steps(outcomes[task.id])]
        median = f"{statistics.median_low(steps)} steps" if steps else NOTHING
        what = f"{STEPS.suite}: median length of an episode that reaches its own goal"
        rows.append((what, median, "", f"{STEPS.least} steps", f"{STEPS.aim} steps"))
    return Table(
        "Figures",
        "Own goals: canonical tasks, mean over tasks, in brackets successes and episodes. Shown reachable: reached "
        "from at least one initial state, in brackets variants. For good: the same, counting stable episodes or stable "
        f"goals alone. {_whose(record)}",
        ("what", "measured", "for good", "at least", "aim"),
        tuple(rows),
    )


def _whose(record: Reached) -> str:
    """Which episodes of the record count, and which do not."""
    others = "; ".join(f"{number} goal(s) of {name}" for name, number in sorted(record.others.items()))
    own = f"Episodes of oracle {record.oracle} in {record.physics}, at most {HORIZON} control steps."
    return f"{own} Not counted: {others}." if others else own


def _means(own: Sequence[Mapping[int, Outcome]]) -> tuple[str, str]:
    sums = [total for total in map(in_sum, own) if total is not None]
    if not sums:
        return NOTHING, NOTHING
    missing = f"; {len(own) - len(sums)} of {len(own)} tasks not measured" if len(sums) < len(own) else ""
    return _mean(sums, [one.successes for one in sums], missing), _mean(sums, [one.stable for one in sums], missing)


def _mean(sums: Sequence[Reach], good: Sequence[int], missing: str) -> str:
    share = statistics.fmean(number / total.attempts for number, total in zip(good, sums, strict=True))
    never = good.count(0)
    zero = f"; {never} tasks at 0" if never else ""
    return f"{100 * share:.1f} % ({sum(good)} of {sum(one.attempts for one in sums)}{missing}{zero})"


def _shown(variants: Sequence[Variant]) -> tuple[str, str]:
    found = [one for one in variants if manifests.reachable(one) is not None]
    if not found:
        return NOTHING, NOTHING
    missing = f"; {len(variants) - len(found)} not measured" if len(found) < len(variants) else ""
    shown = [one for one in found if manifests.reachable(one) == manifests.SHOWN]
    stable = sum(manifests.standing(one) == "stable" for one in shown)
    first, second = (
        f"{100 * number / len(found):.1f} % ({number} of {len(found)}{missing})" for number in (len(shown), stable)
    )
    return first, second


def _steps(outcomes: Mapping[int, Outcome]) -> list[int]:
    return [one.first for one in outcomes.values() if one.verdict in REACHED]


def _by_suite(manifest: Manifest, outcomes: Mapping[str, Mapping[int, Outcome]]) -> Table:
    rows = []
    for suite in manifest.suites:
        tasks = [task for task in manifest.suite_tasks(suite) if outcomes[task.id]]
        every = [one for task in tasks for one in outcomes[task.id].values()]
        total = in_sum(dict(enumerate(every)))
        if total is not None:
            rows.append((suite, len(tasks), *_counted(total)))
    return Table(
        "Own goals by suite",
        "Episodes of the oracle on the canonical tasks. Steps: to where the goal first held, median of successes.",
        ("suite", "tasks", *_COUNTED),
        tuple(rows),
    )


def _by_task(manifest: Manifest, outcomes: Mapping[str, Mapping[int, Outcome]]) -> Table:
    rows = []
    for task in manifest.tasks.values():
        total = in_sum(outcomes[task.id])
        if total is not None:
            rows.append((task.id, task.instruction, *_counted(total), _why(outcomes[task.id], not total.successes)))
    return Table(
        "Own goals by task",
        "The same by task. Why not: what the oracle says most often where it does not reach the goal for good, and how "
        "often; of a goal that it never reaches, also what it tried.",
        ("task", "instruction", *_COUNTED, "why not"),
        tuple(rows),
    )


_COUNTED = ("episodes", "successes", "stable", "transient", "trivial", "steps")


def _counted(total: Reach) -> tuple[object, ...]:
    steps = "" if total.median_steps is None else total.median_steps
    return (total.attempts, total.successes, total.stable, total.transient, total.trivial, steps)


_APART = {
    NOT_SHOWN: (
        "Not shown reachable",
        "Goals that the oracle reached from none of the initial states that were tried. Why not: what the oracle says "
        "most often, how often, and all that it tried in one episode.",
    ),
    "transient": ("Transient", "Goals that hold for a moment only, in most of the starts that reached them."),
    "trivial": (
        "Trivial",
        "Goals that hold without a deed, or after a touch, in most of the starts that reached them.",
    ),
}


def _apart(manifest: Manifest, record: Reached, standing: str) -> Table:
    title, caption = _APART[standing]
    rows = [row for variant in manifest.variants.values() for row in _row(manifest, record, variant, standing)]
    return Table(title, caption, ("variant", "instruction", "episodes", *_COUNTED[1:5], "why not"), tuple(rows))


def _row(manifest: Manifest, record: Reached, variant: Variant, standing: str) -> Iterator[tuple[object, ...]]:
    total = manifests.reach(variant)
    if total is None or variant.goal is None or manifests.standing(variant) != standing:
        return
    outcomes = record.outcomes(manifest.tasks[variant.task], variant.goal, variant.joints)
    yield variant.id, variant.instruction, *_counted(total)[:5], _why(outcomes, standing == NOT_SHOWN)


def _why(outcomes: Mapping[int, Outcome], plan: bool) -> str:
    """The reasons most often given, whole, each with how often; and the deeds of one episode, if wanted."""
    count = Counter(one.problem for one in outcomes.values() if one.problem)
    reasons = "; ".join(f"{text} ({number})" for text, number in count.most_common(PROBLEMS))
    tried = next(((state, one.plan) for state, one in outcomes.items() if one.plan), None) if plan else None
    if tried is None:
        return reasons
    deeds = f"Tried from initial state {tried[0]}: {', then '.join(_counted_up(tried[1]))}"
    return f"{reasons}. {deeds}" if reasons else deeds


def _counted_up(deeds: Sequence[str]) -> Iterator[str]:
    """Deeds in their order, what was tried several times in a row once."""
    for deed, times in ((deed, len(list(same))) for deed, same in groupby(deeds)):
        yield deed if times == 1 else f"{deed} ({times} times)"

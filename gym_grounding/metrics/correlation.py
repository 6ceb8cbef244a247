"""Do cheap action-level diagnostics predict what happens in rollouts? Rank correlations over method x task pairs.

One point per (method, task): both diagnostics are averaged over variants (equal within the task) and seeds, at the
last planned stage, from variants of one condition and tier; where the registry certifies what an oracle reached, from
contrasts whose goal it was shown to reach. Contrast outcomes use the reading ``own``, collisions ``ever``. Points of
one method, or of one task, resemble each other, so the interval draws whole methods and whole tasks again, not points.
Source: arXiv 2610.00542, Table III.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from gym_grounding.metrics import action, collision, goal_switch
from gym_grounding.metrics._balance import Sample, average, outcomes, probed, reading, task_means
from gym_grounding.metrics._base import Evidence, Measurement, Metric, Scope, Value, quantity
from gym_grounding.metrics.success import succeeded, unscored
from gym_grounding.records import EpisodeRecord

RESAMPLES = 2000
TIED = 12
"""Decimals: means that agree so far are ties, since rates such as 1 - 0.8 and 0.2 are equal but for their rounding."""
FEWEST = 3
"""Fewer points than this have no rank correlation worth the name."""

Points = Mapping[str, float]
"""task -> value of one method."""


def spearman(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation between two diagnostics over (method, task) pairs; in [-1, 1].

    Ties get their mean rank. None for fewer than three pairs or when one side is constant. The interval is a percentile
    bootstrap that draws methods and, independently, tasks with replacement (2,000 resamples; constant resamples are
    dropped, and there is no interval when more than half of them are). Source: arXiv 2610.00542, Table III.
    """
    if len(first) < FEWEST:
        return None
    value = float(_correlate(np.asarray([first]), np.asarray([second]))[0])
    return None if math.isnan(value) else value


def bootstrap(
    points: Mapping[tuple[str, str], tuple[float, float]], rng: np.random.Generator
) -> tuple[float, float] | None:
    """95 % percentile interval of ``spearman`` over resampled methods and tasks; None when most are constant.

    Args:
        points: (method, task) -> both diagnostics.
        rng: source of randomness.
    """
    methods, tasks = (sorted({key[side] for key in points}) for side in (0, 1))
    grid = np.full((2, len(methods), len(tasks)), np.nan)
    for (method, task), pair in points.items():
        grid[:, methods.index(method), tasks.index(task)] = pair
    rows = rng.integers(len(methods), size=(RESAMPLES, len(methods), 1))
    columns = rng.integers(len(tasks), size=(RESAMPLES, 1, len(tasks)))
    drawn = grid[:, rows, columns].reshape(2, RESAMPLES, -1)
    values = _each(drawn) if np.isnan(grid).any() else _correlate(*drawn)
    values = values[~np.isnan(values)]
    if values.size < RESAMPLES / 2:
        return None
    low, high = np.quantile(values, (0.025, 0.975))
    return float(low), float(high)


def _each(drawn: NDArray[np.float64]) -> NDArray[np.float64]:
    """One resample after the other, (2, r, n) -> (r,), since pairs that do not exist must be left out of each."""
    values = np.full(drawn.shape[1], np.nan)
    for index in range(drawn.shape[1]):
        known = drawn[:, index, ~np.isnan(drawn[0, index])]
        if known.shape[1] >= FEWEST:
            values[index] = _correlate(known[:1], known[1:])[0]
    return values


def _correlate(first: NDArray[np.float64], second: NDArray[np.float64]) -> NDArray[np.float64]:
    """Row by row, (r, n) and (r, n) -> (r,); NaN where a row is constant."""
    one, two = (rankdata(np.round(side, TIED), axis=1) - (side.shape[1] + 1) / 2 for side in (first, second))
    size = np.sqrt((one * one).sum(axis=1) * (two * two).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.clip(np.where(size > 0, (one * two).sum(axis=1) / size, np.nan), -1, 1)


def over_tasks(samples: Sequence[Sample]) -> Points:
    """task -> mean over seeds of its balanced mean."""
    by_seed = task_means(samples)
    tasks = sorted({task for means in by_seed.values() for task in means})
    return {task: average(means[task] for means in by_seed.values() if task in means) for task in tasks}


def _share(
    evidence: Evidence,
    condition: str,
    tier: str | None,
    holds: Callable[[EpisodeRecord], bool],
    is_void: Callable[[EpisodeRecord], bool] = lambda episode: False,
) -> Points:
    episodes = evidence.counted(evidence.select(condition, evidence.final_stage, tier))
    return over_tasks(outcomes((one for one in episodes if not is_void(one)), holds))


def _gap(evidence: Evidence) -> Points:
    originals, paraphrases = (
        task_means(
            outcomes((one for one in evidence.select(name, evidence.final_stage) if not unscored(one)), succeeded)
        )
        for name in ("original", "paraphrase")
    )
    gaps: dict[str, list[float]] = {}
    for seed, tasks in originals.items():
        for task in set(tasks) & set(paraphrases.get(seed, {})):
            gaps.setdefault(task, []).append(tasks[task] - paraphrases[seed][task])
    return {task: average(values) for task, values in sorted(gaps.items())}


def outcome_points(evidence: Evidence, condition: str, tier: str | None) -> dict[str, Points]:
    """Outcome-level diagnostics of a condition: name of the quantity -> task -> value."""
    share = partial(_share, evidence, condition, tier)
    if condition == "paraphrase":
        return {"success": share(succeeded, unscored), "paraphrase_gap": _gap(evidence)}
    if condition == "contrast":
        names = ("target_success", "goal_switch_accuracy", "original_persistence")
        return {name: share(reading(goal_switch.INDICATORS[name], "own"), goal_switch.either_void) for name in names}
    goals = {
        name: share(reading(collision.INDICATORS[name], "ever"), collision.original_void)
        for name in ("original_goal_persistence", "canonical_goal_activation")
    }
    return {"action_initiation": share(collision.initiated), **goals}


def action_points(evidence: Evidence, condition: str, tier: str | None, name: str) -> Points:
    """An action-level diagnostic of a condition: task -> value."""
    measure, usable, _ = action.MEASURES[name]
    probes = action.at_final(evidence, condition, tier)
    return over_tasks(probed([probe for probe in probes if usable(probe) and evidence.counts(probe.variant)], measure))


def _value(points: Mapping[tuple[str, str], tuple[float, float]], rng: np.random.Generator) -> Value:
    pairs = tuple(points.values())
    methods, tasks = (len({key[side] for key in points}) for side in (0, 1))
    first, second = [one for one, _ in pairs], [two for _, two in pairs]
    if len(pairs) < FEWEST:
        return Value(None, reason=f"{len(pairs)} (method, task) pairs with both; {FEWEST} are needed", n=len(pairs))
    mean = spearman(first, second)
    if mean is None:
        return Value(None, reason="one of the two is the same for all pairs", n=len(pairs), tasks=tasks)
    interval = bootstrap(points, rng)
    note = "" if interval else "most resamples are constant: no interval"
    return Value(
        mean, note=f"{methods} methods" + (f"; {note}" if note else ""), interval=interval, n=len(pairs), tasks=tasks
    )


def _correlations(
    methods: Sequence[Evidence], condition: str, tier: str | None, rng: np.random.Generator
) -> Iterator[Measurement]:
    outcome = {evidence.method: outcome_points(evidence, condition, tier) for evidence in methods}
    for name in action.MEASURES:
        cheap = {evidence.method: action_points(evidence, condition, tier, name) for evidence in methods}
        for against in next(iter(outcome.values())):
            keys = [
                (method, task) for method in sorted(cheap) for task in cheap[method] if task in outcome[method][against]
            ]
            points = {(method, task): (cheap[method][task], outcome[method][against][task]) for method, task in keys}
            scope = Scope(condition, tier, against=against)
            yield Measurement("", f"{name}_correlation", scope, _value(points, rng))


def compute(methods: Sequence[Evidence], rng: np.random.Generator) -> tuple[Measurement, ...]:
    """Every action-level diagnostic against every outcome-level one of the same condition and tier."""
    if not methods:
        return ()
    tiers = sorted({tier for evidence in methods for tier in evidence.tiers_of("contrast")}, reverse=True)
    groups: Iterable[tuple[str, str | None]] = [
        ("paraphrase", None),
        *(("contrast", tier) for tier in tiers),
        ("collision", None),
    ]
    return tuple(one for condition, tier in groups for one in _correlations(methods, condition, tier, rng))


METRIC = Metric(
    name="correlation",
    title="Correlation of action-level and outcome-level diagnostics",
    definition=__doc__,
    quantities=(
        quantity(spearman, "action_divergence_correlation", "Spearman correlation with AD", "correlation", "neither"),
        quantity(spearman, "language_margin_correlation", "Spearman correlation with LM", "correlation", "neither"),
    ),
    compute=compute,
)

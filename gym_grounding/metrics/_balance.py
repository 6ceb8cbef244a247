"""How episodes become one number: task-balanced means, the spread over seeds, and intervals.

Initial states are equal within a variant, variants within a task, tasks within a condition, seeds within a method. The
mean is taken in this order, seed by seed; then come the mean and the sample standard deviation (divisor n - 1) over
seeds. This is the paper's aggregation (arXiv 2610.00542).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import compress
from typing import NamedTuple, Protocol

from gym_grounding.metrics._base import Value
from gym_grounding.records import EpisodeRecord, ProbeRecord

Z = 1.959963984540054  # 97.5 % point of the normal distribution: two-sided 95 %


class Sample(NamedTuple):
    """One observed value and where it belongs."""

    seed: int
    task: str
    variant: str
    value: float


class Placed(Protocol):
    """A value with its place, such as a ``Sample``."""

    @property
    def seed(self) -> int:
        """Training seed."""

    @property
    def task(self) -> str:
        """Task id."""

    @property
    def variant(self) -> str:
        """Variant id."""

    @property
    def value(self) -> float:
        """What was observed."""


class Interval(NamedTuple):
    """A 95 % interval."""

    low: float
    high: float


def average(values: Iterable[float]) -> float:
    """Arithmetic mean of at least one value, exactly rounded, so that the order of the values cannot matter."""
    listed = tuple(values)
    return math.fsum(listed) / len(listed)


def task_means(samples: Iterable[Placed]) -> dict[int, dict[str, float]]:
    """seed -> task -> mean over the task's variants of the mean over each variant's samples."""
    groups: dict[tuple[int, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for sample in samples:
        groups[sample.seed, sample.task][sample.variant].append(sample.value)
    means: dict[int, dict[str, float]] = defaultdict(dict)
    for seed, task in sorted(groups):
        means[seed][task] = average(average(values) for values in groups[seed, task].values())
    return dict(means)


def seed_means(samples: Iterable[Placed]) -> dict[int, float]:
    """seed -> mean over its tasks, every task with the same weight."""
    return {seed: average(tasks.values()) for seed, tasks in task_means(samples).items()}


def spread(values: Sequence[float]) -> float | None:
    """Sample standard deviation (divisor n - 1); None for fewer than two values."""
    if len(values) < 2:
        return None
    centre = average(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def wilson(rate: float, n: float) -> Interval:
    """Wilson's 95 % score interval of a rate that was observed in ``n`` > 0 independent episodes.

    It is a binomial interval over episodes: it ignores that episodes of one variant, task or seed resemble each other,
    and it says nothing about other training seeds (the standard deviation over seeds does). Source: Wilson (1927).
    """
    centre = (rate + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(rate * (1 - rate) / n + Z * Z / (4 * n * n))
    return Interval(max(0.0, min(centre - half, rate)), min(1.0, max(centre + half, rate)))


def effective_number(samples: Sequence[Sample]) -> float:
    """Kish's effective number of samples under the balanced weights: 1 / (sum of squared weights).

    Equal to the number of samples when every variant has as many episodes as any other, every task as many variants
    and every seed as many tasks; smaller otherwise, which widens the interval as it should.
    """
    counts: dict[tuple[int, str, str], int] = defaultdict(int)
    for sample in samples:
        counts[sample.seed, sample.task, sample.variant] += 1
    variants: dict[tuple[int, str], int] = defaultdict(int)
    for seed, task, _ in counts:
        variants[seed, task] += 1
    tasks: dict[int, int] = defaultdict(int)
    for seed, _ in variants:
        tasks[seed] += 1
    squares = (
        1 / (len(tasks) * tasks[seed] * variants[seed, task]) ** 2 / count for (seed, task, _), count in counts.items()
    )
    return 1 / math.fsum(squares)


def over_seeds(per_seed: Mapping[int, float], samples: Sequence[Placed], note: str = "") -> Value:
    """Mean and sample standard deviation over at least one seed, with the counts of the samples behind them."""
    values = [per_seed[seed] for seed in sorted(per_seed)]
    return Value(
        mean=average(values),
        note=note,
        std=spread(values),
        n=len(samples),
        variants=len({sample.variant for sample in samples}),
        tasks=len({sample.task for sample in samples}),
        seeds=len(per_seed),
        per_seed={seed: per_seed[seed] for seed in sorted(per_seed)},
    )


def balanced(samples: Sequence[Sample], nothing: str) -> Value:
    """Task-balanced mean of any samples; ``nothing`` is the reason given when there are none. No interval."""
    if not samples:
        return Value(None, reason=nothing)
    return over_seeds(seed_means(samples), samples)


def outcomes(episodes: Iterable[EpisodeRecord], holds: Callable[[EpisodeRecord], bool]) -> tuple[Sample, ...]:
    """Samples of 1.0 where ``holds`` and 0.0 elsewhere."""
    return tuple(Sample(one.seed, one.task, one.variant, float(holds(one))) for one in episodes)


def probed(probes: Iterable[ProbeRecord], measure: Callable[[ProbeRecord], float]) -> tuple[Sample, ...]:
    """Samples of a measure of probes."""
    return tuple(Sample(one.seed, one.task, one.variant, measure(one)) for one in probes)


def reading(holds: Callable[[EpisodeRecord, str], bool], judged: str) -> Callable[[EpisodeRecord], bool]:
    """An indicator with its reading fixed."""
    return lambda episode: holds(episode, judged)


def rate(
    episodes: Sequence[EpisodeRecord],
    holds: Callable[[EpisodeRecord], bool],
    is_void: Callable[[EpisodeRecord], bool] = lambda episode: False,
    nothing: str = "no episode",
) -> Value:
    """Task-balanced share of episodes for which ``holds``, with Wilson's interval; void ones are left out and counted.

    The interval is computed at the balanced share with the effective number of episodes (``effective_number``).
    """
    counted = tuple(episode for episode in episodes if not is_void(episode))
    void = len(episodes) - len(counted)
    if not counted:
        return Value(None, reason=f"all {void} episodes are void" if void else nothing, void=void)
    return replace(_share(counted, holds), void=void)


def _share(episodes: Sequence[EpisodeRecord], holds: Callable[[EpisodeRecord], bool]) -> Value:
    """Balanced share of at least one episode; the same as through samples, in one pass over the records."""
    keys = [(one.seed, one.task, one.variant) for one in episodes]
    tried, hit = Counter(keys), Counter(compress(keys, map(holds, episodes)))
    groups: dict[tuple[int, str], dict[str, tuple[int, int]]] = {}
    for key, number in tried.items():
        seed, task, variant = key
        groups.setdefault((seed, task), {})[variant] = (hit[key], number)
    tasks: dict[int, list[float]] = {}
    for (seed, _), variants in sorted(groups.items()):
        tasks.setdefault(seed, []).append(average(hits / number for hits, number in variants.values()))
    per_seed = {seed: average(means) for seed, means in tasks.items()}
    squares = (
        1 / (len(tasks) * len(tasks[seed]) * len(variants)) ** 2 / number
        for (seed, _), variants in groups.items()
        for _, number in variants.values()
    )
    mean = average(per_seed.values())
    interval = wilson(mean, 1 / math.fsum(squares))
    return Value(
        mean=mean,
        std=spread(list(per_seed.values())),
        interval=(interval.low, interval.high),
        n=len(episodes),
        variants=len({variant for variants in groups.values() for variant in variants}),
        tasks=len({task for _, task in groups}),
        seeds=len(per_seed),
        per_seed=per_seed,
    )


def paired_difference(first: Sequence[Sample], second: Sequence[Sample], nothing: str) -> Value:
    """Mean over tasks of (first - second), over the tasks of a seed that have both, then over seeds.

    The interval is Newcombe's (1998, method 10), built from the two Wilson intervals; it treats the two sets of
    episodes as independent, although they share tasks and initial states.
    """
    one, two = task_means(first), task_means(second)
    shared = {(seed, task) for seed, tasks in one.items() for task in tasks if task in two.get(seed, {})}
    if not shared:
        return Value(None, reason=nothing)
    sides = [tuple(sample for sample in side if (sample.seed, sample.task) in shared) for side in (first, second)]
    per_seed = {
        seed: average(one[seed][task] - two[seed][task] for at, task in shared if at == seed)
        for seed in sorted({seed for seed, _ in shared})
    }
    value = over_seeds(per_seed, (*sides[0], *sides[1]))
    assert value.mean is not None
    every = _keys(one) | _keys(two)
    left_out = len(every - shared)
    note = f"{left_out} of {len(every)} (seed, task) pairs lack one side and are left out" if left_out else ""
    return replace(value, interval=_newcombe(value.mean, *sides), note=note)


def _keys(means: Mapping[int, Mapping[str, float]]) -> set[tuple[int, str]]:
    return {(seed, task) for seed, tasks in means.items() for task in tasks}


def _newcombe(difference: float, first: Sequence[Sample], second: Sequence[Sample]) -> tuple[float, float]:
    rates = [average(seed_means(side).values()) for side in (first, second)]
    one, two = (wilson(r, effective_number(side)) for r, side in zip(rates, (first, second), strict=True))
    below = math.hypot(rates[0] - one.low, two.high - rates[1])
    above = math.hypot(one.high - rates[0], rates[1] - two.low)
    return max(-1.0, difference - below), min(1.0, difference + above)

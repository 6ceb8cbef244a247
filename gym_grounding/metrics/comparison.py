"""Which differences are more than chance: methods against each other, paraphrases against originals, and the budget.

Two methods are compared on the cells that both have: same variant, same initial state, same seed. Differences are
task-balanced like the rates themselves; their intervals draw seeds and initial states again, the same for both sides.
McNemar's exact test looks only at the pairs in which the two differ; it treats pairs as independent, although
those of one task or one seed resemble each other, and it knows nothing of other training seeds. Where a report compares
several pairs of methods, Holm's correction covers all pairs of one condition and outcome. "No gap" is never concluded
from a large p: it has a test of its own, for equivalence. Void episodes are left out of both sides; so are cells that
one side lacks, and they are counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from gym_grounding.metrics import _bootstrap, _inference, collision
from gym_grounding.metrics._balance import average, over_seeds, seed_means
from gym_grounding.metrics._base import Evidence, Measurement, Metric, Scope, Value, quantity
from gym_grounding.metrics._bootstrap import Resampler, Start, starts
from gym_grounding.metrics.continual import areas_of
from gym_grounding.metrics.goal_switch import either_void, reached_original, switched
from gym_grounding.metrics.success import ORIGINAL_GOAL, succeeded, unscored
from gym_grounding.records import EpisodeRecord

Key = tuple[int, str, str, int]
"""Seed, task, variant, initial state."""
Outcomes = Mapping[Key, float]
"""What happened in each cell of a method, in the order of the cells."""


class Outcome(NamedTuple):
    """What is compared under a condition.

    Attributes:
        name: of the quantity that holds the difference.
        holds: whether an episode counts.
        is_void: whether it has no verdict.
        tested: whether McNemar's test is made of it; one per condition.
    """

    name: str
    holds: Callable[[EpisodeRecord], bool]
    is_void: Callable[[EpisodeRecord], bool]
    tested: bool


SUCCESS = Outcome("success_difference", succeeded, unscored, True)
OUTCOMES: Mapping[str, tuple[Outcome, ...]] = {
    **dict.fromkeys((*ORIGINAL_GOAL, "swap"), (SUCCESS,)),
    "contrast": (
        Outcome("switch_difference", switched, either_void, True),
        Outcome("persistence_difference", reached_original, either_void, False),
    ),
    "collision": (Outcome("persistence_difference", collision.reached_original, collision.original_void, True),),
}
"""Condition -> what is compared under it."""


def success_difference(first: Outcomes, second: Outcomes, draws: Resampler) -> Value:
    """Difference in final success: this method minus the other, on the cells that both have; in [-1, 1].

    Last planned stage, task-balanced; interval by bootstrap over seeds and initial states. Source: a choice of this
    suite.
    """
    return paired(first, second, draws)


def switch_difference(first: Outcomes, second: Outcomes, draws: Resampler) -> Value:
    """Difference in GSA: this method minus the other, on the contrasts that both have; in [-1, 1].

    As ``success_difference``. Source: a choice of this suite.
    """
    return paired(first, second, draws)


def persistence_difference(first: Outcomes, second: Outcomes, draws: Resampler) -> Value:
    """Difference in persistence of the original goal (OGP under collisions): this method minus the other; in [-1, 1].

    As ``success_difference``. Source: a choice of this suite.
    """
    return paired(first, second, draws)


def auc_difference(first: Outcomes, second: Outcomes, draws: Resampler) -> Value:
    """Difference in matrix AUC: this method minus the other; in [-1, 1].

    A start's value is the mean of its outcomes from the stage that trained its task to the last. Only starts count that
    were evaluated after each of these stages. Source: a choice of this suite.
    """
    return paired(first, second, draws)


def mcnemar_p(first: Outcomes, second: Outcomes) -> Value:
    """Exact two-sided p of McNemar's test that neither of two methods does better; in (0, 1].

    Of success under originals, paraphrases and swaps, of GSA under contrasts, of original persistence under collisions.
    n counts pairs, the note the discordant ones. Source: McNemar (1947).
    """
    keys = [key for key in first if key in second]
    if not keys:
        return Value(None, reason=NONE_SHARED)
    wins = [sum(a[key] > b[key] for key in keys) for a, b in ((first, second), (second, first))]
    note = f"{wins[0]} pairs only this method, {wins[1]} only the other"
    return replace(_counted(keys), mean=_inference.mcnemar(*wins), note=note)


def adjusted_p(values: Sequence[Value]) -> tuple[Value, ...]:
    """p of McNemar's test after Holm's correction over all pairs of methods of a condition; in (0, 1].

    Source: Holm (1979).
    """
    known = [value.mean for value in values if value.mean is not None]
    adjusted = iter(_inference.holm(known))
    return tuple(value if value.mean is None else replace(value, mean=next(adjusted)) for value in values)


def gap_equivalence(originals: Sequence[Start], paraphrases: Sequence[Start]) -> Value:
    """p of the test that original and paraphrase succeed equally often, within ten points; in [0, 1].

    Small: the gap is shown to lie within the margin. Large: nothing is shown. Each start (task, initial state, seed) is
    one pair, however many paraphrases it has, so that several sentences from one start are not taken for several
    starts. Two one-sided score tests. Source: Schuirmann (1987), Tango (1998).
    """
    pairs = _pairs(originals, paraphrases)
    if not pairs:
        return Value(None, reason="no start has both originals and paraphrases")
    above, below = (sum(pair[side] for pair in pairs.values()) for side in (0, 1))
    keys = [(seed, task, "", state) for seed, task, state in pairs]
    margin = f"margin {100 * _inference.MARGIN:.0f} points"
    return replace(_counted(keys), mean=_inference.equivalence(above, below, len(pairs)), note=margin)


def detectable(counted: Sequence[Start]) -> Value:
    """Smallest difference between two methods that this number of episodes can show; in (0, 1].

    With a power of 80 % at level 5 %, if half of the pairs are discordant (the worst case of independent rates), and
    without correction for several tests. Source: Connor (1987).
    """
    found = _inference.smallest_difference(len(counted))
    value = _counted([(s.seed, s.task, s.variant, s.init_state) for s in counted])
    if found is None:
        return replace(value, reason=f"{len(counted)} episodes show no difference of any size with this power")
    return replace(value, mean=found)


NONE_SHARED = "no cell that both methods have"
DIFFERENCES: Mapping[str, Callable[..., Value]] = {
    "success_difference": success_difference,
    "switch_difference": switch_difference,
    "persistence_difference": persistence_difference,
}


def paired(first: Outcomes, second: Outcomes, draws: Resampler) -> Value:
    """Task-balanced mean of first minus second over the cells that both have, with its bootstrap interval."""
    keys = [key for key in first if key in second]
    if not keys:
        return Value(None, reason=NONE_SHARED)
    apart = [Start(*key, first[key] - second[key]) for key in keys]
    left_out = len(first) + len(second) - 2 * len(keys)
    note = f"{left_out} cells that one of the two lacks are left out" if left_out else ""
    return replace(
        over_seeds(seed_means(apart), apart, note), interval=_bootstrap.interval([apart], _bootstrap.itself, draws)
    )


def starts_of(evidence: Evidence, condition: str, tier: str | None, outcome: Outcome) -> tuple[Start, ...]:
    """Outcomes of the counted episodes of the last planned stage."""
    episodes = evidence.counted(evidence.select(condition, evidence.final_stage, tier))
    return starts((one for one in episodes if not outcome.is_void(one)), outcome.holds)


def _by_key(starts: Iterable[Start]) -> Outcomes:
    return dict(sorted(((s.seed, s.task, s.variant, s.init_state), s.value) for s in starts))


def _pairs(originals: Sequence[Start], paraphrases: Sequence[Start]) -> dict[tuple[int, str, int], tuple[float, float]]:
    """(seed, task, initial state) -> how much only the original, and how much only the paraphrases succeed."""
    own = {(s.seed, s.task, s.init_state): s.value for s in originals}
    others: dict[tuple[int, str, int], list[float]] = {}
    for s in paraphrases:
        others.setdefault((s.seed, s.task, s.init_state), []).append(s.value)
    means = {key: average(values) for key, values in others.items() if key in own}
    return {key: (own[key] * (1 - mean), (1 - own[key]) * mean) for key, mean in sorted(means.items())}


def _counted(keys: Collection[Key]) -> Value:
    """A value without a number that has the counts of its cells."""
    return Value(
        None,
        n=len(keys),
        variants=len({variant for _, _, variant, _ in keys} - {""}),
        tasks=len({task for _, task, _, _ in keys}),
        seeds=len({seed for seed, _, _, _ in keys}),
    )


def _conditions(methods: Sequence[Evidence]) -> Iterator[tuple[str, str | None]]:
    """Conditions with something to compare, and the tiers of contrasts."""
    for condition in OUTCOMES:
        if condition == "contrast":
            yield from ((condition, tier) for tier in dict.fromkeys(t for e in methods for t in e.tiers_of(condition)))
        elif condition in ORIGINAL_GOAL or any(e.select(condition) for e in methods):
            yield condition, None


def _between(methods: Sequence[Evidence], condition: str, tier: str | None, draws: Resampler) -> Iterator[Measurement]:
    """Every pair of methods under one condition."""
    pairs = tuple(itertools.combinations(methods, 2))
    for outcome in OUTCOMES[condition]:
        found = {one.method: _by_key(starts_of(one, condition, tier, outcome)) for one in methods}
        ps = [mcnemar_p(found[one.method], found[two.method]) for one, two in pairs] if outcome.tested else []
        for one, two in pairs:
            scope = Scope(condition, tier, stage=one.final_stage, against=two.method)
            value = DIFFERENCES[outcome.name](found[one.method], found[two.method], draws)
            yield Measurement(one.method, outcome.name, scope, value)
        for (one, two), p, adjusted in zip(pairs, ps, adjusted_p(ps), strict=False):
            scope = Scope(condition, tier, stage=one.final_stage, against=two.method)
            yield Measurement(one.method, "mcnemar_p", scope, p)
            yield Measurement(one.method, "adjusted_p", scope, adjusted)
    if condition in ORIGINAL_GOAL:
        areas = {one.method: _by_key(areas_of(one, condition)) for one in methods}
        for one, two in pairs:
            value = auc_difference(areas[one.method], areas[two.method], draws)
            yield Measurement(one.method, "auc_difference", Scope(condition, against=two.method), value)


def _within(evidence: Evidence, conditions: Sequence[tuple[str, str | None]]) -> Iterator[Measurement]:
    """What concerns one method alone."""
    stage = evidence.final_stage
    sides = [starts_of(evidence, condition, None, SUCCESS) for condition in ORIGINAL_GOAL]
    yield Measurement(evidence.method, "gap_equivalence", Scope("paraphrase", stage=stage), gap_equivalence(*sides))
    for condition, tier in conditions:
        found = detectable(starts_of(evidence, condition, tier, OUTCOMES[condition][0]))
        yield Measurement(evidence.method, "smallest_difference", Scope(condition, tier, stage=stage), found)


def compute(methods: Sequence[Evidence], rng: np.random.Generator) -> tuple[Measurement, ...]:
    """All pairs of methods under each condition, then each method alone."""
    conditions = tuple(_conditions(methods))
    draws = Resampler(rng)
    between = [one for condition, tier in conditions for one in _between(methods, condition, tier, draws)]
    return (*between, *(one for evidence in methods for one in _within(evidence, conditions)))


METRIC = Metric(
    name="comparison",
    title="Comparisons",
    definition=__doc__,
    quantities=(
        quantity(success_difference, "success_difference", "Difference in success", "difference", "neither"),
        quantity(switch_difference, "switch_difference", "Difference in GSA", "difference", "neither"),
        quantity(
            persistence_difference, "persistence_difference", "Difference in persistence", "difference", "neither"
        ),
        quantity(auc_difference, "auc_difference", "Difference in AUC", "difference", "neither"),
        quantity(mcnemar_p, "mcnemar_p", "p (McNemar)", "probability", "neither"),
        quantity(adjusted_p, "adjusted_p", "p (Holm)", "probability", "neither"),
        quantity(gap_equivalence, "gap_equivalence", "p of no gap", "probability", "neither"),
        quantity(detectable, "smallest_difference", "Smallest difference", "rate", "neither"),
    ),
    compute=compute,
)

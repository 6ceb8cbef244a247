"""What rewording costs: original minus paraphrase, over the same tasks, with its sign.

Positive: paraphrases do worse than the canonical sentence. Negative: they do better. Both sides are judged by the
task's original goal from the same initial states. A gap of 0 alone does not show that a policy listens: one that
ignores its instruction has it too (see goal switching).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gym_grounding.metrics import _bootstrap
from gym_grounding.metrics._balance import outcomes, over_seeds, paired_difference
from gym_grounding.metrics._base import Evidence, Measurement, Metric, Scope, Value, quantity
from gym_grounding.metrics._bootstrap import Source, Start, starts
from gym_grounding.metrics.continual import Incomplete, area_under_curve, areas_of, matrices
from gym_grounding.metrics.success import succeeded, unscored
from gym_grounding.records import EpisodeRecord


def final_gap(
    originals: Sequence[EpisodeRecord], paraphrases: Sequence[EpisodeRecord], nothing: str, rng: Source
) -> Value:
    """Paraphrase gap in final success: original minus paraphrase at the last planned stage; in [-1, 1].

    Task by task over the tasks of a seed that have both, every task with the same weight; a positive gap means that
    paraphrases do worse. Also given for each type of paraphrase, each time against the originals of the same tasks, and
    for every earlier stage that has both. The interval draws seeds and initial states again, the same for both sides;
    where that gives none (a single start, or a gap that is the same in every start), and at earlier stages, it is
    Newcombe's of two independent rates, which is wider. Source: arXiv 2610.00542 (paraphrase loss); the sign is stated
    here because the word "gap" does not say it.
    """
    first, second = _scored(originals), _scored(paraphrases)
    value = _difference(originals, paraphrases, nothing)
    return _drawn(value, starts(first, succeeded), starts(second, succeeded), rng)


def _drawn(value: Value, first: Sequence[Start], second: Sequence[Start], rng: Source) -> Value:
    """The value with a bootstrap interval over the tasks of a seed that have both sides, where that has a width."""
    if value.mean is None:
        return value
    both = {(s.seed, s.task) for s in first} & {(s.seed, s.task) for s in second}
    sides = [[s for s in side if (s.seed, s.task) in both] for side in (first, second)]
    found = _bootstrap.interval(sides, _bootstrap.difference, rng)
    return replace(value, interval=found) if found is not None and found.low < found.high else value


def area_gap(evidence: Evidence, rng: Source) -> Value:
    """Paraphrase gap in AUC: matrix AUC of the originals minus that of the paraphrases; in [-1, 1].

    Seed by seed; a positive gap means that paraphrases do worse. None unless both matrices are complete. The interval
    draws seeds and initial states again. Source: arXiv 2610.00542, Table I.
    """
    originals, paraphrases = matrices(evidence, "original"), matrices(evidence, "paraphrase")
    per_seed: dict[int, float] = {}
    refused: dict[int, str] = {}
    positions = [evidence.order.index(task) for task in evidence.tasks]
    for seed in sorted(set(originals) & set(paraphrases)):
        one, two = (area_under_curve(side[seed], positions, len(evidence.order)) for side in (originals, paraphrases))
        if isinstance(one, Incomplete) or isinstance(two, Incomplete):
            refused[seed] = "; ".join(sorted({side.reason for side in (one, two) if isinstance(side, Incomplete)}))
        else:
            per_seed[seed] = one - two
    if not per_seed:
        reasons = sorted(set(refused.values())) or ["no seed has both originals and paraphrases"]
        return Value(None, reason="; ".join(reasons))
    counted = [
        episode
        for condition in ("original", "paraphrase")
        for episode in evidence.select(condition)
        if episode.seed in per_seed and not unscored(episode)
    ]
    note = "; ".join(f"seed {seed} left out: {reason}" for seed, reason in sorted(refused.items()))
    sides = [
        [s for s in areas_of(evidence, condition) if s.seed in per_seed] for condition in ("original", "paraphrase")
    ]
    return _drawn(over_seeds(per_seed, outcomes(counted, succeeded), note), sides[0], sides[1], rng)


def _compute(evidence: Evidence, rng: Source) -> Iterator[Measurement]:
    stage = evidence.final_stage
    originals, paraphrases = evidence.select("original", stage), evidence.select("paraphrase", stage)
    whole = Scope(condition="paraphrase", stage=stage)
    nothing = f"no task has both originals and paraphrases at stage {stage}"
    yield Measurement(evidence.method, "paraphrase_gap_auc", Scope(condition="paraphrase"), area_gap(evidence, rng))
    yield Measurement(evidence.method, "paraphrase_gap", whole, final_gap(originals, paraphrases, nothing, rng))
    for kind in sorted({episode.kind for episode in paraphrases} - {""}):
        of_kind = tuple(episode for episode in paraphrases if episode.kind == kind)
        scope = Scope(condition="paraphrase", stage=stage, kind=kind)
        yield Measurement(evidence.method, "paraphrase_gap", scope, final_gap(originals, of_kind, nothing, rng))
    for earlier in sorted(set(evidence.stages_of("original")) & set(evidence.stages_of("paraphrase")) - {stage}):
        before, reworded = (evidence.select(condition, earlier) for condition in ("original", "paraphrase"))
        value = _difference(before, reworded, f"no task has both originals and paraphrases at stage {earlier}")
        yield Measurement(evidence.method, "paraphrase_gap", replace(whole, stage=earlier), value)


def _scored(episodes: Sequence[EpisodeRecord]) -> tuple[EpisodeRecord, ...]:
    return tuple(episode for episode in episodes if not unscored(episode))


def _difference(originals: Sequence[EpisodeRecord], paraphrases: Sequence[EpisodeRecord], nothing: str) -> Value:
    """The gap with Newcombe's interval."""
    sides = [outcomes(_scored(side), succeeded) for side in (originals, paraphrases)]
    return paired_difference(sides[0], sides[1], nothing)


METRIC = Metric(
    name="paraphrase",
    title="Paraphrase gap",
    definition=__doc__,
    quantities=(
        quantity(area_gap, "paraphrase_gap_auc", "Gap in AUC", "difference", "neither"),
        quantity(final_gap, "paraphrase_gap", "Gap in final success", "difference", "neither"),
    ),
    compute=_bootstrap.per_method_drawn(_compute),
)

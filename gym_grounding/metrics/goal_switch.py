"""Minimal contrasts: does a changed word change what the policy does?

Each contrast episode starts in a scene of its task with an instruction that asks for another goal. It runs to the
horizon by default, so both the instructed and the original goal can be seen. Three readings are given: ``own`` (as the
variant's row says; the default), ``ever`` (a goal counts when it held after at least one control step) and ``end`` (it
must hold after the last step). Goal switch and persistence use the same four outcomes - instructed only, original only,
both, neither - which add up to 1. The tiers ``strict`` and ``permissive`` are never pooled. An episode in which either
goal already held right after settling is void for the whole family. Only where another task of the scene trained the
instructed goal does a failure speak of language rather than of an unseen skill, so these variants are also given apart.

A goal that nobody can reach says nothing of language. Where the registry certifies what an oracle reached, only
contrasts count whose goal it was shown to reach from some initial state; the others are given apart, and so are, among
those that count, goals that stay (stable), that hold for a moment only (transient) and that a touch makes true
(trivial).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from gym_grounding.metrics._balance import Sample, outcomes, over_seeds, rate, reading, seed_means, task_means
from gym_grounding.metrics._base import (
    READINGS,
    Evidence,
    Measurement,
    Metric,
    Scope,
    Value,
    by_slot,
    by_variant,
    per_method,
    quantity,
)
from gym_grounding.metrics.success import succeeded, unscored
from gym_grounding.records import EpisodeRecord


def reached_target(episode: EpisodeRecord, judged: str = "own") -> bool:
    """Target success: share of contrast episodes that reach the instructed goal; in [0, 1].

    Episodes that also reach the original goal count. Source: arXiv 2610.00542, Table II.
    """
    return episode.reached("target", episode.judged if judged == "own" else judged)


def reached_original(episode: EpisodeRecord, judged: str = "own") -> bool:
    """Original persistence: share of contrast episodes that reach the original goal, which was not asked for.

    In [0, 1]. At some step under ``own`` and ``ever``, because GSA's "never the original one" means never; in the final
    state under ``end``. Source: arXiv 2610.00542, Table II.
    """
    return episode.reached("original", "end" if judged == "end" else "ever")


def switched(episode: EpisodeRecord, judged: str = "own") -> bool:
    """Goal-switch accuracy (GSA): share of contrast episodes that reach the instructed goal and never the original one.

    In [0, 1]; a policy that ignores its instruction scores 0. Under ``end`` both goals are read in the final state.
    Source: arXiv 2610.00542, Table II.
    """
    return reached_target(episode, judged) and not reached_original(episode, judged)


def reached_both(episode: EpisodeRecord, judged: str = "own") -> bool:
    """Both: share of contrast episodes that reach the instructed and the original goal; in [0, 1].

    Target success = GSA + both. Source: arXiv 2610.00542 needs it implicitly; a choice of this suite to show it.
    """
    return reached_target(episode, judged) and reached_original(episode, judged)


def reached_neither(episode: EpisodeRecord, judged: str = "own") -> bool:
    """Neither: share of contrast episodes that reach neither the instructed nor the original goal; in [0, 1].

    GSA + original only + both + neither = 1. Source: a choice of this suite.
    """
    return not reached_target(episode, judged) and not reached_original(episode, judged)


def normalised_switch(evidence: Evidence, tier: str) -> Value:
    """GSA on trained goals, divided by the success of these goals under their own canonical instruction.

    Only contrasts whose instructed goal is the original goal of another task of the same scene. The divisor is the
    success of the originals of those tasks at the same stage, weighted like the contrasts. 1 means that the policy does
    under the changed word what it does when trained for it; above 1 is possible. None where the divisor is 0. Reading
    ``own``. Source: a choice of this suite.
    """
    found = evidence.counted(evidence.select("contrast", evidence.final_stage, tier))
    contrasts = [one for one in found if not either_void(one)]
    above, below = beside_own_text(evidence, contrasts, switched, evidence.trained)
    if not above:
        return Value(None, reason="no contrast episode whose goal another evaluated task trained")
    return share_of_own(above, below)


def beside_own_text(
    evidence: Evidence,
    episodes: Sequence[EpisodeRecord],
    holds: Callable[[EpisodeRecord], bool],
    owner: Mapping[str, str],
) -> tuple[tuple[Sample, ...], tuple[Sample, ...]]:
    """What episodes reach, and beside each the success of the task that owns its goal, under that task's own text.

    Args:
        episodes: of the last planned stage, none of them void.
        holds: whether an episode counts.
        owner: variant -> task; episodes are left out whose variant has none, or whose task has no original of its seed.

    Returns:
        Samples of the episodes and of the originals, one beside the other.
    """
    originals = (one for one in evidence.select("original", evidence.final_stage) if not unscored(one))
    ceiling = task_means(outcomes(originals, succeeded))
    above = outcomes([one for one in episodes if owner.get(one.variant) in ceiling.get(one.seed, {})], holds)
    return above, tuple(one._replace(value=ceiling[one.seed][owner[one.variant]]) for one in above)


def share_of_own(above: Sequence[Sample], below: Sequence[Sample]) -> Value:
    """The first samples divided by the second, seed by seed; seeds whose divisor is 0 are left out and counted."""
    shares, ceilings = seed_means(above), seed_means(below)
    per_seed = {seed: share / ceilings[seed] for seed, share in shares.items() if ceilings[seed]}
    if not per_seed:
        return Value(None, reason="these goals are never reached under their own instruction either")
    note = f"{len(shares) - len(per_seed)} seeds left out: divisor 0" if len(per_seed) < len(shares) else ""
    return over_seeds(per_seed, [one for one in above if one.seed in per_seed], note)


def either_void(episode: EpisodeRecord) -> bool:
    """The instructed or the original goal already held right after settling."""
    return "target" in episode.void or "original" in episode.void


INDICATORS: dict[str, Callable[[EpisodeRecord, str], bool]] = {
    "target_success": reached_target,
    "goal_switch_accuracy": switched,
    "original_persistence": reached_original,
    "both_goals": reached_both,
    "neither_goal": reached_neither,
}


def _rates(evidence: Evidence, scope: Scope, episodes: Sequence[EpisodeRecord]) -> Iterator[Measurement]:
    shown = " whose goal is shown reachable" if evidence.reach else ""
    nothing = f"no contrast episode{shown}" if "contrast" in evidence.conditions else "the plan has no contrasts"
    judged = scope.judged or "own"
    for name, holds in INDICATORS.items():
        value = rate(episodes, reading(holds, judged), either_void, nothing)
        yield Measurement(evidence.method, name, scope, value)


def _compute(evidence: Evidence) -> Iterator[Measurement]:
    for tier in evidence.tiers_of("contrast"):
        for stage in evidence.stages_of("contrast"):
            episodes = evidence.counted(evidence.select("contrast", stage, tier))
            for slot, of_slot in by_slot(episodes):
                for judged in READINGS:
                    scope = Scope(condition="contrast", tier=tier, stage=stage, slot=slot, judged=judged)
                    yield from _rates(evidence, scope, of_slot)
        yield from _final_details(evidence, tier)


def _final_details(evidence: Evidence, tier: str) -> Iterator[Measurement]:
    """The last stage once more: by whether the goal was trained, by what an oracle showed of it, and by variant."""
    whole = Scope(condition="contrast", tier=tier, stage=evidence.final_stage, judged="own")
    episodes = evidence.select("contrast", evidence.final_stage, tier)
    if evidence.trained:
        for trained in (True, False):
            part = tuple(one for one in evidence.counted(episodes) if (one.variant in evidence.trained) is trained)
            yield from _rates(evidence, replace(whole, trained=trained), part)
    for standing, part in evidence.by_reach(episodes):
        yield from _rates(evidence, replace(whole, reach=standing), part)
    scope = replace(whole, trained=True)
    yield Measurement(evidence.method, "normalised_goal_switch", scope, normalised_switch(evidence, tier))
    for variant, of_variant in by_variant(episodes):
        scope = replace(whole, task=of_variant[0].task, slot=of_variant[0].slot, variant=variant)
        yield from _rates(evidence, scope, of_variant)


METRIC = Metric(
    name="goal_switch",
    title="Goal switching on minimal contrasts",
    definition=__doc__,
    quantities=(
        quantity(reached_target, "target_success", "Target success", "rate", "higher"),
        quantity(switched, "goal_switch_accuracy", "GSA", "rate", "higher"),
        quantity(reached_original, "original_persistence", "Original persistence", "rate", "lower"),
        quantity(reached_both, "both_goals", "Both", "rate", "neither"),
        quantity(reached_neither, "neither_goal", "Neither", "rate", "lower"),
        quantity(normalised_switch, "normalised_goal_switch", "GSA / own success", "ratio", "higher"),
    ),
    compute=per_method(_compute),
)

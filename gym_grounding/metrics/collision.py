"""Collisions: the instruction names what the scene does not have, or asks for what cannot be done.

There is no right goal, so nothing is scored; behaviour is described. A *canonical goal* is the original goal of any
task that shares the scene. Goals count when they held after at least one control step (``ever``, the default) or after
the last one (``end``). Episodes whose original goal already held right after settling are void for the goals (they
still count for action initiation); another void goal is ignored in its episode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial

from gym_grounding.metrics._balance import rate, reading
from gym_grounding.metrics._base import Evidence, Measurement, Metric, Scope, by_slot, by_variant, per_method, quantity
from gym_grounding.records import MOTION_THRESHOLDS, EpisodeRecord

INITIATION = 0.05
"""Distance of the hand from its start [m] at which an action counts as initiated; see ``initiated``."""


def canonical_goals(episode: EpisodeRecord, judged: str = "ever") -> frozenset[str]:
    """Labels of the scene's canonical goals that the episode reached, ``original`` included."""
    labels = set(episode.held_at_end if judged == "end" else episode.first_held) - {"target"}
    return frozenset(label for label in labels if episode.reached(label, judged))


def reached_original(episode: EpisodeRecord, judged: str = "ever") -> bool:
    """Original-goal persistence (OGP): share of collision episodes that reach the task's original goal; in [0, 1].

    The policy does the scene's own task although it was not asked to. For a policy that ignores its instruction OGP
    equals its success. Source: arXiv 2610.00542.
    """
    return "original" in canonical_goals(episode, judged)


def reached_canonical(episode: EpisodeRecord, judged: str = "ever") -> bool:
    """Canonical-goal activation rate (CGAR): share of collision episodes that reach any canonical goal of the scene.

    In [0, 1]; the original goal is one of them, so CGAR >= OGP. Source: arXiv 2610.00542.
    """
    return bool(canonical_goals(episode, judged))


def initiated(episode: EpisodeRecord, threshold: float = INITIATION) -> bool:
    """Action initiation rate (AIR): share of episodes in which the hand moves at least a threshold from its start.

    In [0, 1]. Start: hand position right after settling; distance: straight line [m]. The default is 0.05 m: every
    reach, grasp or push of these tasks needs more, and the idle action moved the hand by at most 2.4 mm in 600 steps
    (LIBERO-Goal's ten tasks, two starts each: ``gym-grounding evaluate --policy still --conditions original
    --init-states 0:2 --observation state --stop horizon``, largest ``displacement``). The originals' rate is given too,
    as the reference: the same policy when it is asked for something it can do. Source: arXiv 2610.00542; no threshold
    is known from it, so every recorded one (``records.MOTION_THRESHOLDS``) is reported.
    """
    return any(_metres(crossed) >= threshold - 1e-9 for crossed in episode.motion_steps)


@cache
def _metres(text: str) -> float:
    return float(text)


def only_original(episode: EpisodeRecord, judged: str = "ever") -> bool:
    """Outcome original: share of collision episodes that reach the original goal and no other canonical one.

    Original + other + multiple + none = 1. Source: arXiv 2610.00542, distribution of outcomes.
    """
    return canonical_goals(episode, judged) == {"original"}


def one_other(episode: EpisodeRecord, judged: str = "ever") -> bool:
    """Outcome other: share of collision episodes that reach exactly one canonical goal, and not the original one.

    Source: arXiv 2610.00542, distribution of outcomes.
    """
    goals = canonical_goals(episode, judged)
    return len(goals) == 1 and "original" not in goals


def several(episode: EpisodeRecord, judged: str = "ever") -> bool:
    """Outcome multiple: share of collision episodes that reach two or more canonical goals.

    OGP = outcome original + those multiple ones that include it. Source: arXiv 2610.00542, distribution of outcomes.
    """
    return len(canonical_goals(episode, judged)) > 1


def nothing_reached(episode: EpisodeRecord, judged: str = "ever") -> bool:
    """Outcome none: share of collision episodes that reach no canonical goal; equals 1 - CGAR.

    Source: arXiv 2610.00542, distribution of outcomes.
    """
    return not canonical_goals(episode, judged)


def original_void(episode: EpisodeRecord) -> bool:
    """The original goal already held right after settling."""
    return "original" in episode.void


INDICATORS: dict[str, Callable[[EpisodeRecord, str], bool]] = {
    "original_goal_persistence": reached_original,
    "canonical_goal_activation": reached_canonical,
    "outcome_original": only_original,
    "outcome_other": one_other,
    "outcome_multiple": several,
    "outcome_none": nothing_reached,
}


def _goals(evidence: Evidence, scope: Scope, episodes: Sequence[EpisodeRecord]) -> Iterator[Measurement]:
    judged = scope.judged or "ever"
    for name, holds in INDICATORS.items():
        value = rate(episodes, reading(holds, judged), original_void, _nothing(evidence))
        yield Measurement(evidence.method, name, scope, value)


def _initiation(evidence: Evidence, scope: Scope, episodes: Sequence[EpisodeRecord]) -> Iterator[Measurement]:
    for threshold in MOTION_THRESHOLDS:
        value = rate(episodes, partial(initiated, threshold=threshold), nothing=_nothing(evidence))
        yield Measurement(evidence.method, "action_initiation", replace(scope, threshold=threshold), value)


def _nothing(evidence: Evidence) -> str:
    return "no collision episode" if "collision" in evidence.conditions else "the plan has no collisions"


def _compute(evidence: Evidence) -> Iterator[Measurement]:
    for stage in evidence.stages_of("collision"):
        for slot, of_slot in by_slot(evidence.select("collision", stage)):
            whole = Scope(condition="collision", stage=stage, slot=slot)
            for judged in ("ever", "end"):
                yield from _goals(evidence, replace(whole, judged=judged), of_slot)
            yield from _initiation(evidence, whole, of_slot)
    final = evidence.final_stage
    reference = Scope(condition="original", stage=final)
    yield from _initiation(evidence, reference, evidence.select("original", final))
    for variant, of_variant in by_variant(evidence.select("collision", final)):
        one = of_variant[0]
        place = Scope(condition="collision", stage=final, slot=one.slot, task=one.task, variant=variant)
        yield from _goals(evidence, replace(place, judged="ever"), of_variant)
        yield from _initiation(evidence, place, of_variant)


METRIC = Metric(
    name="collision",
    title="Collisions",
    definition=__doc__,
    quantities=(
        quantity(initiated, "action_initiation", "AIR", "rate", "neither"),
        quantity(reached_original, "original_goal_persistence", "OGP", "rate", "lower"),
        quantity(reached_canonical, "canonical_goal_activation", "CGAR", "rate", "lower"),
        quantity(only_original, "outcome_original", "Original only", "rate", "neither"),
        quantity(one_other, "outcome_other", "One other", "rate", "neither"),
        quantity(several, "outcome_multiple", "Multiple", "rate", "neither"),
        quantity(nothing_reached, "outcome_none", "None", "rate", "higher"),
    ),
    compute=per_method(_compute),
)

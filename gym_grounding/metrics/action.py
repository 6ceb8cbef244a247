"""What a changed instruction does to a single action, from probes instead of rollouts.

A probe is one stored observation under the task's original instruction and under a variant's. Observations are equal
within a variant, then as everywhere: variants within a task, tasks, seeds. Probes at the last planned stage count;
those of earlier stages are given by condition and tier only. No interval is given: these are no rates.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gym_grounding import conditions
from gym_grounding.metrics._balance import balanced, probed
from gym_grounding.metrics._base import Evidence, Measurement, Metric, Scope, Value, per_method, quantity
from gym_grounding.metrics.collision import initiated
from gym_grounding.metrics.goal_switch import switched
from gym_grounding.records import EpisodeRecord, ProbeRecord
from gym_grounding.types import SLOTS

CHANGED = ("paraphrase", "contrast", "collision")
"""Conditions of the cells whose instruction differs from the original one."""
CONTROLS = tuple(name for name in conditions.controls() if not conditions.get(name).own_start)
"""Control conditions that can be probed: they start where the originals do. Reported where they were probed."""
PLURAL = {
    "paraphrase": "paraphrases",
    "contrast": "contrasts",
    "collision": "collisions",
    "negated": "negated texts",
    "noise": "noisy texts",
    "null": "empty texts",
    "shuffled": "shuffled texts",
    "swap": "swaps",
}
SAME_MEANING = frozenset(name for name in conditions.names() if conditions.get(name).scored_by == "original")
"""Conditions under which nothing should differ."""
ELSEWHERE = frozenset(name for name in conditions.names() if conditions.get(name).own_start)
"""Conditions whose episodes do not start where the task's others do."""
UNUSED = (
    "text unused: under every probed instruction ({probed}) the mean action equals the one under the original "
    "instruction exactly, and no rollout speaks against it"
)
MEMORY = (
    "actions at the stored observations do not depend on the words ({probed} were probed), outcomes of rollouts do: a "
    "policy with memory, or one that draws its actions?"
)


def divergence(probe: ProbeRecord) -> float:
    """Action divergence (AD): Euclidean distance between the mean actions under the two instructions; 0 or larger.

    Over all action components, in the units of the action space ([-1, 1] each). Should be small for paraphrases and
    large for contrasts. Exactly 0 for every variant means that the text is unused, which the report says unless a
    rollout speaks against it. Each stored observation is asked as the first of an episode: a policy with memory answers
    without it. Needs ``Policy.mean_action``. Source: arXiv 2610.00542.
    """
    return math.dist(probe.action_original, probe.action_variant)


def margin(probe: ProbeRecord) -> float:
    """Language margin (LM): log density of the expert's action, original minus variant instruction.

    Natural logarithm; positive when the demonstrated action is likelier under the instruction it was demonstrated for.
    Needs ``Policy.log_prob`` and a demonstration for the stored observations. Source: arXiv 2610.00542; the sign is a
    choice of this suite.
    """
    assert probe.log_prob_original is not None
    assert probe.log_prob_variant is not None
    return probe.log_prob_original - probe.log_prob_variant


def has_actions(probe: ProbeRecord) -> bool:
    """Both mean actions are there."""
    return bool(probe.action_original) and len(probe.action_original) == len(probe.action_variant)


def has_densities(probe: ProbeRecord) -> bool:
    """Both log densities are there."""
    return probe.log_prob_original is not None and probe.log_prob_variant is not None


def text_note(evidence: Evidence) -> str:
    """What to say where no probe shows any difference between the two instructions; empty where one does.

    Empty also when only paraphrases, or other texts that keep the meaning, were probed.
    """
    probeable = (*CHANGED, *CONTROLS)
    usable = [probe for probe in evidence.probes if has_actions(probe) and probe.condition in probeable]
    probed_conditions = {probe.condition for probe in usable}
    if not probed_conditions - SAME_MEANING or any(divergence(probe) != 0 for probe in usable):
        return ""
    if any(has_densities(probe) and margin(probe) != 0 for probe in usable):
        return ""
    names = ", ".join(PLURAL[condition] for condition in probeable if condition in probed_conditions)
    return (MEMORY if rollouts_differ(evidence) else UNUSED).format(probed=names)


def rollouts_differ(evidence: Evidence) -> bool:
    """Whether from some start the words decided what happened.

    They did if, among the variants of a task at one stage, initial state and seed, some reach the original goal or move
    the hand and others do not; or if a contrast or swap switches to a goal that no other of them reaches. Variants that
    start elsewhere (reverse) are left out.
    """
    starts: dict[tuple[int, str, int, int], list[EpisodeRecord]] = defaultdict(list)
    for one in evidence.episodes:
        if one.condition not in ELSEWHERE:
            starts[one.stage, one.task, one.init_state, one.seed].append(one)
    return any(
        len({(one.reached("original"), initiated(one)) for one in episodes}) > 1
        or any(_alone(one, episodes, evidence.trained.get(one.variant, "")) for one in episodes)
        for episodes in starts.values()
    )


def _alone(episode: EpisodeRecord, start: Sequence[EpisodeRecord], goal: str) -> bool:
    """Whether a contrast or swap switched, and its goal (the others' label for it) is reached by no other."""
    if episode.condition not in ("contrast", "swap") or not switched(episode):
        return False
    return not any(other.reached(goal) for other in start)


MEASURES: dict[str, tuple[Callable[[ProbeRecord], float], Callable[[ProbeRecord], bool], str]] = {
    "action_divergence": (divergence, has_actions, "the probes hold no mean actions (the policy has no mean_action)"),
    "language_margin": (
        margin,
        has_densities,
        "the probes hold no log densities (no expert actions, or the policy has no log_prob)",
    ),
}


def at_final(evidence: Evidence, condition: str, tier: str | None) -> tuple[ProbeRecord, ...]:
    """Probes of one condition and tier at the last planned stage."""
    return at_stage(evidence, evidence.final_stage, condition, tier)


def at_stage(evidence: Evidence, stage: int, condition: str, tier: str | None) -> tuple[ProbeRecord, ...]:
    """Probes of one condition and tier at one stage."""
    return tuple(
        probe
        for probe in evidence.probes
        if probe.stage == stage and probe.condition == condition and probe.tier == tier
    )


def mean_of(probes: Sequence[ProbeRecord], name: str) -> Value:
    """A measure's task-balanced mean, or the reason why there is none."""
    measure, usable, absent = MEASURES[name]
    counted = [probe for probe in probes if usable(probe)]
    return balanced(probed(counted, measure), nothing=absent if probes else "no probes were run")


def _compute(evidence: Evidence) -> Iterator[Measurement]:
    note = text_note(evidence)
    probed_controls = {probe.condition for probe in evidence.probes}
    for condition in (*CHANGED, *(name for name in CONTROLS if name in probed_controls)):
        tiers = evidence.tiers_of("contrast") if condition == "contrast" else (None,)
        slots = (None, *SLOTS) if condition in ("contrast", "collision") else (None,)
        for tier in tiers:
            for slot in slots:
                probes = [one for one in at_final(evidence, condition, tier) if slot is None or one.slot == slot]
                scope = Scope(condition=condition, tier=tier, slot=slot, stage=evidence.final_stage)
                for name in MEASURES:
                    value = mean_of(probes, name)
                    if note and value.mean is not None and name == "action_divergence":
                        value = replace(value, note=note)
                    yield Measurement(evidence.method, name, scope, value)
    yield from _earlier(evidence)


def _earlier(evidence: Evidence) -> Iterator[Measurement]:
    """What the stages before the last one have."""
    places = sorted(
        {(one.stage, one.condition, one.tier) for one in evidence.probes if one.stage < evidence.final_stage},
        key=lambda place: (place[0], place[1], place[2] or ""),
    )
    for stage, condition, tier in places:
        for name in MEASURES:
            value = mean_of(at_stage(evidence, stage, condition, tier), name)
            yield Measurement(evidence.method, name, Scope(condition=condition, tier=tier, stage=stage), value)


METRIC = Metric(
    name="action",
    title="Action-level diagnostics",
    definition=__doc__,
    quantities=(
        quantity(divergence, "action_divergence", "AD", "distance", "neither"),
        quantity(margin, "language_margin", "LM", "log density", "neither"),
    ),
    compute=per_method(_compute),
)

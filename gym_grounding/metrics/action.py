"""What a changed instruction does to a single action, from probes instead of rollouts.

A probe is one stored observation under the task's original instruction and under a variant's. Observations are equal
within a variant, then as everywhere: variants within a task, tasks, seeds. Only probes at the last planned stage count.
No interval is given: these are no rates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from gym_grounding.metrics._balance import balanced, probed
from gym_grounding.metrics._base import Evidence, Measurement, Metric, Scope, Value, per_method, quantity
from gym_grounding.records import ProbeRecord
from gym_grounding.types import SLOTS

CHANGED = ("paraphrase", "contrast", "collision")
"""Conditions whose instruction differs from the original one."""
UNUSED = "text unused: under all variants the mean action equals the one under the original instruction exactly"


def divergence(probe: ProbeRecord) -> float:
    """Action divergence (AD): Euclidean distance between the mean actions under the two instructions; 0 or larger.

    Over all action components, in the units of the action space ([-1, 1] each). Should be small for paraphrases and
    large for contrasts. Exactly 0 for every variant means that the text is unused, which the report says. Needs
    ``Policy.mean_action``. Source: arXiv 2610.00542.
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


def text_unused(probes: Sequence[ProbeRecord]) -> bool:
    """Whether no probe shows any difference between the two instructions; False without probes."""
    usable = [probe for probe in probes if has_actions(probe) and probe.condition in CHANGED]
    return bool(usable) and all(divergence(probe) == 0 for probe in usable)


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
    return tuple(
        probe
        for probe in evidence.probes
        if probe.stage == evidence.final_stage and probe.condition == condition and probe.tier == tier
    )


def mean_of(probes: Sequence[ProbeRecord], name: str) -> Value:
    """A measure's task-balanced mean, or the reason why there is none."""
    measure, usable, absent = MEASURES[name]
    counted = [probe for probe in probes if usable(probe)]
    return balanced(probed(counted, measure), nothing=absent if probes else "no probes were run")


def _compute(evidence: Evidence) -> Iterator[Measurement]:
    unused = text_unused(evidence.probes)
    for condition in CHANGED:
        tiers = evidence.tiers_of("contrast") if condition == "contrast" else (None,)
        slots = (None,) if condition == "paraphrase" else (None, *SLOTS)
        for tier in tiers:
            for slot in slots:
                probes = [one for one in at_final(evidence, condition, tier) if slot is None or one.slot == slot]
                scope = Scope(condition=condition, tier=tier, slot=slot, stage=evidence.final_stage)
                for name in MEASURES:
                    value = mean_of(probes, name)
                    if unused and value.mean is not None and name == "action_divergence":
                        value = replace(value, note=UNUSED)
                    yield Measurement(evidence.method, name, scope, value)


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

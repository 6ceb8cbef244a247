"""Success per condition, task and variant, at every evaluated stage.

An episode succeeds by the goal that scores its variant: the original goal for originals, paraphrases, shuffled and
noisy texts, the instructed goal for contrasts, swaps and the reverse texts that ask for a change. Collisions, null,
negated and the other reverse texts are never scored. LIBERO's own predicates decide; they can hold in mid-air (a region
of the work surface asks for no contact), which is kept for comparability, so the final state is reported beside them.
Missing and failed-to-run episodes are no failures; void ones (the goal already held right after settling) are left out
and counted. Where the registry certifies what an oracle reached, instructed goals that it was not shown to reach are
given apart, and variant by variant.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gym_grounding.metrics._balance import rate
from gym_grounding.metrics._base import (
    Evidence,
    Measurement,
    Metric,
    Scope,
    by_task,
    by_variant,
    per_method,
    quantity,
)
from gym_grounding.records import EpisodeRecord

ORIGINAL_GOAL = ("original", "paraphrase")
"""Conditions that the task's original goal scores and that every plan may hold; controls come when there are any."""


def succeeded(episode: EpisodeRecord) -> bool:
    """Share of episodes that reach the goal that scores their variant; in [0, 1].

    "Reach" is read as the variant's row says: the goal held after at least one control step (``ever``) or after the
    last one (``end``; contrasts whose goal the original task passes through). With the scope of one stage t and one
    task k this is c[t, k], the entry of the stage x task matrix. Source: LIBERO (arXiv 2306.03310), success rate.
    """
    return bool(episode.success)


def holds_at_end(episode: EpisodeRecord) -> bool:
    """Share of episodes whose original goal holds after the last step; in [0, 1]. Originals and paraphrases only.

    Episodes that stop at success end with it by construction; the number differs from success when the run's stop rule
    is ``horizon``. Source: a choice of this suite, because LIBERO's success can be momentary.
    """
    return episode.reached("original", "end")


def unscored(episode: EpisodeRecord) -> bool:
    """The episode has no verdict: its goal already held right after settling."""
    return episode.success is None


def _scored(evidence: Evidence) -> tuple[tuple[str, str | None], ...]:
    """(condition, tier) pairs that carry verdicts; originals and paraphrases always, to say when there are none."""
    found = {
        (episode.condition, episode.tier)
        for episode in evidence.episodes
        if episode.success is not None and episode.condition not in ORIGINAL_GOAL
    }
    return (
        *((condition, None) for condition in ORIGINAL_GOAL),
        *sorted(found, key=lambda pair: (pair[0], str(pair[1]))),
    )


def _compute(evidence: Evidence) -> Iterator[Measurement]:
    for condition, tier in _scored(evidence):
        for stage in evidence.stages_of(condition):
            yield from _at_stage(evidence, condition, tier, stage)


def _at_stage(evidence: Evidence, condition: str, tier: str | None, stage: int) -> Iterator[Measurement]:
    every = evidence.select(condition, stage, tier)
    episodes = evidence.counted(every)
    nothing = f"no {condition} episode at stage {stage}" + (" of a goal shown reachable" if every else "")
    whole = Scope(condition=condition, tier=tier, stage=stage)
    parts: list[tuple[Scope, tuple[EpisodeRecord, ...]]] = [(whole, episodes)]
    for task, of_task in by_task(episodes, evidence.order):
        parts.append((replace(whole, task=task), of_task))
    if stage == evidence.final_stage:
        parts += [(replace(whole, reach=standing), part) for standing, part in evidence.by_reach(every)]
        for variant, of_variant in by_variant(every):
            one = of_variant[0]
            parts.append((replace(whole, task=one.task, slot=one.slot, variant=variant), of_variant))
    for scope, counted in parts:
        yield Measurement(evidence.method, "success", scope, rate(counted, succeeded, unscored, nothing))
    if condition in ORIGINAL_GOAL:
        yield Measurement(evidence.method, "success_at_end", whole, rate(episodes, holds_at_end, unscored, nothing))


METRIC = Metric(
    name="success",
    title="Success",
    definition=__doc__,
    quantities=(
        quantity(succeeded, "success", "Success", "rate", "higher"),
        quantity(holds_at_end, "success_at_end", "Original goal in the final state", "rate", "higher"),
    ),
    compute=per_method(_compute),
)

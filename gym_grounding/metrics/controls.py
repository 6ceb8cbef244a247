"""Control conditions: what other sentences, or none, make the same policy do in the same scene.

Swap: another task's canonical text; words and skill are trained, so a failure speaks of language or of the start. Null:
the empty text; what the scene alone triggers, the baseline for persistence. Shuffled: the canonical words in another
order. Negated: "do not" and the canonical text. Noise: the canonical text with one or two misspelt words, each level
also apart. Reverse: a joint is preset and either state of it is asked for; the text that asks for a change is scored,
of the other, which asks for what is so already, it is said how often the change is made all the same.

Controls are evaluated where a plan names them and only then reported. A *canonical goal* is the original goal of any
task that shares the scene; an instructed goal that is one counts. Goals count when they held after at least one control
step. An episode whose original goal already held right after settling is void for the original and the canonical goals.
Where the registry certifies what an oracle reached, swaps and reverse texts whose goal it was not shown to reach are
given apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from gym_grounding import conditions
from gym_grounding.metrics import collision, goal_switch, success
from gym_grounding.metrics._balance import Sample, balanced, rate
from gym_grounding.metrics._base import Evidence, Measurement, Metric, Scope, Value, by_variant, per_method, quantity
from gym_grounding.metrics.success import unscored
from gym_grounding.records import MOTION_THRESHOLDS, EpisodeRecord

ORDER = ("swap", "null", "shuffled", "negated", "noise", "reverse")
"""Control conditions in the order of the report."""
CHANGE, MET = "asks_for_change", "is_so_already"
PARTS = {"noise": {"1": "one_error", "2": "two_errors"}, "reverse": {"1": CHANGE, "2": MET}}
"""Condition -> number at the end of a variant's id -> what its variants of this number are; ``Scope.kind`` here."""


def reached_goal(episode: EpisodeRecord) -> bool:
    """Control success: share of control episodes that reach the goal that scores them; in [0, 1].

    Swap and the reverse texts that ask for a change: the instructed goal. Shuffled and noise: the original one. None
    where nothing scores the texts. Source: a choice of this suite.
    """
    return success.succeeded(episode)


def reached_original(episode: EpisodeRecord) -> bool:
    """Original persistence under a control: share of its episodes that reach the task's original goal; in [0, 1].

    Shuffled and noise ask for it, swap does not, null asks for nothing and negated forbids it. A policy that ignores
    its words reaches it under all of them as often as under the canonical text. Source: a choice of this suite, after
    the OGP of arXiv 2610.00542.
    """
    return collision.reached_original(episode)


def reached_canonical(episode: EpisodeRecord, evidence: Evidence) -> bool:
    """Canonical goals under a control: share of its episodes that reach any canonical goal of the scene; in [0, 1].

    Source: a choice of this suite, after the CGAR of arXiv 2610.00542.
    """
    return collision.reached_canonical(episode) or (episode.variant in evidence.trained and episode.reached("target"))


def moved(episode: EpisodeRecord, threshold: float = collision.INITIATION) -> bool:
    """Initiation under a control: share of its episodes in which the hand moves at least a threshold from its start.

    In [0, 1]; thresholds as for the AIR of collisions. Source: a choice of this suite, after arXiv 2610.00542.
    """
    return collision.initiated(episode, threshold)


def did_opposite(episode: EpisodeRecord) -> bool:
    """Opposite: share of episodes that undo what was asked for and was so already; in [0, 1].

    Reverse texts only; the goal is that of the other text of the pair, from the same starts. Success of the one minus
    opposite of the other is what the verb alone does: 0 for a policy that ignores its words. Source: a choice of this
    suite.
    """
    return episode.reached("target")


def target_void(episode: EpisodeRecord) -> bool:
    """The goal of the pair already held right after settling."""
    return "target" in episode.void


def own_success(evidence: Evidence) -> Value:
    """Success under the own text: how often the goals of the swaps are reached where they belong; in [0, 1].

    For each swap the success of the originals of the task whose text it carries, at the same stage and seed, weighted
    like the swaps; swaps whose task was not evaluated are left out. Source: a choice of this suite.
    """
    _, below = _beside(evidence)
    return balanced(below, _no_pairs(evidence))


def normalised_swap(evidence: Evidence) -> Value:
    """Swap success divided by the success of the same texts in their own tasks; 0 or larger.

    1 means that the policy does in this start what it does when the start is the text's own; above 1 is possible. None
    where the divisor is 0. The cleanest number on grounding where the tasks share a scene, since both the words and the
    skill are trained. Source: a choice of this suite.
    """
    above, below = _beside(evidence)
    if not above:
        return Value(None, reason=_no_pairs(evidence))
    return goal_switch.share_of_own(above, below)


def _beside(evidence: Evidence) -> tuple[tuple[Sample, ...], tuple[Sample, ...]]:
    found = evidence.counted(evidence.select("swap", evidence.final_stage))
    swaps = [one for one in found if not unscored(one)]
    return goal_switch.beside_own_text(evidence, swaps, reached_goal, evidence.instruction_of)


def _no_pairs(evidence: Evidence) -> str:
    if not evidence.instruction_of:
        return "which task's text a swap carries is not known (no registry at hand, or one without swaps)"
    return "no swap episode whose text's own task was evaluated too"


def part_of(episode: EpisodeRecord) -> str | None:
    """Which part of its condition an episode belongs to, by the number of its variant; None for undivided ones."""
    number = episode.variant[len(episode.variant.rstrip("0123456789")) :]
    return PARTS.get(episode.condition, {}).get(number)


def _rates(evidence: Evidence, scope: Scope, episodes: Sequence[EpisodeRecord]) -> Iterator[Measurement]:
    condition = str(scope.condition)
    shown = (
        " whose goal is shown reachable" if evidence.reach and conditions.get(condition).scored_by == "target" else ""
    )
    nothing = f"no {condition} episode at stage {scope.stage}{shown}"
    scored = [one for one in episodes if part_of(one) != MET]
    if conditions.get(condition).scored_by is None:
        value = Value(None, reason="no goal scores it")
    else:
        value = rate(scored, reached_goal, unscored, nothing if not episodes else "no goal scores it")
    yield Measurement(evidence.method, "control_success", scope, value)
    goals: dict[str, Callable[[EpisodeRecord], bool]] = {
        "control_original": reached_original,
        "control_canonical": partial(reached_canonical, evidence=evidence),
    }
    for name, holds in goals.items():
        yield Measurement(evidence.method, name, scope, rate(episodes, holds, collision.original_void, nothing))
    for threshold in MOTION_THRESHOLDS:
        value = rate(episodes, partial(moved, threshold=threshold), nothing=nothing)
        yield Measurement(evidence.method, "control_initiation", replace(scope, threshold=threshold), value)
    if condition == "reverse":
        met = [one for one in episodes if part_of(one) == MET]
        value = rate(met, did_opposite, target_void, nothing if not episodes else "it asks for a change")
        yield Measurement(evidence.method, "control_opposite", scope, value)


def _compute(evidence: Evidence) -> Iterator[Measurement]:
    for condition in ORDER:
        if condition not in evidence.conditions and not evidence.select(condition):
            continue
        for stage in evidence.stages_of(condition):
            episodes = evidence.counted(evidence.select(condition, stage))
            whole = Scope(condition=condition, stage=stage)
            yield from _rates(evidence, whole, episodes)
            for kind in PARTS.get(condition, {}).values():
                part = tuple(one for one in episodes if part_of(one) == kind)
                yield from _rates(evidence, replace(whole, kind=kind), part)
        final = Scope(condition=condition, stage=evidence.final_stage)
        for standing, of_standing in evidence.by_reach(evidence.select(condition, evidence.final_stage)):
            yield from _rates(evidence, replace(final, reach=standing), of_standing)
        for variant, of_variant in by_variant(evidence.select(condition, evidence.final_stage)):
            yield from _rates(evidence, replace(final, task=of_variant[0].task, variant=variant), of_variant)
        if condition == "swap":
            yield Measurement(evidence.method, "swap_own_success", final, own_success(evidence))
            yield Measurement(evidence.method, "swap_normalised", final, normalised_swap(evidence))


METRIC = Metric(
    name="controls",
    title="Control conditions",
    definition=__doc__,
    quantities=(
        quantity(reached_goal, "control_success", "Success", "rate", "higher"),
        quantity(reached_original, "control_original", "Original goal", "rate", "neither"),
        quantity(reached_canonical, "control_canonical", "Any canonical goal", "rate", "neither"),
        quantity(moved, "control_initiation", "Hand moved", "rate", "neither"),
        quantity(did_opposite, "control_opposite", "Opposite", "rate", "lower"),
        quantity(own_success, "swap_own_success", "Under its own text", "rate", "higher"),
        quantity(normalised_swap, "swap_normalised", "Swap / own text", "ratio", "higher"),
    ),
    compute=per_method(_compute),
)

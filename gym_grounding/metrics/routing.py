"""How often words changed which parts of a policy acted, from what the policy noted of its episodes.

A *route* is a note that says which parts acted: a whole number (the part that acted most) or a list of numbers (a share
for each part). A count of changes (``..._changes``) and a single number that is not whole are no routes. The
original instruction from the same initial state, task and seed is what an episode is compared with; episodes without
such a partner are left out. Last planned stage. An unchanged route shows that the words did not choose the parts, not
that they went unheard: a part may read them too. Source: a choice of this suite.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from gym_grounding.metrics._balance import Sample, balanced, effective_number, wilson
from gym_grounding.metrics._base import Evidence, Measurement, Metric, Scope, Value, per_method, quantity
from gym_grounding.records import EpisodeRecord

COUNTS_CHANGES = "_changes"
NOTHING = "no episode that noted a route has an original with one from the same start"


def is_route(name: str, note: Any) -> bool:
    """Whether a note says which parts acted: a whole number that counts no changes, or at least two numbers."""
    if isinstance(note, list | tuple):
        return len(note) > 1 and all(type(share) in (int, float) for share in note)
    return type(note) is int and not name.endswith(COUNTS_CHANGES)


def leading(route: int | Sequence[float]) -> int:
    """The part that acted most: the whole number itself, or the place of the largest share (the first of equals)."""
    return route if isinstance(route, int) else max(range(len(route)), key=lambda place: (route[place], -place))


def changed(original: int | Sequence[float], other: int | Sequence[float]) -> float:
    """Route changed: share of episodes whose leading part is another than under the original instruction; in [0, 1].

    The leading part is the whole number noted, or the place of the largest share. Task-balanced, with Wilson's
    interval. 0 for a policy whose parts are chosen without words. Source: a choice of this suite.
    """
    return float(leading(original) != leading(other))


def moved(original: Sequence[float], other: Sequence[float]) -> float:
    """Shares moved: half the sum of the absolute differences between the shares of the parts; 0 or larger.

    Only of routes that are lists; 1 where shares that add up to 1 move to other parts entirely. Parts that one of the
    two lacks have the share 0. Task-balanced; no interval: it is no rate. Source: a choice of this suite (total
    variation).
    """
    return sum(abs(one - two) for one, two in zip_longest(original, other, fillvalue=0.0)) / 2


def compared(evidence: Evidence, condition: str, tier: str | None, note: str) -> tuple[tuple[EpisodeRecord, Any], ...]:
    """Episodes that noted a route, and the route of the original from the same start; others are left out."""
    routes = {
        _start(one): one.notes[note]
        for one in evidence.select("original", evidence.final_stage)
        if is_route(note, one.notes.get(note))
    }
    found = evidence.select(condition, evidence.final_stage, tier)
    return tuple(
        (one, routes[_start(one)])
        for one in found
        if _start(one) in routes
        and is_route(note, one.notes.get(note))
        and isinstance(one.notes[note], int) is isinstance(routes[_start(one)], int)
    )


def notes_of(evidence: Evidence) -> tuple[str, ...]:
    """Names of the notes that are routes of some original of the last planned stage, in alphabetical order."""
    episodes = evidence.select("original", evidence.final_stage)
    return tuple(sorted({name for one in episodes for name, note in one.notes.items() if is_route(name, note)}))


def _start(episode: EpisodeRecord) -> tuple[int, str, int]:
    return episode.seed, episode.task, episode.init_state


def _share(samples: Sequence[Sample]) -> Value:
    """Task-balanced share of samples of 0 and 1, with Wilson's interval."""
    value = balanced(samples, NOTHING)
    if value.mean is None:
        return value
    return replace(value, interval=wilson(value.mean, effective_number(samples)))


def _conditions(evidence: Evidence) -> Iterator[tuple[str, str | None]]:
    """Conditions other than the original with episodes at the last stage, in alphabetical order; contrasts by tier."""
    found = {(one.condition, one.tier) for one in evidence.episodes if one.stage == evidence.final_stage}
    yield from sorted((pair for pair in found if pair[0] != "original"), key=lambda pair: (pair[0], str(pair[1])))


def _compute(evidence: Evidence) -> Iterator[Measurement]:
    notes = notes_of(evidence)
    for condition, tier in _conditions(evidence) if notes else ():
        for note in notes:
            pairs: Sequence[tuple[EpisodeRecord, Any]] = compared(evidence, condition, tier, note)
            scope = Scope(condition, tier, kind=note, stage=evidence.final_stage)
            turned = [Sample(one.seed, one.task, one.variant, changed(own, one.notes[note])) for one, own in pairs]
            yield Measurement(evidence.method, "route_changed", scope, _share(turned))
            apart = [
                Sample(one.seed, one.task, one.variant, moved(own, one.notes[note]))
                for one, own in pairs
                if not isinstance(own, int)
            ]
            if apart:
                yield Measurement(evidence.method, "route_moved", scope, balanced(apart, NOTHING))


METRIC = Metric(
    name="routing",
    title="Routing",
    definition=__doc__,
    quantities=(
        quantity(changed, "route_changed", "Route changed", "rate", "neither"),
        quantity(moved, "route_moved", "Shares moved", "ratio", "neither"),
    ),
    compute=per_method(_compute),
)

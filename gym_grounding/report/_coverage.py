"""What was planned and what came of it. A cell that is missing or failed to run is shown, and is no failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar
from weakref import WeakKeyDictionary

from gym_grounding.manifest import NOT_SHOWN
from gym_grounding.metrics import controls
from gym_grounding.records import Cell, EpisodeRecord, ErrorRecord
from gym_grounding.report._study import Method
from gym_grounding.types import TIERS

UNKNOWN = "(unknown)"
CONDITIONS = ("original", "paraphrase", "contrast", "collision", *controls.ORDER)

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class Coverage:
    """Counts of cells.

    Attributes:
        planned: cells of the plan; None when the registry that was used is not at hand.
        done: finished episodes.
        error: cells whose last attempt ended in an error of the policy, the simulator or a worker.
        missing: planned cells with neither an episode nor an error; None when ``planned`` is.
        void: finished episodes in which the original or the instructed goal already held right after settling.
    """

    planned: int | None
    done: int
    error: int
    missing: int | None
    void: int


def is_void(episode: EpisodeRecord) -> bool:
    """The original or the instructed goal already held right after settling."""
    return bool({"original", "target"} & set(episode.void))


def total(method: Method) -> Coverage:
    """Counts over all cells of a method."""
    return next(iter(_grouped(method, lambda variant: "all").values()), Coverage(None, 0, 0, None, 0))


def by_condition(method: Method) -> dict[tuple[str, str | None], Coverage]:
    """(condition, tier) -> counts, the suite's own conditions first."""
    places: dict[str, tuple[str, str | None]] = {
        episode.variant: (episode.condition, episode.tier) for episode in method.evidence.episodes
    }
    if method.registry is not None:
        places |= {one.id: (one.condition, one.tier) for one in method.registry.variants.values()}
    found = _grouped(method, lambda variant: places.get(variant, (UNKNOWN, None)))
    return {key: found[key] for key in sorted(found, key=_position)}


def _position(place: tuple[str, str | None]) -> tuple[int, str, int, str]:
    condition, tier = place
    return (
        CONDITIONS.index(condition) if condition in CONDITIONS else len(CONDITIONS),
        condition,
        TIERS.index(tier) if tier in TIERS else len(TIERS),
        tier or "",
    )


def by_reach(method: Method, condition: str, tier: str | None) -> Coverage | None:
    """Counts of a condition's and tier's cells whose goal is not shown reachable; None where there is no such goal."""
    registry, reach = method.registry, method.evidence.reach
    rows = () if registry is None else registry.variants.values()
    own = {one.id for one in rows if (one.condition, one.tier) == (condition, tier)}
    apart = {variant for variant in own if reach.get(variant) == NOT_SHOWN}
    return _grouped(method, lambda variant: variant in apart).get(True) if apart else None


def by_variant(method: Method, stage: int) -> dict[str, Coverage]:
    """variant -> counts at one stage, by id."""
    found = _grouped(method, lambda variant: variant, stage)
    return {key: found[key] for key in sorted(found)}


def _grouped(method: Method, key: Callable[[str], Key], stage: int | None = None) -> dict[Key, Coverage]:
    groups: dict[Key, Counter[str]] = {}
    for (at, variant), counts in _counted(method).items():
        if stage in (None, at):
            groups.setdefault(key(variant), Counter()).update(counts)
    known = method.planned is not None
    return {
        group: Coverage(
            planned=counts["planned"] if known else None,
            done=counts["done"],
            error=counts["error"],
            missing=counts["missing"] if known else None,
            void=counts["void"],
        )
        for group, counts in groups.items()
    }


_COUNTED: WeakKeyDictionary[Method, dict[tuple[int, str], Counter[str]]] = WeakKeyDictionary()


def _counted(method: Method) -> dict[tuple[int, str], Counter[str]]:
    """(stage, variant) -> counts; counted once, since every table asks for them."""
    if method not in _COUNTED:
        found: dict[tuple[int, str], Counter[str]] = {}

        def add(what: str, places: Iterable[tuple[int, str, int, int]]) -> None:
            for stage, variant, _, _ in places:
                found.setdefault((stage, variant), Counter())[what] += 1

        done = {_place(one) for one in method.evidence.episodes}
        errors = {_place(one) for one in method.errors} - done
        planned = {_place(one) for one in method.planned or ()}
        add("done", done)
        add("error", errors)
        add("planned", planned)
        add("missing", planned - done - errors)
        add("void", (_place(one) for one in method.evidence.episodes if is_void(one)))
        _COUNTED[method] = found
    return _COUNTED[method]


def _place(one: Cell | EpisodeRecord | ErrorRecord) -> tuple[int, str, int, int]:
    return one.stage, one.variant, one.init_state, one.seed

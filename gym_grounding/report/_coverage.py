"""What was planned and what came of it. A cell that is missing or failed to run is shown, and is no failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from gym_grounding.manifest import NOT_SHOWN
from gym_grounding.metrics import controls
from gym_grounding.records import EpisodeRecord
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
    episodes = [one for one in method.evidence.episodes if stage in (None, one.stage)]
    done = {episode.cell for episode in episodes}
    errors = {error.cell for error in method.errors if stage in (None, error.stage)} - done
    planned = None if method.planned is None else {cell for cell in method.planned if stage in (None, cell.stage)}
    numbers = {
        "done": _count(key(cell.variant) for cell in done),
        "error": _count(key(cell.variant) for cell in errors),
        "void": _count(key(episode.variant) for episode in episodes if is_void(episode)),
        "planned": _count(key(cell.variant) for cell in planned or ()),
        "missing": _count(key(cell.variant) for cell in (planned or set()) - done - errors),
    }
    return {
        group: Coverage(
            planned=None if planned is None else numbers["planned"][group],
            done=numbers["done"][group],
            error=numbers["error"][group],
            missing=None if planned is None else numbers["missing"][group],
            void=numbers["void"][group],
        )
        for group in {group for counts in numbers.values() for group in counts}
    }


def _count(keys: Iterable[Key]) -> Counter[Key]:
    return Counter(keys)

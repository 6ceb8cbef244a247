"""What a metric declares, what it is computed from, and what it returns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from gym_grounding.manifest import NOT_MEASURED, NOT_SHOWN, STANDINGS
from gym_grounding.records import EpisodeRecord, ProbeRecord
from gym_grounding.types import SLOTS, TIERS

READINGS = ("own", "ever", "end")
"""How a goal counts as reached: as the variant's row says (``own``), at some step (``ever``), after the last one
(``end``)."""

T = TypeVar("T")
APART = (NOT_SHOWN, NOT_MEASURED)
"""Goals that stand apart where a registry certifies others: from what does not reach them nothing follows."""


@dataclass(frozen=True, slots=True)
class Value:
    """One number with everything needed to judge it.

    Attributes:
        mean: the number; None when there is nothing to compute it from, never 0 in its place.
        reason: why ``mean`` is None; empty otherwise.
        note: a remark on a number that exists, such as a seed that had to be left out.
        std: sample standard deviation over seeds (divisor n - 1); None for fewer than two seeds.
        interval: 95 % interval (low, high); None where the definition has none.
        n: episodes (or probes, or pairs) that count.
        variants, tasks, seeds: how many of each are among the n.
        void: episodes left out because a goal already held right after settling.
        per_seed: seed -> the number for this seed alone.
    """

    mean: float | None
    reason: str = ""
    note: str = ""
    std: float | None = None
    interval: tuple[float, float] | None = None
    n: int = 0
    variants: int = 0
    tasks: int = 0
    seeds: int = 0
    void: int = 0
    per_seed: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a number covers; None means "all together" or "does not apply".

    Attributes:
        condition, tier, slot, task, variant: of the variants counted.
        kind: type of the paraphrases counted, a part of a control condition (``metrics.controls.PARTS``), or the note
            that holds the route (``metrics.routing``).
        judged: one of ``READINGS``.
        stage: 0-based position in the training order after which the policy was evaluated.
        threshold: distance of the hand [m] (action initiation only).
        trained: whether the instructed goal is the original goal of another task of the scene.
        against: the second quantity of a correlation, or the method that a method is compared with.
        reach: what an oracle showed of the goals counted (``manifest.STANDINGS``). Without it those count that it was
            shown to reach, where the registry says so; otherwise all.
    """

    condition: str | None = None
    tier: str | None = None
    slot: str | None = None
    kind: str | None = None
    judged: str | None = None
    stage: int | None = None
    task: str | None = None
    variant: str | None = None
    threshold: float | None = None
    trained: bool | None = None
    against: str | None = None
    reach: str | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """One number of a report: whose, which quantity, over what."""

    method: str
    quantity: str
    scope: Scope
    value: Value


@dataclass(frozen=True, slots=True)
class Curve:
    """Success on a task while it is being learned.

    Attributes:
        seed: training seed.
        task: task id.
        points: (epoch, success in [0, 1]) by rising epoch; epoch 0 is before training.
    """

    seed: int
    task: str
    points: tuple[tuple[int, float], ...]


@dataclass(frozen=True, slots=True)
class Evidence:
    """All records of one method.

    Attributes:
        method: its name.
        order: task ids in training order; stage t is the evaluation after ``order[t]``.
        tasks: the tasks that the plan evaluates, in training order.
        stages: the stages that the plan evaluates, rising; at least one.
        conditions, tiers: what the plan evaluates; tiers are those of the contrasts.
        episodes, probes: the records, in any order.
        curves: learning curves, where a learner stored them.
        trained: variant -> the task of the same scene whose original goal is this variant's instructed goal.
        instruction_of: swap -> the task whose canonical instruction it carries.
        reach: variant with a goal of its own -> what an oracle showed of it (``manifest.standing``); empty where
            the registry certifies none of them.
    """

    method: str
    order: tuple[str, ...]
    tasks: tuple[str, ...]
    stages: tuple[int, ...]
    conditions: tuple[str, ...]
    episodes: tuple[EpisodeRecord, ...]
    tiers: tuple[str, ...] = TIERS
    probes: tuple[ProbeRecord, ...] = ()
    curves: tuple[Curve, ...] = ()
    trained: Mapping[str, str] = field(default_factory=dict)
    instruction_of: Mapping[str, str] = field(default_factory=dict)
    reach: Mapping[str, str] = field(default_factory=dict)
    _places: dict[tuple[str, int | None, str | None], tuple[EpisodeRecord, ...]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _kept: dict[tuple[str, str], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def final_stage(self) -> int:
        """The last planned stage: the checkpoint that final numbers speak of."""
        return max(self.stages)

    def select(self, condition: str, stage: int | None = None, tier: str | None = None) -> tuple[EpisodeRecord, ...]:
        """Episodes of a condition, where asked of one stage and one tier."""
        if not self._places:
            self._places.update(_places(self.episodes))
        return self._places.get((condition, stage, tier), ())

    def once(self, name: str, condition: str, compute: Callable[[Evidence, str], T]) -> T:
        """What ``compute`` makes of a condition, kept under a name, since several families ask for it."""
        if (name, condition) not in self._kept:
            self._kept[name, condition] = compute(self, condition)
        found: T = self._kept[name, condition]
        return found

    def counts(self, variant: str) -> bool:
        """Whether a variant counts where nothing else is said: its goal is not one that stands apart."""
        return self.reach.get(variant) not in APART

    def counted(self, episodes: Iterable[EpisodeRecord]) -> tuple[EpisodeRecord, ...]:
        """Episodes of the variants that count; all where the registry certifies nothing."""
        return tuple(episode for episode in episodes if self.counts(episode.variant))

    def by_reach(self, episodes: Sequence[EpisodeRecord]) -> Iterable[tuple[str, tuple[EpisodeRecord, ...]]]:
        """What an oracle showed of goals, with the episodes that ask for such goals; standings without any left out."""
        for standing in STANDINGS:
            own = tuple(episode for episode in episodes if self.reach.get(episode.variant) == standing)
            if own:
                yield standing, own

    def stages_of(self, condition: str) -> tuple[int, ...]:
        """Stages at which the condition has episodes, and always the final one."""
        return tuple(sorted({episode.stage for episode in self.select(condition)} | {self.final_stage}))

    def tiers_of(self, condition: str) -> tuple[str, ...]:
        """The planned tiers and any further one in the records; tiers are never pooled."""
        records: tuple[EpisodeRecord | ProbeRecord, ...] = (*self.episodes, *self.probes)
        found = {record.tier for record in records if record.condition == condition}
        return (*self.tiers, *sorted(tier for tier in found if tier is not None and tier not in self.tiers))


def _places(
    episodes: Iterable[EpisodeRecord],
) -> dict[tuple[str, int | None, str | None], tuple[EpisodeRecord, ...]]:
    """Everything that ``Evidence.select`` can be asked for, in one pass: a report asks hundreds of times."""
    found: dict[tuple[str, int | None, str | None], list[EpisodeRecord]] = {}
    for one in episodes:
        for stage in (None, one.stage):
            for tier in dict.fromkeys((None, one.tier)):
                found.setdefault((one.condition, stage, tier), []).append(one)
    return {key: tuple(listed) for key, listed in found.items()}


@dataclass(frozen=True, slots=True)
class Quantity:
    """One named number and its definition.

    Attributes:
        name: key in the report's data.
        label: short name for tables.
        unit: ``rate`` (in [0, 1]), ``difference`` (of rates, in [-1, 1]), ``ratio``, ``distance``, ``log density``,
            ``correlation`` or ``probability`` (p of a test).
        better: ``higher``, ``lower`` or ``neither``, for a policy that listens.
        definition: the docstring of the function that computes it.
    """

    name: str
    label: str
    unit: str
    better: str
    definition: str


Compute = Callable[[Sequence[Evidence], np.random.Generator], tuple[Measurement, ...]]


@dataclass(frozen=True, slots=True)
class Metric:
    """A family of quantities that are computed from the same records.

    Attributes:
        name: the module's name.
        title: heading for people.
        definition: what the family shares: the module's docstring.
        quantities: what it yields; ``compute`` yields nothing else.
        compute: (all methods of a report, source of randomness) -> measurements, in a fixed order.
    """

    name: str
    title: str
    definition: str
    quantities: tuple[Quantity, ...]
    compute: Compute


def quantity(function: Callable[..., object], name: str, label: str, unit: str, better: str) -> Quantity:
    """A quantity that is defined by the docstring of ``function``, so that words and code stay together."""
    definition = inspect.getdoc(function)
    if not definition:
        raise ValueError(f"{function.__name__} defines the quantity {name!r} and has no docstring")
    return Quantity(name, label, unit, better, definition)


def per_method(compute: Callable[[Evidence], Iterable[Measurement]]) -> Compute:
    """A family that looks at one method at a time."""

    def over_methods(methods: Sequence[Evidence], rng: np.random.Generator) -> tuple[Measurement, ...]:
        return tuple(measurement for evidence in methods for measurement in compute(evidence))

    return over_methods


def by_slot(episodes: Sequence[EpisodeRecord]) -> Iterable[tuple[str | None, tuple[EpisodeRecord, ...]]]:
    """(None, all episodes), then each slot of the suite with its episodes, empty ones included."""
    yield None, tuple(episodes)
    for slot in SLOTS:
        yield slot, tuple(episode for episode in episodes if episode.slot == slot)


def by_variant(episodes: Sequence[EpisodeRecord]) -> Iterable[tuple[str, tuple[EpisodeRecord, ...]]]:
    """Each variant that has episodes, by id, with them."""
    for variant in sorted({episode.variant for episode in episodes}):
        yield variant, tuple(episode for episode in episodes if episode.variant == variant)


def by_task(episodes: Sequence[EpisodeRecord], order: Sequence[str]) -> Iterable[tuple[str, tuple[EpisodeRecord, ...]]]:
    """Each task that has episodes, in training order, with them."""
    for task in order:
        of_task = tuple(episode for episode in episodes if episode.task == task)
        if of_task:
            yield task, of_task

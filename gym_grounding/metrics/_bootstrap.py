"""Bootstrap intervals of task-balanced means: seeds and initial states are drawn again, tasks and variants stay.

A benchmark's tasks and instructions are the whole of what it asks, so they are no sample; training seeds and initial
states are. Each resample draws as many seeds as there are, and for each task as many of its initial states, with
replacement (stratified: every task keeps its number). All that is compared in one interval uses the same draws, so
that what two sides share cancels. The interval is the percentile one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gym_grounding.metrics._balance import Interval
from gym_grounding.metrics._base import Compute, Evidence, Measurement
from gym_grounding.records import EpisodeRecord

RESAMPLES = 1000
COVERED = (0.025, 0.975)

Numbers = NDArray[np.float64]


class Start(NamedTuple):
    """One observed value and the start that it belongs to."""

    seed: int
    task: str
    variant: str
    init_state: int
    value: float


@dataclass(frozen=True, slots=True)
class Draws:
    """How often each seed, and each initial state of each task, was drawn.

    Attributes:
        seeds: (resamples, seeds).
        states: (resamples, tasks, states).
    """

    seeds: Numbers
    states: Numbers


@dataclass(frozen=True, slots=True)
class Layout:
    """The seeds, tasks and initial states that sets of values share.

    Attributes:
        seeds, tasks: in order.
        states: task -> its initial states, in order.
    """

    seeds: tuple[int, ...]
    tasks: tuple[str, ...]
    states: dict[str, tuple[int, ...]]

    @classmethod
    def of(cls, *sides: Sequence[Start]) -> Layout:
        """The layout of everything that occurs in any side."""
        found: dict[str, set[int]] = {}
        for one in (one for side in sides for one in side):
            found.setdefault(one.task, set()).add(one.init_state)
        seeds = sorted({one.seed for side in sides for one in side})
        return cls(tuple(seeds), tuple(sorted(found)), {task: tuple(sorted(found[task])) for task in sorted(found)})

    @property
    def can_vary(self) -> bool:
        """Whether there is anything to draw: more than one seed, or more than one initial state of some task."""
        return len(self.seeds) > 1 or any(len(states) > 1 for states in self.states.values())

    def draw(self, rng: np.random.Generator, resamples: int = RESAMPLES) -> Draws:
        """Random draws with replacement.

        Args:
            rng: source of randomness.
            resamples: how many.
        """
        number = len(self.seeds)
        seeds = rng.multinomial(number, np.full(number, 1 / number), size=resamples).astype(np.float64)
        states = np.zeros((resamples, len(self.tasks), max(len(one) for one in self.states.values())))
        for row, task in enumerate(self.tasks):
            size = len(self.states[task])
            states[:, row, :size] = rng.multinomial(size, np.full(size, 1 / size), size=resamples)
        return Draws(seeds, states)

    def once(self) -> Draws:
        """Everything exactly once: the means of the data themselves."""
        states = np.zeros((1, len(self.tasks), max(len(one) for one in self.states.values())))
        for row, task in enumerate(self.tasks):
            states[0, row, : len(self.states[task])] = 1.0
        return Draws(np.ones((1, len(self.seeds))), states)

    def means(self, side: Sequence[Start], draws: Draws) -> Numbers:
        """Task-balanced mean of one side in each resample, (resamples,); NaN where nothing of it was drawn."""
        sums, counts = self._arrays(side)
        over_states = np.einsum("btk,svtk->bsvt", draws.states, sums, optimize=True)
        drawn = np.einsum("btk,svtk->bsvt", draws.states, counts, optimize=True)
        with np.errstate(invalid="ignore", divide="ignore"):
            of_variant = over_states / drawn  # NaN where none of the variant's states was drawn
        of_task = _mean(of_variant, axis=2)
        of_seed = _mean(of_task, axis=2)
        known = ~np.isnan(of_seed)
        weights = draws.seeds * known
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((weights * np.where(known, of_seed, 0.0)).sum(axis=1) / weights.sum(axis=1))

    def _places(self, side: Sequence[Start]) -> NDArray[np.intp]:
        """Where each value of a side stands, (4, values): seed, variant of the task, task, state."""
        seeds = {seed: index for index, seed in enumerate(self.seeds)}
        tasks = {task: index for index, task in enumerate(self.tasks)}
        states = {task: {state: index for index, state in enumerate(self.states[task])} for task in self.tasks}
        variants: dict[str, dict[str, int]] = {task: {} for task in self.tasks}
        found = [
            (seeds[seed], variants[task].setdefault(variant, len(variants[task])), tasks[task], states[task][state])
            for seed, task, variant, state, _ in side
        ]
        return np.array(found, dtype=np.intp).reshape(-1, 4).T

    def _arrays(self, side: Sequence[Start]) -> tuple[Numbers, Numbers]:
        """Sums and counts of values, (seeds, variants of a task, tasks, states)."""
        places = self._places(side)
        most = int(places[1].max()) + 1 if side else 1
        shape = (len(self.seeds), most, len(self.tasks), max(len(own) for own in self.states.values()))
        at, size = np.ravel_multi_index(tuple(places), shape), math.prod(shape)
        sums, counts = np.zeros(size), np.zeros(size)
        np.add.at(sums, at, [one.value for one in side])
        np.add.at(counts, at, 1.0)
        return sums.reshape(shape), counts.reshape(shape)


class Resampler:
    """Draws from a generator that everything of one layout shares, so that a study draws once and not for every pair.

    Intervals that share their draws are each as good as with draws of their own.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._draws: dict[tuple[object, ...], Draws] = {}

    def draws(self, layout: Layout) -> Draws:
        """The draws of a layout."""
        key = (layout.seeds, *layout.states.items())
        if key not in self._draws:
            self._draws[key] = layout.draw(self._rng)
        return self._draws[key]


Source = np.random.Generator | Resampler
"""What intervals are drawn from: draws of their own, or shared ones."""


def per_method_drawn(compute: Callable[[Evidence, Resampler], Iterable[Measurement]]) -> Compute:
    """A family that looks at one method at a time and draws for its intervals; all share their draws."""

    def over_methods(methods: Sequence[Evidence], rng: np.random.Generator) -> tuple[Measurement, ...]:
        draws = Resampler(rng)
        return tuple(measurement for evidence in methods for measurement in compute(evidence, draws))

    return over_methods


def interval(sides: Sequence[Sequence[Start]], combine: Callable[..., Numbers], rng: Source) -> Interval | None:
    """95 % percentile interval of a combination of task-balanced means.

    Args:
        sides: the values behind each mean.
        combine: means of each side, (resamples,) each -> the number in each resample, (resamples,).
        rng: source of randomness.

    Returns:
        The interval; None where there is nothing to draw, where a side is empty, or where more than half of the
        resamples have no number.
    """
    if not all(sides):
        return None
    layout = Layout.of(*sides)
    if not layout.can_vary:
        return None
    draws = rng.draws(layout) if isinstance(rng, Resampler) else layout.draw(rng)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = combine(*(layout.means(side, draws) for side in sides))
    values = values[np.isfinite(values)]
    if values.size <= RESAMPLES / 2:
        return None
    low, high = np.quantile(values, COVERED)
    return Interval(float(low), float(high))


def difference(first: Numbers, second: Numbers) -> Numbers:
    """First minus second."""
    return first - second


def ratio(first: Numbers, second: Numbers) -> Numbers:
    """First divided by second."""
    return first / second


def itself(only: Numbers) -> Numbers:
    """The mean itself."""
    return only


def starts(episodes: Iterable[EpisodeRecord], holds: Callable[[EpisodeRecord], bool]) -> tuple[Start, ...]:
    """1.0 where an episode counts and 0.0 elsewhere."""
    return tuple(Start(one.seed, one.task, one.variant, one.init_state, float(holds(one))) for one in episodes)


def _mean(values: Numbers, axis: int) -> Numbers:
    """Mean over an axis of what is known; NaN where nothing is."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(known, values, 0.0).sum(axis=axis) / known.sum(axis=axis))

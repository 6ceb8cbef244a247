"""Draws every action component uniformly from [-1, 1). Expected: it moves, and reaches a goal only by accident."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gym_grounding.policy import Observations
from gym_grounding.reference._unmoved import action_size, checked_size

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Draws:
    """State of B episodes.

    Attributes:
        seeds: B numbers.
        size: number of action components.
        step: steps taken.
    """

    seeds: tuple[int, ...]
    size: int
    step: int = 0


class Random:
    """Step t of an episode depends on its seed and t alone, so an episode is the same in any batch.

    Args:
        size: number of action components; None for that of the registry's scenes.
        registry: path of the registry file; None for the shipped one.

    Raises:
        InvalidOption: size is no number of components.
    """

    needs_task_identity = False

    def __init__(self, size: int | None = None, registry: str | Path | None = None) -> None:
        self._size, self._registry = checked_size(size), registry

    def start(self, instructions: Sequence[str], seed: Sequence[int]) -> Draws:
        """Begin B episodes."""
        return Draws(tuple(seed), self._size or action_size(self._registry))

    def act(self, observations: Observations, state: Draws) -> tuple[Array, Draws]:
        """Fresh draws, shape (B, size)."""
        rows = [np.random.default_rng((seed, state.step)).uniform(-1.0, 1.0, state.size) for seed in state.seeds]
        return np.array(rows).reshape(len(rows), state.size), replace(state, step=state.step + 1)

    def mean_action(self, observations: Observations, state: Draws) -> Array:
        """The mean of the distribution: zeros, shape (B, size)."""
        return np.zeros((len(state.seeds), state.size))

    def log_prob(self, observations: Observations, state: Draws, actions: NDArray[np.floating]) -> Array:
        """Log density of given actions, shape (B,): constant inside the box, minus infinity outside."""
        inside = (np.abs(np.asarray(actions)) <= 1.0).all(axis=1)
        return np.where(inside, -state.size * math.log(2.0), -math.inf)


POLICY = Random

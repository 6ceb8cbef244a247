"""Two policies that hear nothing: one never moves, one moves at random. They are the floor of every metric."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gym_grounding.policy import Observations

LIBERO_ACTION_SIZE = 7


class Still:
    """Asks for no motion and an open gripper, for ever. Its action initiation must be 0.

    LIBERO's arm still creeps by less than half a millimetre in 600 steps, because the controller goes on turning the
    hand towards the pose of the reset; that is far below every motion threshold of the records.

    Args:
        size: number of action components; the last is the gripper, -1 opens.
    """

    needs_task_identity = False

    def __init__(self, size: int = LIBERO_ACTION_SIZE) -> None:
        self._action = np.zeros(size)
        self._action[-1] = -1.0

    def start(self, instructions: Sequence[str], seed: Sequence[int]) -> int:
        """The number of episodes."""
        return len(instructions)

    def act(self, observations: Observations, state: int) -> tuple[NDArray[np.float64], int]:
        """The same action for every episode, shape (B, size)."""
        return self.mean_action(observations, state), state

    def mean_action(self, observations: Observations, state: int) -> NDArray[np.float64]:
        """What ``act`` does, shape (B, size)."""
        return np.tile(self._action, (state, 1))


class Random:
    """Draws every action component uniformly from [-1, 1).

    Step t of an episode depends on its seed and t alone, so an episode is the same in any batch.

    Args:
        size: number of action components.
    """

    needs_task_identity = False

    def __init__(self, size: int = LIBERO_ACTION_SIZE) -> None:
        self._size = size

    def start(self, instructions: Sequence[str], seed: Sequence[int]) -> tuple[tuple[int, ...], int]:
        """The seeds and the number of steps taken."""
        return tuple(seed), 0

    def act(
        self, observations: Observations, state: tuple[tuple[int, ...], int]
    ) -> tuple[NDArray[np.float64], tuple[tuple[int, ...], int]]:
        """Fresh draws, shape (B, size)."""
        seeds, step = state
        rows = [np.random.default_rng((seed, step)).uniform(-1.0, 1.0, self._size) for seed in seeds]
        return np.array(rows).reshape(len(seeds), self._size), (seeds, step + 1)

    def mean_action(self, observations: Observations, state: tuple[tuple[int, ...], int]) -> NDArray[np.float64]:
        """The mean of the distribution: zeros, shape (B, size)."""
        return np.zeros((len(state[0]), self._size))

    def log_prob(
        self, observations: Observations, state: tuple[tuple[int, ...], int], actions: NDArray[np.floating]
    ) -> NDArray[np.float64]:
        """Log density of given actions, shape (B,): constant inside the box, minus infinity outside."""
        inside = (np.abs(np.asarray(actions)) <= 1.0).all(axis=1)
        return np.where(inside, -self._size * math.log(2.0), -math.inf)


STILL = Still()
RANDOM = Random()

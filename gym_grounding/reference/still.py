"""Asks for no motion and an open gripper, for ever. Expected: no goal, no success, action initiation 0.

LIBERO's arm still creeps by a millimetre or two in 600 steps, because the controller goes on turning the hand towards
the pose of the reset; that is below every motion threshold of the records (see ``metrics.collision.initiated``).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gym_grounding.policy import Observations
from gym_grounding.reference._unmoved import action_size, checked_size

Array = NDArray[np.float64]


class Still:
    """Never moves.

    Args:
        size: number of action components, of which the last is the gripper (-1 opens); None for that of the registry's
            scenes.
        registry: path of the registry file; None for the shipped one.

    Raises:
        InvalidOption: size is no number of components.
    """

    needs_task_identity = False

    def __init__(self, size: int | None = None, registry: str | Path | None = None) -> None:
        self._size, self._registry = checked_size(size), registry

    def start(self, instructions: Sequence[str], seed: Sequence[int]) -> Array:
        """The actions of B episodes, shape (B, size)."""
        actions = np.zeros((len(instructions), self._size or action_size(self._registry)))
        actions[:, -1] = -1.0
        return actions

    def act(self, observations: Observations, state: Array) -> tuple[Array, Array]:
        """The same actions at every step, shape (B, size)."""
        return state.copy(), state

    def mean_action(self, observations: Observations, state: Array) -> Array:
        """What ``act`` does, shape (B, size)."""
        return state.copy()


POLICY = Still

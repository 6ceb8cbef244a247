"""Listens in a share p of its episodes, like the oracle, and is deaf in the others.

Expected: every rate that is linear in outcomes lies between the oracle's and the deaf policy's, at p of the way.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gym_grounding.errors import InvalidOption
from gym_grounding.manifest import Manifest
from gym_grounding.reference._guided import Guided
from gym_grounding.reference._meaning import asked
from gym_grounding.types import Goal, Task


class NoisyOracle(Guided):
    """Decides once in each episode, by the seed given to ``start``, whether it listens.

    An episode that listens at some p listens at every larger one.

    Args:
        p: probability of listening, in [0, 1].
        registry: path of the registry file; None for the shipped one.

    Raises:
        InvalidOption: p is no probability.
    """

    def __init__(self, p: float = 0.5, registry: str | Path | None = None) -> None:
        if isinstance(p, bool) or not isinstance(p, int | float) or not 0.0 <= p <= 1.0:
            raise InvalidOption(f"p is {p!r}; give a probability, 0 to 1")
        super().__init__(registry)
        self._p = float(p)

    def goal(self, registry: Manifest, task: Task, instruction: str, seed: int) -> Goal | None:
        """The instruction's goal or the task's."""
        listens = np.random.default_rng(seed).random() < self._p
        return asked(registry, task.id, instruction) if listens else task.goal


POLICY = NoisyOracle

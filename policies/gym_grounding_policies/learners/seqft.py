"""SeqFT: all weights are trained on each task in turn, from where the last one left them; nothing is kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import Tensor

from gym_grounding_policies.learners._base import Learner, Phase


@dataclass(frozen=True, slots=True)
class Settings:
    """None beyond the run's."""


class SeqFt(Learner):
    """Sequential fine-tuning, the lower end of the scale."""

    name = "seqft"
    Settings = Settings

    def loss(self, batch: Any, phase: Phase) -> Tensor:
        """The actor's mean negative log density."""
        return self.actor.nll(batch)


LEARNER = SeqFt

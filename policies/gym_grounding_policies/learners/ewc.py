"""EWC, online: weights that mattered for earlier tasks are held by a quadratic penalty.

Kirkpatrick et al. 2017, arXiv 1612.00796; Schwarz et al. 2018, arXiv 1805.06370 (online). Public implementations:
LIBERO ``libero/lifelong/algos/ewc.py``, and the same file of HarryLui98/DMPEL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gym_grounding.errors import InvalidOption
from gym_grounding_policies.learners._base import Learner, Phase, Sizes, TaskData
from gym_grounding_policies.learners._weightwise import Weightwise
from gym_grounding_policies.nets.actor import Actor
from gym_grounding_policies.nets.draws import seeded


@dataclass(frozen=True, slots=True)
class Settings:
    """How hard weights are held.

    Attributes:
        penalty: lambda; there is no factor 1/2.
        decay: gamma, of the importances at each task's end.
    """

    penalty: float = 50_000.0
    decay: float = 0.9

    def __post_init__(self) -> None:
        """Raises InvalidOption for values outside their domain."""
        if self.penalty < 0:
            raise InvalidOption(f"penalty is {self.penalty}; must not be negative")
        if not 0 <= self.decay <= 1:
            raise InvalidOption(f"decay is {self.decay}; must be in [0, 1]")


class Ewc(Learner):
    """Online elastic weight consolidation.

    An importance is the squared gradient of a *batch's* mean log density, averaged over batches, as in LIBERO: smaller
    than the empirical Fisher information by up to the batch size. The penalty's published factor was set for it.
    """

    name = "ewc"
    Settings = Settings

    def __init__(self, actor: Actor, settings: Any, generator: torch.Generator) -> None:
        super().__init__(actor, settings, generator)
        self.importance = Weightwise({})
        self.anchor = Weightwise({})

    def loss(self, batch: Any, phase: Phase) -> Tensor:
        """The mean negative log density plus lambda sum_i F_i (w_i - w*_i)^2; without the sum at the first task."""
        nll = self.actor.nll(batch)
        if not len(self.importance):
            return nll
        loss: Tensor = nll + self.settings.penalty * self.distance()
        return loss

    def distance(self) -> Tensor:
        """sum_i F_i (w_i - w*_i)^2, a scalar."""
        parts = [
            (self.importance[name] * (weight - self.anchor[name]).square()).sum()
            for name, weight in self.actor.named_parameters()
        ]
        total: Tensor = torch.stack(parts).sum()
        return total

    def end_task(self, k: int, data: TaskData) -> None:
        """F <- gamma F + the task's; the present weights become the anchor. Nothing where the penalty is 0."""
        if self.settings.penalty == 0:
            return
        found = self._squared_gradients(data)
        if len(self.importance):
            found = {name: self.settings.decay * self.importance[name] + one for name, one in found.items()}
        self.importance = Weightwise(found)
        self.anchor = Weightwise({name: weight.detach().clone() for name, weight in self.actor.named_parameters()})

    def structure(self) -> dict[str, Any]:
        """Whether importances are there."""
        return super().structure() | {"estimated": bool(len(self.importance))}

    def rebuild(self, structure: Mapping[str, Any]) -> None:
        """Zeros, until tensors are loaded."""
        super().rebuild(structure)
        if structure["estimated"]:
            zeros = {name: torch.zeros_like(weight) for name, weight in self.actor.named_parameters()}
            self.importance = Weightwise(zeros)
            self.anchor = Weightwise({name: one.clone() for name, one in zeros.items()})

    def sizes(self) -> Sizes:
        """Kept are importance and anchor of each weight."""
        plain = super().sizes()
        return Sizes(plain.trained, plain.acting, self.importance.numel() + self.anchor.numel())

    def _squared_gradients(self, data: TaskData) -> dict[str, Tensor]:
        """Mean over the batches of one shuffled pass, with dropout and augmentation as in training."""
        named = dict(self.actor.named_parameters())
        sums = {name: torch.zeros_like(weight) for name, weight in named.items()}
        shuffle = np.random.default_rng(int(torch.randint(2**62, (), generator=self.generator)))
        free = {name: weight.requires_grad for name, weight in named.items()}
        training, count = self.actor.training, 0
        try:
            self.actor.requires_grad_(True)
            self.actor.train()
            with seeded(self.generator, next(iter(named.values())).device), torch.enable_grad():
                for batch in data.read(data.windows, shuffle):
                    self._add(sums, self.actor.nll(self.augment(batch)), named)
                    count += 1
        finally:
            self.actor.train(training)
            for name, weight in named.items():
                weight.requires_grad_(free[name])
        return {name: one / count for name, one in sums.items()}

    @staticmethod
    def _add(sums: Mapping[str, Tensor], nll: Tensor, named: Mapping[str, nn.Parameter]) -> None:
        found = torch.autograd.grad(nll, list(named.values()), allow_unused=True)
        for name, gradient in zip(named, found, strict=True):
            if gradient is not None:
                sums[name].add_(gradient.square())


LEARNER = Ewc

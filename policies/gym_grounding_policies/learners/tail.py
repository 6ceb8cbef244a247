"""TAIL: a frozen policy and a small set of weights for each task, chosen by the task's number.

Liu et al. 2024, arXiv 2310.05905. Its port in HarryLui98/DMPEL (``libero/lifelong/algos/tail.py``) gave the places and
sizes; that port chooses no set at test, which is mended here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gym_grounding.errors import InvalidOption
from gym_grounding_policies.learners import _adapters
from gym_grounding_policies.learners._adapters import AdapterSet
from gym_grounding_policies.learners._base import Inputs, Learner, Phase, Route, Sizes, TaskData
from gym_grounding_policies.nets.actor import Actor
from gym_grounding_policies.nets.sites import changed


@dataclass(frozen=True, slots=True)
class Settings:
    """Where and how large a task's set is.

    Attributes:
        places: of low-rank additions; see ``_adapters.CHOICES``.
        tower_rank: r in the two encoders.
        rank: r elsewhere.
        alpha: scale times rank.
        copies: full copies of proprioception, FiLM and head; False for additions there too with ``every``, for
            nothing with ``attention``.
        noise: deviation of what is added to the last task's set where the next one starts.
    """

    places: str = "profile"
    tower_rank: int = 8
    rank: int = 16
    alpha: float = 16.0
    copies: bool = True
    noise: float = 1e-3

    def __post_init__(self) -> None:
        """Raises InvalidOption for values outside their domain."""
        _adapters.check_choice(self.places)
        _adapters.Sizes(self.tower_rank, self.rank, self.alpha)
        if self.noise < 0:
            raise InvalidOption(f"noise is {self.noise}; must not be negative")


class Tail(Learner):
    """Task-specific adapters. Nothing is forgotten, since nothing that an earlier task uses is trained again."""

    name = "tail"
    Settings = Settings
    adapts = True
    task_index_in_training = True
    task_index_at_test = True

    def __init__(self, actor: Actor, settings: Any, generator: torch.Generator) -> None:
        super().__init__(actor, settings, generator)
        sizes = _adapters.Sizes(settings.tower_rank, settings.rank, settings.alpha)
        self._layout = _adapters.layout(actor, settings.places, sizes, copied=settings.copies)
        self.sets = nn.ModuleList()

    def begin_task(self, k: int, data: TaskData) -> None:
        """A new set: the last one's values with noise on them, which adapters and copies alone get."""
        super().begin_task(k, data)
        self.sets.append(AdapterSet(self._layout, self.actor.sites, self.generator))
        if k:
            self._set(k).start_from(self._set(k - 1), self.settings.noise, self.generator)

    def trainable(self, phase: Phase) -> Sequence[nn.Parameter]:
        """The newest set."""
        return tuple(self.sets[-1].parameters())

    def loss(self, batch: Any, phase: Phase) -> Tensor:
        """The mean negative log density with the newest set."""
        with changed(self.actor, self._set(-1).change()):
            return self.actor.nll(batch)

    def route(self, observations: Inputs, words: Inputs, tasks: Tensor | None) -> Route:
        """The set of each sample's task; the words change nothing. ``slot`` is that task."""
        tasks = self.check_tasks(tasks)
        return Route(AdapterSet.each(self.sets, tasks), {"slot": tasks})

    def rebuild(self, structure: Mapping[str, Any]) -> None:
        """One set for each task begun."""
        super().rebuild(structure)
        unused = torch.Generator()
        self.sets = nn.ModuleList(AdapterSet(self._layout, self.actor.sites, unused) for _ in range(self.begun))

    def sizes(self) -> Sizes:
        """All sets act."""
        plain = super().sizes()
        return Sizes(plain.trained, plain.acting + sum(one.numel() for one in self.sets.parameters()), 0)

    def _set(self, number: int) -> AdapterSet:
        found = self.sets[number]
        assert isinstance(found, AdapterSet)
        return found


LEARNER = Tail

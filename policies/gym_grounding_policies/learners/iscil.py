"""IsCiL: a slot of adapters for each task, retrieved by the nearest basis of its prototype.

Lee et al. 2024, arXiv 2410.22658, L2dulgi/IsCiL. One slot for each task, without sub-goals, and the places are those of
the port in HarryLui98/DMPEL (``libero/lifelong/algos/iscil.py``).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from gym_grounding.errors import InvalidOption
from gym_grounding_policies.learners import _adapters
from gym_grounding_policies.learners._adapters import AdapterSet
from gym_grounding_policies.learners._base import Inputs, Learner, Phase, Route, Sizes, TaskData
from gym_grounding_policies.learners._clusters import centres
from gym_grounding_policies.learners._queries import nearest, scene_query
from gym_grounding_policies.nets.actor import Actor
from gym_grounding_policies.nets.sites import changed


@dataclass(frozen=True, slots=True)
class Settings:
    """Slots and prototypes.

    Attributes:
        bases: centres of a prototype; fewer where a task has fewer distinct queries.
        places: of low-rank additions; see ``_adapters.CHOICES``.
        rank: r.
        alpha: scale times rank.
        copies: full copies of proprioception, FiLM and head; False for additions there too with ``every``, for
            nothing with ``attention``.
    """

    bases: int = 20
    places: str = "profile"
    rank: int = 8
    alpha: float = 8.0
    copies: bool = True

    def __post_init__(self) -> None:
        """Raises InvalidOption for values outside their domain."""
        _adapters.check_choice(self.places)
        _adapters.Sizes(self.rank, self.rank, self.alpha)
        if self.bases < 1:
            raise InvalidOption(f"bases is {self.bases}; must be at least 1")


class IsCil(Learner):
    """Incremental skills. A query is sentence feature and pictures (or objects) of the frozen policy.

    In training it is averaged over the window, at test it is the present step's, as published.

    Attributes:
        own: windows of the present task that fell to its own slot, counted in batches.
    """

    name = "iscil"
    Settings = Settings
    adapts = True
    task_index_in_training = True
    own: Tensor

    def __init__(self, actor: Actor, settings: Any, generator: torch.Generator) -> None:
        super().__init__(actor, settings, generator)
        sizes = _adapters.Sizes(settings.rank, settings.rank, settings.alpha)
        self._layout = _adapters.layout(actor, settings.places, sizes, copied=settings.copies, pooled=True)
        self.slots = nn.ModuleList()
        self.prototypes = nn.Module()
        self.register_buffer("own", torch.zeros((), dtype=torch.int64, device=next(actor.parameters()).device))

    def begin_task(self, k: int, data: TaskData) -> None:
        """A slot, begun as a copy of the earlier slot that most windows of the task retrieve, and its prototype."""
        super().begin_task(k, data)
        queries = torch.cat([self._query(batch) for batch in data.read(data.windows, None)])
        new = AdapterSet(self._layout, self.actor.sites, self.generator)
        if k:
            retrieved, _ = nearest(queries, self._bases())
            source = self.slots[int(torch.bincount(retrieved).argmax())]
            assert isinstance(source, AdapterSet)
            new.start_from(source)
        self.slots.append(new)
        self.prototypes.register_buffer(str(k), centres(queries, self.settings.bases, self.generator))
        self.own.zero_()

    def trainable(self, phase: Phase) -> Sequence[nn.Parameter]:
        """The newest slot."""
        return tuple(self.slots[-1].parameters())

    def loss(self, batch: Any, phase: Phase) -> Tensor:
        """The mean negative log density, each window with the slot that it retrieves; earlier slots are constants."""
        slot, _ = nearest(self._query(batch), self._bases())
        self.own += (slot == self.begun - 1).sum()
        with changed(self.actor, AdapterSet.each(self.slots, slot)):
            return self.actor.nll(batch)

    def end_task(self, k: int, data: TaskData) -> None:
        """Warns where the task's slot was never retrieved."""
        if not int(self.own):
            warnings.warn(
                f"iscil: no window of task {k} retrieved its own slot, so nothing was learned; the task looks the same "
                "as earlier ones",
                stacklevel=2,
            )

    @torch.no_grad()
    def route(self, observations: Inputs, words: Inputs, tasks: Tensor | None) -> Route:
        """The ``slot`` that the present step retrieves, and the cosine ``similarity`` to its nearest basis."""
        if not self.begun:
            return Route()
        query = scene_query(self.actor, observations, words, proprio=False, steps=1)
        slot, similarity = nearest(query, self._bases())
        return Route(AdapterSet.each(self.slots, slot), {"slot": slot, "similarity": similarity})

    def structure(self) -> dict[str, Any]:
        """Sizes of the prototypes."""
        return super().structure() | {"prototypes": [list(one.shape) for one in self._bases()]}

    def rebuild(self, structure: Mapping[str, Any]) -> None:
        """Slots and prototypes of the same sizes."""
        super().rebuild(structure)
        unused, device = torch.Generator(), self.own.device
        self.slots = nn.ModuleList(AdapterSet(self._layout, self.actor.sites, unused) for _ in range(self.begun))
        self.prototypes = nn.Module()
        for k, shape in enumerate(structure["prototypes"]):
            self.prototypes.register_buffer(str(k), torch.zeros(*shape, device=device))

    def sizes(self) -> Sizes:
        """All slots and prototypes act."""
        plain = super().sizes()
        more = [*self.slots.parameters(), *self._bases()]
        return Sizes(plain.trained, plain.acting + sum(one.numel() for one in more), 0)

    def _query(self, batch: Any) -> Tensor:
        return scene_query(self.actor, batch.observations, batch.words, proprio=False)

    def _bases(self) -> list[Tensor]:
        return list(self.prototypes.buffers())


LEARNER = IsCil

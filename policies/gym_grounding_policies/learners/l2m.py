"""L2M: a pool of adapters with keys; the key nearest to what the frozen policy sees says which one acts.

Schmied et al. 2023, arXiv 2306.14884, ml-jku/L2M ``src/algos/prompt``. Places and sizes are those of the port in
HarryLui98/DMPEL (``libero/lifelong/models/bc_foundation_l2m_policy.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from gym_grounding.errors import InvalidOption
from gym_grounding_policies.learners import _adapters
from gym_grounding_policies.learners._adapters import AdapterSet
from gym_grounding_policies.learners._base import Inputs, Learner, Phase, Route, Sizes, TaskData
from gym_grounding_policies.learners._queries import cosine, readout_query
from gym_grounding_policies.nets.actor import Actor
from gym_grounding_policies.nets.sites import changed

PORT_BATCHES = 50_000
"""After so many batches the port lets usage count no more."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The pool.

    Attributes:
        slots: adapters and keys in the pool.
        places: of low-rank additions; see ``_adapters.CHOICES``.
        rank: r.
        alpha: scale times rank.
        pull: factor of the chosen key's cosine in the loss.
        usage: ``original``: seldom used slots are favoured from the second task on, by counts of its beginning;
            ``port``: from the second batch on, by counts of every batch, which spreads training over all slots.
    """

    slots: int = 30
    places: str = "profile"
    rank: int = 8
    alpha: float = 8.0
    pull: float = 0.5
    usage: str = "original"

    def __post_init__(self) -> None:
        """Raises InvalidOption for values outside their domain."""
        _adapters.check_choice(self.places)
        _adapters.Sizes(self.rank, self.rank, self.alpha)
        if self.slots < 1:
            raise InvalidOption(f"slots is {self.slots}; must be at least 1")
        if self.usage not in ("original", "port"):
            raise InvalidOption(f"usage is {self.usage!r}; choose original or port")


class L2m(Learner):
    """Learning to modulate, by low-rank additions. All slots stay trainable; those a batch does not use rest.

    Attributes:
        counts: (slots,), share of samples that chose each, averaged over all batches.
        rarity: (slots,), what favours seldom used slots; sums to 1.
        batches: how many were counted.
    """

    name = "l2m"
    Settings = Settings
    adapts = True
    counts: Tensor
    rarity: Tensor
    batches: Tensor

    def __init__(self, actor: Actor, settings: Any, generator: torch.Generator) -> None:
        super().__init__(actor, settings, generator)
        sizes = _adapters.Sizes(settings.rank, settings.rank, settings.alpha)
        layout = _adapters.layout(actor, settings.places, sizes, pooled=True)
        slots, like = settings.slots, next(actor.parameters())
        self.pool = nn.ModuleList(AdapterSet(layout, actor.sites, generator) for _ in range(slots))
        self.keys = nn.ParameterList(
            (2 * torch.rand(actor.profile.width, generator=generator) - 1).to(like) for _ in range(slots)
        )
        self.register_buffer("counts", like.new_zeros(slots))
        self.register_buffer("rarity", like.new_full((slots,), 1 / slots))
        self.register_buffer("batches", torch.zeros((), dtype=torch.int64, device=like.device))

    def begin_task(self, k: int, data: TaskData) -> None:
        """From the second task on, what was used less so far is favoured."""
        super().begin_task(k, data)
        if k:
            self._refresh()

    def trainable(self, phase: Phase) -> Sequence[nn.Parameter]:
        """The whole pool and all keys; each slot and key by itself, so that the unused keep still."""
        return (*self.pool.parameters(), *self.keys)

    def loss(self, batch: Any, phase: Phase) -> Tensor:
        """The mean negative log density with the chosen slots, minus ``pull`` times the mean cosine of their keys."""
        query = readout_query(self.actor, batch.observations, batch.words)
        slot = self._favoured(query)
        self._count(slot)
        pull = self._similarity(query, slot).mean()
        with changed(self.actor, AdapterSet.each(self.pool, slot)):
            loss: Tensor = self.actor.nll(batch) - self.settings.pull * pull
        return loss

    @torch.no_grad()
    def route(self, observations: Inputs, words: Inputs, tasks: Tensor | None) -> Route:
        """The ``slot`` whose key is nearest, whatever was used before, and its cosine ``similarity``."""
        best = cosine(readout_query(self.actor, observations, words), torch.stack(list(self.keys))).max(1)
        return Route(AdapterSet.each(self.pool, best.indices), {"slot": best.indices, "similarity": best.values})

    def sizes(self) -> Sizes:
        """Pool and keys act; counts are kept."""
        plain = super().sizes()
        return Sizes(plain.trained, plain.acting + plain.trained, 2 * len(self.counts) + 1)

    @torch.no_grad()
    def _favoured(self, query: Tensor) -> Tensor:
        """The slot of each training sample, (B,)."""
        similarity = cosine(query, torch.stack(list(self.keys)))
        score = (similarity + 1) / 2 * self.rarity if self._counting() else similarity
        slot: Tensor = score.argmax(1)
        return slot

    def _counting(self) -> bool:
        """Whether usage matters for the next batch."""
        seen = int(self.batches)
        if self.settings.usage == "port":
            return 0 < seen <= PORT_BATCHES
        return self.begun > 1 and seen > 0

    def _similarity(self, query: Tensor, slot: Tensor) -> Tensor:
        """Cosine (B,) of each query with the key of its slot; keys that no sample has get no gradient."""
        used, which = torch.unique(slot, return_inverse=True)
        keys = torch.stack([self.keys[number] for number in used.tolist()])[which]
        with torch.autocast(query.device.type, enabled=False):
            return functional.cosine_similarity(keys.float(), query, dim=1)

    @torch.no_grad()
    def _count(self, slot: Tensor) -> None:
        share = torch.bincount(slot, minlength=len(self.counts)).to(self.counts) / len(slot)
        self.batches += 1
        self.counts += (share - self.counts) / self.batches
        if self.settings.usage == "port":
            self._refresh()

    @torch.no_grad()
    def _refresh(self) -> None:
        rare = 1 / (self.counts + 1e-6)
        self.rarity.copy_(rare / rare.sum())


LEARNER = L2m

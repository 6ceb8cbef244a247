"""DMPEL: an expert for each task, mixed by a router that is reminded of how it mixed for earlier tasks.

arXiv 2506.05985. Public implementation: HarryLui98/DMPEL ``libero/lifelong/algos/dmpel.py``,
``libero/lifelong/models/bc_foundation_dmpel_policy.py``.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from gym_grounding.errors import InvalidOption
from gym_grounding_policies.learners import _adapters
from gym_grounding_policies.learners._base import LEARN, Inputs, Learner, Phase, Route, Sizes, TaskData
from gym_grounding_policies.learners._queries import query_size, scene_query
from gym_grounding_policies.nets.actor import Actor
from gym_grounding_policies.nets.changes import Mixed
from gym_grounding_policies.nets.draws import seeded
from gym_grounding_policies.nets.lora import Lora, orthogonalise
from gym_grounding_policies.nets.sites import changed


@dataclass(frozen=True, slots=True)
class Settings:
    """Experts, router and replay.

    Attributes:
        places: of low-rank additions; see ``_adapters.CHOICES``. Proprioception, FiLM and head always have some.
        tower_rank: r in the two encoders.
        rank: r elsewhere.
        alpha: scale times rank.
        top: experts that are mixed, in each group.
        hidden: width of the router's two hidden layers.
        dropout: of coefficients, in training.
        stored: share of a task's windows whose coefficients are stored.
        replay_epochs: passes over what is stored; 0 for no coefficient replay.
        replay_lr, replay_decay, replay_batch: of these.
    """

    places: str = "profile"
    tower_rank: int = 8
    rank: int = 16
    alpha: float = 16.0
    top: int = 3
    hidden: int = 256
    dropout: float = 0.15
    stored: float = 1.0
    replay_epochs: int = 10
    replay_lr: float = 1e-3
    replay_decay: float = 0.01
    replay_batch: int = 32

    def __post_init__(self) -> None:
        """Raises InvalidOption for values outside their domain."""
        _adapters.check_choice(self.places)
        _adapters.Sizes(self.tower_rank, self.rank, self.alpha)
        for name in ("top", "hidden", "replay_batch"):
            if getattr(self, name) < 1:
                raise InvalidOption(f"{name} is {getattr(self, name)}; must be at least 1")
        if not (0 < self.stored <= 1 and 0 <= self.dropout < 1 and self.replay_epochs >= 0):
            raise InvalidOption(
                f"stored is {self.stored}, dropout {self.dropout}, replay_epochs {self.replay_epochs}; must be in "
                "(0, 1], in [0, 1) and at least 0"
            )


@dataclass(frozen=True, slots=True)
class Pairs:
    """What the router is reminded of.

    Attributes:
        queries: (b, Q).
        coefficients: (b, groups, P), those it gave.
    """

    queries: Tensor
    coefficients: Tensor

    def __len__(self) -> int:
        """b."""
        return len(self.queries)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Pairs:
        """The same on a device."""
        moved = (one.to(device, non_blocking=non_blocking) for one in (self.queries, self.coefficients))
        return Pairs(*moved)

    def pin_memory(self) -> Pairs:
        """The same in memory from which an accelerator copies by itself."""
        return Pairs(self.queries.pin_memory(), self.coefficients.pin_memory())


class Router(nn.Module):
    """Queries (B, Q) to coefficients (B, groups, P), each in (0, 2); 1 / min(top, P) at first, nearly."""

    def __init__(self, query: int, hidden: int, groups: int, experts: int, top: int) -> None:
        super().__init__()
        self.groups = groups
        self.inner, self.middle = nn.Linear(query, hidden), nn.Linear(hidden, hidden)
        self.outer = nn.Linear(hidden, groups * experts)
        share = 1 / (2 * min(top, experts))
        nn.init.constant_(self.outer.bias, math.log(share / (1 - share)))

    def forward(self, queries: Tensor) -> Tensor:
        """In float32, also under autocast."""
        with torch.autocast(queries.device.type, enabled=False):
            x = functional.gelu(self.inner(queries), approximate="tanh")
            x = functional.gelu(self.middle(x), approximate="tanh")
            out: Tensor = 2 * torch.sigmoid(self.outer(x))
            return out.reshape(len(out), self.groups, -1)


class Store(nn.Module):
    """Queries and coefficients of one task; each distinct sentence feature is stored once.

    Attributes:
        sentences: (s, D).
        which: (n,) int64, the sentence of each.
        scenes: (n, Q - D), the rest of the queries.
        coefficients: (n, groups, P), P experts at that time.
    """

    sentences: Tensor
    which: Tensor
    scenes: Tensor
    coefficients: Tensor

    def __init__(self, sentences: Tensor, which: Tensor, scenes: Tensor, coefficients: Tensor) -> None:
        super().__init__()
        for name, one in (("sentences", sentences), ("which", which), ("scenes", scenes)):
            self.register_buffer(name, one)
        self.register_buffer("coefficients", coefficients)

    @staticmethod
    def of(queries: Tensor, said: int, coefficients: Tensor) -> Store:
        """A store of queries (n, Q) whose first ``said`` numbers are the sentence feature."""
        sentences, which = torch.unique(queries[:, :said], dim=0, return_inverse=True)
        return Store(sentences, which, queries[:, said:].clone(), coefficients)

    def pairs(self, experts: int) -> Pairs:
        """All pairs, on the CPU, with zeros for the experts that came later."""
        queries = torch.cat((self.sentences[self.which], self.scenes), dim=1)
        later = experts - self.coefficients.shape[-1]
        return Pairs(queries.cpu(), functional.pad(self.coefficients, (0, later)).cpu())


class _Memory:
    """All stored pairs as a source of batches."""

    def __init__(self, parts: Sequence[Pairs]) -> None:
        self._all = Pairs(torch.cat([one.queries for one in parts]), torch.cat([one.coefficients for one in parts]))

    def __len__(self) -> int:
        return len(self._all)

    def batch(self, indexes: NDArray[Any]) -> Any:
        chosen = torch.as_tensor(indexes, dtype=torch.int64)
        return Pairs(self._all.queries[chosen], self._all.coefficients[chosen])


class Dmpel(Learner):
    """Dynamic mixture of progressive parameter-efficient experts.

    A query is sentence feature, pictures or objects, and proprioception of the frozen policy, averaged over a window.
    A and B of the experts are averaged apart, as published, so products of different experts appear.

    Attributes:
        best: the router of the best pass of a coefficient replay; None outside one.
        fit: of that replay: sum of the pass's losses over pairs, pairs of the pass so far, mean of the best pass.
    """

    name = "dmpel"
    Settings = Settings
    adapts = True
    task_index_in_training = True
    fit: Tensor

    def __init__(self, actor: Actor, settings: Any, generator: torch.Generator) -> None:
        super().__init__(actor, settings, generator)
        sizes = _adapters.Sizes(settings.tower_rank, settings.rank, settings.alpha)
        self._layout = _adapters.layout(actor, settings.places, sizes, small=True, pooled=True)
        self.experts, self.stores = nn.ModuleList(), nn.ModuleList()
        self.router: Router | None = None
        self.best: Router | None = None
        device = next(actor.parameters()).device
        self.register_buffer("fit", torch.zeros(3, dtype=torch.float64, device=device))

    def begin_task(self, k: int, data: TaskData) -> None:
        """An expert whose A is orthogonal to all earlier ones', and a router built anew for one more."""
        super().begin_task(k, data)
        new = self._expert(self.generator)
        if k:
            orthogonalise(new, [cast(Lora, one) for one in self.experts], self.generator)
        self.experts.append(new)
        self.router = self._built(self.generator)

    def phases(self, k: int) -> Sequence[Phase]:
        """Learning; from the second task on, coefficient replay."""
        settings = self.settings
        replay = Phase(
            "replay",
            epochs=settings.replay_epochs,
            replay=True,
            lr=settings.replay_lr,
            weight_decay=settings.replay_decay,
            constant=True,
            batch_size=settings.replay_batch,
        )
        return (LEARN, replay) if k and settings.replay_epochs else (LEARN,)

    def begin_phase(self, k: int, phase: Phase, data: TaskData) -> None:
        """Nothing is fitted yet."""
        if phase.replay:
            self.best = copy.deepcopy(self.router)
            self.fit.copy_(torch.tensor([0, 0, math.inf]))

    def trainable(self, phase: Phase) -> Sequence[nn.Parameter]:
        """The newest expert and the router; in replay the router alone."""
        assert self.router is not None
        experts = () if phase.replay else tuple(self.experts[-1].parameters())
        return (*experts, *self.router.parameters())

    def source(self, phase: Phase) -> Any:
        """All stored pairs, as ``Pairs``."""
        return _Memory([cast(Store, one).pairs(len(self.experts)) for one in self.stores])

    def loss(self, batch: Any, phase: Phase) -> Tensor:
        """The mean negative log density of the mixture; in replay the mean squared error of the coefficients."""
        if phase.replay:
            return self._misfit(batch)
        kept = self.coefficients(self._query(batch.observations, batch.words))
        with changed(self.actor, self._mixed(kept)):
            return self.actor.nll(batch)

    def after_step(self, phase: Phase) -> None:
        """At the end of a pass of replay, the router is noted if no pass had a lower mean loss."""
        if not phase.replay or int(self.fit[1]) < self._stored():
            return
        mean = self.fit[0] / self.fit[1]
        if mean < self.fit[2]:
            self.fit[2] = mean
            self.best = copy.deepcopy(self.router)
        self.fit[:2] = 0

    def end_phase(self, k: int, phase: Phase, data: TaskData) -> None:
        """After learning, coefficients are stored; after replay, the best pass' router stays."""
        if phase.name == LEARN.name:
            self._store(data)
        elif phase.replay:
            self.router, self.best = self.best, None

    @torch.no_grad()
    def route(self, observations: Inputs, words: Inputs, tasks: Tensor | None) -> Route:
        """The mixture for the steps given.

        ``coefficients.GROUP`` (B, P) are those of each group's sites, ``expert`` the one that has most of them all
        together, the first among equals.
        """
        if not self.begun:
            return Route()
        kept = self.coefficients(self._query(observations, words))
        told = {f"coefficients.{group}": kept[:, number] for number, group in enumerate(self.actor.groups)}
        return Route(self._mixed(kept), told | {"expert": kept.sum(1).argmax(1)})

    def coefficients(self, queries: Tensor) -> Tensor:
        """Of queries (B, Q), by group and expert: (B, groups, P), zero but for the largest ``top`` of each group."""
        assert self.router is not None
        found: Tensor = self.router(queries)
        largest = found.topk(min(self.settings.top, found.shape[-1]), dim=-1).indices
        return found * torch.zeros_like(found).scatter(-1, largest, 1.0)

    def structure(self) -> dict[str, Any]:
        """Sizes of what is stored, and whether a replay is under way."""
        stored = [[len(cast(Store, one).sentences), len(cast(Store, one).which)] for one in self.stores]
        return super().structure() | {"stored": stored, "replaying": self.best is not None}

    def rebuild(self, structure: Mapping[str, Any]) -> None:
        """Experts, router and stores of the same sizes."""
        super().rebuild(structure)
        unused, device = torch.Generator(), self.fit.device
        self.experts = nn.ModuleList(self._expert(unused) for _ in range(self.begun))
        self.router = self._built(unused) if self.begun else None
        self.best = self._built(unused) if structure["replaying"] else None
        said, size = self.actor.profile.said, query_size(self.actor.profile, proprio=True)
        stores = (
            Store(
                torch.zeros(sentences, said),
                torch.zeros(count, dtype=torch.int64),
                torch.zeros(count, size - said),
                torch.zeros(count, len(self.actor.groups), k + 1),
            )
            for k, (sentences, count) in enumerate(structure["stored"])
        )
        self.stores = nn.ModuleList(stores).to(device)

    def sizes(self) -> Sizes:
        """Experts and router act; what is stored is kept."""
        assert self.router is not None
        plain = super().sizes()
        acting = [*self.experts.parameters(), *self.router.parameters()]
        kept = sum(one.numel() for one in self.stores.buffers())
        return Sizes(plain.trained, plain.acting + sum(one.numel() for one in acting), kept)

    def _expert(self, generator: torch.Generator) -> Lora:
        return Lora(self._layout.places, self.actor.sites, generator, self._layout.pooled)

    def _built(self, generator: torch.Generator) -> Router:
        """A new router for as many experts as there are."""
        query = query_size(self.actor.profile, proprio=True)
        with seeded(generator):
            router = Router(query, self.settings.hidden, len(self.actor.groups), len(self.experts), self.settings.top)
        return router.to(self.fit.device)

    def _query(self, observations: Inputs, words: Inputs) -> Tensor:
        return scene_query(self.actor, observations, words, proprio=True)

    def _mixed(self, kept: Tensor) -> Mixed:
        by_group = {group: kept[:, number] for number, group in enumerate(self.actor.groups)}
        return Mixed(self.experts, by_group, self.settings.dropout)

    def _misfit(self, pairs: Pairs) -> Tensor:
        pairs = pairs.to(self.fit.device)
        loss = functional.mse_loss(self.coefficients(pairs.queries), pairs.coefficients)
        self.fit[0] += loss.detach() * len(pairs)
        self.fit[1] += len(pairs)
        return loss

    def _stored(self) -> int:
        """Number of all pairs."""
        return sum(len(cast(Store, one).which) for one in self.stores)

    @torch.no_grad()
    def _store(self, data: TaskData) -> None:
        """Queries and coefficients of the task's windows, or of a drawn share of them."""
        count = len(data.windows)
        size = max(1, int(self.settings.stored * count))
        chosen = torch.randperm(count, generator=self.generator)[:size].sort().values.tolist()
        batches = data.read(data.windows.subset(chosen), None)
        queries = torch.cat([self._query(batch.observations, batch.words) for batch in batches])
        self.stores.append(Store.of(queries, self.actor.profile.said, self.coefficients(queries)))


LEARNER = Dmpel

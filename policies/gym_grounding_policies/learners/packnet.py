"""PackNet: each task gets weights of its own, which later tasks use and never change.

Mallya and Lazebnik 2018, arXiv 1711.05769. Public implementations: LIBERO ``libero/lifelong/algos/packnet.py``, and the
same file of HarryLui98/DMPEL.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from gym_grounding.errors import InvalidOption
from gym_grounding_policies.learners._base import LEARN, Inputs, Learner, Phase, Route, Sizes, TaskData
from gym_grounding_policies.learners._weightwise import Weightwise
from gym_grounding_policies.nets.actor import Actor
from gym_grounding_policies.nets.sites import PatchSite, Site

CACHE = 2**30
"""Bytes of masked weights that are kept between calls; those of the task that was not asked for the longest go."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How much a task gives back.

    Attributes:
        pruned: share of a task's weights that it gives back, in each layer.
        retrain_epochs: passes with the rest after that.
    """

    pruned: float = 0.75
    retrain_epochs: int = 10

    def __post_init__(self) -> None:
        """Raises InvalidOption for values outside their domain."""
        if not 0 <= self.pruned < 1:
            raise InvalidOption(f"pruned is {self.pruned}; must be in [0, 1)")
        if self.retrain_epochs < 0:
            raise InvalidOption(f"retrain_epochs is {self.retrain_epochs}; must not be negative")


class PackNet(Learner):
    """Iterative pruning.

    Weights of linear layers and convolutions have an owner: 0 for none, k + 1 for task k. All others (biases, norms,
    embeddings, positions) are never trained. In training the network is used whole; at test a task sees the weights of
    its own and of earlier tasks.
    """

    name = "packnet"
    Settings = Settings
    task_index_in_training = True
    task_index_at_test = True

    def __init__(self, actor: Actor, settings: Any, generator: torch.Generator) -> None:
        super().__init__(actor, settings, generator)
        layers = {name: one for name, one in actor.named_modules() if isinstance(one, nn.Linear | nn.Conv2d)}
        self._layers: dict[str, Site | PatchSite] = {}
        for name, layer in layers.items():
            if not isinstance(layer, Site | PatchSite):
                raise InvalidOption(f"{name} is a plain {type(layer).__name__}; packnet can mask Site and PatchSite")
            self._layers[name] = layer
        self.owner = Weightwise(
            {name: torch.zeros_like(one.weight, dtype=torch.uint8) for name, one in self._layers.items()}
        )
        self._before: dict[str, Tensor] = {}
        self._masked: OrderedDict[int, dict[str, _Masked]] = OrderedDict()

    def begin_task(self, k: int, data: TaskData) -> None:
        """Takes all weights that nobody owns."""
        super().begin_task(k, data)
        if k + 1 > torch.iinfo(torch.uint8).max:
            raise InvalidOption(f"packnet has labels for 255 tasks; task {k} is one more")
        for name in self._layers:
            owner = self.owner[name]
            owner[owner == 0] = k + 1

    def phases(self, k: int) -> Sequence[Phase]:
        """Learning, then passes with the weights that pruning left."""
        retrain = Phase("retrain", epochs=self.settings.retrain_epochs)
        return (LEARN, retrain) if self.settings.retrain_epochs else (LEARN,)

    def trainable(self, phase: Phase) -> Sequence[nn.Parameter]:
        """The weights that have owners."""
        return tuple(cast(nn.Parameter, layer.weight) for layer in self._layers.values())

    def loss(self, batch: Any, phase: Phase) -> Tensor:
        """The mean negative log density of the whole network."""
        return self.actor.nll(batch)

    def after_backward(self, phase: Phase) -> None:
        """No gradient for weights of others; what they are is noted."""
        for name, layer in self._layers.items():
            if layer.weight.grad is not None:
                layer.weight.grad.mul_(self.owner[name] == self.begun)
                self._before[name] = layer.weight.detach().clone()

    def after_step(self, phase: Phase) -> None:
        """Weights of others come back to the last bit: weight decay moves also what has no gradient."""
        with torch.no_grad():
            for name, before in self._before.items():
                weight = self._layers[name].weight
                weight.copy_(torch.where(self.owner[name] == self.begun, weight, before))
        self._before.clear()

    def end_phase(self, k: int, phase: Phase, data: TaskData) -> None:
        """After learning, the smallest weights of the task become 0 and nobody's, layer by layer."""
        if phase.name == LEARN.name:
            for name, layer in self._layers.items():
                self._prune(layer.weight, self.owner[name])

    def route(self, observations: Inputs, words: Inputs, tasks: Tensor | None) -> Route:
        """The mask of each sample's task; the words change nothing. ``slot`` is that task."""
        tasks = self.check_tasks(tasks)
        return Route(_Masks(self._weight, tasks), {"slot": tasks})

    def train(self, mode: bool = True) -> PackNet:
        """See ``nn.Module.train``."""
        self._masked.clear()
        super().train(mode)
        return self

    def sizes(self) -> Sizes:
        """Trained are the weights that were free at the task's begin. A label counts as a number; it is one byte."""
        free = sum(int(((one == 0) | (one == self.begun)).sum()) for one in self.owner.buffers())
        return Sizes(free, super().sizes().acting + self.owner.numel(), 0)

    @torch.no_grad()
    def _prune(self, weight: Tensor, owner: Tensor) -> None:
        mine = owner == self.begun
        size = weight.abs()
        rank = round(self.settings.pruned * int(mine.sum()))
        if rank:
            gone = mine & (size <= size[mine].kthvalue(rank).values)
            weight[gone] = 0
            owner[gone] = 0

    @torch.no_grad()
    def _weight(self, name: str, task: int) -> Tensor:
        """A layer's weight as a task sees it; made anew when weight or owner have changed since."""
        weight, owner = self._layers[name].weight, self.owner[name]
        state = (weight.data_ptr(), weight._version, owner.data_ptr(), owner._version)
        known = self._masked.setdefault(task, {})
        self._masked.move_to_end(task)
        if name not in known or known[name].state != state:
            known[name] = _Masked(state, weight * ((owner >= 1) & (owner <= task + 1)))
            while len(self._masked) > 1 and self._cached() > CACHE:
                self._masked.popitem(last=False)
        return known[name].weight

    def _cached(self) -> int:
        return sum(one.weight.nbytes for known in self._masked.values() for one in known.values())


@dataclass(frozen=True, slots=True)
class _Masked:
    """A layer's weight under a mask.

    Attributes:
        state: by which weight and owner are known to be the same as then.
        weight: zero where the task has none.
    """

    state: tuple[int, int, int, int]
    weight: Tensor


class _Masks:
    """A change: each sample's layers have the weights that its task sees.

    Args:
        weight: of a layer by its name, for a task.
        tasks: (B,) int64.
    """

    def __init__(self, weight: Callable[[str, int], Tensor], tasks: Tensor) -> None:
        self._weight, self._tasks = weight, tasks
        self._used = sorted(set(tasks.tolist()))

    def __call__(self, site: Site, x: Tensor, y: Tensor, /) -> Tensor:
        """See ``sites.Change``."""
        if len(self._used) == 1:
            return _through(site, x, self._weight(site.name, self._used[0]))
        tasks = self._tasks.to(x.device).repeat_interleave(len(x) // len(self._tasks))
        out = torch.empty_like(y)
        for task in self._used:
            rows = tasks == task
            out[rows] = _through(site, x[rows], self._weight(site.name, task))
        return out


def _through(site: Site | PatchSite, x: Tensor, weight: Tensor) -> Tensor:
    if isinstance(site, PatchSite):
        return functional.conv2d(x, weight, site.bias, site.stride)
    return functional.linear(x, weight, site.bias)


LEARNER = PackNet

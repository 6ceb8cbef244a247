"""Full copies of linear layers, and which sample gets which set of an adapter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from gym_grounding_policies.nets.lora import Lora, by_sample
from gym_grounding_policies.nets.sites import Site


class Copies(nn.Module):
    """One set of full copies of linear layers, used instead of the layers; as a change it acts alike on all samples.

    Each starts from the layer's weights of that moment.
    """

    def __init__(self, sites: Iterable[Site]) -> None:
        super().__init__()
        self.weight, self.bias = nn.ParameterDict(), nn.ParameterDict()
        for site in sites:
            self.weight[_key(site)] = nn.Parameter(site.weight.detach().clone())
            if site.bias is not None:
                self.bias[_key(site)] = nn.Parameter(site.bias.detach().clone())

    def forward(self, site: Site, x: Tensor, y: Tensor) -> Tensor:
        """The change, see ``sites.Change``."""
        key = _key(site)
        return functional.linear(x, self.weight[key], self._bias(key)) if key in self.weight else y

    @staticmethod
    def each(sets: Sequence[Copies], which: Tensor, site: Site, x: Tensor, y: Tensor) -> Tensor:
        """The change where sample b has the set of number ``which[b]``; all sets copy the same layers."""
        key = _key(site)
        if key not in sets[0].weight:
            return y
        out = by_sample(x, torch.stack([one.weight[key] for one in sets])[which])
        if key not in sets[0].bias:
            return out
        bias = torch.stack([one.bias[key] for one in sets])[which]
        return (out.reshape(len(which), -1, out.shape[-1]) + bias[:, None]).reshape(out.shape)

    def _bias(self, key: str) -> Tensor | None:
        found: Tensor | None = self.bias.get(key)
        return found


class Chosen:
    """A change: each sample has one of several sets.

    Sets that no sample has take no part, so they get no gradient (None, not zero) and an optimiser leaves them alone.

    Args:
        sets: all ``Lora`` with the same places, or all ``Copies`` of the same layers.
        index: (B,) int64.
    """

    def __init__(self, sets: Sequence[Lora] | Sequence[Copies] | nn.ModuleList, index: Tensor) -> None:
        used, self._which = torch.unique(index, return_inverse=True)
        self._sets: list[Any] = [sets[number] for number in used.tolist()]

    def __call__(self, site: Site, x: Tensor, y: Tensor, /) -> Tensor:
        """See ``sites.Change``."""
        first: Lora | Copies = self._sets[0]
        if len(self._sets) == 1:
            return first.forward(site, x, y)
        return type(first).each(self._sets, self._which, site, x, y)


class Mixed:
    """A change: each sample has a weighted mixture of all sets, with coefficients by the site's group.

    Args:
        coefficients: group -> (B, P) for P sets; sites of other groups stay as they are.
        dropout: of the coefficients, in training, drawn for each site.
    """

    def __init__(
        self, sets: Sequence[Lora] | nn.ModuleList, coefficients: Mapping[str, Tensor], dropout: float = 0.0
    ) -> None:
        self._sets = [cast(Lora, one) for one in sets]
        self._coefficients, self._dropout = coefficients, dropout

    def __call__(self, site: Site, x: Tensor, y: Tensor, /) -> Tensor:
        """See ``sites.Change``."""
        coefficients = self._coefficients.get(site.group)
        if coefficients is None or not self._sets[0].at(site):
            return y
        kept = functional.dropout(coefficients, self._dropout, site.training)
        return Lora.mixed(self._sets, kept, site, x, y)


def _key(site: Site) -> str:
    return site.name.replace(".", "/")

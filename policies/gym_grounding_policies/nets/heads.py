"""Action heads, and the densities over actions that they give. Everything here is computed in float32 or better."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional

from gym_grounding_policies.nets.profiles import Head
from gym_grounding_policies.nets.sites import Site

Generators = torch.Generator | Sequence[torch.Generator]
"""One for all rows, or one for each row of the batch, so that a row's draws are the same in any batch."""


class Density(Protocol):
    """A density over chunks of actions (B, H, C, A), one for each row and step."""

    @property
    def mean(self) -> Tensor:
        """(B, H, C, A), in [-1, 1]."""
        ...

    def log_prob(self, actions: Tensor) -> Tensor:
        """Log density (B, H, C) of each action of a chunk by itself."""
        ...

    def nll(self, actions: Tensor, weight: Tensor) -> Tensor:
        """Mean negative log density of an action, a scalar.

        Args:
            weight: (B, H, C), 0 or 1; which actions count. At least one must.
        """
        ...

    def sample(self, generator: Generators) -> Tensor:
        """A draw (B, H, C, A)."""
        ...

    def last(self) -> Density:
        """The density of the last step only, H = 1."""
        ...


@dataclass(frozen=True)
class Mixture:
    """Diagonal Gaussians, M of them; a chunk comes from one of them as a whole. With C = 1 an ordinary mixture.

    Attributes:
        logits: of the modes (B, H, M).
        means, scales: (B, H, M, C, A).
    """

    logits: Tensor
    means: Tensor
    scales: Tensor

    @property
    def mean(self) -> Tensor:
        """The modes' means, weighted by their probabilities."""
        return torch.einsum("bhm,bhmca->bhca", self.logits.softmax(-1), self.means)

    def log_prob(self, actions: Tensor) -> Tensor:
        """The log density of each action without regard to the others of its chunk."""
        weights = self.logits.log_softmax(-1)[..., None]
        return torch.logsumexp(weights + self._each(actions), dim=2)

    def nll(self, actions: Tensor, weight: Tensor) -> Tensor:
        """By the joint density of the counted actions of each chunk, divided by their number."""
        counted = (self._each(actions) * weight[:, :, None]).sum(-1)
        joint = torch.logsumexp(self.logits.log_softmax(-1) + counted, dim=2)
        return -joint.sum() / weight.sum()

    def sample(self, generator: Generators) -> Tensor:
        """A mode for each chunk, then every number from its Gaussian."""
        shape, device = self.means.shape, self.means.device
        point = drawn(torch.rand, shape[:2], generator, device)[..., None]
        below = self.logits.softmax(-1).cumsum(-1)[..., :-1]
        mode = (point >= below).sum(-1)[..., None, None, None].expand(*shape[:2], 1, *shape[3:])
        noise = drawn(torch.randn, (*shape[:2], *shape[3:]), generator, device)
        return self.means.gather(2, mode)[:, :, 0] + self.scales.gather(2, mode)[:, :, 0] * noise

    def last(self) -> Mixture:
        """The last step's."""
        return Mixture(self.logits[:, -1:], self.means[:, -1:], self.scales[:, -1:])

    def _each(self, actions: Tensor) -> Tensor:
        """Log density (B, H, M, C) of each action under each mode."""
        far = (actions[:, :, None].to(self.means.dtype) - self.means) / self.scales
        return (-0.5 * far.square() - self.scales.log() - 0.5 * math.log(2 * math.pi)).sum(-1)


@dataclass(frozen=True)
class Laplace:
    """Independent Laplace densities of one fixed scale: the absolute error, divided by it, up to a constant.

    Attributes:
        mean: (B, H, C, A).
        scale: of all numbers.
    """

    mean: Tensor
    scale: float

    def log_prob(self, actions: Tensor) -> Tensor:
        """Minus the summed absolute error over the scale, minus the constant."""
        far = (actions.to(self.mean.dtype) - self.mean).abs().sum(-1) / self.scale
        return -far - self.mean.shape[-1] * math.log(2 * self.scale)

    def nll(self, actions: Tensor, weight: Tensor) -> Tensor:
        """The weighted mean of minus ``log_prob``."""
        return -(self.log_prob(actions) * weight).sum() / weight.sum()

    def sample(self, generator: Generators) -> Tensor:
        """By the inverse of the distribution function."""
        point = drawn(torch.rand, self.mean.shape, generator, self.mean.device) - 0.5
        return self.mean - self.scale * point.sign() * torch.log1p(-2 * point.abs().clamp(max=0.4999999))

    def last(self) -> Laplace:
        """The last step's."""
        return Laplace(self.mean[:, -1:], self.scale)


class ActionHead(nn.Module):
    """Three shared layers, the last without activation, then one layer for each kind of number.

    Means go through tanh, scales through softplus with a least value added. Adapters may change every layer.
    """

    def __init__(self, width: int, settings: Head) -> None:
        super().__init__()
        self.settings, hidden = settings, settings.hidden
        sizes = (width, hidden, hidden, hidden)
        self.shared = nn.ModuleList(Site(sizes[one], sizes[one + 1], "head", layer=one) for one in range(3))
        numbers = settings.chunk * settings.actions
        if settings.kind == "gmm":
            self.means = Site(hidden, settings.modes * numbers, "head")
            self.scales = Site(hidden, settings.modes * numbers, "head")
            self.logits = Site(hidden, settings.modes, "head")
        else:
            self.means = Site(hidden, numbers, "head")

    def forward(self, features: Tensor) -> Density:
        """The density for features (B, H, W)."""
        with torch.autocast(features.device.type, enabled=False):
            return self._density(features.to(self.means.weight.dtype))

    def _density(self, x: Tensor) -> Density:
        settings = self.settings
        for number, layer in enumerate(self.shared):
            x = layer(x) if number == 2 else functional.relu(layer(x))
        means = torch.tanh(self.means(x))
        if settings.kind == "l1":
            return Laplace(means.reshape(*x.shape[:-1], settings.chunk, settings.actions), settings.l1_scale)
        shape = (*x.shape[:-1], settings.modes, settings.chunk, settings.actions)
        scales = functional.softplus(self.scales(x)) + settings.least_scale
        return Mixture(self.logits(x), means.reshape(shape), scales.reshape(shape))


def drawn(kind: Callable[..., Tensor], shape: Sequence[int], generator: Generators, device: torch.device) -> Tensor:
    """Random numbers of a kind, such as ``torch.rand``; drawn where the generators are, then moved to ``device``.

    With one generator per row of ``shape``, each row comes from its own.
    """
    if isinstance(generator, torch.Generator):
        return kind(tuple(shape), generator=generator, device=generator.device).to(device)
    assert len(generator) == shape[0], f"{len(generator)} generators for {shape[0]} rows"
    return torch.stack([kind(tuple(shape[1:]), generator=one, device=one.device) for one in generator]).to(device)

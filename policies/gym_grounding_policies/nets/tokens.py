"""Tokens from given numbers: proprioception, objects, stored picture features."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from gym_grounding.errors import InvalidOption
from gym_grounding_policies.nets.sites import Site


class Scaling(nn.Module):
    """(x - mean) / deviation per number; the identity until it is set. Part of the state, not trained."""

    mean: Tensor
    deviation: Tensor

    def __init__(self, *shape: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(shape))
        self.register_buffer("deviation", torch.ones(shape))

    def set(self, mean: Tensor, deviation: Tensor, least: float = 1e-3) -> None:
        """Takes the mean and standard deviation of each number; a deviation below ``least`` counts as 1.

        Raises:
            InvalidOption: another size, or numbers that are not finite.
        """
        for name, given in (("mean", mean), ("deviation", deviation)):
            if given.shape != self.mean.shape or not bool(given.isfinite().all()):
                needed = " x ".join(map(str, self.mean.shape))
                raise InvalidOption(f"{name} has shape {tuple(given.shape)}; needs {needed} finite numbers")
        self.mean.copy_(mean)
        self.deviation.copy_(torch.where(deviation < least, torch.ones_like(deviation), deviation))

    def forward(self, x: Tensor) -> Tensor:
        """(..., *shape) to the same."""
        return (x - self.mean) / self.deviation


class Numbers(nn.Module):
    """A token by one linear layer, as the published policy has for joints and gripper."""

    def __init__(self, size: int, width: int, scaled: bool) -> None:
        super().__init__()
        self.scaling = Scaling(size) if scaled else nn.Identity()
        self.map = Site(size, width, "proprio")

    def forward(self, x: Tensor) -> Tensor:
        """(..., size) to (..., W)."""
        out: Tensor = self.map(self.scaling(x))
        return out


class Things(nn.Module):
    """A token for each thing by two linear layers with GELU (tanh) between them."""

    def __init__(self, size: int, width: int, scaled: bool) -> None:
        super().__init__()
        self.scaling = Scaling(size) if scaled else nn.Identity()
        self.inner = Site(size, width, "proprio")
        self.outer = Site(width, width, "proprio")

    def forward(self, x: Tensor) -> Tensor:
        """(..., size) to (..., W)."""
        out: Tensor = self.outer(functional.gelu(self.inner(self.scaling(x)), approximate="tanh"))
        return out


class Views(nn.Module):
    """A token for each of a fixed number of views, each with a scaling and layers of its own.

    Nothing among a view's numbers says which one it is, and two cameras vary differently.
    """

    def __init__(self, count: int, size: int, width: int, scaled: bool) -> None:
        super().__init__()
        self.scaling = Scaling(count, size) if scaled else nn.Identity()
        self.each = nn.ModuleList(Things(size, width, scaled=False) for _ in range(count))

    def forward(self, x: Tensor) -> Tensor:
        """(..., count, size) to (..., count, W)."""
        views = self.scaling(x).unbind(-2)
        return torch.stack([one(view) for one, view in zip(self.each, views, strict=True)], dim=-2)


def mean_present(tokens: Tensor, present: Tensor | None) -> Tensor:
    """Mean over the present tokens, (B, H, W); zero where none is.

    Args:
        tokens: (B, H, N, W).
        present: (B, H, N) bool; None for all.
    """
    if present is None:
        return tokens.mean(2)
    kept = present[..., None].to(tokens.dtype)
    return (tokens * kept).sum(2) / kept.sum(2).clamp(min=1)

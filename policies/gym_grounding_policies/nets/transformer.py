"""Pre-norm transformer blocks, and the block-causal transformer over the steps of a window."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from gym_grounding_policies.nets.profiles import Temporal
from gym_grounding_policies.nets.sites import Site

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": functional.gelu,
    "gelu_tanh": lambda x: functional.gelu(x, approximate="tanh"),
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
}


class Attention(nn.Module):
    """Multi-head attention with dropout after its output only.

    Args:
        fused: q, k and v are one layer with three parts, as in timm; else three layers, as in transformers.
        bias: of q, k and v.
    """

    def __init__(self, width: int, heads: int, group: str, layer: int, bias: bool, fused: bool, dropout: float) -> None:
        super().__init__()
        self.heads, self.fused = heads, fused
        if fused:
            self.qkv = Site(width, 3 * width, group, bias, ("q", "k", "v"), layer)
        else:
            self.q = Site(width, width, group, bias, ("q",), layer)
            self.k = Site(width, width, group, bias, ("k",), layer)
            self.v = Site(width, width, group, bias, ("v",), layer)
        self.out = Site(width, width, group, layer=layer)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, mask: Tensor | None, causal: bool) -> Tensor:
        """Tokens (N, T, W); ``mask`` (..., T, T) is true where row may see column."""
        three = self.qkv(x).chunk(3, dim=-1) if self.fused else (self.q(x), self.k(x), self.v(x))
        q, k, v = (one.unflatten(-1, (self.heads, -1)).transpose(1, 2) for one in three)
        seen = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        out: Tensor = self.dropout(self.out(seen.transpose(1, 2).flatten(2)))
        return out


class Mlp(nn.Module):
    """Two linear layers with dropout after the activation and after the second."""

    def __init__(self, width: int, hidden: int, group: str, layer: int, activation: str, dropout: float) -> None:
        super().__init__()
        self.fc1 = Site(width, hidden, group, layer=layer)
        self.fc2 = Site(hidden, width, group, layer=layer)
        self.activation = ACTIVATIONS[activation]
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(N, T, W) to (N, T, W)."""
        out: Tensor = self.dropout(self.fc2(self.dropout(self.activation(self.fc1(x)))))
        return out


class DropBranch(nn.Module):
    """Stochastic depth: in training a whole sample's branch is zero at a rate, and larger by 1 / (1 - rate) else."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """(N, ...) to (N, ...)."""
        if not self.training or self.rate == 0:
            return x
        kept = x.new_empty((x.shape[0],) + (1,) * (x.dim() - 1)).bernoulli_(1 - self.rate)
        return x * (kept / (1 - self.rate))


class Block(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x)).

    Args:
        depth_dropout: stochastic depth of the second branch. The first has none, as in LIBERO's and DMPEL's code, where
            it is called with the rate 0.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        hidden: int,
        group: str,
        layer: int,
        activation: str,
        bias: bool = True,
        fused: bool = True,
        dropout: float = 0.0,
        depth_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads, group, layer, bias, fused, dropout)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = Mlp(width, hidden, group, layer, activation, dropout)
        self.drop = DropBranch(depth_dropout)

    def forward(self, x: Tensor, mask: Tensor | None = None, causal: bool = False) -> Tensor:
        """Tokens (N, T, W); see ``Attention`` for the mask."""
        x = x + self.attention(self.norm1(x), mask, causal)
        out: Tensor = x + self.drop(self.mlp(self.norm2(x)))
        return out


class TemporalTransformer(nn.Module):
    """Blocks over all tokens of a window: a token sees every token of its own and of earlier steps. No final norm.

    Positions are fixed sinusoids of the step inside the window, equal for all tokens of a step.
    """

    def __init__(self, width: int, settings: Temporal) -> None:
        super().__init__()
        self.width, self.base = width, settings.base
        self.blocks = nn.ModuleList(
            Block(
                width,
                settings.heads,
                settings.hidden,
                "temporal",
                layer,
                "gelu_tanh",
                bias=False,
                dropout=settings.dropout,
                depth_dropout=settings.depth_dropout,
            )
            for layer in range(settings.layers)
        )

    def forward(self, tokens: Tensor, present: Tensor | None = None) -> Tensor:
        """The first token of each step after all blocks, (B, H, W).

        Args:
            tokens: (B, H, n, W).
            present: (B, H, n) bool; nobody sees an absent token. The first of each step must be present.
        """
        batch, steps, count, _ = tokens.shape
        x = (tokens + positions(steps, self.width, self.base, tokens.device)[:, None]).flatten(1, 2)
        mask = None if steps == 1 else causal_mask(steps, count, tokens.device)
        if present is not None:
            seen = present.reshape(batch, 1, 1, steps * count)
            mask = seen if mask is None else mask & seen
        for block in self.blocks:
            x = block(x, mask)
        return x[:, ::count]


def positions(steps: int, width: int, base: float, device: torch.device | None = None) -> Tensor:
    """Sinusoids (steps, width): sin(t f), then cos(t f), with f_j = base^(-2j / width)."""
    frequency = base ** (-torch.arange(0, width, 2, device=device, dtype=torch.float32) / width)
    angle = torch.arange(steps, device=device, dtype=torch.float32)[:, None] * frequency
    return torch.cat((angle.sin(), angle.cos()), dim=-1)


def causal_mask(steps: int, count: int, device: torch.device | None = None) -> Tensor:
    """(T, T) bool, T = steps * count: whether a token (row) may see a token (column) of its own or an earlier step."""
    step = torch.arange(steps, device=device).repeat_interleave(count)
    return step[:, None] >= step[None, :]

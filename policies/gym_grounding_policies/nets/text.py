"""CLIP's text encoder: the sentence feature is the projected output at the sentence's end."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gym_grounding.errors import InvalidOption
from gym_grounding_policies.nets.profiles import TextTower
from gym_grounding_policies.nets.sites import Site
from gym_grounding_policies.nets.transformer import Block


class TextEncoder(nn.Module):
    """Tokens of sentences to features, not normalised. A token sees the earlier ones, so padding is never seen."""

    def __init__(self, settings: TextTower) -> None:
        super().__init__()
        width = settings.width
        self.length = settings.length
        self.tokens = nn.Embedding(settings.vocabulary, width)
        self.positions = nn.Embedding(settings.length, width)
        self.blocks = nn.ModuleList(
            Block(width, settings.heads, settings.hidden, "text", layer, settings.activation, fused=False)
            for layer in range(settings.layers)
        )
        self.norm = nn.LayerNorm(width)
        self.projection = Site(width, settings.projected, "text", bias=False)
        nn.init.normal_(self.tokens.weight, std=0.02)
        nn.init.normal_(self.positions.weight, std=0.01)

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Features (B, projected).

        Args:
            ids: (B, L) int64, each sentence with its end token, then padding.
            mask: (B, L), 1 up to and with the end token, then 0.

        Raises:
            InvalidOption: more tokens than the encoder has positions.
        """
        if ids.shape[1] > self.length:
            raise InvalidOption(f"sentences of {ids.shape[1]} tokens; the text encoder takes {self.length}: cut them")
        x = self.tokens(ids) + self.positions.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x, causal=True)
        end = mask.long().sum(1) - 1
        out: Tensor = self.projection(self.norm(x[torch.arange(len(x), device=x.device), end]))
        return out

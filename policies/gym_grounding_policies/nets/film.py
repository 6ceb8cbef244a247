"""The sentence acts on tokens by scaling and shifting them; the only way of language into the actor besides routing."""

from __future__ import annotations

from torch import Tensor, nn

from gym_grounding_policies.nets.sites import Site


class Film(nn.Module):
    """x <- (1 + g) x + b, with b and g from the sentence by a network with one hidden layer and GELU (tanh).

    The first half of its output is the shift b, the second the scale g; both are equal for all tokens and steps.
    """

    def __init__(self, sentence: int, hidden: int, width: int) -> None:
        super().__init__()
        self.inner = Site(sentence, hidden, "film")
        self.activation = nn.GELU("tanh")
        self.outer = Site(hidden, 2 * width, "film")

    def forward(self, tokens: Tensor, sentence: Tensor) -> Tensor:
        """Tokens (B, H, n, W) under sentences (B, D)."""
        both: Tensor = self.outer(self.activation(self.inner(sentence)))
        shift, scale = both[:, None, None].chunk(2, dim=-1)
        return (1 + scale) * tokens + shift

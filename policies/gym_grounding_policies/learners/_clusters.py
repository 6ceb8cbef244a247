"""Centres of points, by k-means with seeded starts."""

from __future__ import annotations

import torch
from torch import Tensor

STARTS = 10
ROUNDS = 300
TOLERANCE = 1e-4
"""Starts, most rounds of each, and the movement at which a start has ended relative to the mean variance: as in
scikit-learn's KMeans, which the public implementation uses."""


def centres(points: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """The best of several k-means: (c, d) float32, c the smaller of ``count`` and the number of distinct points.

    Args:
        points: (n, d), at least one.
        count: at least 1.
        generator: draws the starts; on the CPU.
    """
    x = points.detach().double().cpu()
    distinct: Tensor = torch.unique(x, dim=0)
    if len(distinct) <= count:
        return distinct.to(points.device, torch.float32)
    mean = x.mean(0)
    x = x - mean  # distances of far away points would lose digits
    found = [_descended(x, _spread(x, count, generator)) for _ in range(STARTS)]
    best = min(found, key=lambda one: one[1])[0]
    return (best + mean).to(points.device, torch.float32)


def _distances(x: Tensor, centre: Tensor) -> Tensor:
    """Squared, (n, c)."""
    squares = x.square().sum(1)[:, None] - 2 * x @ centre.T + centre.square().sum(1)
    return squares.clamp(min=0)


def _spread(x: Tensor, count: int, generator: torch.Generator) -> Tensor:
    """Points as first centres, each drawn with a chance that rises with the squared distance to those before it."""
    chosen = [int(torch.randint(len(x), (), generator=generator))]
    nearest = _distances(x, x[chosen])[:, 0]
    while len(chosen) < count:
        nearest[chosen] = 0
        chosen.append(int(torch.multinomial(nearest, 1, generator=generator)))
        nearest = torch.minimum(nearest, _distances(x, x[chosen[-1:]])[:, 0])
    return x[chosen]


def _descended(x: Tensor, centre: Tensor) -> tuple[Tensor, float]:
    """Centres after Lloyd's rounds, and the sum of squared distances to them."""
    least = TOLERANCE * float(x.var(0, correction=0).mean())
    for _ in range(ROUNDS):
        distances = _distances(x, centre)
        owner = distances.argmin(1)
        sizes = torch.bincount(owner, minlength=len(centre))
        new = torch.zeros_like(centre).index_add_(0, owner, x) / sizes.clamp(min=1)[:, None]
        # An empty cluster starts again at the point that is worst served.
        empty = (sizes == 0).nonzero()[:, 0]
        new[empty] = x[distances.amin(1).topk(len(empty)).indices]
        moved = float((new - centre).square().sum())
        centre = new
        if moved <= least:
            break
    return centre, float(_distances(x, centre).amin(1).sum())

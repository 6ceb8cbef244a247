"""Low-rank additions to linear layers: y = W x + s B A x with s = alpha / rank, each set in tensors of its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from gym_grounding.errors import InvalidOption
from gym_grounding_policies.nets.sites import WHOLE, Site


@dataclass(frozen=True, slots=True)
class Place:
    """Where an addition is made.

    Attributes:
        site, part: names of a site and of one of its parts.
        rank: r.
        alpha: the scale times the rank.
    """

    site: str
    part: str
    rank: int
    alpha: float

    @property
    def key(self) -> str:
        """Name of the place's tensors; a parameter's name holds no dot."""
        return f"{self.site.replace('.', '/')}:{self.part}"

    @property
    def scale(self) -> float:
        """s."""
        return self.alpha / self.rank


def query_value_places(
    sites: Mapping[str, Site], ranks: Mapping[str, int], alpha: float, first: Mapping[str, int] | None = None
) -> tuple[Place, ...]:
    """The q and v of attention layers.

    Args:
        ranks: group -> rank; other groups have none.
        first: group -> number of the first block that has them; default: block 0.
    """
    return tuple(
        Place(site.name, part, ranks[site.group], alpha)
        for site in sites.values()
        if site.group in ranks and (site.layer or 0) >= (first or {}).get(site.group, 0)
        for part in ("q", "v")
        if part in site.parts
    )


def whole_places(sites: Iterable[Site], rank: int, alpha: float) -> tuple[Place, ...]:
    """The whole output of every given site."""
    return tuple(Place(site.name, WHOLE, rank, alpha) for site in sites)


class Lora(nn.Module):
    """One set of additions; as a change it acts alike on all samples. B is zero at first, so it changes nothing.

    Args:
        sites: of the network that will be changed; gives sizes and device.
        generator: for A, which is uniform with bound 1 / sqrt(d_in).
        pooled: the bound 1 / sqrt(d_in r), which the public code's pools of adapters have.

    Raises:
        InvalidOption: no such site or part, a rank below 1, or one place twice.
    """

    def __init__(
        self, places: Sequence[Place], sites: Mapping[str, Site], generator: torch.Generator, pooled: bool = False
    ) -> None:
        super().__init__()
        self.places = tuple(places)
        self.A, self.B = nn.ParameterDict(), nn.ParameterDict()
        self._at: dict[str, list[tuple[Place, slice]]] = {}
        for place in self.places:
            rows = _rows(place, sites)
            if place.rank < 1 or place.key in self.A:
                raise InvalidOption(f"{place}: the rank must be at least 1, and a place may come once only")
            weight = sites[place.site].weight
            inputs = weight.shape[1]
            bound = 1 / math.sqrt(inputs * place.rank if pooled else inputs)
            start = (2 * torch.rand(place.rank, inputs, generator=generator) - 1) * bound
            self.A[place.key] = nn.Parameter(start.to(weight))
            self.B[place.key] = nn.Parameter(weight.new_zeros(rows.stop - rows.start, place.rank))
            self._at.setdefault(place.site, []).append((place, rows))

    def at(self, site: Site) -> Sequence[tuple[Place, slice]]:
        """The places at a site, with the rows that they change."""
        return self._at.get(site.name, ())

    def delta(self, site: str, part: str, x: Tensor) -> Tensor:
        """What is added to a part's output for inputs (..., d_in).

        Raises:
            InvalidOption: there is no addition there.
        """
        for place, _ in self._at.get(site, ()):
            if place.part == part:
                return self._delta(place, x)
        raise InvalidOption(f"no addition at {site}, part {part}")

    def forward(self, site: Site, x: Tensor, y: Tensor) -> Tensor:
        """The change, see ``sites.Change``."""
        for place, rows in self.at(site):
            y = added(y, rows, self._delta(place, x))
        return y

    def merged(self, site: Site) -> Tensor:
        """The site's weight (d_out, d_in) with the additions built in."""
        weight = site.weight.detach().clone()
        for place, rows in self.at(site):
            weight[rows] += place.scale * (self.B[place.key] @ self.A[place.key]).detach()
        return weight

    def _delta(self, place: Place, x: Tensor) -> Tensor:
        return place.scale * functional.linear(functional.linear(x, self.A[place.key]), self.B[place.key])

    @staticmethod
    def each(sets: Sequence[Lora], which: Tensor, site: Site, x: Tensor, y: Tensor) -> Tensor:
        """The change where sample b has the set of number ``which[b]``; all sets have the same places."""
        for place, rows in sets[0].at(site):
            down = torch.stack([one.A[place.key] for one in sets])[which]
            up = torch.stack([one.B[place.key] for one in sets])[which]
            y = added(y, rows, place.scale * by_sample(by_sample(x, down), up))
        return y

    @staticmethod
    def mixed(sets: Sequence[Lora], coefficients: Tensor, site: Site, x: Tensor, y: Tensor) -> Tensor:
        """The change by the weighted sums of all A and of all B, each for itself: s (sum_i w_i B_i)(sum_j w_j A_j) x.

        So products of different sets appear, and one set with coefficient w contributes w^2 of its addition.

        Args:
            coefficients: (B, P) for P sets.
        """
        for place, rows in sets[0].at(site):
            with torch.autocast(x.device.type, enabled=False):
                down = torch.einsum("bp,prd->brd", coefficients, torch.stack([one.A[place.key] for one in sets]))
                up = torch.einsum("bp,por->bor", coefficients, torch.stack([one.B[place.key] for one in sets]))
            y = added(y, rows, place.scale * by_sample(by_sample(x, down), up))
        return y


@torch.no_grad()
def orthogonalise(new: Lora, earlier: Sequence[Lora], generator: torch.Generator) -> None:
    """Draws the A of ``new`` orthogonal to all A of earlier sets at its place, with Frobenius norm 1; B becomes zero.

    Matrices are compared as flat vectors. ``earlier`` must not be empty.

    Raises:
        InvalidOption: there are as many earlier sets as A has numbers, so no direction is left.
    """
    for place in new.places:
        target = new.A[place.key]
        known = torch.stack([one.A[place.key].flatten() for one in earlier]).double().cpu()
        if len(known) >= known.shape[1]:
            raise InvalidOption(
                f"{place.key}: {len(known)} earlier sets leave no direction in {known.shape[1]} numbers"
            )
        basis = torch.linalg.qr(known.T).Q
        drawn = torch.randn(known.shape[1], generator=generator, dtype=torch.float64)
        for _ in range(2):  # once more against rounding
            drawn = drawn - basis @ (basis.T @ drawn)
        target.copy_((drawn / drawn.norm()).reshape(target.shape))
        new.B[place.key].zero_()


def added(y: Tensor, rows: slice, delta: Tensor) -> Tensor:
    """``y`` with something added to some of its last dimension's numbers."""
    if rows.stop - rows.start == y.shape[-1]:
        return y + delta
    y[..., rows] += delta
    return y


def by_sample(x: Tensor, weights: Tensor) -> Tensor:
    """x (N, ..., d_in) times the weights (B, d_out, d_in) of its sample; N as in ``sites.Change``."""
    batch = len(weights)
    assert len(x) % batch == 0, f"{len(x)} rows do not divide into {batch} samples"
    out = x.reshape(batch, -1, x.shape[-1]) @ weights.transpose(1, 2)
    return out.reshape(*x.shape[:-1], weights.shape[1])


def _rows(place: Place, sites: Mapping[str, Site]) -> slice:
    if place.site not in sites or place.part not in sites[place.site].parts:
        known = ", ".join(sites[place.site].parts) if place.site in sites else ", ".join(list(sites)[:20])
        raise InvalidOption(f"no part {place.part!r} of a site {place.site!r}; known: {known}")
    return sites[place.site].parts[place.part]

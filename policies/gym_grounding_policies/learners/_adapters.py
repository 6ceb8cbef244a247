"""Sets of adapters as the methods use them: where in an actor they are, and which sample has which set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from gym_grounding.errors import InvalidOption
from gym_grounding_policies.nets.actor import Actor
from gym_grounding_policies.nets.changes import Chosen, Copies
from gym_grounding_policies.nets.lora import Lora, Place, query_value_places, whole_places
from gym_grounding_policies.nets.profiles import PAPER
from gym_grounding_policies.nets.sites import Change, Site, Together

CHOICES = ("profile", "attention", "every")
"""Where low-rank additions are: ``attention`` as published; ``every``: at every linear layer, for small actors;
``profile``: the first for the published profile, the second for others."""
TOWERS = ("image", "text")
SMALL = ("proprio", "film", "head")
"""Groups that hold no attention."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Of the additions of a method.

    Attributes:
        tower_rank: r in the two encoders.
        rank: r elsewhere.
        alpha: scale times rank, everywhere.
    """

    tower_rank: int
    rank: int
    alpha: float

    def __post_init__(self) -> None:
        """Raises InvalidOption for values outside their domain."""
        for name in ("tower_rank", "rank"):
            if getattr(self, name) < 1:
                raise InvalidOption(f"{name} is {getattr(self, name)}; must be at least 1")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where adapters are.

    Attributes:
        places: of low-rank additions.
        copied: layers that have full copies instead.
        pooled: whether A starts with the smaller bound of the public code's pools; see ``Lora``.
    """

    places: tuple[Place, ...]
    copied: tuple[Site, ...] = ()
    pooled: bool = False


def check_choice(places: str) -> None:
    """Raises InvalidOption where a setting is none of ``CHOICES``."""
    if places not in CHOICES:
        raise InvalidOption(f"places is {places!r}; choose {', '.join(CHOICES)}")


def layout(
    actor: Actor, places: str, sizes: Sizes, copied: bool = False, small: bool = False, pooled: bool = False
) -> Layout:
    """The places of adapters in an actor.

    ``attention``: q and v of the upper half of each encoder's blocks, and of all blocks over time.

    Args:
        places: one of ``CHOICES``.
        copied: whether proprioception, FiLM and head have full copies, and no additions.
        small: whether they have additions also with ``attention``.
        pooled: whether the public code keeps the method's adapters in a pool, which matters for ``attention``.
    """
    check_choice(places)
    if places == "profile":
        places = "attention" if actor.profile.name == PAPER.name else "every"
    inner = tuple(site for site in actor.sites.values() if site.group in SMALL)
    if places == "attention":
        found = _attention(actor, sizes) + (_whole(inner, sizes) if small else ())
    else:
        found = _whole([site for site in actor.sites.values() if not (copied and site.group in SMALL)], sizes)
    return Layout(found, inner if copied else (), pooled and places == "attention")


class AdapterSet(nn.Module):
    """Low-rank additions and full copies of one task or slot.

    Args:
        sites: of the actor.
        generator: see ``Lora``.
    """

    def __init__(self, layout: Layout, sites: Mapping[str, Site], generator: torch.Generator) -> None:
        super().__init__()
        self.additions = Lora(layout.places, sites, generator, layout.pooled)
        self.copies = Copies(layout.copied)

    @torch.no_grad()
    def start_from(self, other: AdapterSet, noise: float = 0.0, generator: torch.Generator | None = None) -> None:
        """Takes the values of another set, each with normal noise of the given deviation."""
        for mine, theirs in zip(self.parameters(), other.parameters(), strict=True):
            mine.copy_(theirs)
            if noise:
                mine.add_(noise * torch.randn(mine.shape, generator=generator).to(mine))

    def change(self) -> Change:
        """Of a network in which all samples have this set."""
        return Together(self.additions, self.copies)

    @staticmethod
    def each(sets: Sequence[AdapterSet] | nn.ModuleList, index: Tensor) -> Change:
        """The change where sample b has the set ``index[b]``; sets that no sample has get no gradient."""
        all_sets = [cast(AdapterSet, one) for one in sets]
        additions = Chosen([one.additions for one in all_sets], index)
        return Together(additions, Chosen([one.copies for one in all_sets], index))


def _attention(actor: Actor, sizes: Sizes) -> tuple[Place, ...]:
    pictures, text = actor.profile.pictures, actor.profile.text
    layers = {"image": pictures.layers if pictures else 0, "text": text.layers if text else 0}
    first = {group: count // 2 for group, count in layers.items()}
    ranks = dict.fromkeys(TOWERS, sizes.tower_rank) | {"temporal": sizes.rank}
    return query_value_places(actor.sites, ranks, sizes.alpha, first)


def _whole(sites: Sequence[Site], sizes: Sizes) -> tuple[Place, ...]:
    return tuple(
        place
        for site in sites
        for place in whole_places([site], sizes.tower_rank if site.group in TOWERS else sizes.rank, sizes.alpha)
    )

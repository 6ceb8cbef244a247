"""Linear layers whose output can be changed from outside for the time of one forward pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, cast

from torch import Tensor, nn
from torch.nn import functional

GROUPS = ("image", "text", "proprio", "film", "temporal", "head")
"""What a site belongs to, in the order of the forward pass."""
WHOLE = "all"
"""The part that is the whole output."""


class Change(Protocol):
    """What an adapter does to a linear layer."""

    def __call__(self, site: Site, x: Tensor, y: Tensor, /) -> Tensor:
        """The output instead of ``y``.

        Args:
            x: the layer's input (N, ..., d_in). N is a multiple of the batch size; the rows of one sample are
                neighbours.
            y: the layer's own output (N, ..., d_out); may be written to.
        """
        ...


class Site(nn.Linear):
    """A linear layer that a change may alter; without one it is ``nn.Linear``.

    Attributes:
        name: path in the network that owns it; empty until that network named it.
        group: one of ``GROUPS``.
        layer: number of its block, from 0; None outside a stack of blocks.
        parts: name -> rows of the output that an adapter may change; always has ``all``.
        change: for the duration of one forward pass; see ``changed``.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        group: str,
        bias: bool = True,
        parts: tuple[str, ...] = (),
        layer: int | None = None,
    ) -> None:
        """``parts`` divide the output equally, in their order."""
        super().__init__(inputs, outputs, bias)
        assert group in GROUPS, group
        size = outputs // max(len(parts), 1)
        self.name, self.group, self.layer = "", group, layer
        self.parts: Mapping[str, slice] = {
            WHOLE: slice(0, outputs),
            **{part: slice(size * number, size * (number + 1)) for number, part in enumerate(parts)},
        }
        self.change: Change | None = None

    def use(self, change: Change | None) -> None:
        """Sets the change. One that is itself a module does not become part of this one."""
        object.__setattr__(self, "change", change)

    def forward(self, x: Tensor) -> Tensor:
        """The layer's output (N, ..., d_out), changed if there is a change."""
        y = functional.linear(x, self.weight, self.bias)
        return y if self.change is None else self.change(self, x, y)


class PatchSite(nn.Conv2d):
    """A convolution that a change may alter. It has no parts: adapters of linear layers pass it by, masks do not.

    Attributes:
        name, group, change: see ``Site``.
    """

    def __init__(self, inputs: int, outputs: int, side: int, group: str) -> None:
        """Square patches side by side, without bias."""
        super().__init__(inputs, outputs, side, side, bias=False)
        assert group in GROUPS, group
        self.name, self.group = "", group
        self.change: Change | None = None

    def use(self, change: Change | None) -> None:
        """See ``Site.use``."""
        object.__setattr__(self, "change", change)

    def forward(self, x: Tensor) -> Tensor:
        """Pictures (N, d_in, h, w) to patches (N, d_out, h', w'), changed if there is a change."""
        y: Tensor = super().forward(x)
        # Changes look a site up by its name, and this one's is not among the linear layers'.
        return y if self.change is None else self.change(cast(Any, self), x, y)


def name_sites(net: nn.Module) -> dict[str, Site]:
    """All linear sites of a network by name; every site is named after its path in it."""
    for name, module in net.named_modules():
        if isinstance(module, Site | PatchSite):
            module.name = name
    return {module.name: module for module in net.modules() if isinstance(module, Site)}


@contextmanager
def changed(net: nn.Module, change: Change | None) -> Iterator[None]:
    """Applies a change (None: none) at all sites of ``net``; what was there before comes back, also after an error."""
    before = [(site, site.change) for site in net.modules() if isinstance(site, Site | PatchSite)]
    try:
        for site, _ in before:
            site.use(change)
        yield
    finally:
        for site, earlier in before:
            site.use(earlier)


class Together:
    """Several changes, one after the other."""

    def __init__(self, *changes: Change) -> None:
        self.changes = changes

    def __call__(self, site: Site, x: Tensor, y: Tensor, /) -> Tensor:
        """Each change sees the output of the one before."""
        for change in self.changes:
            y = change(site, x, y)
        return y

"""What a learner is given at each step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from gym_grounding.errors import InvalidOption

GROWING = frozenset({"tokens", "present", "ids", "mask"})
"""Inputs whose number of things or words differs from batch to batch; they are filled up with zeros."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Windows of demonstrations. B windows of H steps, C actions to predict at each.

    Attributes:
        observations: input -> (B, H, ...).
        words: of the sentence of each window: ``sentence`` (B, D) float32, or ``ids`` and ``mask`` (B, L) int64.
        actions: (B, H, C, 7) float32; at each step the next C actions.
        weight: (B, H, C) float32, 0 or 1: which of them count in the loss.
        tasks: (B,) int64, number of the task in the sequence.
    """

    observations: Mapping[str, Tensor]
    words: Mapping[str, Tensor]
    actions: Tensor
    weight: Tensor
    tasks: Tensor

    def __post_init__(self) -> None:
        """Raises InvalidOption where the parts have different numbers of windows."""
        sizes = {name: len(part) for name, part in {**self.observations, **self.words}.items()}
        sizes |= {"actions": len(self.actions), "weight": len(self.weight), "tasks": len(self.tasks)}
        if len(set(sizes.values())) != 1:
            raise InvalidOption(f"a batch whose parts have different numbers of windows: {sizes}")

    def __len__(self) -> int:
        """Number of windows, B."""
        return len(self.tasks)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Batch:
        """The same on a device."""
        return self._each(lambda part: part.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Batch:
        """The same in memory from which an accelerator copies by itself."""
        return self._each(Tensor.pin_memory)

    def joined(self, other: Batch) -> Batch:
        """These windows, then the other's; where a scene has fewer things or a sentence fewer words, zeros follow.

        Raises:
            InvalidOption: the two have different inputs, or inputs of different sizes.
        """
        return Batch(
            _joined(self.observations, other.observations),
            _joined(self.words, other.words),
            stacked("actions", (self.actions, other.actions)),
            stacked("weight", (self.weight, other.weight)),
            torch.cat((self.tasks, other.tasks)),
        )

    def taken(self, indexes: Tensor) -> Batch:
        """Some of the windows, in the order given.

        Args:
            indexes: (b,) int64.
        """
        return self._each(lambda part: part[indexes])

    def _each(self, change: Callable[[Tensor], Tensor]) -> Batch:
        return Batch(
            {name: change(part) for name, part in self.observations.items()},
            {name: change(part) for name, part in self.words.items()},
            change(self.actions),
            change(self.weight),
            change(self.tasks),
        )


def stacked(name: str, parts: Sequence[Tensor]) -> Tensor:
    """Parts of one input, one after the other along the first axis; the growing ones filled up to the largest.

    Raises:
        InvalidOption: the parts differ in more than their first size.
    """
    shapes = {part.shape[1:] for part in parts}
    if len(shapes) > 1 and name in GROWING and len({len(shape) for shape in shapes}) == 1:
        largest = [max(sizes) for sizes in zip(*shapes, strict=True)]
        parts = [_filled(part, largest) for part in parts]
    elif len(shapes) > 1:
        raise InvalidOption(f"{name!r} comes in several shapes: {', '.join(str(tuple(one)) for one in shapes)}")
    return torch.cat(tuple(parts))


def _filled(part: Tensor, shape: Sequence[int]) -> Tensor:
    short = [want - has for want, has in zip(shape, part.shape[1:], strict=True)]
    return functional.pad(part, [number for lack in reversed(short) for number in (0, lack)])


def _joined(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> dict[str, Tensor]:
    if one.keys() != other.keys():
        raise InvalidOption(f"batches with different inputs cannot be joined: {sorted(one)} and {sorted(other)}")
    return {name: stacked(name, (part, other[name])) for name, part in one.items()}

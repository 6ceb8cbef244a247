"""Unit quaternions in the order x, y, z, w, as the observations carry them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def product(left: Array, right: Array) -> Array:
    """The rotation that applies ``right`` (4,) first and ``left`` (4,) second, both in the fixed frame."""
    axis = left[3] * right[:3] + right[3] * left[:3] + np.cross(left[:3], right[:3])
    return np.append(axis, left[3] * right[3] - left[:3] @ right[:3])


def inverse(quaternion: Array) -> Array:
    """The opposite rotation, shape (4,)."""
    return np.append(-quaternion[:3], quaternion[3])


def turn(quaternion: Array, vector: Array) -> Array:
    """``vector`` (3,) after the rotation."""
    return product(product(quaternion, np.append(vector, 0.0)), inverse(quaternion))[:3]


def rotation_vector(start: Array, end: Array) -> Array:
    """Axis times angle [rad] of the shortest turn from ``start`` to ``end``, in the fixed frame, shape (3,)."""
    difference = product(end, inverse(start))
    if difference[3] < 0.0:
        difference = -difference
    sine = float(np.linalg.norm(difference[:3]))
    if sine < 1e-9:
        return np.zeros(3)
    axis: Array = difference[:3] / sine
    return axis * float(2.0 * np.arctan2(sine, difference[3]))


def heading(quaternion: Array) -> float:
    """Angle of the body's x axis seen from above [rad], in (-pi, pi]."""
    axis = turn(quaternion, np.array([1.0, 0.0, 0.0]))
    return float(np.arctan2(axis[1], axis[0]))

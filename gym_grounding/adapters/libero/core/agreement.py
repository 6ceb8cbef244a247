"""Whether the BLAS that compiled code calls (scipy's) multiplies as numpy's does, to the last bit.

Robosuite leaves some small products to numpy, which the compiled step computes by scipy's BLAS. The two are builds of
one library in the usual wheels, and agree; elsewhere they need not.
"""

from __future__ import annotations

import warnings
from typing import Literal

import numpy as np

from gym_grounding.adapters.libero.core import compiled

SHAPES: tuple[tuple[tuple[int, int], tuple[int, ...], Literal["C", "F"]], ...] = (
    *(((3, velocities), (velocities,), "C") for velocities in range(20, 80)),
    ((3, 3), (3,), "C"),
    ((3, 3), (3,), "F"),
    ((7, 6), (6,), "C"),
    ((3, 3), (3, 3), "C"),
    ((4, 4), (4, 4), "C"),
)
"""Of the products in question, and the matrix's order; scenes have 21 to 57 velocities."""
_CASES = 20


def agrees() -> bool:
    """Compare random products of every shape; warns where they differ."""
    generator = np.random.default_rng(0)
    for first, second, order in SHAPES:
        for _ in range(_CASES):
            matrix, other = np.asarray(generator.normal(size=first), order=order), generator.normal(size=second)
            if not np.array_equal(compiled.multiply(matrix, other), np.dot(matrix, other)):
                warnings.warn(
                    f"numpy and scipy multiply {first} by {second} differently in the last bit, so LIBERO's control "
                    "step is not compiled, which makes it about twice as slow: install numpy and scipy from PyPI",
                    stacklevel=2,
                )
                return False
    return True

"""Tables of goal literals: what ``goals_compiled`` and ``goals_plain`` evaluate in one call.

Each literal is one row of one array. A verdict is 1 (holds), 0 or ``UNDECIDED``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero.core.arrays import Floats, Places

Rows = NDArray[Any]
Flags = NDArray[np.int8]

UNDECIDED = -1
"""Closer to a threshold than ``BAND``, where the order of sums could decide; LIBERO's own code is asked then."""
BAND = 1e-9
"""Far above the rounding of a few sums of metres, far below what anybody would notice [m]."""

ZONE = np.dtype(
    [
        ("literal", "i8"),
        ("subject", "i8"),
        ("site", "i8"),
        ("carrier", "i8"),
        ("touching", "i8", (2,)),
        ("size", "f8", (3,)),
        ("place", "f8", (3,)),
        ("below", "f8"),
        ("above", "f8"),
        ("boxed", "?"),
    ]
)
"""A body's origin on or in a box-shaped site. ``boxed``: within the box as LIBERO turns it, whose floor is ``below``
lower; else, in the box's frame, over its area and ``below`` under to ``above`` over its upper side.

Where ``carrier`` is no body (-1) the box is the site's own; else it stands at ``place`` in that body's frame, turned as
the site is. ``touching``: two groups of geoms in contact.
"""
PAIR = np.dtype([("literal", "i8"), ("subject", "i8"), ("reference", "i8"), ("touching", "i8", (2,)), ("near", "f8")])
"""A body that touches another, is not below it, and is nearer to it than ``near``, horizontally [m]."""
HEIGHT = np.dtype([("literal", "i8"), ("subject", "i8"), ("bound", "f8")])
"""A body at least so high [m]."""
LIMIT = np.dtype([("literal", "i8"), ("start", "i8"), ("stop", "i8"), ("every", "?")])
"""Comparisons ``start`` up to ``stop`` of joints, of which every or any must hold."""
JOINT = np.dtype([("position", "i8"), ("sign", "f8"), ("bound", "f8"), ("reached", "?")])
"""Position in qpos, times ``sign``, above ``bound``, or at it where ``reached``."""


class Table(NamedTuple):
    """The literals of one scene.

    The last group of all lets any touch count, the last but one takes the geoms that no literal asks about.
    """

    zones: Rows
    pairs: Rows
    heights: Rows
    limits: Rows
    joints: Rows
    groups: Places
    """Of each geom, shape (ngeom,)."""
    group_count: int


class Present(NamedTuple):
    """What a verdict is read from: joints as they are, poses as the last physics step found them."""

    positions: Floats
    bodies: Floats
    body_rotations: Floats
    """Matrices by rows, shape (nbody, 9), as of the sites."""
    sites: Floats
    site_rotations: Floats


def present(data: Any) -> Present:
    """The arrays of a ``mujoco.MjData``."""
    return Present(data.qpos, data.xpos, data.xmat, data.site_xpos, data.site_xmat)

"""LIBERO's own tests of place, as distances: how far inside of what they ask an origin is.

Distances are horizontal; where the height is wrong they are negative. ``spare`` is what is asked of the height beyond
LIBERO's bounds [m].

Sources: ``under`` and ``in_box`` of LIBERO's ``site_object.py``, ``check_ontop`` of its ``base_object_states.py``.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gym_grounding.experts.world import Place

Array = NDArray[np.float64]
_ABOVE, _BELOW, _DEEPER = 0.10, 0.005, 0.01
"""How far above a region counts as on it, how far into it, and how far under it as in it [m]."""
LEVEL = 1e-9
"""Origins at one height count as on each other [m]."""
STEEP = np.sqrt(0.5)
"""Vertical share of a direction from which on it counts as height."""
NEAR = 0.03
"""Farthest that origins may be from each other, horizontally, for one thing to be on the other [m]."""


def on_region(place: Place, origins: Array, spare: float = 0.0) -> Array:
    """Distance of origins, shape (..., 3), from the bounds of ``on``, shape (...) [m]; negative outside.

    LIBERO turns the offset by the region's rotation where its inverse is meant; what it asks is what counts.
    """
    offset = (origins - place.frame.position) @ place.frame.rotation.T
    half_x, half_y, half_z = place.half
    low, high = np.array([-half_x, -half_y, half_z - _BELOW]), np.array([half_x, half_y, half_z + _ABOVE])
    room = np.minimum(offset - low, high - offset)
    upwards = np.abs(place.frame.rotation[:, 2]) > STEEP
    return _sideways(room[..., ~upwards].min(axis=-1), room[..., upwards].min(axis=-1) - spare)


def in_region(place: Place, origins: Array, spare: float = 0.0) -> Array:
    """Distance of origins, shape (..., 3), from the bounds of ``in``, shape (...) [m]; negative outside."""
    low, high = box(place)
    distance = np.minimum(origins - low, high - origins)
    return _sideways(distance[..., :2].min(axis=-1), distance[..., 2] - spare)


def on_body(support: Array, origins: Array, spare: float = 0.0) -> Array:
    """Distance of origins, shape (..., 3), from the bounds of ``on`` a thing whose origin is ``support`` [m]."""
    sideways = NEAR - np.linalg.norm(origins[..., :2] - support[:2], axis=-1)
    height = origins[..., 2] - support[2] - spare
    return _sideways(sideways, height + LEVEL)


def _sideways(distance: Array, height: Array) -> Array:
    """The horizontal distance where the height is right, what is missing elsewhere."""
    result: Array = np.where(height > 0, distance, np.minimum(distance, height))
    return result


def box(place: Place) -> tuple[Array, Array]:
    """Low and high corner of what LIBERO takes for the inside of a region, shape (3,) each, world [m]."""
    half = np.abs(place.frame.rotation @ place.half)
    return place.frame.position - half - [0.0, 0.0, _DEEPER], place.frame.position + half


def over(place: Place) -> tuple[Array, Array]:
    """Low and high corner of where origins may be that are on a region, seen from above, shape (2,) each [m]."""
    x, y, z = place.half
    corners = np.array([[i, j, k] for i in (-x, x) for j in (-y, y) for k in (z - _BELOW, z + _ABOVE)])
    found = corners @ place.frame.rotation + place.frame.position
    return found[:, :2].min(axis=0), found[:, :2].max(axis=0)

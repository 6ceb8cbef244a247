"""Where an added region lies in the agent view."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero.predicates import AddedZone
from gym_grounding.types import Region

CAMERA = "agentview"


def outline(env: Any, region: Region, size: int) -> NDArray[np.float64]:
    """Corners of a region on its work surface, in the upright picture of the agent view.

    Args:
        env: LIBERO's problem object, in the state that is drawn.
        region: an added region.
        size: side of the picture [pixels].

    Returns:
        (column, row) of the four corners in order round the region [pixels], shape (4, 2).

    Raises:
        LookupError: the scene has another work surface.
    """
    x_min, y_min, x_max, y_max = region.ranges
    corners = ((x_min, y_min), (x_min, y_max), (x_max, y_max), (x_max, y_min))
    points = [AddedZone(env, Region(region.name, region.surface, (x, y, x, y))).position() for x, y in corners]
    return project(env, np.array(points), size)


def project(env: Any, points: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """World points [m], shape (n, 3), as (column, row) in the upright picture of the agent view, shape (n, 2)."""
    model, data = env.sim.model, env.sim.data
    camera = model.camera_name2id(CAMERA)
    # MuJoCo's cameras look along -z with x to the right and y up.
    seen = (points - data.cam_xpos[camera]) @ data.cam_xmat[camera].reshape(3, 3)
    scale = 0.5 * size / np.tan(np.radians(model.cam_fovy[camera]) / 2)
    return np.stack([size / 2 + scale * seen[:, 0] / -seen[:, 2], size / 2 - scale * seen[:, 1] / -seen[:, 2]], axis=1)

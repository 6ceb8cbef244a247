"""Which triangles of a model's meshes can cover a sample of a picture, as machine code.

All of it is in this one file, since numba's cache on disk notices changes of the file alone that holds a function.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero import install
from gym_grounding.adapters.libero.core.arrays import Floats

_CACHED = install.can_cache(Path(__file__).parent)
Function = TypeVar("Function", bound=Callable[..., Any])

Singles = NDArray[np.float32]
Numbers = NDArray[np.integer[Any]]
Flags = NDArray[np.bool_]


def _compiled(function: Function) -> Function:
    made: Any = numba.njit(nogil=True, cache=_CACHED, error_model="numpy")(function)
    return cast(Function, made)


@_compiled
def mark(
    vertices: Singles,
    faces: Numbers,
    spans: Numbers,
    places: Floats,
    window: Floats,
    samples: Floats,
    limits: Floats,
    kept: Flags,
) -> None:
    """Mark the triangles that may cover a sample in a window; the others cannot.

    Where a vertex is drawn may differ from where it is computed here by a margin, in each coordinate. A triangle is
    left unmarked where no move of its vertices within the margin turns it to the camera and covers a sample.

    All of a mesh is marked where the margin decides which way a triangle turns that may cover a sample, and an edge of
    the picture cuts the mesh. Mesa then decides it in one of two ways, by whether it clipped something shortly before
    in the mesh, so nothing may be left out before.

    Args:
        vertices: of all meshes, shape (n, 3) [m].
        faces: of all meshes, numbers of vertices within the mesh, shape (m, 3), unsigned.
        spans: per geom its mesh's first vertex and their number, its first face and their number, shape (k, 4).
        places: per geom the matrix from its frame, homogeneous, to pixels along x and y, each times the depth, and the
            depth; shape (k, 3, 4).
        window: left, right, bottom, top [pixels].
        samples: their places in a pixel, shape (s, 2).
        limits: least and largest depth that are drawn [m]; side of the picture [pixels], or 0 where more than its edges
            cuts meshes; the margin far away [pixels] and what it grows by with the inverse depth [pixels m]; and 1, or
            -1 where triangles that turn clockwise are seen from the front.
        kept: per face, is set.
    """
    most = 0
    for geom in range(len(spans)):
        most = max(most, spans[geom, 1])
    seen = np.empty((most, 3))
    for geom in range(len(spans)):
        first, count = spans[geom, 0], spans[geom, 1]
        inside = _project(vertices[first : first + count], places[geom], limits, seen)
        begin, end = spans[geom, 2], spans[geom, 2] + spans[geom, 3]
        if _mark_mesh(faces[begin:end], seen, window, samples, limits, kept[begin:end]) and not inside:
            kept[begin:end] = True


@_compiled
def _mark_mesh(faces: Numbers, seen: Floats, window: Floats, samples: Floats, limits: Floats, kept: Flags) -> bool:
    """Mark the triangles of one mesh; whether the margin decides which way a marked one turns."""
    _, _, _, snap, rounding, turn = limits
    left, right, bottom, top = window
    doubtful = False
    for face in range(len(faces)):
        a, b, c = faces[face, 0], faces[face, 1], faces[face, 2]
        close, least = max(seen[a, 2], seen[b, 2], seen[c, 2]), min(seen[a, 2], seen[b, 2], seen[c, 2])
        if least == 0:
            kept[face] |= close > 0
            continue
        ax, ay, bx, by, cx, cy = seen[a, 0], seen[a, 1], seen[b, 0], seen[b, 1], seen[c, 0], seen[c, 1]
        margin = snap + rounding * close
        low, high = min(ax, bx, cx) - margin, max(ax, bx, cx) + margin
        under, over = min(ay, by, cy) - margin, max(ay, by, cy) + margin
        if high < left or low > right or over < bottom or under > top:
            continue
        area = turn * ((bx - ax) * (cy - ay) - (cx - ax) * (by - ay))
        wide = (high - low) + (over - under)
        doubt = 4 * margin * wide
        if area < -doubt:
            continue
        # What is this large, GL itself clips and rounds otherwise; it covers samples.
        way = turn * np.sign(area) if wide < 4096 else 0.0
        low, high = max(low, left), min(high, right)
        under, over = max(under, bottom), min(over, top)
        if _covers(ax, ay, bx, by, cx, cy, way, margin, low, high, under, over, samples):
            kept[face] = True
            doubtful |= area < 1e-3 * doubt
    return doubtful


@_compiled
def _project(vertices: Singles, place: Floats, limits: Floats, seen: Floats) -> bool:
    """Set the pixels along x and y and the inverse depth, 0 for what is too close or behind; whether all are inside."""
    near, far, size, _, _, _ = limits
    inside = True
    for number in range(len(vertices)):
        x, y, z = float(vertices[number, 0]), float(vertices[number, 1]), float(vertices[number, 2])
        depth = place[2, 0] * x + place[2, 1] * y + place[2, 2] * z + place[2, 3]
        inverse = 1 / depth if depth > near / 2 else 0.0
        right = (place[0, 0] * x + place[0, 1] * y + place[0, 2] * z + place[0, 3]) * inverse
        up = (place[1, 0] * x + place[1, 1] * y + place[1, 2] * z + place[1, 3]) * inverse
        seen[number, 0], seen[number, 1], seen[number, 2] = right, up, inverse
        # A hundredth of a pixel and of the depths, against rounding in GL.
        inside &= 0.01 < right < size - 0.01 and 0.01 < up < size - 0.01 and 1.01 * near < depth < 0.99 * far
    return inside


@_compiled
def _covers(
    ax: float,
    ay: float,
    bx: float,
    by: float,
    cx: float,
    cy: float,
    turn: float,
    margin: float,
    low: float,
    high: float,
    under: float,
    over: float,
    samples: Floats,
) -> bool:
    """Whether a sample in a rectangle is inside the triangle or within the margin; 0 turn asks for the rectangle only.

    Moved by the margin, an edge passes a sample that was this far outside: margin * (|x| + |y|) of the edge.
    """
    first, second, third = (
        margin * (abs(bx - ax) + abs(by - ay)),
        margin * (abs(cx - bx) + abs(cy - by)),
        margin * (abs(ax - cx) + abs(ay - cy)),
    )
    for sample in range(len(samples)):
        right, up = samples[sample, 0], samples[sample, 1]
        start, end = np.ceil(low - right), np.floor(high - right)
        y = np.ceil(under - up) + up
        while y <= over:
            x = start + right
            while x <= end + right:
                if (
                    turn * ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) >= -first
                    and turn * ((cx - bx) * (y - by) - (cy - by) * (x - bx)) >= -second
                    and turn * ((ax - cx) * (y - cy) - (ay - cy) * (x - cx)) >= -third
                ):
                    return True
                x += 1
            y += 1
    return False


@_compiled
def pack(
    parts: Numbers, kept: Flags, original: tuple[Numbers, ...], packed: tuple[Numbers, ...], counts: Numbers
) -> None:
    """Move the marked triangles of some meshes to the front of their place, in their order.

    Args:
        parts: per mesh its number, first face and number of faces, shape (k, 3).
        kept: per face.
        original: corners, normals and texture coordinates of all faces, each of shape (m, 3).
        packed: the same; is changed.
        counts: per mesh of the model, how many are marked; is changed.
    """
    for mesh, first, count in parts:
        to = first
        for face in range(first, first + count):
            if kept[face]:
                for corner in range(3):
                    packed[0][to, corner] = original[0][face, corner]
                    packed[1][to, corner] = original[1][face, corner]
                    packed[2][to, corner] = original[2][face, corner]
                to += 1
        counts[mesh] = to - first

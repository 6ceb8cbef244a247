"""What a hand needs to know of a drawer or door: where its handle is and which way it opens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters import Joint
from gym_grounding.errors import NoPlan
from gym_grounding.experts.world import World

Array = NDArray[np.float64]
UP = np.array([0.0, 0.0, 1.0])
FRONT = 0.005
"""A piece that reaches this close to the front of its drawer or door may be its handle [m]."""


@dataclass(frozen=True, slots=True, eq=False)
class Bar:
    """The bar of a handle, as it is now.

    Attributes:
        centre: shape (3,), world [m].
        along: direction of its length, shape (3,), unit length.
        outward: direction in which its drawer or door opens, shape (3,), unit length.
        length, thickness, depth: its size along, across and outward [m].
        gap: free depth behind it [m].
    """

    centre: Array
    along: Array
    outward: Array
    length: float
    thickness: float
    depth: float
    gap: float

    @property
    def across(self) -> Array:
        """Direction of its thickness, shape (3,), unit length; up for a bar that lies."""
        across: Array = np.cross(self.outward, self.along)
        return across


def opens(joint: Joint) -> float:
    """+1 where a joint opens towards its upper end, -1 where towards its lower one."""
    return 1.0 if abs(joint.high) > abs(joint.low) else -1.0


def openness(world: World, fixture: str, number: int) -> float:
    """How far a joint is open, as a part of its range; 0 where it is shut, below 0 where it is pushed in past that."""
    joint = world.body(fixture).joints[number]
    sign = opens(joint)
    return sign * world.joint(fixture, number) / abs(joint.high if sign > 0 else joint.low)


@dataclass(frozen=True, slots=True, eq=False)
class Hinge:
    """The hinge of a door.

    Attributes:
        anchor: a point of its axis, shape (3,), world [m].
        axis: its direction, such that turning about it opens the door, shape (3,), unit length.
    """

    anchor: Array
    axis: Array


def hinged(world: World, fixture: str, number: int) -> Hinge:
    """The hinge of what turns on a joint."""
    joint, frame = world.body(fixture).joints[number], world.frame(fixture)
    return Hinge(frame.apply(joint.anchor), opens(joint) * (frame.rotation @ joint.axis))


def outward(world: World, fixture: str, number: int) -> Array:
    """Direction in which a drawer or the middle of a door now moves as it opens, shape (3,), unit length."""
    hinge = hinged(world, fixture, number)
    if world.body(fixture).joints[number].slides:
        return hinge.axis
    panel = max(_pieces(world, fixture, number), key=lambda piece: float(np.linalg.norm(np.ptp(piece, axis=0))))
    tangent = np.cross(hinge.axis, panel.mean(axis=0) - hinge.anchor)
    thin = across(panel)
    return thin if thin @ tangent > 0 else -thin


def across(points: Array) -> Array:
    """Level direction in which points, shape (n, 3), reach least far, shape (3,), unit length."""
    angles = np.linspace(0.0, np.pi, 180, endpoint=False)
    reach = points[:, :2] @ np.stack([np.cos(angles), np.sin(angles)])
    angle = float(angles[np.argmin(np.ptp(reach, axis=0))])
    return np.array([np.cos(angle), np.sin(angle), 0.0])


def _pieces(world: World, fixture: str, number: int) -> list[Array]:
    """Corners of what hangs on a joint, piece by piece, shapes (n, 3).

    Raises:
        NoPlan: nothing does.
    """
    part = world.part(fixture, number)
    found = [part.apply(piece.corners) for piece in world.body(fixture).pieces if piece.joint == number]
    if not found:
        raise NoPlan(f"{fixture}: nothing hangs on joint {number}")
    return found


def handle(world: World, fixture: str, number: int) -> Bar:
    """The handle of what hangs on a joint: of the pieces that reach farthest to the front, the longest.

    Raises:
        NoPlan: nothing hangs on the joint, or its front is flat.
    """
    out, pieces = outward(world, fixture, number), _pieces(world, fixture, number)
    front = max(float((piece @ out).max()) for piece in pieces)
    foremost = [piece for piece in pieces if front - float((piece @ out).max()) < FRONT]
    bar = max(foremost, key=lambda piece: float(_spread(piece, _along(piece, out))))
    along = _along(bar, out)
    reach, depth = bar @ out, _spread(bar, out)
    plates = [float((piece @ out).max()) for piece in pieces if float((piece @ out).max()) < reach.min() - FRONT]
    if not plates:
        raise NoPlan(f"{fixture}: what hangs on joint {number} has no handle")
    centre = _middle(bar, along, out)
    thickness = _spread(bar, np.cross(out, along))
    return Bar(centre, along, out, _spread(bar, along), thickness, depth, float(reach.min()) - max(plates))


def _middle(points: Array, along: Array, out: Array) -> Array:
    """Centre of the box around points whose axes are ``along``, ``out`` and the third, shape (3,)."""
    axes = np.stack([along, out, np.cross(out, along)])
    own = points @ axes.T
    middle: Array = (own.max(axis=0) + own.min(axis=0)) / 2 @ axes
    return middle


def _along(points: Array, out: Array) -> Array:
    """The direction in which points of a front are longer, level or upright, shape (3,), unit length."""
    level = np.cross(UP, out)
    level /= np.linalg.norm(level)
    return level if _spread(points, level) > _spread(points, UP) else -UP


def _spread(points: Array, direction: Array) -> float:
    return float(np.ptp(points @ direction))

"""What never changes about the bodies of a scene: shapes, joints, regions. With an observation it gives every pose."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """A place and a direction in another frame.

    Attributes:
        position: shape (3,) [m].
        rotation: matrix whose columns are the frame's axes, shape (3, 3).
    """

    position: Array
    rotation: Array

    def apply(self, points: Array) -> Array:
        """Points of this frame, shape (..., 3), in the other one."""
        moved: Array = points @ self.rotation.T + self.position
        return moved

    def inverse(self, points: Array) -> Array:
        """Points of the other frame, shape (..., 3), in this one."""
        moved: Array = (points - self.position) @ self.rotation
        return moved

    def then(self, inner: Frame) -> Frame:
        """A frame given in this one, in the other one."""
        return Frame(self.apply(inner.position), self.rotation @ inner.rotation)


@dataclass(frozen=True, slots=True, eq=False)
class Joint:
    """An articulated joint of a fixture. Its position stands in the observation's ``NAME_joint_pos``.

    Attributes:
        name: the simulator's own name.
        slides: whether it slides [m] or turns [rad].
        axis: direction in the entity's frame, shape (3,), unit length.
        anchor: a point of the axis in the entity's frame, shape (3,) [m].
        low, high: its range [m or rad].
    """

    name: str
    slides: bool
    axis: Array
    anchor: Array
    low: float
    high: float


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """One convex piece of collision geometry, in the frame of its entity with all joints at 0.

    Attributes:
        corners: points whose convex hull it is, shape (n, 3) [m].
        surface: points of its surface, at most about 1.2 cm from each other, shape (m, 3) [m].
        joint: number of the joint that moves it, None for none.
    """

    corners: Array
    surface: Array
    joint: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """An object or fixture. Its pose stands in the observation's ``NAME_pos`` and ``NAME_quat``.

    Attributes:
        name: of the entity.
        movable: whether it is an object; fixtures stay where they are.
        pieces: its collision geometry.
        joints: in the order of the observation's ``NAME_joint_pos``.
    """

    name: str
    movable: bool
    pieces: tuple[Piece, ...]
    joints: tuple[Joint, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Spot:
    """A box-shaped region that goals name.

    Attributes:
        name: of the region.
        parent: entity that carries it; empty for a zone of the work surface.
        joint: number of the parent's joint that moves it, None for none.
        frame: its place, in the parent's frame with all joints at 0; in the world for a zone.
        half: half sides along its axes, shape (3,) [m].
    """

    name: str
    parent: str
    joint: int | None
    frame: Frame
    half: Array


@dataclass(frozen=True, slots=True, eq=False)
class Anatomy:
    """A scene's bodies and regions.

    Attributes:
        scene: id of the scene.
        bodies: objects and fixtures by name.
        spots: regions by name.
        ground: height of the work surface's top, world [m].
        extent: (x_min, y_min, x_max, y_max) of the work surface's top, world [m].
        origin: world position from which ranges of added regions count, with a zone's height, shape (3,) [m].
        thickness: half height of an added region [m].
        base: world position of the robot's base, shape (3,) [m].
    """

    scene: str
    bodies: Mapping[str, Body]
    spots: Mapping[str, Spot]
    ground: float
    extent: tuple[float, float, float, float]
    origin: Array
    thickness: float
    base: Array

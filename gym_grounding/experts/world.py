"""Where everything is now: an anatomy together with one observation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Anatomy, Body, Frame, Joint, Spot
from gym_grounding.errors import PolicyError, UnknownName
from gym_grounding.types import Region

Array = NDArray[np.float64]
HAND = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
"""Axes of the grip site in the hand body's frame, whose quaternion LIBERO observes: x closes, z approaches."""
OPEN = 0.078
"""Distance between the finger pads when the gripper is open [m]."""


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """A region as it lies now.

    Attributes:
        name: of the region.
        frame: its centre and axes in the world.
        half: half sides along its axes, shape (3,) [m].
        parent: entity that carries it; empty for a zone of the work surface.
        joint: number of the parent's joint that moves it, None for none.
    """

    name: str
    frame: Frame
    half: Array
    parent: str
    joint: int | None


class World:
    """Present poses of a scene, in the world's frame (x away from the robot, y to its left, z up) [m].

    Args:
        anatomy: the scene's bodies.
        observation: one episode's observation of the kind ``state`` or ``both``.
        regions: regions that the goal adds to the work surface.

    Attributes:
        anatomy: as given.

    Raises:
        PolicyError: the observation lacks a pose, or holds none.
    """

    def __init__(
        self, anatomy: Anatomy, observation: Mapping[str, NDArray[Any]], regions: Sequence[Region] = ()
    ) -> None:
        self.anatomy = anatomy
        self._observation = observation
        self._regions = {region.name: region for region in regions}
        self._frames: dict[str, Frame] = {}
        self._clouds: dict[str, Array] = {}

    @cached_property
    def hand(self) -> Frame:
        """The grip site between the finger pads: x the closing axis, z the approach (down at rest)."""
        rotation = self._turn("robot0_eef_quat") @ HAND
        return Frame(self._read("robot0_eef_pos"), rotation)

    @property
    def arm(self) -> Array:
        """Positions of the arm's seven joints, shape (7,) [rad]."""
        return self._read("robot0_joint_pos")

    @property
    def width(self) -> float:
        """Distance between the finger pads, 0 to ``OPEN`` [m]."""
        left, right = self._read("robot0_gripper_qpos")
        return float(left - right)

    @property
    def closing(self) -> float:
        """Speed at which the pads approach each other [m/s]."""
        left, right = self._read("robot0_gripper_qvel")
        return float(right - left)

    def body(self, name: str) -> Body:
        """An object or fixture.

        Raises:
            UnknownName: the scene has none of that name.
        """
        if name not in self.anatomy.bodies:
            raise UnknownName("object or fixture", name, self.anatomy.bodies, f"scene {self.anatomy.scene}")
        return self.anatomy.bodies[name]

    def frame(self, name: str) -> Frame:
        """Origin and axes of an object or fixture.

        Raises:
            UnknownName: the scene has none of that name.
        """
        if name not in self._frames:
            self.body(name)
            self._frames[name] = Frame(self._read(f"{name}_pos"), self._turn(f"{name}_quat"))
        return self._frames[name]

    def joint(self, name: str, number: int) -> float:
        """Position of a fixture's joint [m or rad]."""
        return float(self._read(f"{name}_joint_pos")[number])

    def part(self, name: str, joint: int | None) -> Frame:
        """The frame in which pieces and regions that hang on a joint are given; the entity's own for None."""
        frame = self.frame(name)
        return frame if joint is None else frame.then(moved(self.body(name).joints[joint], self.joint(name, joint)))

    def cloud(self, name: str) -> Array:
        """Surface points of an object's or fixture's collision geometry, shape (n, 3)."""
        if name not in self._clouds:
            carriers = dict.fromkeys(piece.joint for piece in self.body(name).pieces)
            parts = [self.part_cloud(name, joint) for joint in carriers]
            self._clouds[name] = np.concatenate(parts) if parts else np.empty((0, 3))
        return self._clouds[name]

    def part_cloud(self, name: str, joint: int | None) -> Array:
        """Surface points of what hangs on a joint (a drawer, a door, a knob), or on none, shape (n, 3)."""
        points = [piece.surface for piece in self.body(name).pieces if piece.joint == joint]
        return self.part(name, joint).apply(np.concatenate(points)) if points else np.empty((0, 3))

    def others(self, without: Collection[str] = ()) -> Array:
        """Surface points of every object and fixture but those named, shape (n, 3)."""
        clouds = [self.cloud(name) for name in self.anatomy.bodies if name not in without]
        return np.concatenate(clouds) if clouds else np.empty((0, 3))

    def spot(self, name: str) -> Place:
        """A region of the scene or of the goal.

        Raises:
            UnknownName: there is none of that name.
        """
        if name in self._regions:
            return self._added(self._regions[name])
        if name not in self.anatomy.spots:
            known = [*self.anatomy.spots, *self._regions]
            raise UnknownName("region", name, known, f"scene {self.anatomy.scene}")
        spot = self.anatomy.spots[name]
        return Place(name, self._carrier(spot).then(spot.frame), spot.half, spot.parent, spot.joint)

    def is_spot(self, name: str) -> bool:
        """Whether ``name`` is a region (and no object or fixture)."""
        return name in self._regions or name in self.anatomy.spots

    def _carrier(self, spot: Spot) -> Frame:
        return self.part(spot.parent, spot.joint) if spot.parent else Frame(np.zeros(3), np.eye(3))

    def _added(self, region: Region) -> Place:
        x_min, y_min, x_max, y_max = region.ranges
        centre = self.anatomy.origin + np.array([(x_min + x_max) / 2, (y_min + y_max) / 2, 0.0])
        half = np.array([(x_max - x_min) / 2, (y_max - y_min) / 2, self.anatomy.thickness])
        return Place(region.name, Frame(centre, np.eye(3)), half, "", None)

    def _read(self, key: str) -> Array:
        if key not in self._observation:
            raise PolicyError(
                f"the expert reads poses, and the observation lacks {key}; make the environment with "
                "observation='state' or 'both'"
            )
        value = np.asarray(self._observation[key], np.float64)
        if not np.isfinite(value).all():
            raise PolicyError(f"the observation's {key} is {value}: the expert needs finite numbers")
        return value

    def _turn(self, key: str) -> Array:
        quaternion = self._read(key)
        if not np.any(quaternion):
            raise PolicyError(f"the observation's {key} is {quaternion}, which is no rotation")
        turn: Array = Rotation.from_quat(quaternion).as_matrix()
        return turn


def moved(joint: Joint, position: float) -> Frame:
    """What a joint at ``position`` does to things given with it at 0, in the entity's frame."""
    if joint.slides:
        return Frame(joint.axis * position, np.eye(3))
    rotation = Rotation.from_rotvec(joint.axis * position).as_matrix()
    return Frame(joint.anchor - rotation @ joint.anchor, rotation)

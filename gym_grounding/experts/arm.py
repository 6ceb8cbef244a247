"""What the arm's joints say about a pose of the hand: where the controller would bring them, and whether they may.

LIBERO's arm is a Franka Panda (robosuite's ``panda/robot.xml``: chain and joint ranges). Its seventh degree of freedom
is drawn towards the posture in which an episode starts (robosuite's ``nullspace_torques``).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Frame

Array = NDArray[np.float64]
LOW = np.array([-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973])
HIGH = np.array([2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973])
"""Ends of the joints [rad]."""
START = np.array([0.0, -0.161037389, 0.0, -2.44459747, 0.0, 2.2267522, np.pi / 4])
"""Joints at the start of an episode (``init_qpos`` of LIBERO's robots) [rad]."""
_OFFSETS = np.array([
    [0.0, 0.0, 0.333], [0.0, 0.0, 0.0], [0.0, -0.316, 0.0], [0.0825, 0.0, 0.0],
    [-0.0825, 0.384, 0.0], [0.0, 0.0, 0.0], [0.088, 0.0, 0.0],
])  # fmt: skip
_QUARTERS = (0, -1, 1, 1, -1, 1, 1)
"""Each link in the one before: origin [m] and quarter turns about x."""
_TOOL = np.array([0.0, 0.0, 0.1065 + 0.097])
_TWIST = -3 * np.pi / 4
"""The grip site beyond the last joint: distance [m] and turn about its axis [rad]."""
STEPS, GAIN, PULL, DAMPING = 25, 0.5, 0.08, 0.03
"""Iterations, the share of the error that each takes away, that of the way to the start's posture, and what keeps the
steps short near singular postures."""
_CAPSULES = (
    (4, (0.0, 0.0, -0.25), (0.0, 0.07, 0.0), 0.057),
    (5, (0.0, 0.015, 0.006), (0.085, 0.015, 0.006), 0.058),
    (6, (0.0, 0.0, 0.0), (0.0, 0.0, 0.05), 0.05),
)
"""Forearm, wrist and flange: link, two points in its axes and the distance from the line between them, about the convex
hulls of their collision meshes [m]."""
FARTHEST = 0.12
"""Largest part of the way that an iteration looks at [m and rad]."""


def hands(joints: Array) -> tuple[Array, Array, Array]:
    """The hand for joint positions, shape (n, 7).

    Returns:
        Positions of the grip site from the robot's base, shape (n, 3) [m]; its axes, shape (n, 3, 3); and how both
        change with the joints (first three rows metres, then radians), shape (n, 6, 7).
    """
    turns, anchors = _chain(joints)
    axes, rotation = turns[:, :, :, 2], turns[:, 6]
    tip = anchors[:, 6] + rotation @ _TOOL
    jacobian = np.empty((len(joints), 6, 7))
    jacobian[:, :3] = np.cross(axes, tip[:, None] - anchors).transpose(0, 2, 1)
    jacobian[:, 3:] = axes.transpose(0, 2, 1)
    return tip, rotation @ _about_z(np.array([_TWIST])), jacobian


def _chain(joints: Array) -> tuple[Array, Array]:
    """Axes of the links, shape (n, 7, 3, 3), and their origins from the base, shape (n, 7, 3)."""
    count = len(joints)
    rotation, position = np.broadcast_to(np.eye(3), (count, 3, 3)), np.zeros((count, 3))
    turns, anchors = np.empty((count, 7, 3, 3)), np.empty((count, 7, 3))
    for number, (offset, quarters) in enumerate(zip(_OFFSETS, _QUARTERS, strict=True)):
        position = position + rotation @ offset
        rotation = rotation @ (_about_x(quarters) @ _about_z(joints[:, number]))
        turns[:, number], anchors[:, number] = rotation, position
    return turns, anchors


def struck(joints: Array, base: Array, points: Array) -> Array:
    """How many of the points lie in the forearm or the wrist for joint positions, shape (n,).

    Args:
        joints: shape (n, 7) [rad].
        base: the robot's base, shape (3,), world [m].
        points: shape (m, 3), world [m].
    """
    turns, anchors = _chain(joints)
    inside = np.zeros((len(joints), len(points)), bool)
    for link, first, last, radius in _CAPSULES:
        start = (anchors[:, link] + base + turns[:, link] @ np.array(first))[:, None]
        way = (turns[:, link] @ (np.array(last) - np.array(first)))[:, None]
        share = np.clip(((points - start) * way).sum(axis=-1) / (way * way).sum(axis=-1), 0.0, 1.0)
        inside |= np.linalg.norm(points - start - share[..., None] * way, axis=-1) < radius
    counts: Array = inside.sum(axis=1)
    return counts


def room(joints: Array) -> float:
    """Least distance of a joint from its end, joints of shape (7,) [rad]."""
    return float(np.minimum(joints - LOW, HIGH - joints).min())


def settled(frames: Sequence[Frame], base: Array, start: Array) -> tuple[Array, Array]:
    """Where the controller brings the joints for poses of the hand, and what stays of the way.

    Args:
        frames: of the grip site, world.
        base: the robot's base, shape (3,), world [m].
        start: joints before, shape (7,) or (n, 7) [rad].

    Returns:
        Joints within their ends, shape (n, 7) [rad], and distances from the poses, shape (n,) [m, a radian as 0.1].
    """
    goals = np.array([frame.position for frame in frames]).reshape(-1, 3) - base
    turns = np.array([frame.rotation for frame in frames]).reshape(-1, 3, 3)
    joints = np.array(np.broadcast_to(start, (len(goals), 7)))
    damping = DAMPING**2 * np.eye(6)
    for _ in range(STEPS):
        error, jacobian = _errors(joints, goals, turns)
        turned = jacobian.transpose(0, 2, 1)
        inverse = turned @ np.linalg.inv(jacobian @ turned + damping)
        pull = PULL * (START - joints)[..., None]
        move = inverse @ _shortened(GAIN * error)[..., None] + pull - inverse @ (jacobian @ pull)
        joints = np.clip(joints + move[..., 0], LOW, HIGH)
    error, _ = _errors(joints, goals, turns)
    return joints, np.linalg.norm(error[:, :3], axis=1) + 0.1 * np.linalg.norm(error[:, 3:], axis=1)


def _errors(joints: Array, goals: Array, turns: Array) -> tuple[Array, Array]:
    position, rotation, jacobian = hands(joints)
    turn = Rotation.from_matrix(turns @ rotation.transpose(0, 2, 1)).as_rotvec()
    return np.concatenate([goals - position, turn], axis=1), jacobian


def _shortened(error: Array) -> Array:
    size = np.maximum(np.linalg.norm(error[:, :3], axis=1), np.linalg.norm(error[:, 3:], axis=1))
    shortened: Array = error * np.minimum(1.0, FARTHEST / np.maximum(size, 1e-9))[:, None]
    return shortened


def _about_x(quarters: int) -> Array:
    sine = float(quarters)
    cosine = 0.0 if quarters else 1.0
    return np.array([[1.0, 0.0, 0.0], [0.0, cosine, -sine], [0.0, sine, cosine]])


def _about_z(angles: Array) -> Array:
    turn = np.zeros((len(angles), 3, 3))
    turn[:, 0, 0] = turn[:, 1, 1] = np.cos(angles)
    turn[:, 1, 0] = np.sin(angles)
    turn[:, 0, 1] = -turn[:, 1, 0]
    turn[:, 2, 2] = 1.0
    return turn

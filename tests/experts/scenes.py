"""Small fabricated scenes for tests of the oracle, without a simulator."""

import numpy as np

from gym_grounding.adapters import Anatomy, Body, Frame, Joint, Piece, Spot
from gym_grounding.experts import arm

GROUND = 0.9


def block(half, centre=(0.0, 0.0, 0.0), joint=None, spacing=0.01):
    """A box with a dense surface."""
    half, centre = np.array(half, float), np.array(centre, float)
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    ticks = [np.linspace(-h, h, max(2, int(np.ceil(2 * h / spacing)) + 1)) for h in half]
    grid = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, 3)
    shell = grid[np.any(np.abs(np.abs(grid) - half) < 1e-9, axis=1)]
    return Piece(centre + half * signs, centre + shell, joint)


def ring(radius, height, count=24):
    """Walls of a round bowl without a floor worth speaking of."""
    pieces = [block((radius * 0.9, radius * 0.9, 0.003))]
    for angle in np.linspace(0, 2 * np.pi, count, endpoint=False):
        centre = (radius * np.cos(angle), radius * np.sin(angle), height / 2)
        pieces.append(block((0.004, 0.004, height / 2), centre, spacing=0.006))
    return tuple(pieces)


def anatomy(**bodies):
    """A table with the given bodies, a cabinet-less region on it, and the robot at x = -0.66."""
    spots = {
        "table_zone": Spot("table_zone", "", None, Frame(np.array([0.1, 0.2, 0.895]), np.eye(3)), np.full(3, 0.04))
    }
    found = {
        name: Body(name, movable, tuple(pieces), tuple(joints)) for name, (movable, pieces, joints) in bodies.items()
    }
    return Anatomy(
        "s", found, spots, GROUND, (-0.5, -0.6, 0.5, 0.6), np.array([0, 0, 0.895]), 0.007, np.array([-0.66, 0, 0.912])
    )


def hinge(axis=(0, 0, 1), slides=False, low=-2.0, high=2.0):
    return Joint("joint", slides, np.array(axis, float), np.zeros(3), low, high)


def observation(poses, hand=(-0.2, 0.0, 1.17), width=0.078, joints=None):
    """A ``state`` observation with upright things at ``poses`` and the hand pointing down."""
    found = {
        "robot0_eef_pos": np.array(hand, float),
        "robot0_eef_quat": np.array([1.0, 0.0, 0.0, 0.0]),
        "robot0_gripper_qpos": np.array([width / 2, -width / 2]),
        "robot0_gripper_qvel": np.zeros(2),
        "robot0_joint_pos": arm.START.copy(),
    }
    for name, position in poses.items():
        found[f"{name}_pos"] = np.array(position, float)
        found[f"{name}_quat"] = np.array([0.0, 0.0, 0.0, 1.0])
    for name, values in (joints or {}).items():
        found[f"{name}_joint_pos"] = np.array(values, float)
    return found

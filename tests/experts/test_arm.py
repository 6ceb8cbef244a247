"""The arm's kinematics, and where the controller would bring its joints."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Frame
from gym_grounding.experts import arm

BASE = np.array([-0.66, 0.0, 0.912])


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def within(rng, count):
    """Joint positions well inside of their ends."""
    return arm.START + rng.uniform(-0.5, 0.5, (count, 7))


def frames(joints):
    positions, rotations, _ = arm.hands(joints)
    return [Frame(position + BASE, rotation) for position, rotation in zip(positions, rotations, strict=True)]


def test_the_hand_points_down_in_front_of_the_robot_at_the_start():
    positions, rotations, _ = arm.hands(arm.START[None])
    assert np.allclose(positions, [[0.455, 0.0, 0.257]], atol=0.01)  # as observed in LIBERO at an episode's start
    assert np.allclose(rotations[0, :, 2], [0.0, 0.0, -1.0], atol=0.07)
    assert np.allclose(rotations[0, :, 0], [0.0, 1.0, 0.0], atol=0.07)


def test_the_jacobian_is_the_change_of_the_hand(rng):
    joints = within(rng, 5)
    position, rotation, jacobian = arm.hands(joints)
    assert np.allclose(rotation @ rotation.transpose(0, 2, 1), np.eye(3))
    for number in range(7):
        moved = joints.copy()
        moved[:, number] += 1e-6
        there, turned, _ = arm.hands(moved)
        assert np.allclose((there - position) / 1e-6, jacobian[:, :3, number], atol=1e-5)
        turn = Rotation.from_matrix(turned @ rotation.transpose(0, 2, 1)).as_rotvec()
        assert np.allclose(turn / 1e-6, jacobian[:, 3:, number], atol=1e-5)


def test_poses_that_the_arm_takes_are_reached(rng):
    joints = within(rng, 40)
    found, left = arm.settled(frames(joints), BASE, arm.START)
    assert left.max() < 0.01
    assert np.all((found >= arm.LOW) & (found <= arm.HIGH))
    there = arm.hands(found)[0] - arm.hands(joints)[0]
    assert np.linalg.norm(there, axis=1).max() < 0.01


def test_of_all_postures_it_is_the_one_near_the_start():
    turned = arm.START + np.array([0.9, 0.0, -0.9, 0.0, 0.0, 0.0, 0.0])  # the elbow out to one side
    found, _ = arm.settled(frames(arm.START[None]), BASE, turned)
    assert np.abs(found[0] - arm.START).max() < 0.2


@pytest.mark.parametrize(
    ("position", "approach"),
    [
        ((0.95, 0.0, 0.3), (0.0, 0.0, -1.0)),  # too far
        ((0.1, 0.0, 0.1), (0.0, 0.0, -1.0)),  # in the base
        ((0.3, 0.0, 1.2), (0.0, 0.0, -1.0)),  # over it
    ],
    ids=["far", "base", "over"],
)
def test_poses_out_of_reach_stay_away(position, approach):
    z = np.array(approach)
    x = np.array([0.0, 1.0, 0.0])
    pose = Frame(np.array(position) + BASE, np.stack([x, np.cross(z, x), z], axis=1))
    joints, left = arm.settled([pose], BASE, arm.START)
    assert left[0] > 0.02
    assert np.all((joints >= arm.LOW) & (joints <= arm.HIGH))


def test_nothing_to_reach_gives_nothing():
    joints, left = arm.settled([], BASE, arm.START)
    assert joints.shape == (0, 7)
    assert left.shape == (0,)


def test_what_lies_in_the_forearm_or_the_wrist_is_struck():
    axes, origins = arm._chain(arm.START[None])
    elbow, wrist = origins[0, 3] + BASE, origins[0, 4] + BASE
    inside = np.array([(elbow + wrist) / 2, wrist, origins[0, 6] + BASE])
    beside = np.array([(elbow + wrist) / 2 + 0.12 * axes[0, 4, :, 0], wrist + np.array([0.0, 0.0, 0.3])])
    assert arm.struck(arm.START[None], BASE, inside) == 3
    assert arm.struck(arm.START[None], BASE, beside) == 0
    assert arm.struck(arm.START[None], BASE, np.empty((0, 3))) == 0


def test_the_room_of_a_joint_is_the_distance_to_its_nearer_end():
    joints = arm.START.copy()
    assert arm.room(joints) == pytest.approx(0.6272, abs=1e-3)  # the fourth one, of -3.07
    joints[5] = 3.7
    assert arm.room(joints) == pytest.approx(0.0525)

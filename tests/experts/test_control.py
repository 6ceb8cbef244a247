"""From commands to actions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Frame
from gym_grounding.experts.control import CLOSED, METRES, RADIANS, Command, action, turn_between

HAND = Frame(np.array([0.1, 0.2, 1.0]), Rotation.from_rotvec([np.pi, 0, 0]).as_matrix())
numbers = st.floats(-2, 2)


def test_no_wish_is_no_motion():
    assert action(Command(), HAND) == pytest.approx([0, 0, 0, 0, 0, 0, -1])


def test_a_small_error_is_asked_for_twice():
    got = action(Command(position=HAND.position + np.array([0.01, 0, 0]), grip=CLOSED), HAND)
    assert got == pytest.approx([2 * 0.01 / METRES, 0, 0, 0, 0, 0, 1])


def test_a_turn_is_about_the_worlds_axis():
    turned = Rotation.from_rotvec([0, 0, 0.1]).as_matrix() @ HAND.rotation
    assert action(Command(rotation=turned), HAND)[3:6] == pytest.approx([0, 0, 2 * 0.1 / RADIANS])


def test_reach_and_turn_bound_one_step():
    far = Command(
        HAND.position + np.array([1.0, 1.0, 0]),
        Rotation.from_rotvec([0, 0, 1]).as_matrix() @ HAND.rotation,
        reach=0.02,
        turn=0.1,
    )
    got = action(far, HAND)
    assert np.linalg.norm(got[:3]) * METRES == pytest.approx(0.02)
    assert np.linalg.norm(got[3:6]) * RADIANS == pytest.approx(0.1)


@given(st.tuples(numbers, numbers, numbers), st.tuples(numbers, numbers, numbers))
def test_actions_stay_in_range_and_keep_their_direction(offset, vector):
    rotation = Rotation.from_rotvec(vector).as_matrix() @ HAND.rotation
    got = action(Command(HAND.position + offset, rotation), HAND)
    assert np.all(np.abs(got) <= 1)
    assert np.linalg.norm(np.cross(got[:3], offset)) == pytest.approx(0, abs=1e-9)
    assert np.dot(got[:3], offset) >= 0


@given(st.tuples(numbers, numbers, numbers))
def test_turning_by_the_difference_arrives(vector):
    end = Rotation.from_rotvec(vector).as_matrix() @ HAND.rotation
    arrived = Rotation.from_rotvec(turn_between(HAND.rotation, end)).as_matrix() @ HAND.rotation
    assert arrived == pytest.approx(end, abs=1e-6)

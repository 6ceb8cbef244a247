"""Poses from a scene's anatomy and one observation."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Anatomy, Body, Frame, Joint, Piece, Spot
from gym_grounding.errors import PolicyError, UnknownName
from gym_grounding.experts.world import World, moved
from gym_grounding.types import Region

QUARTER = Rotation.from_rotvec([0.0, 0.0, np.pi / 2]).as_quat()


def cube(centre, joint=None, half=0.01):
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    corners = np.array(centre, float) + half * signs
    return Piece(corners, corners, joint)


def joint(slides, axis, anchor=(0.0, 0.0, 0.0)):
    return Joint("j", slides, np.array(axis, float), np.array(anchor, float), -1.0, 1.0)


@pytest.fixture
def anatomy():
    """A block, and a cabinet with a drawer that slides along its y and a door that turns about its z."""
    cabinet = Body(
        "cabinet_1",
        False,
        (cube((0, 0, 0)), cube((0.0, -0.1, 0.0), 0), cube((0.1, 0.0, 0.0), 1)),
        (joint(True, (0, 1, 0)), joint(False, (0, 0, 1), (0.05, 0.0, 0.0))),
    )
    inner = Spot("cabinet_1_top_region", "cabinet_1", 0, Frame(np.array([0.0, -0.1, 0.0]), np.eye(3)), np.full(3, 0.02))
    zone = Spot("table_zone", "", None, Frame(np.array([0.3, 0.1, 0.9]), np.eye(3)), np.full(3, 0.01))
    return Anatomy(
        scene="s",
        bodies={"block_1": Body("block_1", True, (cube((0, 0, 0)),)), "cabinet_1": cabinet},
        spots={spot.name: spot for spot in (inner, zone)},
        ground=0.9,
        extent=(-0.5, -0.5, 0.5, 0.5),
        origin=np.array([0.1, -0.2, 0.895]),
        thickness=0.007,
        base=np.array([-0.6, 0.0, 0.9]),
    )


@pytest.fixture
def observation():
    return {
        "robot0_eef_pos": np.array([0.0, 0.0, 1.2]),
        "robot0_eef_quat": np.array([1.0, 0.0, 0.0, 0.0]),
        "robot0_gripper_qpos": np.array([0.03, -0.02]),
        "robot0_gripper_qvel": np.array([-0.4, 0.1]),
        "block_1_pos": np.array([0.2, 0.0, 0.91]),
        "block_1_quat": np.array([0.0, 0.0, 0.0, 1.0]),
        "cabinet_1_pos": np.array([0.0, 0.3, 1.0]),
        "cabinet_1_quat": QUARTER,
        "cabinet_1_joint_pos": np.array([-0.1, np.pi / 2]),
    }


def centre(points):
    return points.mean(axis=0)


def test_the_hand_at_rest_points_down_and_closes_along_y(anatomy, observation):
    hand = World(anatomy, observation).hand
    assert hand.rotation[:, 2] == pytest.approx([0, 0, -1])
    assert hand.rotation[:, 0] == pytest.approx([0, 1, 0])
    assert hand.rotation[:, 1] == pytest.approx([1, 0, 0])


def test_fingers(anatomy, observation):
    world = World(anatomy, observation)
    assert world.width == pytest.approx(0.05)
    assert world.closing == pytest.approx(0.5)


def test_what_hangs_on_a_joint_moves_with_it(anatomy, observation):
    world = World(anatomy, observation)
    # The cabinet's y is the world's -x: the drawer, at -0.1 along it and 0.1 further out, is 0.2 to the world's +x.
    assert centre(world.part_cloud("cabinet_1", 0)) == pytest.approx([0.2, 0.3, 1.0])
    # The door's end, 0.05 from the hinge along the cabinet's x, has turned to its y: the world's -x.
    assert centre(world.part_cloud("cabinet_1", 1)) == pytest.approx([-0.05, 0.35, 1.0])
    assert centre(world.part_cloud("cabinet_1", None)) == pytest.approx([0.0, 0.3, 1.0])
    assert len(world.cloud("cabinet_1")) == 24


def test_a_region_moves_with_its_drawer(anatomy, observation):
    place = World(anatomy, observation).spot("cabinet_1_top_region")
    assert place.frame.position == pytest.approx([0.2, 0.3, 1.0])
    assert place.frame.rotation[:, 0] == pytest.approx([0, 1, 0])


def test_an_added_region_lies_where_its_ranges_say(anatomy, observation):
    added = Region("table_block_1_right", "table", (-0.1, 0.0, 0.1, 0.4))
    world = World(anatomy, observation, (added,))
    place = world.spot(added.name)
    assert place.frame.position == pytest.approx([0.1, 0.0, 0.895])
    assert place.half == pytest.approx([0.1, 0.2, 0.007])
    assert world.is_spot(added.name)
    assert not World(anatomy, observation).is_spot(added.name)


def test_others_leaves_out_what_is_named(anatomy, observation):
    world = World(anatomy, observation)
    assert len(world.others()) == 32
    assert len(world.others({"cabinet_1"})) == 8
    assert world.others({"cabinet_1", "block_1"}).shape == (0, 3)


def test_an_observation_without_poses_is_refused(anatomy, observation):
    del observation["block_1_pos"]
    world = World(anatomy, observation)
    with pytest.raises(PolicyError, match=r"lacks block_1_pos.*observation='state'"):
        world.frame("block_1")


@pytest.mark.parametrize("ask", ["body", "spot"])
def test_unknown_names_are_named(anatomy, observation, ask):
    with pytest.raises(UnknownName, match="cabinet_2"):
        getattr(World(anatomy, observation), ask)("cabinet_2")


def test_a_turning_joint_leaves_its_axis_where_it_is():
    hinge = joint(False, (0, 0, 1), (0.3, 0.2, 0.0))
    frame = moved(hinge, 1.234)
    assert frame.apply(np.array([0.3, 0.2, 5.0])) == pytest.approx([0.3, 0.2, 5.0])

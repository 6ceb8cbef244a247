"""Where to take hold of things, from their geometry."""

import numpy as np
import pytest
from experts.scenes import GROUND, anatomy, block, observation, ring

from gym_grounding.adapters import Frame
from gym_grounding.experts.arm import struck
from gym_grounding.experts.skills.grasp import OUTER, TIP, WIDEST, Ways, axes, candidates, efforts, hits, near
from gym_grounding.experts.world import OPEN, World

DOWN = axes(np.array([0.0, 1.0, 0.0]))
NOTHING = np.empty((0, 3))


def chosen(pieces, height, obstacles=NOTHING, goal=None):
    scene = anatomy(thing_1=(True, pieces, ()))
    world = World(scene, observation({"thing_1": (0.0, 0.0, GROUND + height)}))
    found = candidates(world, "thing_1", world.hand.rotation)
    grasp = Ways(found, world, "thing_1", obstacles).best(goal, obstacles)
    return world, grasp, None if grasp is None else world.frame("thing_1").then(grasp.hand)


def test_hand_axes_are_a_right_handed_frame_that_looks_down():
    for angle in np.linspace(0, 2 * np.pi, 7):
        for lean in (0.0, 0.5, 1.2):
            frame = axes(np.array([np.cos(angle), np.sin(angle), 0.0]), lean)
            assert frame.T @ frame == pytest.approx(np.eye(3), abs=1e-9)
            assert np.linalg.det(frame) == pytest.approx(1.0)
            assert frame[2, 2] == pytest.approx(-np.cos(lean))
    assert DOWN[:, 1] == pytest.approx([1, 0, 0])


def test_a_block_is_held_across_its_narrow_side():
    _, grasp, hand = chosen((block((0.05, 0.02, 0.02)),), 0.02)
    assert abs(hand.rotation[1, 0]) == pytest.approx(1.0, abs=0.05)
    assert grasp.width == pytest.approx(0.04, abs=0.01)
    assert hand.position[:2] == pytest.approx([0, 0], abs=0.012)


def test_a_block_too_wide_for_the_hand_is_not_held_through_its_middle():
    _, grasp, hand = chosen((block((0.06, 0.06, 0.03)),), 0.03)
    assert grasp.width < WIDEST
    assert np.linalg.norm(hand.position[:2]) > 0.05


def test_a_bowl_is_held_by_its_wall_with_a_finger_on_either_side():
    _, grasp, hand = chosen(ring(0.054, 0.05), 0.0)
    radius = np.linalg.norm(hand.position[:2])
    assert 0.035 < radius < 0.06
    outward = hand.position[:2] / radius
    assert abs(outward @ hand.rotation[:2, 0]) > 0.95
    assert grasp.width < 0.03


def test_a_flat_dish_is_held_at_its_rim_and_low():
    pieces = (block((0.06, 0.06, 0.003)), *(one for one in ring(0.07, 0.014)[1:]))
    _, grasp, hand = chosen(pieces, 0.003)
    assert hand.position[2] - GROUND < 0.01
    assert np.linalg.norm(hand.position[:2]) > 0.04
    assert grasp.slack > 0.007


def test_fingers_keep_off_what_stands_beside():
    free = chosen((block((0.02, 0.02, 0.03)),), 0.03)[2]
    wall = block((0.05, 0.004, 0.05)).surface + free.position + free.rotation[:, 0] * 0.048
    _, _, hand = chosen((block((0.02, 0.02, 0.03)),), 0.03, obstacles=wall)
    assert hits(free, wall) > 0
    assert hits(hand, wall) == 0


def test_the_place_of_release_counts_too():
    _, _, free = chosen((block((0.02, 0.02, 0.03)),), 0.03)
    goal = Frame(np.array([0.0, 0.15, 0.93]), np.eye(3))
    then = Frame(goal.position + free.position - [0, 0, GROUND + 0.03], free.rotation)
    wall = block((0.05, 0.004, 0.05)).surface + then.position + then.rotation[:, 0] * 0.048
    _, grasp, _ = chosen((block((0.02, 0.02, 0.03)),), 0.03, obstacles=wall, goal=goal)
    assert hits(then, wall) > 0
    assert hits(goal.then(grasp.hand), wall) == 0


def test_hits_counts_points_in_hand_and_fingers_only():
    frame = Frame(np.array([0.0, 0.0, 1.0]), DOWN)
    inside = frame.apply(np.array([[0.0, 0.0, -0.08], [(OPEN / 2 + OUTER) / 2, 0.0, 0.0]]))
    between = frame.apply(np.array([[0.0, 0.0, 0.0], [0.0, 0.0, TIP + 0.01], [0.2, 0.0, 0.0]]))
    assert hits(frame, inside) == 2
    assert hits(frame, between) == 0
    assert hits(frame, NOTHING) == 0


def test_a_pose_that_the_arm_does_not_get_to_costs_everything():
    world = World(anatomy(thing_1=(True, (block((0.02, 0.02, 0.02)),), ())), observation({"thing_1": (0, 0, 1.0)}))
    near_by, far = Frame(np.array([-0.1, 0.1, 1.0]), DOWN), Frame(np.array([0.4, 0.0, 1.0]), DOWN)
    costs, joints = efforts([near_by, far], world)
    assert costs[0] < 1
    assert costs[1] == np.inf
    assert joints.shape == (2, 7)


def test_what_the_arm_does_not_get_to_is_not_taken():
    scene = anatomy(thing_1=(True, (block((0.02, 0.02, 0.03)),), ()))
    for distance, within in ((0.0, True), (0.5, False)):
        world = World(scene, observation({"thing_1": (distance, 0.0, GROUND + 0.03)}))
        ways = Ways(candidates(world, "thing_1", world.hand.rotation), world, "thing_1", NOTHING)
        assert ways.grasps
        assert (ways.best(None, NOTHING) is not None) == within


def test_the_forearm_keeps_off_what_it_would_strike():
    _, _, free = chosen((block((0.02, 0.02, 0.03)),), 0.03)
    _, joints = efforts([free], World(anatomy(), observation({})))
    base = np.array([-0.66, 0.0, 0.912])
    beside = free.position - [0.05, 0.0, 0.0] + [0.0, 0.0, 0.26]  # where the wrist is
    bar = block((0.1, 0.005, 0.005)).surface + beside
    assert struck(joints, base, bar)[0] > 0
    world, _, hand = chosen((block((0.02, 0.02, 0.03)),), 0.03, obstacles=bar)
    _, joints = efforts([hand], world)
    assert struck(joints, base, bar)[0] == 0


def test_the_forearm_keeps_off_what_it_would_strike_where_the_thing_is_let_go():
    goal = Frame(np.array([0.0, 0.3, GROUND + 0.03]), np.eye(3))
    world, grasp, _ = chosen((block((0.02, 0.02, 0.03)),), 0.03, goal=goal)
    _, joints = efforts([goal.then(grasp.hand)], world)
    base = world.anatomy.base
    bar = block((0.1, 0.005, 0.005)).surface + goal.then(grasp.hand).position + [-0.05, 0.0, 0.26]
    assert struck(joints, base, bar)[0] > 0
    ways = Ways(candidates(world, "thing_1", world.hand.rotation), world, "thing_1", NOTHING)
    other = ways.best(goal, bar)
    assert struck(efforts([goal.then(other.hand)], world)[1], base, bar)[0] == 0


def test_what_is_near_is_thinned_and_the_rest_left_out():
    cloud = np.concatenate([np.zeros((50, 3)), np.full((50, 3), 5.0)])
    assert near(cloud, np.zeros(3)).shape == (1, 3)
    assert near(NOTHING, np.zeros(3)).shape == (0, 3)

"""Doors on an upright hinge."""

import numpy as np
import pytest
from experts.scenes import GROUND, anatomy, block, hinge
from experts.toys import Toy

from gym_grounding.experts.skills import DONE, FAILED, OpenDoor, ShutDoor
from gym_grounding.experts.skills._fixture import hinged, openness, outward

PLACE, HEIGHT = (0.05, 0.2, GROUND), 0.2


def oven():
    """A door along x from its hinge at the origin, that opens towards -y about an axis that points down."""
    body = block((0.16, 0.1, HEIGHT / 2), (0.08, 0.11, HEIGHT / 2), spacing=0.03)
    door = [
        block((0.1, 0.006, HEIGHT / 2), (0.1, 0.0, HEIGHT / 2), 0, 0.02),
        block((0.006, 0.012, 0.006), (0.18, -0.018, 0.03), 0),
        block((0.006, 0.012, 0.006), (0.18, -0.018, 0.194), 0),
        block((0.006, 0.006, 0.1), (0.18, -0.036, 0.1), 0),
    ]
    return (False, [body, *door], [hinge((0, 0, 1), low=-2.09, high=0.0)])


def swings(toy, before):
    """The door follows fingertips that drag the top of its handle or push at its outer face."""
    cloud = toy.world.part_cloud("oven_1", 0)
    if toy.width > 0.01 or np.linalg.norm(cloud - before, axis=1).min() > 0.022:
        return
    arm, move = (before - PLACE)[:2], (toy.tip - before)[:2]
    turn = (arm[0] * move[1] - arm[1] * move[0]) / (arm @ arm)
    if before[2] > cloud[:, 2].max() - 0.02 or turn > 0:
        toy.joints["oven_1"][0] = np.clip(toy.joints["oven_1"][0] + turn, -2.09, 0.0)


def toy(angle, touch=swings):
    return Toy(anatomy(oven_1=oven()), {"oven_1": PLACE}, {"oven_1": [angle]}, touch)


def test_a_shut_door_is_dragged_open_by_its_handle():
    scene = toy(0.0)
    step, count = scene.run(OpenDoor("oven_1", 0))
    assert step.status == DONE, step.reason
    assert scene.joints["oven_1"][0] < -1.3
    assert count < 200


@pytest.mark.parametrize("angle", [-1.9, -1.0, -0.3])
def test_an_open_door_is_pushed_shut(angle):
    scene = toy(angle)
    step, count = scene.run(ShutDoor("oven_1", 0))
    assert step.status == DONE, step.reason
    assert scene.joints["oven_1"][0] > -0.005
    assert count < 200


@pytest.mark.parametrize("skill", [OpenDoor("oven_1", 0), ShutDoor("oven_1", 0)])
def test_a_door_that_does_not_move_is_given_up(skill):
    step, _ = toy(-0.6, touch=None).run(skill, limit=800)
    assert step.status == FAILED


def test_done_and_words():
    opens, shuts = OpenDoor("oven_1", 0), ShutDoor("oven_1", 0)
    assert (opens.words, shuts.words) == ("open the door of oven_1", "close the door of oven_1")
    assert opens.done(toy(-1.31).world)
    assert not opens.done(toy(-1.25).world)
    assert shuts.done(toy(-0.004).world)
    assert not shuts.done(toy(-0.02).world)


@pytest.mark.parametrize("angle", [0.0, -0.8, -1.6])
def test_outward_is_across_the_panel_the_way_it_opens(angle):
    world = toy(angle).world
    assert outward(world, "oven_1", 0) == pytest.approx([np.sin(angle), -np.cos(angle), 0.0], abs=0.03)
    assert openness(world, "oven_1", 0) == pytest.approx(-angle / 2.09)
    assert hinged(world, "oven_1", 0).axis == pytest.approx([0, 0, -1])

"""Sliding flat things over the work surface."""

from dataclasses import dataclass

import numpy as np
import pytest
from experts.scenes import GROUND, anatomy, block, observation, ring
from experts.toys import Toy

from gym_grounding.errors import NoPlan
from gym_grounding.experts.skills import DONE, FAILED, Push, Release
from gym_grounding.experts.world import World

DISH = (block((0.05, 0.05, 0.003)), *ring(0.07, 0.014)[1:])
GOAL = np.array([0.1, 0.2])


@dataclass(frozen=True)
class Zone:
    """A square around ``GOAL``, at some height above the work surface."""

    height: float = 0.003
    words: str = "on the zone"

    def releases(self, world, thing):
        return (Release(np.array([*GOAL, GROUND + self.height])),)

    def reached(self, world, thing):
        return bool(np.abs(world.frame(thing).position[:2] - GOAL).max() < 0.03)


ZONE = Zone()


def drags(toy, before):
    """The dish comes along under fingertips that press on it, and meets no resistance."""
    dish = toy.poses["dish_1"]
    if np.linalg.norm((before - dish)[:2]) < 0.06 and before[2] < dish[2] + 0.006 and toy.width < 0.01:
        dish[:2] += 0.8 * (toy.tip - before)[:2]


def toy(at, touch=drags, **things):
    bodies = {name: (True, (block(half),), ()) for name, (half, _) in things.items()}
    poses = {name: centre for name, (_, centre) in things.items()}
    return Toy(anatomy(dish_1=(True, DISH, ()), **bodies), {"dish_1": (*at, GROUND + 0.003), **poses}, None, touch)


@pytest.mark.parametrize("start", [(-0.05, -0.1), (0.2, 0.0), (0.0, 0.3)])
def test_a_dish_is_dragged_to_its_zone_and_left(start):
    scene = toy(start)
    step, count = scene.run(Push("dish_1", ZONE))
    assert step.status == DONE, step.reason
    assert np.abs(scene.poses["dish_1"][:2] - GOAL).max() < 0.04
    assert count < 150
    assert scene.low > GROUND - 0.008
    assert scene.tip[2] > GROUND + 0.03 or np.linalg.norm(scene.tip[:2] - scene.poses["dish_1"][:2]) > 0.05


def test_it_goes_around_what_stands_low_on_the_way():
    stands = np.array([0.1, 0.03])
    scene = toy((0.1, -0.15), box_1=((0.02, 0.02, 0.007), (*stands, GROUND + 0.007)))
    nearest = [np.inf]

    def touch(toy, before):
        drags(toy, before)
        nearest.append(float(np.linalg.norm(toy.poses["dish_1"][:2] - stands)))

    scene.touch = touch
    step, _ = scene.run(Push("dish_1", ZONE))
    assert step.status == DONE, step.reason
    assert min(nearest) > 0.074 + 0.02 - 0.006


def test_a_dish_that_does_not_move_is_given_up():
    step, _ = toy((-0.05, -0.1), touch=None).run(Push("dish_1", ZONE))
    assert step.status == FAILED
    assert "did not slide" in step.reason


def test_it_presses_where_the_hand_strikes_nothing():
    wall = ((0.02, 0.02, 0.06), (-0.05, -0.19, GROUND + 0.06))
    scene = toy((-0.05, -0.1), box_1=wall)
    assert abs(Push("dish_1", ZONE)._yaw(scene.world)) > 0.5
    assert Push("dish_1", ZONE)._yaw(toy((-0.05, -0.1)).world) == 0.0


@pytest.mark.parametrize(
    "pieces", [ring(0.07, 0.05), (block((0.05, 0.05, 0.003)), block((0.05, 0.004, 0.04), (0, 0.05, 0.04)))]
)
def test_a_thing_with_a_deep_middle_is_not_slid(pieces):
    world = World(anatomy(bowl_1=(True, pieces, ())), observation({"bowl_1": (0.0, 0.0, GROUND + 0.003)}))
    with pytest.raises(NoPlan, match="no flat middle"):
        Push("bowl_1", ZONE).advance(world, None)


def test_a_thing_that_stands_on_another_is_not_slid():
    world = World(anatomy(dish_1=(True, DISH, ())), observation({"dish_1": (0.0, 0.0, GROUND + 0.2)}))
    with pytest.raises(NoPlan, match="does not stand on the work surface"):
        Push("dish_1", ZONE).advance(world, None)


def test_a_place_above_the_work_surface_is_not_reached_by_sliding():
    with pytest.raises(NoPlan, match="not on the work surface"):
        Push("dish_1", Zone(0.2)).advance(toy((0.0, 0.0)).world, None)


def test_words_and_end():
    assert Push("dish_1", ZONE).words == "push dish_1 " + ZONE.words
    assert Push("dish_1", ZONE).done(toy(GOAL).world)
    assert not Push("dish_1", ZONE).done(toy((0.0, 0.0)).world)

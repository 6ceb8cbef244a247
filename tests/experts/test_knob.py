"""Turning a knob by its ridge."""

import numpy as np
import pytest
from experts.scenes import GROUND, anatomy, block, hinge
from experts.toys import Toy
from scipy.spatial.transform import Rotation

from gym_grounding.errors import NoPlan
from gym_grounding.experts.skills import DONE, FAILED, TurnKnob

TOP, RIDGE = 0.05, 0.02
PLACE = (-0.1, 0.1, GROUND)


def stove(knob=True):
    pieces = [block((0.12, 0.1, 0.01), (0.1, 0.0, 0.01), spacing=0.02)]
    if knob:
        pieces += [block((0.02, 0.02, 0.01), (0, 0, 0.02), 0), block((0.03, RIDGE / 2, 0.015), (0, 0, TOP - 0.015), 0)]
    return (False, pieces, [hinge(low=-0.005, high=2.1)])


def turns(toy, _):
    """The ridge turns with closed pads around it."""
    middle = np.array([*PLACE[:2], PLACE[2] + TOP - 0.018])
    around = np.linalg.norm(toy.position - middle) < 0.015
    toy.shut = RIDGE if around else 0.0
    now = toy.rotation[:, 0]
    if around and toy.width <= RIDGE + 1e-9 and toy.was is not None:
        turned = np.cross(toy.was, now)[2]
        toy.joints["stove_1"][0] = np.clip(toy.joints["stove_1"][0] + turned, -0.005, 2.1)
    toy.was = now


def toy(position, touch=turns, knob=True):
    scene = Toy(anatomy(stove_1=stove(knob)), {"stove_1": PLACE}, {"stove_1": [position]}, touch)
    scene.was = None
    return scene


@pytest.mark.parametrize("start", [0.0, 0.3, -0.004])
def test_a_knob_is_turned_on_with_something_to_spare(start):
    scene = toy(start)
    step, count = scene.run(TurnKnob("stove_1", 0, True))
    assert step.status == DONE, step.reason
    assert scene.joints["stove_1"][0] > 0.7
    assert count < 120
    assert scene.tip[2] > PLACE[2] + TOP


@pytest.mark.parametrize("start", [0.3, 1.0, 2.0])
def test_a_knob_is_turned_off(start):
    scene = toy(start)
    step, count = scene.run(TurnKnob("stove_1", 0, False))
    assert step.status == DONE, step.reason
    assert scene.joints["stove_1"][0] < 0.0
    assert count < 250


def test_the_pads_take_the_ridge_across():
    for position in (0.0, 0.7, 1.9):
        pose = TurnKnob("stove_1", 0, True)._hold(toy(position).world)
        ridge = Rotation.from_rotvec([0, 0, position]).apply([1.0, 0, 0])
        assert abs(pose.rotation[:, 0] @ ridge) < 0.05
        assert pose.position == pytest.approx([*PLACE[:2], PLACE[2] + TOP - 0.018], abs=0.004)


def test_a_knob_that_does_not_turn_is_given_up():
    def closes(toy, _):
        toy.shut = RIDGE

    step, count = toy(0.0, touch=closes).run(TurnKnob("stove_1", 0, True), limit=400)
    assert step.status == FAILED
    assert count <= 305


def test_done_words_and_nothing_to_hold():
    on, off = TurnKnob("stove_1", 0, True), TurnKnob("stove_1", 0, False)
    assert (on.words, off.words) == ("turn on stove_1", "turn off stove_1")
    assert on.done(toy(0.5).world)
    assert not on.done(toy(0.49).world)
    assert off.done(toy(-0.001).world)
    assert not off.done(toy(0.0).world)
    with pytest.raises(NoPlan, match="nothing on its joint"):
        on.advance(toy(0.0, knob=False).world, None)

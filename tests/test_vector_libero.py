"""Threads on real LIBERO: to the last bit what the same environments give in turn."""

import functools

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import SyncVectorEnv

from gym_grounding import ThreadVectorEnv, instruction_text, make_vec

pytestmark = pytest.mark.sim

ORIGINAL, CONTRAST = (f"gym_grounding:Grounding/LiberoGoal-T8-{kind}-v0" for kind in ("Original", "ContrastTarget1"))
OTHER = "gym_grounding:Grounding/LiberoLong-T9-Original-v0"


def actions(count, size):
    drawn = np.random.default_rng(4).uniform(-1, 1, (count, size, 7)).astype(np.float32)
    drawn[..., 2] = -np.abs(drawn[..., 2])  # down, into contact
    return drawn


def assert_equal(one, other):
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_equal(one[key], other[key])
    elif isinstance(one, tuple):
        for pair in zip(one, other, strict=True):
            assert_equal(*pair)
    elif getattr(one, "dtype", None) == np.dtype(object):
        assert_equal(tuple(one), tuple(other))
    else:
        assert np.array_equal(one, other)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_two_instructions_for_one_scene(mode):
    """In threads first, so that the scenes are compiled there, side by side."""
    makers = [
        functools.partial(gymnasium.make, name, observation="state", horizon=horizon)
        for name, horizon in ((ORIGINAL, 6), (CONTRAST, 9), (ORIGINAL, 100))
    ]
    ours = ThreadVectorEnv(makers, autoreset_mode=mode, threads=3)
    results = [ours.reset(seed=3)]
    results += [ours.step(action) for action in actions(20, 3)]
    states = [scene.state() for scene in ours.get_attr("scene")]
    ours.close()
    theirs = SyncVectorEnv(makers, autoreset_mode=mode)
    assert_equal(results[0], theirs.reset(seed=3))
    for result, action in zip(results[1:], actions(20, 3), strict=True):
        assert_equal(result, theirs.step(action))
    assert_equal(tuple(states), tuple(scene.state() for scene in theirs.get_attr("scene")))
    assert [instruction_text(row) for row in results[-1][0]["instruction"]] == [
        "put the bowl on the plate",
        "put the bowl on the stove",
        "put the bowl on the plate",
    ]
    theirs.close()


def test_scenes_of_two_suites():
    """Long 9 is the scene in which a door stands open and everything touches."""
    ids = [OTHER, CONTRAST, OTHER, ORIGINAL]
    ours = make_vec(ids, observation="state", observation_mode="separate", threads=2)
    singles = [gymnasium.make(name, observation="state") for name in ids]
    start = {"init_state": 7}
    observations, _ = ours.reset(options=start)
    assert_equal(observations, tuple(env.reset(options=start)[0] for env in singles))
    for action in actions(15, 4):
        observations, *_ = ours.step(action)
        assert_equal(observations, tuple(env.step(row)[0] for env, row in zip(singles, action, strict=True)))
    ours.close()
    for env in singles:
        env.close()


@pytest.mark.gl
@pytest.mark.slow
def test_pictures_of_two_suites():
    """The same pictures, also when the next environment draws a scene that was drawn on a thread that has ended."""
    ids = [OTHER, CONTRAST]
    start = {"init_state": 7}
    singles = [gymnasium.make(name, observation="pixels", image_size=64) for name in ids]
    expected = [[env.reset(options=start)[0] for env in singles]]
    expected += [[env.step(row)[0] for env, row in zip(singles, action, strict=True)] for action in actions(2, 2)]
    for order in ((0, 1), (1, 0)):
        vector = make_vec([ids[index] for index in order], observation="pixels", image_size=64, threads=2)
        found = [vector.reset(options=start)[0]]
        found += [vector.step(action[list(order)])[0] for action in actions(2, 2)]
        vector.close()
        for step, rows in enumerate(expected):
            for place, index in enumerate(order):
                assert_equal({key: found[step][key][place] for key in rows[index]}, rows[index])
    for env in singles:
        env.close()

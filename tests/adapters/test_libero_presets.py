"""LIBERO scenes that start with a joint preset: it holds, it stays, and the next episode knows nothing of it."""

import re
from contextlib import contextmanager

import numpy as np
import pytest

from gym_grounding import manifest
from gym_grounding.adapters.libero import ADAPTER, facts
from gym_grounding.errors import InvalidOption
from gym_grounding.types import Goal, Predicate, SceneFacts, SceneSettings, Slots, Task

pytestmark = pytest.mark.sim

DATA = manifest.load()
DRAWER, TURNED, OPEN, SHUT = -0.15, 2.0, -1.5, 0.0  # m, rad, rad (a microwave's door), both
LONG = {
    2: "KITCHEN_SCENE3_turn_on_the_stove_and_put_the_moka_pot_on_it",
    3: "KITCHEN_SCENE4_put_the_black_bowl_in_the_bottom_drawer_of_the_cabinet_and_close_it",
    9: "KITCHEN_SCENE6_put_the_yellow_and_white_mug_in_the_microwave_and_close_it",
}
IDLE = np.array([0, 0, 0, 0, 0, 0, -1.0])


def literal(name, *arguments):
    return Goal((Predicate(name, arguments),))


@contextmanager
def opened(task, **settings):
    """The task's scene; facts of suites that the registry may not have are not needed."""
    known = task.id in DATA.tasks
    scene_facts = DATA.scene_of(task.id) if known else SceneFacts(task.name, "libero", "", {})
    scene = ADAPTER.open(scene_facts, {task.id: task}, SceneSettings("state", **settings))
    yield scene
    scene.close()


def long(index):
    return Task(f"X-T{index}", "X", index, LONG[index], "libero_10", "", "", Slots(), Goal(()), LONG[index], 50)


GOAL_0, GOAL_7 = DATA.task("LiberoGoal-T0"), DATA.task("LiberoGoal-T7")
MIDDLE, BOTTOM = "wooden_cabinet_1_middle_region", "white_cabinet_1_bottom_region"


@pytest.mark.parametrize(
    ("task", "joints", "so", "not_so"),
    [
        (GOAL_0, {MIDDLE: DRAWER}, literal("open", MIDDLE), literal("close", MIDDLE)),
        (GOAL_7, {"flat_stove_1": TURNED}, literal("turnon", "flat_stove_1"), literal("turnoff", "flat_stove_1")),
        (long(2), {"flat_stove_1": TURNED}, literal("turnon", "flat_stove_1"), literal("turnoff", "flat_stove_1")),
        (long(3), {BOTTOM: DRAWER}, literal("open", BOTTOM), literal("close", BOTTOM)),
        (long(9), {"microwave_1": OPEN}, literal("open", "microwave_1"), literal("close", "microwave_1")),
        # LIBERO's own initial states of these two have it open
        (long(3), {BOTTOM: SHUT}, None, literal("open", BOTTOM)),
        (long(9), {"microwave_1": SHUT}, literal("close", "microwave_1"), literal("open", "microwave_1")),
    ],
    ids=lambda value: value.id if isinstance(value, Task) else None,
)
def test_a_preset_holds_after_settling_and_stays(task, joints, so, not_so):
    with opened(task) as scene:
        for number in (0, 23):
            scene.reset(task, number, joints)
            for steps in range(20):
                assert so is None or scene.holds(so), (number, steps)
                assert not scene.holds(not_so), (number, steps)
                scene.step(IDLE)


def moves(count):
    return np.random.default_rng(3).uniform(-1.0, 1.0, (count, 7))


@pytest.mark.parametrize(
    ("task", "joints"),
    [(GOAL_0, {MIDDLE: DRAWER, "flat_stove_1": TURNED}), (long(3), {BOTTOM: SHUT})],
    ids=["goal", "long"],
)
def test_the_episode_after_a_preset_one_equals_a_plain_one_to_the_last_bit(task, joints):
    """Whether the scene is new or not, and for the preset episode the same."""
    with opened(task) as scene:

        def episode(preset):
            course = [scene.reset(task, 5, preset)]
            states = [scene.state()]
            for action in moves(15):
                course.append(scene.step(action))
                states.append(scene.state())
            return course, states

        def equal(one, other):
            return all(
                np.array_equal(a[key], b[key]) for a, b in zip(one[0], other[0], strict=True) for key in a
            ) and all(np.array_equal(a, b) for a, b in zip(one[1], other[1], strict=True))

        fresh_preset = episode(joints)
        plain = episode(None)
        assert not np.array_equal(plain[1][0], fresh_preset[1][0])
        again = episode(joints)
        assert equal(again, fresh_preset)
        assert equal(episode({}), plain)
    from gym_grounding.adapters.libero.scene import POOL

    POOL.clear()
    with opened(task) as scene:  # compiled anew, and its first episode is the plain one
        assert equal(episode(None), plain)
        assert equal(episode(joints), fresh_preset)


def test_only_the_preset_joint_differs_and_it_is_at_rest():
    with opened(GOAL_0, settle_steps=0) as scene:
        scene.reset(GOAL_0, 3)
        row = facts.init_states(GOAL_0)[3]
        assert np.array_equal(scene.state(), row)
        scene.reset(GOAL_0, 3, {MIDDLE: DRAWER})
        (changed,) = np.flatnonzero(scene.state() != row)
        model = scene._simulator.env.sim.model
        assert changed == 1 + model.get_joint_qpos_addr("wooden_cabinet_1_middle_level")
        assert scene.state()[changed] == DRAWER
        assert np.array_equal(facts.init_states(GOAL_0)[3], row), "the stored state is left alone"


def test_a_preset_moving_joint_is_stopped():
    with opened(GOAL_7, settle_steps=0) as scene:
        environment, model = scene._simulator._environment, scene._simulator.env.sim.model
        moving = facts.init_states(GOAL_7)[0].copy()
        speed = 1 + model.nq + model.get_joint_qvel_addr("flat_stove_1_button")
        moving[speed] = 3.0
        changed = environment.preset(moving, {"flat_stove_1": TURNED})
        assert (changed[speed], moving[speed]) == (0.0, 3.0)


@pytest.mark.parametrize(
    ("name", "has"),
    [
        ("wooden_cabinet_1", "has 3 joints"),
        ("wine_rack_1", "has 0 joints"),
        ("main_table_plate_region", "has 0 joints"),
        ("plate_1", "is no fixture or site of this scene"),  # its joint is free
        ("lamp_1", "is no fixture or site of this scene"),
    ],
)
def test_what_has_not_exactly_one_joint_is_refused_and_the_scene_goes_on(name, has):
    with opened(GOAL_0) as scene:
        simulator = scene._simulator
        known = (
            r"flat_stove_1, wooden_cabinet_1_bottom_region, wooden_cabinet_1_middle_region, wooden_cabinet_1_top_region"
        )
        with pytest.raises(InvalidOption, match=re.escape(f"joints: '{name}' {has}; preset one of ") + known):
            scene.reset(GOAL_0, 0, {name: 1.0})
        scene.reset(GOAL_0, 0)
        assert scene._simulator is simulator

"""The oracle on real LIBERO: one state of every kind of deed, reached through actions alone."""

import numpy as np
import pytest

from gym_grounding import adapters, manifest
from gym_grounding.experts import Expert, Noise, run
from gym_grounding.types import SceneSettings

pytestmark = [pytest.mark.sim, pytest.mark.xdist_group("oracle")]

KNOWN, LIBERO = manifest.load(), adapters.get("libero")
SPARE = 1
"""Not an initial state that anything was adjusted to in particular."""


def opened(name):
    if name in KNOWN.tasks:
        task, goal, joints = KNOWN.task(name), KNOWN.task(name).goal, {}
    else:
        variant = KNOWN.variant(name)
        task, goal, joints = KNOWN.task(variant.task), variant.goal, dict(variant.joints)
    facts = KNOWN.scene_of(task.id)
    tasks = {one.id: one for one in KNOWN.scene_tasks(facts.id)}
    scene = LIBERO.open(facts, tasks, SceneSettings(observation="state"))
    return scene, task, goal, joints, LIBERO.anatomy(facts, tasks)


@pytest.mark.parametrize(
    "name",
    [
        "LiberoGoal-T0",  # a drawer
        "LiberoGoal-T3",  # a drawer, and a thing into it
        "LiberoGoal-T5",  # a dish by its rim
        "LiberoGoal-T6",  # on another thing
        "LiberoGoal-T7",  # a knob
        "LiberoGoal-T9",  # laid down askew
        "LiberoGoal-T7-Reverse1",  # a knob from a preset
        "LiberoGoal-T2-ContrastAction1",  # held up
        "LiberoObject-T0",  # let fall into a basket
        "LiberoLong-T4",  # two things
    ],
)
def test_goals_are_reached_and_stay(name):
    scene, task, goal, joints, anatomy = opened(name)
    try:
        found = run(scene, task, SPARE, goal, anatomy=anatomy, joints=joints)
        assert found.verdict == "stable", found
        assert 0 < found.first < 400
    finally:
        scene.close()


def test_it_acts_through_the_robot_alone():
    """Its actions replayed without it give the same states to the last bit: it wrote nothing."""
    scene, task, goal, _, anatomy = opened("LiberoGoal-T8")
    actions, states = [], []
    try:
        run(
            scene,
            task,
            SPARE,
            goal,
            anatomy=anatomy,
            on_step=lambda before, clean, executed, after, held: (
                actions.append(executed),
                states.append(scene.state()),
            ),
        )
        scene.reset(task, SPARE)
        for action, state in zip(actions, states, strict=True):
            scene.step(action)
            assert np.array_equal(scene.state(), state)
    finally:
        scene.close()


def test_one_episode_is_one_episode():
    scene, task, goal, _, anatomy = opened("LiberoGoal-T1")
    try:
        first = run(scene, task, 4, goal, anatomy=anatomy)
        scene.reset(task, 9)
        assert run(scene, task, 4, goal, anatomy=anatomy) == first
    finally:
        scene.close()


def test_it_comes_back_from_where_noise_has_put_it():
    scene, task, goal, _, anatomy = opened("LiberoGoal-T1")
    verdicts = []
    try:
        for seed in range(3):
            found = run(scene, task, 2, goal, anatomy=anatomy, noise=Noise(), rng=np.random.default_rng(seed))
            verdicts.append(found.verdict)
        assert verdicts.count("stable") >= 2, verdicts
    finally:
        scene.close()


def test_in_the_middle_of_the_deed_it_goes_on_without_memory():
    """Half-way states, answered by one observation alone, point where the remembering expert goes."""
    scene, task, goal, _, anatomy = opened("LiberoGoal-T1")
    expert, agreeing, asked = Expert(anatomy, goal), 0, 0
    try:
        seen, memory = scene.reset(task, SPARE), expert.start()
        for step in range(70):
            action, memory = expert.act(seen, memory)
            if step % 5 == 2 and not memory.careful:
                answer = expert.answer(seen)
                asked += 1
                agreeing += float(answer[:3] @ action[:3]) > 0.5 * np.linalg.norm(answer[:3]) * np.linalg.norm(
                    action[:3]
                )
            seen = scene.step(action)
        assert asked > 5
        assert agreeing >= 0.7 * asked
    finally:
        scene.close()

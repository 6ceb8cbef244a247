"""LIBERO-Spatial's trap: ten tasks, one goal literal, and two bowls that look alike. Only the asked one counts."""

from contextlib import closing

import numpy as np
import pytest

from gym_grounding import conditions, make, manifest
from gym_grounding.adapters.libero import ADAPTER
from gym_grounding.types import Goal, Predicate, SceneSettings

pytestmark = pytest.mark.sim

SUITE = "LiberoSpatial"
RIGHT, WRONG, PLATE = "akita_black_bowl_1", "akita_black_bowl_2", "plate_1"
ASKED, OTHER = (Goal((Predicate("on", (bowl, PLATE)),)) for bowl in (RIGHT, WRONG))
IDLE = np.array([0, 0, 0, 0, 0, 0, -1.0])
BOOK = manifest.load()


def tasks():
    """The ten tasks."""
    return BOOK.suite_tasks(SUITE)


def put_on_plate(simulator, bowl):
    """Let a bowl fall from 4 cm above the plate's middle; the other bowl goes to a far corner of the table."""
    problem = simulator.env
    data, bodies = problem.sim.data, problem.obj_body_id
    x, y, z = data.body_xpos[bodies[PLATE]]
    other = WRONG if bowl == RIGHT else RIGHT
    for name, place in ((bowl, (x, y, z + 0.04)), (other, (0.2, -0.3, z + 0.04))):
        data.set_joint_qpos(problem.objects_dict[name].joints[-1], np.array([*place, 1.0, 0.0, 0.0, 0.0]))
    problem.sim.forward()


def test_ten_texts_have_one_goal():
    rows = tasks()
    assert len({task.instruction for task in rows}) == len(rows) == 10
    assert {task.goal for task in rows} == {ASKED}


def test_the_wrong_bowl_on_the_plate_is_not_the_task():
    rows = tasks()
    facts = BOOK.scene_of(rows[0].id)
    with closing(ADAPTER.open(facts, {task.id: task for task in rows}, SceneSettings("state"))) as scene:
        for task in rows:
            for bowl, asked, other in ((WRONG, False, True), (RIGHT, True, False)):
                scene.reset(task, 1)
                assert not scene.holds(task.goal), task.id
                put_on_plate(scene._simulator, bowl)
                for _ in range(12):
                    scene.step(IDLE)
                assert (scene.holds(task.goal), scene.holds(OTHER)) == (asked, other), (task.id, bowl)


def test_the_wrong_bowl_scores_only_the_text_that_asks_for_it():
    """Through the environments: nothing for the original, success for an object contrast that means the other bowl."""
    task = next(
        row.task
        for row in BOOK.select(SUITE, conditions=["contrast"], slots=["object"])
        if row.goal is not None and row.goal == OTHER
    )
    rows = [row for row in BOOK.select(tasks=[task]) if conditions.asked(row, BOOK.task(task)) in (ASKED, OTHER)]
    assert {row.condition for row in rows} >= {"original", "paraphrase", "contrast"}
    for row in rows:
        wanted = conditions.asked(row, BOOK.task(task))
        with closing(make(row.id, observation="state", stop="horizon")) as env:
            env.reset(seed=0, options={"init_state": 1})
            put_on_plate(env.unwrapped.scene._simulator, WRONG)
            for _ in range(12):
                _, reward, _, _, info = env.step(IDLE)
            assert info["is_success"] is (wanted == OTHER), row.id
            assert bool(reward) is (wanted == OTHER), row.id
            assert info["original_goal"] is False

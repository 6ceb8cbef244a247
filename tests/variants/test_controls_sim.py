"""Reverse texts in the simulator: with the joint preset, what the second text asks for is so, the goal is not."""

import pytest
from variants.collision_world import World, known

from gym_grounding import adapters
from gym_grounding.types import Goal, SceneSettings
from gym_grounding.variants.controls import reverse
from gym_grounding.variants.language import meaning, parser

pytestmark = [pytest.mark.sim, pytest.mark.slow]

ROWS = [
    ("LiberoGoal-T0", "open the middle drawer of the cabinet"),
    ("LiberoGoal-T7", "turn on the stove"),
    ("LiberoLong-T2", "turn on the stove"),
    ("LiberoLong-T3", "close the bottom drawer of the cabinet"),
    ("LiberoLong-T9", "close the microwave"),
]


@pytest.mark.parametrize(("task_id", "text"), ROWS)
def test_the_preset_joint_stays_where_it_is_put(task_id, text):
    task, scene = known().task(task_id), known().scene_of(task_id)
    unmet, met = [one for one in reverse.rows(known(), World()) if one.proposal.task == task_id]
    assert met.proposal.instruction == text
    so_already = Goal(meaning.goal_of(parser.parse(text, scene), scene))
    opened = adapters.get("libero").open(scene, {task_id: task}, SceneSettings(observation="state"))
    try:
        opened.reset(task, 3)
        assert not opened.holds(so_already), "without the preset the task would have nothing to do"
        opened.reset(task, 3, met.row["joints"])
        assert opened.holds(so_already)
        assert not opened.holds(unmet.row["goal"])
    finally:
        opened.close()

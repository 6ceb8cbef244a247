"""Swapped instructions: which texts of other tasks make sense in a task's scene, and for what goal."""

from collections import Counter
from dataclasses import replace

import pytest
from variants.collision_world import BOWL, OF, OTHER, World, known

from gym_grounding.types import Goal, Predicate
from gym_grounding.variants import controls
from gym_grounding.variants.controls import swap
from gym_grounding.variants.types import GoalCount


def judged(task_id, other_id, world=None):
    """The judgement of another task's text in a task."""
    return swap.judge(known().task(task_id), known().task(other_id), known(), world or World())


def counts(world=None):
    """Reasons by suite; empty for what may be registered."""
    found = Counter()
    for one in swap.rows(known(), world or World()):
        found[one.proposal.task.partition("-")[0], one.reason] += 1
    return found


def test_counts_by_suite():
    assert counts() == {
        ("LiberoGoal", ""): 90,
        ("LiberoSpatial", ""): 9,
        ("LiberoSpatial", "unknown_entity"): 80,
        ("LiberoSpatial", "ambiguous"): 1,
        ("LiberoObject", ""): 50,
        ("LiberoObject", "unknown_entity"): 40,
        ("LiberoLong", ""): 5,
        ("LiberoLong", "unknown_entity"): 84,
        ("LiberoLong", "ambiguous"): 1,
    }


def test_every_ordered_pair_of_a_suite_is_judged_by_the_index_of_the_other():
    pairs = [(one.proposal.task, one.proposal.instruction) for one in swap.rows(known(), World())]
    assert pairs == [
        (task.id, other.instruction)
        for task in known().tasks.values()
        for other in known().tasks_of(task.suite)
        if other is not task
    ]


def test_in_one_scene_the_goal_is_the_other_tasks_own():
    for task in known().tasks_of("LiberoGoal"):
        for other in known().tasks_of("LiberoGoal"):
            if other is not task:
                row = judged(task.id, other.id).row
                assert row == {
                    "goal": other.goal,
                    "instruction_of": other.id,
                    "certificate": {
                        "true_initially": {"raw": 0, "settled": 0, "tolerant": 0, "of": OF},
                        "trained_goal_of": [other.id],
                    },
                }
                assert list(row["certificate"]) == ["true_initially", "trained_goal_of"]


def test_in_another_scene_no_task_trained_the_goal():
    judgement = judged("LiberoObject-T0", "LiberoObject-T6")
    assert judgement.row["goal"].id == "in(butter_1, basket_1_contain_region)"
    assert "trained_goal_of" not in judgement.row["certificate"]


def test_the_described_bowl_decides_not_the_literal_of_the_other_task():
    """All ten tasks have the goal of bowl 1; in the second task's scene the text of the seventh means bowl 2."""
    task, other = known().task("LiberoSpatial-T1"), known().task("LiberoSpatial-T6")
    assert task.goal == other.goal == Goal((Predicate("on", (BOWL, "plate_1")),))
    judgement = judged(task.id, other.id)
    assert judgement.accepted
    assert judgement.row["goal"] == Goal((Predicate("on", (OTHER, "plate_1")),))
    assert "trained_goal_of" not in judgement.row["certificate"]


def test_a_text_that_means_the_tasks_own_bowl_is_no_swap():
    more = {("on", BOWL, "flat_stove_1"): OF}
    judgement = judged("LiberoSpatial-T1", "LiberoSpatial-T7", World(more=more))
    assert judgement.reason == "same_goal"
    assert judgement.row["goal"] == known().task("LiberoSpatial-T1").goal


def test_a_place_that_fits_both_bowls_is_ambiguous():
    judgement = judged("LiberoSpatial-T0", "LiberoSpatial-T1")
    assert judgement.reason == "ambiguous"
    assert BOWL in judgement.note
    assert OTHER in judgement.note


def test_a_place_that_fits_in_some_states_only_is_ambiguous():
    text = ("LiberoSpatial-T1", "LiberoSpatial-T7")
    assert judged(*text).reason == "unknown_entity"
    assert judged(*text, World(more={("on", OTHER, "flat_stove_1"): OF - 1})).reason == "ambiguous"
    assert judged(*text, World(more={("on", OTHER, "flat_stove_1"): OF})).accepted


def test_two_pots_make_the_pot_ambiguous():
    """Every name of the goal exists in that scene, so names alone would let it pass."""
    judgement = judged("LiberoLong-T8", "LiberoLong-T2")
    assert judgement.reason == "ambiguous"
    assert "moka_pot_1, moka_pot_2" in judgement.note
    names = {name for literal in known().task("LiberoLong-T2").goal.all_of for name in literal.args}
    assert names <= set(known().scene_of("LiberoLong-T8").entities)


def test_two_pots_are_more_than_one():
    judgement = judged("LiberoLong-T2", "LiberoLong-T8")
    assert judgement.reason == "unknown_entity"
    assert "moka_pot_1 only" in judgement.note


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("put the bowl on something", "unresolved"),
        ("put the bowl next to the plate", "unsupported"),
        ("put the bowl to the left of the plate", "unsupported"),
    ],
)
def test_a_text_that_no_goal_follows_from_is_refused(text, reason):
    other = replace(known().task("LiberoGoal-T1"), instruction=text)
    judgement = swap.judge(known().task("LiberoGoal-T4"), other, known(), World())
    assert judgement.reason == reason
    assert judgement.note


def test_a_thing_that_is_not_there_is_named():
    judgement = judged("LiberoObject-T0", "LiberoObject-T3")
    assert judgement.reason == "unknown_entity"
    assert "'bbq sauce'" in judgement.note


@pytest.mark.parametrize("count", [GoalCount(1, 0, 0, OF), GoalCount(0, 1, 0, OF), GoalCount(0, 0, 1, OF)])
def test_what_holds_in_any_state_however_it_is_read_is_no_swap(count):
    other = known().task("LiberoGoal-T7")
    judgement = judged("LiberoGoal-T1", other.id, World(true={other.goal: count}))
    assert judgement.reason == "already_true"
    assert f"in 1 of {OF}" in judgement.note


def test_a_part_of_the_tasks_own_goal_is_implied():
    task, other = known().task("LiberoGoal-T1"), known().task("LiberoGoal-T7")
    both = replace(task, goal=Goal((*task.goal.all_of, *other.goal.all_of)))
    scene = known().scene_of(task.id)
    assert swap._unfit(other.goal, both, scene)[0] == "implied"
    assert swap._unfit(other.goal, task, scene) is None


def test_a_place_that_would_have_to_be_added_is_unsupported():
    task = known().task("LiberoGoal-T1")
    goal = Goal((Predicate("on", ("plate_1", "main_table_wine_rack_1_left")),))
    reason, note = swap._unfit(goal, task, known().scene_of(task.id))
    assert (reason, "main_table_wine_rack_1_left" in note) == ("unsupported", True)


def test_the_goals_to_be_measured_are_those_that_are_counted():
    class Counting(World):
        counted: list

        def count(self, task, goal):
            self.counted.append((task.id, goal))
            return super().count(task, goal)

    world = Counting()
    world.counted = []
    swap.rows(known(), world)
    wanted = [(task, goal) for task, goals in controls.goals(known(), World()).items() for goal in goals]
    assert sorted(world.counted, key=str) == sorted(wanted, key=str)
    assert len(wanted) == 154

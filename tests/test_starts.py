"""Goals that hold before anything has been done."""

import dataclasses

import pytest

from gym_grounding import manifest as manifests
from gym_grounding.starts import StartCount, count_starts, disagreements
from gym_grounding.types import Goal, Predicate


def test_every_goal_of_a_toy_task_is_counted(toy):
    counts = count_starts(toy, toy.task("Toy-T0"), (0, 1, 2))
    assert {one.variant for one in counts} == {
        v.id for v in toy.select(tasks=["Toy-T0"], conditions=["original", "contrast", "swap"])
    }
    assert all(one.of == 3 for one in counts)


def test_goals_of_preset_starts_are_counted_there(toy):
    """Off is what the lamp is unless it is preset."""
    counts = {one.variant: one.settled for one in count_starts(toy, toy.task("Toy-T2"), (0, 1))}
    assert counts == {"Toy-T2-Original": 0, "Toy-T2-Reverse1": 0, "Toy-T2-Reverse2": 0}
    row = dataclasses.replace(toy.variant("Toy-T2-Reverse1"), joints={})
    bare = dataclasses.replace(toy, variants={**toy.variants, row.id: row})
    assert {one.variant: one.settled for one in count_starts(bare, bare.task("Toy-T2"), (0, 1))}[row.id] == 2


def with_goal(toy, goal):
    """The toy registry with another goal for its first task."""
    task = dataclasses.replace(toy.task("Toy-T0"), goal=goal)
    return dataclasses.replace(toy, tasks={**toy.tasks, task.id: task})


def test_a_goal_that_holds_at_the_start_is_found(toy):
    changed = with_goal(toy, Goal((Predicate("turnoff", ("lamp_1",)),)))
    counts = {one.variant: one for one in count_starts(changed, changed.task("Toy-T0"), (0, 1, 2))}
    assert counts["Toy-T0-Original"].settled == 3
    assert all(one.settled == 0 for name, one in counts.items() if name != "Toy-T0-Original")
    assert disagreements(counts.values()) == (
        "Toy-T0-Original: its goal holds right after settling in 3 of 3 starts; the registry records nothing",
    )


def test_what_the_registry_records_is_no_disagreement():
    assert disagreements([StartCount("x", 2, 3, 2), StartCount("y", 0, 3, None)]) == ()
    assert disagreements([StartCount("x", 3, 3, 2)])


@pytest.mark.sim
@pytest.mark.parametrize("index", [3, 8])
def test_no_goal_of_libero_goal_holds_at_a_start(index):
    manifest = manifests.load()
    counts = count_starts(manifest, manifest.task(f"LiberoGoal-T{index}"), (0, 17, 49))
    assert len(counts) >= 4
    assert disagreements(counts) == ()
    assert all(one.recorded == 0 for one in counts if "Contrast" in one.variant)

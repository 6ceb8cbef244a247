"""Goals that hold before anything has been done."""

import dataclasses

import pytest

from gym_grounding import adapters
from gym_grounding import manifest as manifests
from gym_grounding.starts import StartCount, count_starts, disagreements
from gym_grounding.types import SceneSettings


def test_every_goal_of_a_toy_task_is_counted(toy):
    counts = count_starts(toy, toy.task("Toy-T0"), (0, 1, 2))
    assert {one.variant for one in counts} == {
        v.id for v in toy.select(tasks=["Toy-T0"], conditions=["original", "contrast"])
    }
    assert all(one.of == 3 for one in counts)


def test_a_goal_that_holds_at_the_start_is_found(toy):
    task = toy.task("Toy-T0")
    scene = toy.scene_of(task.id)
    open_scene = adapters.get("toy").open(scene, {task.id: task}, SceneSettings(observation="state", settle_steps=0))
    open_scene.reset(task, 0)
    holding = [t.goal for t in toy.tasks.values() if t.scene == scene.id and open_scene.holds(t.goal)]
    assert holding == []
    assert disagreements([StartCount("Toy-T0-Original", 2, 3, None)]) == (
        "Toy-T0-Original: its goal holds right after settling in 2 of 3 starts; the registry records nothing",
    )
    assert disagreements([dataclasses.replace(StartCount("x", 2, 3, None), recorded=2)]) == ()


@pytest.mark.sim
@pytest.mark.parametrize("index", [3, 8])
def test_no_goal_of_libero_goal_holds_at_a_start(index):
    manifest = manifests.load()
    counts = count_starts(manifest, manifest.task(f"LiberoGoal-T{index}"), (0, 17, 49))
    assert len(counts) >= 4
    assert disagreements(counts) == ()
    assert all(one.recorded == 0 for one in counts if "Contrast" in one.variant)

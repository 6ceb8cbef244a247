"""What a sentence asks for."""

import dataclasses

import pytest

from gym_grounding import conditions, manifest
from gym_grounding.errors import PolicyError, UnknownName
from gym_grounding.reference._meaning import asked


@pytest.fixture(scope="module")
def registry():
    return manifest.load()


def test_every_meaning(registry):
    seen = set()
    for variant in registry.variants.values():
        seen.add(variant.condition)
        task = registry.task(variant.task)
        meant = asked(registry, task.id, variant.instruction)
        if variant.condition in ("original", "paraphrase", "shuffled", "noise"):
            assert meant == task.goal, variant.id
        elif variant.condition in ("contrast", "swap") or (variant.condition == "reverse" and not variant.described):
            assert meant == variant.goal, variant.id
        elif variant.condition == "reverse":  # asks for what is so already: its goal is never what it asks for
            assert meant in (task.goal, None), variant.id
        else:
            assert meant is None, variant.id
    assert seen == set(conditions.names())


def test_a_text_that_is_only_described_has_nothing_to_do_unless_another_row_says_so(toy):
    assert asked(toy, "Toy-T5", "open the right drawer") is None
    assert asked(toy, "Toy-T2", "turn on the lamp") == toy.task("Toy-T2").goal
    assert asked(toy, "Toy-T2", "turn off the lamp") == toy.variant("Toy-T2-Reverse1").goal
    assert asked(toy, "Toy-T0", "") is asked(toy, "Toy-T0", "do not put the block on the tray") is None


def test_a_sentence_of_another_task_of_the_scene_means_there_what_it_means_here(toy):
    assert asked(toy, "Toy-T2", "pick up the block") == toy.variant("Toy-T0-ContrastAction1").goal
    assert asked(toy, "Toy-T1", "put the block behind the chest").regions
    assert asked(toy, "Toy-T1", "put the kettle on the tray") is None


def test_the_tasks_own_rows_come_first(toy):
    """Swapped texts mean in each task what its own row says, whatever the text means elsewhere."""
    here, there = "Toy-T0-Swap1", "Toy-T1-Original"
    other = toy.variant("Toy-T0-ContrastObject1").goal
    rows = {**toy.variants, here: dataclasses.replace(toy.variant(here), goal=other)}
    rows.pop("Toy-T0-ContrastTarget1")
    changed = dataclasses.replace(toy, variants=rows)
    assert asked(changed, "Toy-T0", toy.variant(there).instruction) == other
    assert asked(changed, "Toy-T1", toy.variant(there).instruction) == toy.task("Toy-T1").goal
    with pytest.raises(PolicyError, match=f"{here} and .* say the same, 'put the block on the chest'"):
        asked(changed, "Toy-T2", toy.variant(there).instruction)


def test_a_sentence_with_two_meanings_is_refused(registry):
    one, two = "LiberoGoal-T8-Original", "LiberoGoal-T8-ContrastTarget1"
    same = dataclasses.replace(registry.variant(two), instruction=registry.variant(one).instruction)
    doubtful = dataclasses.replace(registry, variants={one: registry.variant(one), two: same})
    with pytest.raises(PolicyError, match=f"{one} and {two} say the same, 'put the bowl on the plate'"):
        asked(doubtful, "LiberoGoal-T8", "put the bowl on the plate")


def test_what_cannot_be_named_in_the_scene_is_refused(toy):
    with pytest.raises(
        PolicyError, match=r"'put the mug on the mat' belongs to Toy-T4 and names what the scene of Toy-T0"
    ):
        asked(toy, "Toy-T0", "put the mug on the mat")


def test_an_unknown_sentence_is_refused(registry):
    with pytest.raises(
        UnknownName, match=r"LiberoGoal-T8 in suite LiberoGoal: No instruction 'put the bowl on the plates'.*the plate'"
    ):
        asked(registry, "LiberoGoal-T8", "put the bowl on the plates")
    with pytest.raises(UnknownName, match="No task 'LiberoGaol-T8'"):
        asked(registry, "LiberoGaol-T8", "put the bowl on the plate")

"""The rules that propose contrasts: what they list for a cell, in which words, with which goal, and why nothing."""

import pytest

from gym_grounding.conditions._text import replacements
from gym_grounding.types import SLOTS
from gym_grounding.variants import definitions
from gym_grounding.variants.language import meaning, parser
from gym_grounding.variants.proposers import contrasts
from gym_grounding.variants.proposers._base import ProposalRequest
from gym_grounding.variants.types import Layout

ON_PLATE = "and place it on the plate"
WHERE = {
    ("next to", "akita_black_bowl_2", "glazed_rim_porcelain_ramekin_1"): 50,
    ("next to", "akita_black_bowl_2", "akita_black_bowl_1"): 50,
    ("next to", "akita_black_bowl_1", "plate_1"): 50,
    ("right", "akita_black_bowl_2", "glazed_rim_porcelain_ramekin_1"): 50,
    ("right", "akita_black_bowl_2", "flat_stove_1"): 50,
    ("center", "akita_black_bowl_2", "main_table"): 3,
    ("near", "akita_black_bowl_2", "cookies_1"): 50,
    ("between", "akita_black_bowl_2", "cookies_1 plate_1"): 50,
    ("next to", "akita_black_bowl_2", "cookies_1"): 0,
}


@pytest.fixture(scope="module")
def known():
    return definitions.load()


def proposed(known, task_id, slot, layout=None, avoid=()):
    task = known.task(task_id)
    request = ProposalRequest(task, known.scene_of(task_id), "contrast", slot, avoid=avoid)
    return contrasts.propose(request, known, layout)


def texts(*args, **kwargs):
    return [one.instruction for one in proposed(*args, **kwargs)]


CELLS = {
    ("LiberoGoal-T0", "action"): ["close the middle drawer of the cabinet"],
    ("LiberoGoal-T0", "attribute"): ["open the top drawer of the cabinet", "open the bottom drawer of the cabinet"],
    ("LiberoGoal-T1", "action"): ["pick up the bowl", "turn on the stove"],
    ("LiberoGoal-T1", "object"): [
        "put the cream cheese on the stove",
        "put the wine bottle on the stove",
        "put the plate on the stove",
    ],
    ("LiberoGoal-T1", "relation"): [
        "put the bowl in front of the stove",
        "put the bowl to the left of the stove",
        "put the bowl to the right of the stove",
        "put the bowl behind the stove",
    ],
    ("LiberoGoal-T1", "target"): [
        "put the bowl on the rack",
        "put the bowl on top of the cabinet",
        "put the bowl on the plate",
    ],
    ("LiberoGoal-T3", "action"): ["close the top drawer and put the bowl inside", "open the top drawer"],
    ("LiberoGoal-T3", "relation"): ["open the top drawer and put the bowl on top"],
    ("LiberoGoal-T3", "attribute"): [
        "open the middle drawer and put the bowl inside",
        "open the bottom drawer and put the bowl inside",
    ],
    ("LiberoGoal-T5", "relation"): [
        "push the plate onto the stove",
        "push the plate to the left of the stove",
        "push the plate to the right of the stove",
        "push the plate behind the stove",
    ],
    ("LiberoGoal-T6", "target"): [
        "put the cream cheese in the top drawer of the cabinet",
        "put the cream cheese in the middle drawer of the cabinet",
        "put the cream cheese in the bottom drawer of the cabinet",
    ],
    ("LiberoGoal-T7", "action"): ["turn off the stove"],
    ("LiberoSpatial-T4", "attribute"): [
        f"pick up the black bowl in the middle drawer of the wooden cabinet {ON_PLATE}",
        f"pick up the black bowl in the bottom drawer of the wooden cabinet {ON_PLATE}",
    ],
    ("LiberoSpatial-T7", "target"): [
        "pick up the black bowl on the stove and place it on the stove",
        "pick up the black bowl on the stove and place it on the wooden cabinet",
        "pick up the black bowl on the stove and place it on the cookie box",
        "pick up the black bowl on the stove and place it on the ramekin",
    ],
    ("LiberoObject-T0", "relation"): [
        "pick up the alphabet soup and place it on the basket",
        "pick up the alphabet soup and place it in front of the basket",
        "pick up the alphabet soup and place it to the left of the basket",
        "pick up the alphabet soup and place it to the right of the basket",
        "pick up the alphabet soup and place it behind the basket",
    ],
    ("LiberoLong-T2", "action"): ["turn off the stove and put the moka pot on it", "turn on the stove"],
    ("LiberoLong-T2", "target"): ["turn on the stove and put the moka pot on the frying pan"],
    ("LiberoLong-T2", "relation"): [
        "turn on the stove and put the moka pot in front of it",
        "turn on the stove and put the moka pot to the left of it",
        "turn on the stove and put the moka pot to the right of it",
        "turn on the stove and put the moka pot behind it",
    ],
    ("LiberoLong-T3", "action"): [
        "put the black bowl in the bottom drawer of the cabinet and leave it open",
        "put the black bowl in the bottom drawer of the cabinet",
    ],
    ("LiberoLong-T3", "object"): ["put the wine bottle in the bottom drawer of the cabinet and close it"],
    ("LiberoLong-T3", "attribute"): [
        "put the black bowl in the top drawer of the cabinet and close it",
        "put the black bowl in the middle drawer of the cabinet and close it",
    ],
    ("LiberoLong-T4", "attribute"): [
        "put the red mug on the left plate and put the yellow and white mug on the right plate",
        "put the white mug on the right plate and put the yellow and white mug on the right plate",
        "put the white mug on the left plate and put the red mug on the right plate",
        "put the white mug on the left plate and put the yellow and white mug on the left plate",
    ],
    ("LiberoLong-T5", "object"): ["pick up the yellow and white mug and place it in the back compartment of the caddy"],
    ("LiberoLong-T6", "object"): ["put the white mug on the plate and put the red mug to the right of the plate"],
    ("LiberoLong-T8", "attribute"): ["put the right moka pot on the stove", "put the left moka pot on the stove"],
    ("LiberoLong-T9", "action"): [
        "put the yellow and white mug in the microwave and leave it open",
        "put the yellow and white mug in the microwave",
    ],
}


@pytest.mark.parametrize(
    ("cell", "expected"), CELLS.items(), ids=lambda value: "-".join(value) if len(value) == 2 else ""
)
def test_a_cell_lists_its_candidates_in_order(known, cell, expected):
    assert texts(known, *cell) == expected


def test_a_part_that_is_left_has_to_be_named_where_a_pronoun_spoke_of_it(known):
    first = proposed(known, "LiberoLong-T3", "relation")[0]
    assert first.instruction == "put the black bowl on top of the cabinet and close the bottom drawer"
    old, new = "in the bottom drawer of the cabinet and close it", "on top of the cabinet and close the bottom drawer"
    assert first.changed == (old, new)


def test_both_things_are_exchanged_one_at_a_time(known):
    found = texts(known, "LiberoLong-T1", "object")
    assert len(found) == len(set(found)) == 10
    assert found[0] == "put both the alphabet soup and the butter in the basket"
    assert all(("butter" in one) != ("cream cheese box" in one) for one in found)


def test_things_are_called_as_their_suite_calls_them(known):
    assert any("cream cheese box" in one for one in texts(known, "LiberoLong-T0", "object"))
    assert not any("cream cheese box" in one for one in texts(known, "LiberoGoal-T1", "object"))
    assert any("on the wooden cabinet" in one for one in texts(known, "LiberoSpatial-T0", "target"))
    task = known.task("LiberoSpatial-T0")
    alone = contrasts.propose(ProposalRequest(task, known.scene_of(task.id), "contrast", "target"))
    assert any("on top of the cabinet" in one.instruction for one in alone)


def test_another_bowl_is_told_by_where_it_is(known):
    layout = Layout({}, WHERE, (0.0, 0.0), 50)
    found = [one for one in texts(known, "LiberoSpatial-T1", "object", layout) if "bowl" in one]
    assert found == [
        f"pick up the black bowl between the cookie box and the plate {ON_PLATE}",
        f"pick up the black bowl from table center {ON_PLATE}",
        f"pick up the black bowl to the right of the ramekin {ON_PLATE}",
    ]
    stacked = Layout({}, {**WHERE, ("on", "akita_black_bowl_2", "flat_stove_1"): 50}, (0.0, 0.0), 50)
    found = [one for one in texts(known, "LiberoSpatial-T1", "object", stacked) if "bowl" in one]
    assert found == [f"pick up the black bowl on the stove {ON_PLATE}"]


def test_without_a_layout_another_bowl_is_told_as_the_other_tasks_tell_theirs(known):
    places = [one for one in texts(known, "LiberoSpatial-T1", "object") if "black bowl" in one]
    others = [task.instruction for task in known.tasks_of("LiberoSpatial") if task.id != "LiberoSpatial-T1"]
    assert places == others
    assert all(
        one.goal is None for one in proposed(known, "LiberoSpatial-T1", "object") if "black bowl" in one.instruction
    )


def cells(known):
    return [(task, slot) for task in known.tasks.values() for slot in SLOTS]


def test_every_cell_of_every_task_has_candidates_or_a_reason(known):
    assert len(cells(known)) == 200
    empty = {}
    for task, slot in cells(known):
        if not proposed(known, task.id, slot):
            code, words = contrasts.unavailable(task, known.scene_of(task.id), slot)
            empty[task.id, slot] = code
            assert words
    assert {code for (_, slot), code in empty.items() if slot == "relation"} == {"frame_has_no_relation"}
    assert empty["LiberoGoal-T0", "object"] == "one_of_a_kind"
    assert empty["LiberoGoal-T0", "target"] == "frame_has_no_target"
    assert empty["LiberoGoal-T1", "attribute"] == "no_attribute_word"
    assert empty["LiberoSpatial-T0", "attribute"] == "no_other_value"
    assert empty["LiberoLong-T8", "action"] == "no_other_action"
    assert empty["LiberoLong-T9", "target"] == "one_of_a_kind"


@pytest.mark.parametrize(
    ("task", "slot", "words"),
    [
        ("LiberoGoal-T0", "object", "nothing of another kind in the scene can be opened; telling those of one kind "
         "apart is the attribute"),
        ("LiberoGoal-T7", "object", "nothing of another kind in the scene can be turned on"),
        ("LiberoLong-T8", "object", "nothing of another kind in the scene can be moved"),
        ("LiberoObject-T0", "target", "nothing of another kind in the scene takes what is put 'in' it"),
        ("LiberoGoal-T7", "relation", "'turn on the stove' has no relation"),
    ],
)  # fmt: skip
def test_an_empty_cell_says_why(known, task, slot, words):
    assert contrasts.unavailable(known.task(task), known.scene_of(task), slot)[1] == words


def test_candidates_are_the_canonical_text_with_exactly_the_named_words_exchanged(known):
    total = 0
    for task, slot in cells(known):
        found = proposed(known, task.id, slot)
        assert found == proposed(known, task.id, slot)
        assert len({one.instruction for one in found}) == len(found)
        for one in found:
            total += 1
            assert one.changed is not None
            assert one.instruction in replacements(task.instruction, *one.changed)
            assert one.instruction != task.instruction
            assert (one.task, one.condition, one.slot, one.source) == (task.id, "contrast", slot, "rules/1")
    assert total > 450


def test_goals_made_by_exchanging_names_are_those_that_the_sentences_ask_for(known):
    compared = 0
    for task, slot in cells(known):
        scene = known.scene_of(task.id)
        own = meaning.goal_of(parser.parse(task.instruction, scene), scene)
        for one in proposed(known, task.id, slot):
            asked = meaning.goal_of(parser.parse(one.instruction, scene), scene)
            if asked is None or one.goal is None or own is None:
                continue
            unasked = set(task.goal.all_of) - set(own)
            assert set(one.goal.all_of) - unasked == set(asked) - unasked, one.instruction
            compared += 1
    assert compared > 250  # the bowls of LiberoSpatial are told apart by where they stand only


def test_sentences_to_be_avoided_are_left_out(known):
    everything = texts(known, "LiberoGoal-T1", "target")
    assert texts(known, "LiberoGoal-T1", "target", avoid=(everything[1],)) == [everything[0], everything[2]]

"""Collisions by rule: what is proposed for a cell, and why nothing is."""

import os
import subprocess
import sys

import pytest
from variants.collision_world import known, place

from gym_grounding.types import SLOTS
from gym_grounding.variants import _nouns
from gym_grounding.variants.proposers import collisions
from gym_grounding.variants.proposers._base import ProposalRequest


def texts(task_id, slot, **options):
    """The proposed texts of a cell."""
    task, scene = place(task_id)
    return [
        one.instruction
        for one in collisions.propose(ProposalRequest(task, scene, "collision", slot, **options), known())
    ]


@pytest.mark.parametrize(
    ("task_id", "slot", "expected"),
    [
        (
            "LiberoGoal-T0",
            "action",
            ["turn on the middle drawer of the cabinet", "close the middle drawer of the cabinet"],
        ),
        ("LiberoGoal-T1", "relation", ["put the bowl under the stove", "put the bowl next to the stove"]),
        (
            "LiberoGoal-T3",
            "relation",
            ["open the top drawer and put the bowl under it", "open the top drawer and put the bowl next to it"],
        ),
        (
            "LiberoGoal-T3",
            "attribute",
            ["open the fourth drawer and put the bowl inside", "open the third drawer and put the bowl inside"],
        ),
        (
            "LiberoSpatial-T0",
            "relation",
            [
                "pick up the black bowl under the ramekin and place it on the plate",
                "pick up the black bowl between the plate and the ramekin and place it next to the plate",
            ],
        ),
        (
            "LiberoSpatial-T2",
            "relation",
            [
                "pick up the black bowl under the plate and place it on the plate",
                "pick up the black bowl from table center and place it next to the plate",
            ],
        ),
        (
            "LiberoSpatial-T4",
            "relation",
            [
                "pick up the black bowl under the wooden cabinet and place it on the plate",
                "pick up the black bowl in the top drawer of the wooden cabinet and place it next to the plate",
            ],
        ),
        (
            "LiberoLong-T3",
            "action",
            [
                "put the black bowl in the bottom drawer of the cabinet and turn it on",
                "put the black bowl in the bottom drawer of the cabinet and open it",
            ],
        ),
        (
            "LiberoLong-T2",
            "relation",
            [
                "turn on the stove and put the moka pot under it",
                "turn on the stove and put the moka pot next to it",
            ],
        ),
        ("LiberoObject-T7", "action", ["turn on the milk and place it in the basket"]),
    ],
)
def test_only_the_words_of_the_slot_are_exchanged(task_id, slot, expected):
    assert texts(task_id, slot) == expected


def test_a_pronoun_and_an_adverb_make_room_for_a_target():
    assert texts("LiberoGoal-T3", "target")[0] == "open the top drawer and put the bowl inside the fridge"
    assert texts("LiberoLong-T2", "target")[0].startswith("turn on the stove and put the moka pot on the ")
    assert texts("LiberoLong-T9", "target")[0].endswith(" and close it")


def test_a_plural_stays_one():
    assert all(
        text.startswith("put both ") and text.split()[-4].endswith("s") for text in texts("LiberoLong-T8", "object")
    )


def test_nouns_that_the_suite_trains_come_first_and_tasks_take_turns():
    for suite, trains in (("LiberoObject", True), ("LiberoLong", True), ("LiberoGoal", False)):
        trained = _nouns.trained(suite, known())
        nouns = []
        for task in known().tasks_of(suite):
            new, old = texts(task.id, "object")[0].split(), task.instruction.split()
            nouns.append(" ".join(word for word in new if word not in old))
            hit = any(noun in " ".join(new) for noun in trained if noun not in task.instruction)
            assert hit == trains, task.id
        assert len(set(nouns)) >= 6, nouns


def test_trained_nouns_are_those_of_the_canonical_texts():
    assert _nouns.trained("LiberoGoal", known()) == {
        "drawer", "cabinet", "bowl", "stove", "wine bottle", "plate", "cream cheese", "rack",
    }  # fmt: skip
    assert {"ramekin", "cookie box", "table"} <= _nouns.trained("LiberoSpatial", known())


@pytest.mark.parametrize(
    ("phrase_of", "head", "spelled"),
    [
        ("LiberoSpatial-T0", "black bowl", "bowl"),
        ("LiberoSpatial-T2", "black bowl", "bowl"),
        ("LiberoGoal-T0", "middle drawer of the cabinet", "drawer of the cabinet"),
        ("LiberoLong-T4", "white mug", "mug"),
        ("LiberoLong-T8", "moka pots", "moka pots"),
    ],
)
def test_the_head_of_a_phrase_leaves_out_its_place(phrase_of, head, spelled):
    from gym_grounding.variants.language import parser

    task, scene = place(phrase_of)
    phrase = parser.parse(task.instruction, scene).clauses[0].objects[0]
    assert (_nouns.head(phrase), _nouns.spelled(phrase)) == (head, spelled)


def test_a_cell_gets_an_honest_text_first_and_a_tempting_one_after_it():
    for task in known().tasks.values():
        for slot in ("object", "target"):
            if getattr(task.slots, slot) is None:
                continue
            found = texts(task.id, slot)
            assert 1 <= len(found) <= 2, (task.id, slot)
            assert len(set(found)) == len(found)


def test_the_request_is_kept():
    first, second = texts("LiberoGoal-T1", "relation")
    assert texts("LiberoGoal-T1", "relation", count=1) == [first]
    assert texts("LiberoGoal-T1", "relation", avoid=(first,)) == [second]
    task, scene = place("LiberoGoal-T1")
    (one, *_) = collisions.propose(ProposalRequest(task, scene, "collision", "object"), known())
    assert (one.task, one.condition, one.slot, one.source) == (task.id, "collision", "object", "rules/1")
    assert one.goal is None


@pytest.mark.parametrize(
    ("task_id", "slot", "code"),
    [
        ("LiberoGoal-T0", "relation", "frame_has_no_relation"),
        ("LiberoGoal-T7", "target", "frame_has_no_target"),
        ("LiberoGoal-T1", "attribute", "no_attribute_word"),
        ("LiberoGoal-T1", "action", "no_other_action"),
        ("LiberoLong-T4", "action", "no_other_action"),
    ],
)
def test_a_cell_without_proposals_says_why(task_id, slot, code):
    task, scene = place(task_id)
    found, note = collisions.unavailable(task, scene, slot)
    assert found == code
    assert note


def test_every_cell_has_proposals_or_a_reason():
    empty = {}
    for task in known().tasks.values():
        for slot in SLOTS:
            found = texts(task.id, slot) if getattr(task.slots, slot) else []
            if not found:
                code, _ = collisions.unavailable(task, known().scene_of(task.id), slot)
                empty[code] = empty.get(code, 0) + 1
    assert empty == {
        "frame_has_no_relation": 2, "frame_has_no_target": 2, "no_attribute_word": 23, "no_other_action": 13,
    }  # fmt: skip


def test_proposals_are_the_same_in_every_process():
    script = (
        "from gym_grounding.variants import definitions\n"
        "from gym_grounding.variants.proposers import collisions\n"
        "from gym_grounding.variants.proposers._base import ProposalRequest\n"
        "from gym_grounding.types import SLOTS\n"
        "known = definitions.load()\n"
        "for task in known.tasks.values():\n"
        "    for slot in SLOTS:\n"
        "        if getattr(task.slots, slot):\n"
        "            request = ProposalRequest(task, known.scene_of(task.id), 'collision', slot)\n"
        "            print(task.id, slot, *[one.instruction for one in collisions.propose(request, known)], sep='|')\n"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1]
    assert runs[0].count("\n") > 150

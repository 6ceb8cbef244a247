"""Well-formed registry files that say something untrue: what the loader says about them."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
from mini_registry import (
    COLLISION,
    LEFT,
    ORIGINAL,
    PARAPHRASE,
    TARGET,
    controlled,
    mini,
    parsed,
    put,
    refusals,
    variant_at,
)

from gym_grounding import adapters
from gym_grounding.errors import RegistryError
from gym_grounding.manifest import _meaning
from gym_grounding.manifest._shape import Content
from gym_grounding.types import Absent

MEANING: list[tuple[str, object, str]] = [
    ("suites.Extra", {"adapter": "toy", "source": "x"}, r"suites\.Extra: has no tasks"),
    ("scenes.aaaa.adapter", "other", r"Mini-T\d: scene: is in scene aaaa of adapter 'other'; its suite has 'toy'"),
    (
        "scenes.aaaa.adapter",
        "tooy",
        r"mini\.yaml: scenes\.aaaa: adapter: no adapter 'tooy'\. Did you mean 'toy'\? Known: libero, toy, or an import",
    ),
    ("suites.Mini.adapter", "tooy", r"mini\.yaml: suites\.Mini: adapter: no adapter 'tooy'\. Did you mean 'toy'\?"),
    ("suites.Mini.adapter", "_base", r"suites\.Mini: adapter: no adapter '_base'"),
    ("suites.Mini.adapter", "my.toys:", r"suites\.Mini: adapter: is 'my\.toys:'; an import string is module:OBJECT"),
    ("suites.Mini.adapter", ":TOY", r"suites\.Mini: adapter: is ':TOY'"),
    ("suites.Mini.adapter", "my/toys.py:TOY", r"suites\.Mini: adapter: is 'my/toys\.py:TOY'"),
    ("scenes.aaaa.entities.shelf_1.supports", ["close"], r"entities\.shelf_1\.supports: 'close' needs a joint"),
    ("scenes.aaaa.entities.box_1.supports", ["in.reference"], r"a fixture cannot support 'in\.reference'"),
    ("scenes.aaaa.entities.desk.supports", ["on.reference"], r"a surface cannot support 'on\.reference'"),
    ("tasks.3.suite", "Minni", r"Mini-T3: suite: no suite 'Minni'\. Did you mean 'Mini'\?"),
    ("tasks.3.index", 4, r"Mini-T3: id: must spell suite and index: Mini-T4"),
    ("tasks.2.goal", [["turnon", "lamp_2"]], r"Mini-T2: goal: .*'lamp_2', not in the scene.*Did you mean 'lamp_1'\?"),
    ("tasks.2.goal", [["turn_on", "lamp_1"]], r"Mini-T2: goal: no predicate 'turn_on'\. Did you mean 'turnon'\?"),
    ("tasks.2.goal", [["Turnon", "lamp_1"]], r"Mini-T2: goal: no predicate 'Turnon'"),
    ("tasks.2.goal", [["turnon"]], r"Mini-T2: goal: turnon\(\) has 0 arguments; turnon takes 1"),
    ("tasks.2.goal", [["on", "cup_1"]], r"on\(cup_1\) has 1 arguments; on takes 2"),
    ("tasks.2.goal", [["turnon", "box_1"]], r"the fixture 'box_1' does not support 'turnon'; in this scene: lamp_1"),
    ("tasks.2.goal", [["open", "shelf_1"]], r"'shelf_1' does not support 'open'; in this scene: box_1, box_1_inside"),
    ("tasks.2.goal", [["close", "shelf_1_top"]], r"the site 'shelf_1_top' does not support 'close'"),
    ("tasks.2.goal", [["in", "cup_1", "pear_1"]], r"'pear_1' does not support 'in\.reference'.*: box_1_inside"),
    ("tasks.2.goal", [["in", "cup_1", "box_1"]], r"'box_1' does not support 'in\.reference'"),
    ("tasks.2.goal", [["on", "cup_1", "desk_spawn_region"]], r"the zone 'desk_spawn_region' is not goal-grade"),
    ("tasks.2.goal", [["on", "shelf_1", "cup_1"]], r"the fixture 'shelf_1' does not support 'on\.subject'"),
    ("tasks.2.goal", [["on", "cup_1", "desk"]], r"the surface 'desk' does not support 'on\.reference'"),
    ("tasks.2.goal", [["on", "cup_1", "cup_1"]], r"on\(cup_1, cup_1\) relates a thing to itself"),
    (
        "tasks.2.goal",
        [["on", "cup_1", "bowl_drainer_1_left_region"]],
        r"'bowl_drainer_1_left_region', not in the scene",
    ),
    ("tasks.2.scene", "cccc", r"Mini-T2: scene: no scene 'cccc'"),
    (f"{ORIGINAL}.id", "Mini-T0-Original1", r"Mini-T0-Original1: id: must spell .*: Mini-T0-Original$"),
    (f"{PARAPHRASE}.number", 3, r"Mini-T0-Paraphrase1: id: must spell .*: Mini-T0-Paraphrase3$"),
    (f"{PARAPHRASE}.condition", "paraphase", r"condition: no condition 'paraphase'\. Did you mean 'paraphrase'\?"),
    (f"{TARGET}.task", "Mini-T9", r"Mini-T0-ContrastTarget1: task: no task 'Mini-T9'"),
    (f"{TARGET}.goal", [["on", "cup_1", "plate_2"]], r"goal: on\(cup_1, plate_2\) names 'plate_2', not in the scene"),
    (f"{TARGET}.certificate.trained_goal_of", [], r"trained_goal_of: is \[\]; in this scene the goal is that of .*T1"),
    (f"{LEFT}.regions.0.surface", "table", r"desk_shelf_1_left: no surface 'table'"),
    (f"{LEFT}.regions.0.ranges", [0.2, 0.1, 0.1, 0.2], r"desk_shelf_1_left: .* minimum is not below its maximum"),
    (f"{LEFT}.regions.0.ranges", [0.1, 0.1, 0.1, 0.2], r"desk_shelf_1_left: .* minimum is not below its maximum"),
    (f"{LEFT}.regions.0.ranges", [0.1, 0.1, 0.2, 0.1], r"desk_shelf_1_left: .* minimum is not below its maximum"),
    (f"{LEFT}.regions.0.ranges", [0.0, 0.0, 0.079, 0.2], r"desk_shelf_1_left: a side is under 0\.08 m"),
    (f"{LEFT}.regions.0.ranges", [1.45, 0.0, 1.6, 0.2], r"a corner is over 1\.5 m"),
    (f"{LEFT}.goal", [["in", "cup_1", "desk_shelf_1_left"]], r"can only be the reference of 'on'"),
    ("dropped.0.task", "Mini-T8", r"dropped Mini-T8 contrast action 'turn off the lamp': task: no task 'Mini-T8'"),
    ("dropped.0.condition", "contrasts", r"condition: no condition 'contrasts'\. Did you mean 'contrast'\?"),
    ("dropped.0.goal", [["turnoff", "lamp_9"]], r"dropped .*: goal: names 'lamp_9', not in the scene"),
    ("unavailable.0.slot", ..., r"unavailable Mini-T2 contrast: slot: is missing in a cell of condition contrast"),
    ("unavailable.0.condition", "original", r"slot: is 'target'; must be left out in a cell of condition original"),
    ("counts", {"Maxi": {}}, r"counts\.Maxi: no suite 'Maxi'"),
]


@pytest.mark.parametrize(("path", "value", "message"), MEANING)
def test_a_row_that_says_something_untrue_is_refused(path: str, value: object, message: str) -> None:
    data = mini()
    put(data, path, value)
    with pytest.raises(RegistryError, match=message):
        parsed(data)


def test_an_adapter_of_ones_own_is_named_by_an_import_string_and_not_imported() -> None:
    data = mini()
    for place in ("suites.Mini", "scenes.aaaa", "scenes.bbbb"):
        put(data, f"{place}.adapter", "nowhere.at_all:ADAPTER.inner")
    assert parsed(data).adapter_name("Mini-T0") == "nowhere.at_all:ADAPTER.inner"


def test_the_known_adapters_are_those_of_the_folder() -> None:
    assert _meaning._adapters() == adapters.names()


def test_a_text_that_appears_twice_is_refused() -> None:
    data = mini()
    put(data, f"{TARGET}.instruction", "put the cup  On the shelf")
    assert any(
        "Mini-T0-ContrastTarget1: instruction" in line and "the text of Mini-T0-Or" in line for line in refusals(data)
    )


def test_a_task_without_an_original_is_refused() -> None:
    data = mini()
    put(data, variant_at("T2-Original"), ...)
    assert refusals(data) == (
        "mini.yaml: Mini-T2: has no original; add a variant Mini-T2-Original with the canonical text",
    )


def test_near_copies_among_paraphrases_are_refused() -> None:
    data = mini()
    put(data, variant_at("T0-Paraphrase2") + ".instruction", "please place the cup onto that shelf")
    assert refusals(data) == (
        "mini.yaml: Mini-T0-Paraphrase2: instruction: 'please place the cup onto that shelf' is a near copy of "
        "Mini-T0-Paraphrase1, 'place the cup onto the shelf'; use other words (redundant)",
    )


def test_one_region_name_means_one_box() -> None:
    data = mini()
    other = copy.deepcopy(data["variants"][int(LEFT.split(".")[1])])
    other |= {"id": "Mini-T0-ContrastRelation2", "number": 2, "instruction": "put the cup beside the shelf"}
    other["changed"]["to"] = "beside"
    data["variants"].append(other)
    parsed(data)
    other["regions"][0]["ranges"] = [-0.3, -0.1, -0.2, 0.01]
    assert refusals(data) == (
        "mini.yaml: Mini-T0-ContrastRelation2: regions: desk_shelf_1_left: is another box than in "
        "Mini-T0-ContrastRelation1; choose another name",
    )


def test_another_task_of_the_scene_may_have_another_box_of_that_name() -> None:
    data = mini()
    other = copy.deepcopy(data["variants"][int(LEFT.split(".")[1])])
    other |= {
        "id": "Mini-T1-ContrastRelation1",
        "task": "Mini-T1",
        "instruction": "put the cup to the left of the pear",
    }
    other["regions"][0]["ranges"] = [0.1, 0.1, 0.2, 0.3]
    data["variants"].append(other)
    boxes = {row.task: row.goal.regions for row in parsed(data).variants.values() if row.goal and row.goal.regions}
    assert boxes["Mini-T0"] != boxes["Mini-T1"]


def test_a_text_refused_for_one_slot_may_be_registered_for_another() -> None:
    data = mini()
    put(data, "dropped.0.task", "Mini-T0")
    put(data, "dropped.0.slot", "object")
    put(data, "dropped.0.instruction", "put the cup on the pear")
    assert parsed(data).absent[0].slot == "object"


def test_controls_may_share_a_text_that_means_the_same() -> None:
    """A swap with a contrast, a described text with the original whose task it leaves as it is."""
    book = parsed(controlled())
    swap, contrast = book.variant("Mini-T0-Swap1"), book.variant("Mini-T0-ContrastTarget1")
    assert (swap.instruction, swap.goal) == (contrast.instruction, contrast.goal)
    assert book.variant("Mini-T2-Reverse2").instruction == book.variant("Mini-T2-Original").instruction


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        # a described text asks for the opposite of its goal, so what asks for that goal says something else
        (
            "T2-Reverse2",
            {"instruction": "turn off the lamp"},
            "instruction: 'turn off the lamp' is also the text of Mini-T2-Reverse1; texts of a task are different",
        ),
        (
            "T2-Reverse1",
            {"instruction": "turn on the lamp"},
            "goal: 'turn on the lamp' is also the text of Mini-T2-Original, but their goals differ: turnoff(lamp_1) "
            "and turnon(lamp_1); one sentence has one meaning",
        ),
        (
            "T2-Reverse2",
            {"goal": [["turnon", "lamp_1"]]},
            "goal: 'turn on the lamp' is also the text of Mini-T2-Original, but their goals differ: none and "
            "turnon(lamp_1); one sentence has one meaning",
        ),
        (
            "T0-Negated",
            {"instruction": "put the cup  on the PEAR"},
            "instruction: 'put the cup  on the PEAR' is also the text of Mini-T0-ContrastTarget1; texts of a task are "
            "different",
        ),
    ],
)
def test_other_texts_of_a_task_are_different(name: str, fields: dict[str, Any], message: str) -> None:
    data = controlled()
    for field, value in fields.items():
        put(data, f"{variant_at(name)}.{field}", value)
    assert f"mini.yaml: Mini-{name}: {message}" in refusals(data)


def test_a_collision_shares_no_text_with_a_swap() -> None:
    data = controlled()
    put(data, f"{variant_at('T0-CollisionObject1')}.instruction", "put the cup on the pear")
    found = refusals(data)
    assert any("is also the text of Mini-T0-ContrastTarget1; texts of a task are different" in line for line in found)
    put(data, variant_at("T0-ContrastTarget1"), ...)
    message = "goal: 'put the cup on the pear' is also the text of Mini-T0-CollisionObject1, but their goals differ"
    assert any(line.startswith(f"mini.yaml: Mini-T0-Swap1: {message}") for line in refusals(data))


def test_paraphrase_kinds_are_fixed_only_where_the_file_says_so() -> None:
    data = controlled()
    put(data, f"{PARAPHRASE}.kind", "passive")
    assert any("must be 'verb_synonym', the type of number 1 in paraphrase_kinds" in line for line in refusals(data))
    put(data, "paraphrase_kinds", ...)
    assert parsed(data).variant("Mini-T0-Paraphrase1").kind == "passive"


def test_a_person_may_accept_a_paraphrase_that_a_check_of_its_meaning_refuses() -> None:
    data = mini()
    put(data, f"{PARAPHRASE}.instruction", "place the drinking vessel onto the shelf")
    assert any("lost_entity" in line for line in refusals(data))
    row = data["variants"][int(PARAPHRASE.split(".")[1])]
    row |= {"audit": "manual", "audit_reason": "a drinking vessel is a cup, and the scene has no other"}
    details = parsed(data).variant("Mini-T0-Paraphrase1").details
    assert details == {"audit": "manual", "audit_reason": row["audit_reason"]}
    row["instruction"] = "put a cup on the shelf"
    assert any("redundant" in line for line in refusals(data)), "a near copy is no question of meaning"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda region: region.update(name="shelf_left"), r"shelf_left: the name must start with its surface, desk_"),
        (lambda region: region.update(name="desk_front_region"), r"desk_front_region: the name is taken"),
        (lambda region: region.update(name="desk_other"), r"desk_other: no literal of the goal names it"),
    ],
)
def test_a_region_that_does_not_fit_is_refused(change: Callable[[dict[str, Any]], None], message: str) -> None:
    data = mini()
    change(data["variants"][int(LEFT.split(".")[1])]["regions"][0])
    with pytest.raises(RegistryError, match=message):
        parsed(data)


def test_regions_without_a_goal_are_refused() -> None:
    data = mini()
    put(data, f"{LEFT}.goal", ...)
    assert any("regions: are given without a goal" in line for line in refusals(data))


def test_a_dropped_text_may_lack_a_goal_that_can_be_written() -> None:
    data = mini()
    put(data, "dropped.0.goal", ...)
    assert parsed(data).absent[0].goal is None


def test_a_dropped_text_must_not_be_registered() -> None:
    data = mini()
    put(data, "dropped.0.task", "Mini-T0")
    put(data, "dropped.0.instruction", "pick up the cup")
    assert any("is also registered, as Mini-T0-ContrastAction1; keep one" in line for line in refusals(data))


def test_totals_must_be_true_and_every_cell_accounted_for() -> None:
    data = mini()
    data["counts"] = {"Mini": {"original": 3, "originals": 1, "paper": {"anything": 1}}}
    found = refusals(data)
    assert "mini.yaml: counts.Mini: original: is 3; the rows give 4" in found
    assert any("counts.Mini: originals: no total 'originals'. Did you mean 'original'?" in line for line in found)
    open_cells = {line.removeprefix("mini.yaml: counts.Mini: ").split(" has neither")[0] for line in found[2:]}
    assert "Mini-T0 paraphrase 3" in open_cells
    assert "Mini-T1 collision object" in open_cells
    assert not {"Mini-T0 paraphrase 2", "Mini-T0 contrast target", "Mini-T2 contrast action"} & open_cells
    # 4 originals, 20 paraphrases, 20 contrasts and 20 collisions, less 4 + 2 + 3 + 1 variants and 2 reasons
    assert len(open_cells) == 64 - 12


def test_counts_by_tier_and_slot() -> None:
    content_counts = {
        "cells": 64,
        "original": 4,
        "paraphrase": 2,
        "contrast_strict": {"action": 0, "object": 0, "relation": 1, "target": 1, "attribute": 0},
        "contrast_permissive": {"action": 1, "object": 0, "relation": 0, "target": 0, "attribute": 0},
        "collision": {"action": 0, "object": 1, "relation": 0, "target": 0, "attribute": 0},
    }
    data = mini() | {"counts": {"Mini": content_counts}}
    assert all("has neither" in line for line in refusals(data))


def test_ids_spell_their_fields_and_nothing_else() -> None:
    spelt = set()
    rows = list(parsed(mini()).variants.values())
    for row in rows:
        for number in (1, 2, 11):
            for slot in (None, "object", "target"):
                fields = {"id": row.id, "task": row.task, "condition": row.condition, "instruction": row.instruction}
                other = type(row)(**fields, slot=slot, number=number)
                spelt.add((_meaning.spelled(other, _meaning.conditions.get(row.condition)), row.task, row.condition))
    assert {name for name, _, _ in spelt if name.endswith("Paraphrase11")} == {"Mini-T0-Paraphrase11"}
    assert all(row.id == _meaning.spelled(row, _meaning.conditions.get(row.condition)) for row in rows)
    assert len({name for name, _, _ in spelt}) == len(spelt)


def test_a_noun_is_trained_where_a_canonical_text_of_the_suite_has_it() -> None:
    data = mini()
    row = data["variants"][int(COLLISION.split(".")[1])]
    row |= {
        "id": "Mini-T3-CollisionTarget1",
        "task": "Mini-T3",
        "slot": "target",
        "instruction": "put the cup on the lamp",
    }
    row |= {
        "changed": {"from": "mat", "to": "lamp"},
        "absent": {"kind": "entity", "noun": "lamp", "trained_noun": True},
    }
    assert parsed(data).variant("Mini-T3-CollisionTarget1").details["absent"] == row["absent"]
    put(data, f"{COLLISION}.absent.trained_noun", False)
    assert refusals(data) == (
        "mini.yaml: Mini-T3-CollisionTarget1: absent.trained_noun: is false; must be true, since 'lamp' is in the "
        "canonical text of Mini-T2",
    )


def test_a_sentence_that_was_not_chosen_explains_no_empty_cell() -> None:
    cells = {("a", "contrast", "target", 1), ("a", "contrast", "object", 1)}
    rows = [
        Absent("a", "contrast", "target", "not_chosen", instruction="x"),
        Absent("a", "contrast", "object", "same_goal"),
    ]
    content = Content(absent=rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_meaning, "cells", lambda suite, content: iter(sorted(cells)))
        assert list(_meaning.uncovered("s", content)) == ["a contrast target"]

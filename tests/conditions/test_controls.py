"""The rules of the control conditions: the sound row passes, and each broken rule is told by field and code."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_grounding import conditions, manifest
from gym_grounding.conditions import _text
from gym_grounding.testing import TOY_REGISTRY
from gym_grounding.types import Goal, Predicate, Task, Variant

CONTROLS = ("negated", "noise", "null", "reverse", "shuffled", "swap")
BOOK = manifest.load(TOY_REGISTRY)
ON, OFF = (Goal((Predicate(name, ("lamp_1",)),)) for name in ("turnon", "turnoff"))


def found(name: str, **fields: Any) -> set[tuple[str, str]]:
    """Field and code of every rule that a toy row breaks after some of its fields were changed."""
    row = BOOK.variant(name)
    details = {**row.details, **fields.pop("details", {})}
    row = dataclasses.replace(row, **fields, details={key: value for key, value in details.items() if value is not ...})
    task, condition = BOOK.task(row.task), conditions.get(row.condition)
    broken = (*condition.violations(row, task, BOOK.scene_of(task.id)), *condition.links(row, task, BOOK.tasks))
    assert all(violation.message for violation in broken)
    return {(violation.field, violation.code) for violation in broken}


def test_they_are_known_and_hold_no_cell() -> None:
    assert conditions.controls() == CONTROLS
    assert set(conditions.standard()) == {"original", "paraphrase", "contrast", "collision"}
    assert set(conditions.names()) == {*CONTROLS, *conditions.standard()}
    for name in CONTROLS:
        condition = conditions.get(name)
        assert not condition.every_stage
        assert not condition.has_slot


@pytest.mark.parametrize(
    ("name", "fields", "expected"),
    [
        ("Toy-T0-Swap1", {"goal": None}, ("goal", "no_goal")),
        ("Toy-T0-Swap1", {"goal": BOOK.task("Toy-T0").goal}, ("goal", "same_goal")),
        ("Toy-T0-Swap1", {"instruction": "Put it"}, ("instruction", "surface")),
        ("Toy-T0-Swap1", {"details": {"instruction_of": ...}}, ("instruction_of", "no_task")),
        ("Toy-T0-Swap1", {"details": {"instruction_of": "Toy-T0"}}, ("instruction_of", "no_task")),
        ("Toy-T0-Swap1", {"details": {"instruction_of": "Toy-T2"}}, ("instruction", "not_canonical")),
        ("Toy-T0-Swap1", {"goal": BOOK.task("Toy-T2").goal}, ("goal", "wrong_goal")),
        ("Toy-T0-Null", {"instruction": " "}, ("instruction", "not_empty")),
        ("Toy-T0-Null", {"instruction": "do it"}, ("instruction", "not_empty")),
        ("Toy-T0-Null", {"number": 2}, ("number", "not_unique")),
        ("Toy-T0-Shuffled", {"instruction": "tray block the on put a"}, ("instruction", "other_words")),
        ("Toy-T0-Shuffled", {"instruction": "tray block the on put"}, ("instruction", "other_words")),
        ("Toy-T0-Shuffled", {"instruction": "tray block the the on put the"}, ("instruction", "other_words")),
        ("Toy-T0-Shuffled", {"instruction": "put the block on the tray"}, ("instruction", "same_order")),
        ("Toy-T0-Shuffled", {"instruction": "Tray block the on put the"}, ("instruction", "surface")),
        ("Toy-T0-Negated", {"instruction": "put the block on the tray"}, ("instruction", "not_negated")),
        ("Toy-T0-Negated", {"instruction": "do nothing on the block and tray"}, ("instruction", "not_negated")),
        ("Toy-T0-Negated", {"instruction": "do not put the bowl on the tray"}, ("instruction", "other_entity")),
        ("Toy-T0-Negated", {"instruction": "do not put the block there"}, ("instruction", "lost_entity")),
        ("Toy-T0-Noise1", {"number": 3, "details": {"errors": 3}}, ("number", "no_level")),
        ("Toy-T0-Noise1", {"details": {"errors": 2}}, ("errors", "no_level")),
        ("Toy-T0-Noise1", {"details": {"errors": ...}}, ("errors", "no_level")),
        ("Toy-T0-Noise1", {"instruction": "put the block on the tray"}, ("instruction", "no_level")),
        ("Toy-T0-Noise1", {"instruction": "put teh blokc on the tray"}, ("instruction", "no_level")),
        ("Toy-T0-Noise2", {"instruction": "put the block on the trray"}, ("instruction", "no_level")),
        ("Toy-T0-Noise1", {"instruction": "put the bolkc on the tray"}, ("instruction", "other_words")),
        ("Toy-T0-Noise1", {"instruction": "put block on the tray"}, ("instruction", "other_words")),
        ("Toy-T0-Noise1", {"instruction": "put the clock on the tray now"}, ("instruction", "other_words")),
        ("Toy-T4-Null", {"instruction": "put the ball on the mat"}, ("instruction", "not_empty")),
        ("Toy-T2-Reverse1", {"joints": {}}, ("joints", "no_joints")),
        ("Toy-T2-Reverse1", {"number": 3}, ("number", "no_pair")),
        ("Toy-T2-Reverse1", {"described": True}, ("described", "no_pair")),
        ("Toy-T2-Reverse2", {"described": False}, ("described", "no_pair")),
        ("Toy-T2-Reverse1", {"goal": None}, ("goal", "no_goal")),
        ("Toy-T2-Reverse1", {"goal": ON}, ("goal", "same_goal")),
        (
            "Toy-T2-Reverse1",
            {"details": {"certificate": {"true_initially": {"settled": 1, "of": 5}}}},
            ("certificate.true_initially", "already_true"),
        ),
    ],
)
def test_a_broken_rule_is_told(name: str, fields: dict[str, Any], expected: tuple[str, str]) -> None:
    assert found(name) == set()
    assert expected in found(name, **fields)


FOREIGN: dict[str, Any] = {
    "slot": "object",
    "kind": "passive",
    "goal": OFF,
    "tier": "strict",
    "tier_reason": "x",
    "judged": "end",
    "described": True,
    "joints": {"lamp_1": 1.0},
    "also": ("passive",),
    "changed": {"from": "a", "to": "b"},
    "instruction_of": "Toy-T1",
    "errors": 1,
    "absent": {"kind": "value"},
    "certificate": {"on_path": False},
    "audit": "manual",
    "audit_reason": "x",
}
OWN = {
    "original": set(),
    "paraphrase": {"kind", "also", "audit", "audit_reason"},
    "contrast": {"slot", "changed", "goal", "tier", "tier_reason", "judged", "certificate"},
    "collision": {"slot", "changed", "absent"},
    "swap": {"goal", "judged", "instruction_of", "certificate"},
    "null": set(),
    "shuffled": set(),
    "negated": set(),
    "noise": {"errors"},
    "reverse": {"goal", "judged", "described", "joints", "certificate"},
}


@pytest.mark.parametrize("condition", conditions.names())
@pytest.mark.parametrize("field", FOREIGN)
def test_each_condition_has_its_own_fields_and_no_others(condition: str, field: str) -> None:
    row = next(row for row in BOOK.variants.values() if row.condition == condition)
    value = FOREIGN[field]
    is_field = field in {one.name for one in dataclasses.fields(Variant)}
    details = {field: value} | ({"audit": "manual"} if field == "audit_reason" else {})  # a reason of something
    codes = found(row.id, **({field: value} if is_field else {"details": details}))
    assert ((field, "not_here") in codes) is (field not in OWN[condition])


def test_pairs_start_alike_and_watch_one_goal() -> None:
    first, second = BOOK.variant("Toy-T2-Reverse1"), BOOK.variant("Toy-T2-Reverse2")
    conflicts = conditions.get("reverse").conflicts
    assert conflicts(second, first) == ()
    (one,) = conflicts(dataclasses.replace(second, joints={"lamp_1": 0.9}), first)
    (two,) = conflicts(dataclasses.replace(second, goal=ON), first)
    assert [(one.field, one.code), (two.field, two.code)] == [("joints", "other_start"), ("goal", "other_goal")]


def test_a_swap_goal_that_is_part_of_the_original_is_refused() -> None:
    row = BOOK.variant("Toy-T0-Swap1")
    assert row.goal is not None
    task = dataclasses.replace(BOOK.task("Toy-T0"), goal=Goal((*row.goal.all_of, *ON.all_of)))
    broken = conditions.get("swap").violations(row, task, BOOK.scene_of(task.id))
    assert {(violation.field, violation.code) for violation in broken} == {("goal", "implied")}


# What scores a variant, said in one place


@pytest.mark.parametrize(
    ("name", "label", "asked"),
    [
        ("Toy-T0-Original", "original", "own"),
        ("Toy-T0-Paraphrase1", "original", "own"),
        ("Toy-T0-ContrastTarget1", "target", "target"),
        ("Toy-T0-CollisionObject1", None, None),
        ("Toy-T0-Swap1", "target", "target"),
        ("Toy-T0-Null", None, None),
        ("Toy-T0-Shuffled", "original", "own"),
        ("Toy-T0-Negated", None, None),
        ("Toy-T0-Noise2", "original", "own"),
        ("Toy-T2-Reverse1", "target", "target"),
        ("Toy-T2-Reverse2", None, None),
    ],
)
def test_what_scores_and_what_is_asked(name: str, label: str | None, asked: str | None) -> None:
    row = BOOK.variant(name)
    task: Task = BOOK.task(row.task)
    assert conditions.scored_by(row) == label
    assert conditions.asked(row, task) == {"own": task.goal, "target": row.goal, None: None}[asked]


# Typing errors


@pytest.mark.parametrize(
    ("one", "other", "distance"),
    [
        ("bowl", "bowl", 0),
        ("bowl", "bwol", 1),
        ("bowl", "bol", 1),
        ("bowl", "boowl", 1),
        ("bowl", "bowk", 1),
        ("bowl", "wobl", 2),
        ("bowl", "bl", 2),
        ("ca", "abc", 3),
        ("", "abc", 3),
        ("plate", "rack", 4),
    ],
)
def test_edits(one: str, other: str, distance: int) -> None:
    assert _text.edits(one, other) == _text.edits(other, one) == distance


WORDS = st.text("abc", max_size=7)
EDITS: list[Callable[[str, int], str]] = [
    lambda word, at: word[:at] + word[at + 1 :],
    lambda word, at: word[:at] + "x" + word[at:],
    lambda word, at: word[:at] + "x" + word[at + 1 :],
    lambda word, at: word[:at] + word[at : at + 2][::-1] + word[at + 2 :],
]


@given(WORDS, st.integers(0, 7), st.sampled_from(EDITS))
def test_one_error_is_one_edit(word: str, at: int, edit: Callable[[str, int], str]) -> None:
    assert _text.edits(word, edit(word, at)) <= 1


@given(WORDS, WORDS)
def test_edits_are_a_distance_within_the_lengths(one: str, other: str) -> None:
    distance = _text.edits(one, other)
    assert (distance == 0) == (one == other)
    assert abs(len(one) - len(other)) <= distance <= max(len(one), len(other))
    assert distance == _text.edits(other, one)

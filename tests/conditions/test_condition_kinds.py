"""Each condition's own rules: the sound row passes, and each broken rule is told by field and code."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from gym_grounding import conditions, manifest
from gym_grounding.types import Goal, Predicate, Task, Variant

LIFT = Goal((Predicate("lifted", ("cup_1",)),))
SAME = Goal((Predicate("on", ("cup_1", "shelf_1_top")),))
MORE = Goal((*SAME.all_of, Predicate("on", ("pear_1", "shelf_1_top"))))
CHANGED = {"from": "shelf", "to": "pear"}
WHOLE = {"from": "put the cup on the shelf", "to": "pick up the cup"}


@pytest.mark.parametrize("condition", ["original", "paraphrase", "contrast", "collision"])
def test_the_sound_row_breaks_nothing(codes: Any, condition: str) -> None:
    assert codes(condition) == set()


@pytest.mark.parametrize(
    ("condition", "fields", "expected"),
    [
        ("original", {"instruction": "put the cup on a shelf"}, ("instruction", "not_canonical")),
        ("original", {"number": 2}, ("number", "not_unique")),
        ("original", {"goal": SAME}, ("goal", "not_here")),
        ("original", {"slot": "object"}, ("slot", "not_here")),
        ("original", {"tier": "strict"}, ("tier", "not_here")),
        ("original", {"tier_reason": "x"}, ("tier_reason", "not_here")),
        ("original", {"kind": "passive"}, ("kind", "not_here")),
        ("original", {"judged": "end"}, ("judged", "not_here")),
        ("original", {"details": {"changed": CHANGED}}, ("changed", "not_here")),
        ("original", {"details": {"absent": {"kind": "value"}}}, ("absent", "not_here")),
        ("original", {"details": {"certificate": {"on_path": False}}}, ("certificate", "not_here")),
        ("paraphrase", {"instruction": "put a cup on that shelf"}, ("instruction", "redundant")),
        ("paraphrase", {"instruction": "place the pear onto the shelf"}, ("instruction", "other_entity")),
        ("paraphrase", {"instruction": "place the pear onto the shelf"}, ("instruction", "lost_entity")),
        ("paraphrase", {"instruction": "place the cup onto it"}, ("instruction", "lost_entity")),
        ("paraphrase", {"instruction": "place the blue thing onto the shelf"}, ("instruction", "lost_entity")),
        ("paraphrase", {"instruction": "place the cup onto the left shelf"}, ("instruction", "other_entity")),
        ("paraphrase", {"instruction": "never place the cup onto the shelf"}, ("instruction", "negated")),
        ("paraphrase", {"kind": ""}, ("kind", "no_kind")),
        ("paraphrase", {"goal": SAME}, ("goal", "not_here")),
        ("paraphrase", {"slot": "object"}, ("slot", "not_here")),
        ("paraphrase", {"tier": "strict"}, ("tier", "not_here")),
        ("paraphrase", {"tier_reason": "x"}, ("tier_reason", "not_here")),
        ("paraphrase", {"judged": "end"}, ("judged", "not_here")),
        ("paraphrase", {"details": {"changed": CHANGED}}, ("changed", "not_here")),
        ("paraphrase", {"details": {"absent": {"kind": "value"}}}, ("absent", "not_here")),
        ("paraphrase", {"details": {"certificate": {"on_path": False}}}, ("certificate", "not_here")),
        ("contrast", {"slot": None}, ("slot", "no_slot")),
        ("contrast", {"slot": "attribute"}, ("slot", "frame_has_no_slot")),
        ("contrast", {"details": {"changed": None}}, ("changed", "no_change")),
        ("contrast", {"details": {"changed": {"from": "Shelf", "to": "shelf"}}}, ("changed", "same_words")),
        ("contrast", {"details": {"changed": {"from": "rack", "to": "pear"}}}, ("changed", "not_replaced")),
        ("contrast", {"details": {"changed": {"from": "shelf", "to": "plum"}}}, ("changed", "not_replaced")),
        ("contrast", {"slot": "object"}, ("changed", "wrong_slot")),
        ("contrast", {"details": {"changed": {"from": "shelf", "to": "sofa"}}}, ("changed", "unknown_entity")),
        ("contrast", {"goal": None}, ("goal", "no_goal")),
        ("contrast", {"goal": SAME}, ("goal", "same_goal")),
        ("contrast", {"goal": MORE}, ("goal", "extends")),
        ("contrast", {"goal": LIFT}, ("judged", "on_path")),
        ("contrast", {"tier": None}, ("tier", "no_tier")),
        ("contrast", {"tier": "permissive"}, ("tier_reason", "no_reason")),
        ("contrast", {"tier_reason": "x"}, ("tier_reason", "not_here")),
        ("contrast", {"kind": "passive"}, ("kind", "not_here")),
        ("contrast", {"details": {"absent": {"kind": "value"}}}, ("absent", "not_here")),
        ("contrast", {"details": {"certificate": {"on_path": True}}}, ("certificate.on_path", "on_path")),
        ("contrast", {"details": {"certificate": {"on_path": True}}}, ("judged", "on_path")),
        ("contrast", {"details": {"certificate": {"support": "reversed"}}}, ("certificate.support", "reversed")),
        (
            "contrast",
            {"details": {"certificate": {"support": "added_predicate"}}},
            ("certificate.support", "added_predicate"),
        ),
        *(
            (
                "contrast",
                {"details": {"certificate": {"true_initially": {"settled": 0, "of": 50, name: 1}}}},
                ("certificate.true_initially", "already_true"),
            )
            for name in ("raw", "settled", "tolerant")
        ),
        *(
            (
                "contrast",
                {"details": {"certificate": {"trained_goal_of": ()}}},
                (f"certificate.{name}", "not_certified"),
            )
            for name in ("support", "demonstrated", "on_path")
        ),
        (
            "contrast",
            {"slot": "action", "instruction": "pick up the cup", "details": {"changed": WHOLE}},
            ("changed", "several_slots"),
        ),
        ("collision", {"slot": None}, ("slot", "no_slot")),
        ("collision", {"slot": "attribute"}, ("slot", "frame_has_no_slot")),
        ("collision", {"details": {"changed": None}}, ("changed", "no_change")),
        ("collision", {"details": {"changed": {"from": "cup", "to": "pan"}}}, ("changed", "not_replaced")),
        ("collision", {"goal": SAME}, ("goal", "not_here")),
        ("collision", {"tier": "strict"}, ("tier", "not_here")),
        ("collision", {"tier_reason": "x"}, ("tier_reason", "not_here")),
        ("collision", {"judged": "end"}, ("judged", "not_here")),
        ("collision", {"kind": "passive"}, ("kind", "not_here")),
        ("collision", {"details": {"certificate": {"on_path": False}}}, ("certificate", "not_here")),
        ("collision", {"details": {"absent": None}}, ("absent", "no_absence")),
        ("collision", {"details": {"absent": {"kind": "value"}}}, ("absent.kind", "no_noun")),
        ("collision", {"details": {"absent": {"kind": "entity"}}}, ("absent.noun", "no_noun")),
        ("collision", {"details": {"absent": {"kind": "entity", "noun": "pan"}}}, ("absent.noun", "not_in_text")),
        ("collision", {"details": {"absent": {"kind": "entity", "noun": "shelf"}}}, ("absent.noun", "present")),
        (
            "collision",
            {
                "instruction": "put the blue mug on the shelf",  # a red mug is there
                "details": {
                    "changed": {"from": "cup", "to": "blue mug"},
                    "absent": {"kind": "entity", "noun": "blue mug"},
                },
            },
            ("absent.noun", "present"),
        ),
        (
            "collision",
            {"details": {"absent": {"kind": "entity", "noun": "kettle", "satisfiable_part": "open the shelf"}}},
            ("absent.satisfiable_part", "not_in_text"),
        ),
        (
            "collision",
            {
                "details": {
                    "absent": {"kind": "entity", "noun": "kettle", "satisfiable_part": "put the kettle on the shelf"}
                }
            },
            ("absent.satisfiable_part", "not_in_text"),
        ),
    ],
)
def test_a_broken_rule_is_told(codes: Any, condition: str, fields: dict[str, Any], expected: tuple[str, str]) -> None:
    assert expected in codes(condition, **fields)


@pytest.mark.parametrize(
    ("index", "text", "codes"),
    [  # faults planted into paraphrases of LIBERO-Goal
        (0, "pull open the bottom drawer in the cabinet", {"other_entity", "lost_attribute"}),
        (0, "open the drawer of the cabinet", {"lost_attribute"}),
        (0, "open the middle drawer of the cabinet and put the bowl inside", {"other_entity"}),
        (1, "place the bowl on the plate", {"other_entity", "lost_entity"}),
        (1, "dont put the bowl on the stove", {"negated"}),
        (1, "put something on the stove", {"lost_entity"}),
        (1, "move the bowl", {"lost_entity"}),
        (2, "please set the wine bottle atop the stove", {"other_entity", "lost_entity"}),
        (2, "the wine bottle must never be placed on top of the cabinet", {"negated"}),
        (3, "put the bowl in the drawer", {"lost_attribute"}),
        (3, "without opening the top drawer put the bowl inside", {"negated"}),
        (6, "put the cream cheese in the dish", {"other_entity"}),  # bowl or plate
        (9, "put the wine bottle on the stand", set()),
        (9, "put the wine on the rack", set()),
        (9, "put the bottle there", {"lost_entity"}),
    ],
)
def test_planted_faults(index: int, text: str, codes: set[str]) -> None:
    book = manifest.load()
    task = book.task(f"LiberoGoal-T{index}")
    row = Variant(f"{task.id}-Paraphrase9", task.id, "paraphrase", None, 9, text, kind="passive")
    found = conditions.get("paraphrase").violations(row, task, book.scenes[task.scene])
    assert {violation.code for violation in found} == codes


def test_paraphrases_do_not_conflict_with_the_table_of_names(codes: Any) -> None:
    assert codes("paraphrase", instruction="place the red mug onto the shelf above the desk") == set()


def test_a_goal_that_is_part_of_the_original_is_implied(codes: Any, task: Task) -> None:
    larger = dataclasses.replace(task, goal=MORE)
    assert codes("contrast", task=larger, goal=SAME) == {("goal", "implied")}


def test_permissive_rows_may_break_strict_rules_but_not_the_others(codes: Any, task: Task) -> None:
    reason = {"tier": "permissive", "tier_reason": "several_slots"}
    lift = {"slot": "action", "instruction": "pick up the cup", "details": {"changed": WHOLE}, "goal": LIFT}
    assert codes("contrast", **reason, **lift, judged="end") == set()
    assert codes("contrast", **reason, **lift) == {("judged", "on_path")}
    assert codes("contrast", **reason, goal=MORE) == set()
    assert codes("contrast", **reason, goal=SAME) == {("goal", "same_goal")}
    measured = {"support": "reversed", "demonstrated": "none", "on_path": True}
    initially = {"raw": 3, "settled": 2, "tolerant": 3, "of": 3}
    certificate = {**measured, "true_initially": initially}
    assert codes("contrast", **reason, judged="end", details={"certificate": certificate}) == set()
    always = {**measured, "true_initially": initially | {"settled": 3}}
    found = codes("contrast", **reason, judged="end", details={"certificate": always})
    assert found == {("certificate.true_initially", "always_true")}


def test_a_preposition_follows_its_noun(codes: Any) -> None:
    changed = {"from": "on the shelf", "to": "on top of the pear"}
    assert codes("contrast", instruction="put the cup on top of the pear", details={"changed": changed}) == set()


def test_a_strict_row_may_not_drop_words_of_another_slot(codes: Any) -> None:
    changed = {"from": "cup on the shelf", "to": "pear on the pear"}
    found = codes("contrast", instruction="put the pear on the pear", details={"changed": changed})
    assert found == {("changed", "several_slots")}


def test_collisions_of_other_slots_need_no_noun(codes: Any) -> None:
    shown = {"tried": 126, "clearance": 0.01, "extent": 0.05}
    details = {"changed": {"from": "on", "to": "under"}, "absent": {"kind": "impossible", "shown": shown}}
    assert codes("collision", slot="relation", instruction="put the cup under the shelf", details=details) == set()


def test_paraphrases_conflict_when_they_are_near_copies() -> None:
    conflicts = conditions.get("paraphrase").conflicts

    def row(text: str) -> Variant:
        return Variant("Mini-T0-Paraphrase1", "Mini-T0", "paraphrase", None, 1, text)

    found = conflicts(row("set the cup down on a shelf"), row("please set the cup down on the shelf"))
    assert [(violation.field, violation.code) for violation in found] == [("instruction", "redundant")]
    assert conflicts(row("set the cup down on a shelf"), row("the cup belongs on the shelf")) == ()

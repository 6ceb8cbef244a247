"""A hand-made scene and task, and a way to make rows for them."""

from __future__ import annotations

from typing import Any, Protocol

import pytest

from gym_grounding import conditions
from gym_grounding.types import Entity, Goal, Predicate, SceneFacts, Slots, Task, Variant

GRASP = frozenset({"on.subject", "on.reference", "in.subject", "lifted"})
SCENE = SceneFacts(
    "abc",
    "toy",
    "desk",
    {
        "cup_1": Entity("cup_1", "cup", "object", supports=GRASP, names=("cup", "red mug")),
        "pear_1": Entity("pear_1", "pear", "object", supports=GRASP, names=("pear", "fruit")),
        "shelf_1": Entity("shelf_1", "shelf", "fixture", names=("shelf",)),
        "shelf_1_top": Entity("shelf_1_top", "shelf_1", "site", supports=frozenset({"on.reference"})),
        "shelf_1_left": Entity("shelf_1_left", "shelf_1", "site", names=("left shelf",)),
        "desk": Entity("desk", "desk", "surface", names=("desk",)),
    },
)


def on(subject: str, reference: str) -> Goal:
    """A goal of one literal."""
    return Goal((Predicate("on", (subject, reference)),))


TASK = Task(
    id="Mini-T0",
    suite="Mini",
    index=0,
    name="put_the_cup_on_the_shelf",
    source="mini",
    instruction="put the cup on the shelf",
    source_instruction="put the cup on the shelf",
    slots=Slots(action="put", object="cup", relation="on", target="shelf"),
    goal=on("cup_1", "shelf_1_top"),
    scene="abc",
    init_states=1,
)


class Codes(Protocol):
    """Rule codes that a row breaks, by field."""

    def __call__(self, condition: str, **fields: Any) -> set[tuple[str, str]]:
        """Check a row of ``condition`` made from a sound one by changing ``fields``."""
        ...


SOUND: dict[str, dict[str, Any]] = {
    "original": {"instruction": "put the cup on the shelf"},
    "paraphrase": {"instruction": "place the cup onto the shelf", "kind": "verb_synonym"},
    "contrast": {
        "instruction": "put the cup on the pear",
        "slot": "target",
        "goal": on("cup_1", "pear_1"),
        "tier": "strict",
        "details": {"changed": {"from": "shelf", "to": "pear"}},
    },
    "collision": {
        "instruction": "put the kettle on the shelf",
        "slot": "object",
        "details": {
            "changed": {"from": "cup", "to": "kettle"},
            "absent": {"kind": "entity", "noun": "kettle", "trained_noun": False},
        },
    },
}


@pytest.fixture
def codes() -> Codes:
    """See ``Codes``; ``details`` are merged, the rest replaces."""

    def check(condition: str, **fields: Any) -> set[tuple[str, str]]:
        sound = SOUND[condition]
        details = sound.get("details", {}) | fields.pop("details", {})
        task = fields.pop("task", TASK)
        base: dict[str, Any] = {
            "id": "Mini-T0-X1",
            "task": "Mini-T0",
            "condition": condition,
            "slot": None,
            "number": 1,
        }
        row = Variant(**(base | sound | fields | {"details": details}))
        found = conditions.get(condition).violations(row, task, SCENE)
        assert all(violation.message for violation in found)
        return {(violation.field, violation.code) for violation in found}

    return check


@pytest.fixture
def task() -> Task:
    """The hand-made task."""
    return TASK

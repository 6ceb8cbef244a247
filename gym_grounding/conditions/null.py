"""No instruction at all: what the scene alone makes a policy do."""

from __future__ import annotations

from gym_grounding.conditions import _text
from gym_grounding.conditions._base import Condition, Violation
from gym_grounding.types import SceneFacts, Task, Variant


def violations(variant: Variant, task: Task, scene: SceneFacts) -> tuple[Violation, ...]:
    """Rules of a null: the empty text, and nothing else."""
    found: tuple[Violation, ...] = ()
    if variant.instruction:
        found = (Violation("instruction", "not_empty", f"is {variant.instruction[:80]!r}; must be the empty text"),)
    return (*found, *_text.single(variant), *_text.only(variant, "a null says nothing and nothing scores it"))


CONDITION = Condition(
    name="null",
    label="Null",
    has_slot=False,
    scored_by=None,
    every_stage=False,
    per_task=1,
    violations=violations,
    control=True,
)

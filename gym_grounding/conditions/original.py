"""The canonical instruction of a task: one per task, success is the task's own goal."""

from __future__ import annotations

from gym_grounding.conditions import _text
from gym_grounding.conditions._base import Condition, Violation
from gym_grounding.types import SceneFacts, Task, Variant


def violations(variant: Variant, task: Task, scene: SceneFacts) -> tuple[Violation, ...]:
    """Rules of an original: the canonical text itself, and nothing changed."""
    found = list(_text.surface(variant))
    if variant.instruction != task.instruction:
        message = f"is {variant.instruction!r}; must be the task's own {task.instruction!r}"
        found.append(Violation("instruction", "not_canonical", message))
    if variant.number != 1:
        found.append(Violation("number", "not_unique", f"is {variant.number}; a task has one original"))
    reason = "an original changes nothing and is scored by its task's goal"
    found += _text.without(
        variant, reason, "goal", "slot", "tier", "tier_reason", "kind", "judged", "absent", "changed", "certificate"
    )
    return tuple(found)


CONDITION = Condition(
    name="original",
    label="Original",
    has_slot=False,
    scored_by="original",
    every_stage=True,
    per_task=1,
    violations=violations,
)

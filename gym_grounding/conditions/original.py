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
    found += _text.single(variant)
    reason = "an original changes nothing and is scored by its task's goal"
    return (*found, *_text.only(variant, reason))


CONDITION = Condition(
    name="original",
    label="Original",
    has_slot=False,
    scored_by="original",
    every_stage=True,
    per_task=1,
    violations=violations,
)

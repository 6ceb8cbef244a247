"""The canonical instruction forbidden: a policy that hears "not" leaves the task undone."""

from __future__ import annotations

from collections.abc import Iterator

from gym_grounding.conditions import _reference, _text
from gym_grounding.conditions._base import Condition, Violation
from gym_grounding.types import SceneFacts, Task, Variant

START = "do not "


def violations(variant: Variant, task: Task, scene: SceneFacts) -> tuple[Violation, ...]:
    """Rules of a negated text: "do not" and then an order about the same things as the canonical text."""
    return (
        *_text.surface(variant),
        *_wording(variant, task, scene),
        *_text.single(variant),
        *_text.only(variant, "a negated text asks for nothing and nothing scores it"),
    )


def _wording(variant: Variant, task: Task, scene: SceneFacts) -> Iterator[Violation]:
    if not variant.instruction.startswith(START):
        message = f"{variant.instruction!r} does not begin with {START.strip()!r}; write {START + task.instruction!r}"
        yield Violation("instruction", "not_negated", message)
    yield from _reference.added(variant.instruction, task.instruction, scene)
    yield from _reference.lost(variant.instruction, task.instruction, scene)


CONDITION = Condition(
    name="negated",
    label="Negated",
    has_slot=False,
    scored_by=None,
    every_stage=False,
    per_task=1,
    violations=violations,
    control=True,
)

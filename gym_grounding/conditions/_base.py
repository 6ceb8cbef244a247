"""What an instruction condition declares."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gym_grounding.types import SceneFacts, Task, Variant


@dataclass(frozen=True, slots=True)
class Violation:
    """One rule that a registry row breaks.

    Attributes:
        field: field of the row, such as ``goal``.
        code: reason code of the rule, such as ``unsupported``.
        message: what is wrong, with the names involved and what would be right.
    """

    field: str
    code: str
    message: str


def no_conflicts(variant: Variant, sibling: Variant) -> tuple[Violation, ...]:
    """No rule between two variants of a condition."""
    return ()


@dataclass(frozen=True, slots=True)
class Condition:
    """How one kind of instruction is checked, scheduled and scored.

    Attributes:
        name: the module's name.
        label: its part of an id, such as ``Contrast``.
        has_slot: a variant names the slot it changes.
        scored_by: ``original`` (the task's goal is success), ``target`` (the variant's own goal is) or None (behaviour
            is described, never scored).
        every_stage: evaluated after every stage, not only after the last.
        per_task: how many variants a task should have (per slot if ``has_slot``); used to count cells.
        violations: (variant, task, scene) -> rules broken by the row; pure data, no simulator.
        conflicts: (variant, earlier sibling of the same task, condition and slot) -> rules broken by the pair.
    """

    name: str
    label: str
    has_slot: bool
    scored_by: str | None
    every_stage: bool
    per_task: int
    violations: Callable[[Variant, Task, SceneFacts], tuple[Violation, ...]]
    conflicts: Callable[[Variant, Variant], tuple[Violation, ...]] = no_conflicts

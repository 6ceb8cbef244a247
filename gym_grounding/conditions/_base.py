"""What an instruction condition declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def no_links(variant: Variant, task: Task, tasks: Mapping[str, Task]) -> tuple[Violation, ...]:
    """No rule about other tasks."""
    return ()


@dataclass(frozen=True, slots=True)
class Condition:
    """How one kind of instruction is checked, scheduled and scored.

    Attributes:
        name: the module's name.
        label: its part of an id, such as ``Contrast``.
        has_slot: a variant names the slot it changes.
        scored_by: ``original`` (the task's goal is success), ``target`` (the variant's own goal is) or None (behaviour
            is described, never scored). ``conditions.scored_by`` says it of one variant.
        every_stage: evaluated after every stage, not only after the last.
        per_task: how many variants a task should have (per slot if ``has_slot``), or for controls can have; one alone
            has no number in its id.
        violations: (variant, task, scene) -> rules broken by the row; pure data, no simulator.
        conflicts: (variant, earlier sibling of the same task, condition and slot) -> rules broken by the pair.
        links: (variant, task, all tasks of the file by id) -> rules broken in what the row says of other tasks.
        control: stands outside the cells of a registry and is evaluated only where a plan names it.
        shares_text: a variant may have the text of another condition's variant of its task if both ask for one goal.
        own_start: its variants start elsewhere than the task's original, so episodes of both cannot be paired.
    """

    name: str
    label: str
    has_slot: bool
    scored_by: str | None
    every_stage: bool
    per_task: int
    violations: Callable[[Variant, Task, SceneFacts], tuple[Violation, ...]]
    conflicts: Callable[[Variant, Variant], tuple[Violation, ...]] = no_conflicts
    links: Callable[[Variant, Task, Mapping[str, Task]], tuple[Violation, ...]] = no_links
    control: bool = False
    shares_text: bool = False
    own_start: bool = False

"""Another task's canonical instruction in this task's scene: words and skill are trained, only the start is not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gym_grounding.conditions import _text
from gym_grounding.conditions._base import Condition, Violation
from gym_grounding.types import Goal, SceneFacts, Task, Variant


def violations(variant: Variant, task: Task, scene: SceneFacts) -> tuple[Violation, ...]:
    """Rules of a swap: it says whose text it carries, and asks for a goal that is not the task's own."""
    return (
        *_text.surface(variant),
        *_goal(variant, task),
        *_text.only(variant, "a swap is another task's text", "goal", "judged", "instruction_of", "certificate"),
    )


def links(variant: Variant, task: Task, tasks: Mapping[str, Task]) -> tuple[Violation, ...]:
    """Rules about the other task: one of the same suite, whose canonical text is this one."""
    name = variant.details.get("instruction_of")
    if not name:
        message = "is missing; name the task whose canonical text this is"
        return (Violation("instruction_of", "no_task", message),)
    other = tasks.get(str(name))
    if other is None or other.suite != task.suite or other.id == task.id:
        known = [one.id for one in tasks.values() if one.suite == task.suite and one.id != task.id]
        message = f"is {name!r}; must be another task of the suite: {', '.join(known) or 'there is none'}"
        return (Violation("instruction_of", "no_task", message),)
    if variant.instruction != other.instruction:
        message = f"is {variant.instruction!r}; must be the canonical text of {name}, {other.instruction!r}"
        return (Violation("instruction", "not_canonical", message),)
    if variant.goal is not None and _kind(variant.goal) != _kind(other.goal):
        message = f"is {variant.goal.id}; must be that of {name}, {other.goal.id}, or ask for another thing of the kind"
        return (Violation("goal", "wrong_goal", message),)
    return ()


def _kind(goal: Goal) -> list[str]:
    """A goal without the numbers of its things: where two are of a kind, the scene decides which one a text means."""
    return sorted(re.sub(r"_\d+", "", str(predicate)) for predicate in goal.all_of)


def _goal(variant: Variant, task: Task) -> Iterator[Violation]:
    goal = variant.goal
    if goal is None:
        yield Violation("goal", "no_goal", "is missing; say what the text asks for in this scene")
    elif goal == task.goal:
        yield Violation("goal", "same_goal", f"is the task's own goal {goal.id}; a swap asks for another one")
    elif set(goal.all_of) < set(task.goal.all_of):
        message = f"{goal.id} holds whenever the task's own {task.goal.id} does; drop the row"
        yield Violation("goal", "implied", message)


CONDITION = Condition(
    name="swap",
    label="Swap",
    has_slot=False,
    scored_by="target",
    every_stage=False,
    per_task=9,
    violations=violations,
    links=links,
    control=True,
    shares_text=True,
)

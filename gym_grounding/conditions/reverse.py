"""A joint is preset, then either state of it is asked for: only the verb tells the two texts apart.

Both texts of a pair start alike and have one goal, the state that is not so. The first asks for it and is scored by it;
the second asks for what is so already and is only described: who reaches the goal has done the opposite.
"""

from __future__ import annotations

from collections.abc import Iterator

from gym_grounding.conditions import _text
from gym_grounding.conditions._base import Condition, Violation
from gym_grounding.types import SceneFacts, Task, Variant

UNMET, MET = 1, 2
"""Numbers of a pair: the text that asks for the goal, and the text that asks for what is so already."""


def violations(variant: Variant, task: Task, scene: SceneFacts) -> tuple[Violation, ...]:
    """Rules of a reverse text: preset joints, a goal, and of the pair the right one scored."""
    own = ("goal", "judged", "described", "joints", "certificate")
    return (
        *_text.surface(variant),
        *_pair(variant, task),
        *_start(variant),
        *_text.only(variant, "a reverse text asks for one state of a preset joint", *own),
    )


def conflicts(variant: Variant, sibling: Variant) -> tuple[Violation, ...]:
    """Rules of the pair: one start, one goal."""
    if variant.joints != sibling.joints:
        message = f"are other ones than in {sibling.id}; both texts of a pair start alike"
        return (Violation("joints", "other_start", message),)
    if variant.goal is not None and variant.goal != sibling.goal:
        message = f"is {variant.goal.id}, that of {sibling.id} another; both watch the state that is not so"
        return (Violation("goal", "other_goal", message),)
    return ()


def _pair(variant: Variant, task: Task) -> Iterator[Violation]:
    if variant.number not in (UNMET, MET):
        message = f"is {variant.number}; {UNMET} asks for the goal, {MET} for what is so already"
        yield Violation("number", "no_pair", message)
    elif variant.described != (variant.number == MET):
        must = (
            "must be true: it asks for what is so" if variant.described is False else "must be left out: it is scored"
        )
        yield Violation("described", "no_pair", f"{must} (number {variant.number})")
    if variant.goal is None:
        yield Violation("goal", "no_goal", "is missing; give the state of the joint that is not so at the start")
    elif variant.goal == task.goal:
        message = f"is the task's own goal {variant.goal.id}; preset the joint so that the other state is unmet"
        yield Violation("goal", "same_goal", message)


def _start(variant: Variant) -> Iterator[Violation]:
    if not variant.joints:
        yield Violation("joints", "no_joints", "are missing; give the preset position of a joint [m or rad]")
    certificate = variant.details.get("certificate")
    initially = certificate.get("true_initially") if isinstance(certificate, dict) else None
    if not isinstance(initially, dict):
        return
    if initially["settled"]:
        message = (
            f"holds in {initially['settled']} of {initially['of']} starts; preset the joint so that it holds in none"
        )
        yield Violation("certificate.true_initially", "already_true", message)


CONDITION = Condition(
    name="reverse",
    label="Reverse",
    has_slot=False,
    scored_by="target",
    every_stage=False,
    per_task=2,
    violations=violations,
    conflicts=conflicts,
    control=True,
    shares_text=True,
    own_start=True,
)

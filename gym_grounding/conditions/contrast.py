"""A minimal contrast: one slot of the instruction is replaced, and with it the goal, which the scene can show."""

from __future__ import annotations

from collections.abc import Iterator

from gym_grounding.conditions import _reference, _text
from gym_grounding.conditions._base import Condition, Violation
from gym_grounding.types import TIERS, Goal, SceneFacts, Task, Variant

_LAX = "make the row permissive, with a tier_reason"
_READINGS = ("raw", "settled", "tolerant")
"""Ways in which a goal may already hold at the start; see ``manifest``."""
_SHOWN = {"oracle", "reachable", "trained_goal_of"}
"""What may stand in a certificate without the rest: it says what happened, not how the row was judged."""


def violations(variant: Variant, task: Task, scene: SceneFacts) -> tuple[Violation, ...]:
    """Rules of a contrast: a declared slot really changes, the goal is another one, and the tier is earned."""
    own = ("slot", "changed", "goal", "tier", "tier_reason", "judged", "certificate")
    return (
        *_text.surface(variant),
        *_change(variant, task, scene),
        *_goal(variant, task),
        *_tier(variant, task),
        *_certificate(variant),
        *_text.only(variant, "a contrast names things of the scene and is scored by its goal", *own),
    )


def _change(variant: Variant, task: Task, scene: SceneFacts) -> Iterator[Violation]:
    found = _text.change(variant, task)
    yield from found
    if not found and not _text.touches(variant, task):
        slot = f"{variant.slot}, {getattr(task.slots, variant.slot or '')!r}"
        yield Violation("changed", "wrong_slot", f"replaces no word of the {slot}; name the slot that changes")
    changed = variant.details.get("changed")
    if isinstance(changed, dict) and variant.slot in ("object", "target"):
        new = str(changed["to"])
        if not _reference.mentions(new, scene).things:
            yield Violation("changed", "unknown_entity", f"{new!r} names nothing in the scene; that is a collision")


def _goal(variant: Variant, task: Task) -> Iterator[Violation]:
    goal = variant.goal
    if goal is None:
        yield Violation("goal", "no_goal", "is missing; a contrast asks for something that the scene can show")
        return
    if goal == task.goal:
        yield Violation("goal", "same_goal", f"is the original goal {goal.id}; ask for another one")
    elif variant.tier == "strict":
        mine, original = set(goal.all_of), set(task.goal.all_of)
        if mine < original:
            message = f"{goal.id} holds whenever the original {task.goal.id} does; {_LAX}"
            yield Violation("goal", "implied", message)
        if mine > original:
            yield Violation("goal", "extends", f"{goal.id} contains the original {task.goal.id}; {_LAX}")
    if variant.judged != "end" and (_lifts(goal) or _certified(variant, "on_path") is True):
        message = "must be 'end': who does the original task passes through this goal"
        yield Violation("judged", "on_path", message)


def _tier(variant: Variant, task: Task) -> Iterator[Violation]:
    if variant.tier is None:
        yield Violation("tier", "no_tier", f"is missing; must be one of {', '.join(TIERS)}")
    elif variant.tier == "permissive":
        if not variant.tier_reason:
            yield Violation("tier_reason", "no_reason", "is missing; say which strict rule the row breaks")
    else:
        if variant.tier_reason:
            yield Violation("tier_reason", "not_here", "must be left out: a strict row breaks no rule")
        for slot in _text.lost_slots(variant, task):
            yield Violation("changed", "several_slots", f"also drops words of the {slot}; {_LAX}")
        yield from _unearned(variant)


def _unearned(variant: Variant) -> Iterator[Violation]:
    """What the certificate says against the strict tier."""
    if _certified(variant, "on_path") is True:
        yield Violation("certificate.on_path", "on_path", f"is true; {_LAX}")
    support = _certified(variant, "support")
    if support in ("reversed", "added_predicate"):
        yield Violation("certificate.support", str(support), f"is {support}; {_LAX}")
    initially = _certified(variant, "true_initially")
    if isinstance(initially, dict):
        for name in _READINGS:
            if initially.get(name):
                message = f"holds in {initially[name]} of {initially['of']} initial states ({name}); {_LAX}"
                yield Violation("certificate.true_initially", "already_true", message)


def _certificate(variant: Variant) -> Iterator[Violation]:
    """What a certificate must hold, if there is one, and what it must not say."""
    certificate = variant.details.get("certificate")
    if isinstance(certificate, dict) and not ("oracle" in certificate and certificate.keys() <= _SHOWN):
        for name in ("support", "demonstrated", "on_path"):
            if _certified(variant, name) is None:
                message = "is missing; measure it, or leave the whole certificate out"
                yield Violation(f"certificate.{name}", "not_certified", message)
    initially = _certified(variant, "true_initially")
    if isinstance(initially, dict) and initially["settled"] == initially["of"]:
        message = f"holds in all {initially['of']} initial states after settling, so nobody can reach it; drop the row"
        yield Violation("certificate.true_initially", "always_true", message)


def _lifts(goal: Goal) -> bool:
    return any(predicate.name == "lifted" for predicate in goal.all_of)


def _certified(variant: Variant, name: str) -> object:
    certificate = variant.details.get("certificate")
    return certificate.get(name) if isinstance(certificate, dict) else None


CONDITION = Condition(
    name="contrast",
    label="Contrast",
    has_slot=True,
    scored_by="target",
    every_stage=False,
    per_task=1,
    violations=violations,
)

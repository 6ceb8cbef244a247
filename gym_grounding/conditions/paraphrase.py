"""The canonical instruction in other words: the meaning, and with it the goal, stays."""

from __future__ import annotations

from collections.abc import Iterator

from gym_grounding.conditions import _reference, _text
from gym_grounding.conditions._base import Condition, Violation
from gym_grounding.types import SceneFacts, Task, Variant

MANUAL = "manual"
"""The ``audit`` of a text that a person accepted although a check of its meaning refuses it."""
_NEGATIONS = frozenset(["not", "never", "no", "dont", "avoid", "without", "except", "instead", "stop"])


def violations(variant: Variant, task: Task, scene: SceneFacts) -> tuple[Violation, ...]:
    """Rules of a paraphrase: other words than the canonical text for the same things, a type, no goal of its own."""
    found = list(_text.surface(variant))
    if _text.redundant(variant.instruction, task.instruction):
        message = f"{variant.instruction!r} is a near copy of the canonical {task.instruction!r}; use other words"
        found.append(Violation("instruction", "redundant", message))
    if not variant.kind:
        found.append(Violation("kind", "no_kind", "is missing; name the type, such as verb_synonym or passive"))
    found += _audit(variant)
    if variant.details.get("audit") != MANUAL:
        found += _meaning(variant, task, scene)
    reason = "a paraphrase keeps the meaning and is scored by its task's goal"
    return (*found, *_text.only(variant, reason, "kind", "also", "audit", "audit_reason"))


def _audit(variant: Variant) -> Iterator[Violation]:
    """A person's word needs a reason, and nothing else has one."""
    audit, reason = variant.details.get("audit"), variant.details.get("audit_reason")
    if audit == MANUAL and not reason:
        yield Violation("audit_reason", "no_reason", "is missing; say why a person accepts what a check refused")
    if audit != MANUAL and reason:
        yield Violation("audit_reason", "not_here", f"must be left out: it belongs to 'audit: {MANUAL}'")


def _meaning(variant: Variant, task: Task, scene: SceneFacts) -> Iterator[Violation]:
    """Signs of another meaning: other things, another part of a thing, a lost attribute, a negation.

    A change of verb or relation is not seen here; a person has to read the text.
    """
    text, canonical = variant.instruction, task.instruction
    yield from _reference.added(text, canonical, scene)
    yield from _reference.lost(text, canonical, scene)
    for word in sorted(_text.vocabulary(task.slots.attribute) - _text.UNSTRESSED):
        if not any(other.startswith(word) for other in text.split()):
            message = f"does not say {word!r}, which tells things apart; say it"
            yield Violation("instruction", "lost_attribute", message)
    for word in sorted(_NEGATIONS & set(text.split()) - set(canonical.split())):
        message = f"contains {word!r}, which {canonical!r} does not; leave it out"
        yield Violation("instruction", "negated", message)


def conflicts(variant: Variant, sibling: Variant) -> tuple[Violation, ...]:
    """Rules between two paraphrases of a task: no near copies."""
    if _text.redundant(variant.instruction, sibling.instruction):
        message = f"{variant.instruction!r} is a near copy of {sibling.id}, {sibling.instruction!r}; use other words"
        return (Violation("instruction", "redundant", message),)
    return ()


CONDITION = Condition(
    name="paraphrase",
    label="Paraphrase",
    has_slot=False,
    scored_by="original",
    every_stage=True,
    per_task=5,
    violations=violations,
    conflicts=conflicts,
)

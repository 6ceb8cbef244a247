"""The canonical instruction in other words: the meaning, and with it the goal, stays."""

from __future__ import annotations

from collections.abc import Iterator

from gym_grounding.conditions import _reference, _text
from gym_grounding.conditions._base import Condition, Violation
from gym_grounding.types import SceneFacts, Task, Variant

_NEGATIONS = frozenset(["not", "never", "no", "dont", "avoid", "without", "except", "instead", "stop"])


def violations(variant: Variant, task: Task, scene: SceneFacts) -> tuple[Violation, ...]:
    """Rules of a paraphrase: other words than the canonical text for the same things, a type, no goal of its own."""
    found = list(_text.surface(variant))
    if _text.redundant(variant.instruction, task.instruction):
        message = f"{variant.instruction!r} is a near copy of the canonical {task.instruction!r}"
        found.append(Violation("instruction", "redundant", message))
    if not variant.kind:
        found.append(Violation("kind", "no_kind", "is missing; name the type, such as verb_synonym or passive"))
    found += _meaning(variant, task, scene)
    reason = "a paraphrase keeps the meaning and is scored by its task's goal"
    found += _text.without(
        variant, reason, "goal", "slot", "tier", "tier_reason", "judged", "absent", "changed", "certificate"
    )
    return tuple(found)


def _meaning(variant: Variant, task: Task, scene: SceneFacts) -> Iterator[Violation]:
    """Signs of another meaning: other things, another part of a thing, a lost attribute, a negation.

    A change of verb or relation is not seen here; a person has to read the text.
    """
    text, canonical = variant.instruction, task.instruction
    mine, original = _reference.mentions(text, scene), _reference.mentions(canonical, scene)
    for name in sorted(mine.things - original.things):
        yield Violation("instruction", "other_entity", f"may mean {name}, of which {canonical!r} does not speak")
    for name in sorted(original.things - mine.things):
        names = ", ".join(scene.entities[name].names)
        yield Violation("instruction", "lost_entity", f"does not speak of {name}; its names: {names}")
    for name in sorted(mine.parts - original.parts):
        yield Violation("instruction", "other_entity", f"means {name}, of which {canonical!r} does not speak")
    for word in sorted(_text.vocabulary(task.slots.attribute) - _text.UNSTRESSED):
        if not any(other.startswith(word) for other in text.split()):
            yield Violation("instruction", "lost_attribute", f"does not say {word!r}, which tells things apart")
    for word in sorted(_NEGATIONS & set(text.split()) - set(canonical.split())):
        yield Violation("instruction", "negated", f"contains {word!r}, which {canonical!r} does not")


def conflicts(variant: Variant, sibling: Variant) -> tuple[Violation, ...]:
    """Rules between two paraphrases of a task: no near copies."""
    if _text.redundant(variant.instruction, sibling.instruction):
        message = f"{variant.instruction!r} is a near copy of {sibling.id}, {sibling.instruction!r}"
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

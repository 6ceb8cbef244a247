"""A collision: one slot of the instruction is replaced by something that the scene cannot satisfy."""

from __future__ import annotations

from collections.abc import Iterator

from gym_grounding.conditions import _text
from gym_grounding.conditions._base import Condition, Violation
from gym_grounding.types import SceneFacts, Task, Variant


def violations(variant: Variant, task: Task, scene: SceneFacts) -> tuple[Violation, ...]:
    """Rules of a collision: a declared slot changes, no goal is claimed, and what is asked for is not there."""
    reason = "nothing scores a collision"
    return (
        *_text.surface(variant),
        *_text.change(variant, task),
        *_text.without(variant, reason, "goal", "tier", "tier_reason", "judged", "certificate"),
        *_text.without(variant, "a collision has no type of wording", "kind"),
        *_absence(variant, scene),
    )


def _absence(variant: Variant, scene: SceneFacts) -> Iterator[Violation]:
    absent = variant.details.get("absent")
    if not isinstance(absent, dict):
        yield Violation("absent", "no_absence", "is missing; say what the scene lacks")
        return
    named = variant.slot in ("object", "target")
    if named and absent["kind"] != "entity":
        yield Violation("absent.kind", "no_noun", f"is {absent['kind']!r}; a new {variant.slot} is an absent 'entity'")
    if absent["kind"] == "entity":
        yield from _noun(str(absent.get("noun", "")), variant, scene)
    part = absent.get("satisfiable_part")
    if part and not (_text.contains(variant.instruction, str(part)) and part != variant.instruction):
        yield Violation("absent.satisfiable_part", "not_in_text", f"{part!r} is no part of {variant.instruction!r}")


def _noun(noun: str, variant: Variant, scene: SceneFacts) -> Iterator[Violation]:
    if not noun:
        yield Violation("absent.noun", "no_noun", "is missing; name the absent thing")
    elif not _text.contains(variant.instruction, noun):
        yield Violation("absent.noun", "not_in_text", f"{noun!r} does not occur in {variant.instruction!r}")
    words = set(_text.fold(noun).split())
    for entity in scene.entities.values():
        for name in entity.names:
            # A shared word is enough: "ketchup bottle" is half there where a "wine bottle" stands.
            if words & set(_text.fold(name).split()):
                yield Violation("absent.noun", "present", f"{noun!r} fits {entity.name!r}, also called {name!r}")
                break


CONDITION = Condition(
    name="collision",
    label="Collision",
    has_slot=True,
    scored_by=None,
    every_stage=False,
    per_task=1,
    violations=violations,
)

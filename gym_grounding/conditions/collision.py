"""A collision: one slot of the instruction is replaced by something that the scene cannot satisfy."""

from __future__ import annotations

from collections.abc import Iterator

from gym_grounding.conditions import _text
from gym_grounding.conditions._base import Condition, Violation
from gym_grounding.types import SceneFacts, Task, Variant

_PROOFS = {"impossible": ("tried", "clearance", "extent"), "referent": ("in_states", "of")}
"""Kind of absence -> what ``absent.shown`` holds; the other kinds show by their noun or by nothing."""


def violations(variant: Variant, task: Task, scene: SceneFacts) -> tuple[Violation, ...]:
    """Rules of a collision: a declared slot changes, no goal is claimed, and what is asked for is not there."""
    return (
        *_text.surface(variant),
        *_text.change(variant, task),
        *_text.only(variant, "nothing scores a collision", "slot", "changed", "absent"),
        *_absence(variant, scene),
    )


def _absence(variant: Variant, scene: SceneFacts) -> Iterator[Violation]:
    absent = variant.details.get("absent")
    if not isinstance(absent, dict):
        yield Violation("absent", "no_absence", "is missing; say what the scene lacks")
        return
    kind = absent["kind"]
    if variant.slot in ("object", "target") and kind not in ("entity", "referent"):
        message = f"is {kind!r}; a new {variant.slot} is an absent 'entity', or a 'referent' that no thing fits"
        yield Violation("absent.kind", "no_noun", message)
    if kind == "entity":
        yield from _noun(str(absent.get("noun", "")), variant, scene)
    part = absent.get("satisfiable_part")
    if part and not (_text.contains(variant.instruction, str(part)) and part != variant.instruction):
        message = f"{part!r} is no part of {variant.instruction!r}; quote the words that can be done"
        yield Violation("absent.satisfiable_part", "not_in_text", message)
    yield from _proof(str(kind), absent.get("shown"))


def _proof(kind: str, shown: object) -> Iterator[Violation]:
    """Whether what was measured is there and fits the kind of absence."""
    if not isinstance(shown, dict):
        if kind in ("referent", "impossible"):
            message = f"is missing; give what was measured: {', '.join(_PROOFS[kind])}"
            yield Violation("absent.shown", "not_shown", message)
        return
    wanted = _PROOFS.get(kind, ())
    if tuple(shown) != wanted:
        what = f"must hold {', '.join(wanted)}" if wanted else "must be left out"
        yield Violation("absent.shown", "not_shown", f"holds {', '.join(shown)}; of kind {kind!r} it {what}")
    elif kind == "referent" and shown["in_states"]:
        message = f"is {shown['in_states']} of {shown['of']}; what some thing fits is not absent, so drop the row"
        yield Violation("absent.shown.in_states", "present", message)
    elif kind == "impossible" and not shown["tried"]:
        yield Violation("absent.shown.tried", "not_shown", "is 0; try at least one placement")


def _noun(noun: str, variant: Variant, scene: SceneFacts) -> Iterator[Violation]:
    if not noun:
        yield Violation("absent.noun", "no_noun", "is missing; name the absent thing")
    elif not _text.contains(variant.instruction, noun):
        message = f"{noun!r} does not occur in {variant.instruction!r}; quote its words"
        yield Violation("absent.noun", "not_in_text", message)
    words = set(_text.fold(noun).split())
    for entity in scene.entities.values():
        for name in entity.names:
            # A shared word is enough: "ketchup bottle" is half there where a "wine bottle" stands.
            if words & set(_text.fold(name).split()):
                message = f"{noun!r} fits {entity.name!r}, also called {name!r}; name what the scene lacks"
                yield Violation("absent.noun", "present", message)
                break
    for name in scene.background:
        if words & set(_text.fold(name).split()):
            message = f"{noun!r} fits the {name!r} in the background; name what the scene lacks"
            yield Violation("absent.noun", "present", message)


CONDITION = Condition(
    name="collision",
    label="Collision",
    has_slot=True,
    scored_by=None,
    every_stage=False,
    per_task=1,
    violations=violations,
)

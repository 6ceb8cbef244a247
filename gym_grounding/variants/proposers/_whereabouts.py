"""Phrases that tell a thing by where it is: on, in or next to something, between two things, to one side of one."""

from __future__ import annotations

from collections.abc import Iterator

from gym_grounding.types import Entity
from gym_grounding.variants.language import parser
from gym_grounding.variants.proposers._contrast_frame import SIDES, Frame
from gym_grounding.variants.types import Layout, Phrase

_CENTER = "from table center"


def phrases(entity: Entity, noun: str, frame: Frame) -> Iterator[str]:
    """Phrases for where a movable thing is, such as ``on the stove``; likely ones first.

    With a layout those that hold in some initial state, whatever else they fit. Without one those by which the other
    tasks of the scene tell things of that noun, true or not.
    """
    yield from _true(entity, frame, frame.layout) if frame.layout is not None else _known(noun, frame)


def place_of(phrase: Phrase) -> str | None:
    """The words of a phrase that say where its thing is; None when it does not say it or says it before the noun."""
    head = f"{phrase.attribute} {phrase.noun} " if phrase.attribute else f"{phrase.noun} "
    told = phrase.reference is not None and phrase.reference[0] != "of" and phrase.text.startswith(head)
    return phrase.text.removeprefix(head) if told else None


def _known(noun: str, frame: Frame) -> Iterator[str]:
    for other in frame.others:
        for clause in parser.parse(other.instruction, frame.scene).clauses:
            for phrase in clause.objects:
                place = place_of(phrase)
                if place is not None and phrase.noun == noun:
                    yield place


def _true(entity: Entity, frame: Frame, layout: Layout) -> Iterator[str]:
    relations = layout.relations.items()
    held = sorted((relation, other) for (relation, name, other), states in relations if name == entity.name and states)
    # "next to the bowl" says nothing of one of two bowls.
    alike = {other.name for other in frame.scene.of_kind("object") if other.category == entity.category}
    held = [(relation, other) for relation, other in held if not alike & set(other.split())]
    # What stands on something is told by that, not by what stands beside it.
    stacked = any(relation in ("on", "in") for relation, _ in held)
    for relation in ("on", "in") if stacked else ("next to", "between", "center", *SIDES):
        for other in (name for one, name in held if one == relation):
            # A side alone says little of things far away from each other.
            if relation not in SIDES or ("next to", other) in held:
                yield from _phrase(relation, other, frame)


def _phrase(relation: str, other: str, frame: Frame) -> Iterator[str]:
    if relation == "center":
        yield _CENTER
        return
    nouns = [_noun(name, frame) for name in other.split()]
    if None in nouns:
        return
    if relation == "between":
        yield f"between the {nouns[0]} and the {nouns[1]}"
    else:
        yield f"{SIDES.get(relation, relation)} the {nouns[0]}"


def _noun(name: str, frame: Frame) -> str | None:
    """How a reference is called; the whole of a part is left out, since its part tells more."""
    entity = frame.scene.entities.get(name)
    return frame.noun(entity) if entity is not None and entity.kind in ("object", "fixture", "site") else None

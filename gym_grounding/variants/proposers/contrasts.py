"""Minimal contrasts by rule: the canonical instruction with the words of one slot exchanged for others.

Honest candidates come with tempting ones (a plate pushed onto the stove, a drawer closed that is shut), so that what is
wrong with these is on record. Nothing is claimed to be right: the validator judges each sentence. The goal that comes
with a candidate is made from the original goal by exchanging names, not by reading the sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gym_grounding.types import Entity, Goal, SceneFacts, Task
from gym_grounding.variants.proposers import _contrast_actions, _whereabouts
from gym_grounding.variants.proposers._base import ProposalRequest
from gym_grounding.variants.proposers._contrast_frame import (
    FLAT,
    OPEN,
    ROLES,
    SIDES,
    Candidate,
    Frame,
    Place,
    moved,
    renamed,
)
from gym_grounding.variants.proposers._spans import Span, Spoken
from gym_grounding.variants.types import Layout, Phrase, Proposal

if TYPE_CHECKING:
    from gym_grounding.variants.definitions import Definitions

SOURCE = "rules/1"
_DONE: Mapping[str, str] = {"open": "opened", "close": "closed", "turn on": "turned on", "turn off": "turned off"}


def propose(
    request: ProposalRequest, definitions: Definitions | None = None, layout: Layout | None = None
) -> tuple[Proposal, ...]:
    """Every candidate of a cell, in order of preference, without those to be avoided.

    Args:
        request: the cell.
        definitions: the suites, for the nouns that they use and for the other tasks of the scene; without them, the
            task's own words and no other task.
        layout: where things stand, so that a thing is told only by a place where it is; without it, by every place.
    """
    taken = {request.task.instruction, *request.avoid}
    proposals = []
    for one in _CANDIDATES[request.slot or ""](Frame(request.task, request.scene, definitions, layout)):
        if one.instruction not in taken:
            taken.add(one.instruction)
            goal = Goal(one.goal) if one.goal is not None else None
            proposals.append(
                Proposal(request.task.id, "contrast", request.slot, one.instruction, one.changed, goal, source=SOURCE)
            )
    return tuple(proposals)


def unavailable(task: Task, scene: SceneFacts, slot: str) -> tuple[str, str]:
    """Why nothing can be proposed for a cell: (reason code, words)."""
    frame = Frame(task, scene, None, None)
    clauses = frame.sentence.parse.clauses
    if getattr(task.slots, slot) is None:
        code = "no_attribute_word" if slot == "attribute" else f"frame_has_no_{slot}"
        return code, f"{task.instruction!r} has no {slot}"
    if slot == "attribute":
        return "no_other_value", f"no thing of the same kind is told by another word than {task.slots.attribute!r}"
    if slot == "action":
        return "no_other_action", "no other action keeps the things and the place"
    told = "; telling those of one kind apart is the attribute" if task.slots.attribute else ""
    if slot == "object":
        action = next((clause.action for clause in clauses if clause.action in _DONE and len(clauses) == 1), "")
        return "one_of_a_kind", f"nothing of another kind in the scene can be {_DONE.get(action, 'moved')}{told}"
    relation = next((clause.relation for clause in clauses if clause.relation), "")
    return "one_of_a_kind", f"nothing of another kind in the scene takes what is put {relation!r} it{told}"


def _objects(frame: Frame) -> Iterator[Candidate]:
    mentioned = frame.mentioned()
    for spoken in frame.placing():
        for other in frame.scene.of_kind("object"):
            if "on.subject" in other.supports and other.name not in mentioned:
                yield from _instead(other, spoken, frame)
        for phrase, span in zip(spoken.clause.objects, spoken.objects, strict=True):
            if span is not None and phrase.reference is not None:
                yield from _elsewhere(phrase, span, frame)
    for spoken in frame.spoken:
        yield from _switched(spoken, frame)


def _instead(other: Entity, spoken: Spoken, frame: Frame) -> Iterator[Candidate]:
    """Another kind of thing in the place of each thing that a clause moves."""
    noun = frame.noun(other)
    for phrase, span in zip(spoken.clause.objects, spoken.objects, strict=True):
        old = _mover(phrase, frame)
        if noun is None or span is None or old is None or frame.sentence.is_pronoun(span):
            continue
        if frame.kind(old) != frame.kind(other):
            yield frame.exchanged(span, noun, renamed(old.name, other.name))


def _mover(phrase: Phrase, frame: Frame) -> Entity | None:
    """The thing of a phrase that the original goal moves; None for none and for several."""
    names = {literal.args[0] for literal in frame.task.goal.all_of if literal.name in ("on", "in")} & phrase.entities
    return frame.scene.entities[names.pop()] if len(names) == 1 else None


def _elsewhere(phrase: Phrase, span: Span, frame: Frame) -> Iterator[Candidate]:
    """Another thing that the same noun fits, told by where it is."""
    old, place = _mover(phrase, frame), _whereabouts.place_of(phrase)
    if old is None or place is None:
        return
    words = Span(span.end - len(place.split()), span.end)
    for name in sorted(phrase.entities - {old.name}):
        rewrite = renamed(old.name, name) if frame.layout is not None else None
        for where in _whereabouts.phrases(frame.scene.entities[name], phrase.noun, frame):
            yield frame.exchanged(words, where, rewrite)


def _switched(spoken: Spoken, frame: Frame) -> Iterator[Candidate]:
    """Another kind of thing to be opened, closed or turned."""
    role, span = ROLES.get(spoken.clause.action), spoken.objects[0]
    old = frame.thing(spoken.clause.objects[0])
    if role is None or span is None or old is None or frame.sentence.is_pronoun(span):
        return
    for other in frame.scene.of_kind("fixture", "site"):
        noun = frame.noun(other)
        if role in other.supports and noun and frame.kind(frame.whole(other.name)) != frame.kind(old):
            (name,) = spoken.clause.objects[0].entities
            yield frame.exchanged(span, noun, renamed(name, other.name))


@dataclass(frozen=True, slots=True)
class _Relation:
    """A relation to a thing or to a part of it, with the place that it says; None where no predicate says it."""

    preposition: str
    place: Place | None
    part: Entity | None = None


def _relations(frame: Frame) -> Iterator[Candidate]:
    for spoken in frame.placing():
        thing = frame.thing(spoken.clause.target) if spoken.clause.target else None
        if thing is not None:
            for relation in _other_relations(spoken, thing, frame):
                yield from _related(spoken, thing, relation, frame)


def _other_relations(spoken: Spoken, thing: Entity, frame: Frame) -> Iterator[_Relation]:
    """Every relation to the target of a clause but its own."""
    own = spoken.clause.relation
    if own != "on":
        onto = "onto" if spoken.clause.action == "push" else frame.on(thing)
        carrier = frame.carrier(thing)
        yield _Relation(onto, ("on", carrier) if carrier else None)
    if own != "in":
        for part in frame.parts(thing, "in.reference"):
            if part.names:
                yield _Relation("in", ("in", part.name), part)
    if any(zone.name.endswith(f"_next_to_{frame.kind(thing)}_region") for zone in frame.scene.of_kind("zone")):
        yield _Relation("next to", None)
    for side, preposition in SIDES.items():
        if side != own:
            yield _Relation(preposition, frame.beside(thing, side))


def _related(spoken: Spoken, thing: Entity, relation: _Relation, frame: Frame) -> Iterator[Candidate]:
    """The sentence with another relation to the same thing."""
    rewrite = moved(spoken.clause, relation.place) if relation.place else None
    old, target, phrase = spoken.relation, spoken.target, spoken.clause.target
    if old is None or phrase is None:
        return
    if target is None:
        # An adverb: "inside" becomes "on top", which needs no noun either.
        if relation.preposition == "on top of":
            yield frame.exchanged(old, "on top", rewrite)
        return
    if relation.part is None and not any(frame.scene.entities[name].kind == "site" for name in phrase.entities):
        yield frame.exchanged(old, relation.preposition, rewrite)
        return
    span, text = Span(old.start, target.end), f"{relation.preposition} the {frame.noun(relation.part or thing)}"
    back = _refers_back(spoken, frame)
    if back is not None:
        # The part that "it" speaks of is gone from this clause and has to be named there.
        between = frame.sentence.text(Span(target.end, back.start))
        span, text = Span(span.start, back.end), f"{text} {between} the {_short(phrase)}"
    yield frame.exchanged(span, text, rewrite)


def _refers_back(spoken: Spoken, frame: Frame) -> Span | None:
    """A later pronoun for the target of a clause."""
    later = frame.spoken[frame.spoken.index(spoken) + 1 :]
    for other in later:
        for phrase, span in zip(other.clause.objects, other.objects, strict=True):
            if frame.sentence.is_pronoun(span) and phrase.entities == (spoken.clause.target or phrase).entities:
                return span
    return None


def _short(phrase: Phrase) -> str:
    """A part without what it is part of: ``bottom drawer``."""
    return f"{phrase.attribute} {phrase.noun}" if phrase.attribute else phrase.noun


def _targets(frame: Frame) -> Iterator[Candidate]:
    for spoken in frame.placing():
        thing = frame.thing(spoken.clause.target) if spoken.clause.target else None
        if thing is not None:
            yield from _other_targets(spoken, thing, frame)


def _other_targets(spoken: Spoken, thing: Entity, frame: Frame) -> Iterator[Candidate]:
    """The sentence with other references of the same relation, fixtures by name before movable things."""
    relation, target = spoken.relation, spoken.target
    if relation is None or target is None:
        return
    for other in (*sorted(frame.scene.of_kind("fixture"), key=lambda one: one.name), *frame.scene.of_kind("object")):
        if other.name in frame.mentioned() or frame.kind(other) == frame.kind(thing):
            continue
        for preposition, noun, place in _places(spoken, other, frame):
            rewrite = moved(spoken.clause, place)
            if preposition in (None, frame.sentence.text(relation)):
                article = "the " if frame.sentence.is_pronoun(target) else ""
                yield frame.exchanged(target, f"{article}{noun}", rewrite)
            else:
                yield frame.exchanged(Span(relation.start, target.end), f"{preposition} the {noun}", rewrite)


def _places(spoken: Spoken, other: Entity, frame: Frame) -> Iterator[tuple[str | None, str, Place]]:
    """(preposition or None for the sentence's own, noun, place) of putting something in a relation to another thing."""
    relation, noun, carrier = spoken.clause.relation, frame.noun(other), frame.carrier(other)
    if relation == "on" and noun and carrier and (other.kind == "fixture" or other.category in FLAT):
        yield frame.on(other), noun, ("on", carrier)
    if relation == "in":
        if noun and carrier == other.name and other.category in OPEN:
            yield None, noun, ("on", carrier)
        for part in frame.parts(other, "in.reference"):
            called = frame.noun(part) if part.names else noun
            if called:
                yield None, called, ("in", part.name)
    if relation is not None and relation in SIDES and noun:
        place = frame.beside(other, relation)
        if place:
            yield None, noun, place


def _attributes(frame: Frame) -> Iterator[Candidate]:
    for spoken in frame.spoken:
        phrases = (*zip(spoken.clause.objects, spoken.objects, strict=True), (spoken.clause.target, spoken.target))
        for phrase, span in phrases:
            if phrase is not None and span is not None and not frame.sentence.is_pronoun(span):
                yield from _other_values(phrase, span, frame)


def _other_values(phrase: Phrase, span: Span, frame: Frame) -> Iterator[Candidate]:
    if phrase.reference is not None and phrase.reference[0] != "of":
        yield from _other_values_of_place(phrase, span, frame)
    if phrase.attribute is None or len(phrase.entities) != 1:
        yield from _one_of_two(phrase, span, frame)
        return
    (name,) = phrase.entities
    old, words = frame.scene.entities[name], phrase.attribute.split()
    if frame.sentence.text(Span(span.start, span.start + len(words))) != phrase.attribute:
        return
    for other, value in _values(old, frame):
        if old.kind == "site" or other not in _moved(frame):
            yield frame.exchanged(Span(span.start, span.start + len(words)), value, renamed(name, other))


def _values(old: Entity, frame: Frame) -> Iterator[tuple[str, str]]:
    """(name, attribute) of the others of a kind that have one."""
    if old.kind == "site":
        siblings = [one for one in frame.parts(frame.whole(old.name), "in.reference") if one.names]
        named = [(one.name, one.names[0].rpartition(" ")[0]) for one in siblings]
    else:
        alike = [one for one in frame.scene.of_kind(old.kind) if frame.kind(one) == frame.kind(old)]
        named = [(one.name, (frame.noun(one) or "").removesuffix(frame.kind(old)).strip()) for one in alike]
    own = next((value for name, value in named if name == old.name), "")
    return ((name, value) for name, value in named if value and value != own)


def _moved(frame: Frame) -> frozenset[str]:
    """Things that some clause moves already."""
    return frozenset(name for spoken in frame.placing() for phrase in spoken.clause.objects for name in phrase.entities)


def _other_values_of_place(phrase: Phrase, span: Span, frame: Frame) -> Iterator[Candidate]:
    """Another part in the phrase that tells where a thing is; what the sentence then means only the scene can say."""
    assert phrase.reference is not None  # the caller looked
    text = frame.sentence.text(span)
    for inner in phrase.reference[1]:
        if inner.attribute is None or len(inner.entities) != 1 or f" {inner.text}" not in text:
            continue
        start = span.start + len(text[: text.index(f" {inner.text}")].split())
        (name,) = inner.entities
        for _, value in _values(frame.scene.entities[name], frame):
            yield frame.exchanged(Span(start, start + len(inner.attribute.split())), value, None)


def _one_of_two(phrase: Phrase, span: Span, frame: Frame) -> Iterator[Candidate]:
    """One of the two things that "both ..." means."""
    if span.start == 0 or len(phrase.entities) != 2 or frame.sentence.words[span.start - 1] != "both":
        return
    for name in sorted(phrase.entities):
        noun = frame.noun(frame.scene.entities[name])
        if noun:
            instruction, changed = frame.sentence.exchanged(Span(span.start - 1, span.end), f"the {noun}")
            dropped = phrase.entities - {name}
            kept = tuple(literal for literal in frame.task.goal.all_of if literal.args[0] not in dropped)
            yield Candidate(instruction, changed, kept)


_CANDIDATES: Mapping[str, Callable[[Frame], Iterator[Candidate]]] = {
    "action": _contrast_actions.candidates,
    "object": _objects,
    "relation": _relations,
    "target": _targets,
    "attribute": _attributes,
}

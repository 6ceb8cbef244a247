"""Contrasts by verb: the opposite verb, a lift alone, the first order alone, another trained order of the scene."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gym_grounding.types import Predicate, Task
from gym_grounding.variants.language import parser, words
from gym_grounding.variants.proposers._contrast_frame import ROLES, Candidate, Frame, Rewrite
from gym_grounding.variants.proposers._spans import Span, Spoken, whole

OPPOSITE: Mapping[str, str] = {"open": "close", "turn on": "turn off"}


def candidates(frame: Frame) -> Iterator[Candidate]:
    """Sentences that ask for another action, those that keep most words first."""
    for spoken in frame.spoken:
        yield from _opposite(spoken, frame)
    yield from _lift(frame)
    yield from _first(frame)
    for other in frame.others:
        yield from _other(other, frame)


def _opposite(spoken: Spoken, frame: Frame) -> Iterator[Candidate]:
    action, verb, thing = spoken.clause.action, spoken.verb, spoken.objects[0]
    if verb is None or thing is None:
        return
    if action in OPPOSITE:
        yield frame.exchanged(verb, OPPOSITE[action], _reversed(spoken, OPPOSITE[action]))
    elif action == "close":
        span = Span(verb.start, thing.end)
        said = frame.sentence.text(Span(verb.end, thing.end))
        yield frame.exchanged(span, f"leave {said} open", _reversed(spoken, "open"))


def _reversed(spoken: Spoken, action: str) -> Rewrite:
    names = {name for phrase in spoken.clause.objects for name in phrase.entities}

    def rewrite(literal: Predicate) -> Predicate:
        turned = literal.name == ROLES[spoken.clause.action] and literal.args[0] in names
        return Predicate(ROLES[action], literal.args) if turned else literal

    return rewrite


def _lift(frame: Frame) -> Iterator[Candidate]:
    """Only for a sentence that moves one thing and asks for nothing else: half a lift is no contrast of two orders."""
    if len(frame.spoken) != 1:
        return
    spoken = frame.spoken[0]
    clause, thing = spoken.clause, spoken.objects[0]
    if clause.action in words.PLACING and len(clause.objects) == 1 and clause.target and thing is not None:
        names = {literal.args[0] for literal in frame.task.goal.all_of if literal.args[0] in clause.objects[0].entities}
        if len(names) == 1:
            text = f"pick up {frame.sentence.text(frame.sentence.with_article(thing))}"
            yield Candidate(text, (frame.task.instruction, text), (Predicate("lifted", (names.pop(),)),))


def _first(frame: Frame) -> Iterator[Candidate]:
    """The first of several orders alone."""
    if len(frame.spoken) < 2 or frame.spoken[1].verb is None:
        return
    end = frame.spoken[1].verb.start
    text = " ".join(frame.sentence.words[: end - 1])  # the word between is "and"
    names = {name for phrase in frame.spoken[0].clause.objects for name in phrase.entities}
    kept = [literal for literal in frame.goal(lambda literal: literal) if literal.args[0] in names]
    role = ROLES.get(frame.spoken[0].clause.action)
    opened = [Predicate(role, (name,)) for name in sorted(names)] if role else kept
    yield Candidate(text, (frame.task.instruction, text), tuple(opened))


def _other(other: Task, frame: Frame) -> Iterator[Candidate]:
    """Another task's text when it is one order with another verb about things that this sentence speaks of."""
    parse = parser.parse(other.instruction, frame.scene)
    if len(parse.clauses) != 1:
        return
    clause = parse.clauses[0]
    phrases = [phrase for phrase in (*clause.objects, clause.target) if phrase]
    spoken_of = {whole(name, frame.scene).name for phrase in phrases for name in phrase.entities}
    own = {spoken.clause.action for spoken in frame.spoken}
    if clause.action not in own and spoken_of <= frame.mentioned():
        yield Candidate(other.instruction, (frame.task.instruction, other.instruction), other.goal.all_of)

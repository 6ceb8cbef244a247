"""What a proposed contrast says: its parse, the goal that it asks for, the slots in which it differs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gym_grounding.conditions._text import replacements
from gym_grounding.types import Goal, Predicate, SceneFacts, Task
from gym_grounding.variants.language import meaning, parser
from gym_grounding.variants.types import Layout, Parse, Phrase, Proposal
from gym_grounding.variants.validator import _places, collision


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that a proposal breaks.

    Attributes:
        code: reason code.
        note: what is wrong, with names and numbers.
        forgiven: whether the proposal may still be registered as permissive.
    """

    code: str
    note: str
    forgiven: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """A proposal as the validator understands it.

    Attributes:
        proposal: as given.
        task: its task.
        scene: the task's scene.
        layout: where things stand.
        canonical: parse of the canonical instruction.
        parse: parse of the proposed one.
        goal: what the proposed instruction asks for, with the boxes that it adds; None when that is not certain or no
            predicate says it.
        differing: slots in which the two instructions differ.
    """

    proposal: Proposal
    task: Task
    scene: SceneFacts
    layout: Layout
    canonical: Parse
    parse: Parse
    goal: Goal | None
    differing: frozenset[str]


def read(proposal: Proposal, task: Task, scene: SceneFacts, layout: Layout) -> Reading:
    """Read a proposed instruction beside the canonical one. Nothing that the proposal claims is used."""
    canonical, parse = parser.parse(task.instruction, scene), parser.parse(proposal.instruction, scene)
    literals = meaning.goal_of(parse, scene, layout.relations, layout.of)
    goal = None
    if literals is not None:
        asked = frozenset(literals) | _unasked(task, canonical, scene, layout)
        goal = Goal(tuple(asked), _places.added(asked, scene, layout))
    return Reading(proposal, task, scene, layout, canonical, parse, goal, meaning.differing_slots(canonical, parse))


def _unasked(task: Task, canonical: Parse, scene: SceneFacts, layout: Layout) -> frozenset[Predicate]:
    """Literals of the original goal for which its own instruction does not ask; another instruction keeps them."""
    asked = meaning.goal_of(canonical, scene, layout.relations, layout.of)
    return frozenset(task.goal.all_of) - frozenset(asked) if asked is not None else frozenset()


def changed(proposal: Proposal, task: Task) -> tuple[str, str]:
    """(old words, new words): as claimed where that gives the instruction, else what a comparison of words finds."""
    if proposal.changed is not None:
        old, new = proposal.changed
        if old.strip() and new.strip() and proposal.instruction in replacements(task.instruction, old, new):
            return proposal.changed
    difference = collision.changed(task.instruction, proposal.instruction)
    return difference["from"], difference["to"]


def phrases(parse: Parse) -> Iterator[Phrase]:
    """Every noun phrase of a sentence, with those that tell where a thing is."""
    for clause in parse.clauses:
        for phrase in (*clause.objects, clause.target):
            if phrase is not None:
                yield from _inner(phrase)


def _inner(phrase: Phrase) -> Iterator[Phrase]:
    if phrase.reference is not None:
        for inner in phrase.reference[1]:
            yield from _inner(inner)
    yield phrase


def uncertain(reading: Reading) -> Iterator[Finding]:
    """Why a sentence has no certain meaning in its scene, the plainest reason first."""
    parse, scene, layout = reading.parse, reading.scene, reading.layout
    if parse.negated:
        yield Finding("negated", "the sentence forbids, excepts or asks for the opposite")
    named = tuple(phrases(parse))
    for phrase in named:
        if not phrase.entities and phrase.noun not in parse.unresolved and phrase.text not in parse.unresolved:
            yield Finding("unknown_entity", f"{phrase.text!r} names nothing in the scene")
    for phrase in named:
        if len(phrase.entities) > 1 and phrase.text in parse.unresolved:
            yield Finding("ambiguous", f"{phrase.text!r} fits {', '.join(sorted(phrase.entities))}")
    if parse.unresolved:
        yield Finding("unresolved", f"leaves open what is meant by {', '.join(map(repr, parse.unresolved))}")
    for phrase in named:
        found = sorted(meaning.referents(phrase, scene, layout.relations, layout.of))
        if phrase.entities and not found:
            yield Finding("no_referent", f"{phrase.text!r} describes nothing that is so in all {layout.of} states")
        elif len(found) > 1 and phrase.reference is not None:
            yield Finding("ambiguous", f"{phrase.text!r} fits {', '.join(found)}")

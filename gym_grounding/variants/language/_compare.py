"""When two phrases, and two clauses, mean the same."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable

from gym_grounding.variants.language import lexicon, words
from gym_grounding.variants.types import Clause, Phrase


def key(clauses: tuple[Clause, ...]) -> Hashable:
    """What the clauses mean, without the words they are said in; equal where nothing at all differs."""
    return tuple(
        (
            clause.action,
            tuple(map(_meaning, clause.objects)),
            clause.relation,
            clause.target and _meaning(clause.target),
        )
        for clause in clauses
    )


def _meaning(phrase: Phrase) -> Hashable:
    place = _place(phrase)
    where = (place[0], tuple(map(_meaning, place[1]))) if place else None
    return (kind(phrase), is_part(phrase), phrase.entities, attributes(phrase), where)


def kind(phrase: Phrase) -> str:
    """What sort of thing a phrase names; a drawer counts as the cabinet that it is part of."""
    if phrase.reference is not None and phrase.reference[0] == "of":
        return kind(phrase.reference[1][0])
    return lexicon.PARTS.get(phrase.noun, phrase.noun)


def attributes(phrase: Phrase) -> tuple[str | None, str | None]:
    """The attribute of a phrase and that of what it is part of."""
    of = phrase.reference[1][0] if phrase.reference is not None and phrase.reference[0] == "of" else None
    return phrase.attribute, of.attribute if of is not None else None


def is_part(phrase: Phrase) -> bool:
    """Whether a phrase names a part, such as a drawer."""
    return phrase.noun in lexicon.PARTS


def same_reference(one: Phrase, other: Phrase) -> bool:
    """Whether two phrases say by the same neighbour where their things are; parts are told by their owner anyway."""
    first, second = _place(one), _place(other)
    if first is None or second is None:
        return first is second
    if first[0] != second[0] or len(first[1]) != len(second[1]):
        return False
    # "between x and y" and "between y and x" are one place.
    orders = (second[1], second[1][::-1]) if first[0] == "between" else (second[1],)
    return any(all(map(same_phrase, first[1], phrases)) for phrases in orders)


def _place(phrase: Phrase) -> tuple[str, tuple[Phrase, ...]] | None:
    return None if phrase.reference is None or phrase.reference[0] == "of" else phrase.reference


def same_phrase(one: Phrase, other: Phrase) -> bool:
    """Whether two phrases name the same thing with the same attributes."""
    return (
        kind(one) == kind(other)
        and is_part(one) == is_part(other)
        and one.entities == other.entities
        and attributes(one) == attributes(other)
        and same_reference(one, other)
    )


def same_action(one: str, other: str) -> bool:
    """Whether two classes of verb agree."""
    return one == other or other in words.AGREES.get(one, ()) or one in words.AGREES.get(other, ())


def same_clause(one: Clause, other: Clause) -> bool:
    """Whether two clauses ask for the same."""
    if not same_action(one.action, other.action) or one.relation != other.relation:
        return False
    if len(one.objects) != len(other.objects) or not all(map(same_phrase, one.objects, other.objects)):
        return False
    if one.target is None or other.target is None:
        return one.target is other.target
    return same_phrase(one.target, other.target)


def split(clauses: tuple[Clause, ...]) -> tuple[Clause, ...]:
    """The clauses with one object each: "put both x and y in z" asks for two things."""
    return tuple(dataclasses.replace(clause, objects=(phrase,)) for clause in clauses for phrase in clause.objects)

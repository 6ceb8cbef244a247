"""What parsed sentences mean, and in which slots two of them differ."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

from gym_grounding.types import SLOTS, Slots
from gym_grounding.variants.language import words
from gym_grounding.variants.language._compare import (
    attributes,
    is_part,
    kind,
    same_action,
    same_clause,
    same_reference,
    split,
)
from gym_grounding.variants.language._goals import goal_of, referents, side_region
from gym_grounding.variants.types import Clause, Parse, Phrase

__all__ = ["differing_slots", "explain", "goal_of", "referents", "same_meaning", "side_region", "slots_of"]

_AROUND = words.PLACES - {"on", "in"}
_MOST_ORDERS = 4
"""Clauses up to which every order of them is tried when two sentences are compared."""


def same_meaning(one: Parse, other: Parse) -> bool:
    """Whether two sentences ask for exactly the same, both certain.

    The order of clauses counts, except among clauses that only place things, none onto or beside another.
    """
    if one.unresolved or other.unresolved or one.negated != other.negated:
        return False
    first, second = split(one.clauses), split(other.clauses)
    return bool(first) and len(first) == len(second) and _same_clauses(first, second)


def _same_clauses(first: tuple[Clause, ...], second: tuple[Clause, ...]) -> bool:
    if all(map(same_clause, first, second)):
        return True
    if not _commute(first):
        return False
    left = list(second)
    for clause in first:
        match = next((candidate for candidate in left if same_clause(clause, candidate)), None)
        if match is None:
            return False
        left.remove(match)
    return True


def _commute(clauses: tuple[Clause, ...]) -> bool:
    moved = {name for clause in clauses for phrase in clause.objects for name in phrase.entities}
    targets = {name for clause in clauses if clause.target for name in clause.target.entities}
    once = Counter(name for clause in clauses for phrase in clause.objects for name in phrase.entities)
    placing = all(clause.action in words.PLACING for clause in clauses)
    return placing and not moved & targets and all(count == 1 for count in once.values())


def differing_slots(one: Parse, other: Parse) -> frozenset[str]:
    """Slots in which two sentences differ, by meaning.

    A thing told by another neighbour, or another number of things, differs in ``object`` (or ``target``). Where another
    noun is used, its attribute goes with it: "the red mug" for "the pudding" differs in ``object`` alone. A drawer
    counts as its cabinet with an attribute: "on top of the cabinet" and "in the top drawer of the cabinet" differ in
    ``relation`` and ``attribute``. A word that refers back ("close it") follows what it refers to and differs from
    nothing by itself. Negation is no slot, and what is left open differs from nothing.
    """
    first, second = split(one.clauses), split(other.clauses)
    if len(first) != len(second):
        return _of_lengths(first, second)
    return min((_aligned(first, row) for row in _orders(first, second)), key=lambda slots: (len(slots), sorted(slots)))


def _orders(first: tuple[Clause, ...], second: tuple[Clause, ...]) -> Iterator[tuple[Clause, ...]]:
    yield second
    if 1 < len(second) <= _MOST_ORDERS and _commute(first) and _commute(second):
        yield from itertools.permutations(second)


def _of_lengths(first: tuple[Clause, ...], second: tuple[Clause, ...]) -> frozenset[str]:
    """Slots of sentences with a different number of clauses: those of the pairs, and all that the rest fills."""
    shorter = min(len(first), len(second))
    slots = set(_aligned(first[:shorter], second[:shorter]))
    for clause in (*first[shorter:], *second[shorter:]):
        slots |= {"object"}
        same = any(same_action(clause.action, other.action) for other in (*first[:shorter], *second[:shorter]))
        slots |= set() if same else {"action"}
        targets = {kind(other.target) for other in (*first[:shorter], *second[:shorter]) if other.target}
        if clause.target is not None and kind(clause.target) not in targets:
            slots |= {"relation", "target"}
    return frozenset(slots)


def _aligned(first: tuple[Clause, ...], second: tuple[Clause, ...]) -> frozenset[str]:
    slots: set[str] = set()
    pairs: list[tuple[Phrase, Phrase, frozenset[str | None]]] = []
    for at, (one, other) in enumerate(zip(first, second, strict=True)):
        if not same_action(one.action, other.action):
            slots.add("action")
        if one.relation != other.relation:
            slots.add("relation")
        relations = frozenset({one.relation, other.relation})
        for slot, mine, yours in _phrases(one, other):
            back = _back(mine, first[:at])
            if back and back == _back(yours, second[:at]):
                continue
            slots |= _of_phrases(slot, mine, yours)
            if mine is not None and yours is not None and kind(mine) == kind(yours):
                pairs.append((mine, yours, relations))
    if _attributes_differ(pairs):
        slots.add("attribute")
    return frozenset(slots)


def _phrases(one: Clause, other: Clause) -> Iterator[tuple[str, Phrase | None, Phrase | None]]:
    yield "object", one.objects[0], other.objects[0]
    yield "target", one.target, other.target


def _back(phrase: Phrase | None, before: tuple[Clause, ...]) -> frozenset[tuple[int, str]]:
    """Places before a phrase where the very same one stands."""
    return frozenset(
        (at, slot)
        for at, clause in enumerate(before)
        for slot, earlier in (("object", clause.objects[0]), ("target", clause.target))
        if phrase is not None and earlier is not None and _named_alike(earlier, phrase)
    )


def _named_alike(one: Phrase, other: Phrase) -> bool:
    return (one.noun, one.attribute, one.reference) == (other.noun, other.attribute, other.reference) or (
        bool(one.entities) and one.entities == other.entities
    )


def _of_phrases(slot: str, one: Phrase | None, other: Phrase | None) -> set[str]:
    if one is None or other is None:
        return set() if one is other else {slot}
    if kind(one) != kind(other) or not same_reference(one, other):
        return {slot}
    if is_part(one) or is_part(other):
        return set()  # parts are told apart by their attribute
    apart = attributes(one) == attributes(other) and one.entities != other.entities
    alone = one.reference is None and other.reference is None and one.entities and other.entities
    number = alone and len(one.entities) != len(other.entities)
    return {slot} if apart or number else set()


def _attributes_differ(pairs: list[tuple[Phrase, Phrase, frozenset[str | None]]]) -> bool:
    """Whether attributes differ in pairs of phrases of one kind, given the relations of their clauses.

    Where the relation changes, the whole may stand for a part in two cases: beside or under it, since nothing is beside
    a drawer; and if the part is still told elsewhere: "put x on top of the cabinet and close the bottom drawer".
    """
    mine = {(kind(one), attributes(one)) for one, _, _ in pairs if any(attributes(one))}
    yours = {(kind(other), attributes(other)) for _, other, _ in pairs if any(attributes(other))}
    for one, other, relations in pairs:
        if attributes(one) == attributes(other):
            continue
        whole = is_part(one) != is_part(other) and len(relations) == 2
        if not whole or (mine != yours and not relations & _AROUND):
            return True
    return False


def explain(one: Parse, other: Parse) -> str:
    """A short sentence on how two parses differ, for notes of refusal."""
    for parse in (one, other):
        if parse.unresolved:
            return f"{parse.text!r} leaves open: {', '.join(map(repr, parse.unresolved))}"
    if one.negated != other.negated:
        return f"{(one if one.negated else other).text!r} is negated"
    slots = differing_slots(one, other)
    first, second = slots_of(one), slots_of(other)
    rows = [
        f"{slot}: {getattr(first, slot) or 'none'!r} against {getattr(second, slot) or 'none'!r}"
        for slot in SLOTS
        if slot in slots
    ]
    if rows:
        return "; ".join(rows)
    return "the meaning is the same" if same_meaning(one, other) else "the clauses differ in number, order or target"


def slots_of(parse: Parse) -> Slots:
    """The parts of a sentence in its own words; several of a slot are joined by `` + ``.

    A phrase that tells which thing is meant belongs to the object; ordinals, colours and sides are attributes. What is
    only named to be spoken of again, or spoken of again, is listed once, as the target.
    """
    targets = [clause.target for clause in parse.clauses if clause.target is not None]
    objects = [phrase for clause in parse.clauses for phrase in clause.objects]
    others = [phrase for phrase in objects if not any(_named_alike(phrase, target) for target in targets)]
    objects = others or objects
    return Slots(
        action=_joined([verb for clause in parse.clauses for verb in clause.verbs]),
        object=_joined([_without_attribute(phrase) for phrase in objects]),
        relation=_joined([clause.preposition for clause in parse.clauses if clause.relation is not None]),
        target=_joined([_without_attribute(target) for target in targets]),
        attribute=_joined([phrase.attribute for phrase in (*objects, *targets)]),
    )


def _joined(parts: list[str | None]) -> str | None:
    return " + ".join(part for part in parts if part) or None


def _without_attribute(phrase: Phrase) -> str:
    """The words of a phrase without a leading attribute."""
    for spelling in sorted(words.ATTRIBUTES.get(phrase.attribute or "", ()), key=len, reverse=True):
        if phrase.text.startswith(f"{spelling} "):
            return phrase.text[len(spelling) + 1 :]
    return phrase.text

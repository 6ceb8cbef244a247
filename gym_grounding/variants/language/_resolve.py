"""From orders as they stand to clauses: pronouns, gaps, adverbs, and "pick up x and place it"."""

from __future__ import annotations

import dataclasses

from gym_grounding.types import Entity, SceneFacts
from gym_grounding.variants.language import words
from gym_grounding.variants.language._lookup import carrier, carriers, default_relation, holders, look_up
from gym_grounding.variants.language._reading import Order, Thing, Where
from gym_grounding.variants.types import Clause, Phrase

_SEVERAL = frozenset({"them", "both", "both of them", "them both", "these", "those"})
_TAKING = words.LIFTING | {"remove"}
_STAY = frozenset({"leave", "leaving", "left"})
_ROLES = {"open": "open", "close": "close", "turn on": "turnon", "turn off": "turnoff"}


@dataclasses.dataclass(frozen=True, slots=True)
class Resolved:
    """The clauses of one reading, and what of them stays open."""

    clauses: tuple[Clause, ...]
    unresolved: tuple[str, ...]


def resolve(orders: tuple[Order, ...], scene: SceneFacts) -> Resolved:
    """The clauses that the orders come to in a scene, in the sequence in which they are to be done.

    A pronoun refers back to what was told before it; where that fails, to what is to be done before it ("put the bowl
    inside once the top drawer is open").
    """
    told = sorted(range(len(orders)), key=lambda at: orders[at].told)
    done = list(range(len(orders)))
    readings = [_in_sequence(orders, sequence, scene) for sequence in (told, done)]
    return min(readings, key=lambda reading: len(reading.unresolved))


def _in_sequence(orders: tuple[Order, ...], sequence: list[int], scene: SceneFacts) -> Resolved:
    resolver = _Resolver(scene)
    for at in sequence:
        resolver.add(orders[at])
    clauses = [clause for _, clause in sorted(zip(sequence, resolver.clauses, strict=True), key=lambda pair: pair[0])]
    merged = _merged(clauses)
    # "leave it on y" moves a thing that was just taken up; of a thing at rest it may say that it shall stay.
    stays = tuple(verb for clause in merged for verb in clause.verbs[:1] if verb in _STAY and clause.relation)
    return Resolved(merged, tuple(dict.fromkeys((*resolver.unresolved, *stays))))


def _merged(clauses: list[Clause]) -> tuple[Clause, ...]:
    """With "pick up x and place it on y" as one order: that it is taken up first is part of any placing."""
    merged: list[Clause] = []
    for clause in clauses:
        last = merged[-1] if merged else None
        lifted = last is not None and last.action in _TAKING and last.relation is None
        if last and lifted and clause.action in words.PLACING and last.objects == clause.objects:
            merged[-1] = dataclasses.replace(clause, verbs=last.verbs + clause.verbs)
        else:
            merged.append(clause)
    return tuple(merged)


class _Resolver:
    """Clauses so far; a pronoun refers to the last of them, and only where one thing alone fits."""

    def __init__(self, scene: SceneFacts) -> None:
        self.scene = scene
        self.clauses: list[Clause] = []
        self.unresolved: list[str] = []

    @property
    def _last(self) -> Clause | None:
        return self.clauses[-1] if self.clauses else None

    def add(self, order: Order) -> None:
        order = self._filled(order)
        objects = self._objects(order)
        relation, target = self._where(order.where, objects) if order.where else (None, None)
        preposition = order.where.words if order.where else None
        self.clauses.append(Clause(order.action, objects, relation, target, order.verbs, preposition))

    def _filled(self, order: Order) -> Order:
        """With the verb, or the verb and the place, of the order before where the sentence leaves them out."""
        if not order.gap:
            return order
        last = self._last
        if last is None or last.relation is None or last.action not in words.PLACING:
            self.unresolved.append(order.things[0].text)
            return dataclasses.replace(order, action="put")
        filled = dataclasses.replace(order, action=last.action)
        if order.gap == "verb":
            return filled
        return dataclasses.replace(filled, where=Where(last.relation, last.preposition, _SAME))

    def _objects(self, order: Order) -> tuple[Phrase, ...]:
        objects: list[Phrase] = []
        for thing in order.things:
            objects += self._pronoun(thing, order) if thing.sort == "pronoun" else [self._looked_up(thing)]
        return tuple(objects)

    def _looked_up(self, thing: Thing) -> Phrase:
        if thing.sort == "part" and not thing.attribute and not thing.owner and self._last:
            # "the drawer" is the one just spoken of.
            spoken = [phrase for phrase in _phrases(self._last) if phrase.noun == thing.noun]
            if len(spoken) == 1 and not thing.plural:
                return spoken[0]
        found = look_up(thing, self.scene)
        self.unresolved += found.unresolved
        return found.phrase

    def _open(self, word: str) -> Phrase:
        self.unresolved.append(word)
        return Phrase(word, word)

    def _pronoun(self, thing: Thing, order: Order) -> tuple[Phrase, ...]:
        last = self._last
        if last is None:
            return (self._open(thing.noun),)
        if thing.noun in _SEVERAL:
            several = len(last.objects) == 2 or _is_several(last.objects[0])
            return last.objects if several and last.target is None else (self._open(thing.noun),)
        chosen = self._one(last, order) if thing.noun == "it" else None
        return (chosen or self._open(thing.noun),)

    def _one(self, last: Clause, order: Order) -> Phrase | None:
        """What "it" is, as the thing of an order."""
        phrases = _phrases(last)
        role = _ROLES.get(order.action)
        if role is None:
            if order.told and order.action in words.LIFTING:
                return last.objects[0] if len(last.objects) == 1 else None
            movable = [phrase for phrase in phrases if phrase in last.objects or self._is(phrase, "on.subject")]
            return movable[0] if len(movable) == 1 else None
        able = [phrase for phrase in phrases if self._is(phrase, role)]
        if len(able) == 1:
            return able[0]
        # Nothing here can do it: the sentence then speaks of what it named last.
        return phrases[-1] if not able and len(last.objects) == 1 else None

    def _is(self, phrase: Phrase, role: str) -> bool:
        return any(role in self.scene.entities[name].supports for name in phrase.entities)

    def _where(self, where: Where, objects: tuple[Phrase, ...]) -> tuple[str | None, Phrase | None]:
        if where.target is _SAME:
            return where.relation, self._last.target if self._last else None
        if where.target is None:
            return where.relation, self._understood(where, objects)
        if where.target.sort == "pronoun":
            return where.relation, self._referred(where, where.target, objects)
        target = self._looked_up(where.target)
        if where.target.sort == "door":
            self.unresolved.append(target.text)  # nothing is put into a door
        if where.relation is not None:
            return where.relation, target
        relation = default_relation(self._entities(target), self.scene) if target.entities else None
        if relation is None:
            self.unresolved.append(target.text)
        return relation, target

    def _entities(self, phrase: Phrase) -> tuple[Entity, ...]:
        return tuple(self.scene.entities[name] for name in sorted(phrase.entities))

    def _candidates(self, objects: tuple[Phrase, ...]) -> list[Phrase]:
        before = self.clauses
        if before and before[-1].action in words.LIFTING and before[-1].objects == objects:
            before = before[:-1]  # "take the bowl and put it inside": inside of what was spoken of before the bowl
        return [phrase for phrase in _phrases(before[-1]) if phrase not in objects] if before else []

    def _referred(self, where: Where, pronoun: Thing, objects: tuple[Phrase, ...]) -> Phrase:
        """What "it" is, as the target of an order."""
        candidates = self._candidates(objects)
        if where.relation == "in" and len(candidates) > 1:
            candidates = [phrase for phrase in candidates if self._takes(phrase, "in")]
        return candidates[0] if pronoun.noun == "it" and len(candidates) == 1 else self._open(pronoun.noun)

    def _takes(self, phrase: Phrase, relation: str) -> bool:
        places = holders if relation == "in" else carriers
        return any(places(entity, self.scene) for entity in self._entities(phrase))

    def _understood(self, where: Where, objects: tuple[Phrase, ...]) -> Phrase:
        """The target of "inside" and "on top"."""
        candidates = self._candidates(objects)
        if where.relation == "in" and len(candidates) > 1:
            candidates = [phrase for phrase in candidates if self._takes(phrase, "in")]
        if len(candidates) != 1:
            return self._open(where.words or "")
        return self._topped(candidates[0]) if where.relation == "on" else candidates[0]

    def _topped(self, phrase: Phrase) -> Phrase:
        """A phrase for a drawer, meaning the top of what carries it: nothing rests on a drawer itself."""
        tops = {
            top.name
            for entity in self._entities(phrase)
            for top in carriers(carrier(entity, self.scene), self.scene)
            if entity.kind == "site"
        }
        return dataclasses.replace(phrase, entities=frozenset(tops)) if tops else phrase


_SAME = Thing("", "", sort="same")


def _is_several(phrase: Phrase) -> bool:
    return len(phrase.entities) > 1 and phrase.reference is None


def _phrases(clause: Clause) -> tuple[Phrase, ...]:
    """Phrases of a clause in the order of speaking, each once."""
    found = (*clause.objects, clause.target) if clause.target else clause.objects
    return tuple(dict.fromkeys(phrase for phrase in found if phrase is not None))

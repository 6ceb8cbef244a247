"""Grammar of single orders: imperatives, with the place behind or in front, and states of things."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable

from gym_grounding.variants.language import words
from gym_grounding.variants.language._grammar import Entries, Grammar, entries_of
from gym_grounding.variants.language._reading import Order, Spoken, Thing, Where

Orders = tuple[Order, ...]
Things = tuple[Thing, ...]
_GROUPS = {
    "PLACING": words.PLACING,
    "SETTING": frozenset({"put"}),
    "LIFTING": words.LIFTING,
    "SWITCHING": words.SWITCHING,
    "REMOVING": frozenset({"remove"}),
}
_ACROSS = "over|across the table|along the table"


def _many(pairs: Iterable[tuple[str, Hashable]]) -> Entries:
    found: dict[tuple[str, ...], tuple[Hashable, ...]] = {}
    for text, value in pairs:
        key = tuple(text.split())
        if value not in found.get(key, ()):
            found[key] = (*found.get(key, ()), value)
    return found


def add_orders(grammar: Grammar) -> None:
    """Add the rules ``order.base``, ``order.gerund`` and ``states``."""
    _add_words(grammar)
    _add_places(grammar)
    _add_imperatives(grammar)
    _add_carrying(grammar)
    _add_fronted(grammar)
    _add_states(grammar)


def _add_words(grammar: Grammar) -> None:
    for group, actions in _GROUPS.items():
        rows = [(action, verb) for action in words.VERBS if action in actions for verb in words.VERBS[action]]
        for form in ("base", "participle", "gerund"):
            joined, parted = [], []
            for action, verb in rows:
                bare = getattr(verb, form)
                whole = f"{bare} {verb.particle}".strip()
                if verb.joined or form == "participle":
                    joined.append((whole, Spoken(action, whole)))
                if verb.particle and verb.parted:
                    parted.append((bare, Spoken(action, whole, verb.particle)))
            grammar.entries(f"{group}.{form}", _many(joined))
            grammar.entries(f"{group}+.{form}", _many(parted))
    particles = {verb.particle for verbs in words.VERBS.values() for verb in verbs} - {""}
    lists = {
        "PARTICLE": particles, "MODAL": words.MODALS, "WISH": words.WISHES, "ENSURE": words.ENSURE, "ONCE": words.ONCE,
        "THEN": words.THEN, "REQUEST": words.REQUESTS, "REQUEST+": words.REQUESTS_GERUND, "POLITE": words.POLITE,
        "TRAILING": words.TRAILING,
    }  # fmt: skip
    for symbol, texts in lists.items():
        grammar.entries(symbol, entries_of({text: text for text in sorted(texts)}))
    relations = [(text, (name, text)) for name, texts in words.RELATIONS.items() for text in texts]
    grammar.entries("RELATION", _many((text, value) for text, value in relations if value[0] in words.PLACES))
    grammar.entries("LEAVING", _many((text, value) for text, value in relations if value[0] in words.LEAVING))
    grammar.entries("BARE", _many((text, (name, text)) for name, texts in words.BARE.items() for text in texts))
    grammar.entries("STATE", entries_of(dict(words.STATES)))


def _add_places(grammar: Grammar) -> None:
    @grammar.rule("where: relation=RELATION target=thing", "leaving: relation=LEAVING target=thing")
    def where(relation: tuple[str, str], target: Thing) -> Where:
        return Where(relation[0], relation[1], target)

    @grammar.rule("where: bare=BARE")
    def bare(bare: tuple[str, str]) -> Where:
        return Where(bare[0], bare[1])

    @grammar.rule("front: relation=RELATION target=thing")
    def front(relation: tuple[str, str], target: Thing) -> Where:
        return Where(relation[0], relation[1], target)


def _add_imperatives(grammar: Grammar) -> None:
    @grammar.rule(
        f"order@: verb=PLACING@ things=objects '{_ACROSS}'? where=where",
        "order@: verb=SETTING@ 'down' things=objects where=where",
        "order@: verb=SETTING@ things=objects 'down' where=where",
        f"order@: verb=PLACING@ things=objects '{_ACROSS}'? 'until it is|until it sits|so that it is' where=where",
        "order@: verb=REMOVING@ things=objects where=leaving",
        "order@: verb=LIFTING@ things=objects where=leaving",
        "order@: verb=PLACING@ things=objects where=leaving",
    )
    def place(verb: Spoken, things: Things, where: Where) -> Orders:
        return (Order(verb.action, (verb.words,), things, where),)

    @grammar.rule("order@: verb=REMOVING@ things=objects")
    def remove(verb: Spoken, things: Things) -> Orders:
        return (Order(verb.action, (verb.words,), things),)

    @grammar.rule("order@: verb=LIFTING@ things=objects", "order@: verb=SWITCHING@ things=objects")
    def act(verb: Spoken, things: Things) -> Orders:
        return (Order(verb.action, (verb.words,), things),)

    @grammar.rule(
        "order@: verb=LIFTING+@ things=objects particle=PARTICLE",
        "order@: verb=SWITCHING+@ things=objects particle=PARTICLE",
    )
    def act_parted(verb: Spoken, things: Things, particle: str) -> Orders | None:
        return (Order(verb.action, (verb.words,), things),) if particle == verb.particle else None

    @grammar.rule("order.base: verb='leave|make' things=objects state=STATE")
    def leave(verb: str, things: Things, state: str) -> Orders:
        return (Order(state, (verb,), things),)


def _add_carrying(grammar: Grammar) -> None:
    """Two things at once, and "take x off y and put it on z"."""
    company = "together with|along with|as well as"

    @grammar.rule(f"order@: verb=PLACING@ one=thing where=where '{company}' other=thing")
    def place_with(verb: Spoken, one: Thing, other: Thing, where: Where) -> Orders:
        return (Order(verb.action, (verb.words,), (one, other), where),)

    @grammar.rule("order@: lift=LIFTING@ thing=thing away=leaving THEN verb=PLACING@ 'it' 'down'? where=where")
    def carry_off(lift: Spoken, thing: Thing, away: Where, verb: Spoken, where: Where) -> Orders | None:
        if away.target is None or away.relation == "away from" or thing.sort != "noun":
            return None
        stands = {"off": "on", "out of": "in"}[away.relation or ""]
        thing = dataclasses.replace(
            thing, text=f"{thing.text} {away.words} {away.target.text}", place=(stands, (away.target,))
        )
        return (Order(lift.action, (lift.words,), (thing,)), Order(verb.action, (verb.words,), (thing,), where))


def _add_fronted(grammar: Grammar) -> None:
    """Orders that begin with a place."""

    @grammar.rule(
        "order.base: where=front REQUEST? verb=PLACING.base things=objects",
        "order.base: where=front REQUEST? verb=SETTING.base 'down' things=objects",
        "order.base: where=front REQUEST? verb=SETTING.base things=objects 'down'",
    )
    def fronted(where: Where, verb: Spoken, things: Things) -> Orders:
        return (Order(verb.action, (verb.words,), things, where),)

    @grammar.rule("order.base: 'on|in|at|from' owner=owner order=order.base")
    def fronted_owner(owner: Thing, order: Orders) -> Orders | None:
        things = order[0].things
        if len(order) != 1 or len(things) != 1 or things[0].sort != "part" or things[0].owner:
            return None
        part = dataclasses.replace(things[0], text=f"{things[0].text} of the {owner.text}", owner=owner)
        return (dataclasses.replace(order[0], things=(part,)),)

    @grammar.rule("order.base: place=place REQUEST? verb=LIFTING.base things=objects")
    def fronted_source(text: str, place: tuple[str, Things], verb: Spoken, things: Things) -> Orders | None:
        if len(things) != 1 or things[0].place or things[0].sort != "noun" or not text.startswith("from "):
            return None
        words_of_place = text.split(f" {verb.words} ")[0]
        thing = dataclasses.replace(things[0], text=f"{things[0].text} {words_of_place}", place=place)
        return (Order(verb.action, (verb.words,), (thing,)),)


def _add_states(grammar: Grammar) -> None:
    """States of a thing, as in "should be ...": each is a row of orders whose things are left out."""

    @grammar.rule(
        f"state: verb=PLACING.participle '{_ACROSS}'? where=where", "state: verb=SETTING.participle 'down' where=where"
    )
    def placed(verb: Spoken, where: Where) -> Orders:
        return (Order(verb.action, (verb.words,), (), where),)

    @grammar.rule("state: verb=SWITCHING.participle", "state: verb=LIFTING.participle")
    def acted(verb: Spoken) -> Orders:
        return (Order(verb.action, (verb.words,)),)

    @grammar.rule("state: state=STATE")
    def reached(text: str, state: str) -> Orders:
        return (Order(state, (text,)),)

    @grammar.rule("state: 'resting|sitting|located|lying|standing'? where=front")
    def located(text: str, where: Where) -> Orders:
        return (Order("put", ("be",), (), where),)

    @grammar.rule("states: one=state", "states: one=state THEN other=state")
    def states(one: Orders, other: Orders | None = None) -> Orders:
        return one + (other or ())

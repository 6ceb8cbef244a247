"""Grammar of statements that are orders: needs ("the bowl should be put on the stove") and clefts."""

from __future__ import annotations

import dataclasses

from gym_grounding.variants.language._grammar import Grammar
from gym_grounding.variants.language._orders import Orders, Things
from gym_grounding.variants.language._reading import Order, Spoken, Thing, Where

_GO = "go|end up|sit|rest|be sitting|be resting|be located|belong|be lying|be standing|come to rest|land"
_GOES = "goes|go|belongs|belong"
_BEFORE = "first|beforehand|before that"
_AFTER = "afterwards|after that|next|then"


def add_statements(grammar: Grammar) -> None:
    """Add the rule ``need``, and ``besides`` for "which you need to open first"."""
    _add_needs(grammar)
    _add_besides(grammar)
    _add_clefts(grammar)
    _add_gaps(grammar)


def of_things(things: Things, orders: Orders) -> Orders:
    """The orders with the things that they left out."""
    return tuple(dataclasses.replace(order, things=things) for order in orders)


def _add_needs(grammar: Grammar) -> None:
    @grammar.rule(
        "need: things=objects MODAL 'be|get' states=states",
        "need: WISH things=objects 'to be|to get|being'? states=states",
        "need: ENSURE things=objects 'is|are|gets|get|has been|have been' states=states",
        "need: things=objects 'gets|get' states=states",
    )
    def needed(things: Things, states: Orders) -> Orders:
        return of_things(things, states)

    @grammar.rule("need: things=objects MODAL 'both be|both get' states=states")
    def both_needed(things: Things, states: Orders) -> Orders | None:
        return of_things(things, states) if len(things) == 2 or things[0].plural else None

    @grammar.rule("order.base: 'have|get' things=objects states=states")
    def brought_about(things: Things, states: Orders) -> Orders | None:
        # "have the milk in the basket" says nothing of how it gets there.
        return None if any(order.verbs == ("be",) for order in states) else of_things(things, states)

    @grammar.rule(
        "need: target=thing MODAL verb='have|hold' things=objects relation=RELATION 'it'",
        "need: target=thing verb='needs|gets' things=objects relation=RELATION 'it'",
    )
    def holds(target: Thing, verb: str, things: Things, relation: tuple[str, str]) -> Orders:
        return (Order("put", (verb,), things, Where(relation[0], relation[1], target)),)

    @grammar.rule(
        f"need: things=objects MODAL verb='{_GO}' where=front",
        f"need: things=objects verb='{_GOES}' where=front",
        f"need: where=front verb='{_GOES}' things=objects",
        f"need: where=front MODAL verb='{_GO}' things=objects",
        f"need: WISH things=objects 'to' verb='{_GO}' where=front",
        "need: ENSURE things=objects verb='ends up|end up|goes|go|lands|sits' where=front",
        f"need: things=objects MODAL verb='{_GO}' where=inside",
    )
    def goes(things: Things, verb: str, where: Where) -> Orders:
        return (Order("put", (verb,), things, where),)

    @grammar.rule("inside: bare=BARE")
    def inside(bare: tuple[str, str]) -> Where:
        return Where(bare[0], bare[1])


def _add_besides(grammar: Grammar) -> None:
    @grammar.rule("clause: need=need 'which|that' order=besides", "clause: need=order.base 'which|that' order=besides")
    def besides(need: Orders, order: tuple[str, Order]) -> Orders | None:
        where = need[-1].where
        if where is None or where.target is None or where.target.sort == "pronoun":
            return None
        extra = of_things((where.target,), (order[1],))
        return extra + need if order[0] == "first" else need + extra

    @grammar.rule(
        f"besides: 'you' MODAL later='then'? verb=SWITCHING.base first='{_BEFORE}'? after='{_AFTER}'?",
        f"besides: MODAL later='then'? 'be' verb=SWITCHING.participle first='{_BEFORE}'? after='{_AFTER}'?",
    )
    def besides_which(
        verb: Spoken, first: str | None, later: str | None, after: str | None
    ) -> tuple[str, Order] | None:
        if bool(first) == bool(later or after):
            return None
        return ("first" if first else "later", Order(verb.action, (verb.words,)))


def _add_clefts(grammar: Grammar) -> None:
    @grammar.rule("location: where=front")
    def location(where: Where) -> Where:
        return where

    @grammar.rule("location: relation=top target=thing")
    def top_location(relation: str, target: Thing) -> Where:
        return Where(relation, "on top of", target)

    @grammar.rule(
        "location: DET? side='front of|area in front of|space in front of|area behind|space behind' target=thing"
    )
    def side_location(side: str, target: Thing) -> Where:
        return Where("behind" if side.endswith("behind") else "front", side, target)

    @grammar.rule("location: target=thing")
    def default_location(target: Thing) -> Where:
        return Where(None, None, target)

    @grammar.rule(
        f"need: where=location 'is where' things=objects verb='{_GOES}'",
        f"need: where=location 'is where' things=objects MODAL verb='{_GO}|be'",
    )
    def belongs(where: Where, things: Things, verb: str) -> Orders:
        return (Order("put", (verb,), things, where),)

    @grammar.rule(
        "need: where=location 'is where' things=objects MODAL 'be' verb=PLACING.participle",
        "need: where=location 'is where you' MODAL verb=PLACING.base things=objects",
        "need: where=location 'is where i want you to' verb=PLACING.base things=objects",
        "need: where=location 'is where to' verb=PLACING.base things=objects",
        "need: where=location 'is where' WISH things=objects 'to be'? verb=PLACING.participle",
    )
    def belongs_by(where: Where, things: Things, verb: Spoken) -> Orders:
        return (Order(verb.action, (verb.words,), things, where),)

    @grammar.rule(
        "need: where=location 'is where' WISH things=objects 'to be|to go|to end up'?",
        "need: 'the place for|the right place for|the spot for' things=objects 'is' where=location",
    )
    def wished(where: Where, things: Things) -> Orders:
        return (Order("put", ("be",), things, where),)

    @grammar.rule(
        "need: things=objects 'is what|are what|is the thing|are the things|is the one|are the ones' gap=gapped",
        "need: 'it is' things=objects 'that|which' gap=gapped",
    )
    def cleft(things: Things, gap: Orders) -> Orders:
        return of_things(things, gap)


def _add_gaps(grammar: Grammar) -> None:
    """Orders without their things, as after "the bowl is what ..."."""

    @grammar.rule(
        "gapped: 'that'? 'you' MODAL verb=PLACING.base where=where",
        "gapped: 'that'? 'i want you to|i need you to|to' verb=PLACING.base where=where",
    )
    def placing(verb: Spoken, where: Where) -> Orders:
        return (Order(verb.action, (verb.words,), (), where),)

    @grammar.rule(
        "gapped: 'that'? 'you' MODAL verb=SWITCHING.base",
        "gapped: 'that'? 'i want you to|i need you to|to' verb=SWITCHING.base",
    )
    def switching(verb: Spoken) -> Orders:
        return (Order(verb.action, (verb.words,)),)

    @grammar.rule(
        "gapped: 'that'? 'you' MODAL lift=LIFTING.base THEN verb=PLACING.base where=where",
        "gapped: 'that'? 'i want you to|i need you to|to' lift=LIFTING.base THEN verb=PLACING.base where=where",
    )
    def lifting(lift: Spoken, verb: Spoken, where: Where) -> Orders:
        return (Order(lift.action, (lift.words,)), Order(verb.action, (verb.words,), (), where))

    @grammar.rule("gapped: 'that'? MODAL 'be|get' states=states", "gapped: 'that'? WISH 'to be'? states=states")
    def states(states: Orders) -> Orders:
        return states

    @grammar.rule(f"gapped: 'that'? MODAL verb='{_GO}' where=front", f"gapped: 'that'? verb='{_GOES}' where=front")
    def going(verb: str, where: Where) -> Orders:
        return (Order("put", (verb,), (), where),)

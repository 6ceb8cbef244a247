"""Grammar of sentences: sequences, conditions, what is left out, requests."""

from __future__ import annotations

import dataclasses

from gym_grounding.variants.language._grammar import Grammar
from gym_grounding.variants.language._orders import Orders, Things
from gym_grounding.variants.language._reading import Order, Spoken, Thing, Where
from gym_grounding.variants.language._statements import of_things


def add_sentences(grammar: Grammar) -> None:
    """Add the rule ``sentence``: orders in the sequence in which they are to be done."""
    _add_sequences(grammar)
    _add_left_out(grammar)
    _add_conditions(grammar)
    _add_sentences(grammar)


def _add_sequences(grammar: Grammar) -> None:
    @grammar.rule(
        "clause: POLITE? REQUEST? POLITE? order=order.base", "clause: order=need", "gerunds: order=order.gerund"
    )
    def clause(order: Orders) -> Orders:
        return order

    @grammar.rule(
        "follow: THEN rest=chain",
        "follow: THEN rest=clause 'afterwards|after that|next'",
        "follow: THEN rest=gaps",
        "state_follow: THEN rest=state_gap",
        "gerund_follow: THEN rest=gerunds",
    )
    def follow(rest: Orders) -> Orders:
        return rest

    @grammar.rule(
        "chain: one=clause rest=follow?",
        "chain: 'first' one=clause rest=follow",
        "chain: one=clause 'first|beforehand' rest=follow",
        "chain: one=need rest=state_follow",
        "gaps: one=gap rest=follow?",
        "gerund_chain: one=gerunds rest=gerund_follow?",
    )
    def chain(one: Orders, rest: Orders | None) -> Orders:
        return one + (rest or ())


def _add_left_out(grammar: Grammar) -> None:
    """Clauses that leave out what the clause before said."""

    @grammar.rule("gap: things=objects where=where")
    def gap_place(things: Things, where: Where) -> Orders:
        return (Order("", (), things, where, gap="verb"),)

    @grammar.rule(
        "gap: things=objects 'as well|too|also'?",
        "gap: 'do the same with|do the same for|the same for|the same with' things=objects",
    )
    def gap_thing(things: Things) -> Orders | None:
        if any(thing.place for thing in things):
            return None
        return (Order("", (), things, gap="where"),)

    @grammar.rule("state_gap: things=objects states=states")
    def gap_state(things: Things, states: Orders) -> Orders | None:
        # "and the bowl on the plate" is the order before with other things, not a state of its own.
        return None if any(order.verbs == ("be",) for order in states) else of_things(things, states)


def _add_conditions(grammar: Grammar) -> None:
    @grammar.rule(
        "condition: things=objects 'is|are|has been|have been|gets' states=states",
        "condition: 'it is' states=states",
    )
    def condition(states: Orders, things: Things | None = None) -> Orders:
        return of_things(things or (Thing("it", "it", sort="pronoun"),), states)

    @grammar.rule(
        "condition: 'you have|you|having' verb=SWITCHING.participle things=objects",
        "condition: 'you have|you|having' verb=LIFTING.participle things=objects",
        "condition: 'you' verb=SWITCHING.base things=objects",
        "condition: 'you' verb=LIFTING.base things=objects",
    )
    def condition_done(verb: Spoken, things: Things) -> Orders:
        return (Order(verb.action, (verb.words,), things),)

    @grammar.rule(
        "condition: 'you have|you|having' verb=PLACING.participle things=objects where=where",
    )
    def condition_placed(verb: Spoken, things: Things, where: Where) -> Orders:
        return (Order(verb.action, (verb.words,), things, where),)

    @grammar.rule("condition: orders=gerund_chain")
    def condition_doing(orders: Orders) -> Orders:
        return orders


def _add_sentences(grammar: Grammar) -> None:
    @grammar.rule("body: orders=chain")
    def body(orders: Orders) -> Orders:
        return orders

    @grammar.rule(
        "body: ONCE before=condition 'then'? after=chain",
        "body: before=chain 'before' after=gerund_chain",
    )
    def as_told(before: Orders, after: Orders) -> Orders:
        return before + after

    @grammar.rule(
        "body: after=chain ONCE before=condition",
        "body: 'before' after=gerund_chain before=chain",
    )
    def told_later(before: Orders, after: Orders) -> Orders:
        return tuple(dataclasses.replace(order, told=1) for order in before) + after

    @grammar.rule(
        "sentence: POLITE? REQUEST? POLITE? orders=body TRAILING?",
        "sentence: POLITE? REQUEST+ POLITE? orders=gerund_chain TRAILING?",
    )
    def sentence(orders: Orders) -> Orders:
        return orders

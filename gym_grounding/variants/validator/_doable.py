"""Which part of a sentence can be done although the whole cannot."""

from __future__ import annotations

import re

from gym_grounding.variants.language import parser
from gym_grounding.variants.types import Clause
from gym_grounding.variants.validator._case import Case, Known, asks_for, single


def doable(case: Case, known: Known) -> tuple[Clause, ...]:
    """The orders of the proposed sentence that ask for something that the scene can show, one thing each."""
    return tuple(clause for clause in single(case.asked) if asks_for((clause,), case.scene, known.layout))


def words_of(clauses: tuple[Clause, ...], case: Case) -> str | None:
    """The words of the proposed sentence that give those orders; None where no stretch of it does.

    An order of its own is given whole. Of one order for two things of which one can be done, it is the end of the
    sentence from that thing on ("the butter in the basket"), or its beginning when the other thing follows.
    """
    whole = case.asked.clauses
    if not clauses:
        return None
    if len(whole) == 2:
        return _half(clauses[0], case)
    text, thing = case.asked.text, clauses[0].objects[0]
    found = re.search(rf"\b(?:(?:the|a|an) )?{re.escape(thing.text)}\b", text)
    if found is None:
        return None
    return text[found.start() :] if whole[0].objects[-1] == thing else text[: found.end()]


def lift(case: Case, known: Known) -> str | None:
    """The beginning "pick up x" of a sentence that then names an absent place; None where it has none."""
    text, _, rest = case.asked.text.partition(" and place it ")
    clauses = parser.parse(text, case.scene).clauses if rest else ()
    lifts = len(clauses) == 1 and clauses[0].action == "pick up"
    return text if lifts and asks_for(clauses, case.scene, known.layout) else None


def _half(clause: Clause, case: Case) -> str | None:
    """The half of a sentence of two orders that gives one of them."""
    text, first = case.asked.text, case.asked.clauses[0]
    for match in re.finditer(" and ", text):
        half = parser.parse(text[: match.start()], case.scene)
        if not half.unresolved and half.clauses == (first,):
            return text[: match.start()] if clause in single(half) else text[match.end() :]
    return None

"""Parser A: what a sentence says in a scene, by lexicon and patterns.

Precision goes before recall. The grammar reads whole sentences only, a word without a place in it is reported, and a
sentence with two different readings, or with a phrase that fits two things, counts as open.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from gym_grounding.types import SceneFacts
from gym_grounding.variants.language import lexicon, words
from gym_grounding.variants.language._compare import key, split
from gym_grounding.variants.language._grammar import Grammar
from gym_grounding.variants.language._orders import add_orders
from gym_grounding.variants.language._resolve import Resolved, resolve
from gym_grounding.variants.language._sentences import add_sentences
from gym_grounding.variants.language._statements import add_statements
from gym_grounding.variants.language._things import add_things, attributes
from gym_grounding.variants.types import Parse

MAX_WORDS = 60
"""Longer texts are no instructions and are not read."""
_TOKEN = re.compile(r"[a-z]+|'s\b|[^\sa-z]+")
_SHORT = (
    ("\N{RIGHT SINGLE QUOTATION MARK}", "'"), ("won't", "will not"), ("can't", "can not"), ("cannot", "can not"),
    ("n't", " not"), ("it's", "it is"), ("that's", "that is"), ("let's", "let us"), ("i'd", "i would"),
    ("i'm", "i am"), ("you'd", "you would"), ("you'll", "you will"), ("i've", "i have"), ("you've", "you have"),
    ("what's", "what is"), ("where's", "where is"), ("there's", "there is"),
)  # fmt: skip
_SURFACES = frozenset({"top", "surface", "side", "door", "inside", "center", "centre", *lexicon.PARTS})


def parse(text: str, scene: SceneFacts) -> Parse:
    """What a text says in a scene; never raises.

    Case, punctuation, short forms ("don't") and the possessive ("the stove's front") make no difference.
    """
    tokens = normal_form(text)
    if not tokens or len(tokens) > MAX_WORDS:
        return Parse(text, (), unresolved=(text,))
    rest = _without_negation(tokens)
    resolved = _read(rest, scene)
    return Parse(text, resolved.clauses, negated=rest != tokens, unresolved=resolved.unresolved)


def normal_form(text: str) -> tuple[str, ...]:
    """The words of a text: lower case, short forms written out, possessives written with "of", no punctuation."""
    text = text.lower()
    for short, full in _SHORT:
        text = text.replace(short, full)
    text = re.sub(r"[.,;:!?\"()\u201c\u201d]", " ", text)
    return _without_possessive(_TOKEN.findall(text))


def _without_possessive(tokens: Sequence[str]) -> tuple[str, ...]:
    """ "the cabinet 's middle drawer" as "the middle drawer of the cabinet"; an 's that fits nowhere stays."""
    spelled = {spelling for spelling in attributes() if " " not in spelling} | _SURFACES
    found = list(tokens)
    while "'s" in found:
        at = found.index("'s")
        end = at + 1
        while end < len(found) and found[end] in spelled:
            end += 1
        start = next((i for i in range(at - 1, -1, -1) if found[i] in words.DETERMINERS), max(at - 1, 0))
        if end == at + 1 or start == at:
            return tuple(found)
        owner, tail = found[start:at], found[at + 1 : end]
        found[start:end] = [*owner[: owner[0] in words.DETERMINERS], *tail, "of", *owner]
    return tuple(found)


def _without_negation(tokens: tuple[str, ...]) -> tuple[str, ...]:
    phrases = sorted((tuple(text.split()) for text in words.NEGATIONS), key=len, reverse=True)
    kept: list[str] = []
    at = 0
    while at < len(tokens):
        size = next((len(phrase) for phrase in phrases if tokens[at : at + len(phrase)] == phrase), 0)
        if size:
            # "should not" keeps its "should", so that the rest can still be read; "do not" goes as a whole.
            kept += [word for word in tokens[at : at + size] if word in ("should", "must", "shall", "is", "are")]
        else:
            kept.append(tokens[at])
        at += size or 1
    return tuple(kept)


def _read(tokens: tuple[str, ...], scene: SceneFacts) -> Resolved:
    if not tokens:
        return Resolved((), ())
    resolved = _readings(tokens, scene)
    if resolved is not None:
        return resolved
    known = _grammar().known
    strange = tuple(dict.fromkeys(word for word in tokens if word not in known))
    rest = tuple(word for word in tokens if word in known)
    resolved = _readings(rest, scene) if strange and rest else None
    if resolved is not None:
        return Resolved(resolved.clauses, strange + resolved.unresolved)
    left_open = tuple(dict.fromkeys(word for word in tokens if word in words.OPEN))
    return Resolved((), strange or left_open or (" ".join(tokens),))


def _readings(tokens: tuple[str, ...], scene: SceneFacts) -> Resolved | None:
    """The one thing that the words say; open where they say several, None where they are no sentence."""
    found = [resolve(orders, scene) for orders in _grammar().grammar.readings("sentence", tokens)]
    certain = {key(split(reading.clauses)): reading for reading in found if not reading.unresolved}
    if len({frozenset(clause.action for clause in reading.clauses) for reading in certain.values()}) == 1:
        # "x on y and z on w": a place that tells nothing apart is rather where the thing shall go.
        certain = {meaning: reading for meaning, reading in certain.items() if not _says_too_much(reading)} or certain
    if len(certain) > 1:
        first = next(iter(certain.values()))
        return Resolved(first.clauses, (" ".join(tokens),))
    if certain:
        return next(iter(certain.values()))
    return min(found, key=lambda reading: len(reading.unresolved), default=None)


def _says_too_much(reading: Resolved) -> bool:
    """Whether some object's place is told although noun and attribute fit one thing alone."""
    return any(
        phrase.reference is not None and phrase.reference[0] != "of" and len(phrase.entities) == 1
        for clause in reading.clauses
        for phrase in clause.objects
    )


class _Loaded:
    """The grammar with all its rules, and every word that has a place in it."""

    def __init__(self) -> None:
        self.grammar = Grammar()
        add_things(self.grammar)
        add_orders(self.grammar)
        add_statements(self.grammar)
        add_sentences(self.grammar)
        self.known = lexicon.words() | self.grammar.literals()
        self.grammar.words_that("UNKNOWN", lambda word: word not in self.known)


@functools.cache
def _grammar() -> _Loaded:
    return _Loaded()

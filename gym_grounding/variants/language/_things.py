"""Grammar of things: noun phrases, their attributes, parts and places."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping

from gym_grounding.variants.language import lexicon, words
from gym_grounding.variants.language._grammar import Grammar, entries_of
from gym_grounding.variants.language._reading import Thing

_STANDS = (
    "that is|which is|that sits|which sits|that stands|which stands|that lies|which lies|located|sitting|standing|lying"
    "|resting|that rests|which rests|that is located|that is sitting|that is standing|that is lying|that is resting"
    "|which is located|which is sitting|which is resting|that you see|found"
)
_CENTER = (
    "table center|table centre|center of the table|centre of the table|middle of the table|table middle|center of table"
)
_ENDINGS = (("y", "ies"), ("s", "ses"), ("x", "xes"), ("ch", "ches"), ("sh", "shes"), ("fe", "ves"), ("f", "ves"))


def plural_of(noun: str) -> str:
    """The noun with its last word in the plural."""
    for ending, plural in _ENDINGS:
        if noun.endswith(ending):
            return noun[: -len(ending)] + plural
    return f"{noun}s"


def attributes() -> Mapping[str, str]:
    """Spelling -> attribute."""
    return {spelling: name for name, spellings in words.ATTRIBUTES.items() for spelling in spellings}


def plain_nouns() -> frozenset[str]:
    """Nouns that are heads by themselves: without those that begin with an attribute, and without parts."""
    canonical = {category.names[0] for category in lexicon.CATEGORIES.values()}
    spellings = attributes()
    plain = set()
    for noun in lexicon.nouns():
        begins = any(noun.startswith(f"{spelling} ") for spelling in spellings)
        if (noun in canonical or noun in lexicon.KINDS or not begins) and noun not in {*lexicon.PARTS, "door"}:
            plain.add(noun)
    return frozenset(plain)


def _nouns(singular: frozenset[str] | set[str]) -> dict[tuple[str, ...], tuple[Hashable, ...]]:
    """Spellings -> (singular, whether plural); a spelling may be both."""
    found: dict[tuple[str, ...], tuple[Hashable, ...]] = {}
    for noun in sorted(singular):
        for spelling, plural in ((noun, False), (plural_of(noun), True)):
            if not (plural and spelling in singular):
                found[tuple(spelling.split())] = (*found.get(tuple(spelling.split()), ()), (noun, plural))
    return found


def add_things(grammar: Grammar) -> None:
    """Add the rules of things: ``thing`` (no place), ``described`` (with a place), ``objects`` (one or two)."""
    nouns = plain_nouns()
    grammar.entries("NOUN", _nouns(nouns))
    grammar.entries("PART", _nouns(set(lexicon.PARTS)))
    grammar.entries("PACKAGING", entries_of({noun: noun for noun in lexicon.PACKAGING}))
    grammar.entries("ATTRIBUTE", entries_of(dict(attributes())))
    grammar.entries("DET", entries_of({word: word for word in words.DETERMINERS}))
    grammar.entries("PRONOUN", entries_of({word: word for word in words.PRONOUNS}))
    grammar.entries("OPEN", entries_of({word: word for word in words.OPEN - words.PRONOUNS}))
    classes = {text: name for name, texts in words.RELATIONS.items() for text in texts}
    standing = {text: name for text, name in classes.items() if name in words.PLACES and not _moves(text)}
    grammar.entries("STANDING", entries_of(standing))
    grammar.entries("BETWEEN", entries_of({text: text for text in words.RELATIONS["between"]}))
    _add_cores(grammar, nouns)
    _add_parts(grammar)
    _add_places(grammar)
    _add_objects(grammar)


def _moves(text: str) -> bool:
    """Whether a preposition says where to instead of where."""
    return text.startswith(("onto", "into", "upon", "to the top")) or text in ("on to", "in to")


def _add_cores(grammar: Grammar, nouns: frozenset[str]) -> None:
    @grammar.rule("attributes: first=ATTRIBUTE second=ATTRIBUTE?")
    def adjectives(first: str, second: str | None) -> str:
        return f"{first} {second}" if second else first

    @grammar.rule("core: attribute=attributes? noun=NOUN", "core: noun=NOUN 'that is|which is' attribute=attributes")
    def noun(text: str, noun: tuple[str, bool], attribute: str | None) -> Thing | None:
        # "orange juice" is a noun, not juice that is orange.
        if attribute and f"{attribute} {noun[0]}" in nouns:
            return None
        return Thing(text, noun[0], attribute, plural=noun[1])

    @grammar.rule(
        "core: attribute=attributes? packaging=PACKAGING 'of' noun=NOUN",
        "core: attribute=attributes? noun=NOUN packaging=PACKAGING",
    )
    def packed(text: str, noun: tuple[str, bool], packaging: str, attribute: str | None) -> Thing | None:
        joined = f"{noun[0]} {packaging}"
        if noun[1] or noun[0] in lexicon.PACKAGING or (joined in nouns and text.endswith(joined)):
            return None
        return Thing(text, noun[0], attribute, packaging=packaging)

    @grammar.rule("core: attribute=attributes? unknown=unknown")
    def unknown(text: str, unknown: str, attribute: str | None) -> Thing:
        return Thing(text, unknown, attribute, sort="unknown")

    @grammar.rule("unknown: UNKNOWN UNKNOWN?")
    def unknown_words(text: str) -> str:
        return text

    @grammar.rule("core: noun=NOUN 'on|to' 'the' side=ATTRIBUTE")
    def beside(text: str, noun: tuple[str, bool], side: str) -> Thing | None:
        return Thing(text, noun[0], side, noun[1]) if side in ("left", "right") else None


def _add_parts(grammar: Grammar) -> None:
    @grammar.rule(
        "core: attribute=attributes? part=PART", "core: attribute=attributes? part=PART 'of|in|on' owner=owner"
    )
    def part(text: str, part: tuple[str, bool], attribute: str | None, owner: Thing | None = None) -> Thing:
        return Thing(text, part[0], attribute, plural=part[1], owner=owner, sort="part")

    @grammar.rule(
        "core: part=PART 'in|at|on' DET attribute=ATTRIBUTE 'of' owner=owner",
        "core: part=PART 'in|at|on' DET attribute=ATTRIBUTE",
    )
    def part_at(text: str, part: tuple[str, bool], attribute: str, owner: Thing | None = None) -> Thing:
        return Thing(text, part[0], attribute, plural=part[1], owner=owner, sort="part")

    @grammar.rule("core: attribute=ATTRIBUTE? noun=NOUN part=PART")
    def compound(text: str, noun: tuple[str, bool], part: tuple[str, bool], attribute: str | None) -> Thing | None:
        if noun[1]:
            return None
        return Thing(text, part[0], attribute, plural=part[1], owner=Thing(noun[0], noun[0]), sort="part")

    @grammar.rule("core: 'door of' owner=owner", "core: noun=NOUN 'door'")
    def door(text: str, owner: Thing | None = None, noun: tuple[str, bool] | None = None) -> Thing:
        return Thing(text, "door", owner=owner or Thing(noun[0], noun[0]) if noun else owner, sort="door")

    @grammar.rule("owner: DET? attribute=attributes? noun=NOUN")
    def owner(text: str, noun: tuple[str, bool], attribute: str | None) -> Thing | None:
        return None if noun[1] else Thing(_without_article(text), noun[0], attribute)


def _add_places(grammar: Grammar) -> None:
    @grammar.rule("thing: DET? core=core")
    def thing(core: Thing) -> Thing:
        return core

    @grammar.rule("thing: word=PRONOUN")
    def pronoun(text: str, word: str) -> Thing:
        return Thing(text, word, plural=word != "it", sort="pronoun")

    @grammar.rule("thing: 'its door'")
    def its_door(text: str) -> Thing:
        return Thing(text, "it", sort="pronoun")

    @grammar.rule("thing: OPEN")
    def open_word(text: str) -> Thing:
        return Thing(text, text, sort="open")

    @grammar.rule(
        f"place: '{_STANDS}'? relation=STANDING thing=thing",
        "place: 'from' relation=STANDING thing=thing",
        "place: 'from' relation=top thing=thing",
    )
    def standing(relation: str, thing: Thing) -> tuple[str, tuple[Thing, ...]]:
        return relation, (thing,)

    @grammar.rule(f"place: '{_STANDS}|from'? BETWEEN one=thing 'and' other=thing")
    def between(one: Thing, other: Thing) -> tuple[str, tuple[Thing, ...]]:
        return "between", (one, other)

    @grammar.rule(f"place: '{_STANDS}'? 'from|in|at|on' DET? center='{_CENTER}'")
    def center(center: str) -> tuple[str, tuple[Thing, ...]]:
        return "center", (Thing("table", "table"),)

    @grammar.rule("top: DET? 'top of|top surface of'")
    def top() -> str:
        return "on"

    @grammar.rule("place: 'from' thing=thing")
    def source(thing: Thing) -> tuple[str, tuple[Thing, ...]]:
        return "from", (thing,)


def _add_objects(grammar: Grammar) -> None:
    @grammar.rule("described: thing=thing place=place?")
    def described(text: str, thing: Thing, place: tuple[str, tuple[Thing, ...]] | None) -> Thing | None:
        if place and thing.sort not in ("noun", "unknown"):
            return None
        return dataclasses.replace(thing, text=_without_article(text), place=place) if place else thing

    @grammar.rule("objects: one=described")
    def single(one: Thing) -> tuple[Thing, ...]:
        return (one,)

    joined = "|".join(words.AND)

    @grammar.rule(
        f"objects: 'both'? one=described '{joined}' other=described",
        f"objects: one=thing '{joined}' other=thing 'both'",
    )
    def pair(one: Thing, other: Thing) -> tuple[Thing, ...] | None:
        return None if "pronoun" in (one.sort, other.sort) else (one, other)

    @grammar.rule("objects: 'both|both the|both of the|the two|the pair of|two' core=core")
    def several(text: str, core: Thing) -> tuple[Thing, ...] | None:
        return (core,) if core.plural else None


def _without_article(text: str) -> str:
    first, _, rest = text.partition(" ")
    return rest if first in words.DETERMINERS else text

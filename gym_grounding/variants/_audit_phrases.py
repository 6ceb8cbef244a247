"""Names of a scene's things in a sentence, found before it is parsed, and the rephrasings that help the parser."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gym_grounding.types import SceneFacts
from gym_grounding.variants import _audit_words as words

_WHERE_PART = re.compile(r"\b(drawer|compartment) (?:at|in) the (top|middle|bottom|back|front|left|right) of\b")
"""A part told by where it is: "the drawer at the bottom of the cabinet"."""


@dataclass(frozen=True, slots=True)
class Mention:
    """Words that are one name.

    Attributes:
        words: the words, without article.
        entities: names of the scene's entities that they fit.
        several: whether they are a plural.
    """

    words: tuple[str, ...]
    entities: frozenset[str]
    several: bool = False


@dataclass(frozen=True, slots=True)
class Piece:
    """A word as the model gets it.

    Attributes:
        text: the word, or a plain noun in place of a name: what the model has seen a thousand times.
        mention: the name that it stands for, or None.
    """

    text: str
    mention: Mention | None = None


class Names:
    """The names of a scene's things."""

    def __init__(self, scene: SceneFacts) -> None:
        self.scene = scene
        self._entities: dict[tuple[str, ...], set[str]] = {}
        for entity in scene.entities.values():
            for name in entity.names:
                self._entities.setdefault(tuple(name.split()), set()).add(entity.name)
        self._longest = max((len(name) for name in self._entities), default=1) + 1

    def pieces(self, given: Sequence[str]) -> Iterator[Piece]:
        """The sentence with names in one piece. A single word counts as a name only after an article."""
        start = 0
        while start < len(given):
            mention = self._at(given, start)
            after_article = start > 0 and given[start - 1] in words.ARTICLES
            if mention is None or (len(mention.words) == 1 and not after_article):
                yield Piece(given[start], None)
                start += 1
            else:
                yield Piece(self._plain(mention), mention)
                start += len(mention.words)

    def whole_of(self, entity: str) -> str:
        """The thing that carries a part, or the thing itself."""
        category = self.scene.entities[entity].category
        return category if category in self.scene.entities else entity

    def _at(self, given: Sequence[str], start: int) -> Mention | None:
        """The longest name that starts there: "top drawer of the cabinet", "carton of milk", "white cup"."""
        for length in range(min(self._longest, len(given) - start), 0, -1):
            head = self._named(tuple(given[start : start + length]))
            if head is not None:
                return self._extended(head, given, start + length)
        return None

    def _extended(self, head: Mention, given: Sequence[str], end: int) -> Mention:
        """``head`` with what follows by "of": its whole or its content."""
        following = [*given[end : end + 2], "", ""]
        if following[0] != "of":
            return head
        article = int(following[1] == "the")
        other = self._at(given, end + 1 + article)
        if other is None:
            return head
        both = frozenset(
            name for name in head.entities if name in other.entities or self.whole_of(name) in other.entities
        )
        if not both:
            return head
        return Mention((*head.words, *given[end : end + 1 + article], *other.words), both, head.several)

    def _named(self, given: tuple[str, ...]) -> Mention | None:
        if given[0] == "and":
            return None
        plain = tuple(words.ORDINALS.get(word, word) for word in given[:-1]) + given[-1:]
        if found := self._entities.get(plain):
            return Mention(given, frozenset(found))
        if described := self._described(plain):
            return Mention(given, described)
        if plain[-1].endswith("s") and (one := self._named((*plain[:-1], plain[-1][:-1]))):
            return Mention(given, one.entities, several=True)
        return None

    def _described(self, given: tuple[str, ...]) -> frozenset[str]:
        """Things with that noun of which another name has just these attributes: "white cup" beside "white mug"."""
        attributes = set(given[:-1]) - {"and"}
        found = self._entities.get(given[-1:], set()) if attributes else set()
        return frozenset(name for name in found if attributes in self._attributes(name))

    def _attributes(self, entity: str) -> list[set[str]]:
        names = (name.split() for name in self.scene.entities[entity].names)
        return [set(name[:-1]) - {"and"} for name in names if len(name) > 1]

    def _plain(self, mention: Mention) -> str:
        kinds = {self.scene.entities[name].kind for name in mention.entities}
        noun = "drawer" if kinds == {"site"} else "cup" if kinds == {"object"} else "table"
        return f"{noun}s" if mention.several else noun


def rephrasings(text: str) -> Iterator[list[str]]:
    """Word lists that say what ``text`` says, the one that a parser reads best first.

    A small model takes lower-case orders for statements, and a verb behind a place in front for a noun; "you should"
    before the verb helps it.
    """
    given = _WHERE_PART.sub(r"\2 \1 of", text.replace("table center", "the center of the table")).split()
    marked: list[str] = []
    for place, word in enumerate(given):
        if _orders(given, place):
            marked += ["you", "should"]
        elif _starts_clause(given, place):
            marked.append(",")
        marked.append(word)
    yield marked
    if marked != given:
        yield given


def _orders(given: Sequence[str], place: int) -> bool:
    """Whether an order starts there without anything that leads up to it."""
    if given[place] not in words.BASES:
        return False
    following = given[place + 1 : place + 2]
    starts = bool(following) and (following[0] in words.ARTICLES | words.PRONOUNS | words.PARTICLES)
    before = given[place - 1] if place else ""
    return starts and before not in words.LEADING


def _starts_clause(given: Sequence[str], place: int) -> bool:
    """Whether an "and" joins two whole statements: "x should be here and y should be there"."""
    following = given[place + 1 :]
    end = following.index("and") if "and" in following else len(following)
    return (
        given[place] == "and"
        and bool(words.OBLIGING & set(following[:end]))
        and bool(words.OBLIGING & set(given[:place]))
    )

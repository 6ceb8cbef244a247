"""Nouns of things that a scene may lack: how a sentence spells them, who else uses them, what they could mean here."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gym_grounding.types import SceneFacts
from gym_grounding.variants.language import lexicon, parser, words
from gym_grounding.variants.types import Phrase

if TYPE_CHECKING:
    from gym_grounding.variants.definitions import Definitions

# A wrapping says nothing of what it holds: no carton of milk is called "the orange juice". "container" is no mere
# wrapping, since bowls, baskets and jars are containers themselves.
_WRAPPINGS = lexicon.PACKAGING - {"container"}


@dataclass(frozen=True, slots=True)
class Overlap:
    """A word for a noun that is also one for something in the scene.

    Attributes:
        noun: the noun that was asked for.
        shared: the common word.
        thing: name of the entity; None for the background of the arena.
        name: how the thing is called.
    """

    noun: str
    shared: str
    thing: str | None
    name: str

    def __str__(self) -> str:
        where = f"{self.thing}, also called {self.name!r}" if self.thing else f"the background's {self.name!r}"
        link = "" if self.shared in (self.noun, self.name) else f" (both may be called {self.shared!r})"
        return f"{self.noun!r} could mean {where}{link}"


def known(noun: str) -> bool:
    """Whether the lexicon knows what else the noun's thing is called; of other nouns nothing can be shown."""
    return noun in lexicon.KINDS or any(noun == category.names[0] for category in lexicon.CATEGORIES.values())


def overlap(noun: str, scene: SceneFacts, spelled: str | None = None) -> Overlap | None:
    """What a noun could mean in a scene; None when nothing there shares a name, synonym, kind or word with it.

    Args:
        noun: the lexicon's noun.
        scene: its entities with their parts, and its background.
        spelled: the noun in a sentence's words, such as ``ketchup bottle``; default: ``noun``.
    """
    parts = {*noun.split(), *(spelled or noun).split()}
    mine = {term for term in lexicon.kinds_of(noun) if term == noun or term not in _WRAPPINGS}
    for thing, name, kinds in _named(scene):
        # The words of the names count too: a ketchup bottle is half there where a wine bottle stands.
        shared = mine & kinds or parts & set(name.split())
        if shared:
            return Overlap(spelled or noun, min(shared, key=lambda term: (term != noun, term)), thing, name)
    return None


def _named(scene: SceneFacts) -> Iterator[tuple[str | None, str, frozenset[str]]]:
    """(entity, or None for the background; name; what the name stands for) of every name in the scene.

    Only the first name of a thing says what kind of thing it is: a ramekin is a cup, but a carton of milk, also called
    a box, is not therefore a container like a bowl.
    """
    for entity in scene.entities.values():
        for name in entity.names:
            yield entity.name, name, lexicon.kinds_of(name) if name == entity.names[0] else frozenset({name})
    for name in scene.background:
        yield None, name, lexicon.kinds_of(name)


def trained(suite: str, definitions: Definitions) -> frozenset[str]:
    """Nouns that the canonical instructions of a suite use, in the lexicon's spelling."""
    found: set[str] = set()
    for task in definitions.tasks_of(suite):
        for clause in parser.parse(task.instruction, definitions.scene_of(task.id)).clauses:
            for phrase in (*clause.objects, clause.target):
                found |= set(_nouns(phrase)) if phrase is not None else set()
    return frozenset(found)


def _nouns(phrase: Phrase) -> Iterator[str]:
    yield phrase.noun
    for other in phrase.reference[1] if phrase.reference else ():
        yield from _nouns(other)


def head(phrase: Phrase) -> str:
    """A phrase without the words that tell its place: ``black bowl`` of "black bowl next to the plate"."""
    tokens = phrase.text.split()
    for at in range(1, len(tokens)):
        if any(tuple(tokens[at : at + len(start)]) == start for start in _starts()):
            return " ".join(tokens[:at])
    return phrase.text


def spelled(phrase: Phrase) -> str:
    """The noun of a phrase in the sentence's own words: its head without a leading attribute."""
    found = head(phrase)
    for spelling in sorted(words.ATTRIBUTES.get(phrase.attribute or "", ()), key=len, reverse=True):
        if found.startswith(f"{spelling} "):
            return found.removeprefix(f"{spelling} ")
    return found


@functools.cache
def _starts() -> frozenset[tuple[str, ...]]:
    """What the words of a place begin with."""
    places = words.PLACES | {"between"}
    spellings = [text for relation in sorted(places) for text in words.RELATIONS[relation]]
    return frozenset(tuple(text.split()) for text in (*spellings, "from", "that", "which"))

"""Which things of a scene a sentence speaks of, by the names that the registry gives them."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gym_grounding.conditions import _text
from gym_grounding.conditions._base import Violation
from gym_grounding.types import Entity, SceneFacts


class Mentions(NamedTuple):
    """What a sentence speaks of.

    Attributes:
        things: names of things that it may mean; a noun that fits two things means both. A part stands for the whole
            that carries it (a drawer for its cabinet), and the work surface, background of every sentence, is left out.
        parts: names of parts, such as one drawer of several, that it names as such.
    """

    things: frozenset[str]
    parts: frozenset[str]


class _Identity:
    """A scene as a key: one and the same object, since a scene holds a mapping and has no hash."""

    def __init__(self, scene: SceneFacts) -> None:
        self.scene = scene

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and other.scene is self.scene

    def __hash__(self) -> int:
        return id(self.scene)


def mentions(text: str, scene: SceneFacts) -> Mentions:
    """Things and parts of the scene that the sentence speaks of."""
    return _mentions(text, _Identity(scene))


# Every text of a task is compared with the canonical one.
@functools.lru_cache(maxsize=256)
def _mentions(text: str, key: _Identity) -> Mentions:
    scene = key.scene
    found = _mentioned(text, _names(key))
    wholes = [_whole(entity, scene) for entity in found]
    return Mentions(
        frozenset(entity.name for entity in wholes if entity.kind != "surface"),
        frozenset(entity.name for entity in found if entity.kind == "site"),
    )


def added(text: str, canonical: str, scene: SceneFacts) -> Iterator[Violation]:
    """Things, and parts of things, that the text may mean and the canonical text does not speak of."""
    mine, original = mentions(text, scene), mentions(canonical, scene)
    for name in sorted(mine.things - original.things):
        message = f"may mean {name}, of which {canonical!r} does not speak; leave it out"
        yield Violation("instruction", "other_entity", message)
    for name in sorted(mine.parts - original.parts):
        message = f"means {name}, of which {canonical!r} does not speak; leave it out"
        yield Violation("instruction", "other_entity", message)


def lost(text: str, canonical: str, scene: SceneFacts) -> Iterator[Violation]:
    """Things of which the canonical text speaks and the text does not."""
    for name in sorted(mentions(canonical, scene).things - mentions(text, scene).things):
        names = ", ".join(scene.entities[name].names)
        yield Violation("instruction", "lost_entity", f"does not speak of {name}; its names: {names}")


@functools.lru_cache(maxsize=32)
def _names(key: _Identity) -> dict[str, list[Entity]]:
    """Name, without differences of case and spacing -> what it may stand for."""
    by_name: dict[str, list[Entity]] = {}
    for entity in key.scene.entities.values():
        for name in entity.names:
            by_name.setdefault(_text.fold(name), []).append(entity)
    return by_name


def _mentioned(text: str, by_name: Mapping[str, list[Entity]]) -> list[Entity]:
    words, found = _text.fold(text).split(), []
    longest = max((len(name.split()) for name in by_name), default=0)
    start = 0
    while start < len(words):
        match, end = _longest(words, start, longest, by_name)
        if words[end : end + 1] == ["of"]:
            content, after = _longest(words, end + 1, longest, by_name)
            shared = [entity for entity in match if entity in content]
            # A "can of soup" is none of the other cans.
            match, end = (shared, after) if shared else (match, end)
        found += match
        start = end
    return found


def _longest(
    words: list[str], start: int, longest: int, by_name: Mapping[str, list[Entity]]
) -> tuple[list[Entity], int]:
    """What the longest name at a word stands for (a "wine rack" is no "wine"), and the word after it."""
    for length in range(min(longest, len(words) - start), 0, -1):
        match = by_name.get(" ".join(words[start : start + length]))
        if match is not None:
            return match, start + length
    return [], start + 1


def _whole(entity: Entity, scene: SceneFacts) -> Entity:
    return scene.entities.get(entity.category, entity) if entity.kind == "site" else entity

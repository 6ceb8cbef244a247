"""Which things of a scene a sentence speaks of, by the names that the registry gives them."""

from __future__ import annotations

from typing import NamedTuple

from gym_grounding.conditions import _text
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


def mentions(text: str, scene: SceneFacts) -> Mentions:
    """Things and parts of the scene that the sentence speaks of."""
    found = _mentioned(text, scene)
    wholes = [_whole(entity, scene) for entity in found]
    return Mentions(
        frozenset(entity.name for entity in wholes if entity.kind != "surface"),
        frozenset(entity.name for entity in found if entity.kind == "site"),
    )


def _mentioned(text: str, scene: SceneFacts) -> list[Entity]:
    by_name: dict[str, list[Entity]] = {}
    for entity in scene.entities.values():
        for name in entity.names:
            by_name.setdefault(_text.fold(name), []).append(entity)
    words, found = _text.fold(text).split(), []
    longest = max((len(name.split()) for name in by_name), default=0)
    start = 0
    while start < len(words):
        # The longest name wins: a "wine rack" is no "wine".
        for length in range(min(longest, len(words) - start), 0, -1):
            match = by_name.get(" ".join(words[start : start + length]))
            if match is not None:
                found += match
                start += length - 1
                break
        start += 1
    return found


def _whole(entity: Entity, scene: SceneFacts) -> Entity:
    return scene.entities.get(entity.category, entity) if entity.kind == "site" else entity

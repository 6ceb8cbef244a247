"""A canonical instruction with the places of its parts, so that exactly the words of one part can be exchanged."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from gym_grounding.types import Entity, SceneFacts, Task
from gym_grounding.variants.language import lexicon, parser
from gym_grounding.variants.types import Clause, Parse, Phrase

PRONOUNS = ("it", "them")
_ARTICLES = ("the", "a", "an")


@dataclass(frozen=True, slots=True)
class Span:
    """Words ``start`` to ``end`` (exclusive) of a sentence."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Spoken:
    """A clause with the places of its words; None where the sentence leaves something out.

    Attributes:
        clause: the clause.
        verb: its first verb.
        objects: its objects, one for each phrase; a pronoun's place where it speaks of them again.
        relation: the preposition, or the adverb that stands for preposition and target.
        target: the target, or the pronoun that stands for it.
    """

    clause: Clause
    verb: Span | None
    objects: tuple[Span | None, ...]
    relation: Span | None
    target: Span | None


class Sentence:
    """A task's canonical instruction, taken apart.

    Args:
        task: the task.
        scene: its scene.

    Attributes:
        words: of the instruction.
        parse: its parse.
        spoken: its clauses with their places.
    """

    def __init__(self, task: Task, scene: SceneFacts) -> None:
        self.words = tuple(task.instruction.split())
        self.parse: Parse = parser.parse(task.instruction, scene)
        self.spoken = tuple(self._located())

    def text(self, span: Span) -> str:
        """The words of a place."""
        return " ".join(self.words[span.start : span.end])

    def exchanged(self, span: Span, new: str) -> tuple[str, tuple[str, str]]:
        """The instruction with other words at a place, and (old words, new words)."""
        words = (*self.words[: span.start], *new.split(), *self.words[span.end :])
        return " ".join(words), (self.text(span), new)

    def with_article(self, span: Span) -> Span:
        """The place with the article before it."""
        return Span(span.start - 1, span.end) if self._word(span.start - 1) in _ARTICLES else span

    def is_pronoun(self, span: Span | None) -> bool:
        """Whether a word stands there that only refers back."""
        return span is not None and self.text(span) in PRONOUNS

    def _word(self, index: int) -> str:
        return self.words[index] if 0 <= index < len(self.words) else ""

    def _located(self) -> Iterator[Spoken]:
        at = 0
        for clause in self.parse.clauses:
            verb = self._found(clause.verbs[0] if clause.verbs else "", at)
            at = verb.end if verb else at
            objects: list[Span | None] = []
            for phrase in clause.objects:
                span = self._phrase(phrase, at)
                objects.append(span)
                at = span.end if span else at
            relation = self._found(clause.preposition or "", at)
            at = relation.end if relation else at
            target = self._phrase(clause.target, at) if clause.target else None
            # An adverb such as "inside" stands for its target: what follows it is another clause.
            if target is not None and target.start > at + 1:
                target = None
            at = target.end if target else at
            yield Spoken(clause, verb, tuple(objects), relation, target)

    def _phrase(self, phrase: Phrase, start: int) -> Span | None:
        found = [self._found(text, start) for text in (phrase.text, *PRONOUNS)]
        return min((span for span in found if span), key=lambda span: span.start, default=None)

    def _found(self, text: str, start: int) -> Span | None:
        sought = tuple(text.split())
        for index in range(start, len(self.words) - len(sought) + 1):
            if sought and self.words[index : index + len(sought)] == sought:
                return Span(index, index + len(sought))
        return None


def whole(name: str, scene: SceneFacts) -> Entity:
    """The thing that a name means; for a part, such as a drawer, what carries it."""
    entity = scene.entities[name]
    return scene.entities.get(entity.category, entity) if entity.kind == "site" else entity


class Nouns:
    """How things of a scene are called in a suite.

    Args:
        scene: the scene.
        texts: instructions whose nouns are preferred, since a policy may know them.
    """

    def __init__(self, scene: SceneFacts, texts: tuple[str, ...]) -> None:
        self._scene = scene
        self._uses = Counter(noun for text in texts for noun in _nouns_in(text))

    def of(self, entity: Entity) -> str | None:
        """The noun of the texts for a thing, or else its first that fits nothing else here; None when all are shared.

        Things of one category may share theirs: two bowls are told apart by other words.
        """
        things = self._scene.of_kind("object", "fixture")
        others = [other for other in things if other.name != entity.name]
        strangers = [other for other in others if other.category != entity.category]
        own = _unshared(entity, others) or _unshared(entity, strangers)
        return max(own, key=lambda name: self._uses[name], default=None)  # the first of equals


def _unshared(entity: Entity, others: list[Entity]) -> list[str]:
    return [name for name in entity.names if not any(name in other.names for other in others)]


def _nouns_in(text: str) -> Iterator[str]:
    """The lexicon's nouns in a text, longest first at each place: "white mug" holds no "mug"."""
    known, words = _known(), text.split()
    at = 0
    while at < len(words):
        ends = (end for end in range(len(words), at, -1) if " ".join(words[at:end]) in known)
        end = next(ends, None)
        if end is not None:
            yield " ".join(words[at:end])
        at = end or at + 1


@functools.cache
def _known() -> frozenset[str]:
    return frozenset(name for category in lexicon.CATEGORIES.values() for name in category.names)

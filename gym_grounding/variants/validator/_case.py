"""What the rules about collisions look at: a proposal read beside the canonical instruction."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gym_grounding.types import Predicate, SceneFacts, Task
from gym_grounding.variants.language import meaning
from gym_grounding.variants.types import Clause, Layout, Parse, Phrase, Proposal

if TYPE_CHECKING:
    from gym_grounding.variants.definitions import Definitions
    from gym_grounding.variants.evidence import Evidence


class Refused(Exception):
    """A rule that a proposal breaks.

    Args:
        reason: code.
        note: the reason in words, with the names involved.
    """

    def __init__(self, reason: str, note: str) -> None:
        super().__init__(reason, note)
        self.reason, self.note = reason, note


@dataclass(frozen=True, slots=True)
class Case:
    """A proposal for a collision.

    Attributes:
        proposal: what is proposed.
        task: its task.
        scene: the task's scene.
        slot: the slot that is said to change.
        original: parse of the canonical instruction.
        asked: parse of the proposed one.
    """

    proposal: Proposal
    task: Task
    scene: SceneFacts
    slot: str
    original: Parse
    asked: Parse

    def pairs(self) -> Iterator[tuple[Clause, Clause]]:
        """Orders of the canonical sentence with those of the proposed one, one thing each."""
        return zip(single(self.original), single(self.asked), strict=False)

    def phrases(self) -> Iterator[tuple[str, Phrase, Phrase]]:
        """(slot, phrase, phrase) for what both sentences name in the same place, ``object`` before ``target``."""
        pairs = list(self.pairs())
        for one, other in pairs:
            yield "object", one.objects[0], other.objects[0]
        for one, other in pairs:
            if one.target is not None and other.target is not None:
                yield "target", one.target, other.target


@dataclass(frozen=True, slots=True)
class Known:
    """What is known beside the sentences: all tasks, what was measured, and the task's settled layout."""

    definitions: Definitions
    evidence: Evidence
    layout: Layout


@dataclass(frozen=True, slots=True)
class Absence:
    """Why what is asked for is not there.

    Attributes:
        kind: ``entity``, ``affordance``, ``impossible``, ``value`` or ``referent``.
        noun: the absent noun in the sentence's own words (``entity``).
        trained: whether a canonical instruction of the suite has that noun (``entity``).
        shown: what was measured.
        note: the reason in words where the fields above do not say it.
    """

    kind: str
    noun: str | None = None
    trained: bool | None = None
    shown: tuple[tuple[str, object], ...] = ()
    note: str = ""


def single(parse: Parse) -> tuple[Clause, ...]:
    """The orders of a sentence with one thing each: "put both x and y in z" is two."""
    return tuple(
        dataclasses.replace(clause, objects=(phrase,)) for clause in parse.clauses for phrase in clause.objects
    )


def asks_for(clauses: tuple[Clause, ...], scene: SceneFacts, layout: Layout) -> frozenset[Predicate]:
    """Literals that orders ask for together; none when one of them asks for nothing that the scene can show."""
    return frozenset(meaning.goal_of(Parse("", clauses), scene, layout.relations, layout.of) or ())

"""The frozen data that the parts of the builder hand to each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gym_grounding.types import Goal


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase of a sentence.

    Attributes:
        text: its words as in the sentence, article left out, such as ``middle drawer of the cabinet``.
        noun: the head noun in the lexicon's own spelling, such as ``drawer``; for an unknown noun its words.
        entities: names of the scene's entities that noun and attribute can mean; empty when none can.
        attribute: the word that tells one thing from another of its kind, such as ``middle`` or ``white``.
        reference: where the thing is said to be, as (relation, phrase or phrases), such as ``("next to", (ramekin,))``.
    """

    text: str
    noun: str
    entities: frozenset[str] = frozenset()
    attribute: str | None = None
    reference: tuple[str, tuple[Phrase, ...]] | None = None


@dataclass(frozen=True, slots=True)
class Clause:
    """One order of a sentence.

    Attributes:
        action: class of the verb: ``put``, ``push``, ``pick up``, ``open``, ``close``, ``turn on``, ``turn off`` (the
            pair "pick up x and place it on y" is one clause with action ``put``), or the words of an unknown verb.
        objects: what is acted on; two for "both the x and the y".
        relation: class of the relation to the target: ``on``, ``in``, ``front``, ``behind``, ``left``, ``right``,
            ``next to``, ``under``, ``off``, ``out of``, or None.
        target: the reference of the relation, or None.
        verbs: the verbs in the sentence's own words, such as ``("pick up", "place")``; no part of the meaning.
        preposition: the relation in the sentence's own words, such as ``on top of``; no part of the meaning.
    """

    action: str
    objects: tuple[Phrase, ...]
    relation: str | None = None
    target: Phrase | None = None
    verbs: tuple[str, ...] = field(default=(), compare=False)
    preposition: str | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Parse:
    """What a sentence says, by the lexicon alone.

    Attributes:
        text: the sentence.
        clauses: its orders, in the order in which they are to be done.
        negated: whether the sentence forbids, excepts or asks for the opposite.
        unresolved: words that no slot accounts for, and phrases that stay open ("it", "something", "the drawer" of
            three); a sentence with any of these has no certain meaning.
    """

    text: str
    clauses: tuple[Clause, ...]
    negated: bool = False
    unresolved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Proposal:
    """A sentence that wants to become a variant. Nothing it claims is trusted.

    Attributes:
        task: task id.
        condition: name of the condition.
        slot: the slot that it claims to change, or None.
        instruction: the sentence.
        changed: the replaced words and the new ones, or None.
        goal: the claimed goal, or None.
        kind: claimed type of a paraphrase, or empty.
        also: further types.
        source: name of the proposer, such as ``rules/1``.
    """

    task: str
    condition: str
    slot: str | None
    instruction: str
    changed: tuple[str, str] | None = None
    goal: Goal | None = None
    kind: str = ""
    also: tuple[str, ...] = ()
    source: str = ""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the validator says of a proposal.

    Attributes:
        proposal: what was judged.
        reason: code of the first rule that fails for every tier; empty when the proposal may be registered.
        note: the reason in words, with names and numbers; also that of a permissive tier.
        tier: ``strict`` or ``permissive`` for a contrast that passes, else None.
        row: further fields of the registry row, in the order in which they are written: ``changed``, ``goal``,
            ``regions``, ``tier``, ``tier_reason``, ``judged``, ``certificate``, ``absent``, ``audit``, ``note``.
        rank: order of preference among proposals that pass, smaller first.
    """

    proposal: Proposal
    reason: str = ""
    note: str = ""
    tier: str | None = None
    row: Mapping[str, object] = field(default_factory=dict)
    rank: tuple[int, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the proposal may be registered."""
        return not self.reason


@dataclass(frozen=True, slots=True)
class Footprint:
    """Where an entity stands after settling, averaged over the initial states [m], in the frame of its work surface.

    Attributes:
        x_min, y_min, x_max, y_max: horizontal extent of its collision geometry.
        bottom, top: height of its lowest and highest point above the work surface.
    """

    x_min: float
    y_min: float
    x_max: float
    y_max: float
    bottom: float
    top: float


@dataclass(frozen=True, slots=True)
class GoalCount:
    """In how many initial states a goal already holds.

    Attributes:
        raw: right after setting the initial state.
        settled: after settling.
        tolerant: after settling, thresholds read with tolerance (a drawer above -0.01 m is shut, a microwave above
            -0.1 rad is shut, a stove that is not on is off).
        of: number of initial states.
    """

    raw: int
    settled: int
    tolerant: int
    of: int


@dataclass(frozen=True, slots=True)
class Witness:
    """A state in which a goal holds, found by placing objects and letting them settle.

    Attributes:
        found: whether one was found.
        placement: how the objects were placed, in words; empty when none was found.
        state: initial state in which it was found, or None.
        original: whether the original goal holds there, or None.
        tried: placements that were tried.
    """

    found: bool
    placement: str = ""
    state: int | None = None
    original: bool | None = None
    tried: int = 0


@dataclass(frozen=True, slots=True)
class Impossible:
    """An attempt to put a thing where a collision says it cannot go.

    Attributes:
        shown: no placement was found.
        tried: placements that were tried.
        clearance: free height under (or free width inside) the reference [m].
        extent: smallest extent of the thing that would have to go there [m].
    """

    shown: bool
    tried: int
    clearance: float
    extent: float


@dataclass(frozen=True, slots=True)
class Layout:
    """A task's settled scene.

    Attributes:
        footprints: entity (objects, fixtures) -> footprint.
        relations: (relation, subject, reference) -> number of initial states in which it holds; relations ``on``,
            ``in``, ``next to``, ``under``, ``left``, ``right``, ``front``, ``behind``; for ``between`` the reference is
            two names joined by a blank, for ``center`` the work surface.
        robot: position of the robot's base in the same frame, (x, y) [m].
        of: number of initial states.
    """

    footprints: Mapping[str, Footprint]
    relations: Mapping[tuple[str, str, str], int]
    robot: tuple[float, float]
    of: int

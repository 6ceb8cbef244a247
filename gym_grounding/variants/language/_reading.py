"""What the grammar reads from a sentence, before anything is looked up in a scene."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Thing:
    """A noun phrase as it stands.

    Attributes:
        text: its words, article left out.
        noun: head noun in the singular; the pronoun, or the unknown word.
        attribute: attribute in the lexicon's spelling, or None.
        plural: whether several are meant.
        packaging: noun that stands with the head noun, such as ``box`` of "box of cream cheese".
        owner: what a part belongs to.
        place: where it is said to be, as (class of relation, things).
        sort: ``noun``, ``part`` (a drawer), ``door``, ``pronoun``, ``open`` ("something") or ``unknown``.
    """

    text: str
    noun: str
    attribute: str | None = None
    plural: bool = False
    packaging: str | None = None
    owner: Thing | None = None
    place: tuple[str, tuple[Thing, ...]] | None = None
    sort: str = "noun"


@dataclass(frozen=True, slots=True)
class Where:
    """A relation with its target; no target where an adverb such as "inside" stands for both."""

    relation: str | None
    words: str | None
    target: Thing | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """A clause as it stands. ``things`` is empty where the sentence leaves them out ("and placed on the plate").

    ``bare`` says that an adverb stands for the target; ``gap`` what is taken over from the order before: ``things``,
    ``verb`` or ``where``. ``told`` is 1 in a part of the sentence that is told after what it goes before.
    """

    action: str
    verbs: tuple[str, ...]
    things: tuple[Thing, ...] = ()
    where: Where | None = None
    gap: str = ""
    told: int = 0


@dataclass(frozen=True, slots=True)
class Spoken:
    """A verb as it stands."""

    action: str
    words: str
    particle: str = ""

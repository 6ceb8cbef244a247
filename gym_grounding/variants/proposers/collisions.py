"""Collisions by rule: the words of one slot exchanged for what the scene does not have, or cannot do.

Each honest candidate comes with a tempting one that only looks like a collision ("mug" where a ramekin stands, "next to
the plate", "turn on the bowl and place it on the plate"), so that what is wrong with these is on record. Nothing is
claimed to be right: the validator judges each sentence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gym_grounding.types import SceneFacts, Task
from gym_grounding.variants import _looks, _nouns
from gym_grounding.variants.language import lexicon, words
from gym_grounding.variants.proposers._base import ProposalRequest
from gym_grounding.variants.proposers._spans import Sentence, Span, Spoken
from gym_grounding.variants.types import Clause, Phrase, Proposal

if TYPE_CHECKING:
    from gym_grounding.variants.definitions import Definitions

SOURCE = "rules/1"

MOVABLE = (
    "moka pot", "frying pan", "book", "mug", "butter", "milk", "ketchup", "bowl", "alphabet soup", "cream cheese",
    "tomato sauce", "salad dressing", "bbq sauce", "chocolate pudding", "orange juice", "basket", "plate",
)  # fmt: skip
"""Nouns for what is moved, as they take turns from task to task."""
SUPPORTS = ("microwave", "tray", "book", "cutting board", "plate")
"""Nouns for what something is put on."""
HOLLOW = ("microwave", "mug", "basket", "frying pan", "bowl", "fridge")
"""Nouns for what something is put in."""
LANDMARKS = ("microwave", "book", "tray", "basket", "lamp", "toaster", "bowl")
"""Nouns for what something is put beside."""
CLOSABLE = ("microwave", "fridge", "dishwasher")
"""Nouns for what is opened or closed."""
SWITCHED = ("microwave", "lamp", "radio", "toaster")
"""Nouns for what is turned on or off."""
TEMPTING = ("mug", "ketchup bottle", "bowl", "oven", "tray", "bbq sauce")
"""Nouns that often fit a thing of the scene by half: a ramekin is a cup as well, a wine bottle a bottle."""
COLOURS = ("red", "green", "blue", "purple")
ORDINALS = ("fourth", "fifth", "sixth")
OTHER_VERBS: Mapping[str, tuple[str, ...]] = {
    "open": ("turn on", "close"),
    "close": ("turn on", "open"),
    "turn on": ("open", "turn off"),
    "turn off": ("open", "turn on"),
}
"""Verb for a joint -> a verb for another sort of joint, and the tempting one for its other state."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A canonical instruction taken apart.

    Attributes:
        task: the task.
        scene: its scene.
        sentence: the instruction with the places of its parts.
        definitions: the suites.
    """

    task: Task
    scene: SceneFacts
    sentence: Sentence
    definitions: Definitions

    @property
    def placing(self) -> list[Spoken]:
        """The clauses that put something somewhere."""
        return [spoken for spoken in self.sentence.spoken if spoken.clause.action in words.PLACING]

    @property
    def switching(self) -> list[Spoken]:
        """The clauses that move a joint."""
        return [spoken for spoken in self.sentence.spoken if spoken.clause.action in words.SWITCHING]

    def absent(self, nouns: Sequence[str]) -> list[str]:
        """Those of the nouns that mean nothing here."""
        return [noun for noun in nouns if _nouns.overlap(noun, self.scene) is None]

    def turn(self, values: Sequence[str]) -> Iterator[str]:
        """The value whose turn it is, so that tasks differ; none of no values."""
        yield from values[self.task.index % len(values) :][:1] if values else ()

    def tempting(self, nouns: Sequence[str]) -> Iterator[str]:
        """A noun that no thing here is called by although it fits one by half."""
        called = {name for entity in self.scene.entities.values() for name in entity.names}
        halves = (noun for noun in (*nouns, *TEMPTING) if noun not in called and self._half_there(noun))
        yield from self.turn(list(dict.fromkeys(halves)))

    def _half_there(self, noun: str) -> bool:
        head = noun if _nouns.known(noun) else noun.rpartition(" ")[0]
        return _nouns.overlap(head, self.scene, noun) is not None


def propose(request: ProposalRequest, definitions: Definitions) -> tuple[Proposal, ...]:
    """Every candidate of a cell, the honest ones first, without those to be avoided.

    Args:
        request: the cell.
        definitions: the suites, for the nouns that they use.
    """
    task, scene = request.task, request.scene
    frame = Frame(task, scene, Sentence(task, scene), definitions)
    found = dict.fromkeys(text for text in _CANDIDATES[request.slot or ""](frame) if text != task.instruction)
    return tuple(
        Proposal(task.id, "collision", request.slot, text, source=SOURCE) for text in found if text not in request.avoid
    )[: request.count]


def unavailable(task: Task, scene: SceneFacts, slot: str) -> tuple[str, str]:
    """Why nothing can be proposed for a cell: (reason code, words)."""
    if getattr(task.slots, slot) is None:
        code = "no_attribute_word" if slot == "attribute" else f"frame_has_no_{slot}"
        more = ", and a new one would add a part" if slot == "attribute" else ""
        return code, f"{task.instruction!r} has no {slot}{more}"
    if slot == "action":
        return "no_other_action", "any other verb with these things asks for the same place or for nothing checkable"
    return "nothing_absent", f"no noun is known that would be absent here as {slot}"


def _objects(frame: Frame) -> Iterator[str]:
    spoken = (frame.placing or frame.switching)[0]
    span, phrase = spoken.objects[0], spoken.clause.objects[0]
    if span is None:
        return
    nouns: Sequence[str] = MOVABLE
    if spoken.clause.action in words.SWITCHING:
        nouns = CLOSABLE if spoken.clause.action in ("open", "close") else SWITCHED
    absent = frame.absent(nouns)
    # A noun that the suite trains elsewhere asks for a known thing that is not here; without one, any will do.
    trained = _nouns.trained(frame.task.suite, frame.definitions)
    known = [noun for noun in absent if noun in trained]
    for noun in (*frame.turn(known or absent), *frame.tempting(nouns)):
        yield _exchanged(frame, _head(span, phrase), _like(phrase, noun))


def _head(span: Span, phrase: Phrase) -> Span:
    """The words of a thing without those that tell its place."""
    return Span(span.start, span.start + len(_nouns.head(phrase).split()))


def _like(phrase: Phrase, noun: str) -> str:
    """The noun in the number of a phrase."""
    several = len(phrase.entities) > 1 and phrase.reference is None
    return f"{noun}s" if several else noun


def _targets(frame: Frame) -> Iterator[str]:
    if not frame.placing:
        return
    spoken = frame.placing[-1]
    nouns = _places(spoken.clause, frame)
    for noun in (*frame.turn(frame.absent(nouns)), *frame.tempting(nouns)):
        yield _with_target(frame, spoken, f"the {noun}")


def _places(clause: Clause, frame: Frame) -> Sequence[str]:
    """Nouns that make sense after the relation of a clause."""
    closed = [one.clause.objects[0] for one in frame.switching if one.clause.action == "close"]
    if clause.target in closed:
        return CLOSABLE
    return {"on": SUPPORTS, "in": HOLLOW}.get(clause.relation or "", LANDMARKS)


def _with_target(frame: Frame, spoken: Spoken, new: str) -> str:
    """The instruction with another target; after an adverb such as "inside" it is added."""
    sentence = frame.sentence
    if spoken.target is not None:
        return _exchanged(frame, sentence.with_article(spoken.target), new)
    assert spoken.relation is not None  # what stands for the target is the relation
    return _exchanged(frame, spoken.relation, f"{sentence.text(spoken.relation)} {new}")


def _relations(frame: Frame) -> Iterator[str]:
    if not frame.placing:
        return
    spoken = frame.placing[-1]
    phrase, span = spoken.clause.objects[0], spoken.objects[0]
    if span is not None and phrase.reference is not None and phrase.reference[0] != "of":
        place = Span(_head(span, phrase).end, span.end)
        yield _exchanged(frame, place, f"under the {_neighbour(phrase, spoken.clause)}")
    else:
        yield from _related(frame, spoken, "under")
    yield from _related(frame, spoken, "next to")


def _neighbour(phrase: Phrase, clause: Clause) -> str:
    """A thing that nothing is under: the last one that tells the place, or the target where that is the table."""
    assert phrase.reference is not None  # of a phrase with a place
    assert clause.target is not None  # in a clause that puts something somewhere
    last = phrase.reference[1][-1]
    if last.noun in lexicon.SURFACES:
        return clause.target.text
    return last.reference[1][0].text if last.reference and last.reference[0] == "of" else last.text


def _related(frame: Frame, spoken: Spoken, relation: str) -> Iterator[str]:
    if spoken.relation is None:
        return
    yield _exchanged(frame, spoken.relation, relation if spoken.target else f"{relation} it")


def _attributes(frame: Frame) -> Iterator[str]:
    described = [
        (span, phrase)
        for spoken in frame.sentence.spoken
        for span, phrase in zip(
            (*spoken.objects, spoken.target), (*spoken.clause.objects, spoken.clause.target), strict=True
        )
        if span is not None and phrase is not None and phrase.attribute and not frame.sentence.is_pronoun(span)
    ]
    # Which part is meant is told by its place; what a thing is like by its colour.
    for span, phrase in sorted(described, key=lambda pair: pair[1].noun not in lexicon.PARTS)[:1]:
        at = Span(span.start, span.start + len(str(phrase.attribute).split()))
        for value in _values(phrase, frame):
            yield _exchanged(frame, at, value)


def _values(phrase: Phrase, frame: Frame) -> Iterable[str]:
    """A value that nothing has, then one that something has."""
    if phrase.noun in lexicon.PARTS:
        suffix = f" {phrase.noun}"
        parts = [one for one in frame.scene.of_kind("site") if any(name.endswith(suffix) for name in one.names)]
        absent = [value for value in ORDINALS if _looks.ORDINALS[value] > len(parts)]
        return (*absent[:1], "third")
    things = [entity for entity in frame.scene.of_kind("object") if phrase.noun in entity.names]
    shown = Counter(colour for entity in things for colour in sorted(_looks.COLOURS.get(entity.category, ())))
    absent = [colour for colour in COLOURS if colour not in shown]
    present = [colour for colour, _ in shown.most_common() if colour not in str(phrase.attribute).split()]
    return (*frame.turn(absent), *present[:1])


def _actions(frame: Frame) -> Iterator[str]:
    for spoken in frame.switching:
        for verb in OTHER_VERBS[spoken.clause.action] if spoken.verb is not None else ():
            yield _with_verb(frame, spoken, verb)
    for spoken in frame.placing:
        # "put x on y" has no verb of its own for the thing; "pick up x and place it on y" has one to exchange.
        if spoken.verb is not None and len(spoken.clause.verbs) > 1:
            yield _exchanged(frame, spoken.verb, "turn on")


def _with_verb(frame: Frame, spoken: Spoken, verb: str) -> str:
    """The instruction with another verb, whose particle stands after a pronoun."""
    assert spoken.verb is not None  # the caller looked
    thing = spoken.objects[0]
    if thing is not None and frame.sentence.is_pronoun(thing):
        base, _, particle = verb.partition(" ")
        words_of_it = f"{base} {frame.sentence.text(thing)} {particle}".strip()
        return _exchanged(frame, Span(spoken.verb.start, thing.end), words_of_it)
    return _exchanged(frame, spoken.verb, verb)


def _exchanged(frame: Frame, span: Span, new: str) -> str:
    return frame.sentence.exchanged(span, new)[0]


_CANDIDATES: Mapping[str, Callable[[Frame], Iterator[str]]] = {
    "action": _actions,
    "object": _objects,
    "relation": _relations,
    "target": _targets,
    "attribute": _attributes,
}

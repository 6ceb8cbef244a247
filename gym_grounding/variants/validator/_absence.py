"""The five ways in which a scene cannot give what a changed slot asks for, one rule per slot."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from gym_grounding.types import Entity, SceneFacts
from gym_grounding.variants import _looks, _nouns
from gym_grounding.variants.language import lexicon, meaning
from gym_grounding.variants.types import Phrase
from gym_grounding.variants.validator._case import Absence, Case, Known, Refused

_MEASURED = ("under", "in", "on")
"""Relations of which an attempt in the simulator can show that they are impossible."""


def _absent_thing(case: Case, known: Known) -> Absence:
    """Object and target: the noun means nothing that the scene or its background shows."""
    phrase = _new_phrase(case)
    if phrase.entities:
        raise Refused("present", f"{phrase.text!r} means {', '.join(sorted(phrase.entities))}")
    noun, spelled = phrase.noun, _nouns.spelled(phrase)
    shared = _nouns.overlap(noun, case.scene, spelled)
    if shared is not None:
        raise Refused("present" if shared.thing else "background", str(shared))
    if not _nouns.known(noun):
        raise Refused("unknown_noun", f"what else a {noun!r} may be called, or be a kind of, is not in the lexicon")
    return Absence("entity", spelled, noun in _nouns.trained(case.task.suite, known.definitions))


def _new_phrase(case: Case) -> Phrase:
    """The phrase whose noun was exchanged."""
    for slot, one, other in case.phrases():
        if slot == case.slot and (one.noun, one.entities) != (other.noun, other.entities):
            return other
    raise Refused("several_slots", f"no other {case.slot} takes the place of the canonical one")


def _absent_value(case: Case, known: Known) -> Absence:
    """Attribute: nothing of that kind has the new value."""
    one, other = _new_attribute(case)
    if one.attribute is None:
        raise Refused("no_attribute_word", f"{other.attribute!r} is inserted; {one.text!r} has no attribute to replace")
    if other.attribute is None:
        raise Refused("several_slots", f"{one.attribute!r} is left out, not replaced")
    if other.entities:
        raise Refused("present", f"{other.text!r} means {', '.join(sorted(other.entities))}")
    things = _of_a_kind(other, case.scene)
    if not things:
        raise Refused("several_slots", f"the scene has no {other.noun} at all")
    if other.attribute in _looks.ORDINALS:
        _check_number(other.attribute, other.noun, len(things))
    else:
        _check_colours(other.attribute, other.noun, things)
    value = f"the {other.attribute}" if other.attribute in _looks.ORDINALS else other.attribute
    return Absence("value", note=f"of {len(things)} {_plural(other.noun, things)} none is {value}")


def _check_number(value: str, noun: str, things: int) -> None:
    if _looks.ORDINALS[value] <= things:
        raise Refused("present", f"the scene has {things} of the kind {noun!r}; one may be called the {value}")


def _check_colours(value: str, noun: str, things: Sequence[Entity]) -> None:
    colours = set(value.split()) - {"and"}
    if not colours <= _looks.COLOUR_WORDS:
        raise Refused("unknown_value", f"which {noun} is {value} is not known")
    for thing in things:
        shown = _looks.COLOURS.get(thing.category)
        if shown is None:
            raise Refused("unknown_value", f"which colours {thing.name} shows is not known")
        if all(colour in shown or _looks.TAKEN_FOR.get(colour, frozenset()) & shown for colour in colours):
            raise Refused("present", f"{thing.name}, also called {noun!r}, is {' and '.join(sorted(shown))}")


def _plural(noun: str, things: Sequence[Entity]) -> str:
    return noun if len(things) == 1 else f"{noun}s"


def _new_attribute(case: Case) -> tuple[Phrase, Phrase]:
    for _, one, other in case.phrases():
        if one.attribute != other.attribute:
            return one, other
    raise Refused("several_slots", "no other attribute takes the place of the canonical one")


def _of_a_kind(phrase: Phrase, scene: SceneFacts) -> list[Entity]:
    """Everything that the phrase's noun can mean without its attribute; parts only of what the phrase says."""
    if phrase.noun not in lexicon.PARTS:
        return [entity for entity in scene.of_kind("object", "fixture") if phrase.noun in entity.names]
    wholes = phrase.reference[1][0].entities if phrase.reference else None
    parts = [site for site in scene.of_kind("site") if any(name.endswith(f" {phrase.noun}") for name in site.names)]
    return [site for site in parts if wholes is None or site.category in wholes]


def _unable(case: Case, known: Known) -> Absence:
    """Action: neither in this scene nor in life can it be done to such a thing."""
    order = next((other for one, other in case.pairs() if one.action != other.action), None)
    if order is None:
        raise Refused("several_slots", "no other action takes the place of the canonical one")
    action, phrase = order.action, order.objects[0]
    if action not in _looks.CAN_BE:
        raise Refused("possible", f"nothing about {phrase.text!r} keeps anyone from the action {action!r}")
    for name in sorted(phrase.entities):
        entity = case.scene.entities[name]
        whole = case.scene.entities.get(entity.category, entity) if entity.kind == "site" else entity
        if whole.category not in lexicon.CATEGORIES or whole.category in _looks.CAN_BE[action]:
            raise Refused("possible", f"things like {whole.name} take the action {action!r} in life")
    return Absence("affordance", note=f"no {phrase.noun} takes the action {action!r}")


def _out_of_place(case: Case, known: Known) -> Absence:
    """Relation: nothing stands where the new relation says, or nothing can be put there."""
    if any(one.relation != other.relation for one, other in case.pairs()):
        return _impossible(case, known)
    for slot, mine, yours in case.phrases():
        if slot == "object" and mine.reference != yours.reference:
            return _no_referent(yours, case.scene, known)
    raise Refused("several_slots", "no other relation takes the place of the canonical one")


def _no_referent(phrase: Phrase, scene: SceneFacts, known: Known) -> Absence:
    layout = known.layout
    assert phrase.reference is not None  # the caller found that it differs and is a place
    relation, places = phrase.reference
    for place in places:
        if len(place.entities) != 1:
            raise Refused("several_slots", f"{place.text!r} is no certain thing to be {relation}")
    # Asked as of one state: whatever fits in any state is among the answers.
    fitting = meaning.referents(phrase, scene, layout.relations, 1)
    if fitting:
        raise Refused("present", f"{phrase.text!r} describes {', '.join(sorted(fitting))} in some settled state")
    note = f"no {phrase.noun} is {relation} {' and '.join(f'the {place.text}' for place in places)} after settling"
    return Absence("referent", shown=(("in_states", 0), ("of", layout.of)), note=note)


def _impossible(case: Case, known: Known) -> Absence:
    attempts = []
    for subject, relation, reference in relation_questions(case):
        attempt = known.evidence.impossible(case.task, subject, relation, reference)
        if not attempt.shown:
            note = f"a place was found for {subject} {relation} {reference} (placement {attempt.tried})"
            raise Refused("possible", note)
        attempts.append(attempt)
    nearest = min(attempts, key=lambda attempt: attempt.extent - attempt.clearance)
    shown = (
        ("tried", sum(attempt.tried for attempt in attempts)),
        ("clearance", nearest.clearance),
        ("extent", nearest.extent),
    )
    return Absence("impossible", shown=shown)


def relation_questions(case: Case) -> tuple[tuple[str, str, str], ...]:
    """(subject, relation, reference) that the simulator must show to be impossible.

    Raises:
        Refused: the new relation can be had for a reason that needs no simulator, or was never measured.
    """
    found = []
    for one, other in case.pairs():
        if one.relation == other.relation:
            continue
        if other.relation is None or other.target is None or len(other.target.entities) != 1:
            raise Refused("several_slots", f"what the {case.slot} leads to is not one thing")
        reference = case.scene.entities[next(iter(other.target.entities))]
        _check_fixed(other.relation, reference, case.scene)
        found += [(subject, other.relation, reference.name) for subject in sorted(other.objects[0].entities)]
    return tuple(found)


def _check_fixed(relation: str, reference: Entity, scene: SceneFacts) -> None:
    whole = scene.entities.get(reference.category, reference) if reference.kind == "site" else reference
    if relation not in _MEASURED:
        raise Refused("possible", f"a thing can be put {relation} {reference.name}, whether or not a predicate says so")
    if whole.kind == "object":
        raise Refused("possible", f"{whole.name} can be moved, so a thing can come to be {relation} it")
    if relation == "under" and reference.joints and reference.kind == "site" and not _lowest(reference, scene):
        raise Refused("possible", f"{reference.name} slides out, and what is under it then is free")


def _lowest(drawer: Entity, scene: SceneFacts) -> bool:
    """Whether a drawer has no other one below it."""
    drawers = [site for site in scene.of_kind("site") if site.category == drawer.category and site.joints]
    return drawer.name.endswith("_bottom_region") or len(drawers) == 1


RULES: Mapping[str, Callable[[Case, Known], Absence]] = {
    "action": _unable,
    "object": _absent_thing,
    "relation": _out_of_place,
    "target": _absent_thing,
    "attribute": _absent_value,
}
"""Slot -> what must be absent; each rule returns how it is, or raises ``Refused``."""

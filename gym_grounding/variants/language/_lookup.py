"""What a noun phrase can mean in a scene."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from gym_grounding.types import Entity, SceneFacts
from gym_grounding.variants.language import lexicon
from gym_grounding.variants.language._reading import Thing
from gym_grounding.variants.types import Phrase


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A phrase and what of it stays open; nothing when it is certain, or certainly absent."""

    phrase: Phrase
    unresolved: tuple[str, ...] = ()


def look_up(thing: Thing, scene: SceneFacts) -> Found:
    """The phrase that a thing of a sentence is; pronouns are none of this function's business."""
    if thing.sort in ("open", "unknown", "pronoun"):
        phrase = Phrase(thing.text, thing.noun, attribute=thing.attribute)
        found = Found(phrase, (thing.noun,))
    elif thing.sort == "part":
        found = _part(thing, scene)
    elif thing.sort == "door":
        found = _door(thing, scene)
    else:
        found = _noun(thing, scene)
    found = _with_place(found, thing, scene)
    return _counted(found, thing)


def carrier(entity: Entity, scene: SceneFacts) -> Entity:
    """The entity that carries a site, or the entity itself."""
    return scene.entities.get(entity.category, entity) if entity.kind == "site" else entity


def parts(entity: Entity, scene: SceneFacts, role: str) -> tuple[Entity, ...]:
    """Sites of an entity that take an argument role, in file order."""
    return tuple(site for site in scene.of_kind("site") if site.category == entity.name and role in site.supports)


def holders(entity: Entity, scene: SceneFacts) -> tuple[Entity, ...]:
    """Where a thing comes to be that is put *in* the entity: itself, or its regions."""
    if "in.reference" in entity.supports:
        return (entity,)
    inside = parts(entity, scene, "in.reference")
    category = lexicon.CATEGORIES.get(entity.category)
    return inside or ((entity,) if category is not None and category.hollow else ())


def carriers(entity: Entity, scene: SceneFacts) -> tuple[Entity, ...]:
    """Where a thing comes to be that is put *on* the entity: itself, or its carrying regions."""
    return (entity,) if "on.reference" in entity.supports else parts(entity, scene, "on.reference")


def default_relation(entities: Iterable[Entity], scene: SceneFacts) -> str | None:
    """``on`` or ``in`` where an entity takes only one of them, as in "the rack is where the bottle belongs"."""
    found = {(bool(carriers(entity, scene)), bool(holders(entity, scene))) for entity in entities}
    return {(True, False): "on", (False, True): "in"}.get(next(iter(found))) if len(found) == 1 else None


def _named(scene: SceneFacts) -> tuple[Entity, ...]:
    return scene.of_kind("object", "fixture", "surface")


def _noun(thing: Thing, scene: SceneFacts) -> Found:
    callable_so = [entity for entity in _named(scene) if _fits(entity, thing)]
    entities = [entity for entity in callable_so if _has(entity, thing)]
    phrase = Phrase(
        thing.text, _canonical(thing, callable_so), frozenset(entity.name for entity in entities), thing.attribute
    )
    return Found(phrase, (thing.text,) if _is_loose(thing, callable_so, scene) else ())


def _fits(entity: Entity, thing: Thing) -> bool:
    if thing.packaging and thing.packaging not in entity.names:
        return False
    return thing.noun in entity.names


def _has(entity: Entity, thing: Thing) -> bool:
    if thing.attribute is None:
        return True
    return any(f"{thing.attribute} {noun}" in entity.names for noun in {thing.noun, entity.names[0]})


def _canonical(thing: Thing, entities: list[Entity]) -> str:
    """The scene's first noun for what is meant, or the lexicon's when the scene has nothing of that name."""
    first = {entity.names[0] for entity in entities}
    if not first:
        first = {
            category.names[0]
            for category in lexicon.CATEGORIES.values()
            if thing.noun in category.names and thing.noun not in lexicon.VAGUE | lexicon.LOOSE
        }
    return first.pop() if len(first) == 1 else thing.noun


def _is_loose(thing: Thing, entities: list[Entity], scene: SceneFacts) -> bool:
    """Whether the noun alone says too little: it fits anything, or also something in the background."""
    if thing.packaging:
        return not entities and thing.noun in lexicon.VAGUE
    if thing.noun in lexicon.VAGUE:
        return True
    own = any(thing.noun == entity.names[0] for entity in entities)
    background = lexicon.BACKGROUND.get(scene.problem, ())
    return bool(entities) and not own and (thing.noun in lexicon.LOOSE or thing.noun in background)


def _part(thing: Thing, scene: SceneFacts) -> Found:
    owner = look_up(thing.owner, scene) if thing.owner else None
    sites = [site for site in scene.of_kind("site") if any(name.endswith(f" {thing.noun}") for name in site.names)]
    if owner:
        sites = [site for site in sites if site.category in owner.phrase.entities]
    if thing.attribute:
        sites = [site for site in sites if f"{thing.attribute} {thing.noun}" in site.names]
    reference = ("of", (owner.phrase,)) if owner else None
    entities = frozenset(site.name for site in sites)
    phrase = Phrase(thing.text, thing.noun, entities, thing.attribute, reference)
    return Found(phrase, owner.unresolved if owner else ())


def _door(thing: Thing, scene: SceneFacts) -> Found:
    if thing.owner is None or thing.owner.noun not in lexicon.DOORS:
        return Found(Phrase(thing.text, "door"), (thing.text,))
    found = look_up(thing.owner, scene)
    return dataclasses.replace(found, phrase=dataclasses.replace(found.phrase, text=thing.text))


def _with_place(found: Found, thing: Thing, scene: SceneFacts) -> Found:
    if thing.place is None:
        return found
    relation, things = thing.place
    others = [look_up(other, scene) for other in things]
    unresolved = found.unresolved + tuple(word for other in others for word in other.unresolved)
    if relation == "from":
        named = {name for other in others for name in other.phrase.entities}
        default = default_relation((scene.entities[name] for name in sorted(named)), scene) if named else "on"
        if default is None:
            unresolved += (f"from {others[0].phrase.text}",)
        relation = default or relation
    phrase = dataclasses.replace(found.phrase, reference=(relation, tuple(other.phrase for other in others)))
    return Found(phrase, unresolved)


def _counted(found: Found, thing: Thing) -> Found:
    """With an open phrase where the number of things that fit does not agree with the noun's number."""
    number = len(found.phrase.entities)
    several = number > 1 and not thing.plural and thing.place is None
    if several or (thing.plural and number == 1) or (thing.plural and thing.place is not None):
        return Found(found.phrase, (*found.unresolved, thing.text))
    return found

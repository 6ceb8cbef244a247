"""Goals that sentences ask for."""

from __future__ import annotations

from collections.abc import Mapping

from gym_grounding.types import Entity, Predicate, SceneFacts
from gym_grounding.variants.language import words
from gym_grounding.variants.language._compare import split
from gym_grounding.variants.language._lookup import carriers, holders, parts
from gym_grounding.variants.types import Clause, Parse, Phrase

Relations = Mapping[tuple[str, str, str], int]
_JOINTS = {"open": "open", "close": "close", "turn on": "turnon", "turn off": "turnoff"}


def referents(phrase: Phrase, scene: SceneFacts, relations: Relations | None, of: int) -> frozenset[str]:
    """Entities that a phrase means once its place is looked at.

    Args:
        phrase: a phrase of a parse of that scene.
        scene: the scene.
        relations: ``Layout.relations`` of the task; None when nothing was measured.
        of: number of initial states in ``relations``.

    Returns:
        The phrase's entities when it says no place or nothing was measured. Else the entity for which the place holds
        in all states while it holds for no other in any; all for which it holds in some state when there are several
        (an ambiguous phrase); empty when it holds for none, or for one in some states only.
    """
    place = phrase.reference
    if place is None or place[0] == "of" or relations is None:
        return phrase.entities
    counts = {name: _count(name, place, scene, relations, of) for name in phrase.entities}
    holding = {name for name, count in counts.items() if count > 0}
    if len(holding) == 1 and counts[next(iter(holding))] < of:
        return frozenset()
    return frozenset(holding)


def _count(name: str, place: tuple[str, tuple[Phrase, ...]], scene: SceneFacts, relations: Relations, of: int) -> int:
    """In how many states an entity is at a place; a place told by a thing that is not certain is nowhere."""
    relation, phrases = place
    neighbours = []
    for phrase in phrases:
        found = referents(phrase, scene, relations, of)
        if len(found) != 1:
            return 0
        neighbours.append(_spellings(scene.entities[next(iter(found))], scene))
    if relation == "between":
        one, other = neighbours
        keys = [f"{a} {b}" for x, y in ((one, other), (other, one)) for a in x for b in y]
    else:
        keys = list(neighbours[0])
    return max((relations.get((relation, name, key), 0) for key in keys), default=0)


def _spellings(entity: Entity, scene: SceneFacts) -> tuple[str, ...]:
    """An entity and its sites: what is on a stove's plate is on the stove."""
    if entity.kind == "site":
        return (entity.name,)
    sites = (*parts(entity, scene, "on.reference"), *parts(entity, scene, "in.reference"))
    return (entity.name, *(site.name for site in sites))


def goal_of(
    parse: Parse, scene: SceneFacts, relations: Relations | None = None, of: int = 50
) -> tuple[Predicate, ...] | None:
    """Literals that a sentence asks for, sorted.

    "On" a fixture means its carrying region, "in" a thing its inside (LIBERO reads ``on`` for bowls), beside a thing
    the scene's own goal-grade zone of that side or else the added region ``<surface>_<entity>_<side>``; front is +x
    (away from the robot), behind -x, right +y, left -y. Opening what something is then put into is part of
    the way and no literal, as in LIBERO's own goals.

    Returns:
        None when the sentence is negated or open, names what the scene lacks, or asks for what no predicate says.
    """
    if parse.negated or parse.unresolved or not parse.clauses:
        return None
    clauses = split(parse.clauses)
    literals: list[Predicate] = []
    for clause in clauses:
        found = _literals(clause, scene, relations, of)
        if not found:
            return None
        literals += found
    opened = {
        literal
        for before, literal in enumerate(literals)
        if literal.name == "open"
        and any(later.name == "in" and later.args[1:] == literal.args for later in literals[before:])
    }
    return tuple(sorted(set(literals) - opened))


def _literals(clause: Clause, scene: SceneFacts, relations: Relations | None, of: int) -> tuple[Predicate, ...]:
    things = _things(clause.objects[0], scene, relations, of)
    if not things:
        return ()
    if clause.action in words.PLACING:
        target = clause.target and _one(clause.target, scene, relations, of)
        place = target and clause.relation and _place(clause.relation, target, scene)
        if not place:
            return ()
        name, argument = place
        return _each(name, f"{name}.subject", things, (argument,))
    if clause.relation is not None:
        return ()
    if clause.action in words.LIFTING:
        return _each("lifted", "lifted", things)
    name = _JOINTS.get(clause.action, "")
    return _each(name, name, things)


def _each(name: str, role: str, things: tuple[Entity, ...], rest: tuple[str, ...] = ()) -> tuple[Predicate, ...]:
    """One literal per thing; none at all unless every thing takes the role."""
    if not all(role in thing.supports for thing in things) or any(thing.name in rest for thing in things):
        return ()
    return tuple(Predicate(name, (thing.name, *rest)) for thing in things)


def _things(phrase: Phrase, scene: SceneFacts, relations: Relations | None, of: int) -> tuple[Entity, ...]:
    """What a clause acts on; several for a plural, none for a phrase that fits several things."""
    found = sorted(referents(phrase, scene, relations, of))
    told_apart = phrase.reference is None or phrase.reference[0] == "of"
    return tuple(scene.entities[name] for name in found) if told_apart or len(found) == 1 else ()


def _one(phrase: Phrase, scene: SceneFacts, relations: Relations | None, of: int) -> Entity | None:
    found = _things(phrase, scene, relations, of)
    return found[0] if len(found) == 1 else None


def _place(relation: str, target: Entity, scene: SceneFacts) -> tuple[str, str] | None:
    """Predicate and second argument for a relation to a target."""
    if relation == "on":
        places = carriers(target, scene)
        return ("on", places[0].name) if len(places) == 1 else None
    if relation == "in":
        places = holders(target, scene)
        if len(places) != 1:
            return None
        return ("in" if "in.reference" in places[0].supports else "on", places[0].name)
    if relation in words.SIDES and target.kind in ("object", "fixture"):
        region = side_region(target, relation, scene)
        return ("on", region) if region else None
    return None


def side_region(reference: Entity, side: str, scene: SceneFacts) -> str | None:
    """Region beside an entity: a goal-grade zone of the scene, or else the name of the region to be added.

    A scene's own zone belongs to an entity when it is named by its category or noun, as ``stove_front_region`` is, and
    nothing else of that category is there. None in a scene without a work surface.
    """
    surfaces = scene.of_kind("surface")
    if len(surfaces) != 1:
        return None
    surface = surfaces[0].name
    alone = sum(entity.category == reference.category for entity in scene.of_kind("object", "fixture")) == 1
    stems = {reference.category, *(name.replace(" ", "_") for name in reference.names)}
    native = {f"{surface}_{stem}_{side}_region" for stem in stems}
    for zone in scene.of_kind("zone"):
        if alone and zone.name in native and "on.reference" in zone.supports:
            return zone.name
    return f"{surface}_{reference.name}_{side}"

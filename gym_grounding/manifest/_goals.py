"""Whether a goal makes sense in a scene: by type, from the registry alone, never by evaluating it.

The simulator is no judge: it accepts some senseless literals (closing a rack is true, opening it false, for ever) and
fails on others only once the objects touch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gym_grounding.manifest._report import no_such
from gym_grounding.types import Entity, Goal, Predicate, Region, SceneFacts

ROLES = {
    "on": ("on.subject", "on.reference"),
    "in": ("in.subject", "in.reference"),
    "open": ("open",),
    "close": ("close",),
    "turnon": ("turnon",),
    "turnoff": ("turnoff",),
    "lifted": ("lifted",),
}
"""Predicate -> what each of its arguments must support."""
ROLE_KINDS = {
    "on.subject": ("object",),
    "in.subject": ("object",),
    "lifted": ("object",),
    "on.reference": ("object", "site", "zone"),
    "in.reference": ("site", "zone"),
    "open": ("fixture", "site"),
    "close": ("fixture", "site"),
    "turnon": ("fixture",),
    "turnoff": ("fixture",),
}
"""What kinds of entity can have a role at all."""
JOINTED = ("open", "close", "turnon", "turnoff")
"""Roles that read a joint; without one the simulator answers with a constant."""
GOAL_GRADE = 0.04
"""Smallest half side of a region that may be a goal [m]; smaller ones lose their own object while it settles."""
REACH = 1.5
"""Largest distance of a region's corner from its surface's centre, along x or y [m]."""


def entity_problems(entity: Entity) -> Iterator[str]:
    """What is wrong with the roles of an entity."""
    for role in sorted(entity.supports):
        kinds = ROLE_KINDS[role]
        if entity.kind not in kinds:
            yield f"a {entity.kind} cannot support {role!r}; only {', '.join(kinds)} can"
        elif role in JOINTED and not entity.joints:
            yield f"{role!r} needs a joint; this has none"


def goal_problems(goal: Goal, scene: SceneFacts) -> Iterator[str]:
    """What is wrong with a goal in a scene: predicates, arity, names, roles; and with the regions that it adds."""
    added = {region.name: region for region in goal.regions}
    for predicate in goal.all_of:
        yield from _predicate_problems(predicate, scene, added)


def region_problems(goal: Goal, scene: SceneFacts) -> Iterator[str]:
    """What is wrong with the regions that a goal adds to a scene."""
    surfaces = [entity.name for entity in scene.of_kind("surface")]
    used = {argument for predicate in goal.all_of for argument in predicate.args}
    seen: set[str] = set()
    for region in goal.regions:
        if region.surface not in surfaces:
            yield f"{region.name}: {no_such('surface', region.surface, surfaces)}"
        elif not region.name.startswith(f"{region.surface}_"):
            yield f"{region.name}: the name must start with its surface, {region.surface}_"
        if region.name in scene.entities or region.name in seen:
            yield f"{region.name}: the name is taken; choose another"
        if region.name not in used:
            yield f"{region.name}: no literal of the goal names it"
        seen.add(region.name)
        yield from _box_problems(region)


def joint_problems(joints: Mapping[str, float], scene: SceneFacts) -> Iterator[tuple[str, str]]:
    """What is wrong with presets of joints in a scene, each with the name that it is about."""
    movable = [entity.name for entity in scene.entities.values() if entity.joints == 1]
    for name in joints:
        entity = scene.entities.get(name)
        if entity is None:
            yield name, f"is not in the scene: {no_such('entity', name, scene.entities)}"
        elif entity.joints != 1:
            yield name, f"has {entity.joints} joints; preset things with exactly one: {', '.join(movable) or 'none'}"


def _box_problems(region: Region) -> Iterator[str]:
    x_min, y_min, x_max, y_max = region.ranges
    if not (x_min < x_max and y_min < y_max):
        yield f"{region.name}: ranges are [x_min, y_min, x_max, y_max]; a minimum is not below its maximum"
    elif min(x_max - x_min, y_max - y_min) < 2 * GOAL_GRADE - 1e-9:
        yield f"{region.name}: a side is under {2 * GOAL_GRADE} m, too small for a goal"
    if max(map(abs, region.ranges)) > REACH:
        yield f"{region.name}: a corner is over {REACH} m from the surface's centre"


def _predicate_problems(predicate: Predicate, scene: SceneFacts, added: dict[str, Region]) -> Iterator[str]:
    roles = ROLES.get(predicate.name)
    if roles is None:
        yield no_such("predicate", predicate.name, ROLES)
        return
    if len(predicate.args) != len(roles):
        yield f"{predicate} has {len(predicate.args)} arguments; {predicate.name} takes {len(roles)}"
        return
    if len(set(predicate.args)) < len(predicate.args):
        yield f"{predicate} relates a thing to itself"
    for argument, role in zip(predicate.args, roles, strict=True):
        entity = scene.entities.get(argument)
        if argument in added:
            if role != "on.reference":
                yield f"{predicate}: the added region {argument!r} can only be the reference of 'on'"
        elif entity is None:
            yield f"{predicate} names {argument!r}, not in the scene: {no_such('entity', argument, scene.entities)}"
        elif role not in entity.supports:
            yield _unsupported(predicate, entity, role, scene)


def _unsupported(predicate: Predicate, entity: Entity, role: str, scene: SceneFacts) -> str:
    able = [other.name for other in scene.entities.values() if role in other.supports]
    if entity.kind == "zone":
        why = f"the zone {entity.name!r} is not goal-grade for {role!r} (half side under {GOAL_GRADE} m)"
    else:
        why = f"the {entity.kind} {entity.name!r} does not support {role!r}"
    return f"{predicate}: {why}; in this scene: {', '.join(able) or 'nothing does'}"

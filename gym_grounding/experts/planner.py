"""From a goal and the present world to the next deed.

Nothing is scripted ahead: after each deed the world is read again, and what is undone is done again.

Order: knobs first (a pot would be in the way), then what is to be shut and holds nothing, then things, each after
opening what it goes into, then what is to be open, then what is to be shut on its content, and at last what is to be
held up.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from gym_grounding.errors import NoPlan
from gym_grounding.experts import destinations
from gym_grounding.experts.skills import (
    Destination,
    Hold,
    OpenDoor,
    PullDrawer,
    Push,
    Put,
    ShutDoor,
    ShutDrawer,
    Skill,
    TurnKnob,
)
from gym_grounding.experts.world import World
from gym_grounding.types import Goal, Predicate


def next_deed(goal: Goal, world: World, tired: Mapping[Skill, int]) -> Skill | None:
    """What to do now; None when everything is done. A deed that lasts is never done.

    Args:
        tired: how often deeds were given up; of what is undone, those given up least often come first.

    Raises:
        NoPlan: a literal for which there is no skill; names it.
        UnknownName: a name that the scene does not have.
    """
    pending = [deed for deed in deeds(goal, world) if getattr(deed, "lasting", False) or not deed.done(world)]
    if not pending:
        return None
    filled = {_filled(deed, world) for deed in pending}
    brief = [deed for deed in pending if not isinstance(deed, Hold) and not _shuts(deed, filled)]
    chosen = min(brief or pending, key=lambda deed: tired.get(deed, 0))
    return _opened(chosen, world, tired.get(chosen, 0) > 0) or _slid(chosen, tired) or chosen


def deeds(goal: Goal, world: World) -> tuple[Skill, ...]:
    """Every deed that the goal may need, in order, done ones included; what they need first is left out.

    Raises:
        NoPlan, UnknownName: see ``next_deed``.
    """
    filled = {_carrier(one.args[1], world) for one in goal.all_of if one.name == "in"}
    ranked = [(_rank(literal, filled, world), _deed(literal, goal, world)) for literal in _carriers_first(goal)]
    return tuple(deed for _, deed in sorted(ranked, key=lambda pair: pair[0]))


def cleared(problem: NoPlan, goal: Goal, world: World, stopped: Skill) -> Skill:
    """What takes the thing aside that stops a deed, to where it stops neither that nor another of the goal's.

    Args:
        stopped: the deed.

    Raises:
        NoPlan: the same, where nothing can be taken aside.
    """
    if not problem.blocker or not world.body(problem.blocker).movable:
        raise problem
    targets = {literal.args[1] for literal in goal.all_of if len(literal.args) > 1} - {problem.blocker}
    thing = getattr(stopped, "thing", problem.blocker)
    beside = () if thing == problem.blocker else (thing,)
    return Put(problem.blocker, destinations.Aside(tuple(sorted(targets)), beside))


Carrier = tuple[str, int]
"""A fixture and the number of its joint."""


def _rank(literal: Predicate, filled: set[Carrier | None], world: World) -> int:
    if literal.name in ("turnon", "turnoff"):
        return 0
    if literal.name == "close":
        return 4 if _carrier(literal.args[0], world) in filled else 1
    return {"on": 2, "in": 2, "open": 3}.get(literal.name, 5)


def _deed(literal: Predicate, goal: Goal, world: World) -> Skill:
    if literal.name in ("on", "in"):
        return Put(literal.args[0], _destination(literal, goal, world))
    if literal.name == "lifted":
        return Hold(literal.args[0])
    if literal.name not in ("open", "close", "turnon", "turnoff"):
        raise NoPlan(f"no skill reaches {literal}")
    carrier = _carrier(literal.args[0], world)
    if carrier is None:
        raise NoPlan(f"no skill reaches {literal}: no single joint belongs to it")
    if literal.name in ("turnon", "turnoff"):
        return TurnKnob(*carrier, literal.name == "turnon")
    return _articulated(carrier, literal.name == "open", world)


def _carrier(name: str, world: World) -> Carrier | None:
    """The joint that opens what ``name`` denotes: a drawer's own, or the only one of a fixture."""
    place = world.spot(name) if world.is_spot(name) else None
    fixture = name if place is None else place.parent
    if place is not None and place.joint is not None:
        return fixture, place.joint
    return (fixture, 0) if fixture and len(world.body(fixture).joints) == 1 else None


def _articulated(carrier: Carrier, opening: bool, world: World) -> Skill:
    name, number = carrier
    if world.body(name).joints[number].slides:
        return PullDrawer(name, number) if opening else ShutDrawer(name, number)
    return OpenDoor(name, number) if opening else ShutDoor(name, number)


def _destination(literal: Predicate, goal: Goal, world: World) -> Destination:
    thing, target = literal.args
    if not world.is_spot(target):
        if literal.name == "in":
            raise NoPlan(f"no skill reaches {literal}: LIBERO knows only regions as insides")
        return destinations.OnBody(target)
    if literal.name == "on":
        beside = tuple(one.args[0] for one in goal.all_of if one.args[1:] == (target,) and one.args[0] != thing)
        return destinations.OnSpot(target, beside)
    shut = {_carrier(one.args[0], world) for one in goal.all_of if one.name == "close"}
    return destinations.InSpot(target, shut=_carrier(target, world) in shut)


def _filled(deed: Skill, world: World) -> Carrier | None:
    """What a thing is put into by ``deed``, if that can be opened."""
    destination = getattr(deed, "destination", None)
    return _carrier(destination.name, world) if isinstance(destination, destinations.InSpot) else None


def _shuts(deed: Skill, filled: set[Carrier | None]) -> bool:
    """Whether ``deed`` shuts what something must be put into first."""
    return isinstance(deed, ShutDrawer | ShutDoor) and (deed.fixture, deed.joint) in filled


def _slid(deed: Skill, tired: Mapping[Skill, int]) -> Skill | None:
    """Sliding over the work surface, once, what was given up to be carried there."""
    if not isinstance(deed, Put) or not tired.get(deed, 0):
        return None
    sliding = Push(deed.thing, deed.destination)
    return None if tired.get(sliding, 0) else sliding


def _opened(deed: Skill, world: World, wide: bool) -> Skill | None:
    """What must be opened before ``deed``, unless it is open; ``wide`` to make more room in a drawer."""
    carrier = _filled(deed, world)
    opening = None if carrier is None else _articulated(carrier, True, world)
    if isinstance(opening, PullDrawer):
        opening = replace(opening, wide=wide)
    return None if opening is None or opening.done(world) else opening


def _carriers_first(goal: Goal) -> tuple[Predicate, ...]:
    """The literals, those of things that others are put on first."""
    carried = {one.args[-1] for one in goal.all_of if len(one.args) > 1}
    return tuple(sorted(goal.all_of, key=lambda one: one.args[0] not in carried))

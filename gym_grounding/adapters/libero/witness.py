"""Search for a state in which a goal holds, by placing its objects by hand and letting them settle.

A witness says that the goal can hold, not that the arm can get there; a miss proves nothing. The arm stays at its home
pose. A drawer or door that an object goes into is opened first, and shut afterwards, its content moving along, where
the goal asks for that; every other joint that the goal names is set at once. What is to be ``lifted`` is held, and what
is to be shut is pressed, as by a hand that has just shut it: LIBERO's drawers count as shut only while they are.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from gym_grounding.adapters.libero.bench import Bench
from gym_grounding.adapters.libero.geometry import Array
from gym_grounding.adapters.libero.measurement import joints_of
from gym_grounding.adapters.libero.predicates import LIFT, AddedZone
from gym_grounding.adapters.libero.robosuite_names import TargetZone
from gym_grounding.types import Goal, Predicate

STATES = (0, 7)
"""Initial states that are searched."""
SETTLING, SHUTTING, LATER = 20, 10, 15
"""Control steps of 50 ms: after placing, after shutting, and between the first and the second look."""

OVERLAP = 0.003
"""Deeper overlap than this is no resting contact [m]."""

_QUARTER = np.sqrt(0.5)
TURNS: Mapping[str, tuple[float, float, float, float]] = {
    "as it stands": (1.0, 0.0, 0.0, 0.0),
    "turned left": (_QUARTER, 0.0, 0.0, _QUARTER),
    "tipped over x": (_QUARTER, _QUARTER, 0.0, 0.0),
    "tipped over y": (_QUARTER, 0.0, _QUARTER, 0.0),
    "tipped over -x": (_QUARTER, -_QUARTER, 0.0, 0.0),
    "tipped over -y": (_QUARTER, 0.0, -_QUARTER, 0.0),
    "upside down": (0.0, 1.0, 0.0, 0.0),
}
"""Rotations in the world after settling, as quaternions (w, x, y, z)."""
_NARROW = (tuple(TURNS)[:4], (0.005, 0.03, 0.06, 0.1), ((0.0, 0.0), (0.4, 0.4)))
_WIDE = (
    tuple(TURNS),
    (0.005, 0.03, 0.08),
    (
        (0.0, 0.0), (0.5, 0.0), (-0.5, 0.0), (0.0, 0.5), (0.0, -0.5), (0.5, 0.5), (-0.5, -0.5), (0.5, -0.5),
        (-0.5, 0.5), (0.85, 0.0), (-0.85, 0.0),
    ),
)  # fmt: skip
"""Turns, heights above the first free place [m], and shifts in parts of the target's half sides."""


@dataclass(frozen=True, slots=True)
class Found:
    """The outcome of a search.

    Attributes:
        found: whether the goal held, when things had settled and again 15 control steps later, without overlaps.
        placement: how the objects were placed, in words.
        state: initial state of the placement.
        original: whether the task's own goal held as well.
        tried: number of placements.
    """

    found: bool
    placement: str
    state: int | None
    original: bool | None
    tried: int


@dataclass(frozen=True, slots=True)
class Placement:
    """One way of placing a goal's objects: turn, height [m] and shift, in parts of the target's half sides."""

    turn: str
    height: float
    shift: tuple[float, float]

    def __str__(self) -> str:
        x, y = self.shift
        shifted = f", shifted by ({x:g}, {y:g}) half sides" if x or y else ""
        return f"{self.turn}, dropped from {self.height:g} m{shifted}"


@dataclass(frozen=True, slots=True)
class Spot:
    """Where an object is to go: centre of its lowest plane, shape (3,), and half sides (x, y), in the world [m]."""

    place: Array
    half: Array


def search(bench: Bench, goals: Iterable[Goal], original: Goal) -> dict[Goal, Found]:
    """Search a witness for each goal: few placements in every state first, then many.

    Raises:
        InvalidOption: a goal names something that the scene does not have.
        SimulatorError: the simulator failed.
    """
    tried = dict.fromkeys(goals, 0)
    found: dict[Goal, Found] = {}
    with bench.measuring("start"):
        bench.restore(STATES[0])
    for goal in tried:
        bench.holds(goal)  # refuses unknown names
    for choices, state in itertools.product((_NARROW, _WIDE), STATES):
        for goal in tried:
            if goal in found:
                continue
            for placement in _placements(goal, choices):
                tried[goal] += 1
                with bench.measuring(f"be searched for {goal.id}"):
                    if _try(bench, goal, state, placement):
                        held = bench.holds(original)
                        words = str(placement) if _moved(goal) else "joints set"
                        found[goal] = Found(True, words, state, held, tried[goal])
                        break
    return {goal: found.get(goal, Found(False, "", None, None, count)) for goal, count in tried.items()}


def _placements(
    goal: Goal, choices: tuple[Iterable[str], Iterable[float], Iterable[tuple[float, float]]]
) -> Iterator[Placement]:
    if not _moved(goal):
        # More ways of placing nothing are the same.
        return iter([Placement("as it stands", 0.0, (0.0, 0.0))] if choices is _NARROW else [])
    turns, heights, shifts = choices
    return (Placement(turn, height, shift) for shift in shifts for turn in turns for height in heights)


def _moved(goal: Goal) -> tuple[str, ...]:
    """Objects that a goal moves, each once."""
    return tuple(dict.fromkeys(one.args[0] for one in goal.all_of if one.name in ("on", "in", "lifted")))


def _try(bench: Bench, goal: Goal, state: int, placement: Placement) -> bool:
    bench.restore(state)
    held = [one.args[0] for one in goal.all_of if one.name == "lifted"]
    opened = _set_joints(bench, goal)
    for predicate, share in _in_order(goal):
        if not _place(bench, goal, predicate, share, placement):
            return False
    shut = {one.args[0] for one in goal.all_of if one.name == "close"}
    stable = bench.run(SETTLING, held, _joints(bench, shut - {*opened}))
    if opened:
        _shut(bench, goal, opened)
        stable = bench.run(SHUTTING, held, _joints(bench, shut)) and stable
    if not (stable and bench.holds(goal) and bench.run(LATER, held, _joints(bench, shut)) and bench.holds(goal)):
        return False
    # Thin shells can get stuck in each other, where no hand could put them. What is held may be in the arm's way.
    return all(bench.geometry.depth(name) <= OVERLAP for name in _moved(goal) if name not in held)


def _in_order(goal: Goal) -> list[tuple[Predicate, tuple[int, int]]]:
    """What places an object, supports before what they carry; each as number i of the n that share its target."""
    unordered = [one for one in goal.all_of if one.name in ("on", "in", "lifted")]
    placing = sorted(unordered, key=lambda one: _height(one, unordered))
    targets = [one.args[-1] for one in placing]
    return [(one, (targets[:i].count(targets[i]), targets.count(targets[i]))) for i, one in enumerate(placing)]


def _height(predicate: Predicate, placing: list[Predicate], seen: int = 0) -> int:
    """How many moved objects lie below the one that a literal moves."""
    below = next((one for one in placing if len(predicate.args) > 1 and one.args[0] == predicate.args[1]), None)
    # Things that are asked to lie on each other have no order.
    return 0 if below is None or seen > len(placing) else 1 + _height(below, placing, seen + 1)


def _place(bench: Bench, goal: Goal, predicate: Predicate, share: tuple[int, int], placement: Placement) -> bool:
    name = predicate.args[0]
    pose = bench.pose(name)
    turn = times(TURNS[placement.turn], pose[3:])
    if predicate.name == "lifted":
        bench.place(name, np.array([*pose[:2], pose[2] + 1.5 * LIFT, *pose[3:]]))
        return True
    spot = _spot(bench, predicate, goal)
    shift = np.array(placement.shift)
    number, of = share
    if of > 1:
        # Things that share a target lie in a row across it, along x or y as the shift says.
        row = np.array([0.0, 1.0]) if shift[0] == shift[1] == 0 else shift / np.max(np.abs(shift))
        shift = row * ((2 * number + 1) / of - 1)
    place = spot.place + np.array([*(shift * spot.half), 0.0])
    return bench.lower(name, place, turn, placement.height)


def _spot(bench: Bench, predicate: Predicate, goal: Goal) -> Spot:
    target = predicate.args[1]
    env, data = bench.env, bench.env.sim.data
    region = next((one for one in goal.regions if one.name == target), None)
    if region is not None:
        zone = AddedZone(env, region)
        return Spot(np.array([*zone.position()[:2], bench.geometry.origin[2]]), np.array(zone.zone.size[:2]))
    site = env.object_sites_dict.get(target)
    if site is None:
        box = bench.geometry.box(target)
        body = data.body_xpos[env.obj_body_id[target]]
        return Spot(np.array([*body[:2], box.high[2]]), box.size[:2] / 4)
    place, turn, half = data.get_site_xpos(target), data.get_site_xmat(target), np.array(site.size, np.float64)
    sides = np.abs(turn) @ half
    if isinstance(site, TargetZone):
        return Spot(np.array([*place[:2], bench.geometry.origin[2]]), sides[:2])
    low = place[2] - sides[2] if predicate.name == "in" else place[2]
    return Spot(np.array([*place[:2], low]), sides[:2])


def _set_joints(bench: Bench, goal: Goal) -> list[str]:
    """Set the joints that a goal names, and open what objects go into; the opened entities that have to be shut."""
    entered = [one.args[1] for one in goal.all_of if one.name == "in" and positions(bench, one.args[1], "open")]
    # A door is named by the fixture, a drawer by its region.
    owners = {name: {name, bench.scene.entities[name].category} for name in entered}
    shut_later = []
    for name in entered:
        bench.set_joints(positions(bench, name, "open"))
        shut_later += [one.args[0] for one in goal.all_of if one.name == "close" and one.args[0] in owners[name]]
    for predicate in goal.all_of:
        if predicate.name in ("open", "close", "turnon", "turnoff") and predicate.args[0] not in shut_later:
            bench.set_joints(positions(bench, predicate.args[0], predicate.name))
    return shut_later


def _shut(bench: Bench, goal: Goal, names: Iterable[str]) -> None:
    for name in names:
        inside = [one.args[0] for one in goal.all_of if one.name == "in" and one.args[1] == name]
        before = _origin(bench, name)
        bench.set_joints(positions(bench, name, "close"))
        moved = _origin(bench, name) - before
        for content in inside:
            pose = bench.pose(content)
            bench.place(content, np.array([*(pose[:3] + moved), *pose[3:]]))


def _joints(bench: Bench, names: Iterable[str]) -> list[str]:
    return [joint for name in sorted(names) for joint in joints_of(bench.env, name)]


def _origin(bench: Bench, name: str) -> Array:
    """Where a region is, or nowhere for what is none, shape (3,) [m]."""
    if name not in bench.env.object_sites_dict:
        return np.zeros(3)
    return np.array(bench.env.sim.data.get_site_xpos(name))


def positions(bench: Bench, name: str, state: str) -> dict[str, float]:
    """Joint -> position in the middle of LIBERO's own range for a state (open, close, ...); empty where it has none."""
    carrier = bench.scene.entities[name].category if name in bench.env.object_sites_dict else name
    known = getattr(bench.env.get_object(carrier), "object_properties", {}).get("articulation", {})
    ends = known.get(f"default_{state}_ranges", ())
    joints = joints_of(bench.env, name) or (joints_of(bench.env, carrier) if carrier in bench.env.fixtures_dict else [])
    return {joint: (min(ends) + max(ends)) / 2 for joint in joints} if ends else {}


def times(first: tuple[float, ...], second: Array) -> Array:
    """Product of two quaternions (w, x, y, z): turn by ``second``, then by ``first``."""
    (w, x, y, z), (a, b, c, d) = first, second
    return np.array(
        [
            w * a - x * b - y * c - z * d,
            w * b + x * a + y * d - z * c,
            w * c - x * d + y * a + z * b,
            w * d + x * c - y * b + z * a,
        ]
    )

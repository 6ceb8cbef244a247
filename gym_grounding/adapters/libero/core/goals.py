"""Goals judged in one call: all literals that a scene was asked about, compiled into a table.

The verdicts are those of ``predicates.Judge``, which first sees every goal, refuses what cannot be judged, and goes on
judging what the table does not express: predicates and shapes of other LIBEROs, and ``in`` of an object, for which
LIBERO has no test. It is also asked, literal by literal, where a state is within ``literals.BAND`` of a threshold.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero.core import goals_plain
from gym_grounding.adapters.libero.core.literals import (
    HEIGHT,
    JOINT,
    LIMIT,
    PAIR,
    UNDECIDED,
    ZONE,
    Flags,
    Rows,
    Table,
    present,
)
from gym_grounding.adapters.libero.core.stepper import jitted
from gym_grounding.adapters.libero.predicates import LIFT, LIFTED, AddedZone, Judge, Literal
from gym_grounding.adapters.libero.robosuite_names import ObjectState, SiteObject, SiteObjectState, TargetZone
from gym_grounding.types import Goal

_PLANS = 1024
"""Goals whose literals are remembered; a caller that makes a new goal for every question starts them anew."""
_ANY = -1
"""Group of geoms that lets any touch count."""
_NEAR, _RIM, _REACH, _FLOOR = 0.03, 0.005, 0.10, 0.01
"""Of LIBERO's ``ObjectState.check_ontop``, ``SiteObject.under`` (both) and ``SiteObject.in_box`` [m]."""
_UP = 1.0
"""Of LIBERO's ``Up`` [m]."""


class Verdicts:
    """Says which goals hold in a simulator's present state, as its ``Judge`` does.

    Args:
        judge: LIBERO's own predicates on the same simulator.
        backend: ``goals_compiled`` or ``goals_plain``; by default the faster one that works here.
    """

    def __init__(self, judge: Judge, backend: types.ModuleType | None = None) -> None:
        self._judge, self._backend = judge, backend or fastest()
        self._data: Any = judge.env.sim.data._data
        self._present = present(self._data)
        self._rows = _Builder(judge.env)
        self._literals: dict[Literal, int] = {}
        self._plans: dict[int, tuple[Goal, tuple[int, ...] | None]] = {}
        self._table: Table | None = None
        self._flags: list[int] | None = None

    def settled(self) -> None:
        """See ``Judge.settled``."""
        self._judge.settled()
        self._flags = self._table = None

    def forget(self) -> None:
        """See ``Judge.forget``."""
        self._judge.forget()
        self._flags = None

    def holds(self, goal: Goal) -> bool:
        """See ``Judge.holds``."""
        # By identity, since hashing a goal takes longer than judging it; the goal is kept, so its number stays its own.
        plan = self._plans.get(id(goal))
        if plan is None:
            return self._first(goal)
        if plan[1] is None:
            return self._judge.holds(goal)
        flags = self._flags
        if flags is None:
            flags = self._flags = self._judged()
        return all([flags[literal] for literal in plan[1]])

    def expresses(self, goal: Goal) -> bool:
        """Whether the table judges the goal, which was asked about before; else LIBERO's predicates do."""
        return self._plans[id(goal)][1] is not None

    def _first(self, goal: Goal) -> bool:
        verdict = self._judge.holds(goal)
        if len(self._plans) >= _PLANS:
            self._plans.clear()
        numbers = [self._number(literal) for literal in self._judge.literals(goal)]
        known = tuple(number for number in numbers if number is not None)
        self._plans[id(goal)] = goal, known if len(known) == len(numbers) else None
        return verdict

    def _number(self, literal: Literal) -> int | None:
        """The literal's place in the table, which it joins if it can."""
        if literal not in self._literals:
            number = len(self._literals)
            if not self._rows.add(number, literal, self._judge.states(literal)):
                return None
            self._literals[literal] = number
            self._flags = self._table = None
        return self._literals[literal]

    def _judged(self) -> list[int]:
        if self._table is None:
            self._table = self._rows.table(self._judge.height_settled)
            self._touching = np.zeros((self._table.group_count, self._table.group_count), np.bool_)
            self._verdicts: Flags = np.zeros(len(self._literals), np.int8)
        self._backend.judge(self._table, self._present, _geoms(self._data.contact), self._touching, self._verdicts)
        flags: list[int] = self._verdicts.tolist()
        if UNDECIDED in flags:
            for literal, number in self._literals.items():
                if flags[number] == UNDECIDED:
                    flags[number] = self._judge.verdict(literal)
        return flags


def fastest() -> types.ModuleType:
    """The compiled form where numba compiles, else the plain one."""
    if not jitted():
        return goals_plain
    from gym_grounding.adapters.libero.core import goals_compiled

    return goals_compiled


class _Builder:
    """Turns literals into rows."""

    def __init__(self, env: Any) -> None:
        self._env, self._model = env, env.sim.model
        self._zones: list[Any] = []
        self._pairs: list[Any] = []
        self._heights: list[Any] = []
        self._lifted: list[tuple[int, str]] = []
        self._limits: list[Any] = []
        self._joints: list[Any] = []
        self._grouped: dict[int, int] = {}
        self._groups: dict[str, int] = {}

    def add(self, number: int, literal: Literal, states: list[Any]) -> bool:
        """Whether the literal could be added as the one with this number."""
        name = literal[0].name
        if name == LIFTED:
            self._lifted.append((number, literal[0].args[0]))
            return True
        kinds = [type(state) for state in states]
        if name == "up" and kinds == [ObjectState]:
            self._heights.append((number, self._body(states[0]), _UP))
            return True
        if name in ("on", "in") and kinds[:1] == [ObjectState] and len(states) == 2:
            return self._add_place(number, name == "in", *states)
        if name in _JOINT_TESTS and kinds in ([ObjectState], [SiteObjectState]):
            return self._add_joints(number, *_JOINT_TESTS[name], states[0])
        return False

    def table(self, settled: Callable[[str], float]) -> Table:
        """The rows as arrays.

        Args:
            settled: height from which ``lifted`` counts, of the object of this name [m].
        """
        lifted = [(number, self._env.obj_body_id[name], settled(name) + LIFT) for number, name in self._lifted]
        none = len(self._groups)
        groups = np.full(self._model.ngeom, none, np.int64)
        for geom, group in self._grouped.items():
            groups[geom] = group
        return Table(
            zones=_array(self._zones, ZONE),
            pairs=_array(self._pairs, PAIR),
            heights=_array([*self._heights, *lifted], HEIGHT),
            limits=_array(self._limits, LIMIT),
            joints=_array(self._joints, JOINT),
            groups=groups,
            group_count=none + 2,
        )

    def _add_place(self, number: int, inside: bool, subject: Any, reference: Any) -> bool:
        body = self._body(subject)
        if type(reference) is ObjectState and not inside:
            touching = self._touching(reference.object_name, subject.object_name)
            if touching is not None:
                self._pairs.append((number, body, self._body(reference), touching, _NEAR))
            return touching is not None
        added = type(reference) is AddedZone
        if not added and type(reference) is not SiteObjectState:
            return False
        site = reference.zone if added else self._env.object_sites_dict[reference.object_name]
        if type(site).in_box not in (SiteObject.in_box, TargetZone.in_box) or type(site).under is not SiteObject.under:
            return False
        parent = None if inside or added else self._env.get_object(reference.parent_name)
        touching = (_ANY, _ANY) if parent is None else self._touching(parent.name, subject.object_name)
        if touching is None:
            return False
        like = reference.like if added else self._model.site_name2id(reference.object_name)
        carrier, place = (reference.surface, site.pos) if added else (-1, (0.0, 0.0, 0.0))
        slack = (_FLOOR, 0.0) if inside else (_RIM, _REACH)
        self._zones.append((number, body, like, carrier, touching, tuple(site.size), tuple(place), *slack, inside))
        return True

    def _add_joints(self, number: int, method: str, every: bool, state: Any) -> bool:
        owner = state.parent_name if type(state) is SiteObjectState else state.object_name
        thing, part = self._env.get_object(owner), self._env.get_object(state.object_name)
        test = getattr(thing, method, None)
        addresses = [self._model.get_joint_qpos_addr(joint) for joint in getattr(part, "joints", None) or ()]
        if test is None or not addresses or not all(isinstance(place, int | np.integer) for place in addresses):
            return False
        ranges = thing.object_properties.get("articulation", {})
        comparison = _comparison(test, [bound for pair in ranges.values() for bound in pair])
        if comparison is None:
            return False
        start = len(self._joints)
        self._joints += [(address, *comparison) for address in addresses]
        self._limits.append((number, start, len(self._joints), every))
        return True

    def _touching(self, one: str, other: str) -> tuple[int, int] | None:
        """Groups of the geoms by which LIBERO knows that two things touch; None where they share any."""
        groups = self._group(one), self._group(other)
        return None if None in groups else groups  # type: ignore[return-value]  # just looked at

    def _group(self, name: str) -> int | None:
        if name not in self._groups:
            known = {self._model.geom_id2name(geom): geom for geom in range(self._model.ngeom)}
            geoms = {known[geom] for geom in self._env.get_object(name).contact_geoms if geom in known}
            if geoms & self._grouped.keys():
                return None
            self._groups[name] = len(self._groups)
            self._grouped |= dict.fromkeys(geoms, self._groups[name])
        return self._groups[name]

    def _body(self, state: Any) -> int:
        body: int = self._env.obj_body_id[state.object_name]
        return body


_JOINT_TESTS = {
    "open": ("is_open", False),
    "close": ("is_close", True),
    "turnon": ("turn_on", False),
    "turnoff": ("turn_off", True),
}
"""Predicate -> LIBERO's method on the position of one joint, and whether every joint of several must pass."""


def _comparison(test: Callable[[float], Any], numbers: Iterable[float]) -> tuple[float, float, bool] | None:
    """Sign, bound and whether the bound itself counts, of a test that compares with one of these numbers.

    Found by trying the test at, just beside and far from each of them.
    """
    numbers = [float(number) for number in numbers]
    beside = [float(np.nextafter(number, end)) for number in numbers for end in (-np.inf, np.inf)]
    probes = [*numbers, *beside, *(number + far for number in numbers for far in (-10.0, -1e-3, 1e-3, 10.0))]
    answers = [bool(test(probe)) for probe in probes]
    for bound in numbers:
        for sign in (1.0, -1.0):
            for reached in (False, True):
                expected = [sign * probe > sign * bound or (reached and probe == bound) for probe in probes]
                if expected == answers:
                    return sign, sign * bound, reached
    return None


def _geoms(contacts: Any) -> NDArray[np.int32]:
    """Numbers of the geoms of each contact, shape (n, 2)."""
    # mujoco 2.3.7 has them in two columns.
    found = contacts.geom if hasattr(contacts, "geom") else np.stack((contacts.geom1, contacts.geom2), axis=1)
    return np.asarray(found, np.int32)


def _array(rows: list[Any], kind: Any) -> Rows:
    return np.array(rows, kind)

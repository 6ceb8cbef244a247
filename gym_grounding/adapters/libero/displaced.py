"""Displaced starts: LIBERO's initial states with the movable objects several centimetres away.

Start k of a task is LIBERO's start k with each movable object shifted in the plane, by a distance drawn evenly from
``SHORTEST`` to ``LONGEST`` in an even direction, without turning it. Draws are repeated until the arrangement, settled
as an episode settles, is as valid as LIBERO's own.

Shifted together: what lies on or in a movable thing, and that thing; of two things of one kind, each and what it is
next to or between, for that is how texts tell them apart.

Left in its place, since moving it would change what a text says or where a goal lies:
    - a thing on or in a fixture;
    - a thing that a zone or an added region of one of the task's goals is named after (``main_table_plate_1_right``),
      since regions lie still; and what is stacked with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding import manifest
from gym_grounding.adapters.libero import facts, fixtures
from gym_grounding.adapters.libero.geometry import Array, Geometry
from gym_grounding.adapters.libero.predicates import Judge
from gym_grounding.adapters.libero.relations import Relation, Relations
from gym_grounding.adapters.libero.simulator import Simulator
from gym_grounding.errors import SimulatorError
from gym_grounding.types import Goal, Predicate, Region, SceneFacts, Task

SHORTEST, LONGEST = 0.03, 0.08
"""How far objects are shifted [m]."""
ATTEMPTS = 200
"""Arrangements that are drawn before a start is given up."""
DRAWS = 40
"""Shifts that are drawn for one object before an arrangement is."""
SETTLE = 10
"""Idle control steps before an arrangement is judged, whatever the settings say: the start is the same for all."""
OVERLAP = 0.002
"""Overlap with anything that resting objects may have [m]."""
SLIP, SINK, TURN = 0.005, 0.003, 0.05
"""How far from where it should rest an object may settle: in the plane [m], in height [m], in orientation [rad]."""
SPEED = 0.02
"""Speed up to which an object is at rest, or its speed in LIBERO's own settled start where that is more [m/s]."""
_IDLE = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0])
_PLACING = ("on", "in", "under", "next to", "between", "center")
_BESIDE = ("next to", "between")
_SIDES = ("left", "right", "front", "behind")

_KNOWN: dict[tuple[object, ...], NDArray[np.float64]] = {}


def displaced(
    simulator: Simulator, scene: SceneFacts, task: Task, init_state: int, joints: Mapping[str, float] | None = None
) -> NDArray[np.float64]:
    """A task's displaced start: a pure function of (task, init_state, joints), found once in a process.

    Settled, it is such that nothing overlaps by more than ``OVERLAP``; every object rests upright where its shift puts
    it, within the box around everything in LIBERO's start, and the others where they were; things of one kind keep the
    relations by which a text tells them apart; no predicate ``on`` or ``in`` holds that did not hold in LIBERO's start,
    nor a goal of the shipped registry over an added region.

    Args:
        simulator: of the scene; its episode is over.
        scene: the scene.
        task: lives in it.
        init_state: number of the stored initial state.
        joints: entity -> preset position of its one joint [m or rad], with which the arrangement is judged.

    Returns:
        Time, positions and velocities before settling, shape (1 + nq + nv,), a copy.

    Raises:
        InvalidOption: init_state outside ``range(task.init_states)``, or a joint that cannot be preset.
        SimulatorError: no valid arrangement was found in ``ATTEMPTS`` draws.
    """
    key = (facts.root(), scene.id, task.id, *task.checksums.items(), init_state, *sorted((joints or {}).items()))
    if key not in _KNOWN:
        _KNOWN[key] = _Search(simulator, scene, task, init_state, joints).found()
    return _KNOWN[key].copy()


@dataclass(frozen=True, slots=True)
class _Seen:
    """A settled start: pose of every object, shape (7,), its speed [m/s], hinges and slides, and what holds."""

    poses: Mapping[str, Array]
    speeds: Mapping[str, float]
    joints: Array
    verdicts: frozenset[Goal]
    relations: frozenset[Relation]


class _Search:
    """Draws arrangements for one start and judges them."""

    def __init__(
        self,
        simulator: Simulator,
        scene: SceneFacts,
        task: Task,
        init_state: int,
        joints: Mapping[str, float] | None,
    ) -> None:
        self._simulator, self._task, self._number = simulator, task, init_state
        self._env: Any = simulator.env
        self._stored = np.array(facts.init_state(task, init_state))
        self._fixtures = fixtures.poses(task, init_state)
        self._geometry = Geometry(self._env)
        self._judge = Judge(self._env, scene.id)
        self._relations = Relations(self._env, scene, self._geometry, self._judge)
        self._objects = tuple(entity.name for entity in scene.of_kind("object"))
        self._twins = _twins(scene)
        self._regions = _regions(task)
        self._goals = _watched(scene, task)
        model = self._env.sim.model
        self._addresses = {name: model.get_joint_qpos_addr(self._joint(name))[0] for name in self._objects}
        seed = int.from_bytes(hashlib.sha256(task.id.encode()).digest()[:4], "big")
        self._generator = np.random.default_rng([seed, init_state])
        self._joints: Mapping[str, float] = {}
        fixed = self._env.fixtures_dict.values()
        self._fixed = [1 + model.get_joint_qpos_addr(joint) for fixture in fixed for joint in fixture.joints]
        self._before = self._settled(self._stored)
        stacks = [(name, other) for how, name, other in sorted(self._relations.holding()) if how in ("on", "in")]
        self._groups = self._grouped(self._kept(scene, stacks), stacks)
        if not self._groups:
            raise SimulatorError(f"{task.id} has nothing that could be displaced; use its starts 'libero'")
        boxes = [self._geometry.box(name) for name in self._geometry.names]
        self._low = np.min([box.low[:2] for box in boxes], axis=0)
        self._high = np.max([box.high[:2] for box in boxes], axis=0)
        self._rest = simulator.state()
        if joints:
            self._preset(joints)

    def _preset(self, joints: Mapping[str, float]) -> None:
        """Judge arrangements with joints preset, things beside LIBERO's start without: there a drawer may hit them."""
        self._joints = joints
        preset, before = self._settled(self._stored), self._before
        self._before = replace(before, joints=preset.joints, verdicts=before.verdicts | preset.verdicts)
        self._rest[self._fixed] = preset.joints

    def found(self) -> NDArray[np.float64]:
        """The first valid arrangement."""
        for _ in range(ATTEMPTS):
            shifts = self._arranged()
            if shifts is None:
                continue
            state = self._stored.copy()
            for name, shift in shifts.items():
                state[1 + self._addresses[name] : 3 + self._addresses[name]] += shift
            if self._valid(self._settled(state), shifts):
                return state
        raise SimulatorError(
            f"no valid displaced start {self._number} of {self._task.id} in {ATTEMPTS} arrangements; "
            "leave this initial state out"
        )

    def _arranged(self) -> dict[str, Array] | None:
        """A shift for every loose object, shape (2,) [m], such that nothing overlaps and relations are kept."""
        sim = self._env.sim
        sim.set_state_from_flattened(self._rest)
        sim.forward()
        shifts: dict[str, Array] = {}
        for group in [self._groups[index] for index in self._generator.permutation(len(self._groups))]:
            shift = next((shift for shift in map(self._drawn, range(DRAWS)) if self._fits(group, shift)), None)
            if shift is None:
                return None
            shifts |= dict.fromkeys(group, shift)
        self._judge.forget()
        return shifts if not self._twins or self._telling() == self._before.relations else None

    def _fits(self, group: tuple[str, ...], shift: Array) -> bool:
        """Puts objects where a shift has them, and says whether they are in the box and overlap with nothing."""
        sim = self._env.sim
        for name in group:
            pose = self._before.poses[name].copy()
            pose[:2] += shift
            if not (np.all(pose[:2] > self._low) and np.all(pose[:2] < self._high)):
                return False
            sim.data.set_joint_qpos(self._joint(name), pose)
        sim.forward()
        return all(self._geometry.depth(name) <= OVERLAP for name in group)

    def _drawn(self, _: int) -> Array:
        distance = self._generator.uniform(SHORTEST, LONGEST)
        angle = self._generator.uniform(0.0, 2.0 * np.pi)
        return np.array([distance * np.cos(angle), distance * np.sin(angle)])

    def _settled(self, state: NDArray[np.float64]) -> _Seen:
        bddl = facts.bddl_path(self._task)
        self._simulator.start(bddl, self._number, state, self._fixtures, drawing=False, joints=self._joints)
        for _ in range(SETTLE):
            self._simulator.step(_IDLE, drawing=False)
        data = self._env.sim.data
        self._judge.settled()
        return _Seen(
            {name: np.array(data.get_joint_qpos(self._joint(name)), np.float64) for name in self._objects},
            {name: float(np.linalg.norm(data.get_joint_qvel(self._joint(name))[:3])) for name in self._objects},
            self._simulator.state()[self._fixed],
            frozenset(goal for goal in self._goals if self._judge.holds(goal)),
            self._telling() if self._twins else frozenset(),
        )

    def _valid(self, seen: _Seen, shifts: Mapping[str, Array]) -> bool:
        before = self._before
        for name in self._objects:
            offset = seen.poses[name][:3] - before.poses[name][:3]
            offset[:2] -= shifts.get(name, np.zeros(2))
            if np.linalg.norm(offset[:2]) > SLIP or abs(offset[2]) > SINK:
                return False
            if _angle(seen.poses[name][3:], before.poses[name][3:]) > TURN:
                return False
            if seen.speeds[name] > max(SPEED, before.speeds[name]):
                return False
            if name in shifts and self._geometry.depth(name) > OVERLAP:
                return False
        still = np.allclose(seen.joints, before.joints, rtol=0.0, atol=SLIP)
        return bool(still and seen.verdicts <= before.verdicts and seen.relations == before.relations)

    def _grouped(self, kept: set[str], stacks: list[tuple[str, str]]) -> list[tuple[str, ...]]:
        """Objects that are shifted as one; see the module's docstring."""
        ties = [{name, *others.split()} for how, name, others in sorted(self._before.relations) if how in _BESIDE]
        groups = [{name} for name in self._objects if name not in kept]
        for tied in [*map(set, stacks), *ties]:
            met = [group for group in groups if group & tied]
            groups = [group for group in groups if not group & tied] + ([set().union(*met)] if met else [])
        return [tuple(name for name in self._objects if name in group) for group in groups]

    def _kept(self, scene: SceneFacts, stacks: list[tuple[str, str]]) -> set[str]:
        """Objects that stay in their places; see the module's docstring."""
        zones = [zone.name for zone in scene.of_kind("zone") if zone.supports]
        kept = {name for name, reference in stacks if reference not in self._objects}
        for name in self._objects:
            named = [name in region.name for region in self._regions]
            if any(named) or any(scene.entities[name].category in zone for zone in zones):
                kept.add(name)
        for _ in stacks:
            kept |= {name for pair in stacks if kept & {*pair} for name in pair}
        return kept & {*self._objects}

    def _telling(self) -> frozenset[Relation]:
        """The relations by which things of one kind are told apart."""
        return frozenset(
            (relation, name, other)
            for relation, name, other in self._relations.holding()
            if name in self._twins and (relation in _PLACING or (relation in _SIDES and other in self._twins))
        )

    def _joint(self, name: str) -> str:
        joint: str = self._env.objects_dict[name].joints[-1]
        return joint


def _twins(scene: SceneFacts) -> frozenset[str]:
    """Objects that share their category with another."""
    categories = [entity.category for entity in scene.of_kind("object")]
    return frozenset(e.name for e in scene.of_kind("object") if categories.count(e.category) > 1)


def _watched(scene: SceneFacts, task: Task) -> tuple[Goal, ...]:
    """Goals that must not come to hold: every ``on`` and ``in`` of the scene, and those over added regions."""
    literals = [
        Predicate(name, (subject.name, reference.name))
        for name in ("on", "in")
        for subject in scene.entities.values()
        for reference in scene.entities.values()
        if f"{name}.subject" in subject.supports and f"{name}.reference" in reference.supports and subject != reference
    ]
    return (task.goal, *(Goal((literal,)) for literal in literals), *(goal for goal in _goals(task) if goal.regions))


def _regions(task: Task) -> tuple[Region, ...]:
    return tuple(region for goal in _goals(task) for region in goal.regions)


def _goals(task: Task) -> tuple[Goal, ...]:
    """Goals that the shipped registry's variants of a task ask for."""
    variants = manifest.load().variants.values()
    return tuple(variant.goal for variant in variants if variant.task == task.id and variant.goal is not None)


def _angle(first: Array, second: Array) -> float:
    """Angle between two orientations, quaternions of any order [rad]."""
    cosine = abs(float(first @ second)) / float(np.linalg.norm(first) * np.linalg.norm(second))
    return 2.0 * float(np.arccos(min(1.0, cosine)))

"""Facts about a task's starts that only its simulator knows: which goals hold, where things stand, how they relate.

Every measurement begins as the environments begin: LIBERO's reset seeded with the number of the initial state, fixtures
from the table, the initial state, ``bench.SETTLE`` idle steps. No picture is drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gym_grounding.adapters.libero.bench import Bench
from gym_grounding.adapters.libero.relations import Relation, Relations
from gym_grounding.adapters.libero.robosuite_names import mjtJoint
from gym_grounding.types import Goal, Predicate

SHUT_SLIDE = -0.01
"""A drawer pushed in this far counts as shut when thresholds are read with tolerance [m]; LIBERO asks for more than
0, which no untouched drawer has."""
SHUT_HINGE = -0.1
"""The same for a microwave's door [rad]."""


@dataclass(frozen=True, slots=True)
class Count:
    """In how many of ``of`` initial states a goal holds: at once, after settling, and then read with tolerance."""

    raw: int
    settled: int
    tolerant: int
    of: int


@dataclass(frozen=True, slots=True)
class Starts:
    """What was seen in a task's initial states.

    Attributes:
        counts: goal -> count.
        footprints: object or fixture -> (x_min, y_min, x_max, y_max, bottom, top) [m] of its collision geometry after
            settling, the mean over the states; from the work surface's centre, heights above it.
        relations: relation -> number of states in which it holds; see ``Relations.holding``.
        robot: (x, y) of the robot's base in the same frame [m].
        of: number of states.
    """

    counts: Mapping[Goal, Count]
    footprints: Mapping[str, tuple[float, ...]]
    relations: Mapping[Relation, int]
    robot: tuple[float, float]
    of: int


def starts(bench: Bench, goals: Iterable[Goal], init_states: Iterable[int] | None = None) -> Starts:
    """Pass once over a task's initial states and look at everything in each.

    Args:
        bench: the task's scene.
        goals: goals to count.
        init_states: which states; all by default.

    Raises:
        InvalidOption: a goal names something that the scene does not have.
        SimulatorError: the simulator failed.
    """
    chosen = list(range(bench.task.init_states) if init_states is None else init_states)
    wanted = list(dict.fromkeys(goals))
    raw: Counter[Goal] = Counter()
    settled: Counter[Goal] = Counter()
    tolerant: Counter[Goal] = Counter()
    relations: Counter[Relation] = Counter()
    boxes: dict[str, list[list[float]]] = {name: [] for name in bench.geometry.names}
    seen = Relations(bench.env, bench.scene, bench.geometry, bench.judge)
    origin = bench.geometry.origin
    for init_state in chosen:
        with bench.measuring(f"measure initial state {init_state}"):
            bench.begin(init_state)
            raw.update(goal for goal in wanted if bench.holds(goal))
            bench.settle()
            settled.update(goal for goal in wanted if bench.holds(goal))
            tolerant.update(goal for goal in wanted if holds_tolerantly(bench, goal))
            relations.update(seen.holding())
            for name, rows in boxes.items():
                box = bench.geometry.box(name).moved(-origin)
                rows.append([*box.low[:2], *box.high[:2], box.low[2], box.high[2]])
    of = len(chosen)
    counts = {goal: Count(raw[goal], settled[goal], tolerant[goal], of) for goal in wanted}
    footprints = {name: tuple(float(value) for value in np.mean(rows, axis=0)) for name, rows in boxes.items()}
    return Starts(counts, footprints, dict(relations), _robot(bench), of)


def _robot(bench: Bench) -> tuple[float, float]:
    data, model = bench.env.sim.data, bench.env.sim.model
    base = data.body_xpos[model.body_name2id(bench.env.robots[0].robot_model.root_body)] - bench.geometry.origin
    return (float(base[0]), float(base[1]))


def holds_tolerantly(bench: Bench, goal: Goal) -> bool:
    """Whether a goal holds now in substance: a thing is shut or off although LIBERO's threshold denies it."""
    return all(_so(bench, predicate, goal) for predicate in goal.all_of)


def _so(bench: Bench, predicate: Predicate, goal: Goal) -> bool:
    if predicate.name == "turnoff":
        return not bench.holds(Goal((Predicate("turnon", predicate.args),)))
    if predicate.name == "close":
        return all(_shut(bench, joint) for joint in joints_of(bench.env, predicate.args[0]))
    return bench.holds(Goal((predicate,), goal.regions))


def _shut(bench: Bench, joint: str) -> bool:
    model = bench.env.sim.model
    slides = model.jnt_type[model.joint_name2id(joint)] == mjtJoint.mjJNT_SLIDE
    return bench.joint(joint) > (SHUT_SLIDE if slides else SHUT_HINGE)


def joints_of(env: Any, name: str) -> list[str]:
    """Joints of a fixture, or of the part that carries a region."""
    site = env.object_sites_dict.get(name)
    joints = site.joints if site is not None else env.get_object(name).joints
    return [*joints]

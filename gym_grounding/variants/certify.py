"""Which goals can be reached: the oracle tries each of them from several initial states, and what it shows is recorded.

Goals that one task has in several rows (a swap and a contrast, both texts of a reversed pair) are tried once. In each
start the arm first stands still for a while: what comes true then asks for nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from gym_grounding import adapters
from gym_grounding import conditions as condition_modules
from gym_grounding import manifest as manifests
from gym_grounding.adapters import Anatomy, Scene
from gym_grounding.errors import InvalidOption, MissingRenderer, MissingSource, WrongVersion
from gym_grounding.manifest import NOT_SHOWN, STABLE, STANDINGS, TRIVIAL, Manifest
from gym_grounding.plan import HORIZON
from gym_grounding.types import Goal, SceneSettings, Task, Variant
from gym_grounding.variants import _pool
from gym_grounding.variants._certificates import Coming
from gym_grounding.variants._reached import Reached
from gym_grounding.variants._reached_file import Outcome

STILL = 60
"""Control steps for which the arm stands still before the oracle tries."""
TOGETHER = 5
"""Goals that are tried from one start before anything is written down."""

Attempt: TypeAlias = Callable[..., Any]
"""``experts.run`` or what stands for it."""


@dataclass(frozen=True, slots=True)
class Start:
    """One start and the goals to try from it.

    Attributes:
        registry: path of the registry file.
        task: task id.
        joints: presets, sorted.
        init_state: number of the initial state.
        goals: what to try, one after the other.
        horizon: control steps at most for each.
    """

    registry: str
    task: str
    joints: tuple[tuple[str, float], ...]
    init_state: int
    goals: tuple[Goal, ...]
    horizon: int


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of one goal from one start.

    Attributes:
        start: the start.
        goal: the goal.
        outcome: what was shown; None where the episode could not be finished.
        message: why not; empty otherwise.
    """

    start: Start
    goal: Goal
    outcome: Outcome | None
    message: str = ""


Measurer: TypeAlias = Callable[[Start], Sequence[Tried]]


def chosen(
    manifest: Manifest,
    originals: bool = False,
    ids: Sequence[str] = (),
    suite: str | None = None,
    tasks: Iterable[str] | None = None,
    conditions: Iterable[str] | None = None,
    tiers: Iterable[str] | None = None,
) -> tuple[Variant, ...]:
    """Variants whose goals are to be tried, in file order: those with a goal of their own, or the originals.

    Raises:
        UnknownName: no such variant, suite, task, condition or tier.
        InvalidOption: a named variant, or everything chosen, has no goal to try; a named one is left out by a filter,
            or is named beside ``originals``.
    """
    filters = {"suite": suite, "tasks": tasks, "conditions": conditions, "tiers": tiers}
    found = _select(manifest, filters)
    if ids and originals:
        raise InvalidOption(f"{', '.join(ids)}: --originals tries the tasks' own goals; give names or --originals")
    if ids:
        named = {manifest.variant(name).id for name in ids}
        aimless = sorted(name for name in named if goal_of(manifest, manifest.variant(name)) is None)
        if aimless:
            raise InvalidOption(f"{', '.join(aimless)}: asks for no goal that could be tried; leave it out")
        _refuse_left_out(manifest, named, filters)
        return tuple(variant for variant in found if variant.id in named)
    kept = tuple(
        variant for variant in found if (variant.condition == "original" if originals else variant.goal is not None)
    )
    if not kept:
        raise InvalidOption("nothing that is chosen has a goal to try; choose contrast, swap, reverse or --originals")
    return kept


def _select(manifest: Manifest, filters: Mapping[str, Any]) -> tuple[Variant, ...]:
    found = manifest.select(**filters)
    return tuple(variant for variant in found if filters.get("tiers") is None or variant.tier is not None)


def _refuse_left_out(manifest: Manifest, named: Collection[str], filters: Mapping[str, Any]) -> None:
    """Named variants that a filter leaves out are a mistake in one of the two.

    Raises:
        InvalidOption
    """
    for name, value in filters.items():
        if value is None:
            continue
        left_out = sorted(set(named) - {variant.id for variant in _select(manifest, {name: value})})
        if left_out:
            words = value if isinstance(value, str) else ",".join(value)
            raise InvalidOption(
                f"{', '.join(left_out)}: left out by --{name} {words}; leave out the name or the filter"
            )


def goal_of(manifest: Manifest, variant: Variant) -> Goal | None:
    """The goal that is tried for a variant: its own, or the original one; None where its text asks for neither.

    Of a described variant, whose text asks for what is so already, the goal that doing the opposite would reach.
    """
    task = manifest.tasks[variant.task]
    return variant.goal if variant.goal is not None else condition_modules.asked(variant, task)


def pending(
    manifest: Manifest,
    variants: Iterable[Variant],
    init_states: Sequence[int],
    record: Reached,
    horizon: int = HORIZON,
    fresh: bool = False,
) -> tuple[Start, ...]:
    """What the record does not say yet, tasks of one scene one after the other.

    Args:
        fresh: as if it said nothing.

    Raises:
        InvalidOption: a task does not have all the initial states.
    """
    wanted: dict[tuple[str, str, tuple[tuple[str, float], ...]], dict[Goal, None]] = {}
    for variant in variants:
        task, goal = manifest.tasks[variant.task], goal_of(manifest, variant)
        assert goal is not None  # `chosen` sees to it
        if outside := [state for state in init_states if not 0 <= state < task.init_states]:
            raise InvalidOption(f"{task.id} has no initial state {outside[0]}; it has 0 to {task.init_states - 1}")
        place = (task.scene, task.id, tuple(sorted(variant.joints.items())))
        wanted.setdefault(place, {})[goal] = None
    scenes = list(manifest.scenes)
    order = sorted(wanted, key=lambda place: (scenes.index(place[0]), list(manifest.tasks).index(place[1]), place[2]))
    starts = []
    for place in order:
        asked, (_, name, joints) = wanted[place], place
        task = manifest.tasks[name]
        known = {goal: () if fresh else record.outcomes(task, goal, dict(joints), horizon) for goal in asked}
        for state in init_states:
            goals = tuple(goal for goal in asked if state not in known[goal])
            groups = (goals[first : first + TOGETHER] for first in range(0, len(goals), TOGETHER))
            starts += [Start(manifest.path, name, joints, state, group, horizon) for group in groups]
    return tuple(starts)


def coming(starts: Iterable[Start]) -> Coming:
    """What is about to be tried, as far as certificates count it."""
    found: dict[tuple[str, Goal, tuple[tuple[str, float], ...]], set[int]] = {}
    for start in starts:
        for goal in start.goals if start.horizon == HORIZON else ():
            found.setdefault((start.task, goal, start.joints), set()).add(start.init_state)
    return found


def certify(
    manifest: Manifest,
    starts: Iterable[Start],
    record: Reached,
    workers: int = 1,
    measurer: Measurer | None = None,
) -> Generator[Tried, None, None]:
    """Try goals and record what comes of it, start by start; the record is the same whatever the number of workers.

    What could not be finished is yielded with its reason and not recorded: it is tried again the next time.

    Args:
        manifest: the registry of the starts.
        starts: what to try; see ``pending``.
        record: where outcomes go; written after each start.
        workers: processes.
        measurer: what tries, None for the oracle in the simulator; can be sent to another process by name.

    Raises:
        MissingSource, MissingRenderer, WrongVersion: the simulator cannot be used.
        InvalidOption: an adapter of whose scenes the oracle knows nothing.
        UnwritableOutput: the record cannot be written; what was written before is whole.
        WorkerDied: a process ended by itself.
    """
    with closing(_pool.each(measurer or measure, starts, workers)) as results:
        for tried in results:
            for one in tried:
                if one.outcome is not None:
                    start, task = one.start, manifest.tasks[one.start.task]
                    record.add(task, one.goal, dict(start.joints), start.horizon, {start.init_state: one.outcome})
            record.save()
            yield from tried


def summary(manifest: Manifest, variants: Iterable[Variant], record: Reached, horizon: int = HORIZON) -> Iterator[str]:
    """What the record says of variants: how many are what, then each that is not reached from any start."""
    found = {}
    for variant in variants:
        goal = goal_of(manifest, variant)
        assert goal is not None  # `chosen` sees to it
        total = record.reach(manifest.tasks[variant.task], goal, variant.joints, variant.judged, horizon)
        if total is not None:
            found[variant.id] = total
    verdicts = Counter(one.verdict if one.successes else NOT_SHOWN for one in found.values())
    counted = ", ".join(f"{verdicts[name]} {name.replace('_', ' ')}" for name in STANDINGS if verdicts[name])
    yield f"{len(found)} goals: {counted or 'nothing measured'}"
    for name, total in found.items():
        if not total.successes:
            yield f"{name}: no success from {total.attempts} initial states"


def measure(start: Start, attempt: Attempt | None = None) -> tuple[Tried, ...]:
    """Try the goals of a start in its simulator.

    Args:
        start: the start.
        attempt: who tries, as ``experts.run``; None for that.

    Raises:
        MissingSource, MissingRenderer, WrongVersion, InvalidOption: see ``certify``.
    """
    attempt = attempt or _oracle()
    manifest = manifests.load(start.registry)
    task, facts = manifest.task(start.task), manifest.scene_of(start.task)
    adapter = adapters.get(facts.adapter)
    reader = getattr(adapter, "anatomy", None)
    if reader is None:
        raise InvalidOption(f"{task.id}: the oracle cannot see scenes of the adapter {adapter.name!r}: no anatomy()")
    tasks = {one.id: one for one in manifest.scene_tasks(facts.id)}
    settings = SceneSettings(observation="state", settle_steps=manifest.settle)
    size = adapter.action_space(facts).shape[0]
    with closing(adapter.open(facts, tasks, settings)) as scene:
        try:
            given = unasked(scene, task, start, size)
            anatomy = reader(facts, tasks)
        except Exception as error:
            return tuple(Tried(start, goal, None, _reason(error)) for goal in start.goals)
        return tuple(_tried(scene, task, start, goal, given, anatomy, attempt) for goal in start.goals)


def unasked(scene: Scene, task: Task, start: Start, size: int) -> Mapping[Goal, int]:
    """Goals that hold at a start (0) or come true while the arm stands still (at this control step, from 1).

    Args:
        size: number of action components, of which the last is the gripper (-1 opens).
    """
    _reset(scene, task, start)
    still = np.zeros(size)
    still[-1] = -1.0
    found = {goal: 0 for goal in start.goals if scene.holds(goal)}
    for step in range(1, STILL + 1):
        scene.step(still)
        found |= {goal: step for goal in start.goals if goal not in found and scene.holds(goal)}
    return found


def _oracle() -> Attempt:
    from gym_grounding import experts

    attempt: Attempt = experts.run
    return attempt


def _reset(scene: Scene, task: Task, start: Start) -> None:
    scene.reset(task, start.init_state, **({"joints": dict(start.joints)} if start.joints else {}))


def _tried(
    scene: Scene,
    task: Task,
    start: Start,
    goal: Goal,
    given: Mapping[Goal, int],
    anatomy: Anatomy,
    attempt: Attempt,
) -> Tried:
    end = _End()
    joints = dict(start.joints) or None
    try:
        trial = attempt(
            scene,
            task,
            start.init_state,
            goal,
            anatomy=anatomy,
            joints=joints,
            horizon=start.horizon,
            on_step=end,
        )
    except Exception as error:  # whatever it is, the next goal is tried all the same
        return Tried(start, goal, None, _reason(error))
    if goal in given:
        first = trial.first if trial.first >= 0 else given[goal]
        return Tried(start, goal, Outcome(TRIVIAL, end.held, first))
    why = () if trial.verdict in (STABLE, TRIVIAL) else (trial.problem, tuple(trial.plan))
    return Tried(start, goal, Outcome(trial.verdict, end.held, trial.first, *why))


class _End:
    """Keeps whether the goal held after the last step that it was told of."""

    def __init__(self) -> None:
        self.held = False

    def __call__(self, before: object, clean: object, executed: object, after: object, held: bool) -> None:
        self.held = bool(held)


def _reason(error: Exception) -> str:
    """In words; what would stop every other episode as well is raised.

    Raises:
        MissingSource, MissingRenderer, WrongVersion, InvalidOption
    """
    if isinstance(error, MissingSource | MissingRenderer | WrongVersion | InvalidOption):
        raise error
    return f"{type(error).__name__}: {error}"

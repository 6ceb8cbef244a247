"""What is to be evaluated: a frozen plan, and the cells that follow from it. Both are plain data."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gym_grounding import conditions as condition_modules
from gym_grounding import manifest as manifests
from gym_grounding.errors import InvalidOption, UnknownName
from gym_grounding.manifest import Manifest
from gym_grounding.records import Cell
from gym_grounding.types import OBSERVATIONS, ORIENTATIONS, PICTURES, SLOTS, STARTS, TIERS, SceneSettings, Variant

HORIZON = 600
"""Policy steps per episode, settling not counted; LIBERO's own budget for all its suites."""
STOPS = ("default", "horizon", "goal")
"""When an episode ends before the horizon; see ``wrappers.GoalReport``."""
INIT_STATES = tuple(range(20))
"""Initial states evaluated by default, those of LIBERO's ``metric.py``."""

_ORDERS = (
    "0123456789 4687312095 6350429187 7430812596 4563802719 1230695748 3781629405 4297685130 1854096723 8364951207 "
    "6905712834 6831025974 8069417325 3864250719 7156328940 2095368714 3596248710 7659034281 2509316487 3512786049 "
    "3419768205"
)
LIBERO_ORDERS = tuple(tuple(int(digit) for digit in order) for order in _ORDERS.split())
"""The 21 training orders of LIBERO's ten-task suites: position -> task index. Source: ``libero.libero.benchmark``."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run evaluates. Two runs with equal plans, registries and versions give equal rows.

    ``Plan.make`` fills in names and defaults and checks them against the registry.

    Attributes:
        suite: name of the suite.
        order: task ids in training order; position t is stage t.
        stages: positions in ``order`` after which the policy is evaluated.
        conditions: conditions that are evaluated.
        tiers: tiers of the contrasts that are evaluated.
        slots: slots of the contrasts and collisions that are evaluated; None for all.
        tasks: ids of the tasks that are evaluated, in training order; None for all of ``order``.
        init_states: initial states of every variant.
        seeds: training seeds of the policy.
        final_conditions_every_stage: conditions that are meant for the last stage only are evaluated at every stage.
        horizon: greatest number of policy steps of an episode.
        stop: when an episode ends before that; see ``wrappers.GoalReport``.
        settings: how scenes are opened and observed.
        batch: number of episodes that run side by side in one process and share a call of the policy.
        registry: absolute path of the registry file; None for the shipped one. Where a file lies is no part of what is
            evaluated: it enters neither ``sha256`` nor ``differences`` (a run's header holds the hash of its content).
    """

    suite: str
    order: tuple[str, ...]
    stages: tuple[int, ...]
    conditions: tuple[str, ...]
    tiers: tuple[str, ...] = TIERS
    slots: tuple[str, ...] | None = None
    tasks: tuple[str, ...] | None = None
    init_states: tuple[int, ...] = INIT_STATES
    seeds: tuple[int, ...] = (0,)
    final_conditions_every_stage: bool = False
    horizon: int = HORIZON
    stop: str = STOPS[0]
    settings: SceneSettings = field(default_factory=SceneSettings)
    batch: int = 1
    registry: str | None = None

    @classmethod
    def make(
        cls,
        suite: str = "LiberoGoal",
        *,
        registry: str | Path | None = None,
        order: int | Sequence[str | int] = 0,
        conditions: Iterable[str] | None = None,
        tiers: Iterable[str] | None = None,
        slots: Iterable[str] | None = None,
        tasks: Iterable[str | int] | None = None,
        init_states: Iterable[int] = INIT_STATES,
        seeds: Iterable[int] = (0,),
        stages: str | Iterable[int] = "last",
        final_conditions_every_stage: bool = False,
        horizon: int = HORIZON,
        stop: str = STOPS[0],
        settings: SceneSettings | None = None,
        batch: int = 1,
    ) -> Plan:
        """A checked plan.

        Args:
            suite: name of the suite.
            registry: a registry file; None for the shipped one.
            order: index of one of ``LIBERO_ORDERS`` (0, the identity, for suites of any size), or the tasks themselves
                in training order, as ids or task indices; some of the suite's tasks are enough.
            conditions: names; None for those that hold the cells of a registry, ``conditions.standard()``. Control
                conditions are evaluated only when they are named.
            tiers, slots: names; None for all.
            tasks: ids or task indices; None for all of ``order``.
            init_states, seeds: numbers from 0.
            stages: ``last``, ``all``, or positions in ``order``.
            settings: None for the defaults with the registry's own number of settle steps.
            final_conditions_every_stage, horizon, stop, batch: as the attributes.

        Raises:
            UnknownName: a suite, task, condition, slot or tier that does not exist.
            InvalidOption: a number outside its domain, a repeated entry, or nothing left to evaluate.
            RegistryError: the registry is malformed.
        """
        manifest = manifests.load(registry)
        ids = _resolved_order(manifest, suite, order)
        chosen = None if tasks is None else frozenset(_task_ids(manifest, suite, tasks, "tasks"))
        plan = cls(
            suite=suite,
            order=ids,
            conditions=_names(
                "conditions",
                "condition",
                condition_modules.standard() if conditions is None else conditions,
                condition_modules.names(),
            ),
            tiers=_names("tiers", "tier", tiers, TIERS),
            slots=None if slots is None else _names("slots", "slot", slots, SLOTS),
            tasks=None if chosen is None else _in_order(chosen, ids),
            init_states=_numbers("init_states", init_states),
            seeds=_numbers("seeds", seeds),
            stages=_stages(stages, len(ids)),
            final_conditions_every_stage=final_conditions_every_stage,
            horizon=horizon,
            stop=stop,
            settings=settings or SceneSettings(settle_steps=manifest.settle),
            batch=batch,
            registry=None if registry is None else str(Path(registry).resolve()),
        )
        plan.validate(manifest)
        return plan

    def validate(self, manifest: Manifest | None = None) -> None:
        """Check every field, and that something is left to evaluate.

        Args:
            manifest: the registry; None reads the plan's own.

        Raises:
            UnknownName: a suite, task, condition, slot or tier that does not exist.
            InvalidOption: a number outside its domain, a repeated entry, or nothing left to evaluate.
        """
        manifest = manifest or manifests.load(self.registry)
        _task_ids(manifest, self.suite, self.order, "order")
        _in_order(frozenset(self.tasks or ()), self.order)
        _names("conditions", "condition", self.conditions, condition_modules.names())
        _names("tiers", "tier", self.tiers, TIERS)
        if self.slots is not None:
            _names("slots", "slot", self.slots, SLOTS)
        _stages(self.stages, len(self.order))
        _numbers("seeds", self.seeds)
        for task in self.tasks or self.order:
            self._check_init_states(task, manifest.task(task).init_states)
        checked_horizon(self.horizon)
        checked_stop(self.stop)
        checked_settings(self.settings)
        _at_least("batch", self.batch, 1)
        if not self.cells(manifest):
            raise InvalidOption(self._nothing_left())

    def cells(self, manifest: Manifest, stage: int | None = None) -> tuple[Cell, ...]:
        """Every cell in the order of evaluation: by stage, seed, position of the task, variant, initial state.

        At stage t the tasks at positions 0 to t are evaluated. Conditions that are not meant for every stage are
        evaluated at the last position of ``order`` only, unless ``final_conditions_every_stage``.

        Args:
            manifest: the registry.
            stage: only this position of ``order``, whether or not ``stages`` has it; None for all ``stages``.

        Raises:
            InvalidOption: no such stage.
        """
        stages = self.stages if stage is None else _stages((stage,), len(self.order))
        return tuple(
            Cell(position, variant.id, init_state, seed)
            for position in stages
            for variants in (self.variants(manifest, position),)
            for seed in self.seeds
            for variant in variants
            for init_state in self.init_states
        )

    def variants(self, manifest: Manifest, stage: int) -> tuple[Variant, ...]:
        """Variants that are evaluated at a stage, by position of their task, then in file order."""
        seen = self.order[: stage + 1]
        conditions = [
            name
            for name in self.conditions
            if self.final_conditions_every_stage
            or stage == len(self.order) - 1
            or condition_modules.get(name).every_stage
        ]
        tasks = [task for task in seen if self.tasks is None or task in self.tasks]
        chosen = manifest.select(self.suite, tasks, conditions, self.slots, self.tiers)
        return tuple(sorted(chosen, key=lambda variant: seen.index(variant.task)))

    def to_json(self) -> dict[str, Any]:
        """The plan as JSON data: objects, lists, text, numbers."""
        data: dict[str, Any] = json.loads(json.dumps({**dataclasses.asdict(self), "settings": self.settings.to_json()}))
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Plan:
        """The plan of ``to_json``'s data; its names are not checked (see ``validate``).

        Raises:
            InvalidOption: an unknown, missing or ill-typed field.
        """
        try:
            values: dict[str, Any] = {
                key: tuple(value) if isinstance(value, list) else value for key, value in data.items()
            }
            values["settings"] = SceneSettings(**values["settings"])
            return cls(**values)
        except (TypeError, KeyError, AttributeError) as error:
            raise InvalidOption(f"this is no plan: {error}") from error

    @property
    def sha256(self) -> str:
        """Hash (hex) of what is evaluated: every field except ``registry``."""
        data = self.to_json()
        del data["registry"]
        return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()

    def differences(self, other: Plan) -> list[tuple[str, object, object]]:
        """Fields that differ from those of another plan: (name, mine, theirs), ``registry`` left out."""
        mine, theirs = _flat(self), _flat(other)
        return [(key, mine[key], theirs[key]) for key in mine if key != "registry" and mine[key] != theirs[key]]

    def _check_init_states(self, task: str, count: int) -> None:
        last = _numbers("init_states", self.init_states)[-1]
        if self.init_states == INIT_STATES and last >= count:
            raise InvalidOption(
                f"init_states is 0:{len(INIT_STATES)} by default, but {task} has only 0 to {count - 1}; "
                f"give init_states=range({count}), or --init-states 0:{count}"
            )
        _below("init_states", last, count, task)

    def _nothing_left(self) -> str:
        picked = ", ".join(
            f"{name}={getattr(self, name)}" for name in ("conditions", "tiers", "slots", "tasks", "stages")
        )
        early = [name for name in self.conditions if not condition_modules.get(name).every_stage]
        last = len(self.order) - 1
        hint = ""
        if early and last not in self.stages and not self.final_conditions_every_stage:
            names = " and ".join(early)
            hint = f" {names} belong to the last stage: add stage {last} or set final_conditions_every_stage."
        return f"nothing to evaluate: no registered variant of {self.suite} fits {picked}.{hint}"


def cell_id(cell: Cell) -> str:
    """The cell as one word, such as ``9/LiberoGoal-T8-ContrastTarget1/4/0``: stage, variant, initial state, seed."""
    return f"{cell.stage}/{cell.variant}/{cell.init_state}/{cell.seed}"


def episode_seed(cell: Cell) -> int:
    """The seed of a cell's episode, in [0, 2**32): a function of the whole cell, equal on every machine."""
    variant = int.from_bytes(hashlib.sha256(cell.variant.encode()).digest()[:8], "big")
    sequence = np.random.SeedSequence([cell.seed, cell.stage, variant, cell.init_state])
    return int(sequence.generate_state(1)[0])


def checked_horizon(horizon: int) -> int:
    """The horizon itself.

    Raises:
        InvalidOption: no positive integer.
    """
    return _at_least("horizon", horizon, 1)


def checked_stop(stop: str) -> str:
    """The stop rule itself.

    Raises:
        InvalidOption: no such rule.
    """
    if stop not in STOPS:
        raise InvalidOption(f"stop is {stop!r}; choose one of {', '.join(STOPS)}")
    return stop


def checked_settings(settings: SceneSettings) -> SceneSettings:
    """The settings themselves.

    Raises:
        InvalidOption: a field outside its domain; names it.
    """
    choices = {"observation": OBSERVATIONS, "orientation": ORIENTATIONS, "pictures": PICTURES, "starts": STARTS}
    for name, known in choices.items():
        value = getattr(settings, name)
        if value not in known:
            raise InvalidOption(f"{name} is {value!r}; choose one of {', '.join(known)}")
    for name, least, most in (("image_size", 8, 4096), ("settle_steps", 0, 1000)):
        number = _at_least(name, getattr(settings, name), least)
        if number > most:
            raise InvalidOption(f"{name} is {number}; choose {least} to {most}")
    return settings


def _resolved_order(manifest: Manifest, suite: str, order: int | Sequence[str | int]) -> tuple[str, ...]:
    tasks = manifest.suite_tasks(suite)
    if not isinstance(order, int):
        return _task_ids(manifest, suite, order, "order")
    if isinstance(order, bool):
        raise InvalidOption(f"order is {order}; give a number or list the tasks themselves")
    if order == 0:
        return tuple(task.id for task in tasks)
    if not 0 < order < len(LIBERO_ORDERS):
        raise InvalidOption(f"order is {order}; choose 0 to {len(LIBERO_ORDERS) - 1}, or list the tasks themselves")
    if {task.index for task in tasks} != set(LIBERO_ORDERS[order]):
        raise InvalidOption(f"order is {order}, but {suite} has not LIBERO's ten tasks; choose 0 or list its tasks")
    by_index = {task.index: task.id for task in tasks}
    return tuple(by_index[index] for index in LIBERO_ORDERS[order])


def _task_ids(manifest: Manifest, suite: str, tasks: Iterable[str | int], option: str) -> tuple[str, ...]:
    known = {task.id: task.index for task in manifest.suite_tasks(suite)}
    by_index = {index: name for name, index in known.items()}
    if isinstance(tasks, str) or not isinstance(tasks, Iterable):
        raise InvalidOption(f"{option} is {tasks!r}; give a sequence of task ids or task indices")
    ids = []
    for task in tasks:
        if isinstance(task, bool) or not isinstance(task, str | int):
            raise InvalidOption(f"{option} names {task!r}; give task ids or task indices")
        name = task if isinstance(task, str) else by_index.get(task, f"{suite}-T{task}")
        if name not in known:
            raise UnknownName("task", name, known, option)
        ids.append(name)
    return _unrepeated(option, ids)


def _in_order(tasks: frozenset[str], order: tuple[str, ...]) -> tuple[str, ...]:
    for task in sorted(tasks - set(order)):
        raise UnknownName("task of the training order", task, order, "tasks")
    return tuple(task for task in order if task in tasks)


def _names(option: str, kind: str, names: Iterable[str] | None, known: tuple[str, ...]) -> tuple[str, ...]:
    if names is None:
        return known
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidOption(f"{option} is {names!r}; give a sequence of names")
    listed = _unrepeated(option, [str(name) for name in names])
    for name in listed:
        if name not in known:
            raise UnknownName(kind, name, known, option)
    return tuple(name for name in known if name in listed)


def _numbers(option: str, numbers: Iterable[int]) -> tuple[int, ...]:
    if isinstance(numbers, str) or not isinstance(numbers, Iterable):
        raise InvalidOption(f"{option} is {numbers!r}; give a sequence of numbers")
    return tuple(sorted(_unrepeated(option, [_at_least(option, number, 0) for number in numbers])))


def _stages(stages: str | Iterable[int], count: int) -> tuple[int, ...]:
    if stages == "last":
        return (count - 1,)
    if stages == "all":
        return tuple(range(count))
    if isinstance(stages, str):
        raise InvalidOption(f"stages is {stages!r}; choose last, all, or positions 0 to {count - 1}")
    numbers = _numbers("stages", stages)
    _below("stages", numbers[-1], count, f"an order of {count} tasks")
    return numbers


def _unrepeated(option: str, values: list[Any]) -> tuple[Any, ...]:
    if not values:
        raise InvalidOption(f"{option} is empty; name at least one, or leave the option out")
    seen: set[Any] = set()
    for value in values:
        if value in seen:
            raise InvalidOption(f"{option} names {value!r} twice; name it once")
        seen.add(value)
    return tuple(values)


def _at_least(option: str, number: object, least: int) -> int:
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < least:
        raise InvalidOption(f"{option} is {number!r}; give integers from {least} on")
    return int(number)


def _below(option: str, number: int, count: int, owner: str) -> None:
    if number >= count:
        raise InvalidOption(f"{option} has {number}, but {owner} has only 0 to {count - 1}")


def _flat(plan: Plan) -> dict[str, object]:
    settings = {f"settings.{key}": value for key, value in dataclasses.asdict(plan.settings).items()}
    return {key: value for key, value in plan.to_json().items() if key != "settings"} | settings

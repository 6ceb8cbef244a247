"""A suite as a sequence of tasks: what is trained and what is evaluated at each stage, walked by ``reset``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypedDict, Unpack

import gymnasium
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray

from gym_grounding import manifest as manifests
from gym_grounding.adapters import Observation
from gym_grounding.env import SceneEnv
from gym_grounding.errors import InvalidOption
from gym_grounding.plan import Plan, cell_id, episode_seed
from gym_grounding.records import Cell
from gym_grounding.types import SceneSettings, Task
from gym_grounding.wrappers import NAMESPACE, Instruction, compose

ENTRY_POINT = "gym_grounding.schedule:make_schedule"
"""A string, so that a schedule's spec survives JSON and other processes."""


class ScheduleOptions(TypedDict, total=False):
    """What else ``ContinualSchedule`` takes: see ``plan.Plan.make``, and ``types.SceneSettings`` for the last six."""

    order: int | Sequence[str | int]
    conditions: Iterable[str] | None
    tiers: Iterable[str] | None
    slots: Iterable[str] | None
    tasks: Iterable[str | int] | None
    init_states: Iterable[int]
    seeds: Iterable[int]
    final_conditions_every_stage: bool
    horizon: int
    stop: str
    observation: str
    image_size: int
    orientation: str
    settle_steps: int | None
    pictures: str
    starts: str


class ContinualSchedule(gymnasium.Wrapper[dict[str, Any], NDArray[Any], dict[str, Any], NDArray[Any]]):
    """Lays a training order over a suite and walks the evaluation of each stage, one cell per episode.

    ## Description
    Position t of the order is stage t. At stage t the policy has been trained on the tasks at positions 0 to t:
    ``training_task`` names the newest, ``training_env`` is its original environment. Evaluated is every cell (variant,
    initial state, seed) of those tasks: originals and paraphrases at each stage, contrasts, collisions and the named
    controls at the last one (or at every one, see the arguments). ``cells`` lists them, and successive ``reset`` calls
    walk the same list.

    The walk: ``reset()`` goes on to the next cell of the stage; after the last cell the walk starts again at the first,
    so that vector environments can go on (``cells_left`` counts what is left of it). ``reset(seed=s)`` begins the walk
    at the first cell, ``reset(options={"cell": k})`` goes on at cell number k. ``set_stage`` and ``advance`` begin the
    walk of another stage.

    ## Action Space
    That of the scenes, see ``env.SceneEnv``; the same for all.

    ## Observation Space
    That of ``wrappers.Instruction``; the same for all scenes, else the constructor refuses the suite (the ``state``
    observation of suites whose scenes hold different objects).

    ## Starting State
    The initial state of the cell. Without a seed, ``np_random`` is seeded with the cell's own ``plan.episode_seed``.

    ## Reward
    That of ``wrappers.GoalReport``.

    ## Episode End
    That of ``wrappers.GoalReport``.

    ## Information
    Added to that of ``wrappers.Instruction``:
    - ``stage`` (int): position in the order.
    - ``cell`` (str): the cell as ``plan.cell_id`` writes it: stage, variant, initial state, seed.
    - ``cells_left`` (int): cells of the stage that this walk has not begun.

    ## Arguments
    - ``suite``, ``registry``, ``order``, ``conditions``, ``tiers``, ``slots``, ``tasks``, ``init_states``, ``seeds``,
      ``final_conditions_every_stage``, ``horizon``, ``stop``: see ``plan.Plan.make``.
    - ``stage``: the stage to begin with.
    - ``render_mode``: ``rgb_array`` or None.
    - ``observation``, ``image_size``, ``orientation``, ``settle_steps``, ``pictures``, ``starts``: see
      ``types.SceneSettings``.

    ``ContinualSchedule.of(plan)`` takes a plan instead.

    ## Version History
    - v0: first version.

    ``unwrapped`` and ``get_wrapper_attr`` lead to the present cell's environment (before the first ``reset``, to the
    original of the order's first task), so they change with the cell. ``spec`` is that of the schedule.

    Attributes:
        plan: the whole schedule as a plan; its ``cells`` are the ones walked here.
        cell: the cell of the present episode; None before the first ``reset`` of a stage.

    Raises:
        UnknownName, InvalidOption, RegistryError: see ``plan.Plan.make``.
    """

    def __init__(
        self,
        suite: str = "LiberoGoal",
        registry: str | None = None,
        *,
        stage: int = 0,
        render_mode: str | None = None,
        **options: Unpack[ScheduleOptions],
    ) -> None:
        self.plan = _planned(suite, registry, options)
        self._manifest = manifests.load(self.plan.registry)
        self._render_mode = render_mode
        gymnasium.Wrapper.__init__(self, self._original(self.plan.order[0]))
        self._check_spaces()
        # Spaces keep their generator, so that a seeded action space survives the change of scenes.
        self.action_space, self.observation_space = self.env.action_space, self.env.observation_space
        self.cell: Cell | None = None
        self.set_stage(stage)

    @classmethod
    def of(cls, plan: Plan, stage: int | None = None, render_mode: str | None = None) -> ContinualSchedule:
        """The schedule that walks the cells of a plan. All stages of its order can be walked, not only its ``stages``.

        Args:
            plan: the plan; its ``batch`` plays no part.
            stage: the stage to begin with; None for the first of the plan's ``stages``.
            render_mode: ``rgb_array`` or None.

        Raises:
            UnknownName, InvalidOption, RegistryError: see ``plan.Plan.make``.
        """
        return cls(**_arguments(plan), stage=plan.stages[0] if stage is None else stage, render_mode=render_mode)

    @property
    def spec(self) -> EnvSpec:  # type: ignore[override]  # a property, as in Gymnasium's own wrappers
        """What ``gymnasium.make`` rebuilds this schedule from, at its present stage; no registered id."""
        return EnvSpec(
            f"{NAMESPACE}Schedule/{self.plan.suite}-v{self._manifest.version}",
            ENTRY_POINT,
            kwargs={**_arguments(self.plan), "stage": self._stage, "render_mode": self._render_mode},
            order_enforce=False,
            disable_env_checker=True,
        )

    @property
    def stage(self) -> int:
        """The present stage, a position in the order."""
        return self._stage

    @property
    def stages(self) -> int:
        """Number of stages."""
        return len(self.plan.order)

    @property
    def cells_left(self) -> int:
        """Number of cells of the stage that this walk has not begun."""
        return len(self._cells) - self._next

    def set_stage(self, stage: int) -> None:
        """Begin the walk of another stage; the next ``reset`` takes its first cell.

        Raises:
            InvalidOption: no such stage.
        """
        self._cells = self.cells(stage)
        self._stage, self._next, self.cell = stage, 0, None

    def advance(self) -> int:
        """Go on to the next stage, and return it.

        Raises:
            InvalidOption: the present stage is the last.
        """
        if self._stage + 1 == self.stages:
            raise InvalidOption(f"stage {self._stage} is the last; set_stage(0) begins again")
        self.set_stage(self._stage + 1)
        return self._stage

    def cells(self, stage: int | None = None) -> tuple[Cell, ...]:
        """The cells of a stage in the order of the walk; None means the present stage.

        Raises:
            InvalidOption: no such stage.
        """
        return self.plan.cells(self._manifest, self._stage if stage is None else stage)

    def training_task(self, stage: int | None = None) -> Task:
        """The task that is trained at a stage; None means the present stage.

        Raises:
            InvalidOption: no such stage.
        """
        number = self._stage if stage is None else stage
        if number not in range(self.stages):
            raise InvalidOption(f"stage is {number}; choose 0 to {self.stages - 1}")
        return self._manifest.task(self.plan.order[number])

    def training_env(self, stage: int | None = None) -> Instruction:
        """A new environment of the task that is trained at a stage, with its original instruction; close it yourself.

        Raises:
            InvalidOption: no such stage.
        """
        return self._original(self.training_task(stage).id)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start the next cell's episode; see *Description*.

        Raises:
            InvalidOption: an unknown option, no such cell, or a stage without cells.
        """
        number = self._chosen(seed, options)
        cell = self._cells[number]
        if not isinstance(self.env, Instruction) or self.env.get_wrapper_attr("variant").id != cell.variant:
            self.env.close()
            self.env = self._compose(cell.variant)
        self.cell, self._next = cell, number + 1
        episode = {"init_state": cell.init_state}
        observation, info = self.env.reset(seed=episode_seed(cell) if seed is None else seed, options=episode)
        return observation, self._placed(info)

    def step(self, action: NDArray[Any]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Advance one control step."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, float(reward), terminated, truncated, self._placed(info)

    def _chosen(self, seed: int | None, options: Mapping[str, Any] | None) -> int:
        rest = dict(options or {})
        if not self._cells:
            raise InvalidOption(f"stage {self._stage} has no cells: none of its tasks is in {self.plan.tasks}")
        number = rest.pop("cell", None)
        if rest:
            raise InvalidOption(
                f"no reset option {', '.join(map(repr, rest))} under a schedule: the only one is 'cell', a position in "
                "cells(); initial states belong to the cells"
            )
        if number is None:
            return 0 if seed is not None else self._next % len(self._cells)
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(self._cells):
            raise InvalidOption(f"reset option cell is {number!r}: stage {self._stage} has 0 to {len(self._cells) - 1}")
        return number

    def _placed(self, info: Mapping[str, Any]) -> dict[str, Any]:
        assert self.cell is not None
        return {**info, "stage": self.cell.stage, "cell": cell_id(self.cell), "cells_left": self.cells_left}

    def _compose(self, variant: str) -> Instruction:
        plan, settings = self.plan, self.plan.settings
        return compose(
            variant,
            plan.registry,
            plan.horizon,
            plan.stop,
            observation=settings.observation,
            image_size=settings.image_size,
            orientation=settings.orientation,
            settle_steps=settings.settle_steps,
            pictures=settings.pictures,
            starts=settings.starts,
            render_mode=self._render_mode,
        )

    def _original(self, task: str) -> Instruction:
        return self._compose(self._manifest.select(tasks=[task], conditions=["original"])[0].id)

    def _check_spaces(self) -> None:
        first = self.env.unwrapped
        assert isinstance(first, SceneEnv)
        seen = {first.task.scene}
        for task in map(self._manifest.task, self.plan.order):
            if task.scene in seen:
                continue
            seen.add(task.scene)
            other = self._original(task.id).unwrapped
            assert isinstance(other, SceneEnv)
            mine, theirs = first.observation_space, other.observation_space
            assert isinstance(mine, spaces.Dict)
            assert isinstance(theirs, spaces.Dict)
            keys = mine.keys() | theirs.keys()
            differing = sorted(key for key in keys if mine.spaces.get(key) != theirs.spaces.get(key))
            if differing or first.action_space != other.action_space:
                raise InvalidOption(
                    f"{first.task.id} and {task.id} differ in {', '.join(differing) or 'actions'}, so one environment "
                    "cannot hold both: choose observation='pixels', or evaluate cell by cell with cells()"
                )


def make_schedule(**arguments: Any) -> ContinualSchedule:
    """``ContinualSchedule(**arguments)``, for Gymnasium to call."""
    return ContinualSchedule(**arguments)


# Where a class has a property of that name, older versions of gymnasium.make take it for its value.
make_schedule.metadata = SceneEnv.metadata  # type: ignore[attr-defined]


def _planned(suite: str, registry: str | None, options: ScheduleOptions) -> Plan:
    given: dict[str, Any] = dict(options)
    settings = {field.name: given.pop(field.name) for field in fields(SceneSettings) if field.name in given}
    if settings.get("settle_steps") is None:
        settings["settle_steps"] = manifests.load(registry).settle
    return Plan.make(suite, registry=registry, stages="all", settings=SceneSettings(**settings), **given)


def _arguments(plan: Plan) -> dict[str, Any]:
    """The arguments of ``ContinualSchedule`` that give a plan's schedule, as JSON data."""
    data = plan.to_json()
    settings: dict[str, Any] = data.pop("settings")
    return settings | {name: value for name, value in data.items() if name not in ("stages", "batch")}

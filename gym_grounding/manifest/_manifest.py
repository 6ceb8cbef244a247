"""The parsed registry."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from gym_grounding import conditions as known_conditions
from gym_grounding.errors import UnknownName
from gym_grounding.types import SLOTS, TIERS, Absent, Goal, SceneFacts, Task, Variant

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SuiteInfo:
    """What a suite's tasks have in common.

    Attributes:
        adapter: name of the adapter that opens its scenes.
        source: the adapter's own name of the suite, such as ``libero_goal``.
    """

    adapter: str
    source: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything a registry file says.

    Attributes:
        path: the file.
        sha256: hash (hex) of its bytes; part of every run's header.
        version: the N in ``-vN`` of every environment id.
        physics: accepted simulator versions by package, and ``settle``: control steps before the first observation.
        suites: by name, such as ``LiberoGoal``.
        scenes: by id.
        tasks: by id, in file order.
        variants: by id, in file order.
        absent: cells without a registered variant, and refused proposals, in file order.
        oracle: what tried to reach the goals: ``version``, ``physics`` (the simulator's versions, in one text) and
            ``horizon`` [control steps]; empty where nothing did.
    """

    path: str
    sha256: str
    version: int
    physics: Mapping[str, object]
    suites: Mapping[str, SuiteInfo]
    scenes: Mapping[str, SceneFacts]
    tasks: Mapping[str, Task]
    variants: Mapping[str, Variant]
    absent: tuple[Absent, ...] = ()
    oracle: Mapping[str, object] = field(default_factory=dict)

    @property
    def certifier(self) -> str:
        """Whose certificates the rows hold, as a sentence for a page; empty where nothing tried to reach the goals."""
        if not self.oracle:
            return ""
        oracle = self.oracle
        return f"Oracle {oracle['version']} in {oracle['physics']}, at most {oracle['horizon']} control steps."

    @property
    def settle(self) -> int:
        """Control steps between setting the initial state and the first observation."""
        settle = self.physics["settle"]
        assert isinstance(settle, int)  # the loader checks it
        return settle

    def task(self, name: str) -> Task:
        """The task with this id.

        Raises:
            UnknownName: no such task.
        """
        return self._find("task", name, self.tasks)

    def variant(self, name: str) -> Variant:
        """The variant with this id.

        Raises:
            UnknownName: no such variant.
        """
        return self._find("variant", name, self.variants)

    def scene_of(self, task: str) -> SceneFacts:
        """The scene in which a task lives.

        Raises:
            UnknownName: no such task.
        """
        return self.scenes[self.task(task).scene]

    def adapter_name(self, task: str) -> str:
        """Name of the adapter that opens a task's scene.

        Raises:
            UnknownName: no such task.
        """
        return self.suites[self.task(task).suite].adapter

    def suite_tasks(self, suite: str) -> tuple[Task, ...]:
        """Tasks of a suite by their index.

        Raises:
            UnknownName: no such suite.
        """
        self._find("suite", suite, self.suites)
        return tuple(sorted((task for task in self.tasks.values() if task.suite == suite), key=lambda task: task.index))

    def scene_tasks(self, scene: str) -> tuple[Task, ...]:
        """Tasks that live in a scene, in file order.

        Raises:
            UnknownName: no such scene.
        """
        self._find("scene", scene, self.scenes)
        return tuple(task for task in self.tasks.values() if task.scene == scene)

    def select(
        self,
        suite: str | None = None,
        tasks: Iterable[str] | None = None,
        conditions: Iterable[str] | None = None,
        slots: Iterable[str] | None = None,
        tiers: Iterable[str] | None = None,
    ) -> tuple[Variant, ...]:
        """Variants in file order. None selects everything; a filter on slots or tiers keeps variants that have none.

        Raises:
            UnknownName: a suite, task, condition, slot or tier that does not exist.
        """
        if suite is not None:
            self._find("suite", suite, self.suites)
        wanted_tasks = self._names("task", tasks, self.tasks)
        wanted_conditions = self._names("condition", conditions, known_conditions.names())
        wanted_slots = self._names("slot", slots, SLOTS)
        wanted_tiers = self._names("tier", tiers, TIERS)
        return tuple(
            variant
            for variant in self.variants.values()
            if (suite is None or self.tasks[variant.task].suite == suite)
            and (wanted_tasks is None or variant.task in wanted_tasks)
            and (wanted_conditions is None or variant.condition in wanted_conditions)
            and (wanted_slots is None or variant.slot is None or variant.slot in wanted_slots)
            and (wanted_tiers is None or variant.tier is None or variant.tier in wanted_tiers)
        )

    def goals(self, variant: str) -> dict[str, Goal]:
        """Goals to watch in an episode of a variant, by label.

        ``original`` is the task's own; ``target`` the variant's, if it has one; then, under its task id, the goal of
        every other task of the scene that equals neither.

        Raises:
            UnknownName: no such variant.
        """
        row = self.variant(variant)
        task = self.tasks[row.task]
        goals = {"original": task.goal}
        if row.goal is not None:
            goals["target"] = row.goal
        own = set(goals.values())
        others = {other.id: other.goal for other in self.scene_tasks(task.scene) if other.goal not in own}
        return goals | others

    def _find(self, kind: str, name: str, known: Mapping[str, T]) -> T:
        if name not in known:
            raise UnknownName(kind, name, known, self.path)
        return known[name]

    def _names(self, kind: str, names: Iterable[str] | None, known: Iterable[str]) -> frozenset[str] | None:
        if names is None:
            return None
        wanted = frozenset([names] if isinstance(names, str) else names)
        everything = frozenset(known)
        for name in sorted(wanted - everything):
            raise UnknownName(kind, name, everything, self.path)
        return wanted

"""The scenes and tasks that the registry is about: LIBERO's files, with the lexicon's nouns and argument roles."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from gym_grounding.adapters.libero import definitions as libero
from gym_grounding.errors import RegistryError, UnknownName
from gym_grounding.types import Entity, Goal, Predicate, SceneFacts, Slots, Task
from gym_grounding.variants.language import lexicon, meaning, parser

ADAPTER = "libero"
GOAL_GRADE = 0.04
"""A zone of a work surface serves as a goal when half its sides are at least this long [m]. LIBERO's smaller ones only
say where things start; after settling even those things are often outside."""
_KINDS_OF_CABINET = {"wooden_cabinet": "cabinet", "white_cabinet": "cabinet"}
"""Categories that differ in colour alone count as one kind when demonstrations are compared."""

Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Definitions:
    """Everything that is known before anything is proposed.

    Attributes:
        suites: suite -> the adapter's name of it.
        scenes: scene id -> scene.
        tasks: task id -> task, by suite and index.
        demonstrated: ``literal_key`` of every goal literal of LIBERO's 130 tasks.
        zones: scene id -> zone -> half sides [m], (x, y).
    """

    suites: Mapping[str, str]
    scenes: Mapping[str, SceneFacts]
    tasks: Mapping[str, Task]
    demonstrated: frozenset[Key]
    zones: Mapping[str, Mapping[str, tuple[float, ...]]]

    def task(self, task_id: str) -> Task:
        """The task of that id.

        Raises:
            UnknownName: no such task.
        """
        try:
            return self.tasks[task_id]
        except KeyError:
            raise UnknownName("task", task_id, self.tasks) from None

    def scene_of(self, task_id: str) -> SceneFacts:
        """The scene of a task."""
        return self.scenes[self.task(task_id).scene]

    def tasks_of(self, suite: str) -> tuple[Task, ...]:
        """The tasks of a suite, by index.

        Raises:
            UnknownName: no such suite.
        """
        if suite not in self.suites:
            raise UnknownName("suite", suite, self.suites)
        return tuple(task for task in self.tasks.values() if task.suite == suite)

    def background(self, scene_id: str) -> tuple[str, ...]:
        """Nouns of things that the scene's arena shows although no goal may name them."""
        return self.scenes[scene_id].background

    def half_sizes(self, scene_id: str) -> Mapping[str, tuple[float, ...]]:
        """Zone -> half sides [m], (x, y)."""
        return self.zones[scene_id]

    def literal_key(self, predicate: Predicate, scene_id: str) -> Key:
        """What a literal asks for, by kinds instead of instances; see ``demonstrated``.

        Returns:
            (predicate, category of the thing moved, category of the target). A thing that is opened, closed or turned
            is the target, and the first is empty. A site is written ``cabinet/top_region``, a zone by its own part
            of its name, such as ``stove_front_region``; an added region has an empty target. Cabinets of both colours
            are ``cabinet``.
        """
        scene = self.scenes[scene_id]
        categories = {name: entity.category for name, entity in scene.entities.items()}
        carriers = {entity.name: entity.category for entity in scene.of_kind("site", "zone")}
        return _key(predicate, categories, carriers, [entity.name for entity in scene.of_kind("surface")])


@functools.cache
def load() -> Definitions:
    """Read LIBERO's files; imports LIBERO on first use (seconds), starts no simulator.

    Raises:
        MissingSource, WrongVersion: LIBERO cannot be used; says what to install.
        RegistryError: a category or part of a scene that the lexicon does not know.
    """
    files = {suite: libero.tasks(source) for suite, source in libero.SUITES.items()}
    scenes: dict[str, SceneFacts] = {}
    for of_suite in files.values():
        for file in of_suite:
            scene = file.scene
            if scene.id not in scenes:
                sharing = [other for other in of_suite if other.scene.id == scene.id]
                scenes[scene.id] = _scene(scene, _sides(sharing))
    tasks = [_task(suite, file, scenes) for suite, of_suite in files.items() for file in of_suite]
    zones = {file.scene.id: _half_sizes(file.scene) for of_suite in files.values() for file in of_suite}
    demonstrated = frozenset(_demonstrated())
    return Definitions(dict(libero.SUITES), scenes, {task.id: task for task in tasks}, demonstrated, zones)


def _task(suite: str, file: libero.TaskFile, scenes: Mapping[str, SceneFacts]) -> Task:
    return Task(
        id=f"{suite}-T{file.index}",
        suite=suite,
        index=file.index,
        name=file.name,
        source=file.source,
        instruction=file.language,
        source_instruction=file.source_language,
        slots=_slots(file.language, scenes[file.scene.id]),
        goal=Goal(file.goal),
        scene=file.scene.id,
        init_states=file.init_states(),
        checksums=file.checksums(),
    )


def _slots(text: str, scene: SceneFacts) -> Slots:
    return meaning.slots_of(parser.parse(text, scene))


def _scene(file: libero.SceneFile, sides: Mapping[str, str]) -> SceneFacts:
    entities: dict[str, Entity] = {}
    for name, category in {**file.objects, **file.fixtures}.items():
        known = _category(category, name, file)
        kind = "object" if name in file.objects else "surface" if name in file.surfaces else "fixture"
        names = known.names + ((f"{sides[name]} {known.names[0]}",) if name in sides else ())
        entities[name] = Entity(name, category, kind, known.joints, frozenset(known.supports), names)
    half_sizes = _half_sizes(file)
    for name, carrier in file.regions.items():
        if name in half_sizes:
            large = min(half_sizes[name]) >= GOAL_GRADE
            entities[name] = Entity(name, carrier, "zone", supports=frozenset({"on.reference"} if large else ()))
        else:
            entities[name] = _site(name, carrier, file)
    background = tuple(lexicon.BACKGROUND.get(file.problem, ()))
    return SceneFacts(file.id, ADAPTER, file.problem, entities, background)


def _site(name: str, carrier: str, file: libero.SceneFile) -> Entity:
    category = {**file.objects, **file.fixtures}[carrier]
    parts = _category(category, carrier, file).parts
    suffix = name.removeprefix(f"{carrier}_")
    if suffix not in parts:
        known = ", ".join(sorted(parts)) or "(none)"
        raise RegistryError(f"Scene {file.id}: {name}: the lexicon's {category} has no part {suffix!r}. Known: {known}")
    part = parts[suffix]
    return Entity(name, carrier, "site", part.joints, frozenset(part.supports), tuple(part.names))


def _category(category: str, name: str, file: libero.SceneFile) -> lexicon.Category:
    try:
        return lexicon.CATEGORIES[category]
    except KeyError:
        error = UnknownName("category", category, lexicon.CATEGORIES, "lexicon")
        raise RegistryError(f"Scene {file.id}: {name}: {error}") from None


def _half_sizes(file: libero.SceneFile) -> dict[str, tuple[float, ...]]:
    """Zone -> half sides [m]."""
    return {
        name: (round((boxes[0][2] - boxes[0][0]) / 2, 4), round((boxes[0][3] - boxes[0][1]) / 2, 4))
        for name, boxes in file.ranges.items()
        if boxes
    }


def _sides(files: Iterable[libero.TaskFile]) -> dict[str, str]:
    """``left`` or ``right`` of each of two things of a category that all tasks of a scene start on the same two zones.

    Left is -y, as the agent view shows it.
    """
    first, *others = files
    scene = first.scene
    found: dict[str, str] = {}
    for category in dict.fromkeys(scene.objects.values()):
        pair = [name for name, one in scene.objects.items() if one == category]
        zones = [first.placed.get(name, "") for name in pair]
        same = all([other.placed.get(name, "") for name in pair] == zones for other in others)
        if len(pair) == 2 and same and all(scene.ranges.get(zone) for zone in zones):
            centres = [sum(scene.ranges[zone][0][1::2]) / 2 for zone in zones]
            left, right = (name for _, name in sorted(zip(centres, pair, strict=True)))
            found |= {left: "left", right: "right"}
    return found


def _demonstrated() -> Iterable[Key]:
    for source in libero.DEMONSTRATED_IN:
        for file in libero.tasks(source):
            categories = {**file.scene.objects, **file.scene.fixtures}
            for predicate in file.goal:
                yield _key(predicate, categories, file.scene.regions, file.scene.surfaces)


def _key(
    predicate: Predicate, categories: Mapping[str, str], carriers: Mapping[str, str], surfaces: Collection[str]
) -> Key:
    *moved, target = predicate.args
    if predicate.name == "lifted":
        moved, target = [target], ""
    subject = categories[moved[0]] if moved else ""
    carrier = carriers.get(target)
    if carrier is None:
        return (predicate.name, _kind(subject), _kind(categories.get(target, "")))
    part = target.removeprefix(f"{carrier}_")
    return (predicate.name, _kind(subject), part if carrier in surfaces else f"{_kind(categories[carrier])}/{part}")


def _kind(category: str) -> str:
    return _KINDS_OF_CABINET.get(category, category)

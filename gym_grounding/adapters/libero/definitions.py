"""What LIBERO's own files say of its tasks: scenes, goals, texts and checksums. No simulator is started."""

from __future__ import annotations

import functools
import hashlib
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gym_grounding.adapters.libero import facts, versions
from gym_grounding.errors import MissingSource
from gym_grounding.types import Predicate

SUITES: Mapping[str, str] = {
    "LiberoGoal": "libero_goal",
    "LiberoSpatial": "libero_spatial",
    "LiberoObject": "libero_object",
    "LiberoLong": "libero_10",
}
"""Suite -> LIBERO's name of it, in the order in which this package lists them."""
DEMONSTRATED_IN = (*SUITES.values(), "libero_90")
"""Every suite of LIBERO's own; their 130 tasks are those that demonstrations exist for."""

Ranges = tuple[tuple[float, float, float, float], ...]


@dataclass(frozen=True, slots=True)
class SceneFile:
    """What a BDDL file says of its scene.

    Attributes:
        problem: LIBERO's class of scene, such as ``libero_tabletop_manipulation``.
        objects: movable object -> category, in file order.
        fixtures: fixture or work surface -> category, in file order.
        regions: region -> the object, fixture or work surface that carries it, in file order; regions of things that
            are not in the scene are left out.
        ranges: region -> boxes (x_min, y_min, x_max, y_max) [m] relative to the centre of its work surface, rounded to
            4 decimals; none for a region of an object or fixture.
        stale: regions that were left out.
    """

    problem: str
    objects: Mapping[str, str]
    fixtures: Mapping[str, str]
    regions: Mapping[str, str]
    ranges: Mapping[str, Ranges]
    stale: tuple[str, ...]

    @property
    def id(self) -> str:
        """sha256, first 12 digits, of the sorted JSON of problem, objects, fixtures and regions."""
        content = {
            "problem": self.problem,
            "objects": _by_category(self.objects),
            "fixtures": _by_category(self.fixtures),
            "regions": self.ranges,
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:12]

    @property
    def surfaces(self) -> tuple[str, ...]:
        """Work surfaces: the fixtures that carry regions with ranges."""
        carriers = {self.regions[name] for name, boxes in self.ranges.items() if boxes}
        return tuple(name for name in self.fixtures if name in carriers)


@dataclass(frozen=True, slots=True)
class TaskFile:
    """What LIBERO's files say of a task.

    Attributes:
        source: LIBERO's suite name, such as ``libero_goal``.
        index: position in LIBERO's map of that suite.
        name: file stem.
        language: LIBERO's ``task.language``, made from the file name.
        source_language: the BDDL file's ``:language``, lower case as LIBERO's reader yields it.
        scene: the scene.
        placed: object or fixture -> region or thing that it starts on or in, as the BDDL ``:init`` says.
        goal: the BDDL ``:goal``.
    """

    source: str
    index: int
    name: str
    language: str
    source_language: str
    scene: SceneFile
    placed: Mapping[str, str]
    goal: tuple[Predicate, ...]

    @property
    def bddl(self) -> Path:
        """Where the BDDL file is."""
        return facts.root() / "bddl_files" / self.source / f"{self.name}.bddl"

    @property
    def init(self) -> Path:
        """Where the initial states are."""
        return facts.root() / "init_files" / self.source / f"{self.name}.pruned_init.npz"

    def checksums(self) -> dict[str, str]:
        """sha256 (hex) of the files by role: ``bddl``, ``init``.

        Raises:
            MissingSource: a file cannot be read.
        """
        return {"bddl": _sha256(self.bddl), "init": _sha256(self.init)}

    def init_states(self) -> int:
        """Number of stored initial states.

        Raises:
            MissingSource: the file cannot be read or holds no such array.
        """
        try:
            with np.load(self.init, allow_pickle=False) as archive:
                return len(archive["states"])
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise MissingSource(f"{self.init} holds no array 'states' ({error}). {_reinstall()}") from error


@functools.cache
def tasks(source: str) -> tuple[TaskFile, ...]:
    """The tasks of one of LIBERO's suites in the order of LIBERO's task map. Imports LIBERO on first use (seconds).

    Raises:
        MissingSource: LIBERO is not installed, or a BDDL file is absent.
        WrongVersion: see ``versions.check_versions``.
    """
    facts.root()  # says how to install LIBERO before anything imports it
    from gym_grounding.adapters.libero.robosuite_names import task_maps

    rows = enumerate(task_maps[source].items())
    return tuple(_task(source, index, name, task.language) for index, (name, task) in rows)


def _task(source: str, index: int, name: str, language: str) -> TaskFile:
    from gym_grounding.adapters.libero.robosuite_names import robosuite_parse_problem

    path = facts.root() / "bddl_files" / source / f"{name}.bddl"
    if not path.is_file():
        raise MissingSource(f"{source} task {index}: {path} is absent. {_reinstall()}")
    problem: dict[str, Any] = robosuite_parse_problem(str(path))
    placed = {literal[1]: literal[2] for literal in problem["initial_state"] if len(literal) == 3}
    goal = tuple(Predicate(literal[0], tuple(literal[1:])) for literal in problem["goal_state"])
    written = " ".join(problem["language_instruction"])
    return TaskFile(source, index, name, language, written, _scene(problem), placed, goal)


def _scene(problem: Mapping[str, Any]) -> SceneFile:
    objects, fixtures = _by_name(problem["objects"]), _by_name(problem["fixtures"])
    regions, ranges, stale = {}, {}, []
    for name, region in problem["regions"].items():
        if region["target"] not in {*objects, *fixtures}:
            stale.append(name)
            continue
        regions[name] = region["target"]
        ranges[name] = tuple(_rounded(box) for box in region["ranges"])
    return SceneFile(problem["problem_name"], objects, fixtures, regions, ranges, tuple(stale))


def _rounded(box: list[float]) -> tuple[float, float, float, float]:
    x_min, y_min, x_max, y_max = (round(value, 4) for value in box)
    return (x_min, y_min, x_max, y_max)


def _by_name(categories: Mapping[str, list[str]]) -> dict[str, str]:
    return {name: category for category, names in categories.items() for name in names}


def _by_category(names: Mapping[str, str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, category in names.items():
        found.setdefault(category, []).append(name)
    return found


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise MissingSource(f"{path} cannot be read ({reason}). {_reinstall()}") from error


def _reinstall() -> str:
    return f"Run: pip install --force-reinstall --no-deps {versions.LIBERO}=={versions.LIBERO_VERSION}"

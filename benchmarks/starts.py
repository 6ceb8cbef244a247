"""Displaced starts, measured from outside: how far things stand from LIBERO's own starts, and whether they lie well.

``python benchmarks/starts.py`` opens the first two starts of all 40 tasks (three minutes on two cores;
``--init-states 50`` all of them; ``--tasks LiberoGoal-T8`` seconds). Printed for each suite: how many objects moved and
how far [cm], the greatest change of height [mm] and of orientation [degrees], the deepest overlap of a moved object
with anything [mm], the greatest way that an object moves in 20 more idle steps [mm] beside the same in LIBERO's start,
goals of the registry that hold though they do not in LIBERO's start, and seconds to find a start. Exit code 1 where
something moved by another distance than 3 to 8 cm (give or take 5 mm of settling), does not rest or overlaps, or where
a goal holds already.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gym_grounding import manifest
from gym_grounding.adapters.libero.geometry import Geometry
from gym_grounding.adapters.libero.scene import IDLE, LiberoScene
from gym_grounding.starts import count_starts, disagreements
from gym_grounding.types import SceneSettings, Task

MOVED = 0.01
"""From this on an object counts as moved [m]."""
NEAREST, FARTHEST, SETTLING = 0.03, 0.08, 0.005
HIGHEST, TURNED, DEEPEST, DRIFT = 0.003, 3.0, 0.002, 0.003
IDLE_STEPS = 20

Row = Mapping[str, NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Start:
    """One settled start: observed poses, shape (7,), the deepest overlap [m] and the drift [m] of each object."""

    poses: Row
    depths: Mapping[str, float]
    drifts: Mapping[str, float]
    seconds: float


@dataclass(frozen=True, slots=True)
class Pair:
    """An object in LIBERO's start and in the displaced one."""

    place: str
    distance: float
    height: float
    turn: float
    depth: float
    drift: float
    usual: float

    @property
    def moved(self) -> bool:
        """Whether it stands elsewhere."""
        return self.distance >= MOVED

    def faults(self) -> Iterator[str]:
        """What is wrong with the displaced one."""
        if self.moved and not NEAREST - SETTLING <= self.distance <= FARTHEST + SETTLING:
            yield f"{self.place} moved by {100 * self.distance:.1f} cm"
        if not self.moved and self.distance > SETTLING:
            yield f"{self.place} stayed but slipped by {1000 * self.distance:.1f} mm"
        if self.height > HIGHEST or self.turn > TURNED:
            yield f"{self.place} rests {1000 * self.height:.1f} mm and {self.turn:.1f} degrees otherwise"
        if self.moved and self.depth > DEEPEST:
            yield f"{self.place} overlaps by {1000 * self.depth:.1f} mm"
        if self.drift > max(DRIFT, 2 * self.usual):
            yield f"{self.place} goes on moving, by {1000 * self.drift:.1f} mm"


def measured(registry: manifest.Manifest, task: Task, starts: str, numbers: Sequence[int]) -> list[Start]:
    """The starts of one set, each opened by the adapter as an episode opens it."""
    facts = registry.scene_of(task.id)
    names = [entity.name for entity in facts.of_kind("object")]
    found = []
    with closing(LiberoScene(facts, {task.id: task}, SceneSettings("state", starts=starts))) as scene:
        geometry = Geometry(scene._simulator.env)
        for number in numbers:
            began = time.perf_counter()
            observation = scene.reset(task, number)
            seconds = time.perf_counter() - began
            depths = {name: geometry.depth(name) for name in names}
            later = observation
            for _ in range(IDLE_STEPS):
                later = scene.step(np.array(IDLE))
            drifts = {n: float(np.linalg.norm(later[f"{n}_pos"] - observation[f"{n}_pos"])) for n in names}
            poses = {n: np.concatenate([observation[f"{n}_pos"], observation[f"{n}_quat"]]) for n in names}
            found.append(Start(poses, depths, drifts, seconds))
    return found


def pairs(task: Task, number: int, stored: Start, displaced: Start) -> Iterator[Pair]:
    """Every object of a start."""
    for name, pose in displaced.poses.items():
        before = stored.poses[name]
        cosine = abs(float(pose[3:] @ before[3:]))
        yield Pair(
            f"{task.id} start {number}: {name}",
            float(np.linalg.norm((pose - before)[:2])),
            abs(float((pose - before)[2])),
            float(np.degrees(2 * np.arccos(min(1.0, cosine)))),
            displaced.depths[name],
            displaced.drifts[name],
            stored.drifts[name],
        )


def holding(registry: manifest.Manifest, task: Task, numbers: Sequence[int]) -> list[str]:
    """Goals that hold in more displaced starts than in LIBERO's own, as lines."""
    usual = {one.variant: one.settled for one in count_starts(registry, task, numbers)}
    return [
        line
        for one in count_starts(registry, task, numbers, "displaced")
        if one.settled > usual[one.variant]
        for line in disagreements([one]) or (f"{one.variant}: holds in {one.settled} of {one.of} starts",)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", help="Such as LiberoGoal-T8,LiberoLong-T0; default: all.")
    parser.add_argument("--init-states", type=int, default=2, help="How many starts of each task.")
    given = parser.parse_args()
    registry = manifest.load()
    tasks = [registry.task(name) for name in (given.tasks.split(",") if given.tasks else registry.tasks)]
    numbers = range(given.init_states)
    print(f"{'suite':<15}starts  moved      {'shift [cm]':<22}height  turn overlap  drift (LIBERO's)  goals  s/start")
    faults: list[str] = []
    for suite in dict.fromkeys(task.suite for task in tasks):
        seen: list[Pair] = []
        seconds: list[float] = []
        held: list[str] = []
        for task in (task for task in tasks if task.suite == suite):
            before, after = (measured(registry, task, starts, numbers) for starts in ("libero", "displaced"))
            again = measured(registry, task, "displaced", numbers[-1:])[0]
            if any(not np.array_equal(again.poses[name], after[-1].poses[name]) for name in again.poses):
                faults.append(f"{task.id} start {numbers[-1]} is another one when it is opened again")
            seen += [pair for k, two in enumerate(zip(before, after, strict=True)) for pair in pairs(task, k, *two)]
            seconds += [one.seconds for one in after]
            held += holding(registry, task, numbers)
        print(summary(suite, seen, seconds, held), flush=True)
        faults += held + [fault for pair in seen for fault in pair.faults()]
    for fault in faults:
        print(fault)
    return int(bool(faults))


def summary(suite: str, seen: Sequence[Pair], seconds: Sequence[float], held: Sequence[str]) -> str:
    """One line of the table."""
    away = np.array([100 * pair.distance for pair in seen if pair.moved])
    most = [max(getattr(pair, name) for pair in seen) for name in ("height", "turn", "drift", "usual")]
    deepest = max(pair.depth for pair in seen if pair.moved)
    shift = f"{away.min():.1f} to {away.max():.1f}, mean {away.mean():.1f}"
    return (
        f"{suite:<16} {len(seconds):>6}  {len(away):>4} of {len(seen):<4} {shift:<20} {1000 * most[0]:>4.1f} "
        f"{most[1]:>6.1f} {1000 * deepest:>7.2f} {1000 * most[2]:>6.2f} ({1000 * most[3]:.2f})     "
        f"{len(held):>5}  {np.median(seconds):>6.2f}"
    )


if __name__ == "__main__":
    sys.exit(main())

"""Registered environments beside LIBERO's own, to the last bit: alone, interleaved, in threads, in processes.

``python benchmarks/parity.py`` plays three initial states of all 40 tasks for 100 steps (a quarter of an hour on two
cores; ``--tasks LiberoGoal-T8 --steps 20`` seconds). LIBERO's side is a new environment for each episode; the hand
heads for one object after another, with noise, and presses down. Compared after each step are positions, velocities,
every observation, reward, success and each literal that any goal of the scene has. Exit code 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from gym_grounding import manifest
from gym_grounding.adapters.libero import facts
from gym_grounding.types import Goal, Predicate, Task

LEG = 25
"""Steps for which the hand heads for one object."""
OPEN_AT_ONCE = 6
"""Environments that take turns."""


@dataclass(frozen=True, slots=True)
class Job:
    """One episode."""

    task: str
    init_state: int
    steps: int


@dataclass(slots=True)
class Played:
    """What an episode showed: a row for the start where one is given, and one for each step."""

    states: list[NDArray[np.float64]] = field(default_factory=list)
    seen: list[dict[str, NDArray[Any]]] = field(default_factory=list)
    literals: list[tuple[bool, ...]] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    successes: list[bool] = field(default_factory=list)


@dataclass(slots=True)
class Reference:
    """LIBERO's side of an episode, what was done in it, and in how many steps the robot touched something."""

    played: Played
    actions: list[NDArray[np.float32]]
    touching: int = 0
    contacts: int = 0


MODES = "alone,interleaved,threads,processes"


def literals(task: Task) -> tuple[Predicate, ...]:
    """Of all goals of the task's scene; without those that LIBERO does not have (added regions, ``lifted``)."""
    loaded = manifest.load()
    tasks = {one.id: one for one in loaded.scene_tasks(task.scene)}
    goals = [one.goal for one in tasks.values()]
    goals += [one.goal for one in loaded.variants.values() if one.goal is not None and one.task in tasks]
    own = {one for goal in goals for one in goal.all_of if not {r.name for r in goal.regions} & set(one.args)}
    return tuple(sorted(one for one in own if one.name != "lifted"))


def aimed(seen: Mapping[str, Any], objects: Sequence[str], step: int, generator: np.random.Generator) -> Any:
    """An action toward one object after another, a little beyond the range that is clipped, as float32."""
    target = seen[f"{objects[step // LEG % len(objects)]}_pos"] - [0.0, 0.0, 0.02]
    action = generator.normal(0.0, 0.3, 7)
    action[:3] += 8.0 * (target - seen["robot0_eef_pos"])
    action[6] = -1.0 if step // 10 % 2 == 0 else 1.0
    return np.clip(action, -1.5, 1.5).astype(np.float32)


def reference(job: Job) -> Reference:
    """The episode in a new environment of LIBERO's."""
    from gym_grounding.adapters.libero import install
    from gym_grounding.adapters.libero.robosuite_names import ControlEnv

    task = manifest.load().task(job.task)
    with install.quiet():
        env = ControlEnv(str(facts.bddl_path(task)), use_camera_obs=False, has_offscreen_renderer=False)
        env.seed(job.init_state)
        env.reset()
        seen = env.set_init_state(facts.init_state(task, job.init_state))
    wanted, found = literals(task), Reference(Played(), [])
    objects = [one.name for one in env.env.objects]
    objects = objects[job.init_state % len(objects) :] + objects[: job.init_state % len(objects)]
    generator = np.random.default_rng(job.init_state)
    robot = robot_geoms(env.sim.model)
    for step in range(job.steps + 1):
        if step:
            action = aimed(seen, objects, step - 1, generator)
            seen, reward, success, _ = env.step(action.astype(np.float64))
            found.actions.append(action)
            found.played.rewards.append(float(reward))
            found.played.successes.append(bool(success))
            contact = env.sim.data._data.contact
            found.touching += bool(np.any(robot[contact.geom1] != robot[contact.geom2]))
            found.contacts = max(found.contacts, int(env.sim.data.ncon))
        found.played.states.append(np.array(env.get_sim_state()))
        found.played.seen.append({key: np.ravel(value).copy() for key, value in seen.items()})
        holds = (env.env._eval_predicate([one.name, *one.args]) for one in wanted)
        found.played.literals.append(tuple(map(bool, holds)))
    env.close()
    return found


def robot_geoms(model: Any) -> NDArray[np.bool_]:
    """Which geoms are the arm's and the hand's, shape (ngeom,)."""
    names = [model.body_id2name(body) or "" for body in range(model.nbody)]
    return np.array([name.startswith(("robot0_", "gripper0_")) for name in names])[model.geom_bodyid]


def episode(job: Job, actions: Sequence[Any]) -> Generator[None, None, Played]:
    """The same episode in a registered environment; yields after the start and after each step."""
    name = f"gym_grounding:Grounding/{job.task}-Original-v0"
    env = gymnasium.make(name, observation="state", settle_steps=0, stop="horizon", horizon=10**6)
    wanted, played = literals(manifest.load().task(job.task)), Played()
    seen: Mapping[str, Any] = env.reset(seed=0, options={"init_state": job.init_state})[0]
    for action in (None, *actions):
        if action is not None:
            seen, reward, _, _, info = env.step(action)
            played.rewards.append(float(reward))
            played.successes.append(info["original_goal"])
        scene = env.get_wrapper_attr("scene")
        played.states.append(scene.state())
        played.seen.append({key: np.ravel(value).copy() for key, value in seen.items()})
        played.literals.append(tuple(scene.holds(Goal((one,))) for one in wanted))
        yield
    env.close()
    return played


def whole(job: Job, actions: Sequence[Any]) -> Played:
    """``episode`` from start to end."""
    steps = episode(job, actions)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            played: Played = end.value
            return played


def interleaved(jobs: Sequence[Job], actions: Sequence[Sequence[Any]]) -> list[Played]:
    """Several environments at once; which one moves next is drawn."""
    generator, played = np.random.default_rng(0), {}
    waiting = list(enumerate(map(episode, jobs, actions)))
    running: list[tuple[int, Generator[None, None, Played]]] = []
    while waiting or running:
        while waiting and len(running) < OPEN_AT_ONCE:
            running.append(waiting.pop(0))
        number, steps = running[int(generator.integers(len(running)))]
        try:
            next(steps)
        except StopIteration as end:
            played[number] = end.value
            running.remove((number, steps))
    return [played[number] for number in range(len(jobs))]


def in_threads(count: int, jobs: Sequence[Job], actions: Sequence[Sequence[Any]]) -> list[Played]:
    """Episodes side by side in this process."""
    with ThreadPoolExecutor(count) as threads:
        return list(threads.map(whole, jobs, actions))


def difference(theirs: Played, ours: Played, positions: int) -> str:
    """What differs first, and at which step (0: the start); empty where nothing does."""
    for step, (one, other) in enumerate(zip(theirs.states, ours.states, strict=True)):
        parts = {"qpos": slice(1, 1 + positions), "qvel": slice(1 + positions, None), "time": slice(1)}
        names = [name for name, part in parts.items() if not np.array_equal(one[part], other[part])]
        keys = theirs.seen[step].keys() & ours.seen[step].keys()
        names += sorted(key for key in keys if not np.array_equal(theirs.seen[step][key], ours.seen[step][key]))
        names += ["a literal"] * (theirs.literals[step] != ours.literals[step])
        if step:
            names += ["reward"] * (theirs.rewards[step - 1] != ours.rewards[step - 1])
            names += ["success"] * (theirs.successes[step - 1] != ours.successes[step - 1])
        if names:
            return f"{', '.join(names)} at step {step}"
    return ""


@dataclass(slots=True)
class Row:
    """A task's part of the table; ``differing`` names (mode, initial state, what)."""

    task: str
    episodes: int
    steps: int
    touching: int
    contacts: int
    keys: int
    literals: int
    changes: int
    """Of literals, from one step to the next."""
    rewarded: int
    differing: list[str]


Mode = Callable[[Sequence[Job], Sequence[Sequence[Any]]], list[Played]]


def modes(names: Sequence[str], workers: int, processes: Executor) -> dict[str, Mode]:
    """The ways to play a scene's episodes."""
    known: dict[str, Mode] = {
        "alone": lambda jobs, actions: list(map(whole, jobs, actions)),
        "interleaved": interleaved,
        "threads": partial(in_threads, workers),
        "processes": lambda jobs, actions: list(processes.map(whole, jobs, actions)),
    }
    return {name: known[name] for name in names}


def compared(jobs: Sequence[Job], ways: Mapping[str, Mode], processes: Executor) -> Iterator[Row]:
    """Play one scene's episodes in every way; a row for each task."""
    references = list(processes.map(reference, jobs))
    actions = [one.actions for one in references]
    played = {name: way(jobs, actions) for name, way in ways.items()}
    for task, numbers in groupby(range(len(jobs)), lambda number: jobs[number].task):
        yield _row(task, list(numbers), jobs, references, played)


def _row(
    task: str, numbers: list[int], jobs: Sequence[Job], references: Sequence[Reference], played: Mapping[str, Any]
) -> Row:
    joints = manifest.load().task(task)
    bodies = [key for key in references[numbers[0]].played.seen[0] if key.endswith("_to_robot0_eef_pos")]
    # Each object's place takes seven positions and six velocities; arm, hand and fixtures as many of both.
    positions = (len(facts.init_state(joints, 0)) - 1 + len(bodies)) // 2
    mine = [references[number] for number in numbers]
    first = next(iter(played.values()))[numbers[0]]
    truths = [np.array(one.played.literals) for one in mine]
    found = [
        f"{mode}, initial state {jobs[number].init_state}: {what}"
        for mode, all_played in played.items()
        for number in numbers
        if (what := difference(references[number].played, all_played[number], positions))
    ]
    return Row(
        task=task,
        episodes=len(numbers),
        steps=sum(len(one.actions) for one in mine),
        touching=sum(one.touching for one in mine),
        contacts=max(one.contacts for one in mine),
        keys=len(mine[0].played.seen[0].keys() & first.seen[0].keys()),
        literals=len(literals(joints)),
        changes=int(sum(np.sum(one[1:] != one[:-1]) for one in truths)),
        rewarded=int(sum(sum(one.played.rewards) for one in mine)),
        differing=found,
    )


def line(row: Row) -> str:
    """A row of the table."""
    verdict = "equal" if not row.differing else "DIFFERENT: " + "; ".join(row.differing)
    numbers = (row.episodes, row.steps, row.contacts, row.keys, row.literals, row.changes, row.rewarded)
    return (
        f"{row.task:18}{row.touching / max(row.steps, 1):>9.0%}" + "".join(f"{n:>9}" for n in numbers) + f"  {verdict}"
    )


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--tasks", default="", help="such as LiberoGoal-T8,LiberoLong-T9; default: all 40")
    parser.add_argument("--init-states", default="0,1,2", help="such as 0,1,2")
    parser.add_argument("--steps", type=int, default=100, help="of each episode")
    parser.add_argument("--workers", type=int, default=2, help="processes, and threads")
    parser.add_argument("--modes", default=MODES)
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; 0 when nothing differs."""
    given = options().parse_args(arguments)
    tasks = manifest.load().tasks
    for option, given_names, known in (("--tasks", given.tasks, tasks), ("--modes", given.modes, MODES.split(","))):
        if unknown := {name for name in given_names.split(",") if name} - set(known):
            options().error(f"{option}: no {', '.join(sorted(unknown))}; choose from {', '.join(known)}")
    chosen = [tasks[name] for name in given.tasks.split(",")] if given.tasks else list(tasks.values())
    numbers = [int(number) for number in given.init_states.split(",")]
    heads = ("touching", "episodes", "steps", "contacts", "keys", "literals", "changes", "rewards")
    print(f"{'task':18}" + "".join(f"{head:>9}" for head in heads), flush=True)
    rows: list[Row] = []
    with ProcessPoolExecutor(given.workers, multiprocessing.get_context("spawn")) as processes:
        ways = modes(given.modes.split(","), given.workers, processes)
        for _, same in groupby(sorted(chosen, key=lambda task: task.scene), lambda task: task.scene):
            jobs = [Job(task.id, number, given.steps) for task in same for number in numbers]
            for row in compared(jobs, ways, processes):
                rows.append(row)
                print(line(row), flush=True)
    different = [row.task for row in rows if row.differing]
    steps = sum(row.steps for row in rows)
    print(f"\n{len(rows)} tasks, {steps} steps, each in {len(ways)} ways ({', '.join(ways)}): ", end="")
    print("nothing differs" if not different else f"DIFFERENT in {', '.join(different)}")
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in rows], indent=2) + "\n")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())

"""Steps per second, reset time and memory of a registered environment beside LIBERO's own, on the same work.

``python benchmarks/steps.py`` (three minutes on two cores; ``--quick --no-cameras`` half of one). Each side has a
process; they work block after block in turn, from the same initial state and fixture placement and with the same
actions. Times are CPU times of a side's process. It is also a check: both must end in the same state, to the last bit.
"""

from __future__ import annotations

import argparse
import gc
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from gym_grounding import manifest
from gym_grounding.adapters.libero import ADAPTER, facts, install
from gym_grounding.adapters.libero.robosuite_names import ControlEnv

TASK, INIT_STATE, SIZE = "LiberoGoal-T8", 0, 128
ID = f"gym_grounding:Grounding/{TASK}-Original-v0"
UNITS = {
    "steps_per_second": "steps per second",
    "step_ms": "step [ms]",
    "unread_ms": "step, pictures unread [ms]",
    "reset_ms": "reset to a start again [ms]",
    "first_ms": "reset to a new start [ms]",
    "build_s": "build and first reset [s]",
    "first_mb": "memory of it [MB]",
    "second_mb": "memory of a second [MB]",
}
SIDES = ("ours", "libero")


class Ours:
    """The registered environment, as ``gymnasium.make`` gives it, without settle steps (they are ordinary steps)."""

    def __init__(self, cameras: bool) -> None:
        kind = "both" if cameras else "state"
        self._env = gymnasium.make(
            ID, observation=kind, image_size=SIZE, lazy=cameras, settle_steps=0, stop="horizon", horizon=10**6
        )

    def reset(self, init_state: int = INIT_STATE) -> Mapping[str, Any]:
        return self._env.reset(seed=0, options={"init_state": init_state})[0]

    def step(self, action: Any) -> Mapping[str, Any]:
        return self._env.step(action)[0]

    def state(self) -> Any:
        return self._env.get_wrapper_attr("scene").state()


class Libero:
    """LIBERO's own environment; with cameras it is the same as its ``OffScreenRenderEnv``."""

    def __init__(self, cameras: bool) -> None:
        task = manifest.load().task(TASK)
        self._states = facts.init_states(task)
        self._env: Any = ControlEnv(
            bddl_file_name=str(facts.bddl_path(task)),
            use_camera_obs=cameras,
            has_offscreen_renderer=cameras,
            camera_heights=SIZE,
            camera_widths=SIZE,
        )

    def reset(self, init_state: int = INIT_STATE) -> Mapping[str, Any]:
        self._env.seed(init_state)  # a new environment then places the fixtures where ours stand
        self._env.reset()
        observation: Mapping[str, Any] = self._env.set_init_state(self._states[init_state])
        return observation

    def step(self, action: Any) -> Mapping[str, Any]:
        return self._env.step(action.astype(np.float64))[0]

    def state(self) -> Any:
        return self._env.get_sim_state()


def serve(pipe: Any, side: str, cameras: bool) -> None:
    """One side, in a process of its own: answers calls by name with CPU time [s], memory [MB] and a value."""
    kind = Ours if side == "ours" else Libero
    made: list[Ours | Libero] = []
    seen: Mapping[str, Any] = {}
    while call := pipe.recv():
        name, argument = call
        empty = resident() if name == "build" else 0.0
        before = time.process_time()
        if name == "build":
            with install.quiet():
                made.append(kind(cameras))
            seen = made[-1].reset()
        elif name == "reset":
            seen = made[0].reset(argument)
        elif name in ("run", "unread"):
            for action in argument:
                seen = made[0].step(action)
                if name == "run":
                    read(seen)
        spent = time.process_time() - before
        value = (made[0].state(), dict(seen)) if name == "state" else None
        size = resident() - empty if name == "build" else 0.0
        pipe.send((spent, size, value))
    pipe.close()
    os._exit(0)  # LIBERO's GL contexts complain when they are freed at the interpreter's end


def read(seen: Mapping[str, Any]) -> None:
    """Look at each picture."""
    for key in seen:
        if key.endswith("_image"):
            np.array(seen[key])


class Side:
    """Calls to a process that ``serve``s: two simulators that draw disturb each other in one."""

    def __init__(self, side: str, cameras: bool) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=serve, args=(theirs, side, cameras), daemon=True)
        self._process.start()
        theirs.close()

    def __call__(self, name: str, argument: Any = None) -> tuple[float, float, Any]:
        self._pipe.send((name, argument))
        answer: tuple[float, float, Any] = self._pipe.recv()
        return answer

    def close(self) -> None:
        self._pipe.send(None)
        self._process.join()


def in_turn(call: Callable[[str, int], float], repeats: int) -> dict[str, list[float]]:
    """What ``call(side, repeat)`` returns; who goes first alternates."""
    times: dict[str, list[float]] = {side: [] for side in SIDES}
    for repeat in range(repeats):
        for side in SIDES if repeat % 2 == 0 else SIDES[::-1]:
            times[side].append(call(side, repeat))
    return times


def compared(numbers: Mapping[str, Sequence[float]], scale: float = 1.0) -> dict[str, Any]:
    """Medians, and the median of the ratios LIBERO / ours of each repeat with its range."""
    ratios = [theirs / max(ours, 1e-9) for ours, theirs in zip(numbers["ours"], numbers["libero"], strict=True)]
    medians = {side: statistics.median(numbers[side]) * scale for side in SIDES}
    return {**medians, "ratio": statistics.median(ratios), "range": [min(ratios), max(ratios)]}


def measure(cameras: bool, repeats: int, block: int, resets: int) -> dict[str, Any]:
    """Everything about one kind of environment."""
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (repeats + 1, block, 7))
    actions[:, :, 2] -= 0.3  # down to the table, so that there are contacts
    actions = np.clip(actions, -1.0, 1.0).astype(np.float32)
    sides = {side: Side(side, cameras) for side in SIDES}
    build, alone, _ = zip(*(sides[side]("build") for side in SIDES), strict=True)
    for side in SIDES:
        sides[side]("run", actions[repeats])  # warms up what is compiled at first use
    step = compared(in_turn(lambda side, repeat: sides[side]("run", actions[repeat])[0], repeats), 1000 / block)
    (ours, shown), (theirs, shown_there) = (sides[side]("state")[2] for side in SIDES)
    keys = sorted(shown.keys() & shown_there.keys())
    equal = [np.array_equal(ours, theirs), *(np.array_equal(shown[key], shown_there[key]) for key in keys)]
    first = compared(in_turn(lambda side, repeat: sides[side]("reset", repeat + 1)[0], resets), 1000.0)
    reset = compared(in_turn(lambda side, _: sides[side]("reset", INIT_STATE)[0], resets), 1000.0)
    unread = in_turn(lambda side, repeat: sides[side]("unread", actions[repeat])[0], repeats if cameras else 0)
    second = [sides[side]("build")[1] for side in SIDES]
    for one in sides.values():
        one.close()
    rows = {"build_s": build, "first_mb": alone, "second_mb": second}
    once = {name: compared({side: [row[i]] for i, side in enumerate(SIDES)}) for name, row in rows.items()}
    rate = {**step, **{side: 1000 / step[side] for side in SIDES}}
    found = {"steps_per_second": rate, "step_ms": step, "reset_ms": reset, "first_ms": first, **once}
    if cameras:
        found["unread_ms"] = compared(unread, 1000 / block)
    return {**found, "equal": all(equal), "steps": (repeats + 1) * block, "observations": keys}


def resident() -> float:
    """Resident memory of this process without garbage [MB]."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def table(title: str, found: Mapping[str, Any]) -> str:
    """One section of the output."""
    lines = [f"{title:<30}{'ours':>10}{'LIBERO':>10}{'ratio':>8}"]
    for key, unit in UNITS.items():
        if key not in found:
            continue
        row = found[key]
        spread = "" if row["range"][0] == row["range"][1] else "  ({:.2f} to {:.2f})".format(*row["range"])
        lines.append(f"  {unit:<28}{row['ours']:>10.1f}{row['libero']:>10.1f}{row['ratio']:>8.2f}{spread}")
    verdict = "equal to the last bit" if found["equal"] else "DIFFERENT"
    what = f"positions, velocities and the {len(found['observations'])} observations that both have"
    return "\n".join([*lines, f"  after {found['steps']} steps: {verdict} ({what})"])


def options() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter blocks")
    parser.add_argument("--repeats", type=int, help="blocks of each side; default 7, quick 3")
    parser.add_argument("--cameras", action=argparse.BooleanOptionalAction, default=True, help="also two cameras")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 when the two sides disagree."""
    given = options().parse_args(arguments)
    repeats = given.repeats or (3 if given.quick else 7)
    versions = ADAPTER.versions()
    print(f"{TASK}, initial state {INIT_STATE}; " + ", ".join(f"{name} {text}" for name, text in versions.items()))
    print(f"ours: gymnasium.make({ID!r}), all {len(manifest.load().suite_tasks('LiberoGoal'))} goals told at each step")
    print("LIBERO: its ControlEnv (state only), its OffScreenRenderEnv's settings (cameras), one goal")
    print("medians of CPU times; ratio: median of LIBERO / ours over the repeats, above 1 where ours takes less\n")
    state = measure(False, repeats, *((10, 3) if given.quick else (20, 7)))
    print(table("state only", state))
    pictures = None
    if given.cameras and install.backend().name == "none":
        print(f"\ncameras left out: {install.backend().reason}")
    elif given.cameras:
        pictures = measure(True, repeats, *((1, 1) if given.quick else (2, 3)))
        print("\n" + table(f"two cameras {SIZE}x{SIZE}", pictures))
    if given.json:
        whole = {"task": TASK, "init_state": INIT_STATE, "repeats": repeats, "versions": versions}
        given.json.write_text(json.dumps({**whole, "state": state, "cameras": pictures}, indent=2) + "\n")
    return 0 if all(found["equal"] for found in (state, pictures) if found) else 1


if __name__ == "__main__":
    sys.exit(main())

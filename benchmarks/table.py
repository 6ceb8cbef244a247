"""The table of what is faster than LIBERO's own environment, and by how much: one run, one command.

``python benchmarks/table.py`` (ten minutes on two free cores; ``--quick`` a few). Both sides do the same work in the
same run; times are CPU times, ratios are LIBERO / ours, above 1 where ours takes less. Prints Markdown; ``--json``
keeps the numbers. Figures of a machine that does other work at the same time are no figures.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import limits
import numpy as np
import steps
import vectors

from gym_grounding.adapters.libero import ADAPTER, install

FOLDER = Path(__file__).parent
ROLLOUTS = FOLDER / "rollouts.py"


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table.

    Attributes:
        what: was measured.
        libero, ours: the two sides.
        figure: what is judged: the ratio, or ours alone.
        least, aim: figures asked for.
        unit: of ``libero`` and ``ours``.
        below: whether the figure shall be at most, not at least, what is asked for.
    """

    what: str
    libero: float | None
    ours: float
    figure: float
    least: float
    aim: float | None
    unit: str = "ms"
    below: bool = False

    def line(self) -> str:
        """As Markdown."""
        sign = "at most " if self.below else ""
        met = (self.figure <= self.least) if self.below else (self.figure >= self.least)
        wanted = f"{sign}{self.least:g}" + ("" if self.aim is None else f" | {self.aim:g}")
        other = "-" if self.libero is None else f"{self.libero:.4g}"
        cells = (
            self.what,
            other,
            f"{self.ours:.4g}",
            self.unit,
            f"{self.figure:.3g}",
            wanted + " | " * (self.aim is None),
        )
        return "| " + " | ".join(cells) + f" | {'yes' if met else '**no**'} |"


GROUPS = "state,bare,pictures,vector,stage,first"
HEAD = (
    "| what | LIBERO | ours | unit | figure | at least | aim | reached |\n"
    "| --- | ---: | ---: | --- | ---: | ---: | ---: | --- |"
)


def state_rows(repeats: int) -> Iterator[Row]:
    """Step, start and memory without pictures."""
    found = steps.measure(False, repeats, 20, 7)
    _equal(found)
    yield _row("state step through Gymnasium", found["step_ms"], 3.5, 5.0)
    again, first = found["reset_ms"], found["first_ms"]
    yield _row("episode start, of a start used before in the process", again, 150.0, 400.0)
    yield _row("episode start, the first of a (task, initial state)", first, 150.0, 400.0)
    size = found["second_mb"]
    yield Row("memory per further environment", size["libero"], size["ours"], size["ours"], 10.0, 3.0, "MB", True)


def bare_row(count: int) -> Row:
    """The state step through Gymnasium beside 25 bare ``mj_step`` from the same states."""
    env = steps.Ours(False)
    env.reset()
    simulator = env._env.get_wrapper_attr("scene")._simulator
    model, data = simulator.env.sim.model._model, simulator.env.sim.data._data
    actions = np.random.default_rng(0).uniform(-1.0, 1.0, (count + 10, 7)).astype(np.float32)
    rows = []
    for action in actions:
        copy = limits.copied(model, data)
        both = model._address, copy._address
        own = limits.timed(lambda action=action: env.step(action))
        rows.append((own, limits.timed(lambda both=both: [limits.STEP(*both) for _ in range(25)])))
    own, bare = zip(*rows[10:], strict=True)
    ratio = statistics.median(one / other for one, other in rows[10:])
    what = "the same against 25 bare mj_step (in the column LIBERO)"
    return Row(what, statistics.median(bare), statistics.median(own), ratio, 1.8, 1.4, "ms", True)


def picture_rows(repeats: int) -> Iterator[Row]:
    """Steps of an environment with two cameras."""
    found = steps.measure(True, repeats, 2, 3)
    _equal(found)
    yield _row("step with both 128 x 128 pictures read", found["step_ms"], 1.25, 1.8)
    yield _row("step of a pixel environment, pictures not read", found["unread_ms"], 3.0, 4.0)


def vector_row(count: int, repeats: int) -> Row:
    """Two environments side by side."""
    with tempfile.TemporaryDirectory() as place:
        found = Path(place) / "times.json"
        called([str(FOLDER / "vectors.py"), "--steps", str(count), "--repeats", str(repeats), "--json", str(found)])
        times = json.loads(found.read_text())
    libero, ours = times[vectors.LIBERO], times[vectors.OURS[-1]]
    ratio = statistics.median(a / b for a, b in zip(libero, ours, strict=True))
    what = "step of two in threads / LIBERO's two processes"
    return Row(what, statistics.median(libero), statistics.median(ours), ratio, 3.5, 4.5)


def stage_row(quick: bool) -> Row:
    """A task's whole stage, records and report included, and as many rollouts in LIBERO's loop; whole processes."""
    horizon = 20 if quick else 100
    with tempfile.TemporaryDirectory() as place:
        out, report = Path(place) / "run", Path(place) / "report"
        cells = ("--conditions", "original") if quick else ()
        plan = ("--suite", "LiberoGoal", "--tasks", "8", *cells, "--init-states", "0:2", "--horizon", str(horizon))
        run = ("evaluate", "--policy", "random", *plan, "--stop", "horizon", "--observation", "state", "--workers", "0")
        told, ours, _ = called(["-m", "gym_grounding", *run, "--out", str(out)])
        ours += called(["-m", "gym_grounding", "report", str(out), "--out", str(report)])[1]
    found = re.search(r"(\d+) of (\d+) episodes recorded, 0 ended", told)
    if found is None or found[1] != found[2]:
        raise SystemExit(f"the evaluation is incomplete: {told}")
    _, libero, _ = called([str(ROLLOUTS), "--episodes", found[1], "--steps", str(horizon)])
    what = f"full stage ({found[1]} episodes of {horizon} steps, records and report)"
    return Row(what, libero, ours, libero / ours, 3.0, 4.0, "s")


def first_rows() -> Iterator[Row]:
    """One episode of one step, from the command to the end of the process; wall time, as a user waits."""
    with tempfile.TemporaryDirectory() as place:
        plan = ("--suite", "LiberoGoal", "--tasks", "8", "--conditions", "original", "--init-states", "0:1")
        run = ("evaluate", "--policy", "random", *plan, "--horizon", "1", "--observation", "state", "--workers", "0")
        for name, least in (("cold", 10.0), ("warm", 3.0)):
            out, own, other = (Path(place) / part for part in (name, "ours", "libero"))
            caches = {"GYM_GROUNDING_CACHE": str(own), "NUMBA_CACHE_DIR": str(own / "numba")}
            _, spent, waited = called(["-m", "gym_grounding", *run, "--out", str(out)], caches)
            loop = [str(ROLLOUTS), "--episodes", "1", "--steps", "1"]
            libero = called(loop, {"NUMBA_CACHE_DIR": str(other)})[2]
            what = f"first result of `evaluate`, {name} cache ({spent:.1f} s of CPU)"
            yield Row(what, libero, waited, waited, least, None, "s", True)


def called(arguments: Sequence[str], more: Mapping[str, str] | None = None) -> tuple[str, float, float]:
    """Standard output of a Python process, its CPU time with its children's [s], and its wall time [s]."""
    path = os.pathsep.join([str(FOLDER.parent), str(FOLDER.parent / "policies"), os.environ.get("PYTHONPATH", "")])
    before, since = _children(), time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        env=os.environ | {"PYTHONPATH": path} | dict(more or {}),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout, _children() - before, time.perf_counter() - since


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _row(what: str, found: Mapping[str, Any], least: float, aim: float) -> Row:
    return Row(what, found["libero"], found["ours"], found["ratio"], least, aim)


def _equal(found: Mapping[str, Any]) -> None:
    if not found["equal"]:
        raise SystemExit("the two sides do not end in the same state: see steps.py")


@contextmanager
def quiet_machine() -> Iterator[None]:
    """Says how much of the time went to others."""
    before, since = os.times(), time.perf_counter()
    yield
    after, waited = os.times(), time.perf_counter() - since
    own = sum(after[:4]) - sum(before[:4])
    print(f"\nCPU time of this run / wall time: {own / waited:.2f}; load average {os.getloadavg()[1]:.1f}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the table row by row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer and shorter measurements")
    parser.add_argument("--rows", default=GROUPS, help="only these groups")
    parser.add_argument("--json", type=Path, help="also write the numbers to this file")
    given = parser.parse_args(arguments)
    if unknown := set(given.rows.split(",")) - set(GROUPS.split(",")):
        parser.error(f"--rows: no {', '.join(sorted(unknown))}; choose from {GROUPS}")
    repeats = 3 if given.quick else 7
    count = 50 if given.quick else 200
    groups: dict[str, Callable[[], Iterator[Row]]] = {
        "state": lambda: state_rows(repeats),
        "bare": lambda: iter([bare_row(count)]),
        "pictures": lambda: picture_rows(repeats),
        "vector": lambda: iter([vector_row(20 if given.quick else 60, 2 if given.quick else 7)]),
        "stage": lambda: iter([stage_row(given.quick)]),
        "first": first_rows,
    }
    versions, rows = ADAPTER.versions(), []
    print(
        ", ".join(f"{name} {text}" for name, text in versions.items())
        + f"; {platform.processor() or platform.machine()}"
    )
    print(f"\n{HEAD}")
    with quiet_machine():
        for name in given.rows.split(","):
            if name == "pictures" and install.backend().name == "none":
                print(f"| pictures left out: {install.backend().reason} |" + " |" * 7)
                continue
            for row in groups[name]():
                rows.append(row)
                print(row.line(), flush=True)
    if given.json:
        given.json.write_text(
            json.dumps({"versions": versions, "rows": [asdict(row) for row in rows]}, indent=2) + "\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

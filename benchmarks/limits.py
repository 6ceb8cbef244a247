"""How far the control step is from bare physics, where its time goes, and what shortcuts would cost.

``python benchmarks/limits.py`` (one minute on two cores; ``--steps 20`` a quarter of it). LIBERO's own environment, our
simulator and bare physics take turns, step after step, from the same start with the same actions, without pictures.
CPU times; medians of the ratios within a step. It is also a check: ours must end where LIBERO ends, to the last bit.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from gym_grounding.adapters.libero import facts, fixtures
from gym_grounding.adapters.libero.core import symbols
from gym_grounding.adapters.libero.robosuite_names import ControlEnv, mujoco, task_maps
from gym_grounding.adapters.libero.simulator import Simulator
from gym_grounding.types import Goal, Slots, Task

SCENES = (("libero_goal", 8), ("libero_spatial", 0), ("libero_object", 0), ("libero_10", 9))
INIT_STATE = 2
STAGES = [symbols.function(name) for name in symbols.STAGES]
SOLVE = STAGES[-1]
STEP, STEP2 = (symbols.function(name) for name in symbols.STEPS)


def timed(deed: Callable[[], Any]) -> float:
    """CPU time of this thread [ms]."""
    before = time.thread_time_ns()
    deed()
    return (time.thread_time_ns() - before) / 1e6


def copied(model: Any, data: Any) -> Any:
    """Another ``MjData`` in the same state, from which bare steps go the same way."""
    copy = mujoco.MjData(model)
    for name in ("qpos", "qvel", "ctrl", "qacc_warmstart"):
        getattr(copy, name)[:] = getattr(data, name)
    return copy


class Measured:
    """One scene's figures.

    Args:
        suite, index: LIBERO's task.
        steps: control steps.
    """

    def __init__(self, suite: str, index: int, steps: int) -> None:
        name = list(task_maps[suite])[index]
        task = Task(f"{suite}-T{index}", suite, index, name, suite, "", "", Slots(), Goal(()), suite, 50)
        self.title = task.id
        bddl, row = facts.bddl_path(task), facts.init_state(task, INIT_STATE)
        ours = Simulator(bddl, draws=False)
        theirs = ControlEnv(str(bddl), use_camera_obs=False, has_offscreen_renderer=False, ignore_done=True)

        def begin() -> None:
            ours.start(bddl, INIT_STATE, row, fixtures.poses(task, INIT_STATE), drawing=False)

        theirs.seed(INIT_STATE)
        self.their_start = timed(lambda: (theirs.reset(), theirs.set_init_state(row)))
        begin()
        self.our_start = statistics.median(timed(begin) for _ in range(10))
        self.model, self.data = ours.env.sim.model._model, ours.env.sim.data._data
        self.begun = copied(self.model, self.data)
        self._steps(ours, theirs, steps)
        self.equal = bool(np.array_equal(theirs.get_sim_state(), ours.state()))
        ours.close()
        theirs.close()

    def _steps(self, ours: Simulator, theirs: Any, steps: int) -> None:
        actions = np.random.default_rng(5).uniform(-1, 1, (steps, 7))
        actions[:, 2] = -0.7 * np.abs(actions[:, 2])
        controls: list[Any] = []
        step = theirs.sim.step
        theirs.sim.step = lambda: (controls.append(theirs.sim.data.ctrl.copy()), step())
        self.rows = []
        for action in actions:
            bare = copied(self.model, self.data)
            both = self.model._address, bare._address
            libero = timed(lambda action=action: theirs.step(action))
            own = timed(lambda action=action: ours.step(action, drawing=False))
            self.rows.append((libero, own, timed(lambda both=both: [STEP(*both) for _ in range(25)])))
        self._replay(controls)

    def _replay(self, controls: list[Any]) -> None:
        """The recorded torques again, with and without the solves that only warm the solver."""
        warmed, cold = self.begun, mujoco.MjData(self.model)
        for name in ("qpos", "qvel", "ctrl", "qacc_warmstart"):
            getattr(cold, name)[:] = getattr(warmed, name)
        own, other = (self.model._address, warmed._address), (self.model._address, cold._address)
        self.solves, self.physics, self.parts = 0.0, 0.0, None
        for number, control in enumerate(controls):
            self.physics += timed(lambda: [stage(*own) for stage in STAGES[:-1]])
            # LIBERO's first control step asks for one pass less.
            self.solves += timed(lambda number=number: [SOLVE(*own) for _ in range(2 if number else 1)])
            warmed.ctrl[:] = cold.ctrl[:] = control
            self.physics += timed(lambda: STEP2(*own))
            for stage in (*STAGES[:2], STEP2):
                stage(*other)
            if self.parts is None and not np.array_equal(warmed.qpos, cold.qpos):
                self.parts = number + 1
        self.replayed = bool(np.array_equal(warmed.qpos, self.data.qpos))
        self.apart = float(np.abs(warmed.qpos - cold.qpos).max())

    def line(self) -> str:
        """The figures, as a row of the table."""
        rows = np.array(self.rows)
        libero, own, bare = (statistics.median(column) for column in rows.T)
        ratio, above = statistics.median(rows[:, 0] / rows[:, 1]), statistics.median(rows[:, 1] / rows[:, 2])
        share = self.solves / (self.solves + self.physics)
        return (
            f"{self.title:18}{libero:9.2f}{own:8.2f}{bare:8.2f}{ratio:10.2f}{above:10.2f}{share:10.0%}"
            f"{self.their_start / self.our_start:12.0f}{self.parts or '-':>10}{self.apart:12.1e}"
        )


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 0 when ours ended where LIBERO ended."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--steps", type=int, default=100, help="control steps per scene")
    parser.add_argument("--scenes", type=int, default=len(SCENES), help="only the first so many scenes")
    options = parser.parse_args(arguments)
    measured = []
    for suite, index in SCENES[: options.scenes]:
        measured.append(Measured(suite, index, options.steps))
    print("step [ms]: LIBERO's, ours, 25 bare mj_step; solves: share of physics that only warms the solver")
    print("start: LIBERO's / ours; apart: physics step at which positions differ without those solves, and how far\n")
    heads = f"{'scene':18}{'LIBERO':>9}{'ours':>8}{'bare':>8}{'LIBERO/':>10}{'/bare':>10}{'solves':>10}"
    print(f"{heads}{'start':>12}{'apart at':>10}{'in the end':>12}")
    for one in measured:
        print(one.line())
    equal = all(one.equal and one.replayed for one in measured)
    print(f"\nended where LIBERO ended, to the last bit: {'yes' if equal else 'NO'}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())

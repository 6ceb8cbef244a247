"""Episode starts equal to the last bit to those of LIBERO's reset and initial state, without running them.

All that outlasts the initial state that LIBERO sets over a random reset is noted once for each (task, seed): the
solver's warm start, and where the fixtures stand.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gym_grounding.adapters.libero.core.arrays import Floats
from gym_grounding.adapters.libero.core.stepper import Stepper
from gym_grounding.adapters.libero.environment import Environment
from gym_grounding.adapters.libero.robosuite_names import mujoco

_KEPT = 4096
"""Notes of this many resets are kept, about 2 kB each."""


@dataclass(frozen=True, slots=True)
class Trace:
    """What a seeded reset of LIBERO's leaves behind.

    Attributes:
        warm: the solver's warm start, shape (nv,).
        state: time, positions and velocities as drawn, shape (1 + nq + nv,).
        fixtures: name -> position [m] and quaternion (w, x, y, z), shape (7,).
    """

    warm: Floats
    state: Floats
    fixtures: Mapping[str, Floats]


class Traces:
    """Traces of one scene, from an environment of LIBERO's that may be reset at any time.

    Args:
        environment: of the scene.
    """

    def __init__(self, environment: Environment) -> None:
        self._environment = environment
        self._known: OrderedDict[tuple[Path, int], Trace] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, bddl: Path, seed: int) -> Trace:
        """The trace of a reset of the task with this BDDL file; runs LIBERO's reset the first time.

        Raises:
            SimulatorError: the objects cannot be placed.
        """
        key = (bddl, seed)
        with self._lock:
            if key not in self._known:
                self._known[key] = self._made(bddl, seed)
                if len(self._known) > _KEPT:
                    self._known.popitem(last=False)
            return self._known[key]

    def _made(self, bddl: Path, seed: int) -> Trace:
        environment = self._environment
        environment.reset(bddl, seed)
        sim = environment.problem.sim
        poses = environment.fixture_poses()
        trace = Trace(np.array(sim.data.qacc_warmstart), sim.get_state().flatten(), poses)
        for array in (trace.warm, trace.state, *poses.values()):
            array.flags.writeable = False
        return trace


def start(stepper: Stepper, warm: Floats, state: Floats, fixtures: Mapping[int, Floats]) -> None:
    """Begin an episode; afterwards ``stepper.seen`` is its first observation.

    Args:
        stepper: its data, and the fixtures in its model, are overwritten.
        warm: see ``Trace``.
        state: time, positions and velocities, shape (1 + nq + nv,).
        fixtures: number of the body -> position [m] and quaternion (w, x, y, z), shape (7,); others stay.
    """
    model, data = stepper.model, stepper.data
    for body, pose in fixtures.items():
        model.body_pos[body], model.body_quat[body] = pose[:3], pose[3:]
    mujoco.mj_resetData(model, data)
    data.time = state[0]
    data.qpos[:], data.qvel[:] = state[1 : 1 + model.nq], state[1 + model.nq :]
    data.qacc_warmstart[:] = warm
    mujoco.mj_forward(model, data)
    stepper.begin()

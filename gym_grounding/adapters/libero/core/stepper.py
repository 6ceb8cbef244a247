"""A scene that is advanced by control steps, each as LIBERO's, to the last bit."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters.libero.core import plain
from gym_grounding.adapters.libero.core.arrays import Command, Floats, Memory, new_memory, recall, world_of
from gym_grounding.adapters.libero.core.layout import Layout
from gym_grounding.adapters.libero.robosuite_names import axisangle2quat, mujoco, quat2mat
from gym_grounding.errors import SimulatorError

_CONTACTS, _CONSTRAINTS = int(mujoco.mjtWarning.mjWARN_CONTACTFULL), int(mujoco.mjtWarning.mjWARN_CNSTRFULL)


class Stepper:
    """Controller and observations of one ``MjData``.

    Args:
        model, data: MuJoCo's own; kept alive by the stepper.
        layout: of their scene.
        backend: ``compiled`` or ``plain``; by default the faster one that works here.

    Attributes:
        memory: what is kept between steps.
        seen: the last observation, flat; see ``Layout.parts``.
    """

    def __init__(self, model: Any, data: Any, layout: Layout, backend: types.ModuleType | None = None) -> None:
        self.model, self.data, self.layout = model, data, layout
        self.memory: Memory = new_memory(model.nq, model.nv)
        self.seen: Floats = np.zeros(layout.size)
        self._backend: Any = backend or fastest()
        self._world = world_of(model, data)
        self._warnings = data.warning.number

    def begin(self) -> None:
        """Start an episode from the present state of the data, whose poses are fresh, and observe it."""
        recall(self.memory, self.layout.rest, self.layout.clock)
        self.memory.drawn[:] = self.memory.shown[:] = self.data.qpos
        self._backend.observe(self._world, self.layout.watch, self.seen)

    def step(self, action: NDArray[np.float64]) -> None:
        """Advance one control step.

        Args:
            action: shape (7,): shift and turn of the hand's goal, and the gripper; see ``scene.LiberoScene``.

        Raises:
            SimulatorError: more contacts than the model has memory for.
        """
        layout = self.layout
        command = self.command(action)
        self._backend.advance(self._world, layout.arm, layout.watch, self.memory, command, self.seen)
        if self._warnings[_CONTACTS] or self._warnings[_CONSTRAINTS]:
            raise SimulatorError(
                f"{self.data.ncon} contacts need more memory than the model has, and mujoco has dropped some; "
                "raise core.model.ARENA"
            )

    def command(self, action: NDArray[np.float64]) -> Command:
        """What an action asks for, in the controller's units."""
        layout = self.layout
        clipped = np.minimum(np.maximum(action[:6], layout.lowest), layout.highest)
        scaled = (clipped - layout.middle) * layout.scale + layout.offset
        # Through numpy's sine and cosine, as in robosuite, and then through float32.
        turn = quat2mat(axisangle2quat(scaled[3:]))
        return Command(scaled[:3], turn, bool(scaled[3:].any()), float(action[6]))

    def present(self) -> Floats:
        """Positions whose poses the data holds, shape (nq,): after a step those before its last physics step."""
        scratch = mujoco.MjData(self.model)
        scratch.qpos[:] = self.memory.shown
        mujoco.mj_kinematics(self.model, scratch)
        stepped = np.array_equal(scratch.xpos, self.data.xpos) and np.array_equal(scratch.xquat, self.data.xquat)
        return self.memory.shown if stepped else np.array(self.data.qpos)

    def observation(self) -> dict[str, Floats]:
        """Key -> its part of a copy of the last observation, shape (n,)."""
        seen = self.seen.copy()
        return {key: seen[part] for key, part in self.layout.parts.items()}


@functools.cache
def fastest() -> types.ModuleType:
    """The compiled step where numba compiles and calls a BLAS that agrees with numpy's, else the plain one."""
    if not jitted():
        return plain
    from gym_grounding.adapters.libero.core import agreement, compiled

    return compiled if agreement.agrees() else plain


def jitted() -> bool:
    """Whether numba is here and compiles."""
    try:
        import numba
    except ImportError:
        return False
    return not getattr(numba.config, "DISABLE_JIT", 0)

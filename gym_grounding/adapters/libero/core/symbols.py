"""MuJoCo's C functions by address, for code that works on raw arrays."""

from __future__ import annotations

import ctypes
import functools
from pathlib import Path
from typing import Any

from gym_grounding.adapters.libero.robosuite_names import mujoco
from gym_grounding.errors import SimulatorError

STAGES = ("mj_fwdPosition", "mj_fwdVelocity", "mj_fwdActuation", "mj_fwdAcceleration", "mj_fwdConstraint")
"""The stages of ``mj_forward`` without sensors and energies, in order."""
STEPS = ("mj_step", "mj_step2")
JACOBIAN = "mj_jacSite"


def function(name: str) -> Any:
    """A function of the loaded MuJoCo as ctypes calls it.

    Stages and steps take the addresses of model and data; the Jacobian also those of two arrays (3, nv), and a site.
    """
    called = getattr(_library(), name)
    called.restype = None
    extra = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int] if name == JACOBIAN else []
    called.argtypes = [ctypes.c_void_p, ctypes.c_void_p, *extra]
    return called


def address(name: str) -> int:
    """Where the function starts."""
    return int(ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value or 0)


@functools.cache
def normalises() -> bool:
    """Whether kinematics writes its normalised quaternions back (2.3.7 does), which it can do anew on each pass."""
    ball = "<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody></mujoco>"
    model = mujoco.MjModel.from_xml_string(ball)
    data = mujoco.MjData(model)
    data.qpos[3:] = 2.0, 0.0, 0.0, 0.0
    mujoco.mj_kinematics(model, data)
    return bool(data.qpos[3] != 2.0)


def _library() -> ctypes.CDLL:
    folder = Path(mujoco.__file__).parent
    for path in sorted(folder.glob("libmujoco*")):
        # Loading it a second time gives the copy that the bindings use.
        return ctypes.CDLL(str(path))
    raise SimulatorError(f"{folder} has no libmujoco. Run: pip install --force-reinstall mujoco=={mujoco.__version__}")

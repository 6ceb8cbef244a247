"""What a demonstration file holds: LIBERO's layout, and what is added to it.

One file per task, ``SUITE/TASK_demo.hdf5``, and one group ``data/demo_N`` per demonstration. T is its length, n the
size of the simulator's state (1 + nq + nv: time, positions, velocities):

    actions                (T, 7)            float64  as executed, in [-1, 1]
    states                 (T, n)            float64  before the action of the row
    robot_states           (T, 9)            float64  fingers 2, hand's position 3 and quaternion 4 (x, y, z, w)
    rewards, dones         (T,)              uint8    0, in the last row 1
    obs/gripper_states     (T, 2)            float64  after the action of the row, as everything in obs
    obs/joint_states       (T, 7)            float64
    obs/ee_states          (T, 6)            float64  ee_pos and ee_ori
    obs/ee_pos, obs/ee_ori (T, 3)            float64  position [m], axis-angle [rad]
    obs/agentview_rgb      (T, 128, 128, 3)  uint8    raw orientation, only where pictures were asked for
    obs/eye_in_hand_rgb    (T, 128, 128, 3)  uint8

Added, and unknown to LIBERO's readers: ``clean_actions`` (T, 7), what the demonstrator wanted where noise was
executed, and ``observations/KEY`` (T + 1, ...), the environment's own state observations, row t from before action t.

Surprises of LIBERO's layout: an observation of ``obs`` answers the action of its row, and is not what the demonstrator
saw (that is the row before); ``init_state`` is the first row of ``states``, not the start of the episode, since LIBERO
drops the first five steps, in which things come to rest. Here the settle steps are dropped in their place, and
``start_state`` keeps the state from before them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.types import Task

Array = NDArray[np.float64]
Row = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Column:
    """One dataset of a demonstration.

    Attributes:
        shape: of a row; -1 stands for any length.
        type: of its numbers, as LIBERO writes them.
        kinds: NumPy's letters of further number types that can be read all the same.
        required: LIBERO always writes it.
    """

    shape: tuple[int, ...]
    type: str = "float64"
    kinds: str = "f"
    required: bool = True


COLUMNS = {
    "actions": Column((7,)),
    "states": Column((-1,)),
    "robot_states": Column((9,)),
    "rewards": Column((), "uint8", "uif"),
    "dones": Column((), "uint8", "uifb"),
    "obs/gripper_states": Column((2,)),
    "obs/joint_states": Column((7,)),
    "obs/ee_states": Column((6,)),
    "obs/ee_pos": Column((3,)),
    "obs/ee_ori": Column((3,)),
    "obs/agentview_rgb": Column((-1, -1, 3), "uint8", "", required=False),
    "obs/eye_in_hand_rgb": Column((-1, -1, 3), "uint8", "", required=False),
    "clean_actions": Column((7,), required=False),
}
"""Everything with T rows."""
PICTURES = {"obs/agentview_rgb": "agentview_image", "obs/eye_in_hand_rgb": "robot0_eye_in_hand_image"}
"""Pictures -> keys of the environment's observation."""
PROPRIOCEPTION = {
    "obs/joint_states": "robot0_joint_pos",
    "obs/gripper_states": "robot0_gripper_qpos",
    "obs/ee_pos": "robot0_eef_pos",
    "obs/ee_ori": "robot0_eef_quat",
}
"""Proprioception -> keys of the environment's observation; ``ee_ori`` is an axis-angle, see ``quaternions``."""
OBSERVATIONS = "observations"
"""The added group with T + 1 rows."""
LONGEST = 100_000
"""More rows than any demonstration has; a file that claims more is damaged."""
SIZE = 128
"""Side of LIBERO's pictures [pixels]."""
CAMERAS = ("robot0_eye_in_hand", "agentview")
"""In the order of LIBERO's recorder."""
RATE = 20
"""Control steps per second."""
TAG = "gym-grounding"
"""The attribute ``tag`` of ``data`` in files that were made here."""
MADE = "made"
"""The attribute of ``data`` that says, as JSON, with what settings a file was made."""


def file_of(folder: Path, task: Task) -> Path:
    """Where the demonstrations of a task are, with LIBERO's names: ``FOLDER/libero_goal/TASK_demo.hdf5``."""
    return folder / task.source / f"{task.name}_demo.hdf5"


def axis_angle(quaternions: Array) -> Array:
    """Rotations as axis-angles [rad], shape (T, 3), to the last bit as robosuite's ``quat2axisangle`` gives them.

    An angle may be over pi: the sign of the quaternion is kept.

    Args:
        quaternions: x, y, z, w, shape (T, 4).
    """
    w = np.clip(quaternions[:, 3], -1.0, 1.0)
    length = np.sqrt(1.0 - w * w)
    still = length == 0.0
    # The C library's arc cosine and NumPy's own may differ in the last bit.
    angles = np.array([math.acos(one) for one in w])
    vectors = quaternions[:, :3] * 2.0 * angles[:, None] / np.where(still, 1.0, length)[:, None]
    turned: Array = np.where(still[:, None], 0.0, vectors)
    return turned


def quaternions(turned: NDArray[Any]) -> Array:
    """Axis-angles as unit quaternions x, y, z, w, shape (T, 4): what ``axis_angle`` turned, sign included.

    Args:
        turned: [rad], shape (T, 3).
    """
    vectors = np.asarray(turned, np.float64)
    half = np.sqrt((vectors * vectors).sum(1, keepdims=True)) / 2.0
    # sin(h) / (2 h), whose limit is one half
    return np.concatenate([vectors * np.sinc(half / np.pi) / 2.0, np.cos(half)], axis=1)


def columns(before: Array, actions: Array, clean: Array, after: Row) -> dict[str, NDArray[Any]]:
    """Everything that LIBERO writes of an episode, and the clean actions, by name of the dataset.

    Args:
        before: states before each action, shape (T, n).
        actions: executed, shape (T, 7).
        clean: wanted, shape (T, 7).
        after: observations after each action, key of the environment -> (T, ...).
    """
    last = np.zeros(len(actions), np.uint8)
    last[-1] = 1
    fingers, position, quaternion = (after[f"robot0_{key}"] for key in ("gripper_qpos", "eef_pos", "eef_quat"))
    turned = axis_angle(quaternion)
    pictures = {name: after[key] for name, key in PICTURES.items() if key in after}
    return {
        "actions": actions,
        "states": before,
        "robot_states": np.concatenate([fingers, position, quaternion], axis=1),
        "rewards": last,
        "dones": last,
        "obs/gripper_states": fingers,
        "obs/joint_states": after["robot0_joint_pos"],
        "obs/ee_states": np.concatenate([position, turned], axis=1),
        "obs/ee_pos": position,
        "obs/ee_ori": turned,
        "clean_actions": clean,
        **pictures,
    }


def header(task: Task, problem: str, origin: Mapping[str, Any]) -> dict[str, Any]:
    """Attributes of ``data``, but for ``num_demos`` and ``total``: LIBERO's own, as its recorder writes them, and ours.

    Args:
        task: that is demonstrated.
        problem: LIBERO's name of the kind of scene.
        origin: of ``LiberoScene.origin``.
    """
    bddl = f"bddl_files/{task.source}/{task.name}.bddl"
    settings = {
        "robots": ["Panda"],
        "controller_configs": origin["controller"],
        "bddl_file_name": bddl,
        "has_renderer": False,
        "has_offscreen_renderer": True,
        "ignore_done": True,
        "use_camera_obs": True,
        "camera_depths": False,
        "camera_names": list(CAMERAS),
        "reward_shaping": True,
        "control_freq": RATE,
        "camera_heights": SIZE,
        "camera_widths": SIZE,
        "camera_segmentations": None,
    }
    text = task.source_instruction
    return {
        "env_name": origin["env_name"],
        "problem_info": {"problem_name": problem, "domain_name": "robosuite", "language_instruction": text},
        "macros_image_convention": "opengl",
        "bddl_file_name": bddl,
        "bddl_file_content": origin["bddl_text"],
        "env_args": {
            "type": 1,
            "env_name": origin["env_name"],
            "problem_name": problem,
            "bddl_file": bddl,
            "env_kwargs": settings,
        },
        "tag": TAG,
        "task": task.id,
        "instruction": task.instruction,
    }

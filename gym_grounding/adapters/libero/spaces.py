"""Observation and action spaces of a LIBERO scene, from its registered entities alone."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from gym_grounding.types import SceneFacts, SceneSettings

CAMERAS = ("agentview", "robot0_eye_in_hand")
ROBOT = {
    "robot0_joint_pos": 7,
    "robot0_joint_vel": 7,
    "robot0_eef_pos": 3,
    "robot0_eef_quat": 4,
    "robot0_gripper_qpos": 2,
    "robot0_gripper_qvel": 2,
}
"""Proprioception: LIBERO's key -> size."""


def arrays(scene: SceneFacts, settings: SceneSettings) -> dict[str, int]:
    """Key -> size of every float array in an observation, in order."""
    sizes = dict(ROBOT)
    if settings.observation == "pixels":
        return sizes
    for entity in scene.of_kind("object"):
        name = entity.name
        sizes |= {f"{name}_pos": 3, f"{name}_quat": 4, f"{name}_to_robot0_eef_pos": 3, f"{name}_to_robot0_eef_quat": 4}
    for entity in scene.of_kind("fixture"):
        sizes |= {f"{entity.name}_pos": 3, f"{entity.name}_quat": 4}
        if entity.joints:
            sizes[f"{entity.name}_joint_pos"] = entity.joints
    return sizes


def pictures(settings: SceneSettings) -> dict[str, str]:
    """Key -> camera of every picture in an observation."""
    return {} if settings.observation == "state" else {f"{camera}_image": camera for camera in CAMERAS}


def observation_space(scene: SceneFacts, settings: SceneSettings) -> spaces.Dict:
    """The flat space of an observation: float64 arrays without bounds, uint8 pictures."""
    parts: dict[str, spaces.Space[object]] = {
        key: spaces.Box(-np.inf, np.inf, (size,), np.float64) for key, size in arrays(scene, settings).items()
    }
    shape = (settings.image_size, settings.image_size, 3)
    parts |= {key: spaces.Box(0, 255, shape, np.uint8) for key in pictures(settings)}
    return spaces.Dict(parts)


def action_space() -> spaces.Box:
    """Box(-1, 1, (7,), float32): translation and rotation offsets of the hand, gripper. See ``scene.LiberoScene``."""
    return spaces.Box(-1.0, 1.0, (7,), np.float32)

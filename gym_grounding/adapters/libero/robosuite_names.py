"""Everything taken from robosuite, LIBERO and mujoco, imported quietly. Import this module only to open a scene."""

from __future__ import annotations

from gym_grounding.adapters.libero import install

with install.importing():
    import mujoco
    from libero.libero import get_default_path_dict, get_libero_path
    from libero.libero.benchmark import task_maps
    from libero.libero.envs.bddl_utils import robosuite_parse_problem
    from libero.libero.envs.env_wrapper import ControlEnv
    from libero.libero.envs.object_states import ObjectState, SiteObjectState
    from libero.libero.envs.objects.site_object import SiteObject
    from libero.libero.envs.objects.target_zones import TargetZone
    from libero.libero.envs.predicates import get_predicate_fn, get_predicate_fn_dict
    from mujoco import get_mju_user_warning, mjtGeom, mjtJoint, mjtWarning, set_mju_user_warning
    from robosuite.controllers.osc import OperationalSpaceController
    from robosuite.models.grippers import PandaGripper
    from robosuite.models.tasks import Task as RobosuiteTask
    from robosuite.utils import binding_utils
    from robosuite.utils.binding_utils import MjRenderContextOffscreen
    from robosuite.utils.control_utils import nullspace_torques, opspace_matrices, orientation_error
    from robosuite.utils.errors import RandomizationError
    from robosuite.utils.mjcf_utils import string_to_array
    from robosuite.utils.observables import Observable, sensor
    from robosuite.utils.transform_utils import (
        axisangle2quat,
        convert_quat,
        mat2pose,
        mat2quat,
        pose2mat,
        pose_in_A_to_pose_in_B,
        pose_inv,
        quat2mat,
    )

__all__ = [
    "ControlEnv",
    "MjRenderContextOffscreen",
    "ObjectState",
    "Observable",
    "OperationalSpaceController",
    "PandaGripper",
    "RandomizationError",
    "RobosuiteTask",
    "SiteObject",
    "SiteObjectState",
    "TargetZone",
    "axisangle2quat",
    "binding_utils",
    "convert_quat",
    "get_default_path_dict",
    "get_libero_path",
    "get_mju_user_warning",
    "get_predicate_fn",
    "get_predicate_fn_dict",
    "mat2pose",
    "mat2quat",
    "mjtGeom",
    "mjtJoint",
    "mjtWarning",
    "mujoco",
    "nullspace_torques",
    "opspace_matrices",
    "orientation_error",
    "pose2mat",
    "pose_in_A_to_pose_in_B",
    "pose_inv",
    "quat2mat",
    "robosuite_parse_problem",
    "sensor",
    "set_mju_user_warning",
    "string_to_array",
    "task_maps",
]

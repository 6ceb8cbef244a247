"""Where a scene's numbers are, and what its controller never changes: read off LIBERO's environment after a reset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gym_grounding.adapters.libero.core import symbols
from gym_grounding.adapters.libero.core.arrays import Arm, Places, Rest, Watch
from gym_grounding.adapters.libero.robosuite_names import OperationalSpaceController, PandaGripper, mujoco
from gym_grounding.adapters.libero.versions import MUJOCO_ALSO_RIGHT, MUJOCO_VERSION
from gym_grounding.errors import SimulatorError


@dataclass(frozen=True, slots=True)
class Layout:
    """What a ``Stepper`` needs to know of a scene.

    Attributes:
        arm, watch, rest: see there.
        clock: time that the clock of the observations shows after a reset and a set initial state [s].
        lowest, highest, middle, scale, offset: of robosuite's scaling of actions, shape (6,).
        parts: key of LIBERO's observation -> its place in the flat one.
        size: of the flat observation.
    """

    arm: Arm
    watch: Watch
    rest: Rest
    clock: float
    lowest: Any
    highest: Any
    middle: Any
    scale: Any
    offset: Any
    parts: Mapping[str, slice]
    size: int


def read(problem: Any) -> Layout:
    """The layout of LIBERO's problem object, which was reset and not stepped since.

    Raises:
        SimulatorError: another robot, controller or observation clock than LIBERO's own; see ``uncovered``.
    """
    if reason := uncovered(problem):
        raise SimulatorError(f"The fast core does not cover {reason}; step LIBERO's own environment instead")
    robot = problem.robots[0]
    controller = robot.controller
    if controller.new_update:
        raise SimulatorError("A layout is read right after a reset, and this environment was stepped since")
    controller.scale_action(np.zeros(6))
    parts = dict(_parts(problem))
    size = max(part.stop for part in parts.values())
    tick = float(problem.model_timestep)
    return Layout(
        arm=_arm(problem),
        watch=_watch(problem),
        rest=_rest(controller),
        # Two forced samples, one by the reset and one by the initial state, each add a tick.
        clock=0.0 + tick + tick,
        lowest=np.array(controller.input_min, np.float64),
        highest=np.array(controller.input_max, np.float64),
        middle=np.array(controller.action_input_transform, np.float64),
        scale=np.array(controller.action_scale, np.float64),
        offset=np.array(controller.action_output_transform, np.float64),
        parts=parts,
        size=size,
    )


def uncovered(problem: Any) -> str:
    """What of an environment the core does not reproduce; empty when it reproduces all of it."""
    if mujoco.__version__ not in (MUJOCO_VERSION, *MUJOCO_ALSO_RIGHT):
        return f"mujoco {mujoco.__version__}"
    if len(problem.robots) != 1:
        return f"{len(problem.robots)} robots"
    robot, controller = problem.robots[0], problem.robots[0].controller
    if type(robot.gripper) is not PandaGripper:
        return f"the gripper {type(robot.gripper).__name__}"
    if type(controller) is not OperationalSpaceController or controller.impedance_mode != "fixed":
        return f"the controller {controller.name} with {getattr(controller, 'impedance_mode', 'no')} impedance"
    plain = controller.use_ori and controller.use_delta and controller.uncoupling
    limits = (controller.position_limits, controller.orientation_limits)
    if not plain or controller.interpolator_pos or controller.interpolator_ori or any(x is not None for x in limits):
        return "a controller with limits, interpolation, absolute goals or coupled axes"
    if robot.initialization_noise["magnitude"] != 0.0 or len(robot.joint_indexes) != 7:
        return "an arm with noise in its first pose or without seven joints"
    periods = {observable._sampling_timestep for observable in problem._observables.values()}
    if len(periods) != 1:
        return "observations sampled at different rates"
    return ""


def _arm(problem: Any) -> Arm:
    sim, robot = problem.sim, problem.robots[0]
    controller, model = robot.controller, sim.model
    velocities = _places(robot._ref_joint_vel_indexes)
    fingers = _places(robot._ref_joint_gripper_actuator_indexes)
    ranges = model.actuator_ctrlrange[fingers]
    lowest, highest = robot.torque_limits
    return Arm(
        positions=_places(robot._ref_joint_pos_indexes),
        velocities=velocities,
        motors=_places(robot._ref_joint_actuator_indexes),
        fingers=fingers,
        site=int(model.site_name2id(controller.eef_name)),
        inertia=_inertia_places(getattr(model, "_model", model), velocities),
        stiffness=np.array(controller.kp, np.float64),
        damping=np.array(controller.kd, np.float64),
        lowest=np.array(lowest, np.float64),
        highest=np.array(highest, np.float64),
        home=np.array(controller.initial_joint, np.float64),
        finger_steps=np.array([-1.0, 1.0]) * robot.gripper.speed,
        finger_middle=0.5 * (ranges[:, 1] + ranges[:, 0]),
        finger_reach=0.5 * (ranges[:, 1] - ranges[:, 0]),
    )


def _inertia_places(model: Any, velocities: Places) -> Places:
    """Where MuJoCo's dense form takes the arm's elements from, found by expanding a numbered sparse one."""
    numbered = np.arange(1.0, model.nM + 1)
    dense = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, dense, numbered)
    return _places(dense[np.ix_(velocities, velocities)] - 1)


def _watch(problem: Any) -> Watch:
    sim, robot = problem.sim, problem.robots[0]
    observable = next(iter(problem._observables.values()))
    joints = [address for name in problem.fixtures_dict for address in _fixture_joints(problem, name)]
    return Watch(
        positions=_places([*robot._ref_joint_pos_indexes, *robot._ref_gripper_joint_pos_indexes, *joints]),
        velocities=_places([*robot._ref_joint_vel_indexes, *robot._ref_gripper_joint_vel_indexes]),
        bodies=_places([problem.obj_body_id[name] for name in _bodies(problem)]),
        objects=len(problem.objects),
        site=int(robot.eef_site_id),
        hand=int(sim.model.body_name2id(robot.robot_model.eef_name)),
        substeps=int(problem.control_timestep / problem.model_timestep),
        tick=float(problem.model_timestep),
        period=float(observable._sampling_timestep),
        again=symbols.normalises(),
    )


def _rest(controller: Any) -> Rest:
    return Rest(
        hand=np.array(controller.ee_pos),
        rotation=np.array(controller.ee_ori_mat),
        joints=np.array(controller.joint_pos),
        jacobian_position=np.array(controller.J_pos),
        jacobian_rotation=np.array(controller.J_ori),
        mass=np.array(controller.mass_matrix),
    )


def _parts(problem: Any) -> Iterator[tuple[str, slice]]:
    """LIBERO's keys in the order in which ``observe`` writes them, and those of the fixtures."""
    prefix = problem.robots[0].robot_model.naming_prefix
    objects = [thing.name for thing in problem.objects]
    joints = [(f"{name}_joint_pos", len(_fixture_joints(problem, name))) for name in problem.fixtures_dict]
    sizes = [(f"{prefix}joint_pos", 7), (f"{prefix}gripper_qpos", 2), *joints]
    sizes += [(f"{prefix}joint_vel", 7), (f"{prefix}gripper_qvel", 2)]
    sizes += [(f"{prefix}eef_pos", 3), (f"{prefix}eef_quat", 4)]
    for name in _bodies(problem):
        sizes += [(f"{name}_pos", 3), (f"{name}_quat", 4)]
    for name in objects:
        sizes += [(f"{name}_to_{prefix}eef_pos", 3), (f"{name}_to_{prefix}eef_quat", 4)]
    place = 0
    for key, size in sizes:
        if size:
            yield key, slice(place, place + size)
        place += size


def _bodies(problem: Any) -> list[str]:
    return [*(thing.name for thing in problem.objects), *problem.fixtures_dict]


def _fixture_joints(problem: Any, name: str) -> list[int]:
    return [int(problem.sim.model.get_joint_qpos_addr(joint)) for joint in problem.fixtures_dict[name].joints]


def _places(numbers: Any) -> Places:
    return np.asarray(numbers).astype(np.int64)

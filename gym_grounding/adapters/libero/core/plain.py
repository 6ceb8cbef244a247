"""The control step in Python over robosuite's own functions: where numba cannot serve, and to be read."""

from __future__ import annotations

import numpy as np

from gym_grounding.adapters.libero.core import symbols
from gym_grounding.adapters.libero.core.arrays import Arm, Command, Floats, Memory, Watch, World
from gym_grounding.adapters.libero.robosuite_names import (
    convert_quat,
    mat2pose,
    nullspace_torques,
    opspace_matrices,
    orientation_error,
    pose2mat,
    pose_in_A_to_pose_in_B,
    pose_inv,
)

_BAD = 1e10
_STAGES = tuple(symbols.function(name) for name in symbols.STAGES)
_STEP, _STEP2 = (symbols.function(name) for name in symbols.STEPS)
_JACOBIANS = symbols.function(symbols.JACOBIAN)


def advance(world: World, arm: Arm, watch: Watch, memory: Memory, command: Command, seen: Floats) -> None:
    """See ``compiled.advance``."""
    both = world.model, world.data
    for substep in range(watch.substeps):
        for stage in _STAGES:
            stage(*both)
        if not memory.stale[0]:
            for stage in _STAGES if watch.again else _STAGES[-1:]:
                stage(*both)
            _look(world, arm, memory)
        memory.stale[0] = 0
        if substep == 0:
            if command.turns:
                memory.goal_rotation[:] = np.dot(command.turn, memory.rotation)
            memory.goal_position[:] = memory.hand + command.shift
        _drive(world, arm, memory, command.grip)
        sampling = memory.clock[1] == 0.0
        memory.shown[:] = world.qpos
        if sampling:
            memory.drawn[:] = world.qpos
        # MuJoCo starts a scene anew whose numbers are bad; only the whole step looks for them.
        good = np.all(np.abs(world.qpos) <= _BAD) and np.all(np.abs(world.qvel) <= _BAD)
        (_STEP2 if good and not watch.again else _STEP)(*both)
        if sampling:
            observe(world, watch, seen)
        _tick(watch, memory)


def observe(world: World, watch: Watch, seen: Floats) -> None:
    """See ``compiled.observe``."""
    hand = world.site_positions[watch.site], convert_quat(world.body_rotations[watch.hand], to="xyzw")
    poses = [(world.body_positions[body], convert_quat(world.body_rotations[body], to="xyzw")) for body in watch.bodies]
    view = pose_inv(pose2mat(hand))
    relative = [mat2pose(pose_in_A_to_pose_in_B(pose2mat(pose), view)) for pose in poses[: watch.objects]]
    parts = [part for pose in (hand, *poses, *relative) for part in pose]
    np.concatenate([world.qpos[watch.positions], world.qvel[watch.velocities], *parts], out=seen)


def _look(world: World, arm: Arm, memory: Memory) -> None:
    memory.hand[:] = world.site_positions[arm.site]
    memory.rotation[:] = world.site_rotations[arm.site].reshape(3, 3)
    position, rotation = memory.whole_position, memory.whole_rotation
    _JACOBIANS(world.model, world.data, position.ctypes.data, rotation.ctypes.data, arm.site)
    memory.linear[:] = np.dot(position, world.qvel)
    memory.angular[:] = np.dot(rotation, world.qvel)
    memory.joints[:] = world.qpos[arm.positions]
    memory.speeds[:] = world.qvel[arm.velocities]
    memory.jacobian_position[:] = memory.jacobian[:3] = position[:, arm.velocities]
    memory.jacobian_rotation[:] = memory.jacobian[3:] = rotation[:, arm.velocities]
    memory.mass[:] = np.where(arm.inertia >= 0, world.inertia[arm.inertia], 0.0)


def _drive(world: World, arm: Arm, memory: Memory, grip: float) -> None:
    error = orientation_error(memory.goal_rotation, memory.rotation)
    force = (memory.goal_position - memory.hand) * arm.stiffness[:3] + -memory.linear * arm.damping[:3]
    torque = error * arm.stiffness[3:6] + -memory.angular * arm.damping[3:6]
    _, decouple_force, decouple_torque, spare = opspace_matrices(
        memory.mass, memory.jacobian, memory.jacobian_position, memory.jacobian_rotation
    )
    wrench = np.concatenate([np.dot(decouple_force, force), np.dot(decouple_torque, torque)])
    torques = np.dot(memory.jacobian.T, wrench) + world.bias[arm.velocities]
    torques += nullspace_torques(memory.mass, spare, arm.home, memory.joints, memory.speeds)
    world.ctrl[arm.motors] = np.clip(torques, arm.lowest, arm.highest)
    memory.grip[:] = np.clip(memory.grip + arm.finger_steps * np.sign(grip), -1.0, 1.0)
    world.ctrl[arm.fingers] = arm.finger_middle + arm.finger_reach * memory.grip


def _tick(watch: Watch, memory: Memory) -> None:
    memory.clock[0] += watch.tick
    memory.clock[1] = 1.0
    if memory.clock[0] >= watch.period:
        memory.clock[:] = float(memory.clock[0]) % watch.period, 0.0

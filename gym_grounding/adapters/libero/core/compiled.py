"""The control step as machine code that lets other threads run; the same as ``plain``, to the last bit.

All of it is in this one file, since numba's cache on disk notices changes of the file alone that holds a function.
Numbers are copied one by one, since numba takes two seconds to compile the first assignment of a slice.
Products go through BLAS and LAPACK by numba as in robosuite's own compiled functions, which are called here; what
robosuite leaves to numpy's BLAS goes through scipy's here, and ``agreement`` compares the two.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import llvmlite.binding
import numba
import numpy as np
from numba.core import types

from gym_grounding.adapters.libero import install
from gym_grounding.adapters.libero.core import symbols
from gym_grounding.adapters.libero.core.arrays import Arm, Command, Floats, Memory, Watch, World
from gym_grounding.adapters.libero.robosuite_names import (
    mat2quat,
    nullspace_torques,
    opspace_matrices,
    orientation_error,
    quat2mat,
)

_BAD = 1e10
"""MuJoCo starts a scene anew whose numbers grow beyond this (mjMAXVAL)."""
_CACHED = install.can_cache(Path(__file__).parent)
Function = TypeVar("Function", bound=Callable[..., Any])


def _compiled(function: Function) -> Function:
    made: Any = numba.njit(nogil=True, cache=_CACHED)(function)
    return cast(Function, made)


def _external(name: str, *extra: Any) -> Any:
    # By name, so that the machine code can be kept on disk; an address would change from process to process.
    llvmlite.binding.add_symbol(name, symbols.address(name))
    return types.ExternalFunction(name, types.void(types.intp, types.intp, *extra))


_position, _velocity, _actuation, _acceleration, _constraint = (_external(name) for name in symbols.STAGES)
_step, _step2 = (_external(name) for name in symbols.STEPS)
_jacobians = _external(symbols.JACOBIAN, types.intp, types.intp, types.int32)


@_compiled
def _pass(model: int, data: int) -> None:
    _position(model, data)
    _velocity(model, data)
    _actuation(model, data)
    _acceleration(model, data)
    _constraint(model, data)


@_compiled
def advance(world: World, arm: Arm, watch: Watch, memory: Memory, command: Command, seen: Floats) -> None:
    """Advance one control step; ``seen`` takes the observation, see ``layout.Layout.parts``."""
    model, data = world.model, world.data
    for substep in range(watch.substeps):
        _pass(model, data)
        if memory.stale[0] == 0:
            if watch.again:
                _pass(model, data)
            else:
                _constraint(model, data)
            _look(world, arm, memory)
        memory.stale[0] = 0
        if substep == 0:
            _aim(memory, command)
        _drive(world, arm, memory, command.grip)
        sampling = memory.clock[1] == 0.0
        _copy(world.qpos, memory.shown)
        if sampling:
            _copy(world.qpos, memory.drawn)
        if watch.again or _bad(world.qpos) or _bad(world.qvel):
            _step(model, data)
        else:
            _step2(model, data)
        if sampling:
            observe(world, watch, seen)
        _tick(watch, memory)


@_compiled
def observe(world: World, watch: Watch, seen: Floats) -> None:
    """Read the observation of the present state into ``seen``."""
    place = 0
    for index in watch.positions:
        seen[place] = world.qpos[index]
        place += 1
    for index in watch.velocities:
        seen[place] = world.qvel[index]
        place += 1
    hand = place
    _copy(world.site_positions[watch.site], seen[hand : hand + 3])
    _quaternion(world.body_rotations[watch.hand], seen[hand + 3 : hand + 7])
    place = first = hand + 7
    for body in watch.bodies:
        _copy(world.body_positions[body], seen[place : place + 3])
        _quaternion(world.body_rotations[body], seen[place + 3 : place + 7])
        place += 7
    view = _inverse(_pose(seen[hand : hand + 7]))
    for number in range(watch.objects):
        pose = _pose(seen[first + 7 * number : first + 7 * number + 7])
        relative = np.dot(view, pose.astype(np.float64))
        rotation = np.zeros((3, 3))
        for row in range(3):
            seen[place + row] = relative[row, 3]
            for column in range(3):
                rotation[row, column] = relative[row, column]
        turn = mat2quat(rotation)
        for axis in range(4):
            seen[place + 3 + axis] = turn[axis]
        place += 7


@_compiled
def multiply(matrix: Floats, other: Floats) -> Floats:
    """Their product by the BLAS that compiled code calls; for ``agreement``."""
    product: Floats = np.dot(matrix, other)
    return product


@_compiled
def _look(world: World, arm: Arm, memory: Memory) -> None:
    _copy(world.site_positions[arm.site], memory.hand)
    for row in range(3):
        for column in range(3):
            memory.rotation[row, column] = world.site_rotations[arm.site, 3 * row + column]
    position, rotation = memory.whole_position, memory.whole_rotation
    _jacobians(world.model, world.data, position.ctypes.data, rotation.ctypes.data, np.int32(arm.site))
    _copy(np.dot(position, world.qvel), memory.linear)
    _copy(np.dot(rotation, world.qvel), memory.angular)
    for joint in range(7):
        velocity = arm.velocities[joint]
        memory.joints[joint] = world.qpos[arm.positions[joint]]
        memory.speeds[joint] = world.qvel[velocity]
        for row in range(3):
            memory.jacobian_position[row, joint] = position[row, velocity]
            memory.jacobian_rotation[row, joint] = rotation[row, velocity]
            memory.jacobian[row, joint] = position[row, velocity]
            memory.jacobian[3 + row, joint] = rotation[row, velocity]
        for other in range(7):
            place = arm.inertia[joint, other]
            memory.mass[joint, other] = world.inertia[place] if place >= 0 else 0.0


@_compiled
def _aim(memory: Memory, command: Command) -> None:
    if command.turns:
        turned = np.dot(command.turn, memory.rotation)
        for row in range(3):
            _copy(turned[row], memory.goal_rotation[row])
    for axis in range(3):
        memory.goal_position[axis] = memory.hand[axis] + command.shift[axis]


@_compiled
def _drive(world: World, arm: Arm, memory: Memory, grip: float) -> None:
    stiffness, damping = arm.stiffness, arm.damping
    error = orientation_error(memory.goal_rotation, memory.rotation)
    force, torque = np.zeros(3), np.zeros(3)
    for axis in range(3):
        apart = memory.goal_position[axis] - memory.hand[axis]
        force[axis] = apart * stiffness[axis] + (-memory.linear[axis]) * damping[axis]
        torque[axis] = error[axis] * stiffness[3 + axis] + (-memory.angular[axis]) * damping[3 + axis]
    _, decouple_force, decouple_torque, spare = opspace_matrices(
        memory.mass, memory.jacobian, memory.jacobian_position, memory.jacobian_rotation
    )
    wrench = np.zeros(6)
    _copy(np.dot(decouple_force, force), wrench[:3])
    _copy(np.dot(decouple_torque, torque), wrench[3:])
    torques = np.dot(memory.jacobian.T, wrench)
    idle = nullspace_torques(memory.mass, spare, arm.home, memory.joints, memory.speeds)
    for joint in range(7):
        total = torques[joint] + world.bias[arm.velocities[joint]] + idle[joint]
        limited = np.minimum(np.maximum(total, arm.lowest[joint]), arm.highest[joint])
        world.ctrl[arm.motors[joint]] = limited
    for finger in range(2):
        moved = memory.grip[finger] + arm.finger_steps[finger] * np.sign(grip)
        memory.grip[finger] = np.minimum(np.maximum(moved, -1.0), 1.0)
        reach = arm.finger_reach[finger] * memory.grip[finger]
        world.ctrl[arm.fingers[finger]] = arm.finger_middle[finger] + reach


@_compiled
def _tick(watch: Watch, memory: Memory) -> None:
    # The sums and the remainder of robosuite's observables, whose rounding decides when a sample is due.
    memory.clock[0] += watch.tick
    memory.clock[1] = 1.0
    if memory.clock[0] >= watch.period:
        memory.clock[0] %= watch.period
        memory.clock[1] = 0.0


@_compiled
def _copy(given: Floats, taken: Floats) -> None:
    for number in range(len(taken)):
        taken[number] = given[number]


@_compiled
def _bad(numbers: Floats) -> bool:
    for number in numbers:  # noqa: SIM110  # numba compiles no generator for any()
        if not -_BAD <= number <= _BAD:
            return True
    return False


@_compiled
def _quaternion(given: Floats, turned: Floats) -> None:
    """(w, x, y, z) to (x, y, z, w)."""
    for axis in range(4):
        turned[axis] = given[(axis + 1) % 4]


@_compiled
def _pose(numbers: Floats) -> Any:
    """Position and quaternion (x, y, z, w), shape (7,), as a matrix (4, 4) of float32."""
    pose = np.zeros((4, 4), np.float32)
    rotation = quat2mat(numbers[3:])
    for row in range(3):
        for column in range(3):
            pose[row, column] = np.float32(rotation[row, column])
        pose[row, 3] = np.float32(numbers[row])
    pose[3, 3] = np.float32(1.0)
    return pose


@_compiled
def _inverse(pose: Any) -> Floats:
    """Of a pose (4, 4) of float32, in float64."""
    rotation = np.zeros((3, 3))
    position = np.zeros(3)
    inverse = np.zeros((4, 4))
    for row in range(3):
        for column in range(3):
            rotation[row, column] = inverse[row, column] = np.float64(pose[column, row])
        position[row] = np.float64(pose[row, 3])
    moved = np.dot(rotation, position)
    for row in range(3):
        inverse[row, 3] = -moved[row]
    inverse[3, 3] = 1.0
    return inverse

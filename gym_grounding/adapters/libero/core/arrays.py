"""What a control step reads and writes: named tuples of arrays, which numba understands."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


class World(NamedTuple):
    """Addresses and arrays of one ``MjModel`` and ``MjData``; valid as long as both live."""

    model: int
    data: int
    qpos: Floats
    qvel: Floats
    ctrl: Floats
    bias: Floats
    """Forces that hold the arm against gravity and its own motion, shape (nv,)."""
    inertia: Floats
    """Joint-space inertia, MuJoCo's sparse form."""
    body_positions: Floats
    body_rotations: Floats
    """Quaternions (w, x, y, z), shape (nbody, 4)."""
    site_positions: Floats
    site_rotations: Floats
    """Matrices by rows, shape (nsite, 9)."""


class Arm(NamedTuple):
    """Where the arm is in a model, and the constants of robosuite's OSC_POSE controller and gripper."""

    positions: Places
    """Of its joints in qpos, shape (7,)."""
    velocities: Places
    motors: Places
    fingers: Places
    """Of the gripper's motors in ctrl, shape (2,)."""
    site: int
    """What the controller drives."""
    inertia: Places
    """Where each element of the arm's inertia is in the sparse form, shape (7, 7); -1 where it is zero."""
    stiffness: Floats
    damping: Floats
    """Of position, then rotation, shape (6,)."""
    lowest: Floats
    highest: Floats
    """Torques [Nm], shape (7,)."""
    home: Floats
    """Joint positions that spare motion heads for [rad], shape (7,)."""
    finger_steps: Floats
    """What one physics step of closing adds to each finger's command, shape (2,)."""
    finger_middle: Floats
    finger_reach: Floats
    """Of a finger's motor, half its range, shape (2,)."""


class Watch(NamedTuple):
    """What observations are read from, and when."""

    positions: Places
    """In qpos: arm, fingers, joints of fixtures."""
    velocities: Places
    """In qvel: arm, fingers."""
    bodies: Places
    """Objects, then fixtures."""
    objects: int
    site: int
    hand: int
    """Body whose rotation is the hand's."""
    substeps: int
    """Physics steps of a control step."""
    tick: float
    """Time that one physics step adds to the clock of the observations [s]."""
    period: float
    """Time between two samples [s]."""
    again: bool
    """Whether each pass over the positions changes them, so that none of LIBERO's three may be left out."""


class Rest(NamedTuple):
    """The arm as the controller knows it right after a reset: in its default pose."""

    hand: Floats
    rotation: Floats
    joints: Floats
    jacobian_position: Floats
    jacobian_rotation: Floats
    mass: Floats


class Memory(NamedTuple):
    """What is kept between control steps; a step writes into these arrays.

    Matrices that robosuite indexes out of larger ones are in Fortran's order, as there: the order decides the last bit.
    """

    hand: Floats
    rotation: Floats
    linear: Floats
    angular: Floats
    joints: Floats
    speeds: Floats
    whole_position: Floats
    whole_rotation: Floats
    """Jacobians of the site over all joints, shape (3, nv)."""
    jacobian_position: Floats
    jacobian_rotation: Floats
    jacobian: Floats
    """Over the arm's joints, shape (3, 7), (3, 7) and (6, 7)."""
    mass: Floats
    goal_position: Floats
    goal_rotation: Floats
    grip: Floats
    """Integrated command of each finger in [-1, 1], shape (2,)."""
    clock: Floats
    """Time since the last sample began to be due [s], and whether it was taken (0 or 1)."""
    stale: Places
    """1 until the first control step, which uses the pose of the reset, shape (1,)."""
    drawn: Floats
    """Positions of which the sampled poses are, shape (nq,): those before the physics step of the sample."""
    shown: Floats
    """Positions of which the present poses are, shape (nq,): those before the last physics step."""


class Command(NamedTuple):
    """An action in the controller's units."""

    shift: Floats
    """Of the hand's goal [m], shape (3,)."""
    turn: Floats
    """Rotation of the hand's goal, shape (3, 3), of float32's precision."""
    turns: bool
    """Whether any rotation was asked for; otherwise the old goal stays."""
    grip: float
    """Its sign closes (+) or opens (-)."""


def world_of(model: Any, data: Any) -> World:
    """The arrays of a ``mujoco.MjModel`` and its ``mujoco.MjData``."""
    return World(
        model._address,
        data._address,
        data.qpos,
        data.qvel,
        data.ctrl,
        data.qfrc_bias,
        data.qM,
        data.xpos,
        data.xquat,
        data.site_xpos,
        data.site_xmat,
    )


def new_memory(positions: int, velocities: int) -> Memory:
    """Memory of a scene with so many positions and velocities; ``recall`` fills it."""

    def fortran(rows: int, columns: int) -> Floats:
        return np.zeros((rows, columns), order="F")

    return Memory(
        hand=np.zeros(3),
        rotation=np.zeros((3, 3)),
        linear=np.zeros(3),
        angular=np.zeros(3),
        joints=np.zeros(7),
        speeds=np.zeros(7),
        whole_position=np.zeros((3, velocities)),
        whole_rotation=np.zeros((3, velocities)),
        jacobian_position=fortran(3, 7),
        jacobian_rotation=fortran(3, 7),
        jacobian=fortran(6, 7),
        mass=fortran(7, 7),
        goal_position=np.zeros(3),
        goal_rotation=np.zeros((3, 3)),
        grip=np.zeros(2),
        clock=np.zeros(2),
        stale=np.ones(1, np.int64),
        drawn=np.zeros(positions),
        shown=np.zeros(positions),
    )


def recall(memory: Memory, rest: Rest, clock: float) -> None:
    """Bring a memory to where LIBERO's reset leaves it.

    Args:
        memory: is overwritten.
        rest: the arm's default pose.
        clock: time that the clock of the observations shows [s].
    """
    memory.hand[:], memory.rotation[:], memory.joints[:] = rest.hand, rest.rotation, rest.joints
    memory.linear[:], memory.angular[:], memory.speeds[:] = 0.0, 0.0, 0.0
    memory.jacobian_position[:], memory.jacobian_rotation[:] = rest.jacobian_position, rest.jacobian_rotation
    memory.jacobian[:3], memory.jacobian[3:] = rest.jacobian_position, rest.jacobian_rotation
    memory.mass[:] = rest.mass
    memory.goal_position[:], memory.goal_rotation[:] = rest.hand, rest.rotation
    memory.grip[:] = 0.0
    memory.clock[:] = clock, 1.0
    memory.stale[0] = 1

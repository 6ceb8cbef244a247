"""From where the hand should be to the action that brings it there.

LIBERO's OSC_POSE: positions in units of 5 cm, turns in units of 0.5 rad, both offsets from the present pose, in the
world's frame (robosuite's controller file ``osc_pose.json``).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Frame

Array = NDArray[np.float64]
METRES, RADIANS = 0.05, 0.5
"""Offset that an action component of 1 asks for."""
GAIN = 2.0
"""Offset asked for by the error's size; 2 is stable, 1 is slow near the target."""
OPENED, CLOSED, AS_IS = -1.0, 1.0, 0.0
"""Gripper commands."""


@dataclass(frozen=True, slots=True, eq=False)
class Command:
    """What a skill wants of the hand.

    Attributes:
        position: target of the grip site, shape (3,), world [m]; None to stay.
        rotation: target axes of the grip site, shape (3, 3), world; None to keep the present ones.
        grip: ``OPENED``, ``CLOSED`` or ``AS_IS``.
        reach: longest offset that is asked for in one step [m]; less moves slower.
        turn: largest turn that is asked for in one step [rad].
    """

    position: Array | None = None
    rotation: Array | None = None
    grip: float = OPENED
    reach: float = METRES
    turn: float = RADIANS


def action(command: Command, hand: Frame) -> Array:
    """The action, shape (7,), each component in [-1, 1]; where one would leave that range, the direction is kept."""
    offset = np.zeros(3) if command.position is None else GAIN * (command.position - hand.position)
    turn = np.zeros(3) if command.rotation is None else GAIN * turn_between(hand.rotation, command.rotation)
    move = _within(offset, command.reach) / METRES
    spin = _within(turn, command.turn) / RADIANS
    return np.concatenate([_within_box(move), _within_box(spin), [command.grip]])


def turn_between(start: Array, end: Array) -> Array:
    """Axis times angle [rad] of the shortest turn from ``start`` to ``end``, both (3, 3), in the world, shape (3,)."""
    vector: Array = Rotation.from_matrix(end @ start.T).as_rotvec()
    return vector


def _within(vector: Array, length: float) -> Array:
    size = float(np.linalg.norm(vector))
    return vector if size <= length else vector * (length / size)


def _within_box(vector: Array) -> Array:
    size = float(np.abs(vector).max())
    return vector if size <= 1 else vector / size

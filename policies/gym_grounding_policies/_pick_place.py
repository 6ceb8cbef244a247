"""One control step of picking and placing, as a function of the observation and a small state.

Targets are funnels: they depend on where object and hand are now, so a push in between is answered, not ignored.
Lengths in metres, world frame; actions as LIBERO's: 0.05 m and 0.5 rad a unit, rotation as a vector in the world frame,
gripper -1 opens and +1 closes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from gym_grounding_policies._rotation import Array, rotation_vector
from gym_grounding_policies._skills import LIFT, SHAPES, TABLE, Row, Skill, clearance, grasp, spot

OPEN, CLOSED = -1.0, 1.0
POSITION_UNIT, ROTATION_UNIT, GAIN = 0.05, 0.5, 2.0
GRIPPER_STEPS = 14
"""Control steps in which the fingers travel from open to closed and press."""
ATTEMPTS = 5
PATIENCE = 120
"""Control steps after which a phase that does not come to its end is begun again."""
WAIT = 15
"""Control steps after which an object that is stuck close to its place is let go there."""
RELEASE, STUCK, PLACED = (0.010, 0.006), (0.020, 0.030), (0.027, 0.030)
"""Distances from the place, lateral and vertical, at which an object is let go, is let go after ``WAIT``, and counts as
placed; LIBERO's ``On`` between objects asks for 0.03 laterally."""
CARRY_ABOVE, REACH_ABOVE = 0.04, 0.05
"""Distance kept from what lies below the way, of the object carried and of the empty hand."""
LOST = 0.04
"""How much farther than at the grasp the object may be from the hand; dishes held at the rim sag."""
HAND_WIDTH = 0.11
"""Half the hand's extent along its closing axis."""
AT_PLACE = 0.06
"""Lateral distance from its place within which a held object that is low is being put down, not picked up."""
GRIPPED, MOVING = 0.065, 0.02
"""Distance between the fingers [m] below which they hold what is between them (they open to 0.079; the widest object,
the cream cheese, keeps 0.042), and the speed of a finger [m/s] above which they open or close."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Where an episode is.

    Attributes:
        phase: ``reach``, ``close``, ``lift``, ``carry``, ``open``, ``leave`` or ``done``.
        count: steps spent in the phase.
        attempt: how many grasps were begun before this one.
        start: height of the object's origin when the hand closed.
        height: height of the hand at which ``leave`` began.
        waited: steps that the held object has been close to its place.
    """

    phase: str = "reach"
    count: int = 0
    attempt: int = 0
    start: float = 0.0
    height: float = 0.0
    waited: int = 0


def step(skill: Skill, row: Row, progress: Progress) -> tuple[Array, Progress]:
    """The action (7,) for the observation of one episode, and the next state."""
    progress = _advance(skill, row, progress)
    action = _ACTIONS[progress.phase](skill, row, progress)
    return action, replace(progress, count=progress.count + 1)


def seen(skill: Skill, row: Row) -> Progress:
    """Where an episode is, as far as one observation shows it: for an answer without memory.

    Objects are taken to come from the table. Attempts and waiting cannot be seen and count as none.
    """
    shape, hand = SHAPES[skill.thing], row["robot0_eef_pos"]
    thing, (point, _) = row[f"{skill.thing}_pos"], grasp(skill.thing, row)
    gap = float(row["robot0_gripper_qpos"][0] - row["robot0_gripper_qpos"][1])
    speed = float(row["robot0_gripper_qvel"][0])
    start = TABLE - shape.bottom
    if gap < GRIPPED and np.linalg.norm(hand - thing) <= np.hypot(shape.rim, shape.grip) + LOST:
        if speed > MOVING:
            return Progress("open", start=start)
        if speed < -MOVING:
            return Progress("close", start=start)
        low = skill.lifts or np.hypot(*(spot(skill, row) - thing)[:2]) > AT_PLACE
        return Progress("lift" if low else "carry", start=start)  # ``step`` goes on to carry what is lifted
    if skill.lifts or not _placed(skill, row):
        return Progress("reach")
    away = float(np.hypot(*(hand - point)[:2])) > AT_PLACE
    return Progress("done" if away else "leave", height=float(point[2]))


def still() -> Array:
    """No motion, gripper open, shape (7,)."""
    return np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, OPEN])


def _advance(skill: Skill, row: Row, progress: Progress) -> Progress:
    """The phase after looking at the observation."""
    phase, count = progress.phase, progress.count
    if phase == "reach" and _at_grasp(skill, row):
        return replace(progress, phase="close", count=0, start=float(row[f"{skill.thing}_pos"][2]))
    if phase == "reach" and count > PATIENCE:
        return _again(skill, row, progress)
    if phase == "close" and count >= GRIPPER_STEPS:
        return replace(progress, phase="lift", count=0)
    if phase == "lift" and _risen(skill, row, progress) > 0.03:
        return replace(progress, phase="carry", count=0)
    if phase == "lift" and count > 25:
        return _again(skill, row, progress)
    if phase == "carry":
        return _advance_carry(skill, row, progress)
    if phase == "open" and count >= GRIPPER_STEPS:
        return replace(progress, phase="leave", count=0, height=float(row["robot0_eef_pos"][2]))
    if phase == "leave" and (row["robot0_eef_pos"][2] > progress.height + 0.11 or count > 40):
        return replace(progress, phase="done", count=0) if _placed(skill, row) else _again(skill, row, progress)
    return progress


def _advance_carry(skill: Skill, row: Row, progress: Progress) -> Progress:
    shape, thing = SHAPES[skill.thing], row[f"{skill.thing}_pos"]
    if np.linalg.norm(row["robot0_eef_pos"] - thing) > np.hypot(shape.rim, shape.grip) + LOST:
        return _again(skill, row, progress)
    if skill.lifts:
        return progress
    error = spot(skill, row) - thing
    lateral, above = np.hypot(error[0], error[1]), -error[2]
    if (lateral < RELEASE[0] and above < RELEASE[1]) or progress.waited > WAIT:
        return replace(progress, phase="open", count=0)
    near = lateral < STUCK[0] and above < STUCK[1]
    return replace(progress, waited=progress.waited + 1 if near else 0)


def _again(skill: Skill, row: Row, progress: Progress) -> Progress:
    """Another grasp, unless the object lies where it should or was tried often enough."""
    if not skill.lifts and _placed(skill, row):
        return replace(progress, phase="open", count=0)
    if progress.attempt + 1 >= ATTEMPTS:
        return replace(progress, phase="done", count=0)
    return Progress(attempt=progress.attempt + 1)


def _at_grasp(skill: Skill, row: Row) -> bool:
    point, angle = grasp(skill.thing, row)
    error = point - row["robot0_eef_pos"]
    turn_left = np.linalg.norm(_turn(row, angle))
    return bool(np.hypot(error[0], error[1]) < 0.006 and abs(error[2]) < SHAPES[skill.thing].slack and turn_left < 0.12)


def _risen(skill: Skill, row: Row, progress: Progress) -> float:
    return float(row[f"{skill.thing}_pos"][2] - progress.start)


def _placed(skill: Skill, row: Row) -> bool:
    error = spot(skill, row) - row[f"{skill.thing}_pos"]
    return bool(np.hypot(error[0], error[1]) < PLACED[0] and abs(error[2]) < PLACED[1])


def _reach(skill: Skill, row: Row, progress: Progress) -> Array:
    point, angle = grasp(skill.thing, row)
    hand = row["robot0_eef_pos"]
    lateral = float(np.hypot(*(point - hand)[:2]))
    turn = _turn(row, angle)
    backed_off = np.clip(1.5 * (lateral - 0.007), 0.0, 0.08) + min(0.05, 0.5 * float(np.linalg.norm(turn)))
    goal = point + np.array([0.0, 0.0, backed_off])
    if lateral > 0.10:
        goal[2] = max(goal[2], clearance(row, hand, point, HAND_WIDTH, (skill.thing,)) + REACH_ABOVE)
    return _command(goal - hand, turn, OPEN)


def _close(skill: Skill, row: Row, progress: Progress) -> Array:
    return _command(np.zeros(3), _turn(row, grasp(skill.thing, row)[1]), CLOSED)


def _lift(skill: Skill, row: Row, progress: Progress) -> Array:
    return _command(np.array([0.0, 0.0, 0.04]), np.zeros(3), CLOSED)


def _carry(skill: Skill, row: Row, progress: Progress) -> Array:
    thing = row[f"{skill.thing}_pos"]
    level = _turn(row, grasp(skill.thing, row)[1])
    if skill.lifts:
        return _command(np.array([0.0, 0.0, progress.start + LIFT - thing[2]]), level, CLOSED)
    end = spot(skill, row)
    lateral = float(np.hypot(*(end - thing)[:2]))
    goal = end + np.array([0.0, 0.0, np.clip(3.0 * (lateral - 0.006), 0.0, 0.06) - 0.01])
    if lateral > 0.06:
        goal[2] = max(
            goal[2], clearance(row, thing, end, HAND_WIDTH, (skill.thing,)) + CARRY_ABOVE - SHAPES[skill.thing].hang
        )
    error = goal - thing
    if error[2] > 0.03:
        error[:2] *= 0.3
    return _command(error, level, CLOSED)


def _open(skill: Skill, row: Row, progress: Progress) -> Array:
    return _command(np.zeros(3), np.zeros(3), OPEN)


def _leave(skill: Skill, row: Row, progress: Progress) -> Array:
    return _command(np.array([0.0, 0.0, progress.height + 0.14 - row["robot0_eef_pos"][2]]), np.zeros(3), OPEN)


def _done(skill: Skill, row: Row, progress: Progress) -> Array:
    return still()


def _turn(row: Row, closing: float) -> Array:
    """Rotation vector (3,) that points the fingers down with the closing axis at the angle seen from above [rad]."""
    # The hand's closing axis is its own y axis, a quarter turn behind its heading; it has no sign, hence modulo pi.
    angle = (closing + np.pi / 2 + np.pi / 2) % np.pi - np.pi / 2
    down = np.array([np.cos(angle / 2), np.sin(angle / 2), 0.0, 0.0])
    return rotation_vector(row["robot0_eef_quat"], down)


def _command(move: Array, turn: Array, gripper: float) -> Array:
    """Action (7,) that reduces both errors; each is scaled as a whole, so that its direction stays."""
    parts = []
    for error, unit in ((move, POSITION_UNIT), (turn, ROTATION_UNIT)):
        wanted = GAIN * error / unit
        parts.append(wanted / max(1.0, float(np.abs(wanted).max())))
    return np.array([*parts[0], *parts[1], gripper])


_ACTIONS: Mapping[str, Callable[[Skill, Row, Progress], Array]] = {
    "reach": _reach,
    "close": _close,
    "lift": _lift,
    "carry": _carry,
    "open": _open,
    "leave": _leave,
    "done": _done,
}

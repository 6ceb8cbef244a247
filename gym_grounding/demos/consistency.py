"""What the datasets of one demonstration say about each other, and whether their numbers can be true at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.demos.layout import OBSERVATIONS, RATE, Array, axis_angle
from gym_grounding.experts import Noise

Rows = Mapping[str, NDArray[Any]]
"""Dataset, or ``observations/KEY``, -> its rows."""

_SAME = 1e-6
"""What the same quantity, kept twice, may differ by [m or rad] where it was computed or rounded in between."""
_LARGEST = 1e10
"""Where MuJoCo itself takes a position or velocity for broken and starts anew."""
_TIME = 1e-6
"""What control steps may differ by [s]: times are sums."""
_LATE = {
    "joint_pos": (slice(1, 8), "obs/joint_states", 0.05),
    "gripper_qpos": (slice(8, 10), "obs/gripper_states", 0.01),
}
"""What is observed of the robot -> where it is in ``states``, as what in obs, and how far it gets in the 2 ms between
them [rad, m]; measured: 0.006 rad and 0.0004 m."""
_DRIFT = 5
"""The same, as a factor, where LIBERO's recorder played actions again beside stored states."""
_SPREADS = 3.0
"""Root mean square that an episode's noise may have [standard deviations]; of 200,000 drawn ones none is over 2.4."""


@dataclass(frozen=True, slots=True)
class Origin:
    """What a file says of how a demonstration was made.

    Attributes:
        here: by this package, so that every number is known to the last bit.
        noise: name; None where it does not say.
        sizes: of the noise; None for none and where it does not say.
    """

    here: bool = False
    noise: str | None = None
    sizes: Noise | None = None


def contradictions(rows: Rows, origin: Origin) -> Iterator[str]:
    """Everything that cannot be true of a demonstration; what is not in ``rows`` is left out."""
    with np.errstate(over="ignore"):
        yield from _impossible(rows)
        yield from _endings(rows)
        yield from _clean(rows, origin)
        yield from _times(rows, origin)
        early = _from_before(rows)
        for name, one, other, tolerance in _twice(rows):
            if early and OBSERVATIONS in name:
                continue
            if one.shape != other.shape:
                yield f"{name} have rows of different shapes"
            elif (most := np.abs(one - other).max()) > tolerance:
                yield f"{name} disagree by up to {most:.3g}"
        if early:
            yield "obs/joint_states has rows from before their action; LIBERO's are from after it"
        else:
            yield from _beside_states(rows, origin)


def _impossible(rows: Rows) -> Iterator[str]:
    for key in ("actions", "clean_actions"):
        if key in rows and np.abs(rows[key]).max() > 1.0:
            yield f"{key} has values up to {np.abs(rows[key]).max():.3g}, expected -1 to 1"
    for key, values in rows.items():
        if not key.endswith("actions") and values.dtype.kind == "f" and values.size:
            most = np.abs(values).max()
            if most >= _LARGEST:
                yield f"{key} has values up to {most:.3g}, which no simulator leaves as they are; the file is damaged"


def _endings(rows: Rows) -> Iterator[str]:
    for key in ("rewards", "dones"):
        if key in rows and (np.any(rows[key][:-1] != 0) or rows[key][-1] != 1):
            yield f"{key} is not 0 with a 1 in the last row"


def _clean(rows: Rows, origin: Origin) -> Iterator[str]:
    """Whether the executed actions can have become of the clean ones as ``experts.Disturbance`` disturbs them."""
    if not {"actions", "clean_actions"} <= {*rows}:
        return
    executed, clean = rows["actions"], rows["clean_actions"]
    tolerance = 0.0 if executed.dtype == clean.dtype else _SAME
    away = np.where(np.abs(executed - clean) > tolerance, executed - clean, 0.0)
    if origin.noise == "none":
        if np.any(away):
            yield f"clean_actions and actions differ by up to {np.abs(away).max():.3g}, though there was no noise"
        return
    if (sizes := origin.sizes) is None:
        return
    grip = np.abs(away[:, 6])
    if sizes.flip:
        grip = np.minimum(grip, np.abs(executed[:, 6] + clean[:, 6]))
    if np.any(grip > tolerance):
        yield f"clean_actions and actions differ by {grip.max():.3g} in the gripper; noise {origin.noise!r} by 0"
    for part, size in ((slice(0, 3), sizes.position), (slice(3, 6), sizes.rotation)):
        found, most = float(np.sqrt(np.mean(away[:, part] ** 2))), _SPREADS * size * max(sizes.scales)
        if found > most:
            which = f"their components {part.start} to {part.stop - 1}"
            yield f"clean_actions and actions differ by {found:.3g} in {which}; noise {origin.noise!r} by {most:.3g}"


def _times(rows: Rows, origin: Origin) -> Iterator[str]:
    if "states" not in rows or rows["states"].shape[1] < 1:
        return
    steps = np.diff(rows["states"][:, 0])
    if np.any(steps <= 0.0):
        yield f"states has a time, its first column, that does not rise after row {int(np.argmax(steps <= 0.0))}"
    elif origin.here and np.any(wrong := np.abs(steps - 1 / RATE) > _TIME):
        row = int(np.argmax(wrong))
        yield f"states has a time, its first column, that rises by {steps[row]:.3g} s after row {row}, not {1 / RATE}"


def _twice(rows: Rows) -> Iterator[tuple[str, Array, Array, float]]:
    """What a demonstration keeps twice: both names, both arrays, and what they may differ by."""

    def same(array: Array) -> Array:
        return array

    observed = {key: rows[key][1:] for key in rows if key.startswith(OBSERVATIONS)}
    kept: Mapping[str, Array] = {**rows, **observed}
    pairs: tuple[tuple[str, Callable[[Array], Array], str], ...] = (
        ("obs/ee_states", lambda hand: hand[:, :3], "obs/ee_pos"),
        ("obs/ee_states", lambda hand: hand[:, 3:], "obs/ee_ori"),
        ("robot_states", lambda robot: robot[:, :2], "obs/gripper_states"),
        ("robot_states", lambda robot: robot[:, 2:5], "obs/ee_pos"),
        ("robot_states", lambda robot: axis_angle(robot[:, 5:]), "obs/ee_ori"),
        ("obs/joint_states", same, f"{OBSERVATIONS}/robot0_joint_pos"),
        ("obs/gripper_states", same, f"{OBSERVATIONS}/robot0_gripper_qpos"),
        ("obs/ee_pos", same, f"{OBSERVATIONS}/robot0_eef_pos"),
        ("robot_states", lambda robot: robot[:, 5:], f"{OBSERVATIONS}/robot0_eef_quat"),
    )
    for one, part, other in pairs:
        if {one, other} <= {*kept}:
            rounded = not other.startswith(OBSERVATIONS) or kept[one].dtype != kept[other].dtype
            yield f"{one} and {other}", part(kept[one]), kept[other], _SAME if rounded else 0.0


def _beside_states(rows: Rows, origin: Origin) -> Iterator[str]:
    """What is observed of the robot against its joints in ``states``: they are 2 ms apart."""
    if "states" not in rows or rows["states"].shape[1] < 10:
        return
    states = rows["states"]
    for key, (where, name, near) in _LATE.items():
        robot, tolerance = states[:, where], near * (1 if origin.here else _DRIFT)
        # Row t of obs is from just before row t + 1 of states, row t of observations from just before row t.
        for observed, expected in ((name, robot[1:]), (f"{OBSERVATIONS}/robot0_{key}", robot)):
            if observed not in rows or rows[observed][:-1].shape != expected.shape:
                continue
            if (most := np.abs(rows[observed][:-1] - expected).max(initial=0.0)) > tolerance:
                yield f"states and {observed} disagree by up to {most:.3g}"


def _from_before(rows: Rows) -> bool:
    """Whether observed joints rather are those of the state of their own row than of the next one."""
    if not {"obs/joint_states", "states"} <= {*rows}:
        return False
    joints, arm = rows["obs/joint_states"], rows["states"][:, _LATE["joint_pos"][0]]
    if len(joints) < 2 or arm.shape != joints.shape:
        return False
    own, following = np.abs(joints[:-1] - arm[:-1]).mean(), np.abs(joints[:-1] - arm[1:]).mean()
    return bool(own < following)

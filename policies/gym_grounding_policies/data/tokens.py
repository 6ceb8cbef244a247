"""State observations as tokens, one for each object and fixture, and proprioception as one vector.

The layout of a token, F numbers: what ``StateInputs.parts`` says. A thing is known by the words of its name, so the
same weights read the scenes of any suite, and things that training never showed.

A name's number is left out (``akita_black_bowl_1`` and ``_2`` are told apart by where they are): in LIBERO-Spatial it
is always bowl 1 that is meant, and a policy that saw the number would not need the words.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.errors import InvalidOption
from gym_grounding_policies.data.inputs import Rows

OBJECTS = ("all", "joints", "none")
HAND = "robot0_eef_pos"
TURNED = "robot0_eef_quat"
PROPRIOCEPTION = {"robot0_joint_pos": 7, "robot0_gripper_qpos": 2, HAND: 3, TURNED: 4}
"""Key -> size, in the order of ``proprio``; the hand's orientation becomes 6 numbers."""
SCALED = {"robot0_joint_pos": 7, "robot0_gripper_qpos": 2, HAND: 3, "position": 3, "offset": 3}
"""Quantity -> size, of those that are shifted and scaled; ``position`` and ``offset`` are of things, all together."""
LEAST = {"robot0_joint_pos": 0.05, "robot0_gripper_qpos": 0.005, HAND: 0.01, "position": 0.01, "offset": 0.01}
"""Smallest deviation to divide by [rad, m]: what hardly moves in training must not become huge when it does."""
FURTHEST = 5.0
"""Scaled numbers are cut at this many deviations."""
NEAR = 0.03
"""Offset from the hand [m] at which its squashed copy is at one half: where a grasp is decided."""
MOST_JOINTS = 3
"""Of one thing; LIBERO's cabinets have three drawers."""
SQUASHED = (0.1, 1.0)
"""Joint positions at which their squashed copies are at one half [m for drawers, rad for knobs and doors].

Not fitted: a drawer that no demonstration opened has no deviation to divide by.
"""
IDENTITY = 32
"""Numbers that say what a thing is."""


@dataclass(frozen=True, slots=True)
class Normalisation:
    """Mean and deviation of each number of each quantity of ``SCALED``, from training data.

    Attributes:
        mean, deviation: quantity -> numbers; deviations are at least ``LEAST``.
    """

    mean: Mapping[str, tuple[float, ...]]
    deviation: Mapping[str, tuple[float, ...]]

    def __post_init__(self) -> None:
        """Raises InvalidOption for missing quantities, wrong sizes, NaN, or deviations that are not positive."""
        for what, found in (("mean", self.mean), ("deviation", self.deviation)):
            if found.keys() != SCALED.keys():
                raise InvalidOption(f"normalisation: {what} has {sorted(found)}, expected {sorted(SCALED)}")
            for name, numbers in found.items():
                fits = len(numbers) == SCALED[name] and np.isfinite(numbers).all()
                if not fits or (what == "deviation" and min(numbers) <= 0):
                    raise InvalidOption(f"normalisation: {what} of {name} is {numbers}")

    def __call__(self, name: str, values: NDArray[Any]) -> NDArray[np.float64]:
        """Values (..., size) of a quantity, shifted, scaled, and cut at ``FURTHEST``."""
        scaled = (values - np.array(self.mean[name])) / np.array(self.deviation[name])
        return np.asarray(np.clip(scaled, -FURTHEST, FURTHEST), np.float64)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON, which keeps every digit."""
        return {name: {"mean": list(self.mean[name]), "deviation": list(self.deviation[name])} for name in SCALED}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Normalisation:
        """What ``as_dict`` described.

        Raises:
            InvalidOption: something else.
        """
        try:
            mean, deviation = (
                {str(name): tuple(float(number) for number in one[what]) for name, one in data.items()}
                for what in ("mean", "deviation")
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InvalidOption(f"normalisation cannot be read: {error!r}") from error
        return Normalisation(mean, deviation)


@dataclass(frozen=True, slots=True)
class StateInputs:
    """``tokens`` (T, N, F), ``present`` (T, N) bool and ``proprio`` (T, P) of state observations, float32.

    Attributes:
        objects: what there are tokens for: ``all`` things with poses and joints; ``joints``: things with joints, and
            of them the joints only; ``none``: proprioception alone, and neither ``tokens`` nor ``present``.
        normalisation: None for raw numbers.
    """

    objects: str = "all"
    normalisation: Normalisation | None = None

    def __post_init__(self) -> None:
        """Raises InvalidOption for another choice of objects."""
        if self.objects not in OBJECTS:
            raise InvalidOption(f"objects is {self.objects!r}; choose one of {', '.join(OBJECTS)}")

    @property
    def pictures(self) -> Mapping[str, str]:
        """See ``Inputs``: none."""
        return {}

    @property
    def parts(self) -> dict[str, slice]:
        """Where each part of a token is.

        ``offset``: from the hand, along the world's axes; ``near``: the same, squashed to (-1, 1); ``position``: in the
        world; ``rotation``: the first two columns of its matrix; ``joints``: each joint squashed at the two scales of
        ``SQUASHED``, zeros where there is none; ``identity``.
        """
        joints = MOST_JOINTS * len(SQUASHED)
        sizes = {"offset": 3, "near": 3, "position": 3, "rotation": 6} if self.objects == "all" else {}
        ends = np.cumsum([*sizes.values(), joints, IDENTITY]).tolist()
        return {
            name: slice(start, end)
            for name, start, end in zip((*sizes, "joints", "identity"), [0, *ends], ends, strict=False)
        }

    @property
    def sizes(self) -> dict[str, int]:
        """F of ``tokens``, where there are any, and P of ``proprio``."""
        tokens = {} if self.objects == "none" else {"tokens": self.parts["identity"].stop}
        return tokens | {"proprio": sum(PROPRIOCEPTION.values()) + 2}

    def keys(self, available: Collection[str]) -> tuple[str, ...]:
        """See ``Inputs``."""
        missing = [key for key in PROPRIOCEPTION if key not in available]
        if missing:
            raise InvalidOption(f"no {', '.join(missing)} in the observation; it has {_listed(available)}")
        things = self.things(available)
        if self.objects == "all" and not things:
            raise InvalidOption(
                "the observation holds no objects: evaluate with observation='state', train on files of `gym-grounding "
                "demos` (LIBERO's own hold none), or choose objects='none'"
            )
        wanted = [f"{name}{end}" for name in things for end in ("_pos", "_quat", "_joint_pos")]
        if self.objects == "all":
            lacking = [f"{name}{end}" for name in things for end in ("_pos", "_quat") if name + end not in available]
            if lacking:
                raise InvalidOption(f"no {', '.join(lacking)} in the observation")
        else:
            wanted = [key for key in wanted if key.endswith("_joint_pos")]
        return (*PROPRIOCEPTION, *(key for key in wanted if key in available))

    def things(self, available: Collection[str]) -> tuple[str, ...]:
        """Names of what there is a token for, sorted: the order of the tokens."""
        if self.objects == "none":
            return ()
        jointed = {key.removesuffix("_joint_pos") for key in available if key.endswith("_joint_pos")}
        posed = {key.removesuffix("_pos") for key in available if key.endswith("_pos") and not _relative(key)}
        names = jointed if self.objects == "joints" else jointed | posed
        return tuple(sorted(name for name in names if not name.startswith("robot0")))

    def __call__(self, rows: Rows) -> dict[str, NDArray[Any]]:
        """See ``Inputs``.

        Raises:
            InvalidOption: as ``keys``; rows of another size; or a thing with more joints than ``MOST_JOINTS``.
        """
        for key in self.keys(rows.keys()):
            _check(key, rows[key])
        found: dict[str, NDArray[Any]] = {"proprio": self._proprio(rows)}
        if self.objects == "none":
            return found
        things, length = self.things(rows.keys()), len(rows[HAND])
        tokens = np.zeros((length, len(things), self.sizes["tokens"]), np.float32)
        for number, name in enumerate(things):
            for part, values in self._token(name, rows).items():
                tokens[:, number, self.parts[part]] = values
        return found | {"tokens": tokens, "present": np.ones((length, len(things)), bool)}

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        known = None if self.normalisation is None else self.normalisation.as_dict()
        return {"objects": self.objects, "normalisation": known}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> StateInputs:
        """What ``as_dict`` described.

        Raises:
            InvalidOption: something else.
        """
        if not isinstance(data, Mapping) or data.keys() != {"objects", "normalisation"}:
            raise InvalidOption(f"inputs have the fields objects and normalisation, not {data!r}")
        known = data["normalisation"]
        return StateInputs(str(data["objects"]), None if known is None else Normalisation.from_dict(known))

    def save(self, path: Path) -> None:
        """Write as JSON."""
        path.write_text(json.dumps(self.as_dict(), indent=1) + "\n")

    @staticmethod
    def load(path: Path) -> StateInputs:
        """Read what ``save`` wrote.

        Raises:
            InvalidOption: something else.
        """
        try:
            return StateInputs.from_dict(json.loads(path.read_text()))
        except (OSError, ValueError) as error:
            raise InvalidOption(f"{path}: {error}") from error

    def _scaled(self, name: str, values: NDArray[Any]) -> NDArray[Any]:
        return values if self.normalisation is None else self.normalisation(name, values)

    def _proprio(self, rows: Rows) -> NDArray[np.float32]:
        parts = [self._scaled(key, rows[key]) for key in PROPRIOCEPTION if key != TURNED]
        return np.concatenate([*parts, rotation(rows[TURNED])], axis=1).astype(np.float32)

    def _token(self, name: str, rows: Rows) -> dict[str, NDArray[Any]]:
        said: dict[str, NDArray[Any]] = {"identity": identity(name)}
        if f"{name}_joint_pos" in rows:
            said["joints"] = _joints(name, rows[f"{name}_joint_pos"])
        if self.objects == "joints":
            return said
        offset, position = _offset(name, rows), rows[f"{name}_pos"]
        return said | {
            "offset": self._scaled("offset", offset),
            "near": _squashed(offset, NEAR),
            "position": self._scaled("position", position),
            "rotation": rotation(rows[f"{name}_quat"]),
        }


def fitted(demonstrations: Iterable[Rows]) -> Normalisation:
    """The normalisation of training data, in one pass; demonstrations may show different things.

    Args:
        demonstrations: observations (T, ...) of one demonstration each, as ``windows.observed`` yields them.

    Raises:
        InvalidOption: there is none, or as ``StateInputs.keys``.
    """
    sums = {name: Moments(size) for name, size in SCALED.items()}
    for rows in demonstrations:
        things = [name for name in StateInputs().things(rows.keys()) if f"{name}_pos" in rows]
        for name in ("robot0_joint_pos", "robot0_gripper_qpos", HAND):
            sums[name].add(rows[name])
        for name in things:
            sums["position"].add(rows[f"{name}_pos"])
            sums["offset"].add(_offset(name, rows))
    if not sums[HAND].count:
        raise InvalidOption("no demonstration to take the normalisation from")
    return Normalisation(
        {name: tuple(one.mean.tolist()) for name, one in sums.items()},
        {name: tuple(np.maximum(one.deviation, LEAST[name]).tolist()) for name, one in sums.items()},
    )


class Moments:
    """Mean and deviation of rows that come in parts, by Chan's rule for joining two parts.

    Args:
        size: shape of a row.
    """

    def __init__(self, *size: int) -> None:
        self.count, self.mean, self._squares = 0, np.zeros(size), np.zeros(size)

    def add(self, rows: NDArray[Any]) -> None:
        """Takes rows (T, *size), at least one."""
        count, mean = len(rows), rows.mean(0)
        total, step = self.count + count, mean - self.mean
        self._squares += ((rows - mean) ** 2).sum(0) + step**2 * self.count * count / total
        self.mean = self.mean + step * count / total
        self.count = total

    @property
    def deviation(self) -> NDArray[np.float64]:
        """Zero-mean rows of a quantity that was never there leave it at 1."""
        return np.asarray(np.sqrt(self._squares / self.count) if self.count else np.ones_like(self.mean))


def rotation(quaternions: NDArray[Any]) -> NDArray[np.float64]:
    """The first two columns of the rotation matrices, one after the other, (T, 6); q and -q give the same.

    Args:
        quaternions: x, y, z, w, of unit length to rounding, (T, 4).
    """
    x, y, z, w = (quaternions[:, number] for number in range(4))
    first = (1 - 2 * (y * y + z * z), 2 * (x * y + z * w), 2 * (x * z - y * w))
    second = (2 * (x * y - z * w), 1 - 2 * (x * x + z * z), 2 * (y * z + x * w))
    return np.stack([*first, *second], axis=1)


@functools.cache
def identity(name: str) -> NDArray[np.float32]:
    """What a thing is, (``IDENTITY``,), of length 1: the sum of a fixed random direction for each word of its name.

    ``red_coffee_mug_1`` and ``white_yellow_mug_1`` so have something in common; the number at the end is no word.
    """
    words = [word for word in name.split("_") if not word.isdigit()] or [name]
    total = np.sum([_direction(word) for word in words], axis=0)
    known = np.asarray(total / np.sqrt((total * total).sum()), np.float32)
    known.setflags(write=False)
    return known


def _direction(word: str) -> NDArray[np.float64]:
    # Bits of a hash, since NumPy does not promise the same draws from one version to the next.
    digest = np.frombuffer(hashlib.sha256(word.encode()).digest(), np.uint8)
    return 2.0 * np.unpackbits(digest)[:IDENTITY].astype(np.float64) - 1.0


def _check(key: str, rows: NDArray[Any]) -> None:
    size = PROPRIOCEPTION.get(key, 4 if key.endswith("_quat") else 3)
    if rows.ndim != 2 or (rows.shape[1] != size and not (key not in PROPRIOCEPTION and key.endswith("_joint_pos"))):
        has = f"{rows.shape[1]} numbers" if rows.ndim == 2 else "no single length"
        raise InvalidOption(f"{key} has rows of {has}, expected {size}")


def _offset(name: str, rows: Rows) -> NDArray[np.float64]:
    return np.asarray(rows[f"{name}_pos"] - rows[HAND], np.float64)


def _joints(name: str, values: NDArray[Any]) -> NDArray[np.float64]:
    if values.shape[1] > MOST_JOINTS:
        raise InvalidOption(f"{name} has {values.shape[1]} joints; a token has room for {MOST_JOINTS}")
    room = np.zeros((len(values), len(SQUASHED), MOST_JOINTS))
    for number, scale in enumerate(SQUASHED):
        room[:, number, : values.shape[1]] = _squashed(values, scale)
    return room.reshape(len(values), -1)


def _squashed(values: NDArray[Any], scale: float) -> NDArray[np.float64]:
    return np.asarray(values / (scale + np.abs(values)))


def _relative(key: str) -> bool:
    return key.endswith(("_joint_pos", "_to_robot0_eef_pos"))


def _listed(keys: Collection[str]) -> str:
    return ", ".join(sorted(keys)[:8]) or "nothing"

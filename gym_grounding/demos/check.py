"""What is wrong with a demonstration file, and what its actions do when they are played again."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gym_grounding.demos.layout import COLUMNS, PICTURES, Array, axis_angle
from gym_grounding.demos.read import Demonstration, DemonstrationFile, opened
from gym_grounding.demos.settings import RecordedScene
from gym_grounding.errors import InvalidDemonstration, InvalidOption, SimulatorError
from gym_grounding.manifest import Manifest
from gym_grounding.types import Task

_SAME = 1e-6
"""What the same quantity, kept twice, may differ by [m or rad]."""
MOST_SETTLING = 1000
"""Settle steps that a file may ask for."""
_COUNTS = {"seed": 2**32 - 1, "settle_steps": MOST_SETTLING}
"""Attributes that are whole numbers from 0 on -> the largest."""
_JOINTS = slice(1, 8)
"""The arm's joints in a row of ``states``."""
Form = tuple[tuple[int, ...], str]
"""Shape of a row and number type of a dataset."""


def problems(path: str | Path) -> list[str]:
    """Everything that is wrong with a file, each with file, demonstration and dataset; empty for a sound one.

    Number types, actions outside of [-1, 1], rewards, lengths that disagree, observations from before their action
    instead of after it, and the like. What the file adds to LIBERO's layout is checked where it is there.
    """
    try:
        with opened(path) as file:
            own = [line for name in file.names for line in _of_demonstration(file, name)]
            return [*_of_file(file), *own, *unlike(file)]
    except InvalidDemonstration as error:
        return [str(error)]


def unlike(file: DemonstrationFile) -> Iterator[str]:
    """Datasets that a demonstration lacks though others of the file have them, or has in another form.

    Those that LIBERO always writes are left out, and so are demonstrations that cannot be read.
    """
    forms: dict[str, dict[str, Form]] = {}
    for name in file.names:
        with contextlib.suppress(InvalidDemonstration):
            forms[name] = file.demonstration(name).forms
    usual: dict[str, Form] = {}
    for key in {key: None for form in forms.values() for key in form}:
        usual[key] = Counter(form[key] for form in forms.values() if key in form).most_common(1)[0][0]
    for name, form in forms.items():
        where = f"{file.path}: {name}"
        if missing := [key for key in usual if key not in form]:
            yield f"{where}: has no {', '.join(missing)}, which other demonstrations of the file have"
        for key, (shape, kind) in form.items():
            if (shape, kind) != usual[key]:
                yield f"{where}: {key} has rows of shape {shape}, {kind}; others have {usual[key][0]}, {usual[key][1]}"


@dataclass(frozen=True, slots=True)
class Replay:
    """What the actions of a demonstration did, open loop, from its own start.

    Attributes:
        name: of the demonstration.
        exact: the file says how the episode began (seed, state before settling), so equal states are expected.
        positions: largest difference of any position from the stored states [m, rad, or quaternion component].
        velocities: the same of the velocities [m/s or rad/s].
        reached: whether the goal held after some action.
        held_at_end: whether it held after the last one.
    """

    name: str
    exact: bool
    positions: float
    velocities: float
    reached: bool
    held_at_end: bool

    @property
    def equal(self) -> bool:
        """No number differs."""
        return self.positions == 0.0 and self.velocities == 0.0


def replay(scene: RecordedScene, task: Task, demonstration: Demonstration) -> Replay:
    """Play the actions of a demonstration again, with the fixtures where its ``model_file`` has them.

    LIBERO's own files do not keep how an episode began: there the first row of ``states`` is the start, with a gripper
    and a controller at rest, and the states drift apart.

    Raises:
        InvalidDemonstration: a model or states of another scene.
    """
    states, actions = demonstration.rows("states"), demonstration.rows("actions")
    exact = begin(scene, task, demonstration)
    if states.shape[1:] != scene.state().shape:
        raise InvalidDemonstration(
            f"{demonstration.where}: states has rows of {states.shape[1]} numbers, the scene has {len(scene.state())}"
        )
    differences, held = [], []
    for state, action in zip(states, actions, strict=True):
        differences.append(np.abs(scene.state() - state))
        scene.step(np.clip(action, -1.0, 1.0))
        held.append(scene.holds(task.goal))
    largest, size = np.max(differences, axis=0), 1 + scene.positions()
    return Replay(
        demonstration.name,
        exact,
        float(largest[1:size].max(initial=0.0)),
        float(largest[size:].max(initial=0.0)),
        any(held),
        held[-1],
    )


def begin(scene: RecordedScene, task: Task, demonstration: Demonstration) -> bool:
    """Bring a scene to the first row of a demonstration; whether it is known exactly how the episode began.

    Raises:
        InvalidDemonstration: a model or states of another scene.
    """
    where = f"{demonstration.where}: model_file"
    try:
        poses = scene.poses_in(demonstration.text("model_file"))
        start = demonstration.numbers("start_state")
        seed, settle = (_count(demonstration, name, most) for name, most in _COUNTS.items())
        where = f"{demonstration.where}: states"
        if start is None or seed is None or settle is None:
            scene.reset_from(task, 0, demonstration.rows("states", slice(0, 1))[0], poses, settle_steps=0)
            return False
        scene.reset_from(task, seed, start, poses, settle_steps=settle)
    except (InvalidOption, SimulatorError) as error:
        raise InvalidDemonstration(f"{where}: {error}") from error
    return True


def _count(demonstration: Demonstration, name: str, most: int) -> int | None:
    """An attribute that is a whole number from 0 to ``most``; None where it is missing."""
    value = demonstration.numbers(name)
    if value is None:
        return None
    if value.ndim or not 0 <= value <= most or value % 1:
        raise InvalidDemonstration(f"{demonstration.where}: attribute {name!r} is {value}, expected 0 to {most}")
    return int(value)


def replays(
    scene_of: Callable[[Task], RecordedScene], manifest: Manifest, path: Path, task: str | None, limit: int | None
) -> Iterator[Replay | str]:
    """Replays of a file's demonstrations, or what stops one.

    Args:
        scene_of: opens the scene of a task.
        task: id; default: what the file names.
        limit: the first so many; None for all.
    """
    try:
        with opened(path) as file:
            found = file.task(manifest, task)
            scene = scene_of(found)
            for name in file.names[:limit]:
                try:
                    yield replay(scene, found, file.demonstration(name))
                except InvalidDemonstration as error:
                    yield str(error)
    except InvalidDemonstration as error:
        yield str(error)


def _of_file(file: DemonstrationFile) -> Iterator[str]:
    where = f"{file.path}: data"
    try:
        _ = file.instruction
    except InvalidDemonstration as error:
        yield str(error)
    if not file.names:
        yield f"{where}: holds no demonstration"
    expected = {f"demo_{number}" for number in range(len(file.names))}
    for name in file.names:
        if name not in expected:
            yield f"{where}: {name!r} is no demo_0 to demo_{len(file.names) - 1}"
    if (count := file.attribute("num_demos")) != len(file.names):
        yield f"{where}: attribute num_demos is {count}, there are {len(file.names)} demonstrations"
    extents = [extent for name in file.names if (extent := _extent(file, name))]
    rows, total, widths = sum(length for length, _ in extents), file.attribute("total"), {width for _, width in extents}
    if len(extents) == len(file.names) and total != rows:
        yield f"{where}: attribute total is {total}, there are {rows} rows"
    if len(widths) > 1:
        yield f"{where}: rows of states have different lengths {sorted(widths)}; they are of different scenes"


def _extent(file: DemonstrationFile, name: str) -> tuple[int, int] | None:
    """Rows of a demonstration and numbers in a row of its states; None where it does not say."""
    try:
        demonstration = file.demonstration(name)
        return demonstration.length, demonstration.column("states").shape[1]
    except InvalidDemonstration:
        return None


def _of_demonstration(file: DemonstrationFile, name: str) -> Iterator[str]:
    try:
        demonstration = file.demonstration(name)
    except InvalidDemonstration as error:
        yield str(error)
        return
    where = demonstration.where
    if demonstration.length == 0:
        yield f"{where}: actions has no row"
        return
    rows: dict[str, Any] = {}
    yield from _of_columns(demonstration, rows)
    try:
        for key in demonstration.observation_keys:
            yield from _refusal(demonstration.observation, key)
    except InvalidDemonstration as error:
        yield str(error)
    if len({*PICTURES} & {*demonstration.keys}) == 1:
        yield f"{where}: has the pictures of one camera, not of both"
    yield from (f"{where}: {line}" for line in _contradictions(rows))
    yield from _attributes(demonstration, rows)


def _of_columns(demonstration: Demonstration, rows: dict[str, Any]) -> Iterator[str]:
    """Reads what can be read into ``rows``, and tells what cannot."""
    for key, column in COLUMNS.items():
        if not column.required and key not in demonstration.keys:
            continue
        try:
            # Pictures are large, and any bytes are a picture: the first and last row tell whether they can be read.
            ends = slice(None, None, max(1, demonstration.length - 1)) if key in PICTURES else slice(None)
            rows[key] = demonstration.rows(key, ends)
        except InvalidDemonstration as error:
            yield str(error)
        else:
            if rows[key].dtype != column.type:
                yield f"{demonstration.where}: {key} has type {rows[key].dtype}, expected {column.type}"


def _contradictions(rows: dict[str, Any]) -> Iterator[str]:
    """What the datasets of one demonstration say about each other."""
    for key in ("actions", "clean_actions"):
        if key in rows and np.abs(rows[key]).max() > 1.0:
            yield f"{key} has values up to {np.abs(rows[key]).max():.3g}, expected -1 to 1"
    for key in ("rewards", "dones"):
        if key in rows and (np.any(rows[key][:-1] != 0) or rows[key][-1] != 1):
            yield f"{key} is not 0 with a 1 in the last row"
    for name, one, other in _twice(rows):
        if np.abs(one - other).max() > _SAME:
            yield f"{name} disagree by up to {np.abs(one - other).max():.3g}"
    if {"obs/joint_states", "states"} <= {*rows} and _from_before(rows["obs/joint_states"], rows["states"]):
        yield "obs/joint_states has rows from before their action; LIBERO's are from after it"


def _twice(rows: dict[str, Any]) -> Iterator[tuple[str, Array, Array]]:
    """What a demonstration keeps twice."""
    robot, states = rows.get("robot_states"), rows.get("obs/ee_states")
    if states is not None and "obs/ee_pos" in rows:
        yield "obs/ee_states and obs/ee_pos", states[:, :3], rows["obs/ee_pos"]
    if states is not None and "obs/ee_ori" in rows:
        yield "obs/ee_states and obs/ee_ori", states[:, 3:], rows["obs/ee_ori"]
    if robot is not None and "obs/gripper_states" in rows:
        yield "robot_states and obs/gripper_states", robot[:, :2], rows["obs/gripper_states"]
    if robot is not None and "obs/ee_pos" in rows:
        yield "robot_states and obs/ee_pos", robot[:, 2:5], rows["obs/ee_pos"]
    if robot is not None and "obs/ee_ori" in rows:
        yield "robot_states and obs/ee_ori", axis_angle(robot[:, 5:]), rows["obs/ee_ori"]


def _from_before(joints: Array, states: Array) -> bool:
    """Whether observed joints rather are those of the state of their own row than of the next one."""
    if len(joints) < 2 or states.shape[1] < _JOINTS.stop:
        return False
    arm = states[:, _JOINTS]
    own, following = np.abs(joints[:-1] - arm[:-1]).mean(), np.abs(joints[:-1] - arm[1:]).mean()
    return bool(own < following)


def _attributes(demonstration: Demonstration, rows: dict[str, Any]) -> Iterator[str]:
    where = demonstration.where
    yield from _refusal(demonstration.text, "model_file")
    yield from _refusal(demonstration.numbers, "start_state")
    for name, most in _COUNTS.items():
        yield from _refusal(_count, demonstration, name, most)
    for name in ("num_samples", "init_state", "length"):
        try:
            value = demonstration.numbers(name)
        except InvalidDemonstration as error:
            yield str(error)
            continue
        if value is None:
            if name != "length":
                yield f"{where}: no attribute {name!r}"
        elif name == "init_state":
            if "states" in rows and not np.array_equal(value, rows["states"][0]):
                yield f"{where}: attribute 'init_state' is not the first row of states"
        elif value.ndim or value != demonstration.length:
            said = value if value.ndim else f"{value:g}"
            yield f"{where}: attribute {name!r} is {said}, actions has {demonstration.length} rows"


def _refusal(read: Callable[..., object], *arguments: object) -> Iterator[str]:
    """Why something cannot be read; nothing where it can."""
    try:
        read(*arguments)
    except InvalidDemonstration as error:
        yield str(error)

"""What is wrong with a demonstration file, and what its actions do when they are played again."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters import Observation
from gym_grounding.demos.consistency import contradictions
from gym_grounding.demos.headers import header_problems, origin, origin_problems
from gym_grounding.demos.layout import COLUMNS, OBSERVATIONS, PICTURES, columns
from gym_grounding.demos.read import Demonstration, DemonstrationFile, opened
from gym_grounding.demos.settings import RecordedScene
from gym_grounding.errors import InvalidDemonstration, InvalidOption, SimulatorError
from gym_grounding.manifest import Manifest
from gym_grounding.types import Task

MOST_SETTLING = 1000
"""Settle steps that a file may ask for."""
_COUNTS = {"seed": 2**32 - 1, "settle_steps": MOST_SETTLING}
"""Attributes that are whole numbers from 0 on -> the largest."""
Form = tuple[tuple[int, ...], str]
"""Shape of a row and number type of a dataset."""


def problems(path: str | Path) -> list[str]:
    """Everything that is wrong with a file, each with file, demonstration and dataset; empty for a sound one.

    Number types, actions outside of [-1, 1], rewards, lengths that disagree, observations from before their action
    instead of after it, and the like; see also ``consistency`` and ``headers``. What the file adds to LIBERO's layout
    is checked where it is there.
    """
    try:
        with opened(path) as file:
            own = [line for name in file.names for line in _of_demonstration(file, name)]
            # One thing that is missing may be missed several times.
            return list(dict.fromkeys([*_of_file(file), *header_problems(file), *own, *unlike(file)]))
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
        exact: the file says how the episode began (seed, state before settling), so equal numbers are expected.
        positions: largest difference of any position from the stored states [m, rad, or quaternion component].
        velocities: the same of the velocities [m/s or rad/s].
        observed: the same of anything that was observed, but for pictures; infinite where it is not observed now.
        dataset: in which that is; empty where all are equal.
        reached: whether the goal held after some action.
        held_at_end: whether it held after the last one.
    """

    name: str
    exact: bool
    positions: float
    velocities: float
    observed: float
    dataset: str
    reached: bool
    held_at_end: bool

    @property
    def equal(self) -> bool:
        """No number differs."""
        return self.positions == self.velocities == self.observed == 0.0


def replay(scene: RecordedScene, task: Task, demonstration: Demonstration) -> Replay:
    """Play the actions of a demonstration again, with the fixtures where its ``model_file`` has them.

    LIBERO's own files do not keep how an episode began: there the first row of ``states`` is the start, with a gripper
    and a controller at rest, and the states drift apart.

    Raises:
        InvalidDemonstration: a model or states of another scene.
    """
    states, actions = demonstration.rows("states"), demonstration.rows("actions")
    exact, first = begin(scene, task, demonstration)
    if states.shape[1:] != scene.state().shape:
        raise InvalidDemonstration(
            f"{demonstration.where}: states has rows of {states.shape[1]} numbers, the scene has {len(scene.state())}"
        )
    differences, held, seen = [], [], [first]
    for state, action in zip(states, actions, strict=True):
        differences.append(np.abs(scene.state() - state))
        seen.append(scene.step(np.clip(action, -1.0, 1.0)))
        held.append(scene.holds(task.goal))
    largest, size = np.max(differences, axis=0), 1 + scene.positions()
    observed = _observed(demonstration, seen)
    dataset = max(observed, key=lambda name: observed[name], default="")
    return Replay(
        demonstration.name,
        exact,
        float(largest[1:size].max(initial=0.0)),
        float(largest[size:].max(initial=0.0)),
        observed.get(dataset, 0.0),
        dataset if observed.get(dataset) else "",
        any(held),
        held[-1],
    )


def _observed(demonstration: Demonstration, seen: list[Observation]) -> dict[str, float]:
    """Dataset -> by how much what it has of observations differs from the T + 1 that were made now."""
    now = {key: np.array([one[key] for one in seen]) for key in seen[0]}
    actions = demonstration.rows("actions")
    rows = columns(demonstration.rows("states"), actions, actions, {key: values[1:] for key, values in now.items()})
    answers = {name: rows[name] for name in rows if name.startswith("obs/") or name == "robot_states"}
    found = {name: _apart(demonstration.rows(name), answers[name]) for name in answers if name not in PICTURES}
    for key in demonstration.observation_keys:
        found[f"{OBSERVATIONS}/{key}"] = _apart(demonstration.observation(key), now.get(key))
    return found


def _apart(kept: NDArray[Any], now: NDArray[Any] | None) -> float:
    """Largest difference, in the type in which it was kept."""
    if now is None or now.shape != kept.shape:
        return np.inf
    with np.errstate(over="ignore"):
        return float(np.abs(kept.astype(np.float64) - now.astype(kept.dtype)).max(initial=0.0))


def begin(scene: RecordedScene, task: Task, demonstration: Demonstration) -> tuple[bool, Observation]:
    """Bring a scene to the first row of a demonstration.

    Returns:
        Whether it is known exactly how the episode began, and the first observation.

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
            first = demonstration.rows("states", slice(0, 1))[0]
            return False, scene.reset_from(task, 0, first, poses, settle_steps=0)
        return True, scene.reset_from(task, seed, start, poses, settle_steps=settle)
    except (InvalidOption, SimulatorError) as error:
        raise InvalidDemonstration(f"{where}: {error}") from error


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
    yield from _of_observations(demonstration, rows)
    if len({*PICTURES} & {*demonstration.keys}) == 1:
        yield f"{where}: has the pictures of one camera, not of both"
    try:
        yield from (f"{where}: {line}" for line in contradictions(rows, origin(file, demonstration)))
        yield from origin_problems(file, demonstration)
    except InvalidDemonstration as error:
        yield str(error)
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


def _of_observations(demonstration: Demonstration, rows: dict[str, Any]) -> Iterator[str]:
    """The same for what was added, as ``observations/KEY``."""
    try:
        for key in demonstration.observation_keys:
            try:
                rows[f"{OBSERVATIONS}/{key}"] = demonstration.observation(key)
            except InvalidDemonstration as error:
                yield str(error)
    except InvalidDemonstration as error:
        yield str(error)


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

"""The contract of adapters and their scenes, as a check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from gym_grounding.adapters import Adapter, Observation, Scene
from gym_grounding.errors import InvalidOption
from gym_grounding.manifest import Manifest
from gym_grounding.testing._contract import Rules, global_random, same
from gym_grounding.types import SceneSettings, Task

DESCRIBED = "described"
SPACE = "space"
ACTIONS = "actions"
NO_LANGUAGE = "no_language"
INSIDE = "inside"
FINITE = "finite"
PURE_START = "pure_start"
STARTS_DIFFER = "starts_differ"
DETERMINISTIC = "deterministic"
COPIES = "copies"
GLOBAL_RANDOM = "global_random"
DOMAIN = "domain"
PRESET = "preset"
GOALS = "goals"
DISPLACEMENT = "displacement"
STATE = "state"
PICTURE = "picture"
CLOSES = "closes"
RUNS = "runs"


def check_adapter(
    adapter: Adapter,
    manifest: Manifest,
    task: str,
    settings: SceneSettings | None = None,
    steps: int = 10,
    pictures: bool = True,
    joints: Mapping[str, float] | None = None,
) -> None:
    """Check everything that ``adapters.Adapter`` and ``adapters.Scene`` promise, on one task.

    Args:
        adapter: the adapter.
        manifest: a registry that has the task.
        task: task id; its scene is opened twice.
        settings: None for state observations and the registry's settle steps.
        steps: control steps of each trial.
        pictures: ``render`` is checked too.
        joints: entity -> position that no initial state has; starts with these presets are checked too.

    Raises:
        ContractBroken: lists every broken rule.
    """
    rules = Rules(f"adapter {getattr(adapter, 'name', type(adapter).__name__)}")
    settings = settings or SceneSettings(observation="state", settle_steps=manifest.settle)
    row = manifest.task(task)
    facts = manifest.scene_of(task)
    tasks = {other.id: other for other in manifest.scene_tasks(row.scene)}
    with rules.guarded(DESCRIBED):
        _check_description(rules, adapter, row)
    with rules.guarded(RUNS):
        space = adapter.observation_space(facts, settings)
        actions = adapter.action_space(facts)
        _check_spaces(rules, space, actions)
        rules.check(SPACE, adapter.observation_space(facts, settings) == space, "two calls give two spaces")
        moves = np.random.default_rng(0).uniform(-1.0, 1.0, (steps, *actions.shape))
        first, second = adapter.open(facts, tasks, settings), adapter.open(facts, tasks, settings)
        _check_scene(rules, first, second, row, space, moves)
        if joints:
            with rules.guarded(PRESET):
                _check_presets(rules, (first, second), row, joints)
        with rules.guarded(GOALS):
            _check_goals(rules, first, row, tasks)
        if pictures:
            with rules.guarded(PICTURE):
                picture = first.render()
                shaped = picture.ndim == 3 and picture.shape[2] == 3 and picture.dtype == np.uint8
                rules.check(PICTURE, shaped, f"render gives {picture.dtype}{picture.shape}; expected uint8 (H, W, 3)")
        with rules.guarded(CLOSES):
            for scene in (first, second, second):
                scene.close()
    rules.conclude()


def _check_description(rules: Rules, adapter: Adapter, task: Task) -> None:
    named = isinstance(adapter.name, str) and adapter.name.isidentifier()
    rules.check(DESCRIBED, named, f"name is {adapter.name!r}; expected the module's name")
    rules.check(DESCRIBED, isinstance(adapter.fps, int) and adapter.fps > 0, f"fps is {adapter.fps!r}")
    versions = adapter.versions()
    plain = bool(versions) and all(isinstance(part, str) and part for pair in versions.items() for part in pair)
    rules.check(DESCRIBED, plain, f"versions gives {versions!r}; expected names and versions as text")
    adapter.verify(task)


def _check_spaces(rules: Rules, space: spaces.Dict, actions: spaces.Box) -> None:
    flat = isinstance(space, spaces.Dict) and all(isinstance(part, spaces.Box) for part in space.spaces.values())
    rules.check(SPACE, flat, "observation_space is no flat Dict of Box")
    rules.check(NO_LANGUAGE, "instruction" not in space.spaces, "a scene must not observe the key 'instruction'")
    unit = isinstance(actions, spaces.Box) and actions.dtype == np.float32 and len(actions.shape) == 1
    unit = unit and bool((actions.low == -1).all() and (actions.high == 1).all())
    rules.check(ACTIONS, unit, f"action_space is {actions}; expected Box(-1, 1, (n,), float32)")


def _check_scene(
    rules: Rules, first: Scene, second: Scene, task: Task, space: spaces.Dict, moves: NDArray[np.float64]
) -> None:
    last = task.init_states - 1
    with global_random(1):
        before = np.random.get_state(legacy=False)["state"]["key"].copy()  # noqa: NPY002
        start = _copied(first.reset(task, 0))
        start_state = first.state()
        path = [first.state() for move in moves if _observed(rules, first.step(move), space)]
        kept = same(before, np.random.get_state(legacy=False)["state"]["key"])  # noqa: NPY002
        rules.check(GLOBAL_RANDOM, kept, "a reset or step draws from NumPy's global generator")
    _observed(rules, start, space)
    if last:
        other = first.reset(task, last)
        differ = any(not same(start[key], other[key]) for key in start)
        rules.check(STARTS_DIFFER, differ, f"initial states 0 and {last} look equal")
        first.step(moves[0])
    with global_random(2):
        for scene, which in ((first, "a later episode"), (second, "a second scene")):
            again = scene.reset(task, 0)
            equal = again.keys() == start.keys() and all(same(start[key], again[key]) for key in start)
            equal = equal and same(start_state, scene.state())
            rules.check(PURE_START, equal, f"initial state 0 starts differently in {which}")
            _spoil(again)
            rules.check(COPIES, same(scene.state(), start_state), "writing into an observation changes the scene")
            states = []
            for move in moves:
                _spoil(scene.step(move))
                states.append(scene.state())
            same_path = all(same(one, two) for one, two in zip(path, states, strict=True))
            rules.check(DETERMINISTIC, same_path, f"equal actions lead elsewhere in {which}")
    state = first.state()
    rules.check(STATE, state.ndim == 1 and state.dtype == np.float64, f"state is {state.dtype}{state.shape}")
    state += 1.0
    rules.check(STATE, not same(state, first.state()), "writing into state() changes the scene")
    _check_domain(rules, first, task)


def _check_presets(rules: Rules, scenes: Sequence[Scene], task: Task, joints: Mapping[str, float]) -> None:
    starts = []
    for scene in scenes:
        scene.reset(task, 0)
        plain = scene.state()
        scene.reset(task, 0, joints=joints)
        starts.append(scene.state())
        rules.check(PRESET, not same(plain, starts[-1]), f"the presets {dict(joints)} change nothing")
        scene.reset(task, 0)
        rules.check(PRESET, same(plain, scene.state()), "the start after a preset one is not that of before")
    rules.check(PRESET, same(starts[0], starts[-1]), "equal presets start differently in a second scene")
    try:
        scenes[0].reset(task, 0, joints={"no_such_entity": 1.0})
    except InvalidOption:
        return
    rules.check(PRESET, False, "a preset of an entity that the scene does not have is accepted")


def _check_domain(rules: Rules, scene: Scene, task: Task) -> None:
    for number in (-1, task.init_states):
        try:
            scene.reset(task, number)
        except InvalidOption:
            continue
        except Exception as error:
            rules.check(DOMAIN, False, f"init_state {number} raises {type(error).__name__}; expected InvalidOption")
        else:
            rules.check(DOMAIN, False, f"init_state {number} is accepted")


def _check_goals(rules: Rules, scene: Scene, task: Task, tasks: dict[str, Task]) -> None:
    scene.reset(task, 0)
    moved = scene.displacement()
    rules.check(DISPLACEMENT, type(moved) is float and moved == 0.0, f"displacement is {moved!r} after reset")
    for other in tasks.values():
        holds = scene.holds(other.goal)
        rules.check(GOALS, type(holds) is bool, f"holds({other.goal.id}) is {holds!r}; expected True or False")
    rules.check(GOALS, not scene.holds(task.goal), f"{task.goal.id} already holds in initial state 0")


def _observed(rules: Rules, observation: Observation, space: spaces.Dict) -> bool:
    keys = observation.keys() == space.spaces.keys()
    rules.check(INSIDE, keys, f"keys {sorted(observation.keys() ^ space.spaces.keys())} are not in both")
    for key in observation.keys() & space.spaces.keys():
        value = observation[key]
        if np.issubdtype(value.dtype, np.floating) and not np.isfinite(value).all():
            rules.check(FINITE, False, f"{key} is {value}")
            continue
        text = f"{key} is {value.dtype}{value.shape}; the space says {space[key]}"
        rules.check(INSIDE, value.dtype == space[key].dtype and space[key].contains(value), text)
    return True


def _copied(observation: Observation) -> Observation:
    return {key: value.copy() for key, value in observation.items()}


def _spoil(observation: Observation) -> None:
    for value in observation.values():
        value += 1

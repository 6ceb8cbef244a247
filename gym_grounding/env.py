"""A scene of an adapter as a plain Gymnasium environment. No language in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from gym_grounding import adapters, manifest
from gym_grounding.adapters import Observation, Scene
from gym_grounding.errors import InvalidAction, InvalidOption
from gym_grounding.plan import checked_settings
from gym_grounding.types import SceneFacts, SceneSettings

_DEFAULTS = SceneSettings()


class SceneEnv(gymnasium.Env[dict[str, Any], NDArray[Any]]):
    """One task's scene, started from its stored initial states, without instruction, goal or time limit.

    ## Description
    The robot stands before the task's objects. Nothing says what to do: wrap it in ``GoalReport`` to have goals watched
    and in ``Instruction`` to have a sentence shown, or make a registered id, which does both.

    ## Action Space
    The adapter's ``Box(-1, 1, (n,), float32)``. LIBERO: n = 7, change of the hand's position (3; 1 asks for 5 cm) and
    orientation (3, axis-angle; 1 asks for 0.5 rad), gripper (+1 closes, -1 opens, only the sign counts). Numbers
    outside [-1, 1] are clipped. NaN, an infinity, a masked entry, another shape or anything but real numbers raises
    ``InvalidAction``.

    ## Observation Space
    A flat ``Dict`` of arrays with the adapter's key names (LIBERO's: ``robot0_eef_pos``, ``agentview_image``, ...).
    Every array is the caller's own; writing into it changes nothing. Whether a goal holds is never observed.

    ## Starting State
    Stored initial state number ``options["init_state"]``. Without the option it is drawn from ``np_random``, so after
    ``reset(seed=s)`` it is a function of s alone, and later resets without a seed continue that draw. The start is
    equal to the last bit for one (task, initial state, ``joints``), whatever the seed: the seed decides nothing else.
    The scene settles for ``settle_steps`` control steps before the first observation. With ``starts="displaced"`` it is
    that initial state with its movable objects 3 to 8 cm away, still equal to the last bit each time.

    ## Reward
    Always 0.0; see ``GoalReport``.

    ## Episode End
    Never terminates and never truncates; see ``GoalReport``.

    ## Information
    - ``task`` (str): id of the task, such as ``LiberoGoal-T8``.
    - ``init_state`` (int): number of the initial state of this episode.

    ## Arguments
    - ``task``: task id.
    - ``registry``: path of the registry file; None for the shipped one.
    - ``observation``, ``image_size``, ``orientation``, ``pictures``, ``starts``: see
      ``types.SceneSettings``.
    - ``lazy``: pictures in observations are ``pictures.Picture``s where the adapter offers them (LIBERO's does): drawn
      when first read, of their own moment, until ``close``. They are no arrays, so the observation space does not hold
      them: for loops that do not read every picture, made with ``disable_env_checker=True``.
    - ``settle_steps``: None for the registry's own number.
    - ``joints``: entity -> position of its one joint [m or rad] in which every episode starts, in place of the initial
      state's own; None presets nothing. Such as ``{"flat_stove_1": 2.0}``: the stove's knob is turned.
    - ``render_mode``: ``rgb_array`` or None. ``gymnasium.make`` also takes ``human`` (a window, needs pygame) and
      ``rgb_array_list``: it lays its own wrapper around ``rgb_array``.

    The simulator is not started before the first ``reset``: spaces, metadata and ``spec`` come from the registry.

    ## Version History
    - v0: first version.

    Attributes:
        scene: the open scene; None before the first ``reset`` and after ``close``.
        manifest: the registry that was read.
        task: the task.
        settings: how the scene is opened and observed.
        joints: the presets.
        lazy: whether pictures may wait until they are read.

    Raises:
        UnknownName: no such task.
        InvalidOption: an argument outside its domain.
        RegistryError: the registry is malformed.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012  # Gymnasium's own attribute

    def __init__(
        self,
        task: str,
        registry: str | None = None,
        observation: str = _DEFAULTS.observation,
        image_size: int = _DEFAULTS.image_size,
        orientation: str = _DEFAULTS.orientation,
        settle_steps: int | None = None,
        render_mode: str | None = None,
        joints: Mapping[str, float] | None = None,
        pictures: str = _DEFAULTS.pictures,
        lazy: bool = False,
        starts: str = _DEFAULTS.starts,
    ) -> None:
        self.manifest = manifest.load(registry)
        self.task = self.manifest.task(task)
        settle_steps = self.manifest.settle if settle_steps is None else settle_steps
        self.settings = checked_settings(
            SceneSettings(observation, image_size, orientation, settle_steps, pictures, starts)
        )
        if render_mode not in (None, *self.metadata["render_modes"]):
            hint = "; gymnasium.make(id, render_mode='human') opens a window" if render_mode == "human" else ""
            raise InvalidOption(f"render_mode is {render_mode!r}; choose None or 'rgb_array'{hint}")
        self.render_mode = render_mode
        if not isinstance(lazy, bool):
            raise InvalidOption(f"lazy is {lazy!r}; choose True or False")
        self.lazy = lazy
        self._facts = self.manifest.scene_of(task)
        self.joints = _checked_joints(joints, self._facts)
        self._adapter = adapters.get(self.manifest.adapter_name(task))
        self.metadata = {**self.metadata, "render_fps": self._adapter.fps}
        self.observation_space = self._adapter.observation_space(self._facts, self.settings)
        self.action_space = self._action_space = self._adapter.action_space(self._facts)
        self.scene: Scene | None = None
        self._init_state = 0
        self._started = False

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode; see *Starting State*.

        Raises:
            InvalidOption: an unknown option, or an initial state that the task does not have.
            MissingSource, MissingRenderer, WrongVersion, SimulatorError: the scene cannot be opened.
        """
        super().reset(seed=seed)
        self._init_state = self._chosen_init_state(options)
        if self.scene is None:
            tasks = {task.id: task for task in self.manifest.scene_tasks(self.task.scene)}
            self.scene = self._adapter.open(self._facts, tasks, self.settings)
        if hasattr(self.scene, "lazy"):
            self.scene.lazy = self.lazy
        self._started = False
        # Adapters without movable joints need not know of presets.
        preset = {"joints": self.joints} if self.joints else {}
        observation = self.scene.reset(self.task, self._init_state, **preset)
        self._started = True
        return observation, self._info()

    def step(self, action: NDArray[Any]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Advance one control step; see *Action Space*.

        Raises:
            InvalidAction: names what is wrong and at which index.
            ResetNeeded: no episode has been started.
        """
        scene = self.running_scene("step")
        return scene.step(checked_action(action, self._action_space)), 0.0, False, False, self._info()

    def render(self) -> NDArray[np.uint8] | None:
        """An upright picture, shape (H, W, 3); None without a render mode."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() draws nothing: make the environment with render_mode='rgb_array'")
            return None
        return self.running_scene("render").render()

    def close(self) -> None:
        """Give the scene back; safe to call twice. A later ``reset`` opens it again."""
        scene, self.scene, self._started = self.scene, None, False
        if scene is not None:
            scene.close()

    def running_scene(self, call: str) -> Scene:
        """The open scene of a running episode, for ``call``.

        Raises:
            ResetNeeded: no episode has been started.
        """
        if self.scene is None or not self._started:
            raise gymnasium.error.ResetNeeded(f"call reset() before {call}()")
        return self.scene

    def _info(self) -> dict[str, Any]:
        return {"task": self.task.id, "init_state": self._init_state}

    def _chosen_init_state(self, options: Mapping[str, Any] | None) -> int:
        count = self.task.init_states
        if options is not None and not isinstance(options, Mapping):
            raise InvalidOption(f"reset options are {options!r}: give a mapping such as {{'init_state': 0}}")
        options = dict(options or {})
        if "init_state" not in options:
            chosen = int(self.np_random.integers(count))
        else:
            chosen = options.pop("init_state")
            if isinstance(chosen, bool) or not isinstance(chosen, int | np.integer):
                raise InvalidOption(f"reset option init_state is {chosen!r}: give an integer, 0 to {count - 1}")
            if not 0 <= chosen < count:
                raise InvalidOption(f"reset option init_state is {chosen}: {self.task.id} has 0 to {count - 1}")
        if options:
            raise InvalidOption(f"no reset option {', '.join(map(repr, options))}: the only one is 'init_state'")
        return int(chosen)


def _checked_joints(joints: object, scene: SceneFacts) -> dict[str, float]:
    if joints is None:
        return {}
    if not isinstance(joints, Mapping):
        raise InvalidOption(f"joints is {joints!r}; give a mapping from an entity to the position of its joint")
    for name, position in joints.items():
        number = isinstance(position, int | float | np.integer | np.floating) and not isinstance(position, bool)
        if not number or not np.isfinite(position):
            raise InvalidOption(f"joints has {position!r} for {name!r}; give a finite position [m or rad]")
    for name, problem in manifest.joint_problems(joints, scene):
        raise InvalidOption(f"joints: {name!r} {problem}")
    return {str(name): float(position) for name, position in joints.items()}


def checked_action(action: object, space: spaces.Box) -> NDArray[np.float64]:
    """The action as float64, clipped to the space.

    Raises:
        InvalidAction: not real numbers, another shape, masked, NaN or infinite; names the index.
    """
    if np.ma.is_masked(action):  # np.asarray would take what lies under the mask for data
        masked = np.argwhere(np.ma.getmaskarray(np.ma.asarray(action))).tolist()
        listed = ", ".join(f"action{index} is masked" for index in masked)
        raise InvalidAction(f"{listed}; every component must be a number")
    try:
        array = np.asarray(action)
    except ValueError as error:
        raise InvalidAction(f"action is no array of numbers: {error}") from error
    if array.dtype.kind not in "fiu":
        raise InvalidAction(f"action has type {array.dtype}; expected real numbers of shape {space.shape}")
    if array.shape != space.shape:
        raise InvalidAction(f"action has shape {array.shape}; expected {space.shape}")
    numbers = array.astype(np.float64)
    if not np.isfinite(numbers).all():
        bad = np.argwhere(~np.isfinite(numbers)).ravel().tolist()
        listed = ", ".join(f"action[{index}] is {numbers[index]}" for index in bad)
        raise InvalidAction(f"{listed}; every component must be a finite number, clipped to [-1, 1]")
    return np.minimum(np.maximum(numbers, space.low), space.high)  # half the time of np.clip

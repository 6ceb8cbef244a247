"""Environments of any variants side by side, in threads of this process.

The control step lets other threads run, and the environments of a scene share what never changes about it, so that
one more costs a few megabytes and no process.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

import gymnasium
import numpy as np
from gymnasium import Space, spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.spaces.utils import is_space_dtype_shape_equiv
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_differing_spaces, batch_space, concatenate, create_empty_array, iterate
from numpy.typing import NDArray

from gym_grounding import manifest
from gym_grounding.errors import InvalidAction, InvalidOption
from gym_grounding.registration import ENTRY_POINT
from gym_grounding.threads import Crew
from gym_grounding.wrappers import environment_id

Env = gymnasium.Env[Any, Any]
ObservationMode = str | tuple[Space[Any], Space[Any]]

SEPARATE = "separate"
"""Observation mode in which each environment keeps its own observation; Gymnasium has no such mode."""


def make_vec(
    ids: Sequence[str | EnvSpec],
    *,
    copy: bool = True,
    observation_mode: ObservationMode = "same",
    autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    threads: int | None = None,
    **kwargs: Any,
) -> ThreadVectorEnv:
    """One environment for each id, side by side in threads; each may have its own instruction, task and scene.

    Args:
        ids: registered ids, with or without ``gym_grounding:``, or specs; the same one several times if wanted.
        copy, observation_mode, autoreset_mode, threads: see ``ThreadVectorEnv``.
        kwargs: of every environment; see ``registration.make``. ``lazy`` needs the observation mode ``separate``.

    Raises:
        InvalidOption: no ids, an argument outside its domain, or environments that cannot be batched.
    """
    if kwargs.get("lazy") and observation_mode != SEPARATE:
        raise InvalidOption(
            f"lazy pictures cannot be batched unread; add observation_mode={SEPARATE!r}, or leave lazy out"
        )
    if isinstance(ids, str | EnvSpec) or not ids:
        raise InvalidOption(f"ids is {ids!r}; give a sequence of environment ids")
    makers = [functools.partial(gymnasium.make, one, **kwargs) for one in ids]
    names = [one.id if isinstance(one, EnvSpec) else one for one in ids]
    return ThreadVectorEnv(makers, names, copy, observation_mode, autoreset_mode, threads)


def copies(
    num_envs: int,
    variant: str,
    registry: str | None = None,
    *,
    copy: bool = True,
    observation_mode: ObservationMode = "same",
    autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
    threads: int | None = None,
    **kwargs: Any,
) -> ThreadVectorEnv:
    """What ``gymnasium.make_vec(id, num_envs, "vector_entry_point")`` calls: one variant several times.

    Args:
        num_envs: how many.
        variant, registry: of the id.
        copy, observation_mode, autoreset_mode, threads: see ``ThreadVectorEnv``.
        kwargs: of every environment; see ``registration.make``.

    Raises:
        InvalidOption: an argument outside its domain.
    """
    if isinstance(num_envs, bool) or not isinstance(num_envs, int) or num_envs < 1:
        raise InvalidOption(f"num_envs is {num_envs!r}; give the number of environments, 1 or more")
    where = {} if registry is None else {"registry": registry}
    name = environment_id(variant, manifest.load(registry).version)
    spec = EnvSpec(name, ENTRY_POINT, kwargs={"variant": variant, **where})
    return make_vec(
        [spec] * num_envs,
        copy=copy,
        observation_mode=observation_mode,
        autoreset_mode=autoreset_mode,
        threads=threads,
        **kwargs,
    )


class ThreadVectorEnv(VectorEnv[Any, NDArray[Any], NDArray[Any]]):
    """Environments side by side, each on one thread for its whole life; else as Gymnasium's ``SyncVectorEnv``.

    Results, autoreset, ``infos`` with their ``_key`` masks and the meaning of seeds and options are those of
    ``SyncVectorEnv``, to the last bit. ``reset(options={"init_state": k, "reset_mask": mask})`` resets some only.

    What fails in one environment is raised with its number and id in the message, after the others have finished what
    they were asked for; reset it before the next step.

    Args:
        env_fns: make the environments, on their threads.
        names: of the environments, for errors; None for their numbers.
        copy: ``reset`` and ``step`` return copies; False for the same arrays every time, overwritten by each call.
        observation_mode: ``same``: all spaces are equal. ``different``: equal but for their bounds. Two spaces: the
            batched one and that of one environment. ``separate``: observations stay a tuple of each environment's own,
            for scenes whose states have different keys; ``single_observation_space`` is the first one's.
        autoreset_mode: ``NextStep``, ``SameStep`` or ``Disabled``; see Gymnasium.
        threads: how many at most; None for as many as there are cores.

    Raises:
        InvalidOption: an argument outside its domain, or environments that cannot be batched.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env]],
        names: Sequence[str] | None = None,
        copy: bool = True,
        observation_mode: ObservationMode = "same",
        autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP,
        threads: int | None = None,
    ) -> None:
        super().__init__()
        self.closed = True  # until there is something to close
        if not env_fns:
            raise InvalidOption("a vector environment needs at least one environment")
        self.num_envs, self.copy, self.autoreset_mode = len(env_fns), copy, _mode(autoreset_mode)
        self._crew = Crew([str(index) for index in range(self.num_envs)] if names is None else names, threads)
        self._envs: list[Env] = []
        made: dict[int, Env] = {}
        try:
            self._crew.each(lambda index: made.update({index: env_fns[index]()}))
            self._envs = [made[index] for index in range(self.num_envs)]
            self._set_spaces(observation_mode)
        except BaseException:
            self._crew.each(lambda index: made[index].close(), made)
            self._crew.end()
            raise
        self.closed = False
        self.metadata = {**self._envs[0].metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = self._envs[0].render_mode
        self._rewards = np.zeros(self.num_envs)
        self._terminated = np.zeros(self.num_envs, np.bool_)
        self._truncated = np.zeros(self.num_envs, np.bool_)
        self._over = np.zeros(self.num_envs, np.bool_)
        self._begun = np.zeros(self.num_envs, np.bool_)
        self._prepare_observations()

    @property
    def np_random_seed(self) -> tuple[int, ...]:  # type: ignore[override]  # as in SyncVectorEnv
        """The seeds of the environments' generators."""
        return self.get_attr("np_random_seed")

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """The environments' generators."""
        return self.get_attr("np_random")

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode in every environment, or in those that ``options["reset_mask"]`` marks.

        Args:
            seed: of environment i: ``seed + i``, or ``seed[i]`` of a sequence.
            options: ``reset_mask``, bool, shape (num_envs,); the rest goes to each environment.

        Returns:
            Observations and infos of all environments; those that are not reset show their last observation again.

        Raises:
            InvalidOption: a mask or seeds of another shape or type.
        """
        self._check_open("reset")
        seeds, given = self._seeds(seed), None if options is None else dict(options)
        mask = self._mask(given.pop("reset_mask")) if given is not None and "reset_mask" in given else None
        chosen = range(self.num_envs) if mask is None else np.flatnonzero(mask).tolist()
        for flags in (self._terminated, self._truncated, self._over):
            flags[chosen] = False

        def begin(index: int) -> dict[str, Any]:
            own = None if given is None else dict(given)
            observation, info = self._envs[index].reset(seed=seeds[index], options=own)
            self._show(index, observation)
            self._begun[index] = True
            return info

        infos: dict[str, Any] = {}
        for index, info in zip(chosen, self._crew.each(begin, chosen), strict=True):
            infos = self._add_info(infos, info, index)
        return self._observed(), infos

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Advance every environment, or reset it where autoreset says so.

        Args:
            actions: shape (num_envs, n).

        Raises:
            InvalidAction: another number of actions.
            ResetNeeded: an episode is over and autoreset is disabled, or none has been started.
        """
        self._check_open("step")
        rows = self._rows_of(actions)
        if self.autoreset_mode == AutoresetMode.DISABLED and self._over.any():
            over = ", ".join(self._crew.name(int(index)) for index in np.flatnonzero(self._over))
            raise gymnasium.error.ResetNeeded(f"over: {over}; call reset(options={{'reset_mask': mask}}) before step()")
        try:
            told = self._crew.each(lambda index: self._advance(index, rows[index]))
        finally:
            self._over = self._terminated | self._truncated
        infos: dict[str, Any] = {}
        for index, parts in enumerate(told):
            for part in parts:
                infos = self._add_info(infos, part, index)
        ends = self._terminated.copy(), self._truncated.copy()
        return self._observed(), self._rewards.copy(), *ends, infos

    def render(self) -> tuple[Any, ...]:
        """A picture of each environment, as ``Env.render`` gives it."""
        self._check_open("render")
        return tuple(self._crew.each(lambda index: self._envs[index].render()))

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """What the method ``name`` returns in each environment; the value of what cannot be called."""
        self._check_open(name)

        def value(index: int) -> Any:
            found = self._envs[index].get_wrapper_attr(name)
            return found(*args, **kwargs) if callable(found) else found

        return tuple(self._crew.each(value))

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """The attribute ``name`` of each environment or its wrappers."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute where it is: one value each if ``values`` is a list or tuple, else the same in all.

        Raises:
            InvalidOption: another number of values.
        """
        self._check_open("set_attr")
        given = values if isinstance(values, list | tuple) else [values] * self.num_envs
        if len(given) != self.num_envs:
            raise InvalidOption(f"{len(given)} values of {name} for {self.num_envs} environments")
        self._crew.each(lambda index: self._envs[index].set_wrapper_attr(name, given[index]))

    def close_extras(self, **kwargs: Any) -> None:
        """Close the environments on their threads and end the threads; what is being done is finished first."""
        try:
            self._crew.each(lambda index: self._envs[index].close())
        finally:
            self._crew.end()
            self.closed = True

    def _advance(self, index: int, action: Any) -> list[dict[str, Any]]:
        """Step or reset one environment; its parts of the infos, in order."""
        env = self._envs[index]
        if self._over[index] and self.autoreset_mode == AutoresetMode.NEXT_STEP:
            observation, info = env.reset()
            self._rewards[index], self._terminated[index], self._truncated[index] = 0.0, False, False
            self._show(index, observation)
            return [info]
        observation, reward, terminated, truncated, info = env.step(action)
        self._rewards[index], self._terminated[index], self._truncated[index] = reward, terminated, truncated
        parts = [info]
        if (terminated or truncated) and self.autoreset_mode == AutoresetMode.SAME_STEP:
            parts = [{"final_obs": observation, "final_info": info}]
            observation, info = env.reset()
            parts.append(info)
        self._show(index, observation)
        return parts

    def _set_spaces(self, mode: ObservationMode) -> None:
        first, every = self._envs[0], [env.observation_space for env in self._envs]
        self.single_observation_space = single = first.observation_space
        if isinstance(mode, tuple) and len(mode) == 2 and all(isinstance(space, Space) for space in mode):
            self.observation_space, self.single_observation_space = mode
            self._check_alike(every, lambda space: is_space_dtype_shape_equiv(space, mode[1]))
        elif mode == "same":
            self._check_alike(every, lambda space: space == single)
            self.observation_space = batch_space(single, self.num_envs)
        elif mode == "different":
            self._check_alike(every, lambda space: is_space_dtype_shape_equiv(space, single))
            self.observation_space = batch_differing_spaces(every)
        elif mode == SEPARATE:
            self.observation_space = spaces.Tuple(every)
        else:
            raise InvalidOption(f"observation_mode is {mode!r}; choose same, different, separate or give two spaces")
        self._separate = mode == SEPARATE
        self.single_action_space = first.action_space
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        for index, env in enumerate(self._envs):
            if env.action_space != self.single_action_space:
                raise InvalidOption(f"{self._crew.name(index)} has other actions than {self._crew.name(0)}")

    def _check_alike(self, every: Sequence[Space[Any]], fits: Callable[[Space[Any]], bool]) -> None:
        single = self.single_observation_space
        for index, space in enumerate(every):
            if not fits(space):
                both = isinstance(space, spaces.Dict) and isinstance(single, spaces.Dict)
                keys = sorted(space.keys() ^ single.keys()) if both else []  # type: ignore[attr-defined]
                raise InvalidOption(
                    f"the observations of {self._crew.name(index)} and {self._crew.name(0)} differ in "
                    f"{', '.join(keys) or 'bounds, shapes or types'}; observation='pixels' is alike in every scene, "
                    "and observation_mode='separate' leaves each environment its own"
                )

    def _prepare_observations(self) -> None:
        """What observations are gathered in: arrays that are written row by row, or a list where there are none."""
        single = self.single_observation_space
        self._shown: list[Any] = [None] * self.num_envs
        self._batch: Any = None
        self._places: list[dict[str, NDArray[Any]]] = []
        if self._separate:
            return
        self._batch = create_empty_array(single, self.num_envs, np.zeros)
        if isinstance(single, spaces.Dict) and all(isinstance(part, spaces.Box) for part in single.spaces.values()):
            self._places = [{key: array[index] for key, array in self._batch.items()} for index in range(self.num_envs)]

    def _show(self, index: int, observation: Any) -> None:
        """Take an environment's observation; every thread writes rows of its own."""
        if not self._places:
            self._shown[index] = observation
            return
        for key, place in self._places[index].items():
            value = observation[key]
            if np.shape(value) != place.shape:
                raise InvalidOption(f"{key} has shape {np.shape(value)}; its space says {place.shape}")
            np.copyto(place, value)

    def _observed(self) -> Any:
        if not self._begun.all():
            names = ", ".join(self._crew.name(int(index)) for index in np.flatnonzero(~self._begun))
            raise gymnasium.error.ResetNeeded(f"never reset: {names}; call reset() without a mask first")
        if self._separate:
            return tuple(self._shown)
        if not self._places:
            self._batch = concatenate(self.single_observation_space, self._shown, self._batch)
            return deepcopy(self._batch) if self.copy else self._batch
        return {key: array.copy() for key, array in self._batch.items()} if self.copy else self._batch

    def _rows_of(self, actions: Any) -> list[Any]:
        try:
            rows = list(iterate(self.action_space, actions))
        except TypeError as error:
            raise InvalidAction(f"actions are {actions!r}; give one row for each environment") from error
        if len(rows) != self.num_envs:
            raise InvalidAction(f"{len(rows)} actions for {self.num_envs} environments; give one row for each")
        return rows

    def _seeds(self, seed: int | Sequence[int | None] | None) -> list[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int | np.integer):
            return [int(seed) + index for index in range(self.num_envs)]
        if len(seed) != self.num_envs:
            raise InvalidOption(f"{len(seed)} seeds for {self.num_envs} environments; give one for each, or one number")
        return list(seed)

    def _mask(self, mask: object) -> NDArray[np.bool_]:
        shaped = isinstance(mask, np.ndarray) and mask.shape == (self.num_envs,) and mask.dtype == np.bool_
        if not shaped or not cast(NDArray[np.bool_], mask).any():
            raise InvalidOption(
                f"reset option reset_mask is {mask!r}; give an array of bool, shape ({self.num_envs},), with a True"
            )
        return cast(NDArray[np.bool_], mask)

    def _check_open(self, call: str) -> None:
        if self.closed:
            raise gymnasium.error.ClosedEnvironmentError(f"the vector environment is closed; make a new one to {call}")


def _mode(mode: str | AutoresetMode) -> AutoresetMode:
    try:
        return AutoresetMode(mode)
    except ValueError:
        known = ", ".join(one.value for one in AutoresetMode)
        raise InvalidOption(f"autoreset_mode is {mode!r}; choose one of {known}") from None

"""Models of stable-baselines3: evaluated as a policy, and trained on the registered environments.

``gym-grounding evaluate --policy gym_grounding_policies.sb3:SB3Policy --policy-option path=model.zip
--policy-option trust=true --observation state ...``
"""

from __future__ import annotations

import copy
import functools
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
import stable_baselines3
import torch
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from numpy.typing import NDArray
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.policies import ActorCriticPolicy
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvObs, VecEnvStepReturn

from gym_grounding.errors import InvalidOption, PolicyError, UnknownName
from gym_grounding.policy import Observations
from gym_grounding.threads import Crew

State = tuple[tuple[int, ...], int]
"""Seeds of the episodes, and the number of steps taken."""


class SB3Policy:
    """A stable-baselines3 model as a policy. It hears the instruction only as the observation's ``instruction`` bytes.

    The model gets exactly the keys of its own observation space. ``log_prob`` exists for actor-critic models (PPO, A2C)
    only: the log density of the Gaussian before its actions are clipped.

    Args:
        model: a model with a ``Dict`` observation space and a ``Box`` action space.
        path: instead of a model, a file that ``model.save`` wrote. ``{stage}`` and ``{seed}`` in it are replaced, so
            that every stage of a continual learner has its own file.
        algorithm: for ``path``, a class of stable-baselines3, such as ``PPO``, or ``package.module:CLASS``.
        deterministic: act by the mean. Else each action is drawn, row by row, from the seed of its episode and the
            step, so that an episode is the same in any batch; torch's global generator is left as it was.
        trust: the file may be loaded although loading can run any code that is in it.
        device: where a loaded model computes.
        stage, seed: position in the training order and training seed, for ``path``.

    Raises:
        PolicyError: no model or both kinds, a file that is missing, untrusted or unreadable, or spaces that do not fit.
        UnknownName: stable-baselines3 has no such algorithm.
    """

    needs_task_identity = False

    def __init__(
        self,
        model: BaseAlgorithm | None = None,
        path: str | None = None,
        algorithm: str = "PPO",
        deterministic: bool = True,
        trust: bool = False,
        device: str = "cpu",
        stage: int | None = None,
        seed: int | None = None,
    ) -> None:
        if (model is None) == (path is None):
            raise PolicyError("SB3Policy takes either a model or the path of one")
        if path is not None:
            file = path.replace("{stage}", str(stage)).replace("{seed}", str(seed))
            model = _loaded(Path(file), algorithm, trust, device)
        assert model is not None
        self._model, self._deterministic = model, deterministic
        self._spaces = _observed(model)
        if not deterministic and getattr(model, "use_sde", False):
            raise PolicyError(
                "a model with use_sde keeps its noise in itself, not in an episode: use deterministic=True"
            )
        if _has_density(model):
            self.log_prob = self._log_prob

    @property
    def observation(self) -> str:
        """The kind that holds all keys of the model: ``both`` if it sees pictures, else ``state``."""
        return "both" if any(len(space.shape) == 3 for space in self._spaces.values()) else "state"

    def start(self, instructions: Sequence[str], seed: Sequence[int]) -> State:
        """The seeds and the number of steps taken."""
        return tuple(seed), 0

    def act(self, observations: Observations, state: State) -> tuple[NDArray[np.floating[Any]], State]:
        """Actions of shape (B, n), clipped to the model's action space.

        Raises:
            PolicyError: a key of the model is not observed or has another shape, or the model has a memory.
        """
        seeds, step = state
        if self._deterministic:
            return self.mean_action(observations, state), (seeds, step + 1)
        shown = self._shown(observations)
        rows = [
            self._drawn({key: value[row : row + 1] for key, value in shown.items()}, (seed, step))
            for row, seed in enumerate(seeds)
        ]
        return np.concatenate(rows), (seeds, step + 1)

    def mean_action(self, observations: Observations, state: State) -> NDArray[np.floating[Any]]:
        """The deterministic actions, shape (B, n)."""
        return self._predicted(self._shown(observations), deterministic=True)

    def _log_prob(self, observations: Observations, state: State, actions: NDArray[Any]) -> NDArray[np.float64]:
        policy = self._model.policy
        assert isinstance(policy, ActorCriticPolicy)
        policy.set_training_mode(False)
        with torch.no_grad():
            shown, _ = policy.obs_to_tensor(self._shown(observations))
            given = torch.as_tensor(np.asarray(actions), dtype=torch.float32, device=policy.device)
            density = policy.get_distribution(shown).log_prob(given)
        return density.double().cpu().numpy()

    def _drawn(self, shown: dict[str, NDArray[Any]], entropy: tuple[int, int]) -> NDArray[np.floating[Any]]:
        device = self._model.device
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            torch.manual_seed(int(np.random.SeedSequence(entropy).generate_state(1)[0]))
            return self._predicted(shown, deterministic=False)

    def _predicted(self, shown: dict[str, NDArray[Any]], deterministic: bool) -> NDArray[np.floating[Any]]:
        actions, memory = self._model.predict(shown, deterministic=deterministic)
        if memory is not None:
            raise PolicyError(f"{type(self._model).__name__} has a memory; recurrent models are not supported")
        return actions

    def _shown(self, observations: Observations) -> dict[str, NDArray[Any]]:
        missing = sorted(self._spaces.keys() - observations.keys())
        if missing:
            raise PolicyError(
                f"the model observes {', '.join(missing)}, which are not among {', '.join(sorted(observations))}; "
                f"choose the observation kind {self.observation!r}, and the suite that it was trained on"
            )
        for key, space in self._spaces.items():
            shape = observations[key].shape[1:]
            # The model of an environment with pictures has them with the channels first.
            if space.shape not in (shape, (*shape[2:], *shape[:2]) if len(shape) == 3 else shape):
                raise PolicyError(
                    f"the model observes {key} in shape {space.shape}, the environment gives {shape}; "
                    "choose the image_size and the suite that it was trained on"
                )
        return {key: observations[key] for key in self._spaces}


def _observed(model: BaseAlgorithm) -> dict[str, spaces.Box]:
    observed, acted = model.observation_space, model.action_space
    boxes = isinstance(observed, spaces.Dict) and all(isinstance(one, spaces.Box) for one in observed.values())
    if not boxes or not isinstance(acted, spaces.Box):
        raise PolicyError(
            f"the model maps {observed} to {acted}; it must map a Dict of boxes to a Box: train it on a registered "
            "environment with MultiInputPolicy"
        )
    return dict(observed.spaces)  # type: ignore[attr-defined]


def _has_density(model: BaseAlgorithm) -> bool:
    # Recurrent actor-critics are subclasses whose distribution needs a memory as well.
    policy = model.policy
    return isinstance(policy, ActorCriticPolicy) and type(policy).get_distribution is ActorCriticPolicy.get_distribution


def _loaded(path: Path, algorithm: str, trust: bool, device: str) -> BaseAlgorithm:
    if not path.is_file():
        raise PolicyError(f"{path}: no such file; give the whole name of what model.save wrote, with .zip")
    kind = _algorithm(algorithm)
    if trust is not True:
        raise PolicyError(
            f"{path}: a stable-baselines3 file holds pickled objects, and loading it runs any code that is in them. "
            "If you trust whoever made it, give trust=True (in the shell: --policy-option trust=true)"
        )
    try:
        return kind.load(path, device=device)
    except Exception as error:
        raise PolicyError(f"{path}: cannot be loaded as {algorithm}: {type(error).__name__}: {error}") from error


def _algorithm(name: str) -> type[BaseAlgorithm]:
    module, colon, attribute = name.partition(":")
    found: object = getattr(stable_baselines3, name, None)
    if colon:
        try:
            found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise PolicyError(f"algorithm {name!r} cannot be imported: {error}") from error
    if not (isinstance(found, type) and issubclass(found, BaseAlgorithm)):
        known = [one for one in stable_baselines3.__all__ if isinstance(getattr(stable_baselines3, one), type)]
        raise UnknownName("stable-baselines3 algorithm", name, known)
    return found


def make_sb3_env(id: str | EnvSpec, **kwargs: Any) -> Monitor[Any, Any]:
    """A registered environment in SB3's ``Monitor``; its ``info["is_success"]`` is what SB3 logs as success rate.

    Args:
        id: such as ``Grounding/LiberoGoal-T8-Original-v0``, with or without ``gym_grounding:``; or a spec.
        kwargs: see ``registration.make``.
    """
    return Monitor(gymnasium.make(_spec(id) if isinstance(id, str) else id, **kwargs))


class ThreadVecEnv(DummyVecEnv):
    """SB3's ``DummyVecEnv`` with its environments in threads, each on one for its whole life; results are the same.

    Args:
        env_fns: make the environments, on their threads.
        names: of the environments, for errors.
        threads: how many at most; None for as many as there are cores.

    Raises:
        InvalidOption: no whole number of threads.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], gymnasium.Env[Any, Any]]],
        names: Sequence[str],
        threads: int | None = None,
    ) -> None:
        self._crew = Crew(names, threads)
        try:
            made = self._crew.each(lambda index: env_fns[index]())
            super().__init__([functools.partial(made.__getitem__, index) for index in range(len(made))])
        except BaseException:
            self._crew.end()
            raise

    def reset(self) -> VecEnvObs:
        """Start an episode in every environment."""
        seeds, options = self._seeds, self._options

        def begin(index: int) -> None:
            given = {"options": options[index]} if options[index] else {}
            observation, self.reset_infos[index] = self.envs[index].reset(seed=seeds[index], **given)
            self._save_obs(index, observation)

        self._crew.each(begin)
        self._reset_seeds()
        self._reset_options()
        return self._obs_from_buf()

    def step_wait(self) -> VecEnvStepReturn:
        """Advance every environment; one that ends is reset, as SB3 does."""
        self._crew.each(self._advance)
        return self._obs_from_buf(), self.buf_rews.copy(), self.buf_dones.copy(), copy.deepcopy(self.buf_infos)

    def close(self) -> None:
        """Close the environments on their threads and end the threads."""
        try:
            self._crew.each(lambda index: self.envs[index].close())
        finally:
            self._crew.end()

    def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
        """A picture of each environment; see SB3."""
        return super().get_images() if self.render_mode != "rgb_array" else self.env_method("render")

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """An attribute of the chosen environments or their wrappers."""
        return self._crew.each(lambda index: self.envs[index].get_wrapper_attr(attr_name), self._get_indices(indices))

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of the chosen environments, as SB3 does: on their outermost wrapper."""
        self._crew.each(lambda index: setattr(self.envs[index], attr_name, value), self._get_indices(indices))

    def env_method(self, method_name: str, *args: Any, indices: VecEnvIndices = None, **kwargs: Any) -> list[Any]:
        """What a method of the chosen environments or their wrappers returns."""

        def value(index: int) -> Any:
            return self.envs[index].get_wrapper_attr(method_name)(*args, **kwargs)

        return self._crew.each(value, self._get_indices(indices))

    def _advance(self, index: int) -> None:
        env = self.envs[index]
        observation, reward, terminated, truncated, info = env.step(self.actions[index])
        info["TimeLimit.truncated"] = truncated and not terminated
        if terminated or truncated:
            info["terminal_observation"] = observation
            observation, self.reset_infos[index] = env.reset()
        self.buf_rews[index], self.buf_dones[index] = reward, terminated or truncated
        self.buf_infos[index] = info
        self._save_obs(index, observation)


def make_sb3_vec_env(
    ids: Sequence[str],
    kind: Literal["dummy", "threads", "subproc"] = "dummy",
    start_method: str | None = None,
    **kwargs: Any,
) -> VecEnv:
    """Registered environments side by side as SB3 has them; one per id, so each may have its own instruction.

    Args:
        ids: ids, the same one several times if wanted. Ids of a user's registry must be registered here only.
        kind: ``dummy`` (in turn), ``threads`` (one per core at most) or ``subproc`` (a process each).
        start_method: of the processes: ``fork``, ``spawn`` or ``forkserver``; None for SB3's choice. All but ``fork``
            import the main module again, so a script needs ``if __name__ == "__main__":``.
        kwargs: see ``registration.make``.

    Raises:
        InvalidOption: an unknown kind, no ids, a start method without processes, or ids whose spaces differ.
    """
    if kind not in ("dummy", "threads", "subproc"):
        raise InvalidOption(f"kind is {kind!r}; choose dummy, threads or subproc")
    if isinstance(ids, str) or not ids:
        raise InvalidOption(f"ids is {ids!r}; give a sequence of environment ids")
    if kind != "subproc" and start_method is not None:
        raise InvalidOption(f"start_method is {start_method!r}, but kind={kind!r} starts no process")
    # A spec, unlike an id, also means something in a process that has not registered it.
    specs = [_spec(one) for one in ids]
    makers: list[Callable[[], gymnasium.Env[Any, Any]]] = [
        functools.partial(make_sb3_env, spec, **kwargs) for spec in specs
    ]
    _check_alike(dict(zip(ids, makers, strict=True)))
    if kind == "threads":
        return ThreadVecEnv(makers, ids)
    return DummyVecEnv(makers) if kind == "dummy" else SubprocVecEnv(makers, start_method=start_method)


def _spec(id: str) -> EnvSpec:
    """The spec of an id, with or without the module that registers it, as in ``gym_grounding:Grounding/...``."""
    module, _, name = id.rpartition(":")
    importlib.import_module(module or "gym_grounding")
    return gymnasium.spec(name)


def _check_alike(makers: dict[str, Callable[[], gymnasium.Env[Any, Any]]]) -> None:
    seen: dict[str, tuple[Any, Any]] = {}
    for name, maker in makers.items():
        env = maker()
        seen[name] = (env.observation_space, env.action_space)
        env.close()
    first = next(iter(seen))
    for name, found in seen.items():
        if found != seen[first]:
            raise InvalidOption(f"{first} and {name} have different spaces; stable-baselines3 needs equal ones")

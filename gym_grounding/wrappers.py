"""What is laid around a scene: the goals that are watched, and the sentence that is shown."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from gym_grounding import conditions, manifest
from gym_grounding.adapters import Observation
from gym_grounding.env import SceneEnv
from gym_grounding.errors import InvalidOption, VariantMismatch
from gym_grounding.goals import GoalTracker
from gym_grounding.plan import HORIZON, STOPS, checked_horizon, checked_stop

INSTRUCTION_KEY = "instruction"
"""Key of the observation that carries the sentence."""
INSTRUCTION_BYTES = 256
"""Length of the instruction's byte array; longer sentences are refused."""
NAMESPACE = "Grounding"
"""Namespace of the registered ids."""

_Env = gymnasium.Env[dict[str, Any], NDArray[Any]]
_Wrapper = gymnasium.Wrapper[dict[str, Any], NDArray[Any], dict[str, Any], NDArray[Any]]


class GoalReport(_Wrapper, RecordConstructorArgs):
    """Watches the goals of one variant: reward, episode end and ``info``. Shows nothing to the policy.

    ## Description
    At every step the registered goals of the scene are evaluated: the task's original goal, the variant's own goal
    (contrasts, swaps, reverse), and the other tasks' goals. A goal that holds right after settling is void for the
    episode: it never counts.

    ## Action Space
    That of the wrapped environment.

    ## Observation Space
    That of the wrapped environment; no goal is in it.

    ## Starting State
    That of the wrapped environment.

    ## Reward
    1.0 on every step whose state satisfies the goal by which the variant is scored (LIBERO's own rule), else 0.0.
    Always 0.0 for variants that no goal scores (``conditions.scored_by``: collisions, null, negated, what is only
    described) and for a void goal.

    ## Episode End
    Terminates, by ``stop``:
    - ``default``: when the original goal is reached, for variants that it scores (original, paraphrase, shuffled,
      noise); all others run to the horizon, so that original, target and other goals can all be seen.
    - ``horizon``: never.
    - ``goal``: when the scoring goal is reached; for variants without one, when any registered goal is.

    Truncates after ``horizon`` policy steps, unless the episode terminates at that very step. Settling is not counted.
    Stepping on after the end raises ``ResetNeeded``.

    ## Information
    Added to that of the wrapped environment:
    - ``variant`` (str): id of the variant.
    - ``original_goal`` (bool): the original goal holds now.
    - ``original_goal_step`` (int): first step at which it held; -1 when it has not, or is void.
    - ``target_goal``, ``target_goal_step``: the same for the variant's own goal; only where it has one.
    - ``other_goals`` (str): ids of the other tasks whose goals hold now, separated by spaces.
    - ``is_success`` (bool): the scoring goal was reached so far (``judged: ever``) or holds now (``judged: end``); only
      where a goal scores the variant.

    ## Arguments
    - ``env``: a ``SceneEnv`` of the variant's task, wrapped or not.
    - ``variant``: variant id.
    - ``horizon``: greatest number of policy steps.
    - ``stop``: see *Episode End*.

    ## Version History
    - v0: first version.

    Attributes:
        variant: the variant.
        tracker: the goals and when they held.
        horizon, stop: as given.
        steps: policy steps of this episode so far.
        scored_by: label of the scoring goal, ``original`` or ``target``; None for unscored variants.

    Raises:
        UnknownName: no such variant.
        VariantMismatch: the variant belongs to another task than the scene.
        InvalidOption: an argument outside its domain.
    """

    def __init__(self, env: _Env, variant: str, horizon: int = HORIZON, stop: str = STOPS[0]) -> None:
        RecordConstructorArgs.__init__(self, variant=variant, horizon=horizon, stop=stop)
        gymnasium.Wrapper.__init__(self, env)
        if not isinstance(env.unwrapped, SceneEnv):
            raise InvalidOption(f"GoalReport watches a SceneEnv, not {type(env.unwrapped).__name__}")
        self._base = env.unwrapped
        registry = self._base.manifest
        self.variant = registry.variant(variant)
        if self.variant.task != self._base.task.id:
            raise VariantMismatch(
                f"{variant} belongs to {self.variant.task}; the scene is that of {self._base.task.id}"
            )
        self.horizon, self.stop = checked_horizon(horizon), checked_stop(stop)
        self.scored_by = conditions.scored_by(self.variant)
        self.tracker = GoalTracker(registry.goals(variant))
        self.steps = 0
        self._others = tuple(label for label in self.tracker.goals if label not in ("original", "target"))
        self._stopping = self._stopping_labels()
        self._over = True

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode.

        Raises:
            VariantMismatch: the environment was made under a registered id that names another variant or registry.
        """
        self._check_id()
        observation, info = self.env.reset(seed=seed, options=options)
        self.steps, self._over = 0, False
        self.tracker.start(self._base.running_scene("reset"))
        return observation, info | self._report()

    def step(self, action: NDArray[Any]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Advance one control step; see *Reward* and *Episode End*.

        Raises:
            ResetNeeded: the episode has ended or none has been started.
        """
        if self._over:
            raise gymnasium.error.ResetNeeded("the episode is over; call reset() before step()")
        observation, _, _, _, info = self.env.step(action)
        self.steps += 1
        self.tracker.update(self._base.running_scene("step"), self.steps)
        terminated = any(self.tracker.counts(label) for label in self._stopping)
        truncated = not terminated and self.steps >= self.horizon
        self._over = terminated or truncated
        reward = float(self.scored_by is not None and self.tracker.counts(self.scored_by))
        return observation, reward, terminated, truncated, info | self._report()

    def _stopping_labels(self) -> tuple[str, ...]:
        if self.stop == "horizon" or (self.stop == "default" and self.scored_by != "original"):
            return ()
        return tuple(self.tracker.goals) if self.scored_by is None else (self.scored_by,)

    def _report(self) -> dict[str, Any]:
        tracker = self.tracker
        info: dict[str, Any] = {
            "variant": self.variant.id,
            "original_goal": "original" in tracker.held,
            "original_goal_step": tracker.first_step("original"),
            "other_goals": " ".join(label for label in self._others if label in tracker.held),
        }
        if "target" in tracker.goals:
            info["target_goal"] = "target" in tracker.held
            info["target_goal_step"] = tracker.first_step("target")
        if self.scored_by is not None:
            info["is_success"] = tracker.reached(self.scored_by, self.variant.judged)
        return info

    def _check_id(self) -> None:
        spec = self._base.spec
        if spec is None or spec.namespace != NAMESPACE:
            return
        if spec.name != self.variant.id or spec.version != self._base.manifest.version:
            raise VariantMismatch(
                f"the id {spec.id} was made as variant {self.variant.id}-v{self._base.manifest.version}; "
                f"make {environment_id(self.variant.id, self._base.manifest.version)} instead"
            )
        registered = gymnasium.registry.get(spec.id)
        if registered is None:
            return
        asked, known = spec.kwargs.get("registry"), registered.kwargs.get("registry")
        if asked != known:
            raise VariantMismatch(
                f"the id {spec.id} belongs to the registry {known or 'that is shipped'}, but was made with {asked!r}; "
                "register your own file with gym_grounding.register(path) and leave out registry="
            )


class Instruction(_Wrapper, RecordConstructorArgs):
    """Shows a sentence: as bytes in the observation, as text in ``info``.

    ## Description
    The sentence stays the same for the wrapper's whole life.

    ## Action Space
    That of the wrapped environment.

    ## Observation Space
    That of the wrapped environment, and ``instruction``: ``Box(0, 255, (256,), uint8)``, the sentence as UTF-8, padded
    with zeros (``instruction_text`` reads it back). Not ``spaces.Text``: vector environments lose its strings.

    ## Starting State
    That of the wrapped environment.

    ## Reward
    That of the wrapped environment.

    ## Episode End
    That of the wrapped environment.

    ## Information
    Added to that of the wrapped environment:
    - ``instruction`` (str): the sentence.

    ## Arguments
    - ``env``: any environment with a flat ``Dict`` of observations.
    - ``text``: the sentence; at most 256 bytes of UTF-8, no NUL.

    ## Version History
    - v0: first version.

    Raises:
        InvalidOption: the sentence is no text, too long or contains NUL; or the observations are no ``Dict``.
    """

    def __init__(self, env: _Env, text: str) -> None:
        RecordConstructorArgs.__init__(self, text=text)
        gymnasium.Wrapper.__init__(self, env)
        inner: object = env.observation_space
        if not isinstance(inner, spaces.Dict):
            raise InvalidOption(f"Instruction needs Dict observations, not {type(inner).__name__}")
        self.text = text
        self._bytes = instruction_bytes(text)
        space = spaces.Box(0, 255, (INSTRUCTION_BYTES,), np.uint8)
        self.observation_space = spaces.Dict({**inner.spaces, INSTRUCTION_KEY: space})

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Start an episode.

        Raises:
            VariantMismatch: the environment was made under a registered id whose instruction is another one.
        """
        self._check_text()
        observation, info = self.env.reset(seed=seed, options=options)
        return self._shown(observation), {**info, INSTRUCTION_KEY: self.text}

    def step(self, action: NDArray[Any]) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Advance one control step."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return self._shown(observation), float(reward), terminated, truncated, {**info, INSTRUCTION_KEY: self.text}

    def _shown(self, observation: Observation) -> Observation:
        return {**observation, INSTRUCTION_KEY: self._bytes.copy()}

    def _check_text(self) -> None:
        spec = self.env.unwrapped.spec
        if spec is None or spec.namespace != NAMESPACE or not self.env.has_wrapper_attr("variant"):
            return
        registered = self.env.get_wrapper_attr("variant").instruction
        if registered != self.text:
            raise VariantMismatch(f"the id {spec.id} says {registered!r}, but the environment shows {self.text!r}")


def compose(
    variant: str,
    registry: str | None = None,
    horizon: int = HORIZON,
    stop: str = STOPS[0],
    **scene: Any,
) -> Instruction:
    """A variant's environment: its scene, started as the variant asks, its goals watched, its instruction shown.

    Args:
        variant: variant id.
        registry: path of the registry file; None for the shipped one.
        horizon, stop: of ``GoalReport``.
        scene: further arguments of ``SceneEnv``.
    """
    row = manifest.load(registry).variant(variant)
    watched = GoalReport(SceneEnv(row.task, registry, joints=row.joints, **scene), variant, horizon, stop)
    return Instruction(watched, row.instruction)


def environment_id(variant: str, version: int) -> str:
    """The Gymnasium id of a variant, such as ``Grounding/LiberoGoal-T8-Original-v0``."""
    return f"{NAMESPACE}/{variant}-v{version}"


def instruction_bytes(text: str) -> NDArray[np.uint8]:
    """The sentence as UTF-8, zero padded, shape (256,).

    Raises:
        InvalidOption: no text, too long, or contains NUL.
    """
    if not isinstance(text, str):
        raise InvalidOption(f"an instruction is text, not {type(text).__name__}")
    raw = text.encode()
    if len(raw) > INSTRUCTION_BYTES:
        raise InvalidOption(f"{len(raw)} bytes of UTF-8 where at most {INSTRUCTION_BYTES} fit: {text[:40]!r}...")
    if b"\0" in raw:
        raise InvalidOption(f"the instruction contains the NUL character, which marks its end: {text!r}")
    array = np.zeros(INSTRUCTION_BYTES, np.uint8)
    array[: len(raw)] = np.frombuffer(raw, np.uint8)
    return array


def instruction_text(array: NDArray[np.uint8]) -> str:
    """The sentence of an observation's ``instruction``, shape (256,)."""
    return np.asarray(array, np.uint8).tobytes().rstrip(b"\0").decode()

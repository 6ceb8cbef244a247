"""What a demonstration depends on, and where an attempt starts."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from gym_grounding.adapters import Observation, Scene
from gym_grounding.demos import NOISES, STARTS
from gym_grounding.errors import InvalidOption, UnknownName
from gym_grounding.experts import MILD, Noise
from gym_grounding.manifest import Manifest
from gym_grounding.types import Goal, SceneFacts, Task

Array = NDArray[np.float64]
Poses = Mapping[str, Array]
Told = Callable[[Observation, Array, Array, Observation, bool], object]
"""Is told of a control step: observation before, clean and executed action, observation after, does the goal hold."""

NOISE: Mapping[str, Noise | None] = dict(zip(NOISES, (None, MILD, Noise()), strict=True))
ORACLE = "gym_grounding.demos.oracle:ORACLE"


class RecordedScene(Scene, Protocol):
    """What an adapter's scene offers beyond ``Scene`` if it can be recorded; ``LiberoScene`` describes each."""

    def stored_start(self, task: Task, init_state: int) -> tuple[Array, Poses | None]: ...

    def drawn_start(self, task: Task, seed: int) -> tuple[Array, Poses]: ...

    def reset_from(
        self, task: Task, seed: int, state: Array, poses: Poses | None, settle_steps: int | None = None
    ) -> Observation: ...

    def model_text(self) -> str: ...

    def poses_in(self, text: str) -> Poses: ...

    def positions(self) -> int: ...

    def origin(self, task: Task) -> Mapping[str, Any]: ...

    def look(self, state: Array, camera: str, size: int) -> NDArray[np.uint8]: ...


@dataclass(frozen=True, slots=True)
class Played:
    """What became of an attempt.

    Attributes:
        rows: control steps that make the demonstration; the goal holds after the last one. 0 where it failed.
        problem: why it failed; empty otherwise.
        notes: text and numbers worth keeping.
    """

    rows: int
    problem: str = ""
    notes: Mapping[str, str | int] = dataclasses.field(default_factory=dict)


class Player(Protocol):
    """Whoever demonstrates.

    Attributes:
        name: such as ``oracle``.
        version: raised whenever the same episode can get other actions.
    """

    name: str
    version: str

    def __call__(
        self,
        scene: Scene,
        facts: SceneFacts,
        tasks: Mapping[str, Task],
        goal: Goal,
        observation: Observation,
        horizon: int,
        noise: Noise | None,
        rng: np.random.Generator,
        told: Told,
    ) -> Played:
        """Play one episode from the present state of ``scene``, of which ``observation`` was just taken."""
        ...


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that decides what an attempt becomes, besides its task and number.

    Attributes:
        seed: of everything random.
        starts: ``random`` (LIBERO's own samplers place everything anew for each attempt, as for LIBERO's own
            demonstrations) or ``stored`` (the stored initial states in turn, which evaluations start from).
        noise: one of ``NOISES``.
        pictures: whether both cameras are recorded.
        horizon: control steps of an attempt at most.
        player: import string of a ``Player``.
    """

    seed: int = 0
    starts: str = "random"
    noise: str = "none"
    pictures: bool = False
    horizon: int = 600
    player: str = ORACLE

    def __post_init__(self) -> None:
        for kind, name, known in (("starts", self.starts, STARTS), ("noise", self.noise, NOISES)):
            if name not in known:
                raise UnknownName(kind, name, known)
        if self.seed < 0:
            raise InvalidOption(f"seed is {self.seed}; give 0 or more")
        if self.horizon < 1:
            raise InvalidOption(f"horizon is {self.horizon}; give control steps from 1 on")


@dataclass(frozen=True, slots=True)
class Start:
    """Where an attempt starts.

    Attributes:
        seed: of LIBERO's reset.
        rng: of the attempt's noise.
        init_state: number of the stored initial state; None for one that is drawn.
    """

    seed: int
    rng: np.random.Generator
    init_state: int | None = None


def start_of(task: Task, settings: Settings, attempt: int) -> Start:
    """The start of an attempt; a pure function of its arguments, so that attempts can be made in any order.

    Args:
        attempt: counts from 0.
    """
    word = int.from_bytes(hashlib.sha256(task.id.encode()).digest()[:4], "big")
    own = np.random.SeedSequence([settings.seed, word, attempt])
    rng = np.random.default_rng(own.spawn(1)[0])
    if settings.starts == "stored":
        # The seed is that of the environment's own reset, see ``LiberoScene``.
        return Start(attempt % task.init_states, rng, attempt % task.init_states)
    return Start(int(own.generate_state(1)[0]), rng)


def player_of(settings: Settings) -> Player:
    """Whoever demonstrates.

    Raises:
        UnknownName: no such object.
    """
    module, _, path = settings.player.partition(":")
    try:
        player: Player = operator.attrgetter(path)(importlib.import_module(module))
    except (ImportError, AttributeError, ValueError) as error:
        raise UnknownName("player", settings.player, (ORACLE,), str(error)) from error
    return player


def described(settings: Settings, manifest: Manifest, task: Task, versions: Mapping[str, str]) -> dict[str, Any]:
    """Everything that decides a file's demonstrations, as plain data that can be compared and written down.

    Args:
        versions: of the adapter; what draws (``gl``) counts where there are pictures, and only there.
    """
    player, noise = player_of(settings), NOISE[settings.noise]
    counting = {name: version for name, version in versions.items() if settings.pictures or name != "gl"}
    return {
        "task": task.id,
        "goal": task.goal.id,
        "bddl": task.checksums.get("bddl", ""),
        "init": task.checksums.get("init", ""),
        "settle_steps": manifest.settle,
        "seed": settings.seed,
        "starts": settings.starts,
        "noise": settings.noise,
        "noise_sizes": None if noise is None else _plain(noise),
        "pictures": settings.pictures,
        "horizon": settings.horizon,
        "player": player.name,
        "player_version": player.version,
        "versions": counting,
    }


def _plain(noise: Noise) -> dict[str, Any]:
    """Lists instead of tuples, as JSON gives them back."""
    fields = dataclasses.asdict(noise)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}

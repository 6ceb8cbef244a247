"""Registered ids: every variant of a registry as ``Grounding/<variant>-v<N>``."""

from __future__ import annotations

from pathlib import Path

import gymnasium

from gym_grounding import manifest
from gym_grounding.env import SceneEnv
from gym_grounding.errors import RegistryError
from gym_grounding.plan import HORIZON, STOPS
from gym_grounding.types import SceneSettings
from gym_grounding.wrappers import Instruction, compose, environment_id

ENTRY_POINT = "gym_grounding.registration:make"
"""A string, so that specs survive JSON and other processes."""
VECTOR_ENTRY_POINT = "gym_grounding.vector:copies"
"""What ``gymnasium.make_vec`` calls unless it is told ``sync`` or ``async``."""

_DEFAULTS = SceneSettings()


def make(
    variant: str,
    registry: str | None = None,
    observation: str = _DEFAULTS.observation,
    image_size: int = _DEFAULTS.image_size,
    orientation: str = _DEFAULTS.orientation,
    settle_steps: int | None = None,
    horizon: int = HORIZON,
    stop: str = STOPS[0],
    render_mode: str | None = None,
    pictures: str = _DEFAULTS.pictures,
    lazy: bool = False,
    starts: str = _DEFAULTS.starts,
) -> Instruction:
    """A variant's environment: ``Instruction(GoalReport(SceneEnv))``. The simulator starts at the first ``reset``.

    Args:
        variant: variant id, such as ``LiberoGoal-T8-ContrastTarget1``.
        registry: path of the registry file; None for the shipped one.
        observation, image_size, orientation, settle_steps, pictures, starts: see ``types.SceneSettings``;
            settle_steps None is the registry's own number.
        horizon: greatest number of policy steps of an episode.
        stop: when an episode ends before that; see ``wrappers.GoalReport``.
        render_mode: ``rgb_array`` or None; see ``env.SceneEnv`` for what ``gymnasium.make`` takes.
        lazy: pictures are drawn when they are read; see ``env.SceneEnv``.

    Raises:
        UnknownName: no such variant; suggests the nearest.
        InvalidOption: an argument outside its domain.
        RegistryError: the registry is malformed.
    """
    return compose(
        variant,
        registry,
        horizon,
        stop,
        observation=observation,
        image_size=image_size,
        orientation=orientation,
        settle_steps=settle_steps,
        render_mode=render_mode,
        pictures=pictures,
        lazy=lazy,
        starts=starts,
    )


# gymnasium.make reads the render modes from whatever the entry point names, to offer "human" and "rgb_array_list" too.
make.metadata = SceneEnv.metadata  # type: ignore[attr-defined]


def register(path: str | Path | None = None) -> tuple[str, ...]:
    """Register every variant of a registry file with Gymnasium; doing it again changes nothing.

    The shipped file is only scanned for its ids, since every import of the package registers them; it is read and
    checked when the first environment is made. A file of your own is read and checked here.

    Args:
        path: the file; None for the shipped one.

    Returns:
        The ids, in file order.

    Raises:
        RegistryError: the file is malformed, or one of its ids belongs to another file; then nothing is registered.
    """
    version, variants = manifest.listing(path)
    where = {} if path is None else {"registry": str(Path(path).resolve())}
    wanted = {environment_id(name, version): {"variant": name, **where} for name in variants}
    for name, kwargs in wanted.items():
        known = gymnasium.registry.get(name)
        if known is not None and (known.entry_point, known.kwargs) != (ENTRY_POINT, kwargs):
            owner = known.kwargs.get("registry", "the shipped registry")
            file = path or manifest.default_path()
            raise RegistryError(f"{file}: the id {name} is already registered by {owner}; rename the suite")
    for name, kwargs in wanted.items():
        if name not in gymnasium.registry:
            gymnasium.register(name, ENTRY_POINT, vector_entry_point=VECTOR_ENTRY_POINT, kwargs=kwargs)
    return tuple(wanted)

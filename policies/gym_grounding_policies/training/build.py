"""Learners from plain data: new ones, and those of a checkpoint."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from gym_grounding.errors import CorruptRun, GroundingError, InvalidOption
from gym_grounding_policies import learners
from gym_grounding_policies.learners._base import Learner
from gym_grounding_policies.nets.actor import Actor
from gym_grounding_policies.nets.profiles import Profile
from gym_grounding_policies.training.checkpoint import FILE, Checkpoint, remedy
from gym_grounding_policies.training.values import checked, hints_of

WRONG = (LookupError, TypeError, ValueError, AttributeError, RuntimeError, OverflowError)
"""What making something again raises where it was described wrongly."""


@contextlib.contextmanager
def rebuilding(place: Path) -> Iterator[None]:
    """Where something is made again of what a checkpoint says.

    Args:
        place: of the checkpoint, for messages.

    Raises:
        CorruptRun: it says something that cannot be; names the file and the remedy.
    """
    try:
        yield
    except torch.cuda.OutOfMemoryError:  # also a RuntimeError, and no fault of the checkpoint
        raise
    except WRONG as error:
        if isinstance(error, GroundingError) and not isinstance(error, InvalidOption | CorruptRun):
            raise
        reason = str(error) if isinstance(error, GroundingError) else repr(error)
        raise CorruptRun(
            f"{place / FILE}: says something that cannot be ({' '.join(reason.split())[:300]}); {remedy(place)}"
        ) from error


def settings_of(method: str, given: Mapping[str, Any]) -> Any:
    """A method's settings, its published ones but for those given.

    Raises:
        UnknownName: no such method, or no such setting.
        InvalidOption: a value that is not finite, of another type than the setting's, or that the method refuses.
    """
    kind = learners.get(method).Settings
    types = hints_of(kind)
    hints = {field.name: types.get(field.name, Any) for field in dataclasses.fields(kind) if field.init}
    values = checked(given, hints, f"method {method}")
    try:
        return kind(**values)
    except (TypeError, ValueError) as error:
        raise InvalidOption(f"method {method}: {error}") from error


def new_learner(method: str, settings: Mapping[str, Any], actor: Actor, generator: torch.Generator) -> Learner:
    """A learner that has begun no task.

    Raises:
        UnknownName, InvalidOption: as ``settings_of``.
    """
    return learners.get(method)(actor, settings_of(method, settings), generator)


def load_learner(checkpoint: Checkpoint, place: Path, generator: torch.Generator) -> Learner:
    """The learner of a checkpoint.

    Args:
        place: of the checkpoint, for messages.

    Raises:
        UnknownName: its method is not there.
        CorruptRun: it does not say what was trained, or its tensors are not those of its method and profile.
    """
    about = checkpoint.about
    with rebuilding(place):
        actor = Actor(Profile.from_dict(about["profile"]))
        learner = new_learner(about["method"], about["settings"], actor, generator)
        learner.rebuild(checkpoint.structure)
    load_tensors(learner, checkpoint, place)
    return learner


def load_tensors(learner: Learner, checkpoint: Checkpoint, place: Path) -> None:
    """Fill a learner of the same form with the tensors of a checkpoint.

    Raises:
        CorruptRun: they do not fit.
    """
    try:
        learner.load_state_dict(dict(checkpoint.learner))
    except RuntimeError as error:
        reason = " ".join(str(error).split())[:300]
        raise CorruptRun(
            f"{place}: its tensors do not fit method {learner.name!r}: {reason}; {remedy(place)}"
        ) from error


def load_actor(checkpoint: Checkpoint, place: Path) -> Actor:
    """The actor of a checkpoint of pretraining, for any method to start from.

    Raises:
        CorruptRun: a checkpoint of a method whose actor does not act by itself, or a damaged one.
    """
    about = checkpoint.about
    if about.get("kind") != "pretraining":
        raise CorruptRun(f"{place}: is a checkpoint of {about.get('method')!r}, not of `pretrain`; methods start there")
    with rebuilding(place):
        actor = Actor(Profile.from_dict(about["profile"]))
    tensors = {
        name.removeprefix("actor."): value for name, value in checkpoint.learner.items() if name.startswith("actor.")
    }
    try:
        actor.load_state_dict(tensors)
    except RuntimeError as error:
        raise CorruptRun(
            f"{place}: its tensors do not fit its profile: {' '.join(str(error).split())[:300]}; {remedy(place)}"
        ) from error
    return actor

"""Instruction conditions: one module each, found by name."""

from __future__ import annotations

import functools
import importlib
import pkgutil

from gym_grounding.conditions._base import Condition, Violation
from gym_grounding.errors import UnknownName
from gym_grounding.types import Goal, Task, Variant

__all__ = ["Condition", "Violation", "asked", "controls", "get", "names", "scored_by", "standard"]


@functools.cache
def names() -> tuple[str, ...]:
    """Names of the conditions, without importing any of them."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")))


def get(name: str) -> Condition:
    """The condition called ``name``.

    Raises:
        UnknownName: no such condition.
    """
    if name not in names():
        raise UnknownName("condition", name, names())
    condition: Condition = importlib.import_module(f"{__name__}.{name}").CONDITION
    return condition


def standard() -> tuple[str, ...]:
    """Names of the conditions that hold the cells of a registry, and that a plan evaluates unless told otherwise."""
    return tuple(name for name in names() if not get(name).control)


def controls() -> tuple[str, ...]:
    """Names of the control conditions, which hold no cell and are evaluated only when they are named."""
    return tuple(name for name in names() if get(name).control)


def scored_by(variant: Variant) -> str | None:
    """What scores a variant: ``original`` (its task's goal), ``target`` (its own goal) or None (nothing).

    Raises:
        UnknownName: its condition does not exist.
    """
    return None if variant.described else get(variant.condition).scored_by


def asked(variant: Variant, task: Task) -> Goal | None:
    """The goal that a variant's instruction asks for; None where there is none, or where it is described only.

    Args:
        variant: the variant.
        task: its task.

    Raises:
        UnknownName: its condition does not exist.
    """
    return {"original": task.goal, "target": variant.goal, None: None}[scored_by(variant)]

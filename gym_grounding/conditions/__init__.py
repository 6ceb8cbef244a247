"""Instruction conditions: one module each, found by name."""

from __future__ import annotations

import importlib
import pkgutil

from gym_grounding.conditions._base import Condition, Violation
from gym_grounding.errors import UnknownName

__all__ = ["Condition", "Violation", "get", "names"]


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

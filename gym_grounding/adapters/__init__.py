"""Dataset adapters: one module or package each, found by name; none is imported before it is asked for."""

from __future__ import annotations

import importlib
import pkgutil

from gym_grounding.adapters._base import Adapter, Observation, Scene
from gym_grounding.errors import UnknownName

__all__ = ["Adapter", "Observation", "Scene", "get", "names"]


def names() -> tuple[str, ...]:
    """Names of the adapters, without importing any of them."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")))


def get(name: str) -> Adapter:
    """The adapter called ``name``, or the object at an import string ``package.module:OBJECT``.

    Raises:
        UnknownName: no such adapter.
    """
    if ":" in name:
        module, _, attribute = name.partition(":")
        adapter: Adapter = getattr(importlib.import_module(module), attribute)
        return adapter
    if name not in names():
        raise UnknownName("adapter", name, names())
    adapter = importlib.import_module(f"{__name__}.{name}").ADAPTER
    return adapter

"""Dataset adapters: one module or package each, found by name; none is imported before it is asked for."""

from __future__ import annotations

import importlib
import operator
import pkgutil

from gym_grounding.adapters._anatomy import Anatomy, Body, Frame, Joint, Piece, Spot
from gym_grounding.adapters._base import Adapter, Expert, Observation, Scene
from gym_grounding.errors import UnknownName

__all__ = [
    "Adapter",
    "Anatomy",
    "Body",
    "Expert",
    "Frame",
    "Joint",
    "Observation",
    "Piece",
    "Scene",
    "Spot",
    "get",
    "names",
]


def names() -> tuple[str, ...]:
    """Names of the adapters, without importing any of them."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")))


def get(name: str) -> Adapter:
    """The adapter called ``name``, or the object at an import string ``package.module:OBJECT``.

    Raises:
        UnknownName: no such adapter.
    """
    if ":" in name:
        return _imported(name)
    if name not in names():
        raise UnknownName("adapter", name, names())
    adapter: Adapter = importlib.import_module(f"{__name__}.{name}").ADAPTER
    return adapter


def _imported(name: str) -> Adapter:
    module, _, path = name.partition(":")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, something that it needs is not
        raise UnknownName("adapter", name, names(), f"no module {error.name!r} on the import path") from error
    try:
        adapter: Adapter = operator.attrgetter(path)(found)
    except AttributeError as error:
        raise UnknownName("adapter", name, names(), str(error)) from error
    return adapter

"""Continual imitation learners, one to a file; each file's ``LEARNER`` is its class.

A learner of another package is named ``package.module:LEARNER`` and works the same way.
"""

from __future__ import annotations

import dataclasses
import importlib
import operator
import os
import pkgutil
import sys
import traceback
from types import ModuleType
from typing import TYPE_CHECKING

from gym_grounding.errors import PolicyError, UnknownName

if TYPE_CHECKING:
    from gym_grounding_policies.learners._base import Learner


def names() -> tuple[str, ...]:
    """Names of the learners that come with this package, without importing any of them."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")))


def get(name: str) -> type[Learner]:
    """The learner called ``name``, or the class at ``package.module:LEARNER``; the current directory is searched too.

    Raises:
        UnknownName: no such learner, or something else has that name.
        PolicyError: another package's cannot be imported, or lacks something that a learner has.
    """
    from gym_grounding_policies.learners._base import Learner

    if ":" not in name and name not in names():
        raise UnknownName("method", name, names(), "another package's is MODULE:LEARNER")
    module, _, path = name.partition(":")
    place = module if path else f"{__name__}.{module}"
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    source = _imported(place, name) if path else importlib.import_module(place)
    try:
        found = operator.attrgetter(path or "LEARNER")(source)
    except AttributeError as error:
        raise UnknownName("method", name, names(), str(error)) from error
    if not (isinstance(found, type) and issubclass(found, Learner)):
        raise UnknownName("method", name, names(), f"{path or 'LEARNER'} of {place} is no class of learners")
    if lacking := _lacking(found):
        file = getattr(source, "__file__", place)
        raise PolicyError(f"method {name!r}: {file}: class {found.__name__} lacks {' and '.join(lacking)}")
    return found


def _imported(module: str, name: str) -> ModuleType:
    """A module of another package."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            raise UnknownName("method", name, names(), f"no module {error.name!r} on the import path") from error
        raise PolicyError(f"method {name!r}: {_place(error)}: it needs a missing module: {error}") from error
    except (Exception, SystemExit) as error:
        raise PolicyError(f"method {name!r}: {_place(error)}: {type(error).__name__}: {error}") from error


def _place(error: BaseException) -> str:
    """File and line where an import failed."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}, line {error.lineno}"
    frames = [one for one in traceback.extract_tb(error.__traceback__) if not one.filename.startswith("<")]
    return f"{frames[-1].filename}, line {frames[-1].lineno}"


def _lacking(found: type[Learner]) -> list[str]:
    """What a learner has and this one has not."""
    named = isinstance(getattr(found, "name", None), str)
    settings = getattr(found, "Settings", None)
    missing = [] if named else ["name (a text)"]
    if not (isinstance(settings, type) and dataclasses.is_dataclass(settings)):
        missing.append("Settings (a dataclass)")
    return missing + [f"{method}()" for method in sorted(found.__abstractmethods__)]

"""Continual imitation learners, one to a file; each file's ``LEARNER`` is its class.

A learner of another package is named ``package.module:LEARNER`` and works the same way.
"""

from __future__ import annotations

import importlib
import operator
import os
import pkgutil
import sys
from typing import TYPE_CHECKING

from gym_grounding.errors import UnknownName

if TYPE_CHECKING:
    from gym_grounding_policies.learners._base import Learner


def names() -> tuple[str, ...]:
    """Names of the learners that come with this package, without importing any of them."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")))


def get(name: str) -> type[Learner]:
    """The learner called ``name``, or the class at ``package.module:LEARNER``; the current directory is searched too.

    Raises:
        UnknownName: no such learner, or something else has that name.
    """
    from gym_grounding_policies.learners._base import Learner

    if ":" not in name and name not in names():
        raise UnknownName("method", name, names(), "another package's is MODULE:LEARNER")
    module, _, path = name.partition(":")
    place = module if path else f"{__name__}.{module}"
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        found = operator.attrgetter(path or "LEARNER")(importlib.import_module(place))
    except ModuleNotFoundError as error:
        if error.name is None or not f"{place}.".startswith(f"{error.name}."):
            raise  # the module is there, something that it needs is not
        raise UnknownName("method", name, names(), f"no module {error.name!r} on the import path") from error
    except AttributeError as error:
        raise UnknownName("method", name, names(), str(error)) from error
    if not (isinstance(found, type) and issubclass(found, Learner)):
        raise UnknownName("method", name, names(), f"{path or 'LEARNER'} of {place} is no class of learners")
    return found

"""Sources of instructions, found by name; the validator trusts none of them.

``rules`` needs nothing and is what the shipped registry is made with. ``openai_compatible`` asks a language model over
HTTP, ``gym_grounding_policies.local_proposer:PROPOSER`` one in a folder; what these said can be recorded and replayed.
"""

from __future__ import annotations

import importlib
import inspect
import operator
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gym_grounding.errors import InvalidOption, UnknownName
from gym_grounding.variants.proposers._base import ASKED, ProposalRequest, Proposer, ProposerError

if TYPE_CHECKING:
    from gym_grounding.variants.definitions import Definitions
    from gym_grounding.variants.evidence import Evidence

__all__ = ["ASKED", "ProposalRequest", "Proposer", "ProposerError", "get", "names"]

_PARTS = ("collisions", "contrasts", "paraphrases", "recorded")
"""Modules that are no proposers of their own: the parts of ``rules``, and what records others."""


def names() -> tuple[str, ...]:
    """Names of the proposers, without importing any of them."""
    modules = (module.name for module in pkgutil.iter_modules(__path__))
    return tuple(sorted(name for name in modules if not name.startswith("_") and name not in _PARTS))


def get(
    name: str,
    /,
    definitions: Definitions | None = None,
    evidence: Evidence | None = None,
    *,
    record: Path | str | None = None,
    replay: Path | str | None = None,
    **options: Any,
) -> Proposer:
    """The proposer called ``name``.

    Args:
        name: one of ``names()``, or ``package.module:OBJECT``: a proposer, or a class or function that makes one.
        definitions, evidence: handed to a proposer that takes them.
        record: folder of recordings; what it lacks is asked and added.
        replay: folder of recordings; nothing is ever asked.
        options: arguments of the proposer, such as ``model``.

    Raises:
        UnknownName: no such proposer.
        InvalidOption: an option that it does not take, one that is missing, or one outside its domain; an object that
            is no proposer; or one that asks no model though it is to be recorded.
    """
    if record is not None and replay is not None:
        raise InvalidOption("record and replay exclude each other: record asks the model, replay never does")
    found = _found(name)
    if isinstance(found, type) or not isinstance(found, Proposer):
        found = _made(name, found, {"definitions": definitions, "evidence": evidence}, options)
    elif options:
        raise InvalidOption(f"proposer {name}: it is made already, so it takes no options; got {_listed(options)}")
    if isinstance(found, type) or not isinstance(found, Proposer):
        kind = type(found).__name__
        raise InvalidOption(f"proposer {name}: {kind} is no proposer; one has a name and propose(request)")
    if record is None and replay is None:
        return found
    from gym_grounding.variants.proposers.recorded import recorded

    return recorded(found, replay, "replay") if replay is not None else recorded(found, str(record), "record")


def _found(name: str) -> object:
    if ":" not in name:
        if name not in names():
            raise UnknownName("proposer", name, names())
        return importlib.import_module(f"{__name__}.{name}").PROPOSER
    module, _, path = name.partition(":")
    try:
        return operator.attrgetter(path)(importlib.import_module(module))
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, something that it needs is not
        raise UnknownName("proposer", name, names(), f"no module {error.name!r} on the import path") from error
    except (AttributeError, ValueError) as error:
        raise UnknownName("proposer", name, names(), str(error)) from error


def _made(name: str, maker: object, known: Mapping[str, Any], options: Mapping[str, Any]) -> object:
    if not callable(maker):
        return maker
    signature = inspect.signature(maker)
    told = {key: value for key, value in known.items() if value is not None and key in signature.parameters}
    given = {**told, **options}
    _check(name, signature, given)
    make: Callable[..., object] = maker
    return make(**given)


def _check(name: str, signature: inspect.Signature, given: Mapping[str, Any]) -> None:
    try:
        signature.bind(**given)
    except TypeError as error:
        raise InvalidOption(f"proposer {name}: {error}; its options: {_listed(signature.parameters)}") from error


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "(none)"

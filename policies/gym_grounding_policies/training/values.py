"""Values that a user gives for settings, against the annotations of what takes them."""

from __future__ import annotations

import json
import math
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from gym_grounding.errors import InvalidOption, UnknownName


def checked(given: Mapping[str, Any], hints: Mapping[str, Any], where: str, kind: str = "setting") -> dict[str, Any]:
    """The values, lists as tuples.

    Args:
        given: name -> value, as JSON has it.
        hints: all names that there are -> annotation; one that JSON has no word for takes whatever is finite.
        where: what takes the values, for messages.
        kind: what the names denote, for messages.

    Raises:
        UnknownName: no such name.
        InvalidOption: a value of another type, or a number that is not finite.
    """
    for name, value in given.items():
        if name not in hints:
            raise UnknownName(kind, name, hints, where)
        kinds = _kinds(hints[name])
        if not _finite(value) or not any(_FITS[one](value) if one in _FITS else True for one in kinds):
            wanted = " or ".join(_WORDS.get(one, "finite numbers") for one in kinds)
            raise InvalidOption(f"{where}: {kind} {name} is {json.dumps(value, default=str)}; give {wanted}")
    return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def hints_of(thing: Any) -> dict[str, Any]:
    """Name -> annotation, of a class or function; empty where one of them cannot be read."""
    try:
        return typing.get_type_hints(thing)
    except (NameError, TypeError, AttributeError, SyntaxError):
        return {}


def _kinds(hint: Any) -> tuple[Any, ...]:
    """The types of a union, each without what it holds."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return tuple(kind for one in typing.get_args(hint) for kind in _kinds(one))
    return (typing.get_origin(hint) or hint,)


def _finite(value: Any) -> bool:
    """Whether all numbers in a value are; JSON has no word for others."""
    if isinstance(value, list | tuple):
        return all(map(_finite, value))
    if isinstance(value, Mapping):
        return all(map(_finite, value.values()))
    try:
        return not isinstance(value, int | float) or math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


_FITS: dict[Any, Callable[[Any], bool]] = {
    bool: lambda value: isinstance(value, bool),
    int: lambda value: isinstance(value, int) and not isinstance(value, bool),
    float: lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    str: lambda value: isinstance(value, str),
    tuple: lambda value: isinstance(value, list | tuple),
    list: lambda value: isinstance(value, list | tuple),
    type(None): lambda value: value is None,
}
_WORDS = {
    bool: "true or false",
    int: "a whole number",
    float: "a finite number",
    str: "a text",
    tuple: "a list",
    list: "a list",
    type(None): "null",
}

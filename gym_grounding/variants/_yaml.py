"""Plain data as a registry file: one fixed form, so that equal content gives equal bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

Data: TypeAlias = "Mapping[str, Data] | Sequence[Data] | str | int | float | bool | None"

WIDTH = 120
"""Longest line that a mapping or list inside a row may make before it is broken up."""
DECIMALS = 4
"""Digits after the point of a number; positions are then exact to a tenth of a millimetre."""
_PLAIN = re.compile(r"[A-Za-z_/][A-Za-z0-9_./+() -]*(?<! )")
# Words that some YAML reader takes for a truth value or for nothing.
_WORDS = frozenset(["on", "off", "yes", "no", "y", "n", "true", "false", "null", "nan", "inf"])


def dump(data: Mapping[str, Data], header: str = "") -> bytes:
    """The bytes of a registry file.

    Sections that hold rows are written one field a line; what lies inside a row takes one line where it fits.

    Args:
        data: section name -> its content, in the order in which they are written.
        header: comment at the top, one line each, without the number sign.
    """
    lines = [f"# {line}".rstrip() for line in header.splitlines()]
    for name, content in data.items():
        lines += _section(name, content)
    return ("\n".join(lines) + "\n").encode()


def scalar(value: str | int | float | bool | None) -> str:
    """One value as YAML text; text is quoted where any reader could take it for something else."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        text = f"{round(value, DECIMALS) + 0.0:.{DECIMALS}f}".rstrip("0")  # adding zero turns -0.0 into 0.0
        return text + "0" if text.endswith(".") else text
    if _PLAIN.fullmatch(value) and value.casefold() not in _WORDS and not _numeric(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    escaped = "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped)
    return f'"{escaped}"'


def _numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _section(name: str, content: Data) -> Iterator[str]:
    if isinstance(content, Mapping) and content and all(isinstance(value, Mapping) for value in content.values()):
        yield f"{_key(name)}:"
        for key, row in content.items():
            yield f"  {_key(key)}:"
            assert isinstance(row, Mapping)  # checked above
            for field, value in row.items():
                yield from _field(field, value, "    ")
    elif isinstance(content, Sequence) and not isinstance(content, str) and _all_rows(content):
        yield f"{_key(name)}:" if content else f"{_key(name)}: []"
        for item in content:
            assert isinstance(item, Mapping)
            lines = [line for field, value in item.items() for line in _field(field, value, "    ")]
            yield f"  - {lines[0].lstrip()}"
            yield from lines[1:]
    else:
        yield from _field(name, content, "")


def _all_rows(content: Sequence[Data]) -> bool:
    return all(isinstance(item, Mapping) for item in content)


def _field(name: str, value: Data, indent: str) -> Iterator[str]:
    line = f"{indent}{_key(name)}: {_flow(value)}"
    if len(line) <= WIDTH or not _is_nested(value):
        yield line
        return
    yield f"{indent}{_key(name)}:"
    inner = indent + "  "
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _field(key, item, inner)
    elif isinstance(value, Sequence):
        for item in value:
            yield f"{inner}- {_flow(item)}"


def _is_nested(value: Data) -> bool:
    return isinstance(value, Mapping | Sequence) and not isinstance(value, str) and bool(value)


def _flow(value: Data) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return scalar(value)


def _key(name: str) -> str:
    plain = re.fullmatch(r"[A-Za-z0-9_.-]+", name) and name.casefold() not in _WORDS and not _numeric(name)
    if plain:
        return name
    quoted = scalar(name)
    return quoted if quoted.startswith('"') else f'"{quoted}"'

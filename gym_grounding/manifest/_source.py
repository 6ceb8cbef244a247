"""A registry file as plain data: text, numbers, lists and mappings, each mapping with its line."""

from __future__ import annotations

import re
from typing import Any

import yaml

from gym_grounding.errors import RegistryError
from gym_grounding.manifest._report import shown

_TAG = "tag:yaml.org,2002:"
# Fewer plain scalars than YAML 1.1 knows: there `on`, `off`, `yes` and `no` are truth values, and `on` is a predicate.
_SCALARS = (
    ("null", re.compile(r"^(?:~|null|)$"), ["~", "n", ""]),
    ("bool", re.compile(r"^(?:true|false)$"), ["t", "f"]),
    ("int", re.compile(r"^-?(?:0|[1-9][0-9]{0,17})$"), list("-0123456789")),
    (
        "float",
        re.compile(r"^(?:[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan)$"),
        list("-+.0123456789"),
    ),
)


class Table(dict[str, Any]):
    """A mapping of the file.

    Attributes:
        line: line of the file on which it starts, from 1.
    """

    line: int = 0


def strict_loader(base: type[Any]) -> Any:
    """A PyYAML loader that knows few plain scalars; only its nodes are used, none of YAML's own constructors."""
    loader: Any = type("StrictLoader", (base,), {"yaml_implicit_resolvers": {}})
    for name, pattern, first in _SCALARS:
        loader.add_implicit_resolver(_TAG + name, pattern, first)
    return loader


_Loader = strict_loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # libyaml may be absent


def parse(raw: bytes, file: str) -> Table:
    """The bytes of a registry file as plain data.

    Args:
        raw: contents of the file.
        file: name of the file in messages.

    Raises:
        RegistryError: not UTF-8, empty, or not the YAML that registries use; names the line.
    """
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise RegistryError(f"{file}: line {line}: not UTF-8 at byte {error.start}; save the file as UTF-8") from error
    try:
        data = _compose(text, file)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}: " if mark else ""
        raise RegistryError(f"{file}: {where}malformed YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise RegistryError(f"{file}: malformed YAML: {error}".splitlines()[0]) from error
    except RecursionError as error:
        raise RegistryError(f"{file}: malformed YAML: nested too deeply") from error
    if data is None:
        raise RegistryError(f"{file}: the file is empty; a registry starts with 'format: 1'")
    if not isinstance(data, Table):
        found = type(data).__name__
        raise RegistryError(f"{file}: holds a {found}; a registry is a mapping that starts with 'format: 1'")
    return data


def _compose(text: str, file: str) -> object:
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
    finally:
        loader.dispose()
    return None if node is None else _plain(node, file, set())


def _plain(node: yaml.Node, file: str, seen: set[int]) -> object:
    """Data of one node; ``seen`` holds the collections met so far, to refuse aliases (and with them endless data)."""
    if isinstance(node, yaml.ScalarNode):
        return _scalar(node, file)
    if id(node) in seen:
        raise RegistryError(f"{file}: line {_line(node)}: anchors and aliases are not allowed; write the row out")
    seen.add(id(node))
    if node.tag not in (_TAG + "seq", _TAG + "map"):
        raise RegistryError(f"{file}: line {_line(node)}: tag {shown(node.tag)} is not allowed; leave it out")
    if isinstance(node, yaml.SequenceNode):
        return [_plain(child, file, seen) for child in node.value]
    table = Table()
    table.line = _line(node)
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise RegistryError(f"{file}: line {_line(key)}: a key must be text")
        if key.value in table:
            raise RegistryError(f"{file}: line {_line(key)}: key {shown(key.value)} appears twice; keep one")
        table[key.value] = _plain(value, file, seen)
    return table


def _scalar(node: yaml.ScalarNode, file: str) -> object:
    tag, text = node.tag.removeprefix(_TAG), node.value
    try:
        match tag:
            case "str" | "!":
                return text
            case "null":
                return None
            case "bool":
                return {"true": True, "false": False}[text]
            case "int":
                return int(text)
            case "float":
                return float(text.replace(".inf", "inf").replace(".nan", "nan"))
    except (ValueError, KeyError) as error:
        raise RegistryError(f"{file}: line {_line(node)}: {shown(text)} is no {tag}") from error
    raise RegistryError(f"{file}: line {_line(node)}: tag {shown(node.tag)} is not allowed; leave it out")


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1

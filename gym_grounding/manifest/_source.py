"""A registry file as plain data: text, numbers, lists and mappings, each mapping with its line."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import yaml

from gym_grounding.errors import RegistryError
from gym_grounding.manifest._report import shown

# Fewer plain scalars than YAML 1.1 knows: there `on`, `off`, `yes` and `no` are truth values, and `on` is a predicate.
_SCALARS: tuple[tuple[Callable[[str], object], re.Pattern[str]], ...] = (
    (lambda _: None, re.compile(r"(?:~|null|)")),
    (lambda text: text == "true", re.compile(r"(?:true|false)")),
    (int, re.compile(r"-?(?:0|[1-9][0-9]{0,17})")),
    (
        lambda text: float(text.replace(".inf", "inf").replace(".nan", "nan")),
        re.compile(r"(?:[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?\.inf|\.nan)"),
    ),
)


# Where an anchor, an alias or a tag may stand; it may also be a word of a text, so this alone refuses nothing.
_MARK = re.compile(r"(?:^|[\s,:\[\]{}?-])(?:[&*]\S|!)")


class Table(dict[str, Any]):
    """A mapping of the file.

    Attributes:
        line: line of the file on which it starts, from 1.
    """

    line: int = 0


# Only nodes are taken from it, none of YAML's own constructors and resolvers; libyaml may be absent.
_Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


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
    if _MARK.search(text):
        _refuse_marks(text, file)
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
    finally:
        loader.dispose()
    return None if node is None else _plain(node, file)


def _refuse_marks(text: str, file: str) -> None:
    """Refuse what nodes do not tell any more: anchors, aliases (and with them endless data) and tags."""
    loader = _Loader(text)
    try:
        while loader.check_event():
            event = loader.get_event()
            place = f"{file}: line {event.start_mark.line + 1}"
            if getattr(event, "anchor", None) is not None:
                raise RegistryError(f"{place}: anchors and aliases are not allowed; write the row out")
            if (tag := getattr(event, "tag", None)) is not None:
                raise RegistryError(f"{place}: tag {shown(tag)} is not allowed; leave it out")
    finally:
        loader.dispose()


def _plain(node: yaml.Node, file: str) -> object:
    """Data of one node."""
    if isinstance(node, yaml.ScalarNode):
        # A text in quotes has a style and stays a text.
        return node.value if node.style else _scalar(node.value)
    if isinstance(node, yaml.SequenceNode):
        return [_plain(child, file) for child in node.value]
    table = Table()
    table.line = _line(node)
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise RegistryError(f"{file}: line {_line(key)}: a key must be text")
        if key.value in table:
            raise RegistryError(f"{file}: line {_line(key)}: key {shown(key.value)} appears twice; keep one")
        table[key.value] = _plain(value, file)
    return table


@functools.lru_cache(maxsize=4096)
def _scalar(text: str) -> object:
    """What a text without quotes stands for."""
    for read, pattern in _SCALARS:
        if pattern.fullmatch(text):
            return read(text)
    return text


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1

"""A study's file: which methods and seeds, and the options of `train` and `pretrain` that all of them share."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from gym_grounding.errors import InvalidOption, UnknownName
from gym_grounding_policies import learners
from gym_grounding_policies.training.plan import own_name
from gym_grounding_policies.training.senses import control_of

KEYS = ("methods", "seeds", "demos", "train", "set", "pretrain", "probes", "hours")
ENTRY = ("method", "name", "train", "set")
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 _.+:-]{0,60}")
OWN = ("method", "seed", "out", "init", "demos", "settings", "name", "quiet", "tensorboard", "accept_versions")
"""Options of `train` and `pretrain` that a study sets itself."""

Options = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """One method of a study.

    Attributes:
        method: as in `train --method`.
        name: in reports.
        named: whether `train` must be told the name, since it would give another one.
        train: options of `train` that differ from the shared ones.
        settings: of the method.
    """

    method: str
    name: str
    named: bool = False
    train: Options = field(default_factory=dict)
    settings: Options = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Config:
    """What a study's file says.

    Attributes:
        entries: the methods, in the order of the report.
        seeds: training seeds.
        demos: folder of demonstrations, as given.
        train: options of `train`, name with underscores -> value.
        pretrain: options of `pretrain`; None where methods start from new weights or from ``train``'s own ``init``.
        probes: demonstrations of each task whose observations are asked about; 0 for no probes.
        hours: after which nothing new is begun and what runs is stopped; None for no limit.
    """

    entries: tuple[Entry, ...]
    seeds: tuple[int, ...]
    demos: str
    train: Options
    pretrain: Options | None
    probes: int = 0
    hours: float | None = None


def read(path: Path, train: click.Command, pretrain: click.Command) -> Config:
    """The checked content of a study's file.

    Args:
        path: a TOML file.
        train, pretrain: the commands whose options it may set.

    Raises:
        InvalidOption: it cannot be read, or a value is not possible; names the key.
        UnknownName: no such key, option or method.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidOption(f"{path}: cannot be read as TOML ({error})") from error
    _known(data, KEYS, "key", str(path))
    shared = _options(data.get("train", {}), train, f"{path}: [train]")
    entries = tuple(_entries(data, shared, train, path))
    seeds = data.get("seeds", [0])
    if not isinstance(seeds, list) or not seeds or not all(type(one) is int and one >= 0 for one in seeds):
        raise InvalidOption(f"{path}: seeds is {seeds!r}; give a list of whole numbers from 0, such as [0, 1, 2]")
    _once(seeds, f"{path}: seeds")
    demos, probes, hours = data.get("demos"), data.get("probes", 0), data.get("hours")
    if not isinstance(demos, str):
        raise InvalidOption(f"{path}: demos is {demos!r}; give the folder of the demonstrations")
    if type(probes) is not int or probes < 0:
        raise InvalidOption(f"{path}: probes is {probes!r}; give a number of demonstrations of each task, or 0")
    if hours is not None and (not isinstance(hours, int | float) or isinstance(hours, bool) or not hours > 0):
        raise InvalidOption(f"{path}: hours is {hours!r}; give a positive number, or leave it out")
    before = _options(data["pretrain"], pretrain, f"{path}: [pretrain]") if "pretrain" in data else None
    return Config(entries, tuple(seeds), demos, shared, before, probes, hours)


def arguments_of(command: click.Command, options: Options) -> list[str]:
    """Options as a command line has them, in the order of the command's help.

    Args:
        options: name with underscores -> value; lists repeat the option.
    """
    found: list[str] = []
    for param in command.params:
        name = str(param.name)
        if name in options and options[name] is not None:
            flag = _flag(param)
            value = options[name]
            if isinstance(value, bool):
                found += [flag] if value else []
            else:
                for one in value if isinstance(value, list) else [value]:
                    found += [flag, str(one)]
    return found


def _entries(data: Options, everywhere: Options, train: click.Command, path: Path) -> Iterable[Entry]:
    listed = data.get("methods")
    if not isinstance(listed, list) or not listed:
        raise InvalidOption(f"{path}: methods is {listed!r}; give a list, such as {list(learners.names())}")
    shared = data.get("set", {})
    _mapping(shared, f"{path}: [set]")
    found = [_entry(one, shared, everywhere, train, path) for one in listed]
    _once([one.name for one in found], f"{path}: methods")
    unused = sorted(shared.keys() - {one.method for one in found})
    if unused:
        raise InvalidOption(f"{path}: [set.{unused[0]}] is for a method that the study does not have")
    return found


def _entry(given: Any, shared: Options, everywhere: Options, train: click.Command, path: Path) -> Entry:
    if isinstance(given, str):
        given = {"method": given}
    where = f"{path}: methods, {given!r}"
    _mapping(given, where)
    _known(given, ENTRY, "key", where)
    method = given.get("method")
    if not isinstance(method, str):
        raise InvalidOption(f"{where}: method is {method!r}; give a name, such as 'er'")
    if ":" not in method:
        _known({method: None}, learners.names(), "method", where)
    options = _options(given.get("train", {}), train, where)
    merged = {**everywhere, **options}
    own = own_name(learners.get(method).name, control_of(merged.get("objects"), bool(merged.get("mute"))))
    name = given.get("name", own)
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InvalidOption(f"{where}: name is {name!r}; give letters, digits, spaces and -_.+: (at most 60)")
    settings = {**_mapping(shared.get(method, {}), f"{path}: [set.{method}]"), **_mapping(given.get("set", {}), where)}
    return Entry(method, name, name != own, options, settings)


def _options(given: Any, command: click.Command, where: str) -> dict[str, Any]:
    """Options of a command, whose own types check the values."""
    known = {_flag(param).removeprefix("--"): param for param in command.params if param.name not in OWN}
    found: dict[str, Any] = {}
    for key, value in _mapping(given, where).items():
        if key not in known:
            raise UnknownName("option", key, known, where)
        param = known[key]
        is_flag = isinstance(param, click.Option) and param.is_flag
        if is_flag != isinstance(value, bool):
            raise InvalidOption(f"{where}: {key} is {value!r}; give {'true or false' if is_flag else 'its value'}")
        several = value if isinstance(value, list) else [value]
        if isinstance(value, list) and not param.multiple:
            raise InvalidOption(f"{where}: {key} is a list; it takes one value, such as {','.join(map(str, value))!r}")
        for one in several if not is_flag else []:
            try:
                param.type.convert(str(one), param, None)
            except click.UsageError as error:
                raise InvalidOption(f"{where}: {key} is {one!r}: {error.message}") from error
        found[str(param.name)] = value
    return found


def _flag(param: click.Parameter) -> str:
    return max(param.opts, key=len)


def _known(given: Options, names: Sequence[str], kind: str, where: str) -> None:
    for key in given:
        if key not in names:
            raise UnknownName(kind, key, names, where)


def _mapping(given: Any, where: str) -> Options:
    if not isinstance(given, Mapping):
        raise InvalidOption(f"{where}: is {given!r}; give a table of names and values")
    return given


def _once(values: Sequence[object], where: str) -> None:
    twice = [one for index, one in enumerate(values) if one in values[:index]]
    if twice:
        raise InvalidOption(f"{where}: {twice[0]!r} is there twice; each needs a name of its own")

"""How two registry files differ: rows added, removed, and changed field by field. Neither file needs to be valid."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gym_grounding.errors import RegistryError
from gym_grounding.manifest._source import Table, parse

ADDED, REMOVED, CHANGED, MOVED = "added", "removed", "changed", "moved"
NAMED = ("suites", "counts", "scenes")
"""Sections that map names to rows."""
HEAD = "head"
"""Stands for the fields at the top of a file."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field that differs; None where it is absent.

    Attributes:
        name: dotted path inside the row, such as ``certificate.on_path``.
        old, new: the value as plain data.
    """

    name: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Change:
    """One row that differs.

    Attributes:
        section: ``variants``, ``dropped``, ...; ``head`` for the fields at the top of the file.
        row: what names it: its id, or task, condition, slot and text.
        kind: ``added``, ``removed``, ``changed``, or ``moved`` for a section whose rows only stand in another order.
        fields: what differs; for an added or removed row everything that it says.
    """

    section: str
    row: str
    kind: str
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """Everything that differs between two files.

    Attributes:
        changes: by section and row, in file order.
        same_bytes: whether the files are equal to the last byte; comments and layout may differ without any change.
    """

    changes: tuple[Change, ...]
    same_bytes: bool

    def as_json(self) -> dict[str, Any]:
        """The same as plain data."""
        return asdict(self)


def compare(old: Path, new: Path) -> Difference:
    """The difference between two registry files.

    Raises:
        RegistryError: a file cannot be read or is not the YAML that registries use.
    """
    before, after = _read(old), _read(new)
    changes = tuple(_changes(parse(before, str(old)), parse(after, str(new))))
    return Difference(changes, before == after)


def as_text(found: Difference, limit: int = 100) -> str:
    """For a terminal; a value longer than ``limit`` characters is cut."""
    lines = []
    for change in found.changes:
        place = f"{change.section} {change.row}".rstrip()
        lines.append(f"{place}: {change.kind}")
        lines += [f"    {_line(field, change.kind, limit)}" for field in change.fields]
    return "\n".join([*lines, _summary(found)])


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise RegistryError(f"{path}: cannot be read ({error.strerror}); name a registry file") from error


def _changes(old: Table, new: Table) -> Iterator[Change]:
    for section in dict.fromkeys([HEAD, *old, *new]):
        before, after = _rows(section, old), _rows(section, new)
        found = list(_compared(section, before, after))
        yield from found
        if not found and list(before) != list(after):
            yield Change(section, "", MOVED)


def _compared(section: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Change]:
    for name in dict.fromkeys([*before, *after]):
        if name not in after:
            yield Change(section, name, REMOVED, _all(before[name], removed=True))
        elif name not in before:
            yield Change(section, name, ADDED, _all(after[name], removed=False))
        elif fields := tuple(_fields(before[name], after[name])):
            yield Change(section, name, CHANGED, fields)


def _rows(section: str, table: Table) -> dict[str, Any]:
    """Rows of a section by what names them; a name that occurs again gets a number."""
    if section == HEAD:
        return {"": {name: value for name, value in table.items() if not _is_section(name, value)}}
    content = table.get(section)
    if not _is_section(section, content):
        return {}
    if isinstance(content, dict):
        return content
    rows: dict[str, Any] = {}
    for row in content or ():
        name = _name(row)
        repeated = sum(known == name or known.startswith(f"{name} #") for known in rows)
        rows[f"{name} #{repeated + 1}" if repeated else name] = row
    return rows


def _is_section(name: str, content: Any) -> bool:
    """Whether a top-level entry holds rows: names with mappings, or a list of mappings."""
    if name in NAMED:
        return isinstance(content, dict)
    return isinstance(content, list) and all(isinstance(row, dict) for row in content)


def _name(row: Mapping[str, Any]) -> str:
    if "id" in row:
        return str(row["id"])
    parts = [str(row[key]) for key in ("task", "condition", "slot") if row.get(key)]
    return " ".join([*parts, *([repr(row["instruction"])] if row.get("instruction") is not None else [])])


def _all(row: Any, removed: bool) -> tuple[Field, ...]:
    values = _flat(row).items()
    return tuple(Field(name, value, None) if removed else Field(name, None, value) for name, value in values)


def _fields(old: Any, new: Any) -> Iterator[Field]:
    before, after = _flat(old), _flat(new)
    for name in dict.fromkeys([*before, *after]):
        # repr tells false from 0, which are equal in Python
        if repr(before.get(name)) != repr(after.get(name)):
            yield Field(name, before.get(name), after.get(name))


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    """Values by dotted path; a list is one value, and so is an empty mapping."""
    if not isinstance(value, dict) or (name and not value):
        return {name: value}
    return {
        inner: leaf for key, part in value.items() for inner, leaf in _flat(part, f"{name}.{key}".lstrip(".")).items()
    }


def _line(field: Field, kind: str, limit: int) -> str:
    label = f"{field.name}: " if field.name else ""
    if kind == ADDED:
        return f"{label}{_short(field.new, limit)}"
    if kind == REMOVED:
        return f"{label}{_short(field.old, limit)}"
    return f"{label}{_short(field.old, limit)} -> {_short(field.new, limit)}"


def _short(value: Any, limit: int) -> str:
    text = "(absent)" if value is None else repr(value) if isinstance(value, str) else _plain(value)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(_plain(item) for item in value)}]"
    return str(value)


def _summary(found: Difference) -> str:
    if not found.changes:
        return "equal to the last byte" if found.same_bytes else "equal rows; only comments or layout differ"
    parts = []
    for section in dict.fromkeys(change.section for change in found.changes):
        kinds = [change.kind for change in found.changes if change.section == section]
        parts.append(f"{section}: {_counted(kinds)}")
    return "; ".join(parts)


def _counted(kinds: Sequence[str]) -> str:
    return ", ".join(f"{kinds.count(kind)} {kind}" for kind in (ADDED, REMOVED, CHANGED, MOVED) if kind in kinds)

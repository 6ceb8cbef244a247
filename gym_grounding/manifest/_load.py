"""Finding, reading and caching registry files."""

from __future__ import annotations

import hashlib
from pathlib import Path

from gym_grounding.errors import RegistryError
from gym_grounding.manifest import _source
from gym_grounding.manifest._manifest import Manifest
from gym_grounding.manifest._meaning import check
from gym_grounding.manifest._report import Report
from gym_grounding.manifest._shape import shape

_FILE = "registry.yaml"
_CACHE: dict[tuple[str, str], Manifest] = {}


def default_path() -> Path:
    """Path of the shipped registry: inside the installed package, or at the top of the checkout.

    Raises:
        RegistryError: neither is there; the installation is broken.
    """
    package = Path(__file__).resolve().parent.parent
    inside = package / _FILE
    if inside.is_file():
        return inside
    # A stray registry.yaml beside an installed package must not be taken for ours, hence the project file.
    project, outside = package.parent / "pyproject.toml", package.parent / _FILE
    if outside.is_file() and project.is_file() and 'name = "gym-grounding"' in project.read_text("utf-8"):
        return outside
    raise RegistryError(f"{inside}: the shipped registry is missing; reinstall gym-grounding")


def load(path: Path | str | None = None) -> Manifest:
    """The registry at ``path``, checked for shape and meaning; None means the shipped one.

    Equal bytes at one path are parsed once.

    Raises:
        RegistryError: the file cannot be read, is malformed or says something untrue. ``problems`` has one line for
            each thing that is wrong.
    """
    where = default_path() if path is None else Path(path)
    try:
        raw = where.read_bytes()
    except (OSError, ValueError) as error:  # a name with a NUL character is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise RegistryError(f"{where}: cannot be read ({reason}); name a registry file") from error
    key = (str(where), hashlib.sha256(raw).hexdigest())
    if key not in _CACHE:
        _CACHE[key] = parsed(raw, str(where))
    return _CACHE[key]


def problems(path: Path | str | None = None) -> tuple[str, ...]:
    """Everything that is wrong with a registry file, one line each; empty when ``load`` would accept it."""
    try:
        load(path)
    except RegistryError as error:
        return error.problems
    return ()


def parsed(raw: bytes, file: str) -> Manifest:
    """The registry that the bytes of a file hold.

    Args:
        raw: contents of the file.
        file: its path, for messages and the result.

    Raises:
        RegistryError: as ``load``.
    """
    report = Report(file)
    content = shape(_source.parse(raw, file), report)
    check(content, report)
    if report.problems:
        raise report.error()
    return Manifest(
        path=file,
        sha256=hashlib.sha256(raw).hexdigest(),
        version=content.version,
        physics=content.physics,
        suites=content.suites,
        scenes=content.scenes,
        tasks=content.tasks,
        variants=content.variants,
        absent=tuple(content.absent),
    )

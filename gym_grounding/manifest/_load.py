"""Finding, reading and caching registry files."""

from __future__ import annotations

import contextlib
import gc
import hashlib
from collections.abc import Iterator
from pathlib import Path

from gym_grounding.errors import RegistryError
from gym_grounding.manifest._manifest import Manifest
from gym_grounding.manifest._report import Report
from gym_grounding.manifest._scan import Listing, scan

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
    where, raw = _read(path)
    key = (str(where), hashlib.sha256(raw).hexdigest())
    if key not in _CACHE:
        _CACHE[key] = parsed(raw, str(where))
    return _CACHE[key]


def listing(path: Path | str | None = None) -> Listing:
    """Version and variant ids of a registry file.

    The shipped file (None) is only scanned for them, so that the package is imported fast; what else it says is
    checked when it is first loaded. Any other file is loaded.

    Raises:
        RegistryError: as ``load``; of the shipped file only if it cannot be scanned.
    """
    found = scan(_read(None)[1]) if path is None else None
    if found is not None:
        return found
    manifest = load(path)
    return Listing(manifest.version, tuple(manifest.variants))


def problems(path: Path | str | None = None) -> tuple[str, ...]:
    """Everything that is wrong with a registry file, one line each; empty when ``load`` would accept it."""
    try:
        load(path)
    except RegistryError as error:
        return error.problems
    return ()


def totals(raw: bytes, file: str = "registry") -> dict[str, dict[str, object]]:
    """What ``counts`` would have to say of each suite of a file, and of ``all`` together.

    Args:
        raw: contents of the file; its rows need not agree with each other.
        file: its path, for messages.

    Raises:
        RegistryError: malformed YAML, or rows of the wrong form.
    """
    from gym_grounding.manifest import _meaning, _shape, _source

    report = Report(file)
    content = _shape.shape(_source.parse(raw, file), report)
    if report.problems:
        raise report.error()
    return {suite: _meaning.totals(suite, content) for suite in (*content.suites, _meaning.ALL)}


def parsed(raw: bytes, file: str) -> Manifest:
    """The registry that the bytes of a file hold.

    Args:
        raw: contents of the file.
        file: its path, for messages and the result.

    Raises:
        RegistryError: as ``load``.
    """
    # Imported here because only a load needs them, and the import of the package does not load.
    from gym_grounding.manifest import _meaning, _shape, _source

    report = Report(file)
    with _no_collection():
        content = _shape.shape(_source.parse(raw, file), report)
        _meaning.check(content, report)
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
        oracle=content.oracle,
    )


def _read(path: Path | str | None) -> tuple[Path, bytes]:
    where = default_path() if path is None else Path(path)
    try:
        return where, where.read_bytes()
    except (OSError, ValueError) as error:  # a name with a NUL character is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise RegistryError(f"{where}: cannot be read ({reason}); name a registry file") from error


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Keeps the garbage collector from walking, again and again, the many small objects that a load makes.

    It takes a third of the time without it; nothing of what is made refers back to what holds it.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()

"""Bytes kept on disk between processes, believed only if this user wrote exactly these under this key.

What is missing, cut short, changed, of another key or of another owner reads as absent, and is then written anew.
Nothing is kept for ever: each write removes what was not used for ``UNUSED`` days, such as the models of a version that
is gone, what an interrupted process left, and what is longest unused of more than ``LIMIT`` bytes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gym_grounding.adapters.libero import install

FOLDER = "GYM_GROUNDING_CACHE"
"""Environment variable: the cache's folder in place of ``gym-grounding`` in the user's cache folder."""
UNUSED = 60
"""Days."""
LIMIT = 256 * 2**20
"""Bytes; all scenes of the four suites take 65 MB, in each version of mujoco."""
_MAGIC = b"gym-grounding cache 1\n"
_ENTRY, _PART = re.compile(r"[0-9a-f]{40}\.bin"), re.compile(r"entry-\w+\.part")
_DAY = 86400.0


def folder() -> Path | None:
    """Where the cache is; it need not exist. None for a user without a home who names no folder: nothing is kept."""
    if named := os.environ.get(FOLDER):
        place = os.path.expanduser(named)
        return None if place.startswith("~") else Path(place)
    caches = install.user_caches()
    return caches and caches / "gym-grounding"


def read(key: str) -> bytes | None:
    """What was written under the key, or None."""
    path = _path(key)
    if path is None:
        return None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    found = os.fstat(descriptor)
    writable = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or writable:
        os.close(descriptor)
        return None
    with open(descriptor, "rb") as file:
        try:
            text = file.read()
        except OSError:
            return None
    head = len(_MAGIC) + hashlib.sha256().digest_size
    payload = text[head:]
    if text[:head] != _MAGIC + _digest(key, payload):
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # when it was used last
    return payload


def write(key: str, payload: bytes) -> None:
    """Keep the payload; readers see the old entry or the whole new one. A folder that takes no file is no error."""
    path = _path(key)
    if path is None:
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix="entry-", suffix=".part")
        try:
            with open(descriptor, "wb") as file:
                file.write(_MAGIC + _digest(key, payload) + payload)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    _prune(path)


def entries() -> list[tuple[Path, int, float]]:
    """Path, bytes and time of the last use [s since 1970] of everything that the cache holds, last used first."""
    return sorted(_files(_ENTRY), key=lambda entry: -entry[2])


def clear() -> int:
    """Remove everything that the cache holds, and no other file; returns how many entries there were."""
    for path, _, _ in _files(_PART):
        _removed(path)
    return sum(_removed(path) for path, _, _ in entries())


def _prune(kept: Path) -> None:
    now, total = time.time(), 0
    for path, _, written in _files(_PART):
        if now - written > _DAY:
            _removed(path)
    for path, size, used in entries():
        total += size
        if path != kept and (total > LIMIT or now - used > UNUSED * _DAY):
            _removed(path)


def _files(names: re.Pattern[str]) -> Iterator[tuple[Path, int, float]]:
    place = folder()
    paths: list[Path] = []
    with contextlib.suppress(OSError):
        paths = [] if place is None else [path for path in place.iterdir() if names.fullmatch(path.name)]
    for path in paths:
        with contextlib.suppress(OSError):
            found = path.lstat()
            if stat.S_ISREG(found.st_mode):
                yield path, found.st_size, found.st_mtime


def _removed(path: Path) -> bool:
    try:
        path.unlink()
    except OSError:
        return False
    return True


def _path(key: str) -> Path | None:
    place = folder()
    return place and place / f"{hashlib.sha256(key.encode()).hexdigest()[:40]}.bin"


def _digest(key: str, payload: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + payload).digest()

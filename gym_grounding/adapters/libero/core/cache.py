"""Bytes kept on disk between processes, believed only if this user wrote exactly these under this key.

What is missing, cut short, changed, of another key or of another owner reads as absent, and is then written anew.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from pathlib import Path

FOLDER = "GYM_GROUNDING_CACHE"
"""Environment variable: the cache's folder in place of ``gym-grounding`` in the user's cache folder."""
_MAGIC = b"gym-grounding cache 1\n"


def folder() -> Path:
    """Where the cache is; it need not exist."""
    caches = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    return Path(os.environ.get(FOLDER) or Path(caches) / "gym-grounding")


def read(key: str) -> bytes | None:
    """What was written under the key, or None."""
    try:
        descriptor = os.open(_path(key), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with open(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        writable = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or writable:
            return None
        try:
            text = file.read()
        except OSError:
            return None
    head = len(_MAGIC) + hashlib.sha256().digest_size
    payload = text[head:]
    return payload if text[:head] == _MAGIC + _digest(key, payload) else None


def write(key: str, payload: bytes) -> None:
    """Keep the payload; readers see the old entry or the whole new one. A folder that takes no file is no error."""
    path = _path(key)
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        try:
            with open(descriptor, "wb") as file:
                file.write(_MAGIC + _digest(key, payload) + payload)
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise


def _path(key: str) -> Path:
    return folder() / f"{hashlib.sha256(key.encode()).hexdigest()[:40]}.bin"


def _digest(key: str, payload: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + payload).digest()

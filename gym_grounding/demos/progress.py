"""What has been made of a task's file so far: one file per attempt, so that a kill loses one attempt at most."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import socket
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from gym_grounding.demos.write import write_bytes
from gym_grounding.errors import InvalidDemonstration, InvalidOption, UnwritableOutput

_SETTINGS, _LOCK = "settings.json", "lock"
_ATTEMPT = re.compile(r"attempt_(\d{6})\.(hdf5|json)")


class Parts:
    """The folder beside a task's file in which its attempts are kept until all are there.

    Args:
        path: the file of the task.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.folder = path.with_name(f".{path.stem}.parts")

    def kept(self, attempt: int) -> Path:
        """Where a demonstration is."""
        return self.folder / f"attempt_{attempt:06}.hdf5"

    def failed(self, attempt: int) -> Path:
        """Where it is noted why an attempt failed."""
        return self.folder / f"attempt_{attempt:06}.json"

    def attempts(self) -> dict[int, bool]:
        """Number of each attempt that was made -> whether it was kept."""
        found = {}
        for name in os.listdir(self.folder) if self.folder.is_dir() else ():
            if match := _ATTEMPT.fullmatch(name):
                found[int(match[1])] = match[2] == "hdf5"
        return dict(sorted(found.items()))

    def begin(self, described: Mapping[str, Any], force: bool) -> None:
        """Note what is made here, or check that it is what was begun.

        Args:
            described: of ``settings.described``.
            force: what was begun otherwise is thrown away.

        Raises:
            InvalidOption: something else was begun here; names the difference.
            InvalidDemonstration: it cannot be read what was begun here.
            UnwritableOutput: nothing can be written.
        """
        note = self.folder / _SETTINGS
        begun = _json(note)
        if self.attempts() and begun != described:
            if not force and begun is None:
                raise InvalidDemonstration(
                    f"{note}: is missing or damaged, so nobody knows with what settings the attempts beside it were "
                    "made. Throw them away with --force, or name another --out"
                )
            if not force:
                raise InvalidOption(
                    f"{self._path}: was begun with other settings ({difference(begun or {}, described)}). Give the "
                    "same ones to continue, name another --out, or throw away what was begun with --force"
                )
            self._clear()
        write_bytes(note, json.dumps(described).encode())

    def note_failures(self, attempts: Collection[int], problem: str) -> None:
        """Note attempts that are known to have failed; those that were noted stay.

        Raises:
            UnwritableOutput: nothing can be written.
        """
        for attempt in attempts:
            if not self.failed(attempt).exists():
                write_bytes(self.failed(attempt), json.dumps({"problem": problem}).encode())

    def problems(self) -> list[str]:
        """Why each of the failed attempts failed."""
        return [self._problem(attempt) for attempt, kept in self.attempts().items() if not kept]

    def _problem(self, attempt: int) -> str:
        note = self.failed(attempt)
        if (content := _json(note)) is None or "problem" not in content:
            return f"{note} is damaged, remove it to have this attempt made anew"
        return str(content["problem"])

    def remove(self) -> None:
        """Throw the parts away; what cannot be removed does no harm."""
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """No other process works on this file until the block ends; the kernel frees it however the process ends.

        Raises:
            UnwritableOutput: another process has it, or nothing can be written there.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            lock = (self.folder / _LOCK).open("a+", encoding="utf-8")
        except OSError as error:
            raise UnwritableOutput(f"{self._path} cannot be written ({error}); name another --out") from error
        with lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.seek(0)
                holder = lock.read().strip() or "another process"
                raise UnwritableOutput(
                    f"{self._path}: {holder} is making it; wait for it, stop it, or name another --out"
                ) from None
            lock.truncate(0)
            lock.write(f"process {os.getpid()} on {socket.gethostname()}")
            lock.flush()
            yield

    def _clear(self) -> None:
        for attempt, kept in self.attempts().items():
            (self.kept(attempt) if kept else self.failed(attempt)).unlink()


def difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """How two descriptions differ, in a line: what differs in them, and no more of what holds it."""
    return ", ".join(_differing(one, other)[:3])


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for name in dict.fromkeys([*one, *other]):
        was, now = one.get(name), other.get(name)
        if isinstance(was, Mapping) and isinstance(now, Mapping):
            found += (f"{name}: {line}" for line in _differing(was, now))
        elif was != now:
            found.append(f"{name} {was!r}, now {now!r}")
    return found


def _json(path: Path) -> dict[str, Any] | None:
    """What a file holds; None where it is missing or damaged."""
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None

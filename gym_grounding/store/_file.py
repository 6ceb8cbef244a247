"""The SQLite file and its lock, and what their failures mean to the user."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

from gym_grounding.errors import CorruptRun, InvalidOption, UnwritableOutput

FILE = "run.sqlite"
LOCK = "run.lock"
BUSY_SECONDS = 60.0


def connect(path: Path, mode: str) -> sqlite3.Connection:
    """A connection in SQLite's URI ``mode`` (ro, rw, rwc) that commits only when told to."""
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)


def take_lock(path: Path) -> IO[str]:
    """The open, locked lock file beside ``path``; the kernel frees it when the process ends, however it ends.

    Raises:
        UnwritableOutput: another process has it (named), or nothing can be written there.
    """
    with writing(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise UnwritableOutput(
                f"{path.parent}: cannot be written, a file is in the way; a run is a directory, give another name"
            ) from error
        lock = (path.parent / LOCK).open("a+", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        holder = lock.read().strip() or "another process"
        lock.close()
        raise UnwritableOutput(
            f"{path.parent}: {holder} is writing this run; wait for it, stop it, or give another directory"
        ) from None
    except OSError as error:
        lock.close()
        raise UnwritableOutput(f"{path.parent}: the file system offers no locks ({error}); use a local disk") from error
    if not _same_file(lock, path.parent / LOCK):  # its last holder has just removed it, with a run that never began
        lock.close()
        return take_lock(path)
    with writing(path):
        lock.truncate(0)
        lock.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        lock.flush()
    return lock


def remove(path: Path, made: Sequence[Path]) -> None:
    """Remove a run that never began, its lock, and the directories that were made for it, if they are empty."""
    with contextlib.suppress(OSError):  # what cannot be removed does no harm
        path.unlink(missing_ok=True)
        (path.parent / LOCK).unlink(missing_ok=True)
        for directory in made:
            directory.rmdir()


def missing_directories(path: Path) -> list[Path]:
    """The directories of a file that are not there yet, the innermost first."""
    return [directory for directory in path.parents if not os.path.lexists(directory)]


def _same_file(file: IO[str], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except OSError:
        return False


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Failures inside become UnwritableOutput or, where the file's content is at fault, CorruptRun."""
    try:
        yield
    except UnwritableOutput:
        raise
    except (sqlite3.OperationalError, OSError) as error:
        safe = "What was recorded before is safe; free" if os.path.isfile(path) else "Free"
        raise UnwritableOutput(
            f"{path}: cannot be written ({error}). {safe} space or mend the permissions, and give the same command "
            "again to continue"
        ) from error
    except sqlite3.DatabaseError as error:
        raise _damaged(path, error) from error
    except OverflowError as error:
        raise InvalidOption(f"{path}: a stage, init state or seed is beyond 64 bits ({error})") from error


@contextlib.contextmanager
def reading(path: Path) -> Iterator[None]:
    """Failures inside become CorruptRun."""
    try:
        yield
    except CorruptRun:
        raise
    except (sqlite3.OperationalError, OSError) as error:
        raise CorruptRun(
            f"{path}: cannot be read ({error}). If a program was stopped while it wrote, copy the directory to a place "
            "that can be written and read it there"
        ) from error
    except sqlite3.DatabaseError as error:
        raise _damaged(path, error) from error
    except ValueError as error:
        raise CorruptRun(f"{path}: {error}; it was not written by this version of gym-grounding") from error


def damaged(path: Path, reason: str) -> CorruptRun:
    """The error for a file whose content is broken, with the way to save the rest."""
    return CorruptRun(
        f"{path}: damaged ({reason}). `gym-grounding salvage {path.parent} NEW` copies the records that "
        "can still be read into a new run, which the same command then continues"
    )


def _damaged(path: Path, error: sqlite3.DatabaseError) -> sqlite3.DatabaseError | CorruptRun:
    if isinstance(error, sqlite3.ProgrammingError | sqlite3.IntegrityError):  # our own mistake, not the file's
        return error
    return damaged(path, str(error))

"""What can still be read from a damaged run."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from gym_grounding.errors import CorruptRun, InvalidOption
from gym_grounding.records import EpisodeRecord, ErrorRecord, ProbeRecord
from gym_grounding.store._file import FILE, connect, reading
from gym_grounding.store._store import Row, RunStore, parse_row


def salvage(source: str | Path, target: str | Path) -> dict[str, int]:
    """Copy every record that can still be read from a damaged run into a new one, which can then be continued.

    Args:
        source: run directory; only read.
        target: directory of the new run, which must hold none.

    Returns:
        How many records of each table were saved.

    Raises:
        CorruptRun: not even the header can be read.
        InvalidOption: ``target`` holds a run.
    """
    path = Path(source) / FILE
    if (Path(target) / FILE).exists():
        raise InvalidOption(f"{target} holds a run already; give a directory without one")
    with reading(path):
        old = RunStore(path, connect(path, "ro"))
    with old:
        old.connection.execute("PRAGMA writable_schema=ON")  # else SQLite refuses a file that was cut short
        try:
            header = old.header
        except CorruptRun as error:
            raise CorruptRun(f"{path}: beyond repair, its header cannot be read; run the evaluation again") from error
        with RunStore.create(target, header) as new:
            return {
                "episodes": sum(new.add_episode(record) for record in _readable(old, EpisodeRecord, "episodes")),
                "errors": sum(new.add_error(record) for record in _readable(old, ErrorRecord, "errors")),
                "probes": new.add_probes(_readable(old, ProbeRecord, "probes")),
            }


def _readable(store: RunStore, kind: type[Row], table: str) -> Iterator[Row]:
    """The records of a damaged table: from both ends, each until the first page that cannot be read."""
    seen: set[int] = set()
    for direction in ("ASC", "DESC"):
        for row, text in _until_damage(store, f"SELECT rowid, json FROM {table} ORDER BY rowid {direction}"):
            if row not in seen:
                seen.add(row)
                with contextlib.suppress(CorruptRun):
                    yield parse_row(kind, text, table)


def _until_damage(store: RunStore, query: str) -> Iterator[tuple[int, str]]:
    with contextlib.suppress(sqlite3.DatabaseError):
        yield from store.connection.execute(query)

"""The store itself."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self, TypeVar

from gym_grounding.errors import CorruptRun, InvalidOption
from gym_grounding.records import SCHEMA, Cell, EpisodeRecord, ErrorRecord, ProbeRecord, RunHeader, from_json, to_json
from gym_grounding.store._file import FILE, connect, damaged, missing_directories, reading, remove, take_lock, writing
from gym_grounding.store._headers import merge_headers

APPLICATION = 0x47524E44  # "GRND", so that a foreign database is recognised

_TABLES = """
CREATE TABLE header (key TEXT PRIMARY KEY, json TEXT NOT NULL);
CREATE TABLE episodes (
    stage INTEGER NOT NULL, variant TEXT NOT NULL, init_state INTEGER NOT NULL, seed INTEGER NOT NULL,
    task TEXT NOT NULL, condition TEXT NOT NULL, slot TEXT, tier TEXT, steps INTEGER NOT NULL, ended TEXT NOT NULL,
    success INTEGER, original_step INTEGER, target_step INTEGER, seconds REAL NOT NULL, json TEXT NOT NULL,
    PRIMARY KEY (stage, variant, init_state, seed));
CREATE TABLE errors (
    stage INTEGER NOT NULL, variant TEXT NOT NULL, init_state INTEGER NOT NULL, seed INTEGER NOT NULL,
    kind TEXT NOT NULL, message TEXT NOT NULL, json TEXT NOT NULL,
    PRIMARY KEY (stage, variant, init_state, seed));
CREATE TABLE probes (
    stage INTEGER NOT NULL, variant TEXT NOT NULL, seed INTEGER NOT NULL, observation TEXT NOT NULL,
    task TEXT NOT NULL, condition TEXT NOT NULL, json TEXT NOT NULL,
    PRIMARY KEY (stage, variant, seed, observation));
"""
_KEY = {
    "episodes": "stage, variant, init_state, seed",
    "errors": "stage, variant, init_state, seed",
    "probes": "stage, variant, seed, observation",
}
_CELL = "stage = ? AND variant = ? AND init_state = ? AND seed = ?"

Row = TypeVar("Row", EpisodeRecord, ErrorRecord, ProbeRecord)


class RunStore:
    """The records of one run; made by ``open`` (to read), ``writer`` or ``create`` (to write).

    A context manager. Records come back sorted by stage, variant, init state and seed (probes by stage, variant, seed
    and observation), so two runs of one plan give equal sequences whatever the order in which episodes finished.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, lock: IO[str] | None = None) -> None:
        self.path = path
        self.connection = connection
        self._lock = lock
        self._never_began: Sequence[Path] | None = None  # the directories to remove with the file, if it stays empty

    @classmethod
    def open(cls, directory: str | Path) -> Self:
        """The run in ``directory``, for reading; also while another process writes it.

        Raises:
            CorruptRun: there is no run, or its file is damaged, foreign or of another layout.
        """
        path = Path(directory) / FILE
        with reading(path):
            if not path.is_file():
                raise CorruptRun(f"{directory} holds no run (no {FILE}); `gym-grounding evaluate --out` makes one")
            # mode rw, if possible, lets a reader roll back what a killed writer left half done
            store = cls(path, connect(path, "rw" if os.access(path, os.W_OK) else "ro"))
            with store._closed_on_error():
                store.connection.execute("PRAGMA query_only=ON")
                if not store._check():
                    raise CorruptRun(f"{path}: empty; nothing was recorded in it. Run the evaluation again")
        return store

    @classmethod
    def writer(cls, directory: str | Path) -> Self:
        """The run in ``directory``, made where there is none and locked for this process; ``begin`` comes next.

        A run that never began leaves no trace once it is closed.

        Raises:
            UnwritableOutput: the directory cannot be written, or another process is writing the run.
            InvalidOption: the directory's name is empty.
            CorruptRun: as for ``open``.
        """
        if not str(directory):
            raise InvalidOption("the run's directory is ''; name one")
        path = Path(directory) / FILE
        made = missing_directories(path)
        lock = take_lock(path)
        try:
            with writing(path):
                store = cls(path, connect(path, "rwc"), lock)
        except BaseException:
            lock.close()
            raise
        with store._closed_on_error():
            with reading(path):
                # A rollback journal rather than a write-ahead log: the run stays one file, which can be read on a
                # read-only disk and on a network file system. EXTRA makes a commit survive a power cut too.
                store.connection.execute("PRAGMA synchronous=EXTRA")
                known = store._check()
            if not known:
                store._make_tables()
            if not any(store._rows(f"SELECT 1 FROM {table} LIMIT 1") for table in ("header", *_KEY)):
                store._never_began = made
        return store

    @classmethod
    def create(cls, directory: str | Path, header: RunHeader, *, accept_versions: bool = False) -> Self:
        """``writer`` followed by ``begin``."""
        store = cls.writer(directory)
        with store._closed_on_error():
            store.begin(header, accept_versions=accept_versions)
        return store

    def begin(self, header: RunHeader, *, accept_versions: bool = False) -> RunHeader:
        """Write the header of a new run, or continue a run; the header as it stands afterwards.

        A continued run's header gains what is new, such as the version of a library that was not loaded before, and
        keeps the rest; see ``merge_headers``.

        Raises:
            PlanMismatch: names every field that differs, and the remedy.
        """
        if not self.is_new:
            header = merge_headers(self.header, header, accept_versions, str(self.path.parent))
        rows = [(field.name, _json(getattr(header, field.name))) for field in dataclasses.fields(header)]
        with self._transaction():
            self.connection.executemany("INSERT OR REPLACE INTO header VALUES (?, ?)", rows)
        self._never_began = None
        return header

    @property
    def is_new(self) -> bool:
        """Whether no header was written yet."""
        return not self._rows("SELECT 1 FROM header LIMIT 1")

    @property
    def header(self) -> RunHeader:
        """The header.

        Raises:
            CorruptRun: there is none, or it cannot be read.
        """
        rows = self._rows("SELECT key, json FROM header")
        if not rows:
            raise CorruptRun(f"{self.path}: no header; the run was stopped before it began. Run the evaluation again")
        with reading(self.path):
            return from_json(RunHeader, "{" + ", ".join(f"{_json(key)}: {text}" for key, text in rows) + "}")

    def add_episode(self, record: EpisodeRecord) -> bool:
        """Commit a finished episode and drop the cell's error; False (and no change) if the cell is done already."""
        steps = record.first_held
        values: dict[str, Any] = {
            **dataclasses.asdict(record.cell),
            "task": record.task,
            "condition": record.condition,
            "slot": record.slot,
            "tier": record.tier,
            "steps": record.steps,
            "ended": record.ended,
            "success": record.success,
            "original_step": steps.get("original"),
            "target_step": steps.get("target"),
            "seconds": record.seconds,
            "json": to_json(record),
        }
        with self._transaction():
            added = self._insert("episodes", values)
            self.connection.execute(f"DELETE FROM errors WHERE {_CELL}", dataclasses.astuple(record.cell))
        return added

    def add_error(self, record: ErrorRecord) -> bool:
        """Commit an error in place of the cell's earlier one; False (and no change) if the cell is done already."""
        cell = dataclasses.astuple(record.cell)
        with self._transaction():
            if self.connection.execute(f"SELECT 1 FROM episodes WHERE {_CELL}", cell).fetchone():
                return False
            self.connection.execute(f"DELETE FROM errors WHERE {_CELL}", cell)
            values = {"kind": record.kind, "message": record.message, "json": to_json(record)}
            return self._insert("errors", {**dataclasses.asdict(record.cell), **values})

    def add_probes(self, records: Iterable[ProbeRecord]) -> int:
        """Commit probes together, all or none; how many of them were new."""
        names = ("stage", "variant", "seed", "observation", "task", "condition")
        with self._transaction():
            return sum(
                self._insert("probes", {**{name: getattr(record, name) for name in names}, "json": to_json(record)})
                for record in records
            )

    def episodes(self) -> tuple[EpisodeRecord, ...]:
        """Every finished episode."""
        return self._records(EpisodeRecord, "episodes")

    def errors(self) -> tuple[ErrorRecord, ...]:
        """The last error of every cell that has one and no episode."""
        return self._records(ErrorRecord, "errors")

    def probes(self) -> tuple[ProbeRecord, ...]:
        """Every probe."""
        return self._records(ProbeRecord, "probes")

    def done_cells(self) -> frozenset[Cell]:
        """Cells with a finished episode."""
        return frozenset(Cell(*row) for row in self._rows(f"SELECT {_KEY['episodes']} FROM episodes"))

    def done_probes(self) -> frozenset[tuple[int, str, int, str]]:
        """(stage, variant, seed, observation) of every probe."""
        return frozenset(self._rows(f"SELECT {_KEY['probes']} FROM probes"))

    def close(self) -> None:
        """Close the file and give the lock back; safe to call twice."""
        self.connection.close()
        if self._never_began is not None:
            remove(self.path, self._never_began)
            self._never_began = None
        if self._lock is not None:
            self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _check(self) -> bool:
        """Whether the file holds a run of this layout; False if it is empty, CorruptRun if it is something else."""
        names = ("application_id", "user_version")
        application, layout = (self.connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
        (tables,) = self.connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if application == 0 and tables == 0:
            return False
        if application != APPLICATION:
            raise CorruptRun(f"{self.path}: a SQLite file, but not of gym-grounding; give another directory")
        if layout != SCHEMA:
            raise CorruptRun(
                f"{self.path}: written in layout {layout}, this version of gym-grounding reads layout {SCHEMA}; "
                "use the version that wrote it (its header names it), or another directory"
            )
        (verdict,) = self.connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            raise damaged(self.path, verdict)
        return True

    def _make_tables(self) -> None:
        with self._transaction():
            for statement in _TABLES.split(";"):
                self.connection.execute(statement)
            self.connection.execute(f"PRAGMA application_id={APPLICATION}")
            self.connection.execute(f"PRAGMA user_version={SCHEMA}")

    def _insert(self, table: str, values: dict[str, Any]) -> bool:
        marks = ", ".join(f":{name}" for name in values)
        statement = f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks}) ON CONFLICT DO NOTHING"
        return self.connection.execute(statement, values).rowcount == 1

    def _rows(self, query: str) -> list[Any]:
        with reading(self.path):
            return self.connection.execute(query).fetchall()

    def _records(self, kind: type[Row], table: str) -> tuple[Row, ...]:
        rows = self._rows(f"SELECT {_KEY[table]}, json FROM {table} ORDER BY {_KEY[table]}")
        return tuple(parse_row(kind, row[-1], f"{self.path}: {table} row {row[:-1]}") for row in rows)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        """Everything inside is on disk when it ends, or nothing is."""
        with writing(self.path):
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self.connection.execute("COMMIT")
            except BaseException:
                if self.connection.in_transaction:  # a full disk may have ended it already
                    self.connection.execute("ROLLBACK")
                raise

    @contextlib.contextmanager
    def _closed_on_error(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self.close()
            raise


def parse_row(kind: type[Row], text: object, place: str) -> Row:
    """The record in a row's JSON.

    Raises:
        CorruptRun: it is none; ``place`` names the row.
    """
    try:
        return from_json(kind, str(text))
    except ValueError as error:
        raise CorruptRun(f"{place}: {error}. Delete that row with sqlite3 and its cell is run again") from error


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, allow_nan=False, ensure_ascii=False)

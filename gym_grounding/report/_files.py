"""Files: all of a report or none of it."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gym_grounding import metrics
from gym_grounding.errors import UnwritableOutput
from gym_grounding.metrics import Measurement, Scope
from gym_grounding.report import _coverage, _films
from gym_grounding.report._book import Book, quantities
from gym_grounding.report._study import Method
from gym_grounding.report._table import Table, flat

FORMAT = 1
ENTRIES = frozenset({"metrics.json", "metrics.md", "report.md", "report.html", "tables", "figures", _films.FOLDER})
"""Everything a report folder may hold; a folder with anything else in it is not replaced."""


@contextlib.contextmanager
def folder(out: Path) -> Iterator[Path]:
    """A temporary folder beside ``out`` that takes its place when the block ends without an error.

    Raises:
        UnwritableOutput: ``out`` is no report, or its parent cannot be written; nothing is left behind.
    """
    target = out.resolve()
    try:
        _check_replaceable(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent))
    except UnwritableOutput:
        raise
    except OSError as error:
        raise UnwritableOutput(f"{out}: no report can be written there ({error}); give another folder") from error
    try:
        yield work
        _publish(work, target)
    except OSError as error:
        raise UnwritableOutput(f"{out}: the report could not be written ({error}); nothing was changed") from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _check_replaceable(target: Path) -> None:
    if not target.exists():
        return
    if not target.is_dir():
        raise UnwritableOutput(f"{target} is a file; give a folder for the report")
    foreign = sorted({entry.name for entry in target.iterdir()} - ENTRIES)
    if foreign:
        raise UnwritableOutput(
            f"{target} holds {', '.join(foreign[:3])}, which is no part of a report; give a new folder, so that "
            "nothing is overwritten"
        )


def _publish(work: Path, target: Path) -> None:
    """Put ``work`` where ``target`` is; an old report steps aside and is deleted afterwards, but for its films."""
    umask = os.umask(0)
    os.umask(umask)
    work.chmod(0o777 & ~umask)  # a temporary folder is private
    old = work.with_suffix(".old")
    if target.exists():
        target.rename(old)
    try:
        work.rename(target)
    except OSError:
        if old.exists():
            old.rename(target)
        raise
    if (old / _films.FOLDER).exists():
        (old / _films.FOLDER).rename(target / _films.FOLDER)
    shutil.rmtree(old, ignore_errors=True)


def csv_text(table: Table) -> str:
    """A table as CSV with raw numbers."""
    header, rows = flat(table)
    return _csv([header, *rows])


def measurements_csv(book: Book) -> str:
    """Every measurement, one a row."""
    scope = [field.name for field in dataclasses.fields(Scope)]
    header = ["method", "quantity", *scope, "mean", "std", "low", "high"]
    counts = ["n", "variants", "tasks", "seeds", "void", "reason", "note"]
    rows = [
        [
            *(one.method, one.quantity),
            *(getattr(one.scope, name) for name in scope),
            *(one.value.mean, one.value.std, *(one.value.interval or (None, None))),
            *(getattr(one.value, name) for name in counts),
        ]
        for one in book.measurements
    ]
    return _csv([[*header, *counts], *rows])


def data(book: Book) -> str:
    """metrics.json: runs, coverage, definitions and every number; the same input gives the same bytes."""
    content = {
        "format": FORMAT,
        "warnings": list(book.warnings),
        "remarks": list(book.remarks),
        "methods": [_method(method, book) for method in book.methods],
        "definitions": {name: dataclasses.asdict(one) for name, one in quantities().items()},
        "families": {name: [one.name for one in metrics.get(name).quantities] for name in metrics.names()},
        "measurements": [_measurement(one) for one in book.measurements],
    }
    return json.dumps(content, indent=1, sort_keys=True, allow_nan=False, ensure_ascii=False) + "\n"


def _method(method: Method, book: Book) -> dict[str, Any]:
    places = _coverage.by_condition(method)
    return {
        "name": method.name,
        "order": list(method.evidence.order),
        **({"reach": dict(method.evidence.reach)} if method.evidence.reach else {}),
        "runs": [
            {"directory": run, **dataclasses.asdict(header)}
            for run, header in zip(method.runs, method.headers, strict=True)
        ],
        "cells": dataclasses.asdict(_coverage.total(method)),
        "cells_by_condition": [
            {"condition": condition, "tier": tier, **dataclasses.asdict(count)}
            for (condition, tier), count in places.items()
        ],
    }


def _measurement(one: Measurement) -> dict[str, Any]:
    scope = {name: value for name, value in dataclasses.asdict(one.scope).items() if value is not None}
    value = dataclasses.asdict(one.value)
    per_seed = {str(seed): number for seed, number in value.pop("per_seed").items()}
    interval = None if one.value.interval is None else list(one.value.interval)
    return {
        "method": one.method,
        "quantity": one.quantity,
        "scope": scope,
        **value,
        "interval": interval,
        "per_seed": per_seed,
    }


def _csv(rows: list[list[Any]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()

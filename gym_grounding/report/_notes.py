"""What policies noted of their episodes beside their routes: whether the words changed it."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from gym_grounding.metrics.routing import is_route
from gym_grounding.records import EpisodeRecord
from gym_grounding.report import _captions
from gym_grounding.report._book import Book
from gym_grounding.report._results import METHOD, N
from gym_grounding.report._study import Method
from gym_grounding.report._table import Cell, Column, Table

_Start = tuple[str, int, int]
"""Task, initial state, seed."""


def notes_table(book: Book) -> Table | None:
    """Each note under the original and under other instructions at the same start; None where there is nothing to show.

    Routes have a table of their own (``_routing``). Whole numbers are compared for equality, others by their mean
    distance.
    """
    rows = [row for method in book.methods for row in _rows(method)]
    if not rows:
        return None
    columns = (
        METHOD,
        Column("note", "Note"),
        Column("condition", "Condition"),
        Column("changed", "Changed", "rate"),
        Column("distance", "Mean distance", "ratio"),
        N,
    )
    return Table("notes", "Notes of the policies", _captions.NOTES, columns, tuple(rows))


def _rows(method: Method) -> Iterator[tuple[Cell, ...]]:
    episodes = [one for one in method.evidence.episodes if one.stage == method.evidence.final_stage and one.notes]
    originals: Mapping[_Start, EpisodeRecord] = {_start(one): one for one in episodes if one.condition == "original"}
    for name in sorted({name for one in episodes for name, note in one.notes.items() if not is_route(name, note)}):
        for condition in sorted({one.condition for one in episodes} - {"original"}):
            pairs = [
                (originals[_start(one)].notes[name], one.notes[name])
                for one in episodes
                if one.condition == condition and name in one.notes and name in _notes(originals, one)
            ]
            if pairs:
                yield method.name, name, condition, *_compared(pairs), len(pairs)


def _compared(pairs: list[tuple[Any, Any]]) -> tuple[float | None, float | None]:
    """Share of pairs that differ, for whole numbers; mean distance, for others."""
    if all(type(value) is int for pair in pairs for value in pair):
        return sum(one != other for one, other in pairs) / len(pairs), None
    return None, statistics.fmean(_distance(one, other) for one, other in pairs)


def _distance(one: Any, other: Any) -> float:
    """Mean absolute difference; lists of different lengths are filled up with zeros."""
    first, second = (np.atleast_1d(np.asarray(value, np.float64)) for value in (one, other))
    size = max(len(first), len(second))
    first, second = (np.pad(value, (0, size - len(value))) for value in (first, second))
    return float(np.abs(first - second).mean()) if size else 0.0


def _start(episode: EpisodeRecord) -> _Start:
    return episode.task, episode.init_state, episode.seed


def _notes(originals: Mapping[_Start, EpisodeRecord], episode: EpisodeRecord) -> Mapping[str, Any]:
    original = originals.get(_start(episode))
    return {} if original is None else original.notes

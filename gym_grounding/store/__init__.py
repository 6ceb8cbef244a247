"""A run on disk: one SQLite file, one row per record, each committed before the next is begun.

``RUN/run.sqlite`` can be opened with any SQLite tool: the columns repeat what one wants to filter by, ``json`` holds
the whole record. ``RUN/run.lock`` names the process that writes. Reading needs no lock and works while a run goes on.
"""

from __future__ import annotations

from gym_grounding.store._file import FILE
from gym_grounding.store._headers import JOINED, merge_headers
from gym_grounding.store._kinds import group_errors
from gym_grounding.store._salvage import salvage
from gym_grounding.store._store import RunStore

__all__ = ["FILE", "JOINED", "RunStore", "group_errors", "merge_headers", "salvage"]

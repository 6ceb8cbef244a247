"""Which errors are one and the same."""

from __future__ import annotations

import re
from collections.abc import Iterable

from gym_grounding.records import ErrorRecord


def group_errors(errors: Iterable[ErrorRecord]) -> tuple[tuple[ErrorRecord, ...], ...]:
    """Errors whose kind and message agree but for cells and steps, together; the largest group first."""
    groups: dict[tuple[str, str], list[ErrorRecord]] = {}
    for error in errors:
        # a batch names all its cells, each as stage/variant/init state/seed
        text = re.sub(r"(\d+/[\w-]+/\d+/\d+( at step \d+|, step \d+)?(, )?)+", "CELL ", error.message)
        groups.setdefault((error.kind, text), []).append(error)
    return tuple(tuple(group) for group in sorted(groups.values(), key=len, reverse=True))

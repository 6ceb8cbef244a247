"""Control conditions: sentences outside the cells, made by rule from the canonical ones; one module per control."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gym_grounding.types import Goal
from gym_grounding.variants.controls import negated, noise, null, reverse, shuffled, swap
from gym_grounding.variants.types import Judgement

if TYPE_CHECKING:
    from gym_grounding.variants.definitions import Definitions
    from gym_grounding.variants.evidence import Evidence

__all__ = ["goals", "rows"]

_CONTROLS = (swap, null, shuffled, negated, noise, reverse)


def rows(definitions: Definitions, evidence: Evidence) -> tuple[Judgement, ...]:
    """Every control row that may be registered, and every swap that may not, with its reason.

    Ordered by control, task, and within a task by the index of the other task (swap), by the number of errors (noise)
    or by what is asked for (reverse: the state that is not so, then the one that is). Rows are numbered in this order.
    """
    return tuple(row for control in _CONTROLS for row in control.rows(definitions, evidence))


def goals(definitions: Definitions, evidence: Evidence) -> Mapping[str, tuple[Goal, ...]]:
    """Task id -> goals that ``rows`` will have counted, so that they can be measured in one pass."""
    tasks = definitions.tasks.values()
    return {task.id: swap.goals(task, definitions, evidence.layout(task)) for task in tasks}

"""What the controls share: how a row is written and how its random numbers are seeded."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import numpy as np

from gym_grounding.types import Task
from gym_grounding.variants.types import Judgement, Proposal

SOURCE = "rules/1"


def accepted(task: Task, condition: str, instruction: str, row: Mapping[str, object] | None = None) -> Judgement:
    """A row that may be registered."""
    return Judgement(Proposal(task.id, condition, None, instruction, source=SOURCE), row=row or {})


def generator(condition: str, task: Task) -> np.random.Generator:
    """Random numbers that depend on the condition and the task alone, the same in every process."""
    digest = hashlib.sha256(f"{condition} {task.id}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))

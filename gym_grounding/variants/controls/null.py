"""No instruction at all: what the scene alone sets off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gym_grounding.variants.controls._base import accepted
from gym_grounding.variants.types import Judgement

if TYPE_CHECKING:
    from gym_grounding.variants.definitions import Definitions
    from gym_grounding.variants.evidence import Evidence


def rows(definitions: Definitions, evidence: Evidence) -> tuple[Judgement, ...]:
    """One row per task, with an empty text."""
    return tuple(accepted(task, "null", "") for task in definitions.tasks.values())

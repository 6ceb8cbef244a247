"""Negated orders: "do not" before every order of the canonical instruction, so that its goal must stay unmet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gym_grounding.variants.controls._base import accepted
from gym_grounding.variants.types import Judgement

if TYPE_CHECKING:
    from gym_grounding.variants.definitions import Definitions
    from gym_grounding.variants.evidence import Evidence

VERBS = ("close", "open", "pick up", "place", "push", "put", "turn on")
"""What an order of a canonical instruction begins with."""
_JOINT = re.compile(rf" and (?=(?:{'|'.join(VERBS)})\b)")


def rows(definitions: Definitions, evidence: Evidence) -> tuple[Judgement, ...]:
    """One row per task."""
    return tuple(accepted(task, "negated", negated(task.instruction)) for task in definitions.tasks.values())


def negated(text: str) -> str:
    """A sentence of one or two orders with each of them forbidden.

    Both are, since "do not pick up the milk and place it in the basket" leaves open whether the second order stands.
    """
    return " and ".join(f"do not {order}" for order in _JOINT.split(text))

"""What asks for instructions, and what answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from gym_grounding.errors import GroundingError
from gym_grounding.types import SceneFacts, Task
from gym_grounding.variants.types import Proposal

ASKED = 8
"""Sentences that a model is asked for per cell: more than are kept, since some are refused."""


class ProposerError(GroundingError, RuntimeError):
    """A proposer that cannot answer: an endpoint that fails, a reply that is none, a model that cannot be loaded."""


@dataclass(frozen=True, slots=True)
class ProposalRequest:
    """A cell that wants instructions. It never holds anything that a policy did.

    Attributes:
        task: the task, with its canonical instruction and its slots.
        scene: the scene in which it lives.
        condition: ``paraphrase``, ``contrast`` or ``collision``.
        slot: the slot to change (contrast, collision), else None.
        count: how many sentences a model is asked for; rules give all that they have.
        avoid: sentences that are taken already, in order.
    """

    task: Task
    scene: SceneFacts
    condition: str
    slot: str | None = None
    count: int = ASKED
    avoid: tuple[str, ...] = ()


@runtime_checkable
class Proposer(Protocol):
    """A source of sentences. The validator trusts none of them."""

    @property
    def name(self) -> str:
        """Kind and version or model, such as ``rules/1``, ``openai:MODEL`` or ``local:MODEL``."""
        ...

    def propose(self, request: ProposalRequest) -> tuple[Proposal, ...]:
        """Sentences for one cell, in order of preference; empty when there is nothing to say."""
        ...

"""Sentences from frames and the scene's lexicon: the proposer of the shipped registry, which needs nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gym_grounding.variants.proposers import _prompt, collisions, contrasts, paraphrases
from gym_grounding.variants.proposers._base import ProposalRequest
from gym_grounding.variants.types import Proposal

if TYPE_CHECKING:
    from gym_grounding.variants.definitions import Definitions
    from gym_grounding.variants.evidence import Evidence


class RuleProposer:
    """Everything that the rules have to say about a cell, whatever the number asked for.

    Args:
        definitions: the suites, since a noun is judged by what the other tasks speak of; None loads LIBERO's when they
            are first needed.
        evidence: knows where things stand, so that a thing is told only by a place where it is; None tells it by every
            place and leaves the rest to the validator.
    """

    name = "rules/1"

    def __init__(self, definitions: Definitions | None = None, evidence: Evidence | None = None) -> None:
        self._definitions, self._evidence = definitions, evidence

    def propose(self, request: ProposalRequest) -> tuple[Proposal, ...]:
        """Sentences for one cell, in order of preference, without those to be avoided.

        Raises:
            InvalidOption: the request makes no sense.
            MissingSource, WrongVersion, SimulatorError: LIBERO's definitions or a layout are needed and cannot be had.
        """
        _prompt.check(request)
        if request.condition == "paraphrase":
            return paraphrases.propose(request)
        if request.condition == "collision":
            return collisions.propose(request, self._known())
        layout = self._evidence.layout(request.task) if self._evidence is not None else None
        return contrasts.propose(request, self._known(), layout)

    def _known(self) -> Definitions:
        if self._definitions is None:
            from gym_grounding.variants import definitions

            self._definitions = definitions.load()
        return self._definitions


PROPOSER = RuleProposer

"""Judges what was proposed; trusts no proposer. One judge per condition, all with the same words for a refusal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gym_grounding.errors import UnknownName
from gym_grounding.types import SceneFacts, Task
from gym_grounding.variants.types import Judgement, Proposal

if TYPE_CHECKING:
    from gym_grounding.variants.audit import Audit
    from gym_grounding.variants.definitions import Definitions
    from gym_grounding.variants.evidence import Evidence, Questions

__all__ = ["JUDGED", "Context", "judge", "questions", "unavailable"]

JUDGED = ("collision", "contrast", "paraphrase")
"""Conditions whose rows are proposed and judged; controls are made by rule."""


@dataclass(frozen=True, slots=True)
class Context:
    """What a judge may look at.

    Attributes:
        definitions: scenes and tasks.
        evidence: answers of the simulator.
        audit: the second reading of paraphrases; None leaves it out.
        siblings: sentences of the task that are registered already, canonical one included.
    """

    definitions: Definitions
    evidence: Evidence
    audit: Audit | None = None
    siblings: tuple[str, ...] = ()

    def with_siblings(self, siblings: Iterable[str]) -> Context:
        """The same with other sentences that are registered already."""
        return replace(self, siblings=tuple(siblings))


def judge(proposal: Proposal, context: Context) -> Judgement:
    """Whether a proposal may be registered, and what is written of it.

    Raises:
        UnknownName: no such task, or a condition that is not judged.
        MissingSource, SimulatorError: evidence that is needed cannot be had.
    """
    task, scene = _place(proposal, context)
    if proposal.condition == "paraphrase":
        from gym_grounding.variants.validator import paraphrase

        return paraphrase.judge(proposal, task, scene, context.siblings, context.audit)
    if proposal.condition == "contrast":
        from gym_grounding.variants.validator import contrast

        return contrast.judge(proposal, task, scene, context.evidence, context.definitions)
    from gym_grounding.variants.validator import collision

    return collision.judge(proposal, task, scene, context.evidence, context.definitions)


def questions(proposal: Proposal, context: Context) -> Questions:
    """What judging the proposal will ask the simulator besides the layout, so that it can be measured in one pass.

    Raises:
        UnknownName: as ``judge``.
        MissingSource, SimulatorError: the layout cannot be had.
    """
    from gym_grounding.variants.evidence import Questions

    task, scene = _place(proposal, context)
    if proposal.condition == "contrast":
        from gym_grounding.variants.validator import contrast

        goal = contrast.questions(proposal, task, scene, context.evidence.layout(task), context.definitions)
        return Questions(goals=(goal,) if goal is not None else ())
    if proposal.condition == "collision":
        from gym_grounding.variants.validator import collision

        asked = collision.questions(proposal, task, scene, context.evidence.layout(task), context.definitions)
        return Questions(impossibles=asked)
    return Questions(layout=False)


def unavailable(condition: str, task: Task, scene: SceneFacts, slot: str) -> tuple[str, str]:
    """Why nothing is proposed for a cell: (reason code, words).

    Raises:
        UnknownName: a condition without slots.
    """
    from gym_grounding.variants.proposers import collisions, contrasts

    sources = {"collision": collisions.unavailable, "contrast": contrasts.unavailable}
    if condition not in sources:
        raise UnknownName("condition with slots", condition, sources)
    return sources[condition](task, scene, slot)


def _place(proposal: Proposal, context: Context) -> tuple[Task, SceneFacts]:
    if proposal.condition not in JUDGED:
        raise UnknownName("judged condition", proposal.condition, JUDGED, proposal.instruction[:80])
    return context.definitions.task(proposal.task), context.definitions.scene_of(proposal.task)

"""Whether a sentence says what the canonical instruction says, in other words.

In this order: written form, no near copy, nothing else named than in the canonical text, the same meaning by the
parser of ``language`` (audit A) and by a dependency parse (audit B). Either audit alone lets bad sentences through or
could; a sentence needs both. What they refuse although it is right is refused all the same, unless ``manual`` lists it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gym_grounding.conditions import _text
from gym_grounding.conditions.paraphrase import CONDITION
from gym_grounding.conditions.paraphrase import MANUAL as BY_HAND
from gym_grounding.types import SceneFacts, Task, Variant
from gym_grounding.variants.audit import Audit
from gym_grounding.variants.language import meaning, parser
from gym_grounding.variants.manual import MANUAL
from gym_grounding.variants.types import Judgement, Proposal


def judge(
    proposal: Proposal,
    task: Task,
    scene: SceneFacts,
    siblings: Sequence[str],
    audit: Audit | None,
    manual: Mapping[tuple[str, str], str] = MANUAL,
) -> Judgement:
    """Whether a paraphrase may be registered.

    Args:
        proposal: the sentence.
        task: its task.
        scene: the task's scene.
        siblings: sentences of the task that are registered already; the canonical one counts as one in any case.
        audit: the dependency parse; None leaves it out, for a first look without spaCy.
        manual: (task id, sentence) -> why a person accepts it although an audit refuses it.

    Returns:
        Reason ``surface``, ``redundant``, ``other_meaning`` or ``audit_refused``, or none.

    Raises:
        MissingAudit: spaCy or its model is not installed.
    """
    text = proposal.instruction
    problems = _text.surface(_row(proposal))
    if problems:
        return Judgement(proposal, "surface", problems[0].message)
    copied = next((other for other in (task.instruction, *siblings) if _text.redundant(text, other)), None)
    if copied is not None:
        return Judgement(proposal, "redundant", f"a near copy of {copied!r}")
    reason, note = _heard(text, task, scene, audit)
    accepted = manual.get((task.id, text)) if reason else None
    if accepted is not None:
        proposal_row = {"audit": BY_HAND, "audit_reason": accepted}
        return _registrable(proposal, task, scene, Judgement(proposal, row=proposal_row))
    return Judgement(proposal, reason, note) if reason else _registrable(proposal, task, scene, Judgement(proposal))


def _heard(text: str, task: Task, scene: SceneFacts, audit: Audit | None) -> tuple[str, str]:
    """(reason code, words) of the first audit that hears something else; empty when both agree."""
    canonical, parsed = parser.parse(task.instruction, scene), parser.parse(text, scene)
    if not meaning.same_meaning(parsed, canonical):
        return "other_meaning", meaning.explain(parsed, canonical)
    objection = audit.agrees(text, task.instruction, scene) if audit is not None else ""
    return ("audit_refused", objection) if objection else ("", "")


def _registrable(proposal: Proposal, task: Task, scene: SceneFacts, judgement: Judgement) -> Judgement:
    """The judgement, or a refusal where the registry's own check of the row would fail."""
    row = _row(proposal, judgement.row)
    problems = CONDITION.violations(row, task, scene)
    if not problems:
        return judgement
    return Judgement(proposal, "other_meaning", f"{problems[0].field} {problems[0].message}")


def _row(proposal: Proposal, details: Mapping[str, object] | None = None) -> Variant:
    kind = proposal.kind or "unknown"
    return Variant("", proposal.task, "paraphrase", None, 1, proposal.instruction, kind=kind, details=details or {})

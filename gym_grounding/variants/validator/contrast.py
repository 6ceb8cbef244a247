"""Judges proposed contrasts: anew from the sentence, by rules in a fixed order, with what was measured.

The goal that a proposal claims is only compared. Rules that need nothing but the layout come first; the simulator is
asked about what they let through. A rule that a permissive contrast may break is no reason to refuse, but the tier says
so. Order of the rules and their codes: ``_goal_rules.RULES``, then ``already_true``, ``no_witness``,
``original_holds``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gym_grounding.types import Goal, SceneFacts, Task
from gym_grounding.variants.definitions import Definitions
from gym_grounding.variants.evidence import Evidence
from gym_grounding.variants.types import GoalCount, Judgement, Layout, Proposal, Witness
from gym_grounding.variants.validator import _certificate, _goal_rules
from gym_grounding.variants.validator._reading import Finding, Reading, changed, read

_TIER_CODES = ("several_slots", "on_path", "added_predicate", "already_true")
"""Codes of a permissive tier, in the order in which they are told."""


def judge(proposal: Proposal, task: Task, scene: SceneFacts, evidence: Evidence, definitions: Definitions) -> Judgement:
    """What the rules say of a proposed contrast.

    Returns:
        Accepted with tier, registry fields and rank; or refused with the code and the words of the first rule that
        nothing forgives. A refused one keeps the goal that its sentence asks for, if that is certain.
    """
    reading = read(proposal, task, scene, evidence.layout(task))
    goal, findings = reading.goal, list(_static(reading))
    if goal is None or _fatal(findings):
        return _refused(reading, findings)
    count = evidence.count(task, goal)
    findings += _already_true(goal, count, task)
    if _fatal(findings):
        return _refused(reading, findings)
    witness = evidence.witness(task, goal)
    findings += _without_witness(witness, task)
    if _fatal(findings):
        return _refused(reading, findings)
    return _accepted(reading, goal, findings, _certificate.Measured(count, witness), definitions)


def questions(
    proposal: Proposal, task: Task, scene: SceneFacts, layout: Layout, definitions: Definitions
) -> Goal | None:
    """The goal that the simulator would be asked about if the proposal were judged; None when it would not be asked."""
    reading = read(proposal, task, scene, layout)
    return None if reading.goal is None or _fatal(list(_static(reading))) else reading.goal


def _static(reading: Reading) -> Iterator[Finding]:
    for rule in _goal_rules.RULES:
        yield from rule(reading)


def _fatal(findings: list[Finding]) -> list[Finding]:
    return [finding for finding in findings if not finding.forgiven]


def _refused(reading: Reading, findings: list[Finding]) -> Judgement:
    first = _fatal(findings)[0]
    row: Mapping[str, object] = {"goal": reading.goal} if reading.goal is not None else {}
    return Judgement(reading.proposal, first.code, first.note, row=row)


def _already_true(goal: Goal, count: GoalCount, task: Task) -> Iterator[Finding]:
    """False in every initial state, raw, settled, and read with tolerance.

    A goal that is true by tolerance alone may pass as permissive when all of it asks for the state of rest which the
    original task leaves: it is then the reverse of the original, not an accident of the scene.
    """
    shown = f"raw {count.raw}, settled {count.settled}, with tolerance {count.tolerant} of {count.of}"
    if count.raw or count.settled:
        yield Finding("already_true", f"{goal.id} holds in initial states: {shown}")
    elif count.tolerant:
        reverse = count.tolerant == count.of and all(_goal_rules.rests(one, task.goal) for one in goal.all_of)
        note = (
            f"{goal.id} is so from the start ({shown}), so standing still is right; only its threshold reads it false"
        )
        yield Finding("already_true", note, forgiven=reverse)


def _without_witness(witness: Witness, task: Task) -> Iterator[Finding]:
    if not witness.found:
        yield Finding("no_witness", f"no state with the goal true was found in {witness.tried} placements")
    elif witness.original:
        note = f"in the state that shows it ({witness.placement}) the original {task.goal.id} holds too"
        yield Finding("original_holds", note)


def _accepted(
    reading: Reading, goal: Goal, findings: list[Finding], measured: _certificate.Measured, definitions: Definitions
) -> Judgement:
    tier = "permissive" if findings else "strict"
    codes = {finding.code for finding in findings}
    certificate = _certificate.certificate(reading, goal, codes, measured, definitions)
    old, new = changed(reading.proposal, reading.task)
    row: dict[str, object] = {"changed": {"from": old, "to": new}, "goal": goal, "tier": tier}
    told = _told(findings)
    if told:
        row["tier_reason"] = told
    if codes & {"on_path", "added_predicate"}:
        row["judged"] = "end"
    row["certificate"] = certificate
    note = _remark(reading)
    if note:
        row["note"] = note
    rank = (int(tier != "strict"), *_certificate.rank(certificate))
    return Judgement(reading.proposal, "", told or note, tier, row, rank)


def _told(findings: list[Finding]) -> str:
    """Code and words of every rule that a permissive contrast breaks; empty for none."""
    ordered = sorted(findings, key=lambda finding: _TIER_CODES.index(finding.code))
    codes = [finding.code for finding in ordered]
    listed = " and ".join(filter(None, [", ".join(codes[:-1]), codes[-1]])) if codes else ""
    return f"{listed}: {'; '.join(finding.note for finding in ordered)}" if ordered else ""


def _remark(reading: Reading) -> str:
    """What a reader could stumble over in a sentence that passed."""
    if reading.proposal.slot != "target" or len(reading.parse.clauses) != len(reading.canonical.clauses):
        return ""
    for one, other in zip(reading.canonical.clauses, reading.parse.clauses, strict=True):
        if one.preposition != other.preposition and one.relation == other.relation:
            return f"{one.preposition!r} and {other.preposition!r} name one relation; the preposition follows its noun"
    return ""

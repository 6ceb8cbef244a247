"""Validator of collisions: exactly one slot changes, and the scene cannot give what the new words ask for."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from gym_grounding import conditions
from gym_grounding.types import SLOTS, SceneFacts, Task, Variant
from gym_grounding.variants.language import meaning, parser
from gym_grounding.variants.types import Clause, Judgement, Layout, Proposal
from gym_grounding.variants.validator._absence import RULES, relation_questions
from gym_grounding.variants.validator._case import Absence, Case, Known, Refused, asks_for
from gym_grounding.variants.validator._doable import doable, lift, words_of

if TYPE_CHECKING:
    from gym_grounding.variants.definitions import Definitions
    from gym_grounding.variants.evidence import Evidence

NO_SLOT = {
    "action": ("frame_has_no_action", "The instruction has no action."),
    "object": ("frame_has_no_object", "The instruction has no object."),
    "relation": ("frame_has_no_relation", "The instruction has no relation."),
    "target": ("frame_has_no_target", "The instruction has no target."),
    "attribute": ("no_attribute_word", "The instruction has no attribute word to replace; a new one would add a slot."),
}
"""Slot -> reason code and note where the canonical instruction has no such part."""


def judge(proposal: Proposal, task: Task, scene: SceneFacts, evidence: Evidence, definitions: Definitions) -> Judgement:
    """Whether a proposal may be registered as a collision of ``proposal.slot``.

    The rules, in this order; the first that fails gives the reason code: written form (``surface``); a slot that the
    canonical text has; a certain meaning (``unresolved``, ``negated``); nothing that the scene can show (``possible``,
    ``present``, ``same_goal``); no part that contains the whole original goal (``satisfiable``); exactly the declared
    slot changed (``several_slots``); and that slot's rule of absence.
    """
    try:
        case = _read(proposal, task, scene)
        known = Known(definitions, evidence, evidence.layout(task))
        _check_whole(case, known)
        part = doable(case, known)
        _check_part(part, case, known)
        _check_one_slot(case)
        absence = RULES[case.slot](case, known)
    except Refused as refused:
        return Judgement(proposal, refused.reason, refused.note)
    words = words_of(part, case) or (lift(case, known) if case.slot == "target" else None)
    return Judgement(proposal, row=_row(absence, words, case))


def questions(
    proposal: Proposal, task: Task, scene: SceneFacts, layout: Layout | None, definitions: Definitions
) -> tuple[tuple[str, str, str], ...]:
    """(subject, relation, reference) of every placement that the simulator must show to be impossible for ``judge``."""
    try:
        case = _read(proposal, task, scene)
        _check_one_slot(case)
        return relation_questions(case) if case.slot == "relation" else ()
    except Refused:
        return ()


def _read(proposal: Proposal, task: Task, scene: SceneFacts) -> Case:
    slot, text = proposal.slot, proposal.instruction
    if slot not in SLOTS:
        raise Refused("no_slot", f"names no slot; one of {', '.join(SLOTS)} must change")
    variant = Variant("", task.id, "collision", slot, 1, text)
    for violation in conditions.get("collision").violations(variant, task, scene):
        if violation.code in ("surface", "chatter"):
            raise Refused("surface", f"{violation.field} {violation.message}")
    if getattr(task.slots, slot) is None:
        raise Refused(*NO_SLOT[slot])
    asked = parser.parse(text, scene)
    if asked.unresolved:
        raise Refused("unresolved", f"leaves open: {', '.join(map(repr, asked.unresolved))}")
    if asked.negated:
        raise Refused("negated", "is negated: what it forbids may be absent or not")
    return Case(proposal, task, scene, slot, parser.parse(task.instruction, scene), asked)


def _check_whole(case: Case, known: Known) -> None:
    goal = asks_for(case.asked.clauses, case.scene, known.layout)
    if goal and goal == asks_for(case.original.clauses, case.scene, known.layout):
        raise Refused("same_goal", "asks for what the canonical instruction asks for")
    if goal:
        literals = " & ".join(sorted(map(str, goal)))
        reason = "present" if case.slot in ("object", "target", "attribute") else "possible"
        raise Refused(reason, f"the scene can show all of it: {literals}")


def _check_part(part: tuple[Clause, ...], case: Case, known: Known) -> None:
    """Who does what can be done of the sentence must not thereby do the original task."""
    original = asks_for(case.original.clauses, case.scene, known.layout)
    if original and asks_for(part, case.scene, known.layout) >= original:
        raise Refused("satisfiable", f"{words_of(part, case)!r} can be done and is all of the original goal")


def _check_one_slot(case: Case) -> None:
    slots = meaning.differing_slots(case.original, case.asked)
    if not slots:
        raise Refused("same_goal", "means what the canonical instruction means")
    # A phrase that picks the object by its place counts as part of the object; its relation is the one exchanged here.
    if slots == {case.slot} or (case.slot == "relation" and slots == {"object"} and _place_differs(case)):
        return
    raise Refused(
        "several_slots", f"differs in {', '.join(sorted(slots))}: {meaning.explain(case.original, case.asked)}"
    )


def _place_differs(case: Case) -> bool:
    """Whether the objects differ in how they stand to what tells which is meant, and in nothing but that place."""
    pairs = [(one, other) for slot, one, other in case.phrases() if slot == "object" and one != other]
    return bool(pairs) and all(
        (one.noun, one.attribute, one.entities) == (other.noun, other.attribute, other.entities)
        and one.reference is not None
        and other.reference is not None
        and "of" not in (one.reference[0], other.reference[0])
        and one.reference[0] != other.reference[0]
        for one, other in pairs
    )


def _row(absence: Absence, part: str | None, case: Case) -> dict[str, object]:
    absent: dict[str, object] = {"kind": absence.kind}
    if absence.noun is not None:
        absent |= {"noun": absence.noun, "trained_noun": absence.trained}
    if part is not None:
        absent["satisfiable_part"] = part
    if absence.shown:
        absent["shown"] = dict(absence.shown)
    row: dict[str, object] = {"changed": changed(case.task.instruction, case.asked.text), "absent": absent}
    return row | ({"note": f"{absence.note[0].upper()}{absence.note[1:]}."} if absence.note else {})


def changed(old: str, new: str) -> dict[str, str]:
    """The words in which two sentences differ, as ``{"from": ..., "to": ...}``; neither is empty.

    Where words were only added or left out, the word before them (after them at the beginning) is taken along.
    """
    one, other = old.split(), new.split()
    start = _common(one, other)
    end = _common(one[start:][::-1], other[start:][::-1])
    first, second = one[start : len(one) - end], other[start : len(other) - end]
    if not (first and second):
        before = one[start - 1 : start] if start else []
        after = [] if start else one[len(one) - end :][:1]
        first, second = [*before, *first, *after], [*before, *second, *after]
    return {"from": " ".join(first), "to": " ".join(second)}


def _common(one: list[str], other: list[str]) -> int:
    """Number of words with which both begin."""
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))

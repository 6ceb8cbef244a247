"""Every reason code that a registry may carry, in words, and the order in which the checks of a condition are made."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gym_grounding.types import Variant
from gym_grounding.variants._tables import Table


@dataclass(frozen=True, slots=True)
class Reason:
    """One code.

    Attributes:
        refused: what is wrong with a sentence that carries it, or why a cell is empty.
        kept: the same rule kept, said of a registered sentence; empty for what is no rule.
    """

    refused: str
    kept: str = ""


_SURFACE = Reason(
    "is not in the written form",
    "it is written in 3 to 40 lower-case words a to z with single spaces",
)
_UNRESOLVED = Reason(
    "leaves a word or phrase open",
    "every word of it has a part in its meaning",
)
_SLOTS = Reason("changes more than the declared slot", "nothing but the declared slot differs in meaning")
_SAME_GOAL = Reason("asks for the original goal", "it asks for something else than the original")

PARAPHRASE: Mapping[str, Reason] = {
    "surface": _SURFACE,
    "redundant": Reason(
        "is a near copy of the canonical text or of a paraphrase before it",
        "it is no near copy of the canonical text or of another paraphrase",
    ),
    "other_meaning": Reason(
        "does not mean the same by the lexicon's parser",
        "the lexicon's parser gives it the meaning of the canonical text",
    ),
    "audit_refused": Reason(
        "does not mean the same by the dependency parse",
        "the dependency parse gives it the meaning of the canonical text",
    ),
}
CONTRAST: Mapping[str, Reason] = {
    "surface": _SURFACE,
    "unknown_entity": Reason(
        "names something that the scene does not have", "everything that it names is in the scene"
    ),
    "negated": Reason("forbids, excepts or asks for the opposite", "it orders something"),
    "ambiguous": Reason("has a phrase that fits several things", "each phrase fits one thing of the settled scene"),
    "unresolved": _UNRESOLVED,
    "no_referent": Reason("has a phrase that fits nothing", "each phrase fits something in every settled state"),
    "unsupported": Reason(
        "asks for something that no predicate says of these things",
        "each predicate of its goal makes sense for its arguments",
    ),
    "wrong_goal": Reason(
        "asks for another goal than its proposer claims", "it asks for the very goal that stands in its row"
    ),
    "same_goal": _SAME_GOAL,
    "implied": Reason("asks for a part of the original goal", "its goal is no part of the original one"),
    "extends": Reason("asks for the original goal and more", "its goal does not contain the original one"),
    "wrong_slot": Reason("does not change the declared slot", "the declared slot changes"),
    "several_slots": _SLOTS,
    "no_place": Reason(
        "asks for a place that is taken or out of reach", "the place that it asks for is free and within reach"
    ),
    "burdened": Reason(
        "moves something that carries another thing",
        "what is to be moved carries nothing",
    ),
    "on_path": Reason(
        "asks for something through which the original task passes",
        "who does the original task does not pass through its goal",
    ),
    "manner": Reason("asks for something that its verb cannot bring about", "its verb can bring its goal about"),
    "added_predicate": Reason(
        "asks for something for which only the suite has a predicate", "the simulator's own predicates say its goal"
    ),
    "threshold": Reason(
        "asks in part for a state of rest that reads false although it is so",
        "no part of its goal reads false although it is so",
    ),
    "already_true": Reason(
        "asks for something that holds in initial states", "its goal is false in every initial state"
    ),
    "no_witness": Reason(
        "asks for something that no placement could show", "a state with its goal true was found by placing objects"
    ),
    "original_holds": Reason(
        "is shown only by a state in which the original goal holds too", "the original goal is false in that state"
    ),
}
COLLISION: Mapping[str, Reason] = {
    "no_slot": Reason("names no slot", "it declares the slot that changes"),
    "surface": _SURFACE,
    "unresolved": _UNRESOLVED,
    "negated": Reason("is negated: what it forbids may be absent or not", "it orders something"),
    "same_goal": _SAME_GOAL,
    "possible": Reason("asks for something that can be done", "the scene cannot give what it asks for"),
    "present": Reason("means something that the scene shows", "what it newly names is not in the scene"),
    "satisfiable": Reason(
        "has a part that can be done and is all of the original goal",
        "no part of it that can be done contains the whole original goal",
    ),
    "several_slots": _SLOTS,
    "unknown_noun": Reason(
        "has a noun of which the lexicon cannot say what else it may mean", "the lexicon knows its new noun"
    ),
    "background": Reason("means something in the background", "nothing in the background is called so"),
    "unknown_value": Reason(
        "has an attribute of which it is not known what has it", "what has its new attribute is known"
    ),
}
SWAP: Mapping[str, Reason] = {
    "unknown_entity": CONTRAST["unknown_entity"],
    "ambiguous": CONTRAST["ambiguous"],
    "unresolved": _UNRESOLVED,
    "unsupported": Reason(
        "asks for something that no predicate says of what this scene has", "this scene's own predicates say its goal"
    ),
    "same_goal": _SAME_GOAL,
    "implied": CONTRAST["implied"],
    "already_true": CONTRAST["already_true"],
}
NOTHING: Mapping[str, Reason] = {
    "frame_has_no_action": Reason("the instruction has no action"),
    "frame_has_no_object": Reason("the instruction has no object"),
    "frame_has_no_relation": Reason("the instruction has no relation"),
    "frame_has_no_target": Reason("the instruction has no target"),
    "no_attribute_word": Reason("the instruction has no attribute word to replace; a new one would add a slot"),
    "no_other_action": Reason("no other action keeps the things and the place"),
    "no_other_value": Reason("no other thing of the kind is told by another word"),
    "one_of_a_kind": Reason("nothing of another kind in the scene takes that part"),
    "not_proposed": Reason("no sentence was proposed"),
    "not_chosen": Reason("passes every check, but another sentence fills the cell"),
}
"""Codes that are no rule: nothing was proposed, or something better was."""
FOREIGN: Mapping[str, Reason] = {
    "repeated": Reason("is the text of an earlier line"),
    "too_many": Reason("comes after 999 others of its task, condition and slot"),
}
"""Codes that only the import of sentences gives."""
RULES: Mapping[str, Mapping[str, Reason]] = {
    "paraphrase": PARAPHRASE,
    "contrast": CONTRAST,
    "collision": COLLISION,
    "swap": SWAP,
}
"""Condition -> code -> rule, in the order of the checks; the first rule that fails names the refusal."""
_ONLY: Mapping[str, tuple[str, ...]] = {
    "unknown_noun": ("object", "target"),
    "background": ("object", "target"),
    "unknown_value": ("attribute",),
}
"""Rules of a collision that only these slots have."""


def meaning(code: str, condition: str = "") -> str:
    """A code in words; empty for a code that is not known."""
    groups = [RULES.get(condition, {}), *RULES.values(), NOTHING, FOREIGN]
    return next((group[code].refused for group in groups if code in group), "")


def broken(tier_reason: str) -> tuple[str, ...]:
    """Codes at the head of the reason of a permissive row, such as ``several_slots and on_path: ...``."""
    return tuple(re.findall(r"[a-z_]+", re.sub(r",? and |, ", " ", tier_reason.partition(":")[0])))


def rules(variant: Variant) -> Iterator[str]:
    """The rules of its condition that a registered sentence keeps, in the order of the checks, as ``code: words``."""
    left_out = {*broken(variant.tier_reason), *_unasked(variant)}
    for code, reason in RULES.get(variant.condition, {}).items():
        if code not in left_out and variant.slot in _ONLY.get(code, (variant.slot,)):
            yield f"{code}: {reason.kept}"


def _unasked(variant: Variant) -> tuple[str, ...]:
    """Rules that say nothing of a row: nothing stays lifted, so a lift has no witness; a person overrode a reading."""
    certificate = variant.details.get("certificate")
    if variant.condition == "contrast" and not (isinstance(certificate, dict) and "witness" in certificate):
        return ("no_witness", "original_holds")
    if variant.details.get("audit") == "manual":
        return ("other_meaning", "audit_refused")
    return ()


def tables() -> tuple[Table, ...]:
    """Every code: the checks of each condition in order, then what is no check."""
    header = ("code", "the sentence")
    checks = [
        Table(
            f"Checks of a {name}",
            "In this order; the first that fails gives the code.",
            header,
            tuple((code, reason.refused) for code, reason in group.items()),
        )
        for name, group in RULES.items()
    ]
    nothing = tuple((code, reason.refused) for code, reason in NOTHING.items())
    return (
        *checks,
        Table("Not a check", "Why nothing was proposed, or something better was.", ("code", "why"), nothing),
    )

"""Rules about wording that several conditions share."""

from __future__ import annotations

import itertools
import re

from gym_grounding.conditions._base import Violation
from gym_grounding.types import SLOTS, Task, Variant

MAX_BYTES = 256
"""Length of the observation that carries an instruction [bytes]."""
MIN_WORDS, MAX_WORDS = 3, 40
REDUNDANT = 0.8
"""Bigram overlap from which two sentences count as one."""
_DETAILS = ("also", "changed", "instruction_of", "errors", "absent", "certificate", "audit", "audit_reason")
"""Further fields of a row that only some conditions know."""
_SURFACE = re.compile(r"[a-z]+(?: [a-z]+)*")
_POLITE = re.compile(r"^(?:(?:please|kindly|can|could|would|will|you)\s+)+")
# What a language model says around its answer; no order to a robot needs these words.
_CHATTER = frozenset(["assistant", "certainly", "instruction", "instructions", "json", "paraphrase", "paraphrased"])
_CHATTER |= frozenset(["rephrase", "rephrased", "reworded", "rewording", "sentence", "sentences", "sure"])
UNSTRESSED = frozenset(["the", "a", "an", "to", "of", "that", "this", "it", "its"])
_PRONOUNS = frozenset(["it", "them"])
# Words that belong to any slot: a preposition follows its noun ("on the rack", "on top of the cabinet").
_FUNCTION = UNSTRESSED | frozenset(["on", "onto", "in", "into", "inside", "top", "at", "from", "front", "and", "with"])


def fold(text: str) -> str:
    """The text without differences of case and spacing."""
    return " ".join(text.casefold().split())


def surface(variant: Variant) -> tuple[Violation, ...]:
    """Rules of written form: lower-case words a to z, single spaces, 3 to 40 words, no punctuation, no digits.

    All texts of a task then share case and end punctuation, so that a gap in behaviour is about meaning.
    """
    text = variant.instruction
    if not _SURFACE.fullmatch(text):
        odd = sorted(set(re.sub(r"[a-z ]", "", text)))
        where = f"found {', '.join(map(repr, odd[:8]))}" if odd else "found a space too many"
        return (Violation("instruction", "surface", f"must be lower-case words a to z with single spaces; {where}"),)
    words = len(text.split())
    if not MIN_WORDS <= words <= MAX_WORDS or len(text.encode()) > MAX_BYTES:
        limits = f"{MIN_WORDS} to {MAX_WORDS} words and at most {MAX_BYTES} bytes"
        return (Violation("instruction", "surface", f"has {words} words, {len(text)} bytes; must have {limits}"),)
    chatter = sorted(_CHATTER & set(text.split()))
    if chatter:
        message = f"speaks of itself ({', '.join(chatter)}); keep only what the robot is to do"
        return (Violation("instruction", "chatter", message),)
    return ()


def redundant(one: str, other: str) -> bool:
    """Whether two sentences are near copies: same stressed words in the same order, or overlapping bigrams.

    Compared without case, punctuation and leading politeness.
    """
    first, second = _normal(one), _normal(other)
    if [word for word in first if word not in UNSTRESSED] == [word for word in second if word not in UNSTRESSED]:
        return True
    left, right = _bigrams(first), _bigrams(second)
    return len(left & right) >= REDUNDANT * len(left | right)


def vocabulary(text: object) -> set[str]:
    """The different words of a text, in lower case; none for None."""
    return set(re.findall(r"[a-z]+", str(text or "").casefold()))


def contains(text: str, phrase: str) -> bool:
    """Whether the words of ``phrase`` occur in ``text``, adjacent and in order."""
    return f" {fold(phrase)} " in f" {fold(text)} "


def replacements(text: str, old: str, new: str) -> tuple[str, ...]:
    """``text`` with one occurrence of the phrase ``old`` replaced by ``new``, for each occurrence."""
    padded, found = f" {fold(text)} ", f" {fold(old)} "
    results: list[str] = []
    start = padded.find(found)
    while start >= 0:
        results.append(fold(f"{padded[:start]} {new} {padded[start + len(found) :]}"))
        start = padded.find(found, start + 1)
    return tuple(results)


def change(variant: Variant, task: Task) -> tuple[Violation, ...]:
    """Rules of ``changed``: there, about a slot that the canonical text has, and exactly what separates the texts."""
    if variant.slot is None:
        return (Violation("slot", "no_slot", f"is missing; name the changed slot: {', '.join(SLOTS)}"),)
    if getattr(task.slots, variant.slot) is None:
        return (Violation("slot", "frame_has_no_slot", f"{task.instruction!r} has no {variant.slot}; name one it has"),)
    changed = variant.details.get("changed")
    if not isinstance(changed, dict):
        return (Violation("changed", "no_change", "is missing; give the replaced words (from) and the new ones (to)"),)
    old, new = str(changed["from"]), str(changed["to"])
    if fold(old) == fold(new):
        return (Violation("changed", "same_words", f"replaces {old!r} by itself; give other words"),)
    if not contains(task.instruction, old):
        message = f"from {old!r} does not occur in {task.instruction!r}; quote its words"
        return (Violation("changed", "not_replaced", message),)
    if fold(variant.instruction) not in replacements(task.instruction, old, new):
        message = f"{task.instruction!r} with {new!r} for {old!r} is not {variant.instruction!r}; correct one of them"
        return (Violation("changed", "not_replaced", message),)
    return ()


def touches(variant: Variant, task: Task) -> bool:
    """Whether the replaced words include one of the declared slot, or a pronoun that stands for it."""
    changed = variant.details.get("changed")
    own = vocabulary(getattr(task.slots, variant.slot or "", None))
    if variant.slot in ("object", "target"):
        own |= _PRONOUNS
    return isinstance(changed, dict) and bool(vocabulary(changed["from"]) & own)


def lost_slots(variant: Variant, task: Task) -> tuple[str, ...]:
    """Slots besides the declared one of whose stressed words the change drops some.

    A word goes with the noun it belongs to: an attribute may be dropped together with its noun, and the part of a thing
    ("compartment of the caddy") where the thing itself stays.
    """
    changed = variant.details.get("changed")
    if not isinstance(changed, dict):
        return ()
    kept = vocabulary(changed["to"])
    own = vocabulary(getattr(task.slots, variant.slot or "", None))
    dropped = vocabulary(changed["from"]) - kept - _FUNCTION
    nouns = vocabulary(task.slots.object) | vocabulary(task.slots.target)
    lost = []
    for slot in SLOTS:
        words = vocabulary(getattr(task.slots, slot)) - UNSTRESSED
        with_noun = slot == "attribute" and dropped & nouns
        if slot != variant.slot and (dropped - own) & words and not (with_noun or kept & words):
            lost.append(slot)
    return tuple(lost)


def only(variant: Variant, reason: str, *fields: str) -> tuple[Violation, ...]:
    """One violation for each special field that the row has though its condition knows no such thing.

    Args:
        variant: the row.
        reason: what the condition is, for the message.
        fields: names of the special fields that belong here.
    """
    values: dict[str, object] = {
        "slot": variant.slot,
        "kind": variant.kind,
        "goal": variant.goal,
        "tier": variant.tier,
        "tier_reason": variant.tier_reason,
        "judged": variant.judged != "ever",
        "described": variant.described,
        "joints": variant.joints,
        **{name: variant.details.get(name) for name in _DETAILS},
    }
    foreign = [name for name, value in values.items() if value and name not in fields]
    return tuple(Violation(name, "not_here", f"must be left out: {reason}") for name in foreign)


def single(variant: Variant) -> tuple[Violation, ...]:
    """The rule of conditions with one variant per task."""
    if variant.number == 1:
        return ()
    return (Violation("number", "not_unique", f"is {variant.number}; a task has one of these, so leave it out"),)


def edits(one: str, other: str) -> int:
    """How many letters must be added, left out, exchanged for another or swapped with their neighbour.

    Optimal string alignment distance: no letter is touched twice.
    """
    above: list[int] = []
    row = list(range(len(other) + 1))
    for index, letter in enumerate(one, 1):
        before, above, row = above, row, [index]
        for place, wanted in enumerate(other, 1):
            cost = min(above[place] + 1, row[-1] + 1, above[place - 1] + (letter != wanted))
            if before and place > 1 and (letter, one[index - 2]) == (other[place - 2], wanted):
                cost = min(cost, before[place - 2] + 1)
            row.append(cost)
    return row[-1]


def _normal(text: str) -> list[str]:
    words = re.sub(r"[^a-z ]+", " ", text.casefold().replace("'", ""))
    return _POLITE.sub("", " ".join(words.split())).split()


def _bigrams(words: list[str]) -> set[tuple[str, str]]:
    bounded = ["^", *words, "$"]
    return set(itertools.pairwise(bounded))

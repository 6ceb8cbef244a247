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
_SURFACE = re.compile(r"[a-z]+(?: [a-z]+)*")
_POLITE = re.compile(r"^(?:(?:please|kindly|can|could|would|will|you)\s+)+")
UNSTRESSED = frozenset(["the", "a", "an", "to", "of", "that", "this", "it", "its"])
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
        return (Violation("slot", "frame_has_no_slot", f"{task.instruction!r} has no {variant.slot}"),)
    changed = variant.details.get("changed")
    if not isinstance(changed, dict):
        return (Violation("changed", "no_change", "is missing; give the replaced words (from) and the new ones (to)"),)
    old, new = str(changed["from"]), str(changed["to"])
    if fold(old) == fold(new):
        return (Violation("changed", "same_words", f"replaces {old!r} by itself"),)
    if not contains(task.instruction, old):
        return (Violation("changed", "not_replaced", f"from {old!r} does not occur in {task.instruction!r}"),)
    if fold(variant.instruction) not in replacements(task.instruction, old, new):
        message = f"{task.instruction!r} with {new!r} for {old!r} is not {variant.instruction!r}"
        return (Violation("changed", "not_replaced", message),)
    return ()


def touches(variant: Variant, task: Task) -> bool:
    """Whether the replaced words include one of the declared slot."""
    changed = variant.details.get("changed")
    own = vocabulary(getattr(task.slots, variant.slot or "", None))
    return isinstance(changed, dict) and bool(vocabulary(changed["from"]) & own)


def lost_slots(variant: Variant, task: Task) -> tuple[str, ...]:
    """Slots besides the declared one of whose stressed words the change drops some."""
    changed = variant.details.get("changed")
    if not isinstance(changed, dict):
        return ()
    own = vocabulary(getattr(task.slots, variant.slot or "", None))
    lost = vocabulary(changed["from"]) - vocabulary(changed["to"]) - _FUNCTION - own
    return tuple(slot for slot in SLOTS if slot != variant.slot and lost & vocabulary(getattr(task.slots, slot)))


def without(variant: Variant, reason: str, *fields: str) -> tuple[Violation, ...]:
    """One violation for each given field that the row has though its condition knows no such thing.

    Args:
        variant: the row.
        reason: why they do not belong here.
        fields: names of the fields.
    """
    values: dict[str, object] = {
        "goal": variant.goal,
        "slot": variant.slot,
        "tier": variant.tier,
        "tier_reason": variant.tier_reason,
        "kind": variant.kind,
        "judged": variant.judged != "ever",
        **variant.details,
    }
    return tuple(Violation(name, "not_here", f"must be left out: {reason}") for name in fields if values.get(name))


def _normal(text: str) -> list[str]:
    words = re.sub(r"[^a-z ]+", " ", text.casefold().replace("'", ""))
    return _POLITE.sub("", " ".join(words.split())).split()


def _bigrams(words: list[str]) -> set[tuple[str, str]]:
    bounded = ["^", *words, "$"]
    return set(itertools.pairwise(bounded))

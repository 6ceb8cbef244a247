"""The canonical instruction with typing errors: whether a policy needs the spelling it was trained with."""

from __future__ import annotations

from collections.abc import Iterator

from gym_grounding.conditions import _reference, _text
from gym_grounding.conditions._base import Condition, Violation
from gym_grounding.types import SceneFacts, Task, Variant

LEVELS = 2
"""Highest number of misspelt words; the number of a variant is its level."""


def violations(variant: Variant, task: Task, scene: SceneFacts) -> tuple[Violation, ...]:
    """Rules of a noisy text: so many words of the canonical text, as its number says, have one typing error each."""
    return (
        *_text.surface(variant),
        *_level(variant),
        *_spelling(variant.instruction, task.instruction, variant.number),
        *_reference.added(variant.instruction, task.instruction, scene),
        *_text.only(variant, "a noisy text is the canonical one misspelt and is scored by its task's goal", "errors"),
    )


def _level(variant: Variant) -> Iterator[Violation]:
    if not 1 <= variant.number <= LEVELS:
        yield Violation("number", "no_level", f"is {variant.number}; levels are 1 to {LEVELS}")
    errors = variant.details.get("errors")
    if errors != variant.number:
        state = "is missing" if errors is None else f"is {errors}"
        yield Violation("errors", "no_level", f"{state}; must be the number of the row, {variant.number}")


def _spelling(text: str, canonical: str, wanted: int) -> Iterator[Violation]:
    mine, original = text.split(), canonical.split()
    if len(mine) != len(original):
        message = f"has {len(mine)} words, {canonical!r} has {len(original)}; misspell words, add and drop none"
        yield Violation("instruction", "other_words", message)
        return
    changed = [(one, two) for one, two in zip(mine, original, strict=True) if one != two]
    if len(changed) != wanted:
        message = f"differs from {canonical!r} in {len(changed)} words; misspell exactly {wanted}"
        yield Violation("instruction", "no_level", message)
    for one, two in changed:
        # Words far apart in length are other words; counting their letters could take long.
        if abs(len(one) - len(two)) > 1 or _text.edits(one, two) > 1:
            message = f"{one!r} is more than one typing error away from {two!r}; change one letter, or swap two"
            yield Violation("instruction", "other_words", message)


CONDITION = Condition(
    name="noise",
    label="Noise",
    has_slot=False,
    scored_by="original",
    every_stage=False,
    per_task=LEVELS,
    violations=violations,
    control=True,
)

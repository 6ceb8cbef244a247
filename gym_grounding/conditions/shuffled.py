"""The canonical words in another order: whether a policy hears a sentence or a bag of words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gym_grounding.conditions import _text
from gym_grounding.conditions._base import Condition, Violation
from gym_grounding.types import SceneFacts, Task, Variant


def violations(variant: Variant, task: Task, scene: SceneFacts) -> tuple[Violation, ...]:
    """Rules of a shuffled text: every word of the canonical text as often as there, in another order."""
    return (
        *_text.surface(variant),
        *_order(variant.instruction, task.instruction),
        *_text.single(variant),
        *_text.only(variant, "a shuffled text has the canonical words and is scored by its task's goal"),
    )


def _order(text: str, canonical: str) -> Iterator[Violation]:
    mine, original = Counter(text.split()), Counter(canonical.split())
    more, less = sorted((mine - original).elements()), sorted((original - mine).elements())
    if more or less:
        message = f"adds {', '.join(more) or 'nothing'} and lacks {', '.join(less) or 'nothing'} of {canonical!r}"
        yield Violation("instruction", "other_words", f"{message}; use its words and no others")
    elif text == canonical:
        yield Violation("instruction", "same_order", f"is the canonical {canonical!r}; change the order of its words")


CONDITION = Condition(
    name="shuffled",
    label="Shuffled",
    has_slot=False,
    scored_by="original",
    every_stage=False,
    per_task=1,
    violations=violations,
    control=True,
)

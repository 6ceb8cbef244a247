"""Shuffled words: all words of the canonical instruction in an order that says nothing."""

from __future__ import annotations

import itertools
from collections.abc import Collection
from typing import TYPE_CHECKING

from gym_grounding.types import SceneFacts, Task
from gym_grounding.variants.controls._base import accepted, generator
from gym_grounding.variants.language import meaning, parser
from gym_grounding.variants.types import Judgement

if TYPE_CHECKING:
    from gym_grounding.variants.definitions import Definitions
    from gym_grounding.variants.evidence import Evidence

TRIES = 10_000
"""Orders that are drawn at most; none of the forty sentences needs a hundred."""


def rows(definitions: Definitions, evidence: Evidence) -> tuple[Judgement, ...]:
    """One row per task."""
    texts = frozenset(task.instruction for task in definitions.tasks.values())
    return tuple(
        accepted(task, "shuffled", shuffled(task, definitions.scene_of(task.id), texts))
        for task in definitions.tasks.values()
    )


def shuffled(task: Task, scene: SceneFacts, texts: Collection[str]) -> str:
    """The words of the canonical instruction in a drawn order.

    No two neighbours stay neighbours in their order, and the result is none of ``texts`` and no order by itself
    ("put the plate on the bowl" has the words of another sentence).

    Raises:
        ValueError: no such order was drawn.
    """
    random = generator("shuffled", task)
    words = task.instruction.split()
    pairs = set(itertools.pairwise(words))
    for _ in range(TRIES):
        drawn = [words[place] for place in random.permutation(len(words))]
        text = " ".join(drawn)
        if not pairs & set(itertools.pairwise(drawn)) and text not in texts and not _readable(text, scene):
            return text
    raise ValueError(f"{task.id}: none of {TRIES} orders of {task.instruction!r} keeps all its neighbours apart")


def _readable(text: str, scene: SceneFacts) -> bool:
    parse = parser.parse(text, scene)
    return not parse.unresolved and meaning.goal_of(parse, scene) is not None

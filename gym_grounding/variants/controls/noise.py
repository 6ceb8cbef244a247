"""Typing errors: the canonical instruction as a hurried typist leaves it, with one or two letters wrong."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from gym_grounding import conditions
from gym_grounding.types import SceneFacts, Task, Variant
from gym_grounding.variants.controls._base import accepted, generator
from gym_grounding.variants.language import lexicon
from gym_grounding.variants.types import Judgement

if TYPE_CHECKING:
    from gym_grounding.variants.definitions import Definitions
    from gym_grounding.variants.evidence import Evidence

LEVELS = (1, 2)
"""Numbers of errors."""
SHORTEST = 4
"""Letters of the shortest word that is mistyped; one of three letters could lose what tells it from others."""
# Words that hold a sentence together. A reader restores them from what surrounds them, so an error there tests nothing.
_FUNCTION = frozenset(["from", "into", "inside", "with", "both", "between", "next", "front", "onto", "that", "this"])
_ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_KINDS = ("swap", "drop", "double", "neighbour")


def rows(definitions: Definitions, evidence: Evidence) -> tuple[Judgement, ...]:
    """Two rows per task: one error, and the same error with a second one in another word."""
    taken = vocabulary(task.instruction for task in definitions.tasks.values())
    return tuple(
        accepted(task, "noise", text, {"errors": level})
        for task in definitions.tasks.values()
        for level, text in zip(LEVELS, mistyped(task, definitions.scene_of(task.id), taken), strict=True)
    )


def mistyped(task: Task, scene: SceneFacts, taken: Collection[str]) -> tuple[str, ...]:
    """The canonical instruction with 1, 2, ... errors; each text holds the errors of the one before.

    A word is left as it is where the rest of its name would mean another thing, as "box" of "cream cheede box" may.

    Args:
        task: the task; its id alone decides where the errors are.
        scene: its scene.
        taken: words that no error may produce.
    """
    random = generator("noise", task)
    words = task.instruction.split()
    texts: list[str] = []
    places = [place for place, word in enumerate(words) if len(word) >= SHORTEST and word not in _FUNCTION]
    for place in random.permutation(places):
        wrong = [*words[:place], _mistyped(words[place], taken, random), *words[place + 1 :]]
        if _keeps_things(" ".join(wrong), len(texts) + 1, task, scene):
            words = wrong
            texts.append(" ".join(words))
        if len(texts) == len(LEVELS):
            break
    return tuple(texts)


def _keeps_things(text: str, level: int, task: Task, scene: SceneFacts) -> bool:
    row = Variant("", task.id, "noise", None, level, text, details={"errors": level})
    return not conditions.get("noise").violations(row, task, scene)


def vocabulary(texts: Iterable[str]) -> frozenset[str]:
    """Words that mean something here: those of the lexicon and those of the given texts."""
    found = {word for text in texts for word in text.split()}
    found |= {word for name in lexicon.words() for word in name.split()}
    return frozenset(found)


def _mistyped(word: str, taken: Collection[str], random: np.random.Generator) -> str:
    by_kind = {kind: [form for form in _forms(word, kind) if form not in taken] for kind in _KINDS}
    kinds = [kind for kind in _KINDS if by_kind[kind]]
    forms = by_kind[kinds[random.integers(len(kinds))]]
    return forms[random.integers(len(forms))]


def _forms(word: str, kind: str) -> Iterator[str]:
    """The word with one error. The first letter stays: typists rarely miss it, and "late" for "plate" is a word."""
    for place in range(1, len(word)):
        head, letter, tail = word[:place], word[place], word[place + 1 :]
        if kind == "swap" and tail and letter != tail[0]:
            yield head + tail[0] + letter + tail[1:]
        elif kind == "drop":
            yield head + tail
        elif kind == "double":
            yield head + letter + letter + tail
        elif kind == "neighbour":
            yield from (head + other + tail for other in _beside(letter))


def _beside(letter: str) -> str:
    """Letters left and right of a letter on a QWERTY keyboard."""
    row = next(row for row in _ROWS if letter in row)
    place = row.index(letter)
    return row[max(place - 1, 0) : place] + row[place + 1 : place + 2]

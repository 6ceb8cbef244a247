"""Paraphrases by rule: five kinds, at the same number for every task, from frames and a table of nouns.

1 ``verb_synonym`` changes verbs only, 2 ``request`` asks and leaves the words alone, 3 ``passive`` turns the order into
a passive or a statement of need, 4 ``reordering`` takes two steps, puts the place in front or uses a relative clause,
5 ``noun_synonym`` exchanges a noun, or writes a possessive with "of". Which verbs a task gets turns with its index, so
that a kind is not one verb. Nothing is claimed to be right: the validator judges each sentence.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gym_grounding.types import SceneFacts, Task
from gym_grounding.variants.proposers._base import ASKED, ProposalRequest
from gym_grounding.variants.proposers._paraphrase_frames import (
    DIRECTIONS,
    FRAMES,
    OF_PHRASES,
    REQUESTS,
    SYNONYMS,
    VERBS,
    Frame,
)
from gym_grounding.variants.types import Proposal

KINDS = ("verb_synonym", "request", "passive", "reordering", "noun_synonym")
"""Kind of the paraphrase with number 1, 2, ... of every task."""
SOURCE = "rules/1"
TURNED = ("passive", "reordering")
"""Kinds that may use other verbs than the canonical text, though they need not."""
_CHOICE = re.compile(r"\[([^]]+)]")


def propose(request: ProposalRequest) -> tuple[Proposal, ...]:
    """Sentences of every kind, kinds in order, within a kind in order of preference; at most ``ASKED`` of each.

    Empty for an instruction that has none of the known frames.
    """
    task, taken = request.task, set(request.avoid)
    matched = frame_of(task.instruction)
    if matched is None:
        return ()
    frame, phrases = matched
    proposals: list[Proposal] = []
    used: frozenset[str] = frozenset()
    for kind in KINDS:
        sentences: dict[str, str] = {}
        for subtype, text in _sentences(kind, frame, phrases, task, request.scene):
            if text not in taken:
                sentences.setdefault(text, subtype)
        # Among equals first those whose verbs no earlier kind brought up; sorting is stable.
        fresh = sorted(sentences, key=lambda text: len(_verbs(text) & used)) if kind in TURNED else list(sentences)
        for text in fresh[:ASKED]:
            also = _also(kind, sentences[text], text, task.instruction)
            proposals.append(Proposal(task.id, "paraphrase", None, text, kind=kind, also=also, source=SOURCE))
        used |= _verbs(fresh[0]) - _verbs(task.instruction) if fresh else frozenset()
    return tuple(proposals)


def frame_of(instruction: str) -> tuple[Frame, dict[str, str]] | None:
    """The frame of a canonical instruction with its phrases; None when it has no known one."""
    for frame in FRAMES:
        match = re.fullmatch(frame.pattern, instruction)
        if match is not None:
            return frame, completed(match.groupdict())
    return None


def render(frame: Frame, phrases: Mapping[str, str], kind: str, turn: int = 0) -> Iterator[tuple[str, str]]:
    """(subtype, sentence) of one of the first four kinds.

    Args:
        frame: the frame.
        phrases: its groups; a phrase may be another one than the canonical.
        kind: ``verb_synonym``, ``request``, ``passive`` or ``reordering``.
        turn: by how much choices among equals are turned.
    """
    if kind == "verb_synonym":
        templates = [("", text) for text in frame.verbs]
    elif kind == "request":
        orders = {"put": frame.order, "putting": frame.gerund}
        templates = _turned([("", text.format(**orders)) for text in REQUESTS], turn)
    else:
        templates = _turned(frame.passive if kind == "passive" else frame.reordering, turn)
    for extra in range(max((_choices(text) for _, text in templates), default=0)):
        for subtype, text in templates:
            if extra < _choices(text):
                yield subtype, _chosen(text, turn + extra).format(**phrases)


def completed(groups: Mapping[str, str]) -> dict[str, str]:
    """The groups of a frame with what follows from them."""
    phrases = dict(groups)
    relation, place = groups.get("rel", ""), groups.get("y", "")
    several = groups.get("x", "").startswith("both ")
    phrases["it"], phrases["s"] = ("them", "") if several else ("it", "s")
    phrases["onto"] = DIRECTIONS.get(relation, relation)
    phrases["where"] = f"the top of {place}" if relation == "on top of" else place
    # "the black bowl from table center" is no thing that can be spoken of without being picked up.
    phrases["at"] = re.sub("^from table center$", "at the center of the table", groups.get("ref", ""))
    phrases.setdefault("part", place.split(" of ")[0])
    return phrases


def _sentences(
    kind: str, frame: Frame, phrases: dict[str, str], task: Task, scene: SceneFacts
) -> Iterable[tuple[str, str]]:
    if kind == "noun_synonym":
        return _exchanged(task.instruction, scene)
    return render(frame, phrases, kind, task.index)


def _choices(text: str) -> int:
    return max((len(found.split("|")) for found in _CHOICE.findall(text)), default=1)


def _chosen(text: str, turn: int) -> str:
    """``text`` with its choices made; ``turn`` 0 takes the first of each."""

    def one(match: re.Match[str]) -> str:
        options = match[1].split("|")
        return options[turn % len(options)]

    return _CHOICE.sub(one, text)


def _turned(items: Sequence[tuple[str, str]], turn: int) -> list[tuple[str, str]]:
    start = turn % len(items)
    return [*items[start:], *items[:start]]


def _exchanged(instruction: str, scene: SceneFacts) -> Iterator[tuple[str, str]]:
    """The instruction with one noun exchanged, in the order of the sentence, then with two, then with an of-phrase."""
    swaps = [
        (rf"\b{noun}(s?)\b", rf"{other}\1")
        for noun in sorted(_nouns(instruction), key=instruction.find)
        for other in SYNONYMS[noun]
        if _means_the_same(other, noun, scene)
    ]
    single = [re.sub(old, new, instruction) for old, new in swaps]
    double = [
        re.sub(second, newer, re.sub(old, new, instruction))
        for (old, new), (second, newer) in itertools.combinations(swaps, 2)
        if old != second
    ]
    # "Both the can of soup and the sauce" limps.
    for text in [*double, *single] if " both the " in instruction else [*single, *double]:
        yield "", text
    for old, new in OF_PHRASES:
        changed = re.sub(old, new, instruction)
        if changed != instruction:
            yield "of_phrase", changed


def _nouns(instruction: str) -> list[str]:
    """Exchangeable nouns of a sentence; of "cream cheese box" not also "cream cheese"."""
    found: list[str] = []
    rest = instruction
    for noun in sorted(SYNONYMS, key=len, reverse=True):
        if re.search(rf"\b{noun}s?\b", rest):
            found.append(noun)
            rest = re.sub(rf"\b{noun}s?\b", "_", rest)
    return found


def _means_the_same(other: str, noun: str, scene: SceneFacts) -> bool:
    """Whether ``other`` fits something in the scene, and nothing there, background included, but what ``noun`` fits."""
    fits = _fits(other, scene)
    return bool(fits) and fits <= _fits(noun, scene) and other not in scene.background


def _fits(noun: str, scene: SceneFacts) -> frozenset[str]:
    """Entities that a noun may mean; for "carton of milk" what is both carton and milk."""
    whole = frozenset(entity.name for entity in scene.entities.values() if noun in entity.names)
    head, of, content = noun.partition(" of ")
    return whole or (_fits(head, scene) & _fits(content, scene) if of else whole)


def _also(kind: str, subtype: str, text: str, instruction: str) -> tuple[str, ...]:
    """What else a sentence changes, in a fixed order."""
    words, canonical = set(text.split()), set(instruction.split())
    verbs = kind != "verb_synonym" and bool(_verbs(text) - _verbs(instruction))
    relation = bool(words & set(DIRECTIONS.values()) - canonical)
    marks = {subtype: bool(subtype) and subtype != kind, "verb_synonym": verbs, "relation_synonym": relation}
    return tuple(mark for mark, present in marks.items() if present)


def _verbs(text: str) -> frozenset[str]:
    """Base forms of the verbs in a sentence of a frame."""
    words = set(text.split())
    return frozenset(verb for verb, forms in VERBS.items() if words & set(forms))

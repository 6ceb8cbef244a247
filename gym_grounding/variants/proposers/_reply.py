"""What a language model answered: from the endpoint's document to proposals, none of whose claims is trusted."""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from gym_grounding.types import Goal, Predicate
from gym_grounding.variants.proposers._base import ProposalRequest, ProposerError
from gym_grounding.variants.proposers._prompt import KINDS
from gym_grounding.variants.proposers._surface import normal
from gym_grounding.variants.types import Proposal

LONGEST = 1000
"""Characters of a sentence above which it is not kept, not even as a refused one."""
MOST_LITERALS = 8
_SHORT = reprlib.Repr()
_SHORT.maxstring = 80  # the name of a model, or the first words of a reply, should be seen


@dataclass(frozen=True, slots=True)
class Message:
    """The text of a chat completion.

    Attributes:
        text: what the model said; empty when it said nothing.
        model: the model's name as the endpoint reports it; empty when it does not.
        finish: why it stopped, such as ``stop`` or ``length``; empty when unknown.
    """

    text: str
    model: str
    finish: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of one question.

    Attributes:
        proposals: the usable sentences, in the model's order.
        problems: what was left out and why, one line each; an answer without usable sentences has at least one,
            except when the model honestly found none.
        model: the model's name as the endpoint reports it; empty when it does not.
    """

    proposals: tuple[Proposal, ...]
    problems: tuple[str, ...]
    model: str


def message(raw: str) -> Message:
    """The message of an endpoint's document, ``{"choices": [{"message": {"content": ...}}], ...}``.

    No choices and no content are an empty message: the model was asked and said nothing.

    Raises:
        ProposerError: the document is no chat completion; shows its beginning.
    """
    try:
        document = _parsed(raw)
    except (ValueError, RecursionError) as error:
        raise ProposerError(f"the reply is no chat completion, not even JSON: {shown(raw)}") from error
    choices = document.get("choices") if isinstance(document, dict) else None
    if not isinstance(document, dict) or not isinstance(choices, list):
        raise ProposerError(f"the reply is no chat completion, it has no list of choices: {shown(raw)}")
    first = choices[0] if choices else {"message": {}}
    said = first.get("message") if isinstance(first, dict) else None
    content = _joined(said.get("content")) if isinstance(said, dict) else None
    if not isinstance(content, str):
        raise ProposerError(f"the reply is no chat completion, its first choice holds no text: {shown(raw)}")
    return Message(content, _text(document.get("model")), _text(first.get("finish_reason")))


def answer(said: Message, request: ProposalRequest, source: str) -> Answer:
    """The proposals in a model's message; whatever is wrong with it, it is one answer and not an error.

    The text is cut from the first ``{`` to the last ``}``, which drops code fences, preambles and afterwords.

    Args:
        said: the message.
        request: what was asked.
        source: name of the proposer.
    """
    items, problems = _items(said)
    if len(items) > request.count:
        problems.append(f"{len(items)} proposals, {request.count} were asked for; the rest is left out")
    kept: dict[str, Proposal] = {}
    for number, item in enumerate(items[: request.count], 1):
        try:
            proposal = _proposal(item, request, source, problems, f"proposal {number}")
        except ValueError as error:
            problems.append(f"proposal {number}: {error}")
            continue
        if proposal.instruction in kept:
            problems.append(f"proposal {number}: repeats {proposal.instruction!r}")
        kept.setdefault(proposal.instruction, proposal)
    return Answer(tuple(kept.values()), tuple(problems), said.model)


def shown(value: object) -> str:
    """A short form of something foreign, whatever its size."""
    return _SHORT.repr(value)


def _parsed(text: str) -> object:
    return json.loads(text, parse_constant=_no_constant)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _joined(content: object) -> object:
    """Some endpoints give the text in parts."""
    if content is None:
        return ""
    if isinstance(content, list) and all(isinstance(part, dict) for part in content):
        return "".join(_text(part.get("text")) for part in content)
    return content


def _items(said: Message) -> tuple[list[object], list[str]]:
    """The entries of ``proposals``, and why there are none."""
    stopped = f"; it stopped for {said.finish!r}" if said.finish not in ("", "stop") else ""
    if not said.text.strip():
        return [], [f"the model said nothing{stopped}"]
    first, last = said.text.find("{"), said.text.rfind("}")
    if first < 0 or last < first:
        return [], [f"no JSON object in {shown(said.text)}{stopped}"]
    try:
        data = _parsed(said.text[first : last + 1])
    except RecursionError:
        return [], ["malformed JSON: nested too deeply"]
    except ValueError as error:
        return [], [f"malformed JSON ({shown(str(error))}) in {shown(said.text)}{stopped}"]
    items = data.get("proposals") if isinstance(data, dict) else None
    if not isinstance(items, list):
        return [], [f"no list of proposals in {shown(said.text)}{stopped}"]
    return items, []


def _proposal(item: object, request: ProposalRequest, source: str, problems: list[str], place: str) -> Proposal:
    """One entry; a bad claim is not used, a bad sentence is a ValueError."""
    if not isinstance(item, dict):
        raise ValueError(f"{shown(item)} is no object")
    sentence = _words(item.get("instruction"), "instruction")
    claims: dict[str, Any] = {}
    for field, read in _CLAIMS[request.condition].items():
        if item.get(field) is None:
            continue
        try:
            claims[field] = read(item[field])
        except ValueError as error:
            problems.append(f"{place}: {field} not used: {error}")
    return Proposal(request.task.id, request.condition, request.slot, sentence, source=source, **claims)


def _words(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{field} is {shown(value)}; must be text")
    if len(value) > LONGEST:
        raise ValueError(f"{field} has {len(value)} characters; at most {LONGEST} are read")
    text, _ = normal(value)
    if not text or not text.isprintable():
        raise ValueError(f"{field} is {shown(value)}; must be printable words")
    return text


def _kind(value: object) -> str:
    if not (isinstance(value, str) and value in KINDS):
        raise ValueError(f"{shown(value)} is none of {', '.join(KINDS)}")
    return value


def _changed(value: object) -> tuple[str, str]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{shown(value)} is no object with from and to")
    return _words(value.get("from"), "from"), _words(value.get("to"), "to")


def _goal(value: object) -> Goal:
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_LITERALS:
        raise ValueError(f"{shown(value)} is no list of 1 to {MOST_LITERALS} literals")
    return Goal(tuple(dict.fromkeys(_literal(words) for words in value)))


def _literal(words: object) -> Predicate:
    if not isinstance(words, list) or len(words) not in (2, 3):
        raise ValueError(f"{shown(words)} is no literal [predicate, name, ...]")
    names = [word for word in words if isinstance(word, str) and word.isidentifier() and len(word) <= LONGEST]
    if len(names) < len(words):
        raise ValueError(f"{shown(words)} holds something other than names")
    return Predicate(names[0], tuple(names[1:]))


_CLAIMS: Mapping[str, Mapping[str, Callable[[object], object]]] = {
    "paraphrase": {"kind": _kind},
    "contrast": {"changed": _changed, "goal": _goal},
    "collision": {"changed": _changed},
}
"""Condition -> what a sentence of it may claim."""

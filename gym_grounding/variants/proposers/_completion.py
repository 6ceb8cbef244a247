"""Language models as proposers: one question, one body, whoever answers it."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, ParamSpec, Protocol, TypeAlias

from gym_grounding.variants.proposers import _prompt, _reply
from gym_grounding.variants.proposers._base import ProposalRequest
from gym_grounding.variants.proposers._reply import Answer
from gym_grounding.variants.types import Proposal

P = ParamSpec("P")
Body: TypeAlias = Mapping[str, Any]
"""A question: ``model``, ``messages`` (role and content), ``sampling`` and ``template`` (version of the prompt).

It says everything that the answer depends on and nothing else: no address, no key, no path.
"""


class Completion(Protocol):
    """Something that answers a body. Making one neither opens a connection nor loads a model."""

    @property
    def kind(self) -> str:
        """The first part of a proposer's name, such as ``openai``."""
        ...

    @property
    def model(self) -> str:
        """Name of the model that is asked for."""
        ...

    @property
    def sampling(self) -> Mapping[str, Any]:
        """Everything else that decides the answer, such as ``temperature``."""
        ...

    def complete(self, body: Body) -> str:
        """The answer as a chat completion document, ``{"choices": [{"message": {"content": ...}}], "model": ...}``.

        Raises:
            ProposerError: there is no answer. An empty one is an answer.
        """
        ...


class CompletionProposer:
    """A language model as a proposer. What was asked once is not asked again.

    Args:
        completion: who answers.
    """

    def __init__(self, completion: Completion) -> None:
        self.completion = completion
        self._answers: dict[str, str] = {}

    @property
    def name(self) -> str:
        """Kind and model, such as ``openai:MODEL``."""
        return f"{self.completion.kind}:{self.completion.model}"

    def propose(self, request: ProposalRequest) -> tuple[Proposal, ...]:
        """The usable sentences of the model's answer; ``ask`` also says what was wrong with the others.

        Raises:
            InvalidOption: the request makes no sense.
            ProposerError: there is no answer.
        """
        return self.ask(request).proposals

    def ask(self, request: ProposalRequest) -> Answer:
        """The model's answer, sorted into what can be used and what cannot. The source of a proposal is its kind and
        the model's name as the endpoint reports it.

        Raises:
            InvalidOption: the request makes no sense.
            ProposerError: there is no answer.
        """
        body = self.body(request)
        key = key_of(body)
        if key not in self._answers:
            self._answers[key] = self.completion.complete(body)
        said = _reply.message(self._answers[key])
        return _reply.answer(said, request, f"{self.completion.kind}:{said.model or self.completion.model}")

    def body(self, request: ProposalRequest) -> dict[str, Any]:
        """The question of a request; equal requests to equal models give equal bodies.

        Raises:
            InvalidOption: the request makes no sense.
        """
        return {
            "model": self.completion.model,
            "messages": _prompt.messages(request),
            "sampling": dict(self.completion.sampling),
            "template": _prompt.TEMPLATE,
        }


def proposer_with(completion: Callable[P, Completion]) -> Callable[P, CompletionProposer]:
    """What makes a proposer from the arguments of a completion."""

    @functools.wraps(completion, updated=())
    def make(*args: P.args, **kwargs: P.kwargs) -> CompletionProposer:
        return CompletionProposer(completion(*args, **kwargs))

    return make


def key_of(body: Body) -> str:
    """First 16 hex digits of the sha256 of a body's canonical JSON (UTF-8, sorted keys, no blanks)."""
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]

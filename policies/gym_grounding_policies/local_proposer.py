"""A language model in a folder as a proposer of instructions, with the library transformers.

``gym-grounding variants build --proposer gym_grounding_policies.local_proposer:PROPOSER --proposer-option folder=...``,
or ``LocalProposer("path/to/model")`` in Python. Nothing is downloaded and no code of the model's folder is run.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gym_grounding.errors import InvalidOption
from gym_grounding.variants.proposers import ProposerError
from gym_grounding.variants.proposers._completion import Body, proposer_with

EXTRA = "local-proposer"
MOST_TOKENS = 1024
Messages = Sequence[Mapping[str, str]]


@dataclass(frozen=True, slots=True)
class Generated:
    """What a model wrote.

    Attributes:
        text: the new text, without the question.
        finished: whether it came to an end by itself.
    """

    text: str
    finished: bool


Generator = Callable[[Messages, int], Generated]
"""(messages, most new tokens) -> what the model writes."""


class LocalCompletion:
    """Answers with a model in a folder, greedily. The model is loaded when the first question comes.

    Args:
        folder: what ``save_pretrained`` wrote: ``config.json``, the tokenizer's files, weights as safetensors.
        name: name of the model in proposals and recordings; None for the folder's own.
        max_tokens: length of the answer [tokens].
        device: where it computes.
        generate: writes the text instead of a model from ``folder``.

    Raises:
        InvalidOption: no name, or a length below 1.
    """

    kind = "local"

    def __init__(
        self,
        folder: Path | str,
        name: str | None = None,
        max_tokens: int = MOST_TOKENS,
        device: str = "cpu",
        generate: Generator | None = None,
    ) -> None:
        self.folder = Path(folder)
        self._model = self.folder.resolve().name if name is None else name
        if not self._model:
            raise InvalidOption(f"folder is {str(folder)!r} and has no name; give the model one with name=...")
        if isinstance(max_tokens, bool) or not isinstance(max_tokens, int) or max_tokens < 1:
            raise InvalidOption(f"max_tokens is {max_tokens!r}; must be a whole number from 1 on")
        self._max_tokens, self._device, self._generate = max_tokens, device, generate

    @property
    def model(self) -> str:
        """The model's name: never its path."""
        return self._model

    @property
    def sampling(self) -> Mapping[str, Any]:
        """Greedy, with a limit on the length."""
        return {"temperature": 0.0, "max_tokens": self._max_tokens}

    def complete(self, body: Body) -> str:
        """What the model writes, in the form of a chat completion.

        Raises:
            ProposerError: transformers is not installed, the folder holds no model that can be loaded, or the question
                is too long for it.
        """
        if self._generate is None:
            self._generate = loaded(self.folder, self._device)
        written = self._generate(body["messages"], self._max_tokens)
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": written.text},
            "finish_reason": "stop" if written.finished else "length",
        }
        return json.dumps({"model": self._model, "choices": [choice]})


LocalProposer = proposer_with(LocalCompletion)
PROPOSER = LocalProposer


def loaded(folder: Path, device: str = "cpu") -> Generator:
    """The model of a folder, ready to write.

    Raises:
        ProposerError: transformers is not installed, or the folder holds no model that can be loaded.
    """
    if not (folder / "config.json").is_file():
        raise ProposerError(
            f"{folder}: holds no config.json, so no model; name the folder of a downloaded model (nothing is fetched)"
        )
    torch, transformers = _library("torch"), _library("transformers")
    # Never from the network, never code from the folder, never a pickle.
    safe = {"local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **safe)
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, use_safetensors=True, **safe)
        model = model.to(device).eval()
    except Exception as error:
        raise ProposerError(
            f"{folder}: cannot be loaded ({type(error).__name__}: {_first_line(error)}); it needs a causal language "
            "model with its tokenizer and weights as safetensors"
        ) from error
    return _Writer(torch, tokenizer, model)


class _Writer:
    def __init__(self, torch: Any, tokenizer: Any, model: Any) -> None:
        self._torch, self._tokenizer, self._model = torch, tokenizer, model

    def __call__(self, messages: Messages, max_tokens: int) -> Generated:
        asked = self._tokenizer(self._prompt(messages), return_tensors="pt", add_special_tokens=not self._has_template)
        ids = asked["input_ids"].to(self._model.device)
        room = getattr(self._model.config, "max_position_embeddings", None)
        if room is not None and ids.shape[1] + max_tokens > room:
            raise ProposerError(
                f"the question has {ids.shape[1]} tokens, {max_tokens} are left for the answer, and the model has room "
                f"for {room}; give fewer max_tokens, or a model with more room"
            )
        ends = self._model.generation_config.eos_token_id
        ends = ends if isinstance(ends, list) else [ends]
        padding = self._tokenizer.pad_token_id
        with self._torch.no_grad():
            written = self._model.generate(
                input_ids=ids,
                attention_mask=self._torch.ones_like(ids),
                max_new_tokens=max_tokens,
                do_sample=False,
                num_beams=1,
                pad_token_id=ends[0] if padding is None else padding,
            )
        new = written[0, ids.shape[1] :].tolist()
        finished = bool(new) and new[-1] in ends
        return Generated(self._tokenizer.decode(new, skip_special_tokens=True), finished)

    @property
    def _has_template(self) -> bool:
        return bool(getattr(self._tokenizer, "chat_template", None))

    def _prompt(self, messages: Messages) -> str:
        if self._has_template:
            text: str = self._tokenizer.apply_chat_template(
                [dict(one) for one in messages], tokenize=False, add_generation_prompt=True
            )
            return text
        return "\n\n".join(one["content"] for one in messages) + "\n"


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ProposerError(
            f"a local model needs {name}, which cannot be imported ({_first_line(error)}); "
            f"pip install 'gym-grounding[{EXTRA}]'"
        ) from error


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0]

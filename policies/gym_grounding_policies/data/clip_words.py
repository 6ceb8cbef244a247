"""CLIP's tokens of sentences, for a policy that trains its own text tower."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor

from gym_grounding.errors import MissingSource, WrongVersion
from gym_grounding_policies.data.language import checked, warn_of_cut

WINDOW = 77
"""Tokens that CLIP's text tower reads, the first and the last included."""


class ClipWords:
    """``ids`` and ``mask`` (K, L) int64: tokens with their end token, then zeros; L is that of the longest sentence.

    A sentence of more than 77 tokens is cut, its end token kept, with a warning.

    Args:
        folder: of the model on disk, with ``tokenizer.json``, such as a copy of ``openai/clip-vit-base-patch16``.
        window: most tokens.

    Raises:
        MissingSource: no such file.
        WrongVersion: it describes no tokenizer.
    """

    def __init__(self, folder: str | Path, window: int = WINDOW) -> None:
        path = Path(folder) / "tokenizer.json"
        try:
            content = path.read_bytes()
        except OSError as error:
            raise MissingSource(
                f"{path}: {error.strerror}; name the folder of openai/clip-vit-base-patch16 on your disk (nothing is "
                "fetched)"
            ) from error
        try:
            self._tokenizer: Any = Tokenizer.from_str(content.decode())
        except Exception as error:  # the library raises nothing more exact
            raise WrongVersion(f"{path}: describes no tokenizer ({error})") from error
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.name = f"clip-tokens-{hashlib.sha256(content).hexdigest()[:12]}"
        self._window = window

    def blank(self, count: int) -> dict[str, Tensor]:
        """The empty instruction, ``count`` times: the tokens of the empty text, which are its first and its end."""
        ids = torch.tensor(self._tokenizer.encode("").ids, dtype=torch.int64).expand(count, -1).contiguous()
        return {"ids": ids, "mask": torch.ones_like(ids)}

    def __call__(self, sentences: Sequence[str]) -> dict[str, Tensor]:
        """See ``language.Words``.

        Raises:
            InvalidOption: a sentence without a word in it.
        """
        rows = [self._ids(sentence) for sentence in sentences]
        ids = torch.zeros(len(rows), max(map(len, rows), default=0), dtype=torch.int64)
        mask = torch.zeros_like(ids)
        for number, row in enumerate(rows):
            ids[number, : len(row)] = torch.tensor(row)
            mask[number, : len(row)] = 1
        return {"ids": ids, "mask": mask}

    def _ids(self, sentence: str) -> list[int]:
        checked(sentence)
        ids: list[int] = self._tokenizer.encode(sentence).ids
        if len(ids) <= self._window:
            return ids
        warn_of_cut(sentence, len(ids), self._window)
        return [*ids[: self._window - 1], ids[-1]]

"""Recorded answers of language models: what makes a build that asked one repeatable.

A model does not answer alike twice, not even at temperature 0. Each answer is one file, ``KEY.json`` with ``format``,
``request`` (the body that was asked) and ``response`` (the document as it came); the key is a hash of the body, so a
change of the model's name, of the sampling, of the prompt's version or of the scene is another question.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from gym_grounding.errors import CorruptRun, InvalidOption, MissingSource, UnwritableOutput
from gym_grounding.variants.proposers import _reply
from gym_grounding.variants.proposers._base import Proposer
from gym_grounding.variants.proposers._completion import Body, Completion, CompletionProposer, key_of

FORMAT = 1
MODES = ("record", "replay")


class Recorded:
    """Answers from a folder.

    Args:
        inner: who answers what the folder lacks.
        folder: holds one file for each question.
        mode: ``record`` asks ``inner`` what is not there yet and keeps it; to ask again, delete the file. ``replay``
            never asks: it opens no connection and loads no model.

    Raises:
        InvalidOption: another mode.
    """

    def __init__(self, inner: Completion, folder: Path | str, mode: Literal["record", "replay"] = "replay") -> None:
        if mode not in MODES:
            raise InvalidOption(f"mode is {mode!r}; choose {' or '.join(MODES)}")
        self.inner, self.folder, self.mode = inner, Path(folder), mode

    @property
    def kind(self) -> str:
        """That of the one who answered."""
        return self.inner.kind

    @property
    def model(self) -> str:
        """That of the one who answered."""
        return self.inner.model

    @property
    def sampling(self) -> Mapping[str, Any]:
        """That of the one who answered."""
        return self.inner.sampling

    def complete(self, body: Body) -> str:
        """The recorded answer; in mode ``record`` a new one where there is none.

        Raises:
            MissingSource: nothing is recorded for this question (``replay``).
            CorruptRun: the recording is damaged or belongs to another question.
            UnwritableOutput: it cannot be kept.
            ProposerError: there is no answer.
        """
        key = key_of(body)
        path = self.folder / f"{key}.json"
        if path.exists():
            return _read(path, key)
        if self.mode == "replay":
            raise MissingSource(
                f"{self.folder}: no recorded answer {key} for model {body['model']!r}, prompt version "
                f"{body['template']}; record it where the model can be asked (record=), or name the folder that has it"
            )
        response = self.inner.complete(body)
        _reply.message(response)  # what is no answer is not kept
        _write(path, {"format": FORMAT, "request": body, "response": response})
        return response


def recorded(proposer: Proposer, folder: Path | str, mode: Literal["record", "replay"] = "replay") -> Proposer:
    """The same proposer, answering from recordings.

    Args:
        proposer: one that asks a language model.
        folder: see ``Recorded``.
        mode: see ``Recorded``.

    Raises:
        InvalidOption: the proposer asks no model, or another mode.
    """
    if not isinstance(proposer, CompletionProposer):
        raise InvalidOption(
            f"proposer {proposer.name} asks no language model, so there is nothing to record or replay; leave that out"
        )
    return CompletionProposer(Recorded(proposer.completion, folder, mode))


def _read(path: Path, key: str) -> str:
    try:
        content = json.loads(path.read_bytes())
        known = content["format"] == FORMAT
        request, response = content["request"], content["response"]
    except OSError as error:
        raise CorruptRun(f"{path}: cannot be read ({error.strerror}); restore it or record it again") from error
    except (ValueError, RecursionError, KeyError, TypeError) as error:
        raise CorruptRun(f"{path}: is no recorded answer ({error}); restore it or record it again") from error
    if not known:
        raise CorruptRun(f"{path}: has another format; this version reads format {FORMAT}; record it again")
    if key_of(request) != key or not isinstance(response, str):
        raise CorruptRun(f"{path}: was edited, its request is not the one that its name stands for; record it again")
    return response


def _write(path: Path, content: Mapping[str, Any]) -> None:
    text = json.dumps(content, sort_keys=True, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    unfinished = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Names of their own, since two processes may record one question at the same time.
        with tempfile.NamedTemporaryFile("wb", dir=path.parent, prefix=f".{path.stem}-", delete=False) as file:
            unfinished = file.name
            file.write(text.encode())
        os.chmod(unfinished, 0o644)
        os.replace(unfinished, path)
    except OSError as error:
        if unfinished is not None:
            with contextlib.suppress(OSError):
                os.unlink(unfinished)
        raise UnwritableOutput(f"{path}: the answer cannot be kept ({error}); give another folder") from error

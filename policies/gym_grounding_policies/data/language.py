"""Sentences as fixed vectors, by a frozen encoder that comes as a package; nothing is fetched when it is used.

``words_of("minilm")`` is all-MiniLM-L6-v2. ``words_of("hashing")`` knows no language and is for tests; nothing falls
back to it.
"""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from gym_grounding.demos.write import write_bytes
from gym_grounding.errors import InvalidOption, UnknownName


class Words(Protocol):
    """Makes ``Batch.words`` of K sentences: name -> (K, ...)."""

    def __call__(self, sentences: Sequence[str]) -> Mapping[str, Tensor]: ...


class Encoder(Protocol):
    """Turns one sentence into a vector, a pure function of the sentence.

    Attributes:
        name: says which encoder, version and weights; goes into a run's settings and into the cache's keys.
        size: of the vector, D.
        window: tokens of a sentence that it reads, special ones included; None for any number.
    """

    @property
    def name(self) -> str: ...

    @property
    def size(self) -> int: ...

    @property
    def window(self) -> int | None: ...

    def length(self, sentence: str) -> int:
        """Number of tokens of a sentence, special ones included."""

    def __call__(self, sentence: str) -> NDArray[np.float32]:
        """The vector (D,); what is beyond the window is not read."""


class SentenceWords:
    """``sentence`` (K, D) float32: the vector of each sentence.

    Each sentence is encoded by itself and once in a process. One that is longer than the encoder's window is cut with a
    warning.

    Args:
        encoder: of single sentences.
        folder: where vectors are kept from one process to the next, a file for each sentence by the hash of its text
            and the encoder's name; None for nowhere.
    """

    def __init__(self, encoder: Encoder, folder: str | Path | None = None) -> None:
        self._encoder = encoder
        self._folder = None if folder is None else Path(folder)
        self._known: dict[str, NDArray[np.float32]] = {}

    @property
    def name(self) -> str:
        """Of the encoder."""
        return self._encoder.name

    @property
    def size(self) -> int:
        """Of a vector, D."""
        return self._encoder.size

    def blank(self, count: int) -> dict[str, Tensor]:
        """The empty instruction, ``count`` times: zeros, since no encoder was trained to say nothing."""
        return {"sentence": torch.zeros(count, self.size)}

    def __call__(self, sentences: Sequence[str]) -> dict[str, Tensor]:
        """See ``Words``.

        Raises:
            InvalidOption: a sentence without a word in it.
            UnwritableOutput: a vector cannot be kept in the folder.
        """
        rows = [self._vector(sentence) for sentence in sentences]
        return {"sentence": torch.from_numpy(np.array(rows, np.float32).reshape(len(rows), self.size))}

    def _vector(self, sentence: str) -> NDArray[np.float32]:
        if sentence not in self._known:
            self._known[sentence] = self._kept(sentence)
        return self._known[sentence]

    def _kept(self, sentence: str) -> NDArray[np.float32]:
        checked(sentence)
        file = None if self._folder is None else self._folder / f"{_key(self.name, sentence)}.npy"
        found = None if file is None else _read(file, self.size)
        if found is not None:
            return found
        length, window = self._encoder.length(sentence), self._encoder.window
        made = self._encoder(sentence)
        if window is not None and length > window:
            # Not kept in the folder: the next process shall say it too.
            warn_of_cut(sentence, length, window)
        elif file is not None:
            image = io.BytesIO()
            np.save(image, made, allow_pickle=False)
            write_bytes(file, image.getvalue())
        return made


class Hashing:
    """A bag of words by hashes, for tests: sentences that share words are near, and meaning plays no part."""

    window = None

    def __init__(self, size: int = 64) -> None:
        self.size = size
        self.name = f"hashing-{size}"

    def length(self, sentence: str) -> int:
        """See ``Encoder``."""
        return len(_split(sentence))

    def __call__(self, sentence: str) -> NDArray[np.float32]:
        """See ``Encoder``."""
        total = np.zeros(self.size)
        for word in _split(sentence):
            digest = hashlib.shake_256(word.encode()).digest(-(-self.size // 8))
            total += 2.0 * np.unpackbits(np.frombuffer(digest, np.uint8))[: self.size] - 1.0
        length = np.sqrt((total * total).sum())
        return np.asarray(total / length if length else total, np.float32)


ENCODERS = ("minilm", "hashing")


def words_of(name: str, folder: str | Path | None = None) -> SentenceWords:
    """Sentence vectors by the encoder of a name.

    Args:
        name: ``minilm``, or for tests ``hashing``.
        folder: see ``SentenceWords``.

    Raises:
        UnknownName: neither.
        MissingSource: the encoder's package is not installed.
    """
    if name not in ENCODERS:
        raise UnknownName("sentence encoder", name, ENCODERS)
    if name == "hashing":
        return SentenceWords(Hashing(), folder)
    from gym_grounding_policies.data.minilm import MiniLM  # its libraries are not needed for the other

    return SentenceWords(MiniLM.installed(), folder)


def checked(sentence: str) -> None:
    """Refuses a sentence that says nothing.

    Raises:
        InvalidOption: no letter or digit in it.
    """
    if not _split(sentence):
        raise InvalidOption(f"the sentence {sentence!r} has no word in it")


def warn_of_cut(sentence: str, length: int, window: int) -> None:
    """Says that the end of a sentence is not heard."""
    shown = sentence if len(sentence) <= 80 else f"{sentence[:77]}..."
    warnings.warn(
        f"a sentence of {length} tokens is cut to the {window} that the encoder reads: {shown!r}", stacklevel=3
    )


def _split(sentence: str) -> list[str]:
    return re.findall(r"\w+", sentence.casefold())


def _key(encoder: str, sentence: str) -> str:
    return hashlib.sha256(f"{encoder}\0{sentence}".encode()).hexdigest()


def _read(file: Path, size: int) -> NDArray[np.float32] | None:
    """A kept vector; None where there is none, or none that is sound."""
    try:
        found = np.load(io.BytesIO(file.read_bytes()), allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    sound = found.shape == (size,) and found.dtype == np.float32 and bool(np.isfinite(found).all())
    return found if sound else None

"""How observations and sentences become a network's inputs, as plain data that makes the same again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from torch import Tensor

from gym_grounding.errors import InvalidOption, WrongVersion
from gym_grounding_policies.data.clip_words import ClipWords
from gym_grounding_policies.data.efficientnet import EfficientNetLite0
from gym_grounding_policies.data.features import PICTURES, FeatureInputs
from gym_grounding_policies.data.inputs import Inputs, PictureInputs
from gym_grounding_policies.data.language import SentenceWords, Words, words_of
from gym_grounding_policies.data.tokens import StateInputs

CLIP = "clip"
MUTE, BLIND = "mute", "blind"
"""Controls: the sentence is blanked; nothing is seen but the robot itself."""


class NamedWords(Words, Protocol):
    """An encoder of sentences that says which one it is."""

    @property
    def name(self) -> str: ...

    def blank(self, count: int) -> dict[str, Tensor]:
        """The empty instruction, ``count`` times."""


class Muted:
    """Words of a policy that hears none: the empty instruction, whatever the sentence.

    Args:
        words: whose empty instruction it is.
    """

    def __init__(self, words: NamedWords) -> None:
        self._words = words

    @property
    def name(self) -> str:
        """Of the encoder."""
        return self._words.name

    @property
    def size(self) -> int:
        """Of a sentence's vector, D, where the encoder gives one."""
        assert isinstance(self._words, SentenceWords)
        return self._words.size

    def blank(self, count: int) -> dict[str, Tensor]:
        """See ``NamedWords``."""
        return self._words.blank(count)

    def __call__(self, sentences: Sequence[str]) -> dict[str, Tensor]:
        """See ``language.Words``; no sentence is read."""
        return self._words.blank(len(sentences))


def control_of(sees: str | None, mute: bool) -> str:
    """What is withheld: ``mute``, ``blind``, ``mute blind``, or nothing.

    Args:
        sees: as ``--objects`` calls it.
        mute: whether the sentence is blanked.
    """
    return " ".join([MUTE] * mute + [BLIND] * (sees == "none"))


def perceived(sees: str | None, encoder: str, mute: bool) -> str:
    """What a policy perceives, in words, and what is withheld from it.

    Args:
        sees, mute: as ``control_of``.
        encoder: of sentences.
    """
    things = {"all": "all objects", "joints": "joints of objects", "none": "no object (blind)", PICTURES: PICTURES}
    heard = "no sentence (mute: blanked in training and whenever it acts, whatever the instruction)"
    seen = PICTURES if sees is None else things[sees]
    return f"proprioception, {seen}, {heard if mute else f'sentences by {encoder}'}"


@dataclass(frozen=True, slots=True)
class Senses:
    """What a policy perceives.

    Attributes:
        inputs: ``StateInputs``, or None for the published policy's pictures and joints.
        encoder: of sentences: ``minilm``, for tests ``hashing``, or ``clip``.
        version: the encoder's full name with the hash of its files; empty for any.
        folder: of CLIP's tokenizer; empty for the other encoders.
        eyes: full name of the frozen picture encoder, with the hash of its weights; empty for none.
        mute: whether every sentence is blanked, in training and in acting.
    """

    inputs: StateInputs | None
    encoder: str
    version: str = ""
    folder: str = ""
    eyes: str = ""
    mute: bool = False

    @property
    def sees(self) -> str | None:
        """What ``--objects`` calls it; None for the published policy's pictures."""
        if self.eyes:
            return PICTURES
        return None if self.inputs is None else self.inputs.objects

    @property
    def control(self) -> str:
        """What is withheld; see ``control_of``."""
        return control_of(self.sees, self.mute)

    @property
    def observation(self) -> str:
        """The kind of observation that it needs."""
        return "pixels" if self.inputs is None or self.eyes else "state"

    def make_inputs(self, features: Path | None = None) -> Inputs:
        """What turns observations into inputs.

        Args:
            features: folder where features of pictures are kept; None for nowhere.

        Raises:
            WrongVersion: another picture encoder than was trained with.
            MissingSource: its package is not there.
        """
        if self.inputs is None:
            return PictureInputs()
        if not self.eyes:
            return self.inputs
        encoder = EfficientNetLite0.installed()
        if encoder.name != self.eyes:
            raise WrongVersion(
                f"the checkpoint was trained with the picture encoder {self.eyes}, here is {encoder.name}; "
                "install the version of gym-grounding that it was trained with"
            )
        return FeatureInputs(self.inputs, encoder, features)

    def make_words(self, folder: str = "") -> NamedWords:
        """The sentence encoder.

        Args:
            folder: of CLIP's tokenizer, where it has moved.

        Raises:
            WrongVersion: another one than was trained with.
            MissingSource: its package or file is not there.
            UnknownName: no such encoder.
        """
        place = folder or self.folder
        if self.encoder == CLIP and not place:
            raise InvalidOption("the tokenizer of CLIP is a file of its own; name its folder with --clip")
        words: NamedWords = ClipWords(Path(place)) if self.encoder == CLIP else words_of(self.encoder)
        if self.version and words.name != self.version:
            raise WrongVersion(
                f"the checkpoint was trained with the sentence encoder {self.version}, here is {words.name}; "
                "install the one it was trained with"
            )
        return Muted(words) if self.mute else words

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        inputs = None if self.inputs is None else self.inputs.as_dict()
        told = {"inputs": inputs, "encoder": self.encoder, "version": self.version, "folder": self.folder}
        return told | ({"eyes": self.eyes} if self.eyes else {}) | ({"mute": True} if self.mute else {})

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Senses:
        """What ``as_dict`` described.

        Raises:
            InvalidOption: something else.
        """
        try:
            inputs = None if data["inputs"] is None else StateInputs.from_dict(data["inputs"])
            eyes, mute = str(data.get("eyes", "")), data.get("mute", False)
            if not isinstance(mute, bool):
                raise InvalidOption(f"these are no senses of a policy: mute is {mute!r}")
            return Senses(inputs, str(data["encoder"]), str(data["version"]), str(data["folder"]), eyes, mute)
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidOption(f"these are no senses of a policy: {error!r}") from error

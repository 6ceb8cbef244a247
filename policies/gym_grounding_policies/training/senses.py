"""How observations and sentences become a network's inputs, as plain data that makes the same again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from gym_grounding.errors import InvalidOption, WrongVersion
from gym_grounding_policies.data.clip_words import ClipWords
from gym_grounding_policies.data.efficientnet import EfficientNetLite0
from gym_grounding_policies.data.features import PICTURES, FeatureInputs
from gym_grounding_policies.data.inputs import Inputs, PictureInputs
from gym_grounding_policies.data.language import Words, words_of
from gym_grounding_policies.data.tokens import StateInputs

CLIP = "clip"


class NamedWords(Words, Protocol):
    """An encoder of sentences that says which one it is."""

    @property
    def name(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Senses:
    """What a policy perceives.

    Attributes:
        inputs: ``StateInputs``, or None for the published policy's pictures and joints.
        encoder: of sentences: ``minilm``, for tests ``hashing``, or ``clip``.
        version: the encoder's full name with the hash of its files; empty for any.
        folder: of CLIP's tokenizer; empty for the other encoders.
        eyes: full name of the frozen picture encoder, with the hash of its weights; empty for none.
    """

    inputs: StateInputs | None
    encoder: str
    version: str = ""
    folder: str = ""
    eyes: str = ""

    @property
    def sees(self) -> str | None:
        """What ``--objects`` calls it; None for the published policy's pictures."""
        if self.eyes:
            return PICTURES
        return None if self.inputs is None else self.inputs.objects

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
        return words

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        inputs = None if self.inputs is None else self.inputs.as_dict()
        told = {"inputs": inputs, "encoder": self.encoder, "version": self.version, "folder": self.folder}
        return told | ({"eyes": self.eyes} if self.eyes else {})

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Senses:
        """What ``as_dict`` described.

        Raises:
            InvalidOption: something else.
        """
        try:
            inputs = None if data["inputs"] is None else StateInputs.from_dict(data["inputs"])
            eyes = str(data.get("eyes", ""))
            return Senses(inputs, str(data["encoder"]), str(data["version"]), str(data["folder"]), eyes)
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidOption(f"these are no senses of a policy: {error!r}") from error

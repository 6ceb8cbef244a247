"""Sizes and inputs of the actor: plain data that goes into a checkpoint's JSON and builds the same actor again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from gym_grounding.errors import InvalidOption

CAMERAS = ("agentview", "eye_in_hand")
MOST_WIDTH, MOST_LAYERS = 8192, 128
"""Beyond what fits into any memory here; a slip of the pen is said before it is tried."""
UNUSED_PROJECTION = 768 * 512 + 512
"""Parameters of a projection in timm's CLIP ViT-B/16 that the published policy carries and never uses.

It is not built here. The published 174,130,251 parameters count it.
"""


@dataclass(frozen=True, slots=True)
class Pictures:
    """The picture encoder, one for all cameras: CLIP's ViT-B/16 by default.

    Attributes:
        cameras: names of the inputs, (B, H, 3, h, w) uint8 each; one token each.
        resized: side after bicubic resizing [pixels].
        cropped: side of the centre that is kept [pixels].
        activation: ``gelu`` as in timm and the published policy; the public weights were trained with ``quick_gelu``.
    """

    cameras: tuple[str, ...] = CAMERAS
    resized: int = 248
    cropped: int = 224
    patch: int = 16
    layers: int = 12
    heads: int = 12
    hidden: int = 3072
    activation: str = "gelu"


@dataclass(frozen=True, slots=True)
class TextTower:
    """The trained text encoder: CLIP's by default. Its inputs are ``ids`` and ``mask`` (B, L), L up to ``length``.

    Attributes:
        projected: size of the sentence feature.
    """

    vocabulary: int = 49408
    length: int = 77
    width: int = 512
    layers: int = 12
    heads: int = 8
    hidden: int = 2048
    activation: str = "quick_gelu"
    projected: int = 512


@dataclass(frozen=True, slots=True)
class Objects:
    """One token per object or fixture, from ``tokens`` (B, H, N, ``size``) and ``present`` (B, H, N) bool."""

    size: int


@dataclass(frozen=True, slots=True)
class Features:
    """Features of pictures by a frozen encoder, ``features`` (B, H, ``count``, ``size``): one token each."""

    count: int
    size: int


@dataclass(frozen=True, slots=True)
class Temporal:
    """The transformer over a window.

    Attributes:
        dropout: after the attention's output and in the MLP.
        depth_dropout: stochastic depth of the MLP branch.
        base: of the sinusoidal positions.
    """

    layers: int
    heads: int
    hidden: int
    dropout: float = 0.15
    depth_dropout: float = 0.15
    base: float = 10.0


@dataclass(frozen=True, slots=True)
class Head:
    """The action head.

    Attributes:
        kind: ``gmm``, a mixture of diagonal Gaussians; or ``l1``, whose loss is the absolute error.
        modes: of the mixture.
        hidden: width of its three shared layers.
        chunk: actions that are predicted at each step, C.
        actions: numbers of an action, A.
        least_scale: of a Gaussian.
        l1_scale: scale of the Laplace density as which an L1 head is read.
    """

    kind: str = "gmm"
    modes: int = 5
    hidden: int = 256
    chunk: int = 1
    actions: int = 7
    least_scale: float = 1e-4
    l1_scale: float = 0.1


@dataclass(frozen=True, slots=True)
class Profile:
    """All that is needed to build an actor.

    Attributes:
        name: ``paper``, ``cpu`` or one of your own.
        width: of tokens, W; the picture encoder has the same.
        proprio: inputs and their sizes, (B, H, size) each; one token each, before all others. The first is read out.
        temporal, head: see there.
        pictures, objects, features: where the other tokens come from; None for not at all.
        text: the text encoder; None for sentence features that are given.
        sentence: size of the given ``sentence`` (B, D); unused with a text encoder.
        film_hidden: hidden width of the FiLM network.
        history: steps of a window, H.
        executed: actions of a chunk that are carried out before the next look.
        scaled: whether given numbers are shifted and scaled first; see ``Actor.set_scaling``.
    """

    name: str
    width: int
    proprio: tuple[tuple[str, int], ...]
    temporal: Temporal
    head: Head
    pictures: Pictures | None = None
    objects: Objects | None = None
    features: Features | None = None
    text: TextTower | None = None
    sentence: int = 0
    film_hidden: int = 256
    history: int = 1
    executed: int = 1
    scaled: bool = False

    def __post_init__(self) -> None:
        """Raises InvalidOption for sizes that do not fit together."""
        head, temporal = self.head, self.temporal
        for wrong, why in (
            (head.kind not in ("gmm", "l1"), f"head.kind is {head.kind!r}; choose gmm or l1"),
            (not self.proprio, "proprio is empty; its first token is the one that is read out"),
            (not 2 <= self.width <= MOST_WIDTH, f"width is {self.width}; must be 2 to {MOST_WIDTH}"),
            (self.width % 2 != 0, f"width is {self.width}; must be even"),
            (self.width % temporal.heads != 0, f"width is {self.width}; must divide by {temporal.heads} heads"),
            (not 1 <= temporal.layers <= MOST_LAYERS, f"layers is {temporal.layers}; must be 1 to {MOST_LAYERS}"),
            (not 0 <= temporal.dropout < 1, f"dropout is {temporal.dropout}; must be in [0, 1)"),
            (not 0 <= temporal.depth_dropout < 1, f"depth_dropout is {temporal.depth_dropout}; must be in [0, 1)"),
            (self.history < 1, f"history is {self.history}; must be at least 1"),
            (not 1 <= self.executed <= head.chunk, f"executed is {self.executed}; must be 1 to chunk={head.chunk}"),
            (self.text is None and self.sentence < 1, "sentence is 0 and there is no text encoder: no language"),
        ):
            if wrong:
                raise InvalidOption(f"profile {self.name!r}: {why}")

    @property
    def said(self) -> int:
        """Size of the sentence feature, D."""
        return self.sentence if self.text is None else self.text.projected

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Profile:
        """The profile that ``as_dict`` described, also after JSON.

        Raises:
            InvalidOption: an unknown or missing field, or sizes that do not fit together.
        """
        given = dict(data)
        try:
            for key, kind in _NESTED.items():
                if given.get(key) is not None:
                    given[key] = kind(**given[key])
            if given.get("pictures") is not None:
                given["pictures"] = replace(given["pictures"], cameras=tuple(given["pictures"].cameras))
            given["proprio"] = tuple((str(name), int(size)) for name, size in given.get("proprio", ()))
            return Profile(**given)
        except (TypeError, ValueError) as error:
            if isinstance(error, InvalidOption):
                raise
            raise InvalidOption(f"profile {given.get('name')!r} cannot be read: {error}") from error


_NESTED: dict[str, Any] = {
    "temporal": Temporal,
    "head": Head,
    "pictures": Pictures,
    "objects": Objects,
    "features": Features,
    "text": TextTower,
}


PAPER = Profile(
    name="paper",
    width=768,
    proprio=(("joint", 7), ("gripper", 2)),
    temporal=Temporal(layers=6, heads=8, hidden=1024),
    head=Head(),
    pictures=Pictures(),
    text=TextTower(),
    history=10,
)
"""The published policy, HarryLui98/DMPEL ``libero/lifelong/models/bc_foundation_tail_policy.py`` and its settings."""


def cpu(
    proprio: int,
    objects: int = 0,
    sentence: int = 384,
    features: tuple[int, int] | None = None,
    width: int = 96,
    layers: int = 2,
    head: str = "gmm",
    chunk: int = 10,
    executed: int = 5,
    history: int = 1,
    dropout: float = 0.0,
) -> Profile:
    """The small profile: object tokens, proprioception and the feature of a frozen sentence encoder.

    Args:
        proprio: size of ``proprio``.
        objects: size of an object token; 0 for none.
        sentence: size of the sentence feature.
        features: number and size of the pictures' features; None for none.
        dropout: also the rate of stochastic depth.
    """
    return Profile(
        name="cpu",
        width=width,
        proprio=(("proprio", proprio),),
        temporal=Temporal(layers, heads=4, hidden=2 * width, dropout=dropout, depth_dropout=dropout),
        head=Head(head, hidden=width, chunk=chunk),
        objects=Objects(objects) if objects else None,
        features=Features(*features) if features else None,
        sentence=sentence,
        film_hidden=width,
        history=history,
        executed=executed,
        scaled=True,
    )

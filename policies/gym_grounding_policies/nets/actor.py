"""The language-conditioned policy network of both profiles: tokens, FiLM, transformer over time, action head."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import torch
from torch import Tensor, nn

from gym_grounding.errors import InvalidOption, UnknownName
from gym_grounding_policies.nets.draws import seeded
from gym_grounding_policies.nets.film import Film
from gym_grounding_policies.nets.heads import ActionHead, Density
from gym_grounding_policies.nets.images import ImageEncoder
from gym_grounding_policies.nets.profiles import Profile
from gym_grounding_policies.nets.sites import GROUPS, Site, changed, name_sites
from gym_grounding_policies.nets.text import TextEncoder
from gym_grounding_policies.nets.tokens import Numbers, Scaling, Things, Views, mean_present
from gym_grounding_policies.nets.transformer import TemporalTransformer

Inputs = Mapping[str, Tensor]


class Windows(Protocol):
    """What a loss needs: observations (B, H, ...), words, actions (B, H, C, A), weight (B, H, C)."""

    @property
    def observations(self) -> Inputs: ...
    @property
    def words(self) -> Inputs: ...
    @property
    def actions(self) -> Tensor: ...
    @property
    def weight(self) -> Tensor: ...


class Tokens(NamedTuple):
    """What the transformer sees.

    Attributes:
        values: (B, H, n, W), with the sentence's scale and shift applied.
        present: (B, H, n) bool; None if all tokens always are.
    """

    values: Tensor
    present: Tensor | None


class Actor(nn.Module):
    """Built from a profile, which is all that is needed to build it again.

    Token order: proprioception, pictures by camera, objects, stored features. The transformer's output at the first
    is read out.

    Attributes:
        profile: as given.
        sites: name -> linear layer that adapters may change; every linear layer is one.
        groups: group -> its sites, in the order of ``GROUPS``; groups without sites are left out.
    """

    def __init__(self, profile: Profile) -> None:
        super().__init__()
        self.profile = profile
        width, scaled = profile.width, profile.scaled
        self.image = ImageEncoder(width, profile.pictures) if profile.pictures else None
        self.text = TextEncoder(profile.text) if profile.text else None
        self.proprio = nn.ModuleDict({name: Numbers(size, width, scaled) for name, size in profile.proprio})
        self.objects = Things(profile.objects.size, width, scaled) if profile.objects else None
        stored = profile.features
        self.stored = Views(stored.count, stored.size, width, scaled) if stored else None
        self.film = Film(profile.said, profile.film_hidden, width)
        self.temporal = TemporalTransformer(width, profile.temporal)
        self.head = ActionHead(width, profile.head)
        self.sites: Mapping[str, Site] = name_sites(self)
        found = {group: tuple(site for site in self.sites.values() if site.group == group) for group in GROUPS}
        self.groups: Mapping[str, tuple[Site, ...]] = {group: sites for group, sites in found.items() if sites}

    @staticmethod
    def made(profile: Profile, generator: torch.Generator) -> Actor:
        """An actor whose first weights come from ``generator``."""
        with seeded(generator):
            return Actor(profile)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the observations that it needs."""
        pictures = self.profile.pictures.cameras if self.profile.pictures else ()
        objects = ("tokens", "present") if self.objects is not None else ()
        return (*self.proprio, *pictures, *objects, *(("features",) if self.stored is not None else ()))

    def sizes(self) -> dict[str, int]:
        """Number of parameters of each part."""
        return {name: sum(parameter.numel() for parameter in part.parameters()) for name, part in self.named_children()}

    def set_scaling(self, statistics: Mapping[str, tuple[Tensor, Tensor]]) -> None:
        """Mean and standard deviation of the numbers of an input, such as ``proprio`` or ``tokens`` (size,).

        Those of ``features`` are (count, size).

        Raises:
            UnknownName: no input of that name is scaled.
            InvalidOption: a wrong size, or numbers that are not finite.
        """
        parts = {**self.proprio, "tokens": self.objects, "features": self.stored}
        known = {name: part.scaling for name, part in parts.items() if isinstance(part, Numbers | Things | Views)}
        scalings = {name: one for name, one in known.items() if isinstance(one, Scaling)}
        for name, (mean, deviation) in statistics.items():
            if name not in scalings:
                raise UnknownName("scaled input", name, scalings, f"profile {self.profile.name!r}")
            scalings[name].set(mean, deviation)

    def sentence(self, words: Inputs) -> Tensor:
        """The sentence feature (B, D): the text encoder's, or the given one."""
        return words["sentence"] if self.text is None else self.text(words["ids"], words["mask"])

    def tokens(self, observations: Inputs, words: Inputs) -> Tokens:
        """All tokens of the observations (B, H, ...), under the words.

        Raises:
            InvalidOption: an input is missing; names it.
        """
        self._check(observations)
        seen = self._seen(observations)
        values = torch.cat([one if one.dim() == 4 else one[:, :, None] for one in seen.values()], dim=2)
        present = None
        if self.objects is not None:
            given = observations["present"].bool()
            front = len(self.proprio) + (len(self.profile.pictures.cameras) if self.profile.pictures else 0)
            back = values.shape[2] - front - given.shape[2]
            present = torch.nn.functional.pad(given, (front, back), value=True)
        return Tokens(self.film(values, self.sentence(words)), present)

    def read(self, tokens: Tokens) -> Tensor:
        """The read-out (B, H, W) of a window of tokens, such as the queue of an episode's last steps."""
        out: Tensor = self.temporal(tokens.values, tokens.present)
        return out

    def features(self, observations: Inputs, words: Inputs) -> Tensor:
        """The read-out (B, H, W) of a window."""
        return self.read(self.tokens(observations, words))

    def forward(self, observations: Inputs, words: Inputs) -> Density:
        """The density over the actions (B, H, C, A) of each step."""
        out: Density = self.head(self.features(observations, words))
        return out

    def nll(self, batch: Windows) -> Tensor:
        """Mean negative log density of a batch's counted actions, a scalar."""
        density: Density = self(batch.observations, batch.words)
        return density.nll(batch.actions, batch.weight)

    def query_parts(self, observations: Inputs, words: Inputs) -> dict[str, Tensor]:
        """What a router may look at, (B, H, d) each, before FiLM: sentence, pictures, scene, proprioception.

        Proprioception is given as the numbers themselves (scaled where the profile scales), ``scene`` is the mean of
        the present object tokens, ``features`` that of the stored picture features. For the unchanged policy's parts,
        call it inside ``frozen``.
        """
        self._check(observations)
        steps = next(iter(observations.values())).shape[1]
        parts = {"sentence": self.sentence(words)[:, None].expand(-1, steps, -1)}
        if self.image is not None:
            parts |= self._pictured(observations)
        if self.objects is not None:
            parts["scene"] = mean_present(self.objects(observations["tokens"]), observations["present"].bool())
        if self.stored is not None:
            parts["features"] = mean_present(self.stored(observations["features"]), None)
        return parts | {
            name: part.scaling(observations[name]) for name, part in self.proprio.items() if isinstance(part, Numbers)
        }

    def _check(self, observations: Inputs) -> None:
        missing = [name for name in self.inputs if name not in observations]
        if missing:
            raise InvalidOption(
                f"profile {self.profile.name!r} needs the observations {', '.join(self.inputs)}; "
                f"missing: {', '.join(missing)}; given: {', '.join(sorted(observations)) or '(none)'}"
            )

    def _seen(self, observations: Inputs) -> dict[str, Tensor]:
        """The tokens before FiLM by input, (B, H, W) or (B, H, n, W), in their order."""
        seen: dict[str, Tensor] = {name: part(observations[name]) for name, part in self.proprio.items()}
        if self.image is not None:
            seen |= self._pictured(observations)
        if self.objects is not None:
            seen["tokens"] = self.objects(observations["tokens"])
        if self.stored is not None:
            seen["features"] = self.stored(observations["features"])
        return seen

    def _pictured(self, observations: Inputs) -> dict[str, Tensor]:
        """The class tokens (B, H, W) of each camera."""
        assert self.image is not None
        assert self.profile.pictures is not None
        cameras = self.profile.pictures.cameras
        stacked = torch.stack([observations[camera] for camera in cameras], dim=2)
        classes = self.image(stacked.flatten(0, 2)).unflatten(0, stacked.shape[:3])
        return {camera: classes[:, :, number] for number, camera in enumerate(cameras)}


@contextmanager
def frozen(actor: nn.Module) -> Iterator[None]:
    """The network as it is without any change: no adapters, no dropout, no gradients. Everything comes back after."""
    training = [module for module in actor.modules() if module.training]
    try:
        actor.eval()
        with torch.no_grad(), changed(actor, None):
            yield
    finally:
        for module in training:
            module.training = True

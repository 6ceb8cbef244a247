"""What a routed method looks at, and what it compares: all from the actor without adapters."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from gym_grounding_policies.learners._base import Inputs
from gym_grounding_policies.nets.actor import Actor, frozen
from gym_grounding_policies.nets.profiles import Profile


def scene_query(actor: Actor, observations: Inputs, words: Inputs, proprio: bool, steps: int | None = None) -> Tensor:
    """Sentence feature, pictures or objects, and if wanted proprioception, one after the other: (B, Q) float32.

    The sentence comes first. Nothing is normalised, so a part weighs by its norm.

    Args:
        observations: input -> (B, h, ...).
        steps: over how many of the last steps the parts are averaged; None for all.
    """
    with frozen(actor):
        parts = actor.query_parts(observations, words)
    without = () if proprio else tuple(name for name, _ in actor.profile.proprio)
    first = 0 if steps is None else -steps
    return torch.cat([part[:, first:].float().mean(1) for name, part in parts.items() if name not in without], dim=1)


def query_size(profile: Profile, proprio: bool) -> int:
    """Q of ``scene_query``."""
    cameras = len(profile.pictures.cameras) if profile.pictures else 0
    pooled = cameras + int(profile.objects is not None) + int(profile.features is not None)
    return profile.said + profile.width * pooled + (sum(size for _, size in profile.proprio) if proprio else 0)


def readout_query(actor: Actor, observations: Inputs, words: Inputs) -> Tensor:
    """The mean over the steps of what the transformer says: (B, W) float32."""
    with frozen(actor):
        features: Tensor = actor.features(observations, words).float().mean(1)
    return features


def cosine(queries: Tensor, keys: Tensor) -> Tensor:
    """Cosine of each query (B, Q) with each key (n, Q): (B, n) float32, also under autocast."""
    with torch.autocast(queries.device.type, enabled=False):
        return functional.normalize(queries.float(), dim=1) @ functional.normalize(keys.float(), dim=1).T


def nearest(queries: Tensor, prototypes: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """Number of the prototype (B,) with the basis nearest to each query, and that basis' cosine (B,).

    Args:
        prototypes: (n, Q) each, n bases.
    """
    similarity = torch.stack([cosine(queries, bases).amax(1) for bases in prototypes], dim=1)
    best = similarity.max(1)
    return best.indices, best.values

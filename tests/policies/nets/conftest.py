"""Tiny actors of both profiles, their inputs, and the published one without weights."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")
from gym_grounding_policies.nets.actor import Actor  # noqa: E402  # needs torch
from gym_grounding_policies.nets.profiles import PAPER, Head, Pictures, Temporal, TextTower, cpu  # noqa: E402

ROWS, STEPS = 4, 3
PROFILES = {
    "paper": replace(
        PAPER,
        width=16,
        temporal=Temporal(layers=2, heads=2, hidden=24),
        head=Head(hidden=8),
        pictures=Pictures(resized=24, cropped=16, patch=8, layers=2, heads=2, hidden=32),
        text=TextTower(vocabulary=40, length=12, width=8, layers=2, heads=2, hidden=16, projected=6),
        film_hidden=8,
        history=STEPS,
    ),
    "cpu": cpu(
        proprio=5, objects=6, sentence=6, features=(2, 7), width=16, chunk=4, executed=2, history=STEPS, dropout=0.15
    ),
}


def source(seed=0):
    return torch.Generator().manual_seed(seed)


def window(name, rows=ROWS, steps=STEPS, seed=1):
    """Random observations, words, actions and weight for a tiny actor."""
    draw = source(seed)
    profile = PROFILES[name]
    if name == "paper":
        observations = {
            camera: torch.randint(0, 256, (rows, steps, 3, 12, 12), generator=draw, dtype=torch.uint8)
            for camera in profile.pictures.cameras
        }
        observations |= {key: torch.randn(rows, steps, size, generator=draw) for key, size in profile.proprio}
        words = {"ids": torch.randint(0, 38, (rows, 7), generator=draw), "mask": torch.ones(rows, 7).long()}
    else:
        observations = {
            "proprio": torch.randn(rows, steps, 5, generator=draw),
            "tokens": torch.randn(rows, steps, 3, 6, generator=draw),
            "present": torch.rand(rows, steps, 3, generator=draw) < 0.7,
            "features": torch.randn(rows, steps, 2, 7, generator=draw),
        }
        words = {"sentence": torch.randn(rows, 6, generator=draw)}
    actions = torch.rand(rows, steps, profile.head.chunk, 7, generator=draw) * 2 - 1
    weight = (torch.rand(rows, steps, profile.head.chunk, generator=draw) < 0.8).float()
    return SimpleNamespace(observations=observations, words=words, actions=actions, weight=weight)


@pytest.fixture(params=PROFILES)
def kind(request):
    """Name of a profile."""
    return request.param


@pytest.fixture
def actor(kind):
    """A tiny actor, not training."""
    return Actor.made(PROFILES[kind], source()).eval()


@pytest.fixture
def batch(kind):
    """A window for it."""
    return window(kind)


@pytest.fixture
def tiny():
    """The profiles, generators and windows of this file."""
    return SimpleNamespace(profiles=PROFILES, source=source, window=window, rows=ROWS, steps=STEPS)


@pytest.fixture(scope="session")
def published():
    """The published actor without memory for its weights."""
    with torch.device("meta"):
        return Actor(PAPER)

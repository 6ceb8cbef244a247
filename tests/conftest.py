"""Fixtures that several test modules share."""

import pytest

import gym_grounding
from gym_grounding import manifest
from gym_grounding.testing import TOY_REGISTRY


@pytest.fixture(scope="session")
def toy_registry():
    """Path of the toy registry."""
    return TOY_REGISTRY


@pytest.fixture(scope="session")
def toy(toy_registry):
    """The toy registry, loaded."""
    return manifest.load(toy_registry)


@pytest.fixture(scope="session")
def toy_ids(toy_registry):
    """Ids of the toy registry, registered with Gymnasium."""
    return gym_grounding.register(toy_registry)

"""Fixtures that several test modules share."""

import shutil

import pytest
from hypothesis import settings

import gym_grounding
from gym_grounding import manifest
from gym_grounding.testing import TOY_REGISTRY

# the time of one example says more about the machine than about the code
settings.register_profile("suite", deadline=None)
settings.load_profile("suite")


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory):
    """Compiled models go into a folder of the tests' own, so that the user's cache neither helps nor grows."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GYM_GROUNDING_CACHE", str(folder))
        yield
    shutil.rmtree(folder, ignore_errors=True)


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

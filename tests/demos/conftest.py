"""Files of demonstrations that a fake arm made; no simulator."""

import shutil

import h5py
import pytest
from demos import fake_arm

from gym_grounding import manifest as manifests
from gym_grounding.demos.make import make


@pytest.fixture(scope="session")
def arm_folder(tmp_path_factory):
    """A registry of the fake arm, and one made file."""
    folder = tmp_path_factory.mktemp("arm")
    make(fake_arm.order(folder))
    return folder


@pytest.fixture(scope="session")
def arm(arm_folder):
    """The fake arm's registry."""
    return manifests.load(arm_folder / "registry.yaml")


@pytest.fixture(scope="session")
def sound(arm_folder):
    """The made file; not to be changed."""
    return next((arm_folder / "out").rglob("*_demo.hdf5"))


@pytest.fixture
def spoiled(sound, tmp_path):
    """A function that copies the made file, changes the copy in place, and gives its path."""

    def spoil(change):
        path = tmp_path / "spoiled_demo.hdf5"
        shutil.copy(sound, path)
        with h5py.File(path, "r+") as file:
            change(file["data"])
        return path

    return spoil

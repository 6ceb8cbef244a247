"""The wheel: what is in it, and that it works away from the checkout."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from gym_grounding import manifest

ROOT = Path(__file__).resolve().parent.parent

PROGRAM = """
import gymnasium, gym_grounding, gym_grounding_policies, pathlib, sys
assert pathlib.Path(gym_grounding.__file__).is_relative_to(sys.argv[1]), gym_grounding.__file__
env = gymnasium.make("gym_grounding:Grounding/LiberoGoal-T3-Paraphrase2-v0")
from gym_grounding import manifest
assert pathlib.Path(manifest.load().path).is_relative_to(sys.argv[1]), manifest.load().path
print(env.unwrapped.spec.id, len(manifest.load().variants))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("build")
    out = tmp_path_factory.mktemp("dist")
    # through the sdist, as an installer would, so that what the sdist lacks the wheel lacks
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (built,) = out.glob("*.whl")
    return built


def test_the_wheel_holds_both_packages_the_registry_and_the_data(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {
        "gym_grounding/registry.yaml",
        "gym_grounding/py.typed",
        "gym_grounding_policies/py.typed",
        "gym_grounding/adapters/libero/fixture_poses.npz",
        "gym_grounding/testing/toy_registry.yaml",
    } <= names
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"gym_grounding", "gym_grounding_policies"}


def test_an_installed_wheel_makes_an_id_in_a_foreign_folder(wheel, tmp_path):
    target = tmp_path / "installed"
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(wheel)]
    subprocess.run(install, check=True, capture_output=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(target)}
    command = [sys.executable, "-c", PROGRAM, str(target)]
    done = subprocess.run(command, cwd=elsewhere, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    count = len(manifest.load().variants)
    assert done.stdout.split() == ["Grounding/LiberoGoal-T3-Paraphrase2-v0", str(count)]


def test_the_versions_in_the_constraints_are_the_ones_the_package_accepts():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text().splitlines() if "==" in line)
    pinned = {name.lower().replace("_", "-"): Version(version) for name, version in pinned.items()}
    extras = [text for texts in project["optional-dependencies"].values() for text in texts]
    for requirement in map(Requirement, project["dependencies"] + extras):
        assert pinned[requirement.name.lower()] in requirement.specifier, requirement
    assert pinned["mujoco"] == Version("3.3.2")
    assert pinned["robosuite"] == Version("1.4.0")

"""The fake arm of the demonstrations as a world that policies are evaluated in; for the tests of training."""

import copy
import hashlib
import os
import sys
from pathlib import Path

import mini_registry
import numpy as np
from demos import fake_arm
from gymnasium import spaces

from gym_grounding.demos.make import Order, make

NAME = "policies.training.little_arm"
TESTS = Path(__file__).parents[2]
SIZES = {
    "robot0_joint_pos": 7,
    "robot0_eef_pos": 3,
    "robot0_eef_quat": 4,
    "robot0_gripper_qpos": 2,
    "cup_1_pos": 3,
    "cup_1_quat": 4,
}


class Scene(fake_arm.FakeScene):
    """The hand is at home at the start; the cup has an orientation, so that it can be a token."""

    def reset_from(self, *arguments, **options):
        observation = super().reset_from(*arguments, **options)
        self._home = np.array(self._state[1:4])
        return observation

    def displacement(self):
        return float(np.linalg.norm(self._state[1:4] - self._home))

    def render(self):
        return np.zeros((8, 8, 3), np.uint8)

    @staticmethod
    def _drawn(task, seed):
        state = fake_arm.FakeScene._drawn(task, seed)
        state[10] = np.clip(state[10], -0.4, 0.4)
        return state

    def _observation(self):
        return super()._observation() | {"cup_1_quat": np.array([0.0, 0.0, 0.0, 1.0])}


class Adapter(fake_arm.FakeAdapter):
    """See ``adapters.Adapter``."""

    name = "little_arm"

    def open(self, scene, tasks, settings):
        return Scene(settings)

    def observation_space(self, scene, settings):
        return spaces.Dict({key: spaces.Box(-np.inf, np.inf, (size,), np.float64) for key, size in SIZES.items()})

    def action_space(self, scene):
        return spaces.Box(-1.0, 1.0, (7,), np.float32)


ADAPTER = Adapter()


def registry(folder):
    """A registry of three tasks that this arm plays."""
    data = copy.deepcopy(mini_registry.mini())
    for part in (*data["suites"].values(), *data["scenes"].values()):
        part["adapter"] = f"{NAME}:ADAPTER"
    for row in data["tasks"]:
        text = fake_arm.bddl(row["name"], row["instruction"])
        row["checksums"]["bddl"] = hashlib.sha256(text.encode()).hexdigest()
    path = folder / "registry.yaml"
    path.write_bytes(mini_registry.dumped(data))
    return path


def world(folder, per_task=6):
    """A folder with the registry and demonstrations of tasks 0 to 2."""
    tasks = ("Mini-T0", "Mini-T1", "Mini-T2")
    make(Order(folder / "demos", tasks, per_task, 40, fake_arm.SETTINGS, registry(folder)))
    return folder


def environment():
    """Variables of a process that shall know this world."""
    places = os.pathsep.join([str(TESTS), str(TESTS.parent), str(TESTS.parent / "policies")])
    return os.environ | {"PYTHONPATH": places, "OMP_NUM_THREADS": "1"}


def begin(*arguments, **options):
    """The command line as a process."""
    import subprocess

    command = [sys.executable, "-m", "gym_grounding_policies.commands", *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment(), text=True, stdout=pipe, stderr=pipe, **options)

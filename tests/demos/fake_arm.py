"""An arm in NumPy alone that can be recorded in LIBERO's layout, and who plays it. For the fast tests.

The hand is a point that moves by its actions; the goal holds while it is at the cup. One start in four has the cup out
of reach, so that some attempts fail.
"""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import os
import time
from pathlib import Path

import mini_registry
import numpy as np

from gym_grounding.adapters.libero.model_text import poses, with_poses
from gym_grounding.demos.make import Order
from gym_grounding.demos.settings import Played, Settings
from gym_grounding.errors import SimulatorError
from gym_grounding.experts import Disturbance

NAME = "demos.fake_arm"
POSITIONS, VELOCITIES = 12, 3
"""Seven joints, of which the first three are the hand's place, two fingers and the cup; the hand's speed."""
MODEL = '<mujoco><worldbody><body name="box_1_main" pos="0 0 0"/></worldbody></mujoco>'
PATTERN = 7 * np.arange(128 * 128 * 3).reshape(128, 128, 3)
"""Loses something when it is kept as JPEG."""
REACH = 0.5
"""Where the arm ends [m]."""
SETTINGS = Settings(player=f"{NAME}:PLAYER", horizon=60)
FACTOR = 0.05


class FakeScene:
    """See ``settings.RecordedScene``."""

    def __init__(self, settings):
        self._settings = settings
        self._state = np.zeros(1 + POSITIONS + VELOCITIES)
        self._box = np.zeros(7)

    def stored_start(self, task, init_state):
        return self._drawn(task, 1000 + init_state), None

    def drawn_start(self, task, seed):
        return self._drawn(task, seed), {"box_1": np.array([seed / 7.0, 0.1, 0.2, 1.0, 0.0, 0.0, 0.0])}

    def reset(self, task, init_state, joints=None):
        return self.reset_from(task, init_state, *self.stored_start(task, init_state))

    def reset_from(self, task, seed, state, poses, settle_steps=None):
        if state.shape != self._state.shape:
            raise SimulatorError("another scene")
        self._state = np.array(state)
        # As in LIBERO, what the reset drew and where the fixtures stand leaves traces.
        self._state[7] += 1e-12 * seed
        self._state[6] += 0.0 if poses is None else 1e-3 * poses["box_1"][1]
        self._box = np.zeros(7) if poses is None else np.array(poses["box_1"])
        for _ in range(self._settings.settle_steps if settle_steps is None else settle_steps):
            self._advance(np.zeros(7))
        return self._observation()

    def step(self, action):
        self._advance(action)
        return self._observation()

    def holds(self, goal):
        return bool(np.abs(self._state[1:4] - self._state[10:13]).max() < 0.02)

    def state(self):
        return np.array(self._state)

    def model_text(self):
        return with_poses(MODEL, {"box_1_main": self._box})

    def poses_in(self, text):
        return poses(text, {"box_1": "box_1_main"})

    def positions(self):
        return POSITIONS

    def origin(self, task):
        text = bddl(task.name, task.source_instruction)
        return {"env_name": "Fake", "bddl_text": text, "controller": {"type": "OSC_POSE"}}

    def look(self, state, camera, size):
        return np.full((size, size, 3), int(100 * abs(state[1])) % 256, np.uint8)

    def close(self):
        pass

    @staticmethod
    def _drawn(task, seed):
        state = np.zeros(1 + POSITIONS + VELOCITIES)
        rng = np.random.default_rng([seed, len(task.name)])
        state[4:8] = rng.uniform(-1, 1, 4)
        state[10:13] = rng.uniform(-0.4, 0.4, 3)
        if rng.random() < 0.25:
            state[10] = 2 * REACH
        return state

    def _advance(self, action):
        speed = FACTOR * np.asarray(action)[:3]
        self._state[0] += 0.05
        self._state[1:4] = np.clip(self._state[1:4] + speed, -REACH, REACH)
        self._state[4:8] += 0.01
        self._state[8:10] = np.clip(self._state[8:10] + 0.01 * np.sign(action[6]) * np.array([-1, 1]), -0.04, 0.04)
        self._state[13:] = speed

    def _observation(self):
        state = self._state
        turn = np.array([np.sin(state[4]), 0.0, 0.0, np.cos(state[4])])
        found = {
            "robot0_joint_pos": state[1:8].copy(),
            "robot0_eef_pos": state[1:4].copy(),
            "robot0_eef_quat": turn,
            "robot0_gripper_qpos": state[8:10].copy(),
            "cup_1_pos": state[10:13].copy(),
        }
        if self._settings.observation == "both":
            size = self._settings.image_size
            found["agentview_image"] = (PATTERN[:size, :size] + int(1000 * state[0])).astype(np.uint8)
            found["robot0_eye_in_hand_image"] = np.zeros((size, size, 3), np.uint8)
        return found


class FakeAdapter:
    """See ``adapters.Adapter``."""

    name = "fake_arm"
    fps = 20

    def open(self, scene, tasks, settings):
        return FakeScene(settings)

    def versions(self):
        return {"fake": "1"}

    def verify(self, task):
        pass


class FakePlayer:
    """Goes straight to the cup and stays there for a while."""

    name, version = "fake", "1"

    def __call__(self, scene, facts, tasks, goal, observation, horizon, noise, rng, told):
        disturbed = None if noise is None else Disturbance(noise, rng)
        calm = 0
        for step in range(horizon):
            way = (observation["cup_1_pos"] - observation["robot0_eef_pos"]) / FACTOR
            clean = np.concatenate([np.clip(way, -1, 1), np.zeros(3), [-1.0]])
            executed = clean if disturbed is None else disturbed(clean, False)
            before, observation = observation, scene.step(executed)
            held = scene.holds(goal)
            told(before, clean, executed, observation, held)
            calm = calm + 1 if held else 0
            if calm == 3:
                return Played(step + 1, "", {"verdict": "stable", "first_held": step - 1})
        return Played(0, "the cup is out of reach", {"verdict": "not_reached"})


class SlowPlayer(FakePlayer):
    """Does the same in more time, so that it can be stopped."""

    def __call__(self, *arguments):
        time.sleep(0.1)
        return super().__call__(*arguments)


class FailingPlayer(FakePlayer):
    """Breaks the simulator where the cup is far to one side."""

    def __call__(self, scene, facts, tasks, goal, observation, *rest):
        if observation["cup_1_pos"][0] > 0.2:
            raise SimulatorError("it exploded")
        return super().__call__(scene, facts, tasks, goal, observation, *rest)


class DyingPlayer(FakePlayer):
    """Takes its process with it where the cup is far to one side."""

    def __call__(self, scene, facts, tasks, goal, observation, *rest):
        if observation["cup_1_pos"][0] > 0.2:
            os._exit(7)
        return super().__call__(scene, facts, tasks, goal, observation, *rest)


class LeavingPlayer(FakePlayer):
    """Leaves the cup in the last step."""

    def __call__(self, scene, *rest):
        played, told = super().__call__(scene, *rest), rest[-1]
        away = np.ones(7)
        observation = scene.step(away)
        told(observation, away, away, observation, False)
        return dataclasses.replace(played, rows=played.rows and played.rows + 1)


ADAPTER = FakeAdapter()
PLAYER = FakePlayer()
SLOW = SlowPlayer()
FAILING = FailingPlayer()
DYING = DyingPlayer()
LEAVING = LeavingPlayer()


def order(folder: Path, name: str = "out", tasks=("Mini-T0",), per_task: int = 4, attempts: int = 40, **settings):
    """An order of demonstrations of this arm, into a folder of its own."""
    path = folder / "registry.yaml"
    if not path.exists():
        registry(folder)
    return Order(folder / name, tuple(tasks), per_task, attempts, dataclasses.replace(SETTINGS, **settings), path)


def bddl(name: str, text: str) -> str:
    """What the file of a task would say."""
    return f"(define (problem {name}) (:language {text}))"


def registry(folder: Path) -> Path:
    """A registry of two scenes and four tasks that this arm plays."""
    data = copy.deepcopy(mini_registry.mini())
    for part in (*data["suites"].values(), *data["scenes"].values()):
        part["adapter"] = f"{NAME}:ADAPTER"
    for row in data["tasks"]:
        row["checksums"]["bddl"] = hashlib.sha256(bddl(row["name"], row["instruction"]).encode()).hexdigest()
    path = folder / "registry.yaml"
    path.write_bytes(mini_registry.dumped(data))
    return path

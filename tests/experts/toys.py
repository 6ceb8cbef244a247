"""A hand without forces that does what skills ask, so that they can be run to their end without a simulator."""

import numpy as np
from experts.scenes import observation
from scipy.spatial.transform import Rotation

from gym_grounding.experts.control import action
from gym_grounding.experts.skills import RUNNING
from gym_grounding.experts.skills._hand import TIP, lowest
from gym_grounding.experts.world import HAND, World

SPEED, SPIN, GRIP = 0.014, 0.12, 0.008
"""How far the hand moves [m], turns [rad] and opens or closes [m] in a step, at most."""


class Toy:
    """Fixtures and things at their places, and a hand; ``touch(toy, before)`` moves what the hand takes along.

    ``shut`` is what is between the pads when they are closed [m].
    """

    def __init__(self, scene, poses, joints=None, touch=None, hand=(-0.2, 0.0, 1.17)):
        self.scene, self.poses = scene, {name: np.array(pose, float) for name, pose in poses.items()}
        self.joints = {name: np.array(values, float) for name, values in (joints or {}).items()}
        self.touch, self.position, self.rotation = touch, np.array(hand, float), np.diag([1.0, -1.0, -1.0]) @ HAND
        self.width, self.closing, self.shut, self.low = 0.078, 0.0, 0.0, np.inf

    @property
    def world(self):
        found = observation(self.poses, self.position, self.width, self.joints)
        found["robot0_eef_quat"] = Rotation.from_matrix(self.rotation @ HAND.T).as_quat()
        found["robot0_gripper_qvel"] = np.array([-self.closing / 2, self.closing / 2])
        return World(self.scene, found)

    @property
    def tip(self):
        return self.position + TIP * self.rotation[:, 2]

    def step(self, command):
        asked, before = action(command, self.world.hand), self.tip
        move, spin = asked[:3] * 0.05, asked[3:6] * 0.5
        self.position = self.position + move * min(1.0, SPEED / max(np.linalg.norm(move), 1e-9))
        spin = spin * min(1.0, SPIN / max(np.linalg.norm(spin), 1e-9))
        self.rotation = Rotation.from_rotvec(spin).as_matrix() @ self.rotation
        width = np.clip(self.width - GRIP * asked[6], self.shut, 0.078)
        self.closing, self.width = (self.width - width) / 0.05, width
        if self.touch is not None:
            self.touch(self, before)
        self.low = min(self.low, lowest(self.world.hand, self.width))

    def run(self, skill, limit=400):
        """The last step of the skill, and how many it took."""
        memory = None
        for count in range(1, limit + 1):
            step = skill.advance(self.world, memory)
            self.step(step.command)
            memory = step.memory
            if step.status != RUNNING:
                return step, count
        raise AssertionError(f"still running after {limit} steps")

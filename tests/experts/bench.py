"""A bench on which the hand moves as it is told and carries what it grips: no forces, no simulator."""

from dataclasses import dataclass, field

import numpy as np
from experts.scenes import GROUND, observation
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Frame
from gym_grounding.experts.control import CLOSED, METRES, OPENED, RADIANS, action
from gym_grounding.experts.skills import RUNNING
from gym_grounding.experts.skills._hand import struck
from gym_grounding.experts.world import HAND, OPEN, World

SHARE = 0.3
"""How much of an asked offset is done in a step."""
CLOSING, PERIOD = 0.008, 0.05
"""How far the fingers close or open in a step [m], and how long it takes [s]."""


@dataclass
class Bench:
    """One thing that can be gripped, and others that stand still.

    Attributes:
        scene: anatomy of all.
        poses: where things are, name -> frame.
        thing: the name of what can be gripped.
        width: of what is between the pads.
        loses: steps in the fingers after which the thing falls out, once; None for never.
        slips: whether nothing is ever gripped.
        stuck: height below which the hand does not get.
    """

    scene: object
    poses: dict
    thing: str
    width: float
    loses: int | None = None
    slips: bool = False
    stuck: float = -1.0
    hand: Frame = field(default_factory=lambda: Frame(np.array([-0.2, 0.0, 1.17]), np.diag([1.0, -1.0, -1.0]) @ HAND))
    gap: float = OPEN
    speed: float = 0.0
    held: Frame | None = None
    steps: int = 0
    trace: list = field(default_factory=list)

    def world(self):
        seen = observation({}, self.hand.position, self.gap)
        seen["robot0_eef_quat"] = Rotation.from_matrix(self.hand.rotation @ HAND.T).as_quat()
        seen["robot0_gripper_qvel"] = np.array([-self.speed / 2, self.speed / 2])
        for name, frame in self.poses.items():
            seen[f"{name}_pos"] = frame.position
            seen[f"{name}_quat"] = Rotation.from_matrix(frame.rotation).as_quat()
        return World(self.scene, seen)

    def step(self, asked):
        position = self.hand.position + SHARE * METRES * asked[:3]
        position[2] = max(position[2], self.stuck)
        turn = Rotation.from_rotvec(SHARE * RADIANS * asked[3:6]).as_matrix()
        self.hand = Frame(position, turn @ self.hand.rotation)
        before = self.gap
        self._close(asked[6])
        self.speed = (before - self.gap) / PERIOD
        if self.held is not None:
            self.poses[self.thing] = self.hand.then(self.held)
            self.steps += 1
            if self.loses is not None and self.steps > self.loses:
                self.loses, self.held = None, None
        if self.held is None:
            self._fall()
        self.trace.append((self.hand, self.poses[self.thing], self.held is not None))

    def _close(self, grip):
        if grip == OPENED:
            self.gap, self.held = min(OPEN, self.gap + CLOSING), None
        elif grip == CLOSED:
            between = self._between() and not self.slips
            self.gap = max(self.width if between else 0.0, self.gap - CLOSING)
            if between and self.gap <= self.width and self.held is None:
                frame = self.poses[self.thing]
                turned = self.hand.rotation.T @ frame.rotation
                self.held = Frame(self.hand.inverse(frame.position), turned)

    def _between(self):
        points = self.hand.inverse(self.world().cloud(self.thing))
        inside = (np.abs(points[:, 1]) < 0.012) & (np.abs(points[:, 2]) < 0.012) & (np.abs(points[:, 0]) < OPEN / 2)
        return bool(inside.any())

    def _fall(self):
        world, frame = self.world(), self.poses[self.thing]
        cloud = world.cloud(self.thing)
        low, high = cloud[:, :2].min(axis=0), cloud[:, :2].max(axis=0)
        others = world.others((self.thing,))
        below = others[((others[:, :2] > low) & (others[:, :2] < high)).all(axis=1)]
        below = below[below[:, 2] < cloud[:, 2].min() + 0.01]
        top = max([GROUND, *below[:, 2]])
        sunk = min(0.03, float(cloud[:, 2].min()) - top)
        self.poses[self.thing] = Frame(frame.position - [0, 0, sunk], frame.rotation)

    def struck(self, names):
        """Whether the hand has been in one of the named things."""
        clouds = np.concatenate([self.world().cloud(name) for name in names])
        return any(struck(hand, OPEN / 2, clouds, 0.0).any() for hand, _, _ in self.trace)


def run(bench, skill, limit=400, forget=()):
    """Steps until the skill ends; ``forget`` names steps before which its memory is lost."""
    memory, phases = None, []
    for number in range(limit):
        if number in forget:
            memory = None
        answer = skill.advance(bench.world(), memory)
        memory = answer.memory
        phases.append(getattr(memory, "phase", None))
        bench.step(action(answer.command, bench.hand))
        if answer.status != RUNNING:
            return answer, number + 1, phases
    raise AssertionError(f"no end after {limit} steps, in {phases[-1]}")

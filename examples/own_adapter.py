"""A simulator of one's own behind the suite: a hand in a corridor with a lamp at either end.

The adapter gives facts and opens scenes; tasks and instructions are rows of own_registry.yaml.

Run: python examples/own_adapter.py
"""

from pathlib import Path

import gymnasium
import numpy as np
from gymnasium import spaces

import gym_grounding
from gym_grounding.errors import InvalidOption

ENDS = {"left_lamp": -0.5, "right_lamp": 0.5}


class Corridor:
    """Where the hand stands, in metres; a lamp that it has touched stays on."""

    def reset(self, task, init_state):
        if init_state not in range(task.init_states):
            raise InvalidOption(f"init_state {init_state}: choose 0 to {task.init_states - 1}")
        self.home = self.hand = 0.05 * (init_state - 1)
        self.lit = set()
        return {"hand": np.array([self.hand])}

    def step(self, action):
        self.hand = float(np.clip(self.hand + 0.1 * action[0], -0.5, 0.5))
        self.lit |= {name for name, end in ENDS.items() if abs(self.hand - end) < 0.01}
        return {"hand": np.array([self.hand])}

    def holds(self, goal):
        return all(predicate.args[0] in self.lit for predicate in goal.all_of)

    def displacement(self):
        return abs(self.hand - self.home)

    def state(self):
        return np.array([self.hand, *(float(name in self.lit) for name in ENDS)])

    def render(self):
        return np.zeros((8, 8, 3), np.uint8)

    def close(self):
        pass


class CorridorAdapter:
    name, fps = "corridor", 10

    def observation_space(self, scene, settings):
        return spaces.Dict({"hand": spaces.Box(-np.inf, np.inf, (1,), np.float64)})

    def action_space(self, scene):
        return spaces.Box(-1.0, 1.0, (1,), np.float32)

    def open(self, scene, tasks, settings):
        return Corridor()

    def verify(self, task):
        pass

    def versions(self):
        return {"corridor": "1"}


ADAPTER = CorridorAdapter()


def main() -> None:
    ids = gym_grounding.register(Path(__file__).with_name("own_registry.yaml"))
    print("registered:", *ids)
    env = gymnasium.make("Grounding/Corridor-T0-ContrastAttribute1-v0", horizon=8)
    _, info = env.reset(options={"init_state": 0})
    print("told:", info["instruction"])
    over = False
    while not over:
        _, _, terminated, truncated, info = env.step(np.ones(1, np.float32))
        over = terminated or truncated
    print(
        f"reached after {info['target_goal_step']} steps; the left lamp is {'on' if info['original_goal'] else 'off'}"
    )
    env.close()


if __name__ == "__main__":
    main()

"""Environments side by side: copies of one id in threads, and two instructions for one scene in two processes.

Run: python examples/vector_envs.py
"""

import functools

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv

from gym_grounding import instruction_text

TOLD = "gym_grounding:Grounding/LiberoGoal-T8-Original-v0"
TOLD_OTHERWISE = "gym_grounding:Grounding/LiberoGoal-T8-ContrastTarget1-v0"


def main() -> None:
    copies = gymnasium.make_vec(TOLD, num_envs=2, observation="state")
    _, infos = copies.reset(seed=0)  # seeds 0 and 1, hence two initial states
    print("copies:", list(infos["instruction"]), "from initial states", infos["init_state"].tolist())
    copies.close()

    makers = [functools.partial(gymnasium.make, name, observation="state") for name in (TOLD, TOLD_OTHERWISE)]
    pair = AsyncVectorEnv(makers)
    observations, infos = pair.reset(options={"init_state": 3})
    print("two processes:", [instruction_text(row) for row in observations["instruction"]])
    actions = np.zeros((2, 7), np.float32)
    observations, *_ = pair.step(actions)
    print("equal but for the words:", np.array_equal(*observations["robot0_joint_pos"]))
    pair.close()


if __name__ == "__main__":
    main()

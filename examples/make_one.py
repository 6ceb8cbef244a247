"""One environment: a start, a few steps, and what ``info`` tells about the goals.

Run: python examples/make_one.py
"""

import gymnasium

from gym_grounding import instruction_text


def main() -> None:
    env = gymnasium.make("gym_grounding:Grounding/LiberoGoal-T8-ContrastTarget1-v0", observation="state", horizon=5)
    env.action_space.seed(0)
    observation, info = env.reset(options={"init_state": 4})
    print(f"{info['variant']}, initial state {info['init_state']}: {info['instruction']}")
    print("the observation says the same:", instruction_text(observation["instruction"]) == info["instruction"])
    for key in ("robot0_eef_pos", "akita_black_bowl_1_pos", "flat_stove_1_pos"):
        print(f"{key:<24}{observation[key].round(3)}")
    over = False
    while not over:
        _, _, terminated, truncated, info = env.step(env.action_space.sample())
        over = terminated or truncated
    print(
        "original goal:", info["original_goal"], "| asked for:", info["target_goal"], "| success:", info["is_success"]
    )
    env.close()


if __name__ == "__main__":
    main()

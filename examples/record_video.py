"""Episodes as video files, with Gymnasium's own RecordVideo.

Run: python examples/record_video.py [--libero] [--folder FOLDER]; without --libero the toy world is shown.
"""

import argparse

import gymnasium
from gymnasium.wrappers import RecordVideo

import gym_grounding
from gym_grounding.testing import TOY_REGISTRY


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--libero", action="store_true", help="the real simulator; needs a GL library")
    parser.add_argument("--folder", default="runs/videos")
    given = parser.parse_args()
    if given.libero:
        name, steps = "Grounding/LiberoGoal-T8-Original-v0", 20
    else:
        gym_grounding.register(TOY_REGISTRY)
        name, steps = "Grounding/Toy-T0-ContrastTarget1-v0", 60
    # Pictures are drawn for the video alone; the policy would see observation="pixels".
    env = gymnasium.make(name, observation="state", render_mode="rgb_array", horizon=steps)
    env = RecordVideo(env, given.folder, episode_trigger=lambda episode: True, name_prefix=name.split("/")[1])
    env.action_space.seed(0)
    _, info = env.reset(options={"init_state": 0})
    over = False
    while not over:
        _, _, terminated, truncated, _ = env.step(env.action_space.sample())
        over = terminated or truncated
    env.close()
    print(f"{info['instruction']}: {steps} steps in {given.folder}/{name.split('/')[1]}-episode-0.mp4")


if __name__ == "__main__":
    main()

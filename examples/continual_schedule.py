"""A continual learner's evaluation as one environment: the first two tasks of LIBERO's order 0, stage by stage.

At each stage the originals of the tasks seen so far are offered, at the last one the contrasts as well.

Run: python examples/continual_schedule.py
"""

import numpy as np

from gym_grounding import ContinualSchedule
from gym_grounding.plan import LIBERO_ORDERS


def main() -> None:
    schedule = ContinualSchedule(
        "LiberoGoal",
        order=LIBERO_ORDERS[0][:2],
        conditions=["original", "contrast"],
        init_states=[0],
        observation="state",
        horizon=2,
    )
    for stage in range(schedule.stages):
        schedule.set_stage(stage)
        print(f"stage {stage}: train on {schedule.training_task().instruction!r}, then evaluate:")
        while schedule.cells_left:
            _, info = schedule.reset()
            over = False
            while not over:
                _, _, terminated, truncated, info = schedule.step(np.zeros(7, np.float32))
                over = terminated or truncated
            print(f"  {info['cell']:<44}{info['instruction']}")
    schedule.close()


if __name__ == "__main__":
    main()

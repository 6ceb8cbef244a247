"""The policy of the README, evaluated from Python on a few cells of LIBERO, and its report.

Run: python examples/own_policy.py [FOLDER]; the run and the report go into FOLDER (default runs/own_policy).
"""

import sys
from pathlib import Path

import numpy as np

from gym_grounding import Plan
from gym_grounding.evaluate import evaluate
from gym_grounding.report import write_report
from gym_grounding.store import RunStore
from gym_grounding.types import SceneSettings


class Listener:
    """Closes the hand when the instruction starts with "put"; a real policy would do more."""

    observation = "state"

    def start(self, instructions, seed):
        return tuple(instructions)

    def act(self, observations, state):
        actions = np.zeros((len(state), 7))
        actions[:, 6] = [1.0 if text.startswith("put") else -1.0 for text in state]
        return actions, state


def main(folder: Path) -> None:
    policy = Listener()
    plan = Plan.make(
        "LiberoGoal",
        tasks=[8],
        conditions=["original", "contrast", "collision"],
        init_states=[0],
        horizon=10,
        settings=SceneSettings(observation=policy.observation),
    )
    # workers=0 runs in this process; with workers the policy must be importable: evaluate("my_policy:POLICY", ...)
    run = evaluate(policy, plan, folder / "run", workers=0, name="listener")
    with RunStore.open(run) as store:
        for row in store.episodes():
            print(f"{row.variant:<32}{row.instruction:<48}{row.steps:>3} steps, success {row.success}")
    print("report:", write_report([run], folder / "report") / "report.html")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "runs/own_policy"))

"""A short continual plan in LIBERO: three tasks, three stages, rows of every condition, and who runs it."""

import pytest

from gym_grounding import Plan
from gym_grounding.reference._guided import Guided
from gym_grounding.reference._meaning import asked
from gym_grounding.types import SceneSettings

ORDER = ("LiberoGoal-T0", "LiberoGoal-T1", "LiberoGoal-T8")
LAST = 2
INIT_STATE = 2
HORIZON = 65
"""Too short for some goals, so that no rate is 0 or 1 for want of trying."""
SETTINGS = SceneSettings("state")
NOT_HEARD = "passive"
"""The type of paraphrase that the learner does not understand."""
ROWS = {
    "LiberoGoal-T0": "Original Paraphrase1 Paraphrase3 ContrastAttribute1 CollisionObject1 CollisionAttribute1 "
    "Reverse1 Reverse2",
    "LiberoGoal-T1": "Original Paraphrase1 Paraphrase3 ContrastObject1 ContrastRelation1 ContrastTarget1 "
    "CollisionTarget1 Swap1 Null Shuffled Negated Noise1",
    "LiberoGoal-T8": "Original Paraphrase3 ContrastObject1 ContrastTarget1 CollisionObject1 Swap2",
}
"""Rows of the shipped registry that are evaluated: unequal numbers, so that every weight shows."""


@pytest.fixture(scope="module")
def few_rows():
    """Plans have the variants of ``ROWS`` only: a whole registry, a few minutes less."""
    every = Plan.variants
    kept = {f"{task}-{name}" for task, names in ROWS.items() for name in names.split()}

    def some(plan, registry, stage):
        return tuple(row for row in every(plan, registry, stage) if row.id in kept)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Plan, "variants", some)
        yield


def staged_plan(**changes):
    """Every row at the last stage, originals and paraphrases at every stage."""
    given = {"order": ORDER, "stages": "all", "tiers": ["strict"], "init_states": [INIT_STATE], "horizon": HORIZON}
    return Plan.make("LiberoGoal", settings=SETTINGS, **{**given, **changes})


class Learner(Guided):
    """Knows the task of its stage and the one before, stands still in others, and is deaf to one type of paraphrase.

    Its density is a normal one of unit variance, up to its constant.
    """

    def __init__(self, stage, registry=None):
        super().__init__(registry)
        self._stage = stage

    def goal(self, registry, task, instruction, seed):
        """The instruction's goal where task and words are known."""
        rows = registry.select(tasks=[task.id], conditions=["paraphrase"])
        unheard = {row.instruction for row in rows if row.kind == NOT_HEARD}
        if not knows(task.id, self._stage) or instruction in unheard:
            return None
        return asked(registry, task.id, instruction)

    def log_prob(self, observations, state, actions):
        """Half the squared distance from the mean action, negative, shape (B,)."""
        return -((self.mean_action(observations, state) - actions) ** 2).sum(axis=1) / 2


def knows(task, stage):
    """Whether the learner of a stage knows a task."""
    return 0 <= stage - ORDER.index(task) < 2

"""Does a continual learner still listen? Language grounding of robot policies on LIBERO, as Gymnasium environments.

Importing the package registers the ids of the shipped registry and does nothing else; no simulator, no deep-learning
library and no plotting library is loaded. ``gymnasium.make("gym_grounding:Grounding/LiberoGoal-T8-Original-v0")`` needs
no import.
"""

from __future__ import annotations

import warnings

from gym_grounding.env import SceneEnv
from gym_grounding.errors import GroundingError, RegistryError
from gym_grounding.plan import Plan
from gym_grounding.registration import make, register
from gym_grounding.schedule import ContinualSchedule
from gym_grounding.vector import ThreadVectorEnv, make_vec
from gym_grounding.wrappers import GoalReport, Instruction, instruction_text

__all__ = [
    "ContinualSchedule",
    "GoalReport",
    "GroundingError",
    "Instruction",
    "Plan",
    "SceneEnv",
    "ThreadVectorEnv",
    "instruction_text",
    "make",
    "make_vec",
    "register",
]

try:
    register()
except RegistryError as error:
    # A broken shipped file must not keep `gym-grounding validate` from saying what is wrong with it.
    warnings.warn(f"no ids were registered: {error}", stacklevel=2)

"""Skills: closed-loop deeds of the hand, over poses."""

from gym_grounding.experts.skills._base import DONE, FAILED, RUNNING, Skill, Step

__all__ = ["DONE", "FAILED", "RUNNING", "Skill", "Step"]

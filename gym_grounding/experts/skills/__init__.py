"""Skills: closed-loop deeds of the hand, over poses."""

from gym_grounding.experts.skills._base import DONE, FAILED, RUNNING, Skill, Step
from gym_grounding.experts.skills.door import OpenDoor, ShutDoor
from gym_grounding.experts.skills.drawer import PullDrawer, ShutDrawer
from gym_grounding.experts.skills.hold import Hold
from gym_grounding.experts.skills.knob import TurnKnob
from gym_grounding.experts.skills.push import Push
from gym_grounding.experts.skills.put import Put
from gym_grounding.experts.skills.release import Destination, Release

__all__ = [
    "DONE",
    "FAILED",
    "RUNNING",
    "Destination",
    "Hold",
    "OpenDoor",
    "PullDrawer",
    "Push",
    "Put",
    "Release",
    "ShutDoor",
    "ShutDrawer",
    "Skill",
    "Step",
    "TurnKnob",
]

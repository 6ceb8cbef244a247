"""The oracle: a scripted expert that reads poses and acts as any policy does, to show which goals can be reached."""

from gym_grounding.experts.expert import ORACLE_VERSION, Expert, Memory
from gym_grounding.experts.noise import MILD, Disturbance, Noise
from gym_grounding.experts.trial import Trial, attempt, run

__all__ = ["MILD", "ORACLE_VERSION", "Disturbance", "Expert", "Memory", "Noise", "Trial", "attempt", "run"]

"""The oracle: a scripted expert that reads poses and acts as any policy does, to show which goals can be reached."""

from gym_grounding.experts.noise import MILD, Disturbance, Noise

__all__ = ["MILD", "Disturbance", "Noise"]

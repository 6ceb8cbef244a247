"""Where exactly things are let go so that a goal's literal becomes true and stays true.

All of it is read from collision geometry and regions; nothing is known about single objects.
"""

from gym_grounding.experts.destinations._aside import Aside
from gym_grounding.experts.destinations._inside import InSpot
from gym_grounding.experts.destinations._on import OnBody, OnSpot, OnZone

__all__ = ["Aside", "InSpot", "OnBody", "OnSpot", "OnZone"]

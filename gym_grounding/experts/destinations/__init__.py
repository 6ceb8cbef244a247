"""Where exactly things are let go so that a goal's literal becomes true and stays true.

All of it is read from collision geometry and regions; nothing is known about single objects. Heights of the pieces are
drawn over a grid, a thing is let down onto them in thought, in several rotations, and where its centre of mass is well
within its contacts it rests. Nothing falls on its own account here: what a thing does after it was let go askew, into
a hollow or against a wall is guessed from where it cannot go.

What a release asks of the hand that carries a thing:

- The way of ``depth`` along ``entry`` is free of collisions for the thing itself: straight down where nothing hangs
  over its rest, else looked for 8 mm over it; the hand is not looked at. Where ``entry`` is level (an oven), the
  thing is carried in at that height and set down at the end.
- ``free`` allows a fall, as far as the walls around keep the thing. A deep way in promises nothing: it may lie beside
  something tall, or in a slot that a thing has to lean in.
- A tilted ``rotation`` is part of the goal's truth: what leans or lies there would not be there upright.
- The first release is the best one for the thing. Later ones are other places and turns, for other grasps.
"""

from gym_grounding.experts.destinations._aside import Aside
from gym_grounding.experts.destinations._inside import InSpot
from gym_grounding.experts.destinations._on import OnBody, OnSpot

__all__ = ["Aside", "InSpot", "OnBody", "OnSpot"]

"""One episode of any policy as a film, with what it was told and which goals hold."""

from __future__ import annotations

from gym_grounding.showing._episode import AFTER, Episode, Moment
from gym_grounding.showing._films import OUTCOMES, choose, make
from gym_grounding.showing._show import Outcome, show

__all__ = ["AFTER", "OUTCOMES", "Episode", "Moment", "Outcome", "choose", "make", "show"]

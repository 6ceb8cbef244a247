"""Where and how a held thing is let go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from gym_grounding.experts.world import World

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A pose in which a thing rests where it belongs, and the way into it.

    Attributes:
        position: of the thing's origin at rest, shape (3,), world [m].
        rotation: of the thing at rest, shape (3, 3), world; None where it keeps the tilt with which it was picked up
            and any turn about the vertical will do.
        entry: direction of the last piece of the way, shape (3,), unit length; straight down by default.
        depth: length of that piece [m]; before it the thing is outside, above or in front.
        slack: how far the origin may be off across the entry [m].
        free: height above the rest pose from which the thing may be let fall (into a basket) [m].
    """

    position: Array
    rotation: Array | None = None
    entry: Array = field(default_factory=lambda: np.array([0.0, 0.0, -1.0]))
    depth: float = 0.06
    slack: float = 0.012
    free: float = 0.0


class Destination(Protocol):
    """A place for a thing. Frozen, compared by value."""

    @property
    def words(self) -> str:
        """Such as ``on plate_1`` or ``in basket_1_contain_region``."""
        ...

    def releases(self, world: World, thing: str) -> Sequence[Release]:
        """Poses that make the goal's literal true and last, best first; a few, so that a grasp can be found for one.

        Raises:
            NoPlan: there is no room, or it is shut; says what is in the way.
        """
        ...

    def reached(self, world: World, thing: str) -> bool:
        """Whether the thing rests there, as far as an observation shows it (LIBERO's own test, without contacts)."""
        ...

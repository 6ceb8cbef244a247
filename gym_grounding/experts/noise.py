"""Seeded noise on executed actions: the expert then also shows how to come back from where it should not be.

Ornstein-Uhlenbeck noise on position and rotation and flips of the gripper, as in DART (Laskey et al., 2017), which
collects corrections by disturbing the supervisor; the clean action stays the label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Noise:
    """How executed actions differ from the clean ones.

    Attributes:
        position: standard deviation of the first three components.
        rotation: of the next three.
        theta: how fast the noise returns to zero, per control step, in (0, 1].
        scales: factors of both, one of which is drawn for each episode.
        careful: factor while a delicate step is done.
        flip: chance per control step that the gripper does the opposite for a while; never in delicate steps.
        flip_steps: shortest and longest such while.
    """

    position: float = 0.2
    rotation: float = 0.12
    theta: float = 0.3
    scales: tuple[float, ...] = (0.3, 1.0, 1.6)
    careful: float = 0.3
    flip: float = 0.012
    flip_steps: tuple[int, int] = (4, 10)


MILD = Noise(position=0.08, rotation=0.05, flip=0.0)
"""For deeds that do not forgive: full noise makes the expert itself fail."""


class Disturbance:
    """The noise of one episode.

    Args:
        noise: its sizes.
        rng: where every draw comes from.
    """

    def __init__(self, noise: Noise, rng: np.random.Generator) -> None:
        self._noise, self._rng = noise, rng
        self.scale = float(rng.choice(noise.scales))
        self._now = np.zeros(6)
        self._flipped = 0

    def __call__(self, clean: Array, careful: bool) -> Array:
        """The action to execute instead of ``clean``, shape (7,), in [-1, 1]."""
        noise = self._noise
        spread = np.repeat([noise.position, noise.rotation], 3) * self.scale
        # Stationary with standard deviation `spread`, whatever theta.
        kick = spread * np.sqrt(2 * noise.theta - noise.theta**2)
        self._now += -noise.theta * self._now + kick * self._rng.standard_normal(6)
        begins, steps = self._rng.random() < noise.flip, int(self._rng.integers(*noise.flip_steps, endpoint=True))
        if careful:
            self._flipped = 0
        elif self._flipped == 0 and begins:
            self._flipped = steps
        executed = np.array(clean, np.float64)
        executed[:6] += self._now * (noise.careful if careful else 1.0)
        if self._flipped > 0:
            self._flipped -= 1
            executed[6] = -executed[6]
        clipped: Array = np.clip(executed, -1.0, 1.0)
        return clipped

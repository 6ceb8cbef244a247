"""How weights are optimised: settings, and the learning rate of every step."""

from __future__ import annotations

import math
from dataclasses import dataclass

from gym_grounding.errors import InvalidOption

SCHEDULES = ("one-cycle", "constant")
PRECISIONS = ("float32", "float16", "bfloat16")
RISING = 0.3
"""Share of the steps in which a one-cycle rate rises."""
FIRST, LAST = 1 / 25, 1 / 250
"""Of the peak: a one-cycle rate's first and last values."""
HIGH, LOW = 0.95, 0.85
"""Of AdamW's first coefficient under one-cycle, at the ends and at the peak."""
BETAS = (0.9, 0.999)
"""AdamW's coefficients under a constant rate; the second one always."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """The defaults are those of the published policy (HarryLui98/DMPEL ``configs/train``, with one schedule for all).

    Attributes:
        epochs: of the phase in which a task is learned.
        batch: windows of a batch.
        lr: learning rate, at its peak.
        schedule: ``one-cycle`` (up over the first 30 % of a phase's steps, then down by a cosine) or ``constant``.
        weight_decay: of AdamW.
        clip: largest norm of all gradients together.
        accumulate: batches whose mean gradient makes a step.
        precision: ``float32``; or ``float16`` (with loss scaling) or ``bfloat16`` by autocast, which save nothing on a
            CPU.
    """

    epochs: int = 10
    batch: int = 32
    lr: float = 1e-4
    schedule: str = "one-cycle"
    weight_decay: float = 0.1
    clip: float = 100.0
    accumulate: int = 1
    precision: str = "float32"

    def __post_init__(self) -> None:
        """Raises InvalidOption for values outside their domain."""
        for name, least in (("epochs", 0), ("batch", 1), ("accumulate", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise InvalidOption(f"{name} is {value!r}; give a whole number from {least} on")
        for name, least_open in (("lr", True), ("weight_decay", False), ("clip", True)):
            value = getattr(self, name)
            if not math.isfinite(value) or value < 0 or (least_open and value == 0):
                raise InvalidOption(f"{name} is {value!r}; give a number {'above' if least_open else 'from'} 0")
        for name, known in (("schedule", SCHEDULES), ("precision", PRECISIONS)):
            if getattr(self, name) not in known:
                raise InvalidOption(f"{name} is {getattr(self, name)!r}; choose {', '.join(known)}")


def one_cycle(step: int, steps: int, peak: float) -> tuple[float, float]:
    """Learning rate and AdamW's first coefficient of a step; what ``torch.optim.lr_scheduler.OneCycleLR`` gives.

    Args:
        step: counted from 0.
        steps: of the whole phase.
        peak: largest learning rate.
    """
    top = max(RISING * steps - 1, 0.0)
    if step <= top:
        share = step / top if top else 1.0
        return _between(FIRST * peak, peak, share), _between(HIGH, LOW, share)
    share = (step - top) / (steps - 1 - top)
    return _between(peak, LAST * peak, share), _between(LOW, HIGH, share)


def rate(recipe: Recipe, step: int, steps: int, lr: float | None = None, constant: bool = False) -> tuple[float, float]:
    """Learning rate and AdamW's first coefficient of a step of a phase.

    Args:
        lr: the phase's own; None for the recipe's.
        constant: whether the phase's rate stays, whatever the recipe says.
    """
    peak = recipe.lr if lr is None else lr
    if constant or recipe.schedule == "constant":
        return peak, BETAS[0]
    return one_cycle(step, steps, peak)


def _between(start: float, end: float, share: float) -> float:
    return end + (start - end) / 2 * (1 + math.cos(math.pi * share))

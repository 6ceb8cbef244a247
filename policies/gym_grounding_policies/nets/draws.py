"""Randomness inside torch's layers, taken from a generator that the caller owns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def seeded(generator: torch.Generator, device: torch.device | str = "cpu") -> Iterator[None]:
    """Lets dropout, stochastic depth and initial weights draw from one number of ``generator``.

    They know no generator but torch's global ones, which are as they were afterwards. The state of ``generator`` alone
    then says how a run goes on: a training step runs inside, and a checkpoint stores that state.

    Args:
        generator: on the CPU; moves on by one draw.
        device: where the layers compute, besides the CPU.
    """
    seed = int(torch.randint(2**62, (), generator=generator))
    device = torch.device(device)
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else [], device_type="cuda"):
        if device.type == "cuda":
            torch.manual_seed(seed)
        else:
            # The same draws, without the note of the stack that torch.manual_seed takes for CUDA each time.
            torch.default_generator.manual_seed(seed)
        yield

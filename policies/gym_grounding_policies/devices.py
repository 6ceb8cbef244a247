"""Where to compute."""

from __future__ import annotations

import torch

from gym_grounding.errors import InvalidOption


def device_of(name: torch.device | str) -> torch.device:
    """The device called ``name``, such as ``cpu``, ``cuda`` or ``cuda:1``.

    Raises:
        InvalidOption: no such device, or one on which nothing can be computed here.
    """
    try:
        device = torch.device(name)
        float(torch.ones(1, device=device))
    except Exception as error:  # whatever a device's driver has to say
        reason = str(error).strip().partition("\n")[0][:200]
        raise InvalidOption(
            f"device is {str(name)!r}, on which nothing can be computed here ({reason}); there is {', '.join(_known())}"
        ) from error
    return device


def _known() -> list[str]:
    cuda = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    return ["cpu", *cuda, *(["mps"] if torch.backends.mps.is_available() else [])]

"""What the policies share that see nothing and hear nothing: they only know how many numbers an action has."""

from __future__ import annotations

from pathlib import Path

from gym_grounding import adapters, manifest
from gym_grounding.errors import InvalidOption, PolicyError


def checked_size(size: object) -> int | None:
    """A number of action components, or None.

    Raises:
        InvalidOption: it is neither.
    """
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        raise InvalidOption(f"size is {size!r}; give the number of action components, 1 or more")
    return size


def action_size(registry: str | Path | None) -> int:
    """How many components the actions of a registry's scenes have.

    Raises:
        PolicyError: scenes differ in it.
    """
    scenes = manifest.load(registry).scenes.values()
    sizes = {adapters.get(scene.adapter).action_space(scene).shape[0] for scene in scenes}
    if len(sizes) != 1:
        listed = " and ".join(map(str, sorted(sizes)))
        raise PolicyError(f"the scenes of this registry take actions of {listed} numbers; say which with size=")
    return sizes.pop()

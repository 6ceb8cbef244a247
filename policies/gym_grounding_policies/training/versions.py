"""What decides numbers besides a plan: libraries, the code of both packages, and the file of a method of another."""

from __future__ import annotations

import hashlib
import importlib.metadata
import sys
from collections.abc import Mapping
from pathlib import Path

import gym_grounding_policies
from gym_grounding.errors import PlanMismatch
from gym_grounding.evaluate import package_hash
from gym_grounding_policies import learners

PACKAGES = ("gym-grounding", "torch", "numpy", "safetensors")
DIGITS = 16
"""Length of a hash [hexadecimal digits]."""


def code_of(method: str) -> dict[str, str]:
    """Name -> hash of the code that makes actions of a checkpoint, besides that of ``gym_grounding``.

    Raises:
        UnknownName: no such method.
    """
    found = {"gym-grounding-policies source": package_hash(Path(gym_grounding_policies.__file__).parent)}
    module = sys.modules[learners.get(method).__module__]
    if module.__name__.partition(".")[0] != gym_grounding_policies.__name__ and module.__file__ is not None:
        found["method source"] = hashlib.sha256(Path(module.__file__).read_bytes()).hexdigest()[:DIGITS]
    return found


def versions(method: str) -> dict[str, str]:
    """Name -> version or hash of all that training computes with."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:  # a checkout that is not installed
            found[name] = "unknown"
    return found | {"gym-grounding source": package_hash()} | code_of(method)


def check_versions(stored: Mapping[str, str], now: Mapping[str, str], where: Path) -> None:
    """Raises PlanMismatch where a run was trained so far by other code or libraries; names every difference."""
    changed = [
        f"{name} was {stored.get(name, '(none)')}, is {now.get(name, '(none)')}"
        for name in dict.fromkeys([*stored, *now])
        if stored.get(name) != now.get(name)
    ]
    if changed:
        raise PlanMismatch(
            f"{where} was trained with other versions: {'; '.join(changed)}. Install those, give another folder, or go "
            "on all the same with --accept-versions"
        )

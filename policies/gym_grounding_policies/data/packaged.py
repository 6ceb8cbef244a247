"""Weights that ship as a package: where they lie, without importing the package's code."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from gym_grounding.errors import MissingSource


def dashed(package: str) -> str:
    """A package's name as installers write it."""
    return package.replace("_", "-")


def folder_of(package: str, what: str) -> Path:
    """Folder of an installed package.

    Args:
        what: it brings, for the message.

    Raises:
        MissingSource: it is not installed.
    """
    found = importlib.util.find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise MissingSource(
            f"the package {dashed(package)}, which brings the {what}, is not installed; "
            "pip install 'gym-grounding[policies]'"
        )
    return Path(found.submodule_search_locations[0])

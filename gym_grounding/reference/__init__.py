"""Reference policies: what every metric must say of them is known beforehand. One module each, found by name.

They calibrate. *oracle* does the goal of the instruction that it is given, *deaf* the scene's own task whatever the
words, *noisy_oracle* is in a share of its episodes the one and in the others the other; *still* and *random* are the
floor. The first three are privileged: they are told the task, read poses, and look up in the registry what a sentence
means.

Where a policy is named, a name without ":" is one of these; hyphens count as underscores.
"""

from __future__ import annotations

import importlib
import pkgutil

from gym_grounding.errors import UnknownName

__all__ = ["get", "names"]


def names() -> tuple[str, ...]:
    """Names of the reference policies, without importing any of them."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")))


def get(name: str) -> type:
    """The class of the reference policy called ``name``.

    Raises:
        UnknownName: there is none.
    """
    plain = name.replace("-", "_")
    if plain not in names():
        where = f"policy {name!r} is no MODULE:OBJECT such as my_policy:POLICY"
        raise UnknownName("reference policy", name, names(), where)
    policy: type = importlib.import_module(f"{__name__}.{plain}").POLICY
    return policy

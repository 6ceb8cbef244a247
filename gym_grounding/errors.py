"""Every exception of the suite; each also derives from the builtin that fits.

A message names what was asked, the nearest known name, where it was read, and what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class GroundingError(Exception):
    """Base of all errors that the suite raises on purpose."""


class UnknownName(GroundingError, LookupError):
    """A name that is not among the known ones.

    Args:
        kind: what the name should denote, such as ``"condition"``.
        name: what was asked.
        known: every valid name; the nearest ones are suggested.
        where: file or option in which the name was read, or empty.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], where: str = "") -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        listed = ", ".join(names[:30]) + (f", ... ({len(names)} in all)" if len(names) > 30 else "")
        place = f"{where}: " if where else ""
        super().__init__(f"{place}No {kind} {name!r}.{hint} Known: {listed or '(none)'}")
        self.kind, self.name, self.known = kind, name, tuple(names)

    def __reduce__(self) -> tuple[object, ...]:
        return (GroundingError, (str(self),))


class RegistryError(GroundingError, ValueError):
    """A registry file that is malformed or says something untrue; names file, row and field.

    Args:
        message: the whole text.
        problems: one line per problem when several were found; default: the message alone.
    """

    def __init__(self, message: str, problems: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems) or (message,)


class MissingSource(GroundingError, FileNotFoundError):
    """A file that a task needs (BDDL, init states, assets) is absent or is not the registered one."""


class MissingRenderer(GroundingError, RuntimeError):
    """Pictures were asked for and no usable GL library was found."""


class WrongVersion(GroundingError, RuntimeError):
    """An installed package has a version that is known to give wrong or no results."""


class InvalidDemonstration(GroundingError, ValueError):
    """A demonstration file that is missing, malformed or of another task; names file, demonstration and dataset."""


class InvalidAction(GroundingError, ValueError):
    """An action with NaN, an infinity, the wrong shape or the wrong type."""


class InvalidOption(GroundingError, ValueError):
    """A setting, reset option or command-line value outside its domain."""


class VariantMismatch(GroundingError, ValueError):
    """An environment id or instruction that does not agree with the variant that was built."""


class PolicyError(GroundingError, RuntimeError):
    """A policy that cannot be loaded or that breaks the protocol."""


class NoPlan(GroundingError, RuntimeError):
    """A goal or deed for which the scripted expert sees no way; says what stops it.

    Args:
        message: the whole text.
        blocker: object that is in the way and could be moved aside; empty where nothing of that kind would help.
    """

    def __init__(self, message: str, blocker: str = "") -> None:
        super().__init__(message)
        self.blocker = blocker


class Diverged(GroundingError, ArithmeticError):
    """Training whose numbers are no longer finite; names task, phase, epoch and step."""


class PlanMismatch(GroundingError, ValueError):
    """A run directory that belongs to another plan."""


class CorruptRun(GroundingError, ValueError):
    """A run directory or record file that cannot be read."""


class UnwritableOutput(GroundingError, OSError):
    """An output location that cannot be written."""


class SimulatorError(GroundingError, RuntimeError):
    """The simulator failed to build, reset or step a scene."""


class WorkerDied(GroundingError, RuntimeError):
    """A worker process ended or hung in the middle of an episode."""

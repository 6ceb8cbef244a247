"""Collecting everything that is wrong with a registry file, so that it is said at once."""

from __future__ import annotations

import difflib
import reprlib
from collections.abc import Iterable

from gym_grounding.errors import RegistryError

LISTED = 24
"""How many known names a message lists."""
LONGEST = 2000
"""Characters of a message; a longer one loses its middle, since what to do stands at the end."""


class Report:
    """The problems of one file, in the order in which they were found.

    Args:
        file: path of the file as messages name it.
    """

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[str] = []

    def add(self, place: str, field: str, message: str) -> None:
        """Record one problem.

        Args:
            place: id of the row, or where it stands when it has none.
            field: field of the row; empty when the row as a whole is meant.
            message: what is wrong and what would be right.
        """
        line = ": ".join(part for part in (place, field, message) if part)
        if len(line) > LONGEST:
            line = f"{line[: LONGEST // 2]} ... {line[-LONGEST // 2 :]}"
        # One problem is one line, whatever a file puts into a name.
        self.problems.append(f"{self.file}: " + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line))

    def error(self) -> RegistryError:
        """All problems as one exception."""
        count = len(self.problems)
        head = "" if count == 1 else f"{self.file}: {count} problems\n"
        return RegistryError(head + "\n".join(self.problems), self.problems)


def shown(value: object) -> str:
    """A short form of a value from a file, whatever its size."""
    return reprlib.repr(value)


def no_such(kind: str, name: str, known: Iterable[str]) -> str:
    """Says that ``name`` is no known ``kind``, with the nearest known name and a list of all."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    rest = f", ... ({len(names)} in all)" if len(names) > LISTED else ""
    return f"no {kind} {shown(name)}.{hint} Known: {', '.join(names[:LISTED]) or '(none)'}{rest}"

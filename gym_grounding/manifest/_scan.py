"""The ids of a registry file without reading the rest, in a thousandth of the time."""

from __future__ import annotations

import re
from typing import NamedTuple

_VERSION = re.compile(rb"^version: (0|[1-9][0-9]{0,5})$", re.MULTILINE)
_VARIANTS = re.compile(rb"^variants:\n", re.MULTILINE)
_SECTION = re.compile(rb"^[^ #\n]", re.MULTILINE)
_ROW = re.compile(rb"^  - ", re.MULTILINE)
_ID = re.compile(rb"^  - id: ([A-Za-z0-9]+-T[0-9]+-[A-Za-z]+[0-9]*)$", re.MULTILINE)


class Listing(NamedTuple):
    """What registering a file needs to know of it.

    Attributes:
        version: the N in ``-vN`` of every environment id.
        variants: ids of the variants, in file order.
    """

    version: int
    variants: tuple[str, ...]


def scan(raw: bytes) -> Listing | None:
    """Version and variant ids of a file in the form in which ``gym-grounding variants build`` writes it.

    Every row of ``variants`` must begin with its id, two blanks from the margin. None for any other file, and for one
    that repeats an id or has none: only a load can tell what it holds.
    """
    versions, sections = _VERSION.findall(raw), list(_VARIANTS.finditer(raw))
    if len(versions) != 1 or len(sections) != 1:
        return None
    start = sections[0].end()
    following = _SECTION.search(raw, start)
    rows = raw[start : following.start() if following else len(raw)]
    ids = tuple(found.decode() for found in _ID.findall(rows))
    if not ids or len(set(ids)) != len(_ROW.findall(rows)):
        return None
    return Listing(int(versions[0]), ids)

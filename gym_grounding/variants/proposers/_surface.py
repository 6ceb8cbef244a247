"""Bringing a sentence from elsewhere into the registry's written form, without touching its words."""

from __future__ import annotations

import re

_QUOTES = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
    }
)
_FINAL = ".!?\u2026;:, "


def normal(text: str) -> tuple[str, tuple[str, ...]]:
    """The sentence in written form, and what was changed for it.

    Case, spacing, typographic quotes, quotes around the whole, commas and punctuation at the end are not meaning, and
    canonical texts have none of them; everything else is left for the validator to refuse.
    """
    steps = (
        ("typographic quotes", lambda line: line.translate(_QUOTES)),
        ("spaces", lambda line: " ".join(line.split())),
        ("commas", _without_commas),
        ("final punctuation", lambda line: line.rstrip(_FINAL)),
        ("outer quotes", _unquoted),
        ("final punctuation", lambda line: line.rstrip(_FINAL)),
        ("lower case", str.lower),
    )
    changes: list[str] = []
    for name, step in steps:
        changed = step(text)
        if changed != text and name not in changes:
            changes.append(name)
        text = changed
    return text, tuple(changes)


def _without_commas(line: str) -> str:
    words = line.rstrip(_FINAL)
    return re.sub(r"[ ,]*,[ ,]*", " ", words) + line[len(words) :]


def _unquoted(line: str) -> str:
    for mark in ('"', "'"):
        if len(line) > 1 and line[0] == line[-1] == mark and mark not in line[1:-1]:
            return line[1:-1].strip()
    return line

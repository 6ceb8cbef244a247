"""A small grammar machine: rules as patterns over words, every reading of a sentence, nothing about its meaning.

A pattern is a row of items, ``[name=]symbol[?]``. A symbol is that of another rule, a list of lexicon entries
(upper case), or literal alternatives in quotes, such as ``'that is|which is'``. A question mark makes an item optional.
``@`` in a pattern stands for the verb form: the rule then exists once for ``base`` and once for ``gerund``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FORMS = ("base", "gerund")
MOST_READINGS = 64
"""Readings kept per symbol and position; only text that is no sentence comes near."""
_ITEM = re.compile(r"(?:(\w+)=)?(?:'([^']+)'|([\w@.+]+))(\?)?")

Action = Callable[..., Hashable | None]
Entries = Mapping[tuple[str, ...], tuple[Hashable, ...]]
Found = list[tuple[Any, int]]


@dataclass(frozen=True, slots=True)
class _Item:
    name: str
    symbol: str
    optional: bool


@dataclass(frozen=True, slots=True)
class _Rule:
    items: tuple[_Item, ...]
    action: Action
    wants: frozenset[str]


def entries_of(values: Mapping[str, Hashable]) -> Entries:
    """Entries that mean one thing each."""
    return {tuple(text.split()): (value,) for text, value in values.items()}


class Grammar:
    """Rules and lists of entries; ``readings`` applies them."""

    def __init__(self) -> None:
        self._rules: dict[str, list[_Rule]] = {}
        self._entries: dict[str, Entries] = {}
        self._predicates: dict[str, Callable[[str], bool]] = {}

    def entries(self, symbol: str, entries: Entries) -> None:
        """Let an upper-case symbol stand for lexicon entries; the value of an item is that of the entry."""
        self._entries[symbol] = entries

    def words_that(self, symbol: str, holds: Callable[[str], bool]) -> None:
        """Let an upper-case symbol stand for any single word of which something holds."""
        self._predicates[symbol] = holds

    def rule(self, *patterns: str) -> Callable[[Action], Action]:
        """Register an action for patterns ``symbol: items``.

        The action takes the named items, and ``text`` (the matched words) if it wants; it returns the value of the
        reading, or None to refuse it.
        """

        def register(action: Action) -> Action:
            wants = frozenset(inspect.signature(action).parameters)
            for pattern in patterns:
                for form in FORMS if "@" in pattern else ("",):
                    symbol, _, items = pattern.replace("@", f".{form}").partition(": ")
                    self._rules.setdefault(symbol, []).append(_Rule(self._items(items), action, wants))
            return action

        return register

    def _items(self, pattern: str) -> tuple[_Item, ...]:
        found = []
        for name, literal, symbol, optional in _ITEM.findall(pattern):
            if literal:
                symbol = f"'{literal}'"
                self._entries[symbol] = entries_of({text: text for text in literal.split("|")})
            found.append(_Item(name, symbol, bool(optional)))
        return tuple(found)

    def literals(self) -> frozenset[str]:
        """Every word that some pattern or list of entries spells out."""
        return frozenset(word for entries in self._entries.values() for words in entries for word in words)

    def readings(self, symbol: str, words: Sequence[str]) -> list[Any]:
        """Values of all readings of the words, all of them, as that symbol; each once, in the order of the rules."""
        run = _Run(self._rules, self._entries, self._predicates, tuple(words))
        return [value for value, end in run.match(symbol, 0) if end == len(words)]


class _Run:
    """One sentence: readings by symbol and position, found once each."""

    def __init__(
        self,
        rules: Mapping[str, list[_Rule]],
        entries: Mapping[str, Entries],
        predicates: Mapping[str, Callable[[str], bool]],
        words: tuple[str, ...],
    ) -> None:
        self._rules, self._entries, self._predicates, self._words = rules, entries, predicates, words
        self._known: dict[tuple[str, int], Found] = {}

    def match(self, symbol: str, start: int) -> Found:
        key = (symbol, start)
        if key not in self._known:
            found = self._terminal(symbol, start) if symbol not in self._rules else self._apply(symbol, start)
            self._known[key] = list(dict.fromkeys(found))[:MOST_READINGS]
        return self._known[key]

    def _terminal(self, symbol: str, start: int) -> Found:
        if symbol in self._predicates:
            word = self._words[start : start + 1]
            return [(word[0], start + 1)] if word and self._predicates[symbol](word[0]) else []
        entries = self._entries[symbol]
        longest = max(map(len, entries), default=0)
        found: Found = []
        for size in range(1, min(longest, len(self._words) - start) + 1):
            found += [(value, start + size) for value in entries.get(self._words[start : start + size], ())]
        return found

    def _apply(self, symbol: str, start: int) -> Iterator[tuple[Any, int]]:
        for rule in self._rules[symbol]:
            for named, end in self._sequence(rule.items, start):
                if "text" in rule.wants:
                    named = {**named, "text": " ".join(self._words[start:end])}
                value = rule.action(**named)
                if value is not None:
                    yield value, end

    def _sequence(self, items: tuple[_Item, ...], start: int) -> Iterator[tuple[dict[str, Any], int]]:
        if not items:
            yield {}, start
            return
        item, rest = items[0], items[1:]
        for value, middle in self.match(item.symbol, start):
            for named, end in self._sequence(rest, middle):
                yield ({item.name: value, **named} if item.name else named), end
        if item.optional:
            for named, end in self._sequence(rest, start):
                yield ({item.name: None, **named} if item.name else named), end

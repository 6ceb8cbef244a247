"""The measurements of a study, indexed for the tables and figures."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from gym_grounding import metrics
from gym_grounding.metrics import APART, Measurement, Quantity, Scope, Value
from gym_grounding.report import _remarks
from gym_grounding.report._study import Method, Study

STANDING_WORDS = {
    "stable": "stable",
    "transient": "transient",
    "trivial": "trivial",
    "not_shown": "not shown reachable",
    "not_measured": "not measured",
}
"""What an oracle showed of a goal (``manifest.STANDINGS``) -> its words in tables."""


@dataclass(frozen=True)
class Book:
    """What the report is written from.

    Attributes:
        study: methods and warnings.
        measurements: every number, in the order of the families.
        index: (method, quantity, scope) -> value.
    """

    study: Study
    measurements: tuple[Measurement, ...]
    index: dict[tuple[str, str, Scope], Value]

    @classmethod
    def of(cls, study: Study, measurements: Iterable[Measurement]) -> Book:
        """A book of all measurements."""
        listed = tuple(measurements)
        return cls(study, listed, {(one.method, one.quantity, one.scope): one.value for one in listed})

    @functools.cached_property
    def warnings(self) -> tuple[str, ...]:
        """What a reader must know first: how runs differ, what is missing, who cannot hear, who does not learn."""
        own = (warning for method in self.methods for warning in _remarks.warnings(method))
        return (*self.study.warnings, *own)

    @functools.cached_property
    def remarks(self) -> tuple[str, ...]:
        """What is worth a look behind the summary."""
        return tuple(remark for method in self.methods for remark in _remarks.worth_a_look(method))

    @property
    def certified(self) -> bool:
        """Whether some method's registry says what an oracle reached, so that other goals stand apart."""
        return any(method.evidence.reach for method in self.methods)

    def apart(self, method: str, quantity: str, scope: Scope) -> Iterator[tuple[str, Scope]]:
        """Goals that stand apart in a scope, in words, and their own scope; nothing where none was evaluated."""
        for standing in APART:
            own = replace(scope, reach=standing)
            if (method, quantity, own) in self.index:
                yield STANDING_WORDS[standing], own

    @property
    def methods(self) -> tuple[Method, ...]:
        """The methods, in the order of the report."""
        return self.study.methods

    def value(self, method: str, quantity: str, **scope: Any) -> Value:
        """One number; without one a value whose reason says so."""
        return self.at(method, quantity, Scope(**scope))

    def at(self, method: str, quantity: str, scope: Scope) -> Value:
        """One number by its scope; without one a value whose reason says so."""
        return self.index.get((method, quantity, scope), Value(None, reason="not measured"))

    def scopes(self, method: str, quantity: str) -> tuple[Scope, ...]:
        """Every scope in which a quantity was measured, in order."""
        return tuple(one.scope for one in self.measurements if one.method == method and one.quantity == quantity)

    def planned(self, condition: str) -> tuple[Method, ...]:
        """The methods whose plans evaluate a condition, or that have episodes of it."""
        return tuple(
            method
            for method in self.methods
            if condition in method.plan.conditions
            or any(one.condition == condition for one in method.evidence.episodes)
        )


def quantities() -> dict[str, Quantity]:
    """Every quantity of every family, by name."""
    return {one.name: one for family in metrics.names() for one in metrics.get(family).quantities}

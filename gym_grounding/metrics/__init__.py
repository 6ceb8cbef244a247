"""Metrics from records alone: one module per family, found by name. No simulator is needed to score a run."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence

import numpy as np

from gym_grounding.errors import UnknownName
from gym_grounding.metrics._base import APART, Curve, Evidence, Measurement, Metric, Quantity, Scope, Value

__all__ = [
    "APART",
    "Curve",
    "Evidence",
    "Measurement",
    "Metric",
    "Quantity",
    "Scope",
    "Value",
    "get",
    "measure",
    "names",
]


def names() -> tuple[str, ...]:
    """Names of the families, without importing any of them."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")))


def get(name: str) -> Metric:
    """The family called ``name``, or the object at an import string ``package.module:OBJECT``.

    Raises:
        UnknownName: no such family.
    """
    if ":" in name:
        module, _, attribute = name.partition(":")
        metric: Metric = getattr(importlib.import_module(module), attribute)
        return metric
    if name not in names():
        raise UnknownName("metric", name, names())
    metric = importlib.import_module(f"{__name__}.{name}").METRIC
    return metric


def measure(methods: Sequence[Evidence], rng: np.random.Generator) -> tuple[Measurement, ...]:
    """Every quantity of every family, in the order of the families' names.

    Args:
        methods: the records of each method; methods are compared only by the correlations.
        rng: source of randomness of the bootstrap intervals.
    """
    return tuple(measurement for name in names() for measurement in get(name).compute(methods, rng))

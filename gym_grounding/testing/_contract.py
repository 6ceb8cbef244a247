"""Collecting the rules that something breaks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray


class ContractBroken(AssertionError):
    """Rules of a contract that do not hold.

    Attributes:
        rules: names of the broken rules, in the order in which they were found.
    """

    def __init__(self, subject: str, found: dict[str, str]) -> None:
        lines = [f"{subject} breaks {len(found)} rule(s):", *(f"  {rule}: {text}" for rule, text in found.items())]
        super().__init__("\n".join(lines))
        self.rules = tuple(found)


class Rules:
    """The broken rules of one subject.

    Args:
        subject: what is checked, for the message.
    """

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.found: dict[str, str] = {}

    def check(self, rule: str, kept: bool, text: str) -> bool:
        """Note ``rule`` as broken unless ``kept``, and return ``kept``."""
        if not kept:
            self.found.setdefault(rule, text)
        return kept

    @contextmanager
    def guarded(self, rule: str) -> Iterator[None]:
        """An exception inside breaks ``rule``."""
        try:
            yield
        except Exception as error:
            self.found.setdefault(rule, f"raised {type(error).__name__}: {error}")

    def conclude(self) -> None:
        """Raise if anything was found.

        Raises:
            ContractBroken: lists every broken rule.
        """
        if self.found:
            raise ContractBroken(self.subject, self.found)


@contextmanager
def global_random(state: int) -> Iterator[None]:
    """NumPy's global generator seeded with ``state`` inside, and as it was before outside."""
    before = np.random.get_state()  # noqa: NPY002  # the legacy generator is what is guarded
    np.random.seed(state)  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def same(one: NDArray[np.generic], other: NDArray[np.generic], tolerance: float = 0.0) -> bool:
    """Whether two arrays have one shape and equal numbers, up to an absolute tolerance; NaN equals NaN."""
    return np.shape(one) == np.shape(other) and bool(np.allclose(one, other, rtol=0.0, atol=tolerance, equal_nan=True))

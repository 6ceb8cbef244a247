"""What an oracle showed of a variant's goal, as the ``certificate`` of its row says it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gym_grounding.types import Variant

STABLE, TRANSIENT, TRIVIAL, NOT_REACHED = "stable", "transient", "trivial", "not_reached"
REACHED = (STABLE, TRANSIENT, TRIVIAL)
"""What a start can show in which the goal held, from the most that it says to the least."""
VERDICTS = (*REACHED, NOT_REACHED)
SHOWN, NOT_SHOWN = "shown", "not_shown"
REACHABLE = (SHOWN, NOT_SHOWN)
NOT_MEASURED = "not_measured"
STANDINGS = (*REACHED, NOT_SHOWN, NOT_MEASURED)
"""What a variant's goal counts as: its verdict where it is shown to be reachable."""


@dataclass(frozen=True, slots=True)
class Reach:
    """What the oracle's episodes showed of a goal, one from each of some initial states.

    Attributes:
        attempts: episodes, at least one.
        stable: those in which the oracle finished, and the goal held in all of the 20 control steps after the hand had
            let go and drawn back.
        transient: in which it held at some step, but not so.
        trivial: in which it held at the start, came true while the arm stood still, or by a mere touch.
        successes: in which it counts as reached as the row says (``judged``).
        median_steps: median of the control step (from 1; 0 at the start) at which it first held, over the successes;
            None without any.
    """

    attempts: int
    stable: int
    transient: int
    trivial: int
    successes: int
    median_steps: int | None = None

    @property
    def verdict(self) -> str:
        """What most of the starts show in which the goal was reached; of equally many, what says least."""
        return verdict({STABLE: self.stable, TRANSIENT: self.transient, TRIVIAL: self.trivial})

    @property
    def reachable(self) -> str:
        """``shown`` where it was reached from some initial state. ``not_shown`` does not mean impossible."""
        return SHOWN if self.successes else NOT_SHOWN


def verdict(counts: Mapping[str, int]) -> str:
    """What several starts show of a goal: what most of those show in which it was reached.

    How often it was reached is said by the counts. Of equally many, what says least counts: a goal that is as often
    trivial as stable is trivial. ``not_reached`` where no start reached it.

    Args:
        counts: verdict -> number of starts.
    """
    most = max((counts.get(name, 0), place) for place, name in enumerate(REACHED))
    return REACHED[most[1]] if most[0] else NOT_REACHED


def reach(variant: Variant) -> Reach | None:
    """What was measured of a variant's goal; None where nothing was, or where it has no goal of its own."""
    certificate = variant.details.get("certificate")
    row = certificate.get("oracle") if isinstance(certificate, dict) else None
    if not isinstance(row, dict):
        return None
    return Reach(
        attempts=row["attempts"],
        stable=row[STABLE],
        transient=row[TRANSIENT],
        trivial=row[TRIVIAL],
        successes=row["successes"],
        median_steps=row.get("median_steps"),
    )


def reachable(variant: Variant) -> str | None:
    """``shown`` or ``not_shown``; None where nothing was measured, or where the variant has no goal of its own."""
    found = reach(variant)
    return None if found is None else found.reachable


def standing(variant: Variant) -> str | None:
    """One of ``STANDINGS``; None for a variant without a goal of its own."""
    if variant.goal is None:
        return None
    found = reach(variant)
    if found is None:
        return NOT_MEASURED
    return found.verdict if found.successes else NOT_SHOWN


def reach_problems(variant: Variant, headed: bool) -> Iterator[tuple[str, str]]:
    """What is wrong with what a row says of the oracle, each with the field that it is about.

    Args:
        variant: the row.
        headed: whether the file says which oracle it was.
    """
    certificate = variant.details.get("certificate")
    said = certificate if isinstance(certificate, dict) else {}
    found = reach(variant)
    if found is None:
        if "reachable" in said:
            yield "certificate.reachable", "is given without 'oracle', which would show it; leave it out"
        return
    if not headed:
        yield "certificate.oracle", "is given, but the file does not say which oracle; add 'oracle' to its head"
    if variant.goal is None:
        yield "certificate.oracle", "is given for a row without a goal; leave it out"
    yield from _miscounted(found, variant)
    if said["oracle"]["verdict"] != found.verdict:
        yield "certificate.oracle.verdict", f"is {said['oracle']['verdict']}; the counts say {found.verdict}"
    if said.get("reachable") != found.reachable:
        yield "certificate.reachable", f"must be {found.reachable}: {found.successes} of {found.attempts} succeed"


def _miscounted(found: Reach, variant: Variant) -> Iterator[tuple[str, str]]:
    reached = found.stable + found.transient + found.trivial
    if reached > found.attempts:
        yield "certificate.oracle", f"{reached} starts are stable, transient or trivial, of {found.attempts} attempts"
    if found.successes > reached or (variant.judged == "ever" and found.successes < reached):
        must = f"must be {reached}" if variant.judged == "ever" else f"must be at most {reached}"
        message = f"is {found.successes}; {must}, the starts that are stable, transient or trivial"
        yield "certificate.oracle.successes", message
    if (found.median_steps is None) == bool(found.successes):
        state = "is missing" if found.successes else "is given without a success; leave it out"
        yield "certificate.oracle.median_steps", state

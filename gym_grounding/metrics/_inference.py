"""Tests and intervals for paired yes-or-no outcomes, and what a number of pairs can show at all.

Two policies (or two instructions) are compared on the same starts: same task, same initial state, same training seed.
Only the pairs in which they differ, the discordant ones, say anything of which does better.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from scipy.optimize import brentq
from scipy.stats import binom, norm

from gym_grounding.metrics._balance import Interval

LEVEL = 0.05
"""Level of all tests; intervals cover 95 %."""
POWER = 0.8
"""Chance to find a difference of the size that ``smallest_difference`` gives."""
MARGIN = 0.1
"""Difference of rates that counts as none in tests of equivalence: ten points, the step of one task among ten."""
DISCORDANT = 0.5
"""Share of discordant pairs that ``smallest_difference`` expects: that of two independent rates near one half, the
worst case."""
FEW_SEEDS = 5
"""Fewer training seeds than this are called few wherever a number is shown with its spread."""


def mcnemar(first_only: int, second_only: int) -> float:
    """Exact two-sided p of McNemar's test: are the discordant pairs a fair coin?; in (0, 1].

    Args:
        first_only, second_only: pairs in which only the one, or only the other, succeeds.

    Source: McNemar (1947), exact binomial form.
    """
    discordant = first_only + second_only
    if discordant == 0:
        return 1.0
    return min(1.0, 2 * float(binom.cdf(min(first_only, second_only), discordant, 0.5)))


def holm(ps: Sequence[float]) -> tuple[float, ...]:
    """Holm's adjusted p of each test of a family, in the order given; each in [0, 1].

    A test is significant at level a where its adjusted p is at most a; the chance of any false alarm in the family is
    then at most a, however the tests depend on each other. Source: Holm (1979).
    """
    order = sorted(range(len(ps)), key=lambda index: ps[index])
    adjusted = [0.0] * len(ps)
    largest = 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = largest
    return tuple(adjusted)


def score_interval(first_only: float, second_only: float, pairs: float, level: float = LEVEL) -> Interval:
    """Score interval of a difference of paired rates, first minus second; in [-1, 1].

    It has a width even where no pair is discordant, unlike a bootstrap or the textbook interval.

    Args:
        first_only, second_only: discordant pairs; not necessarily whole, where one start has several second sides.
        pairs: all pairs, more than 0.
        level: 1 - coverage.

    Source: Tango (1998).
    """
    found = (first_only - second_only) / pairs
    bound = float(norm.ppf(1 - level / 2))
    statistic = _score(first_only, second_only, pairs)
    low = -1.0 if statistic(-1.0) <= bound else brentq(lambda at: statistic(at) - bound, -1.0, found)
    high = 1.0 if statistic(1.0) >= -bound else brentq(lambda at: statistic(at) + bound, found, 1.0)
    return Interval(min(float(low), found), max(float(high), found))


def equivalence(first_only: float, second_only: float, pairs: float, margin: float = MARGIN) -> float:
    """p of two one-sided score tests that paired rates differ by less than ``margin``; in [0, 1].

    Small: the difference is shown to lie within (-margin, margin). A large one shows nothing, in particular no
    difference. Source: Schuirmann (1987) with Tango's (1998) statistic.
    """
    statistic = _score(first_only, second_only, pairs)
    above, below = norm.sf(statistic(-margin)), norm.cdf(statistic(margin))
    return float(max(above, below))


def smallest_difference(pairs: float, discordant: float = DISCORDANT, tests: int = 1) -> float | None:
    """Smallest difference of paired rates that McNemar's test finds with a power of 80 % at level 5 %; in (0, 1].

    Args:
        pairs: starts that both sides have.
        discordant: share of pairs expected to be discordant, in (0, 1].
        tests: number of tests among which Holm corrects; the level is divided by it, as for the smallest p.

    Returns:
        The difference; None where even the largest that such pairs allow, ``discordant``, would not be found.

    Source: Connor (1987), normal approximation.
    """
    alpha, beta = norm.ppf(1 - LEVEL / tests / 2), norm.ppf(POWER)

    def lacking(difference: float) -> float:
        needed = alpha * math.sqrt(discordant) + beta * math.sqrt(max(0.0, discordant - difference**2))
        return float(difference * math.sqrt(pairs) - needed)

    return float(brentq(lacking, 0.0, discordant)) if pairs > 0 and lacking(discordant) > 0 else None


def _score(first_only: float, second_only: float, pairs: float) -> Callable[[float], float]:
    """Tango's statistic as a function of the supposed difference."""

    def statistic(supposed: float) -> float:
        a = 2 * pairs
        b = -first_only - second_only + (2 * pairs - first_only + second_only) * supposed
        c = -second_only * supposed * (1 - supposed)
        likeliest = (math.sqrt(max(0.0, b * b - 4 * a * c)) - b) / (2 * a)
        variance = pairs * (2 * likeliest + supposed * (1 - supposed))
        apart = first_only - second_only - pairs * supposed
        if variance <= 0:
            return 0.0 if apart == 0 else math.copysign(math.inf, apart)
        return apart / math.sqrt(variance)

    return statistic

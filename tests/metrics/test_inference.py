"""Tests and intervals of paired outcomes: published and closed values, symmetry, and coverage by simulation."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_grounding.metrics._balance import wilson
from gym_grounding.metrics._inference import (
    Interval,
    equivalence,
    holm,
    mcnemar,
    score_interval,
    smallest_difference,
)

COUNTS = st.integers(0, 30)
Z2 = 1.959963984540054**2


@given(COUNTS, COUNTS)
def test_mcnemar_counts_every_split_of_the_discordant_pairs(one, two):
    total, least = one + two, min(one, two)
    tail = sum(math.comb(total, k) for k in range(least + 1)) / 2**total
    assert mcnemar(one, two) == pytest.approx(min(1.0, 2 * tail))
    assert mcnemar(one, two) == mcnemar(two, one)


def test_mcnemar_by_hand():
    assert mcnemar(0, 0) == 1
    assert mcnemar(5, 0) == pytest.approx(2 / 32)
    assert mcnemar(8, 1) == pytest.approx(2 * (1 + 9) / 512)


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx((0.03, 0.06, 0.06))
    assert holm([0.5, 0.5]) == (1, 1)
    assert holm([]) == ()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8), st.randoms())
def test_holm_keeps_order_never_lowers_and_does_not_depend_on_the_order_given(ps, random):
    adjusted = holm(ps)
    assert all(p <= a <= min(1, len(ps) * p) or a >= p for p, a in zip(ps, adjusted, strict=True))
    for (p, a), (q, b) in itertools.combinations(zip(ps, adjusted, strict=True), 2):
        assert p >= q or a <= b
    places = list(range(len(ps)))
    random.shuffle(places)
    assert [holm([ps[i] for i in places])[k] for k in range(len(ps))] == [adjusted[i] for i in places]
    assert min(adjusted) == pytest.approx(min(1, len(ps) * min(ps)))


@given(st.integers(1, 200))
def test_pairs_that_all_agree_still_leave_doubt(pairs):
    # Closed form without discordant pairs: z^2 / (n + z^2).
    assert score_interval(0, 0, pairs) == pytest.approx((-Z2 / (pairs + Z2), Z2 / (pairs + Z2)), abs=1e-6)


@given(COUNTS, COUNTS, COUNTS)
def test_the_score_interval_turns_with_its_sides(one, two, agree):
    pairs = max(1, one + two + agree)
    there, back = score_interval(one, two, pairs), score_interval(two, one, pairs)
    assert there == pytest.approx(Interval(-back.high, -back.low), abs=1e-9)
    assert -1 <= there.low <= (one - two) / pairs <= there.high <= 1


def test_the_score_interval_covers():
    rng = np.random.default_rng(0)
    for chances in ((0.2, 0.1), (0.05, 0.05), (0.5, 0.3)):
        one, two = (np.asarray(side) for side in rng.multinomial(25, [*chances, 1 - sum(chances)], size=800).T[:2])
        held = [
            interval.low <= chances[0] - chances[1] <= interval.high
            for interval in (score_interval(int(a), int(b), 25) for a, b in zip(one, two, strict=True))
        ]
        assert 0.93 <= np.mean(held) <= 0.985


def test_wilson_covers():
    rng = np.random.default_rng(1)
    for rate in (0.05, 0.3, 0.5):
        found = [wilson(k / 40, 40) for k in rng.binomial(40, rate, size=3000)]
        assert 0.93 <= np.mean([one.low <= rate <= one.high for one in found]) <= 0.98


@given(COUNTS, COUNTS, COUNTS, st.sampled_from((0.05, 0.1, 0.2)))
def test_equivalence_is_shown_exactly_where_the_90_percent_interval_lies_within(one, two, agree, margin):
    pairs = max(1, one + two + agree)
    low, high = score_interval(one, two, pairs, level=0.1)
    p = equivalence(one, two, pairs, margin)
    inside = -margin < low and high < margin
    assert inside == (p < 0.05) or min(abs(p - 0.05), abs(low + margin), abs(high - margin)) < 1e-6


def test_equivalence_rarely_errs_at_the_margin():
    rng = np.random.default_rng(2)
    one, two, _ = rng.multinomial(80, [0.15, 0.05, 0.8], size=2000).T  # the true difference is the margin itself
    assert np.mean([equivalence(int(a), int(b), 80) < 0.05 for a, b in zip(one, two, strict=True)]) <= 0.065


def test_few_pairs_show_nothing():
    assert smallest_difference(0) is None
    assert smallest_difference(5) is None
    assert equivalence(0, 0, 5) > 0.05


@pytest.mark.parametrize("pairs", [50, 200])
def test_the_smallest_difference_is_found_with_the_stated_power(pairs):
    rng = np.random.default_rng(3)
    difference = smallest_difference(pairs)
    chances = [(0.5 + difference) / 2, (0.5 - difference) / 2, 0.5]
    one, two, _ = rng.multinomial(pairs, chances, size=1500).T
    power = np.mean([mcnemar(int(a), int(b)) < 0.05 for a, b in zip(one, two, strict=True)])
    assert 0.68 <= power <= 0.86  # the exact test is a little weaker than the approximation


@given(st.integers(20, 5000))
def test_more_pairs_show_smaller_differences_and_more_tests_larger_ones(pairs):
    assert smallest_difference(2 * pairs) < smallest_difference(pairs)
    many = smallest_difference(pairs, tests=28)
    assert many is None or many > smallest_difference(pairs)

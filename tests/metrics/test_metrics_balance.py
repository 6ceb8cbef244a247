"""Task-balanced means, seeds, intervals."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_grounding.metrics._balance import (
    Sample,
    average,
    balanced,
    effective_number,
    paired_difference,
    rate,
    seed_means,
    spread,
    task_means,
    wilson,
)
from gym_grounding.testing.records import episode

SAMPLES = st.lists(
    st.builds(
        Sample,
        seed=st.integers(0, 2),
        task=st.sampled_from(["T0", "T1", "T2"]),
        variant=st.sampled_from(["a", "b"]),
        value=st.sampled_from([0.0, 1.0]),
    ),
    min_size=1,
    max_size=40,
)


def test_variants_are_equal_within_a_task_and_tasks_within_a_seed():
    samples = [
        *[Sample(0, "T0", "a", 1.0)] * 9,  # nine episodes of one variant weigh as much as ...
        Sample(0, "T0", "b", 0.0),  # ... one of the other
        Sample(0, "T1", "c", 0.0),
    ]
    assert task_means(samples) == {0: {"T0": 0.5, "T1": 0.0}}
    assert seed_means(samples) == {0: 0.25}


def test_seeds_are_equal_and_spread_is_the_sample_standard_deviation():
    value = balanced(
        [Sample(0, "T0", "a", 1.0), Sample(1, "T0", "a", 0.0), Sample(1, "T0", "a", 0.0)], nothing="nothing"
    )
    assert value.mean == 0.5
    assert value.std == pytest.approx(math.sqrt(0.5))  # divisor n - 1, not n (which would give 0.5)
    assert dict(value.per_seed) == {0: 1.0, 1: 0.0}
    assert (value.n, value.variants, value.tasks, value.seeds) == (3, 1, 1, 2)


def test_one_seed_has_no_spread():
    assert spread([0.3]) is None
    assert balanced([Sample(0, "T0", "a", 1.0)], nothing="").std is None


def test_nothing_is_none_with_the_reason_never_zero():
    value = balanced([], nothing="no contrast episode")
    assert value.mean is None
    assert value.reason == "no contrast episode"
    assert value.interval is None


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [(0, 10, 0.0, 0.2775), (3, 10, 0.1078, 0.6032), (10, 10, 0.7225, 1.0), (81, 263, 0.2553, 0.3662)],
)
def test_wilson_agrees_with_published_values(successes, n, low, high):
    interval = wilson(successes / n, n)
    assert interval.low == pytest.approx(low, abs=5e-5)
    assert interval.high == pytest.approx(high, abs=5e-5)


@given(st.integers(0, 50), st.integers(1, 50))
def test_wilson_holds_the_rate_and_stays_in_the_unit_interval(successes, n):
    share = min(successes, n) / n
    low, high = wilson(share, n)
    assert 0 <= low <= share <= high <= 1
    assert low < high


def test_effective_number_is_the_number_of_episodes_in_a_balanced_design_and_smaller_otherwise():
    even = [Sample(seed, task, task + variant, 0) for seed in (0, 1) for task in "ab" for variant in "xy"]
    assert effective_number(even) == pytest.approx(8)
    assert effective_number([*even, Sample(0, "a", "ax", 0)]) < 9


@given(SAMPLES, st.randoms())
def test_order_and_duplicates_change_no_mean(samples, random):
    shuffled = list(samples)
    random.shuffle(shuffled)
    assert balanced(shuffled, nothing="") == balanced(samples, nothing="")
    doubled = balanced(samples * 2, nothing="")
    assert doubled.per_seed == balanced(samples, nothing="").per_seed


@given(SAMPLES, SAMPLES)
def test_a_difference_is_antisymmetric(first, second):
    forth = paired_difference(first, second, "none shared")
    back = paired_difference(second, first, "none shared")
    if forth.mean is None:
        assert back.mean is None
        assert back.reason == "none shared"
        return
    assert back.mean == -forth.mean
    assert back.interval == pytest.approx((-forth.interval[1], -forth.interval[0]))
    assert -1 <= forth.interval[0] <= forth.mean <= forth.interval[1] <= 1


def test_a_difference_uses_only_tasks_that_have_both_sides_and_says_so():
    first = [Sample(0, "T0", "a", 1.0), Sample(0, "T1", "b", 0.0)]
    second = [Sample(0, "T0", "c", 0.0)]
    value = paired_difference(first, second, "none")
    assert value.mean == 1.0
    assert value.n == 2
    assert "1 of 2 (seed, task) pairs" in value.note


def test_newcombe_agrees_with_the_published_example():
    # Newcombe (1998), table II, method 10: 56/70 - 48/80
    first = [Sample(0, "T0", "a", float(index < 56)) for index in range(70)]
    second = [Sample(0, "T0", "b", float(index < 48)) for index in range(80)]
    value = paired_difference(first, second, "")
    assert value.mean == pytest.approx(0.2)
    assert value.interval == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_void_episodes_are_left_out_and_counted():
    episodes = [episode(reached=["original"]), episode(void=["original"], init_state=1)]
    value = rate(episodes, lambda one: bool(one.success), lambda one: one.success is None)
    assert (value.mean, value.n, value.void) == (1.0, 1, 1)
    value = rate(episodes[1:], lambda one: bool(one.success), lambda one: one.success is None)
    assert value.mean is None
    assert value.void == 1
    assert value.reason == "all 1 episodes are void"


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20), st.randoms())
def test_average_does_not_depend_on_order(values, random):
    shuffled = list(values)
    random.shuffle(shuffled)
    assert average(shuffled) == average(values)

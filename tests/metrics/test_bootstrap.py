"""The bootstrap over seeds and initial states: its means are the balanced ones, its intervals cover."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_grounding.metrics import _bootstrap
from gym_grounding.metrics._balance import Sample, average, seed_means
from gym_grounding.metrics._bootstrap import Layout, Start

STARTS = st.lists(
    st.builds(
        Start,
        st.integers(0, 2),
        st.sampled_from(("T0", "T1", "T2")),
        st.sampled_from(("a", "b")),
        st.integers(0, 3),
        st.sampled_from((0.0, 0.5, 1.0)),
    ),
    min_size=1,
    max_size=40,
)


@given(STARTS)
def test_everything_drawn_once_gives_the_balanced_mean(starts):
    layout = Layout.of(starts)
    expected = average(seed_means(Sample(s.seed, s.task, s.variant, s.value) for s in starts).values())
    assert layout.means(starts, layout.once())[0] == pytest.approx(expected)


@settings(max_examples=30)
@given(STARTS, st.integers(0, 2**32))
def test_every_resample_is_a_mean_of_what_was_drawn(starts, seed):
    layout = Layout.of(starts)
    draws = layout.draw(np.random.default_rng(seed), 5)
    assert (draws.seeds.sum(axis=1) == len(layout.seeds)).all()
    for row, task in enumerate(layout.tasks):
        assert (draws.states[:, row].sum(axis=1) == len(layout.states[task])).all()
    for index, found in enumerate(layout.means(starts, draws)):
        copies = [
            Sample(copy * 100 + s.seed, s.task, s.variant, s.value)
            for s in starts
            for copy in range(int(draws.seeds[index, layout.seeds.index(s.seed)]))
            for _ in range(
                int(draws.states[index, layout.tasks.index(s.task), layout.states[s.task].index(s.init_state)])
            )
        ]
        if copies:
            assert found == pytest.approx(average(seed_means(copies).values()))
        else:
            assert np.isnan(found)


def study(rng, seeds, states, spread):
    """Success of 4 tasks whose rate differs from seed to seed."""
    of_seed = np.clip(0.6 + spread * rng.standard_normal(seeds), 0, 1)
    return [
        Start(seed, f"T{task}", "v", state, float(rng.random() < of_seed[seed]))
        for seed in range(seeds)
        for task in range(4)
        for state in range(states)
    ]


@pytest.mark.parametrize(("seeds", "states", "spread", "least"), [(1, 20, 0.0, 0.9), (12, 5, 0.1, 0.87)])
def test_the_interval_covers(seeds, states, spread, least):
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(150):
        low, high = _bootstrap.interval([study(rng, seeds, states, spread)], _bootstrap.itself, rng)
        held += low <= 0.6 <= high
    assert least <= held / 150 <= 0.99


def test_what_both_sides_share_cancels():
    rng = np.random.default_rng(0)
    hard = {(task, state): rng.random() for task in ("T0", "T1") for state in range(30)}
    first = [Start(0, *key[:1], "v", key[1], value) for key, value in hard.items()]
    second = [s._replace(value=s.value - 0.2) for s in first]
    low, high = _bootstrap.interval([first, second], _bootstrap.difference, np.random.default_rng(1))
    assert low == pytest.approx(0.2)
    assert high == pytest.approx(0.2)
    alone = _bootstrap.interval([first], _bootstrap.itself, np.random.default_rng(1))
    assert alone.high - alone.low > 0.05


def test_nothing_to_draw_gives_no_interval():
    one = [Start(0, "T0", "v", 3, 1.0), Start(0, "T1", "v", 7, 0.0)]
    assert _bootstrap.interval([one], _bootstrap.itself, np.random.default_rng(0)) is None
    assert _bootstrap.interval([one, []], _bootstrap.difference, np.random.default_rng(0)) is None


def test_seeds_that_differ_widen_the_interval():
    alike = [Start(seed, "T0", "v", state, float(state % 2)) for seed in range(3) for state in range(20)]
    apart = [s._replace(value=float(s.seed > 0)) for s in alike]
    widths = []
    for side in (alike, apart):
        low, high = _bootstrap.interval([side], _bootstrap.itself, np.random.default_rng(0))
        widths.append(high - low)
    assert widths[1] > 2 * widths[0]

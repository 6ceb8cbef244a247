"""Seeded noise on executed actions."""

import numpy as np
import pytest

from gym_grounding.experts import MILD, Disturbance, Noise

CLEAN = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0])


def executed(noise, seed, steps, careful=False):
    disturbance = Disturbance(noise, np.random.default_rng(seed))
    return np.array([disturbance(CLEAN, careful) for _ in range(steps)])


def test_one_seed_gives_one_disturbance():
    assert np.array_equal(executed(Noise(), 3, 50), executed(Noise(), 3, 50))
    assert not np.array_equal(executed(Noise(), 3, 50), executed(Noise(), 4, 50))


def test_the_noise_has_the_stated_size():
    rows = executed(Noise(position=0.2, rotation=0.1, scales=(1.0,), flip=0.0), 0, 20_000)
    assert rows[:, :3].std(axis=0) == pytest.approx([0.2] * 3, rel=0.1)
    assert rows[:, 3:6].std(axis=0) == pytest.approx([0.1] * 3, rel=0.1)
    assert abs(rows[:, :6].mean()) < 0.01
    lag = np.corrcoef(rows[:-1, 0], rows[1:, 0])[0, 1]
    assert lag == pytest.approx(1 - Noise().theta, abs=0.05)


def test_scales_are_drawn_once_per_episode():
    scales = [Disturbance(Noise(), np.random.default_rng(seed)).scale for seed in range(60)]
    assert set(scales) == {0.3, 1.0, 1.6}


def test_delicate_steps_are_disturbed_less_and_never_flipped():
    noise = Noise(scales=(1.0,), flip=1.0)
    calm, wild = executed(noise, 0, 4000, careful=True), executed(noise, 0, 4000)
    assert calm[:, 0].std() == pytest.approx(noise.careful * noise.position, rel=0.15)
    assert np.all(calm[:, 6] == 1)
    assert np.all(wild[:, 6] == -1)


def test_a_flip_lasts_for_its_steps():
    rows = executed(Noise(flip=0.02, flip_steps=(4, 10)), 0, 5000)[:, 6]
    edges = np.flatnonzero(np.diff(np.concatenate([[1], rows, [1]])))
    lengths = edges[1::2] - edges[::2]
    assert len(lengths) > 20
    assert lengths.min() >= 4


def test_actions_stay_in_range_and_the_clean_one_is_left_alone():
    clean = np.ones(7)
    disturbance = Disturbance(Noise(position=3.0), np.random.default_rng(0))
    assert np.all(np.abs([disturbance(clean, False) for _ in range(100)]) <= 1)
    assert np.array_equal(clean, np.ones(7))


def test_mild_noise_is_smaller():
    assert MILD.position < Noise().position
    assert MILD.flip == 0

"""NBT, AUC, FWT: hand-computed 3 x 3 matrices, constant curves, gaps in the matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_grounding.metrics import Curve, Scope
from gym_grounding.metrics.continual import (
    METRIC,
    Incomplete,
    area_under_curve,
    forward_transfer,
    libero_area,
    matrices,
    negative_backward_transfer,
)
from gym_grounding.testing.records import episode, evidence

TASKS = ("Toy-T0", "Toy-T1", "Toy-T2")
MATRIX = {(0, 0): 1.0, (1, 0): 0.5, (2, 0): 0.25, (1, 1): 0.75, (2, 1): 0.75, (2, 2): 0.5}
"""Rows t, columns k:  1 - - / 0.5 0.75 - / 0.25 0.75 0.5."""
UNIT = st.floats(0, 1)


def triangle(size, value):
    return {(t, k): value for t in range(size) for k in range(t + 1)}


def measured(proof, name, **scope):
    found = METRIC.compute([proof], np.random.default_rng(0))
    (value,) = [one.value for one in found if one.quantity == name and one.scope == Scope(**scope)]
    return value


def run_of(matrix, condition="original", seed=0, states=4):
    """Episodes whose success rates are the matrix's entries (multiples of 1/4)."""
    return [
        episode(
            condition, task=TASKS[k], stage=t, init_state=state, seed=seed, reached=["original"] * (state < share * 4)
        )
        for (t, k), share in matrix.items()
        for state in range(states)
    ]


def test_nbt_of_a_hand_made_matrix():
    # NBT_0 = ((1 - 0.5) + (1 - 0.25)) / 2 = 0.625; NBT_1 = 0.75 - 0.75 = 0; mean of the two defined terms
    assert negative_backward_transfer(MATRIX, [0, 1, 2], 3) == pytest.approx(0.3125)


def test_auc_of_a_hand_made_matrix():
    # AUC_0 = (1 + 0.5 + 0.25) / 3; AUC_1 = (0.75 + 0.75) / 2; AUC_2 = 0.5
    assert area_under_curve(MATRIX, [0, 1, 2], 3) == pytest.approx((1.75 / 3 + 0.75 + 0.5) / 3)


@given(st.integers(2, 8), UNIT)
def test_constant_matrices_forget_nothing(size, value):
    matrix = triangle(size, value)
    assert negative_backward_transfer(matrix, range(size), size) == 0
    assert area_under_curve(matrix, range(size), size) == pytest.approx(value)


@given(st.lists(UNIT, min_size=10, max_size=10))
def test_ranges(values):
    matrix = dict(zip(triangle(4, 0.0), values, strict=True))
    assert 0 <= area_under_curve(matrix, range(4), 4) <= 1
    assert -1 <= negative_backward_transfer(matrix, range(4), 4) <= 1


def test_a_missing_entry_makes_the_number_missing():
    matrix = {key: value for key, value in MATRIX.items() if key != (1, 0)}
    for formula in (area_under_curve, negative_backward_transfer):
        result = formula(matrix, [0, 1, 2], 3)
        assert isinstance(result, Incomplete)
        assert "(1, 0)" in result.reason


def test_nbt_of_the_last_task_alone_is_undefined():
    assert isinstance(negative_backward_transfer({(0, 0): 1.0}, [0], 1), Incomplete)
    assert area_under_curve({(0, 0): 1.0}, [0], 1) == 1.0


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ([(0, 0.5), (5, 0.5), (10, 0.5)], 0.5),
        ([(0, 0.0), (5, 1.0), (10, 0.2)], 2 / 3),  # held at its best from the earliest best epoch
        ([(10, 0.2), (0, 0.0), (5, 1.0)], 2 / 3),  # order of the points does not matter
        ([(0, 0.6), (5, 0.2), (10, 0.6)], 0.6),  # the earliest of two equal bests
    ],
)
def test_forward_transfer(curve, expected):
    assert forward_transfer(curve) == pytest.approx(expected)


@given(st.integers(2, 6), UNIT, UNIT)
def test_libero_area_of_a_constant_curve_and_retention(size, start, later):
    # AUC_k = (s + (K - k) c) / (K - k + 1)
    result = libero_area(triangle(size, later), dict.fromkeys(range(size), start), size)
    expected = sum((start + (size - 1 - k) * later) / (size - k) for k in range(size)) / size
    assert result == pytest.approx(expected)


def test_from_records_seed_by_seed():
    flat = triangle(3, 0.5)
    proof = evidence([*run_of(MATRIX, seed=0), *run_of(flat, seed=1)], stages=(0, 1, 2))
    assert matrices(proof, "original")[0] == MATRIX
    nbt = measured(proof, "nbt", condition="original")
    assert dict(nbt.per_seed) == pytest.approx({0: 0.3125, 1: 0.0})
    assert nbt.mean == pytest.approx(0.15625)
    assert nbt.std == pytest.approx(np.std([0.3125, 0.0], ddof=1))
    final = measured(proof, "final_success", condition="original", stage=2)
    assert final.mean == pytest.approx((0.5 + 0.5) / 2)
    assert (final.n, final.tasks, final.seeds) == (24, 3, 2)


def test_the_training_order_decides_the_positions():
    order = ("Toy-T2", "Toy-T0", "Toy-T1")
    proof = evidence([episode(task="Toy-T0", stage=1)], order=order, stages=(0, 1, 2))
    assert list(matrices(proof, "original")[0]) == [(1, 1)]


def test_a_plan_of_the_last_stage_only_has_no_auc_and_says_why():
    last = {key: value for key, value in MATRIX.items() if key[0] == 2}
    proof = evidence(run_of(last), stages=(2,))
    value = measured(proof, "auc", condition="original")
    assert value.mean is None
    assert "(stage, position of the task) (0, 0), (1, 0), (1, 1)" in value.reason
    assert measured(proof, "final_success", condition="original", stage=2).mean == pytest.approx(0.5)


def test_a_seed_with_a_gap_is_left_out_and_named():
    half = {key: value for key, value in MATRIX.items() if key != (2, 2)}
    proof = evidence([*run_of(MATRIX, seed=0), *run_of(half, seed=7)], stages=(0, 1, 2))
    value = measured(proof, "auc", condition="original")
    assert list(value.per_seed) == [0]
    assert "seed 7 left out" in value.note


def test_libero_numbers_need_curves():
    proof = evidence(run_of(MATRIX), stages=(0, 1, 2))
    for name in ("forward_transfer", "libero_auc"):
        value = measured(proof, name, condition="original")
        assert value.mean is None
        assert "no learning curves" in value.reason


def test_libero_numbers_from_curves():
    curves = [Curve(0, task, ((0, 0.0), (10, 1.0))) for task in TASKS]
    proof = evidence(run_of(MATRIX), stages=(0, 1, 2), curves=curves)
    assert measured(proof, "forward_transfer", condition="original").mean == pytest.approx(0.5)
    # AUC_0 = (0.5 + 0.5 + 0.25) / 3; AUC_1 = (0.5 + 0.75) / 2; AUC_2 = 0.5: FWT_k stands in for c[k, k]
    value = measured(proof, "libero_auc", condition="original")
    assert value.mean == pytest.approx((1.25 / 3 + 1.25 / 2 + 0.5) / 3)


def test_libero_auc_needs_a_curve_of_every_task():
    proof = evidence(run_of(MATRIX), stages=(0, 1, 2), curves=[Curve(0, "Toy-T0", ((0, 1.0),))])
    assert "position 1, 2" in measured(proof, "libero_auc", condition="original").reason


def test_void_episodes_are_no_entries():
    proof = evidence([episode(task="Toy-T0", void=["original"])], order=("Toy-T0",))
    assert measured(proof, "auc", condition="original").mean is None

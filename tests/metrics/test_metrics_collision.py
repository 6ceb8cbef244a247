"""Collisions: initiation, persistence, canonical goals, outcomes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_grounding.metrics import Scope
from gym_grounding.metrics.collision import INITIATION, METRIC
from gym_grounding.records import MOTION_THRESHOLDS
from gym_grounding.testing.records import episode, evidence

OUTCOMES = ("outcome_original", "outcome_other", "outcome_multiple", "outcome_none")


def collision(reached=(), *, slot="object", **more):
    return episode("collision", slot=slot, reached=reached, **more)


def measured(proof, name, **scope):
    found = METRIC.compute([proof], np.random.default_rng(0))
    wanted = Scope(**{"condition": "collision", "stage": 0, **scope})
    (value,) = [one.value for one in found if one.quantity == name and one.scope == wanted]
    return value


def goals(proof, judged="ever", **scope):
    names = ("original_goal_persistence", "canonical_goal_activation", *OUTCOMES)
    return tuple(measured(proof, name, judged=judged, **scope).mean for name in names)


def test_every_outcome():
    reached = [["original"], ["Toy-T1"], ["original", "Toy-T1"], ["Toy-T1", "Toy-T2"], []]
    proof = evidence(collision(labels, init_state=state) for state, labels in enumerate(reached))
    assert goals(proof) == pytest.approx((0.4, 0.8, 0.2, 0.2, 0.4, 0.2))


def test_at_end_forgets_what_came_undone():
    proof = evidence([collision({"original": 20}, at_end=[])])
    assert goals(proof, judged="ever") == (1, 1, 1, 0, 0, 0)
    assert goals(proof, judged="end") == (0, 0, 0, 0, 0, 1)


def test_void_original_leaves_goals_out_but_not_initiation():
    proof = evidence([collision(void=["original"]), collision(["original"], init_state=1, moved=0.0)])
    value = measured(proof, "original_goal_persistence", judged="ever")
    assert (value.mean, value.n, value.void) == (1.0, 1, 1)
    assert measured(proof, "action_initiation", threshold=INITIATION).mean == 0.5


def test_another_void_goal_never_counts():
    proof = evidence([collision(["Toy-T1"], void=["Toy-T1"])])
    assert goals(proof) == (0, 0, 0, 0, 0, 1)


@pytest.mark.parametrize(
    ("moved", "expected"),
    [(0.0, [0, 0, 0, 0]), (0.01, [1, 0, 0, 0]), (0.049, [1, 1, 0, 0]), (0.05, [1, 1, 1, 0]), (0.4, [1, 1, 1, 1])],
)
def test_initiation_at_every_recorded_distance(moved, expected):
    proof = evidence([collision(moved=moved)])
    found = [measured(proof, "action_initiation", threshold=at).mean for at in MOTION_THRESHOLDS]
    assert found == expected


def test_initiation_of_originals_is_the_reference():
    proof = evidence([collision(moved=0.0), episode(moved=0.3)])
    assert measured(proof, "action_initiation", threshold=INITIATION).mean == 0
    assert measured(proof, "action_initiation", threshold=INITIATION, condition="original").mean == 1


def test_without_collisions_there_is_a_reason():
    assert measured(evidence(), "action_initiation", threshold=INITIATION).reason == "no collision episode"


LABELS = st.lists(st.sampled_from(["original", "Toy-T1", "Toy-T2"]), unique=True)


@given(st.lists(st.tuples(LABELS, st.integers(0, 2), st.sampled_from("ab")), min_size=1))
def test_outcomes_add_up_and_include_persistence(rows):
    proof = evidence(collision(labels, seed=seed, task=f"Toy-{task}") for labels, seed, task in rows)
    for judged in ("ever", "end"):
        persistence, canonical, *outcomes = goals(proof, judged=judged)
        assert sum(outcomes) == pytest.approx(1)
        assert persistence <= canonical + 1e-12
        assert canonical == pytest.approx(1 - outcomes[3])
        assert outcomes[0] <= persistence + 1e-12 <= outcomes[0] + outcomes[2] + 2e-12

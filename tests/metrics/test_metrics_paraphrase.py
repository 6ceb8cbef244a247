"""Success and the signed paraphrase gap."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_grounding.metrics import Scope, paraphrase, success
from gym_grounding.metrics.paraphrase import final_gap
from gym_grounding.testing.records import episode, evidence


def measured(family, proof, name, **scope):
    found = family.METRIC.compute([proof], np.random.default_rng(0))
    (value,) = [one.value for one in found if one.quantity == name and one.scope == Scope(**scope)]
    return value


def some(condition, successes, of=4, **more):
    return [
        episode(condition, init_state=state, reached=["original"] * (state < successes), **more) for state in range(of)
    ]


def test_the_gap_is_original_minus_paraphrase():
    proof = evidence([*some("original", 3), *some("paraphrase", 1)])
    value = measured(paraphrase, proof, "paraphrase_gap", condition="paraphrase", stage=0)
    assert value.mean == pytest.approx(0.5)  # positive: paraphrases do worse
    assert value.n == 8


def test_the_gap_of_each_type_is_taken_against_the_same_tasks():
    proof = evidence(
        [
            *some("original", 4, task="Toy-T0"),
            *some("original", 0, task="Toy-T1"),
            *some("paraphrase", 2, task="Toy-T0", kind="passive"),
            *some("paraphrase", 0, task="Toy-T1", kind="question"),
        ]
    )
    gaps = {
        kind: measured(paraphrase, proof, "paraphrase_gap", condition="paraphrase", stage=0, kind=kind).mean
        for kind in ("passive", "question")
    }
    assert gaps == {"passive": 0.5, "question": 0.0}


def test_the_gap_in_auc_needs_whole_matrices():
    one_stage = [*some("original", 4, stage=1), *some("paraphrase", 2, stage=1)]
    proof = evidence(one_stage, order=("Toy-T0", "Toy-T1"), stages=(1,))
    value = measured(paraphrase, proof, "paraphrase_gap_auc", condition="paraphrase")
    assert value.mean is None
    assert "needs success after every stage" in value.reason
    whole = evidence([*some("original", 4), *some("paraphrase", 2)], order=("Toy-T0",))
    assert measured(paraphrase, whole, "paraphrase_gap_auc", condition="paraphrase").mean == 0.5


def test_one_side_alone_has_no_gap():
    for episodes in (some("original", 2), some("paraphrase", 2), []):
        value = measured(paraphrase, evidence(episodes), "paraphrase_gap", condition="paraphrase", stage=0)
        assert value.mean is None
        assert "both originals and paraphrases" in value.reason


@given(st.integers(0, 4), st.integers(0, 4))
def test_exchanging_the_sides_turns_the_sign(first, second):
    one, two = some("original", first), some("paraphrase", second)
    there, back = (final_gap(*sides, "", np.random.default_rng(0)) for sides in ((one, two), (two, one)))
    assert there.mean == -back.mean
    assert there.interval == pytest.approx((-back.interval[1], -back.interval[0]), abs=0.02)


def test_success_by_condition_task_and_variant():
    episodes = [
        *some("original", 4, task="Toy-T0"),
        *some("original", 0, task="Toy-T1"),
        *some("paraphrase", 2, task="Toy-T0", variant="Toy-T0-Paraphrase1"),
        *some("paraphrase", 4, task="Toy-T0", variant="Toy-T0-Paraphrase2"),
    ]
    proof = evidence(episodes)
    assert measured(success, proof, "success", condition="original", stage=0).mean == 0.5
    assert measured(success, proof, "success", condition="original", stage=0, task="Toy-T1").mean == 0
    one = measured(
        success, proof, "success", condition="paraphrase", stage=0, task="Toy-T0", variant="Toy-T0-Paraphrase1"
    )
    assert (one.mean, one.n, one.variants) == (0.5, 4, 1)
    assert measured(success, proof, "success", condition="paraphrase", stage=0).mean == 0.75


def test_success_follows_the_recorded_verdict_and_the_final_state_is_apart():
    passing = episode(reached={"original": 12}, at_end=[])
    proof = evidence([passing])
    assert measured(success, proof, "success", condition="original", stage=0).mean == 1
    assert measured(success, proof, "success_at_end", condition="original", stage=0).mean == 0


def test_missing_conditions_say_so():
    value = measured(success, evidence(), "success", condition="paraphrase", stage=0)
    assert value.mean is None
    assert value.reason == "no paraphrase episode at stage 0"


def test_contrasts_have_success_per_tier_and_collisions_have_none():
    proof = evidence([episode("contrast", tier="strict", slot="object", reached=["target"]), episode("collision")])
    scopes = {
        (one.scope.condition, one.scope.tier)
        for one in success.METRIC.compute([proof], np.random.default_rng(0))
        if one.value.mean is not None
    }
    assert scopes == {("contrast", "strict")}

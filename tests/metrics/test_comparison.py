"""Methods against each other."""

import numpy as np
import pytest

from gym_grounding.metrics import Scope, comparison
from gym_grounding.testing.records import episode, evidence


def compared(*proofs, name, seed=0, **scope):
    found = comparison.METRIC.compute(proofs, np.random.default_rng(seed))
    (value,) = [one.value for one in found if one.quantity == name and one.scope == Scope(**scope)]
    return value


def played(name, successes, condition="original", states=10, **more):
    """Task 0 from ten states; the named ones succeed."""
    reached = "original" if condition in ("original", "paraphrase") else "target"
    episodes = [
        episode(condition, init_state=state, reached=[reached] * (state in successes), **more)
        for state in range(states)
    ]
    return evidence(episodes, method=name, order=("Toy-T0",))


def test_two_methods_by_hand():
    one, two = played("one", range(8)), played("two", (0, 1, 9))
    scope = {"condition": "original", "stage": 0, "against": "two"}
    found = compared(one, two, name="success_difference", **scope)
    assert found.mean == pytest.approx(0.5)
    assert found.n == 10
    assert found.interval[0] < 0.5 < found.interval[1]
    p = compared(one, two, name="mcnemar_p", **scope)
    assert p.mean == pytest.approx(2 * (1 + 7) / 2**7)  # six against one
    assert p.note == "6 pairs only this method, 1 only the other"
    assert compared(one, two, name="adjusted_p", **scope).mean == p.mean


def test_holm_covers_all_pairs_of_a_condition():
    proofs = [played("a", range(10)), played("b", ()), played("c", range(9))]
    raw = compared(*proofs, name="mcnemar_p", condition="original", stage=0, against="b")
    assert raw.mean
    found = comparison.METRIC.compute(proofs, np.random.default_rng(0))
    ps = {
        (one.method, one.scope.against): (one.value.mean, name)
        for one in found
        if one.scope.condition == "original"
        for name in ["raw"]
        if one.quantity == "mcnemar_p"
    }
    adjusted = {
        (one.method, one.scope.against): one.value.mean
        for one in found
        if one.scope.condition == "original" and one.quantity == "adjusted_p"
    }
    assert set(ps) == set(adjusted) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert adjusted["a", "b"] == pytest.approx(3 * 2 / 2**10)
    assert adjusted["a", "c"] == 1


def test_cells_that_one_lacks_are_left_out_and_counted():
    one, two = played("one", range(10)), played("two", (), states=4)
    found = compared(one, two, name="success_difference", condition="original", stage=0, against="two")
    assert (found.n, found.note) == (4, "6 cells that one of the two lacks are left out")


def test_the_same_start_under_another_seed_is_no_pair():
    one, two = played("one", range(10)), played("two", (), seed=1)
    found = compared(one, two, name="success_difference", condition="original", stage=0, against="two")
    assert found.mean is None
    assert found.reason == comparison.NONE_SHARED


def test_contrasts_compare_goal_switching():
    more = {"condition": "contrast", "tier": "strict", "slot": "object"}
    one, two = played("one", range(6), **more), played("two", (), **more)
    scope = {"condition": "contrast", "tier": "strict", "stage": 0, "against": "two"}
    assert compared(one, two, name="switch_difference", **scope).mean == pytest.approx(0.6)
    assert compared(one, two, name="persistence_difference", **scope).mean == 0
    assert compared(one, two, name="mcnemar_p", **scope).mean == pytest.approx(2 / 2**6)


def test_areas_are_compared_over_all_stages():
    def course(name, late):
        order = ("Toy-T0", "Toy-T1")
        episodes = [
            episode(task=task, stage=stage, init_state=state, reached=["original"] * (stage == 0 or late))
            for stage in (0, 1)
            for task in order[: stage + 1]
            for state in range(3)
        ]
        return evidence(episodes, method=name, order=order, stages=(0, 1))

    found = compared(
        course("keeps", True), course("loses", False), name="auc_difference", condition="original", against="loses"
    )
    assert found.mean == pytest.approx((0.5 + 1) / 2)  # task 0 loses one stage of two, task 1 its only one


def test_several_sentences_from_one_start_are_one_pair():
    def proof(sentences):
        originals = [episode(init_state=state, reached=["original"]) for state in range(60)]
        paraphrases = [
            episode("paraphrase", init_state=state, variant=f"Toy-T0-Paraphrase{k}", reached=["original"])
            for state in range(60)
            for k in range(sentences)
        ]
        return evidence([*originals, *paraphrases], order=("Toy-T0",))

    once, often = (compared(proof(k), name="gap_equivalence", condition="paraphrase", stage=0) for k in (1, 5))
    assert (once.n, often.n) == (60, 60)
    assert once.mean == often.mean < 0.05


def test_a_gap_is_never_called_none_because_there_are_few_starts():
    originals, paraphrases = played("m", range(5), states=5), played("m", range(5), "paraphrase", states=5)
    proof = evidence([*originals.episodes, *paraphrases.episodes], order=("Toy-T0",))
    assert compared(proof, name="gap_equivalence", condition="paraphrase", stage=0).mean > 0.05


def test_the_budget_says_what_it_can_show():
    small = compared(played("m", (), states=5), name="smallest_difference", condition="original", stage=0)
    assert small.mean is None
    assert small.reason == "5 episodes show no difference of any size with this power"
    large = compared(played("m", (), states=200), name="smallest_difference", condition="original", stage=0)
    assert large.mean == pytest.approx(0.139, abs=0.002)

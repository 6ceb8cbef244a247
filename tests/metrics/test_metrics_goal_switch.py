"""Minimal contrasts: hand-made episodes with known outcomes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_grounding.metrics import Scope
from gym_grounding.metrics.goal_switch import INDICATORS, METRIC
from gym_grounding.testing.records import episode, evidence


def contrast(reached=(), *, tier="strict", slot="target", **more):
    return episode("contrast", tier=tier, slot=slot, reached=reached, **more)


def measured(proof, name, judged="own", tier="strict", **scope):
    found = METRIC.compute([proof], np.random.default_rng(0))
    wanted = Scope(condition="contrast", tier=tier, stage=0, judged=judged, **scope)
    (value,) = [one.value for one in found if one.quantity == name and one.scope == wanted]
    return value


def shares(proof, **scope):
    return {name: measured(proof, name, **scope).mean for name in INDICATORS}


def test_the_four_outcomes():
    proof = evidence(
        contrast(reached, init_state=state)
        for state, reached in enumerate([["target"], ["original"], ["original", "target"], [], []])
    )
    assert shares(proof) == {
        "target_success": 0.4,
        "goal_switch_accuracy": 0.2,
        "original_persistence": 0.4,
        "both_goals": 0.2,
        "neither_goal": 0.4,
    }


def test_goals_of_other_tasks_are_neither():
    assert measured(evidence([contrast(["Toy-T1"])]), "neither_goal").mean == 1


def test_reading_at_end_looks_at_the_final_state_only():
    passing = contrast({"original": 30, "target": 5}, at_end=["target"])  # the original goal held for a moment
    assert shares(evidence([passing]), judged="ever")["goal_switch_accuracy"] == 0
    assert shares(evidence([passing]), judged="own")["goal_switch_accuracy"] == 0  # never means never
    assert shares(evidence([passing]), judged="end")["goal_switch_accuracy"] == 1
    assert shares(evidence([passing]), judged="end")["original_persistence"] == 0


def test_a_variant_judged_at_the_end_is_read_so_by_default():
    on_path = contrast({"target": 5}, at_end=[], judged="end", tier="permissive")
    proof = evidence([on_path])
    assert measured(proof, "target_success", tier="permissive").mean == 0
    assert measured(proof, "target_success", tier="permissive", judged="ever").mean == 1


def test_tiers_are_never_pooled():
    proof = evidence([contrast(["target"]), contrast([], tier="permissive")])
    assert measured(proof, "goal_switch_accuracy").mean == 1
    assert measured(proof, "goal_switch_accuracy", tier="permissive").mean == 0
    tiers = {one.scope.tier for one in METRIC.compute([proof], np.random.default_rng(0))}
    assert tiers == {"strict", "permissive"}


def test_slots_apart_and_empty_ones_give_a_reason():
    proof = evidence([contrast(["target"], slot="object"), contrast([], slot="target")])
    assert measured(proof, "goal_switch_accuracy", slot="object").mean == 1
    assert measured(proof, "goal_switch_accuracy", slot="target").mean == 0
    assert measured(proof, "goal_switch_accuracy").mean == 0.5
    empty = measured(proof, "goal_switch_accuracy", slot="attribute")
    assert empty.mean is None
    assert empty.reason == "no contrast episode"


@pytest.mark.parametrize("label", ["target", "original"])
def test_void_goals_leave_the_episode_out(label):
    proof = evidence([contrast(["target"], void=[label]), contrast([], init_state=1)])
    value = measured(proof, "goal_switch_accuracy")
    assert (value.mean, value.n, value.void) == (0.0, 1, 1)


def test_trained_goals_apart_and_normalised():
    episodes = [
        *(contrast(["target"] * (state < 1), variant="trained", init_state=state) for state in range(4)),
        contrast([], variant="untrained"),
        *(episode(task="Toy-T1", reached=["original"] * (state < 2), init_state=state) for state in range(4)),
    ]
    proof = evidence(episodes, trained={"trained": "Toy-T1"})
    assert measured(proof, "goal_switch_accuracy", trained=True).mean == 0.25
    assert measured(proof, "goal_switch_accuracy", trained=False).mean == 0
    ratio = measured(proof, "normalised_goal_switch", trained=True)
    assert ratio.mean == pytest.approx(0.25 / 0.5)
    never = evidence([one for one in episodes if one.condition == "contrast" or not one.success], trained=proof.trained)
    assert measured(never, "normalised_goal_switch", trained=True).mean is None


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 2), st.sampled_from("ab")), min_size=1))
def test_outcomes_add_up(rows):
    proof = evidence(
        contrast(["target"] * one + ["original"] * two, seed=seed, variant=variant, task=f"Toy-{variant}")
        for one, two, seed, variant in rows
    )
    for judged in ("own", "ever", "end"):
        found = shares(proof, judged=judged)
        assert all(0 <= share <= 1 for share in found.values())
        assert found["target_success"] == pytest.approx(found["goal_switch_accuracy"] + found["both_goals"])
        original_only = found["original_persistence"] - found["both_goals"]
        total = found["goal_switch_accuracy"] + found["both_goals"] + found["neither_goal"] + original_only
        assert total == pytest.approx(1)


REACH = {"T0-shown": "stable", "T0-moment": "transient", "T0-touch": "trivial", "T0-never": "not_shown"}
REACH["T0-untried"] = "not_measured"


def certified(**reached):
    """One contrast of every standing; those named reach their goal."""
    episodes = [contrast(["target"] if name.split("-")[1] in reached else [], variant=name) for name in REACH]
    return evidence(episodes, reach=REACH, trained=dict.fromkeys(REACH, "Toy-T1"))


def test_goals_that_are_not_shown_reachable_stand_apart():
    proof = certified(shown=1, never=1, untried=1)
    assert measured(proof, "goal_switch_accuracy").mean == pytest.approx(1 / 3)
    assert measured(proof, "goal_switch_accuracy").variants == 3
    assert measured(proof, "target_success", slot="target").n == 3
    apart = {one: measured(proof, "goal_switch_accuracy", reach=one) for one in REACH.values()}
    assert {one: (value.mean, value.n) for one, value in apart.items()} == {
        "stable": (1, 1), "transient": (0, 1), "trivial": (0, 1), "not_shown": (1, 1), "not_measured": (1, 1),
    }  # fmt: skip
    assert measured(proof, "goal_switch_accuracy", trained=True).n == 3
    own = {"task": "Toy-T0", "slot": "target"}
    assert measured(proof, "goal_switch_accuracy", variant="T0-never", **own).mean == 1


def test_without_certificates_every_contrast_counts():
    bare = evidence(certified(shown=1, never=1).episodes)
    assert measured(bare, "goal_switch_accuracy").n == 5
    assert not [one for one in METRIC.compute([bare], np.random.default_rng(0)) if one.scope.reach]


def test_a_tier_without_a_reachable_goal_says_so():
    proof = evidence([contrast(["target"], variant="a")], reach={"a": "not_shown"})
    value = measured(proof, "goal_switch_accuracy")
    assert (value.mean, value.reason) == (None, "no contrast episode whose goal is shown reachable")
    assert measured(proof, "goal_switch_accuracy", reach="not_shown").mean == 1


def test_normalising_leaves_out_what_is_not_shown():
    episodes = [
        contrast(["target"], variant="shown"),
        contrast([], variant="never"),
        episode(task="Toy-T1", reached=["original"]),
    ]
    given = {"trained": {"shown": "Toy-T1", "never": "Toy-T1"}, "reach": {"shown": "stable", "never": "not_shown"}}
    found = METRIC.compute([evidence(episodes, **given)], np.random.default_rng(0))
    (value,) = [one.value for one in found if one.quantity == "normalised_goal_switch" and one.scope.tier == "strict"]
    assert (value.mean, value.n) == (1, 1)

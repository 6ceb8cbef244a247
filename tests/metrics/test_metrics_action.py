"""Action divergence, language margin and their correlations with outcomes."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr

from gym_grounding.metrics import Scope, action, correlation
from gym_grounding.metrics.correlation import bootstrap, spearman
from gym_grounding.records import ProbeRecord
from gym_grounding.testing.records import episode, evidence


def probe(
    variant_action=(0.0, 0.0), *, condition="contrast", tier="strict", task="Toy-T0", densities=(None, None), **more
):
    fields = {"stage": 0, "seed": 0, "variant": f"{task}-x", "slot": "object", "observation": "start", **more}
    return ProbeRecord(
        task=task,
        condition=condition,
        tier=tier if condition == "contrast" else None,
        action_original=(0.0, 0.0),
        action_variant=variant_action,
        log_prob_original=densities[0],
        log_prob_variant=densities[1],
        **fields,
    )


def measured(proof, name, **scope):
    found = action.METRIC.compute([proof], np.random.default_rng(0))
    wanted = Scope(**{"condition": "contrast", "tier": "strict", "stage": 0, **scope})
    (value,) = [one.value for one in found if one.quantity == name and one.scope == wanted]
    return value


def test_divergence_is_the_euclidean_distance_balanced_over_tasks():
    proof = evidence(
        probes=[
            probe((3.0, 4.0), observation="a"),
            probe((3.0, 4.0), observation="b"),
            probe((1.0, 0.0), task="Toy-T1"),
        ]
    )
    value = measured(proof, "action_divergence")
    assert value.mean == pytest.approx(3.0)  # tasks are equal: (5 + 1) / 2
    assert (value.n, value.tasks) == (3, 2)
    assert value.interval is None


def test_margin_is_original_minus_variant():
    proof = evidence(probes=[probe(densities=(2.0, -1.0))])
    assert measured(proof, "language_margin").mean == 3.0


def test_without_densities_or_probes_there_is_a_reason():
    assert "no log densities" in measured(evidence(probes=[probe()]), "language_margin").reason
    assert measured(evidence(), "action_divergence").reason == "no probes were run"


def test_empty_actions_are_no_zero_divergence():
    bare = dataclasses.replace(probe(), action_original=(), action_variant=())
    value = measured(evidence(probes=[bare]), "action_divergence")
    assert value.mean is None
    assert "no mean actions" in value.reason
    assert action.text_note(evidence(probes=[bare])) == ""


def test_a_policy_that_ignores_its_text_is_named():
    deaf = evidence(probes=[probe(), probe(condition="paraphrase")])
    value = measured(deaf, "action_divergence")
    assert value.mean == 0
    assert value.note.startswith("text unused")
    hears_once = evidence(probes=[probe(), probe((1e-9, 0.0), condition="paraphrase")])
    assert measured(hears_once, "action_divergence").note == ""


def a_start(*, contrast=("original",), collision=("original",), moved=0.3, trained=None):
    """Probes without any divergence, and the rollouts of one start: an original that succeeds, and two variants."""
    return evidence(
        [
            episode("original", reached=["original"]),
            episode("contrast", tier="strict", slot="target", reached=contrast),
            episode("collision", slot="target", reached=collision, moved=moved),
        ],
        probes=[probe(), probe(condition="collision"), probe(condition="paraphrase")],
        trained=trained,
    )


def test_text_counts_as_unused_only_if_no_rollout_speaks_against_it():
    note = action.text_note(a_start())
    assert note.startswith("text unused")
    assert "(paraphrases, contrasts, collisions)" in note
    for proof in (a_start(contrast=["target"]), a_start(contrast=[]), a_start(collision=[]), a_start(moved=0.0)):
        note = action.text_note(proof)
        assert note.startswith("actions at the stored observations do not depend on the words")
        assert "policy with memory" in note
        assert measured(proof, "action_divergence").note == note


def test_a_deaf_policy_that_always_does_another_task_switches_by_accident():
    episodes = [
        episode("original", reached=["Toy-T1"]),
        episode("contrast", tier="strict", variant="v", reached=["target"]),
    ]
    proof = evidence(episodes, probes=[probe()], trained={"v": "Toy-T1"})
    assert action.text_note(proof).startswith("text unused")
    assert "memory" in action.text_note(dataclasses.replace(proof, trained={}))


def test_starts_are_not_mixed():
    """What differs between starts, stages and seeds is no use of words."""
    episodes = [
        episode(condition, reached=["original"] * (place == {}), tier="strict", **place)
        for condition in ("original", "contrast")
        for place in ({}, {"stage": 1}, {"seed": 1}, {"init_state": 1}, {"task": "Toy-T1"})
    ]
    assert action.text_note(evidence(episodes, probes=[probe()])).startswith("text unused")


def test_no_note_where_paraphrases_alone_agree_or_densities_differ():
    assert action.text_note(evidence(probes=[probe(condition="paraphrase")])) == ""
    assert action.text_note(evidence(probes=[probe(densities=(1.0, 0.5))])) == ""
    assert action.text_note(evidence(probes=[probe(densities=(1.0, 1.0))])).startswith("text unused")


def test_only_the_last_stage_counts():
    proof = evidence(probes=[probe((3.0, 4.0), stage=0), probe((1.0, 0.0), stage=2)], stages=(0, 2))
    assert measured(proof, "action_divergence", stage=2).mean == 1.0


NUMBERS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=15)


@given(NUMBERS)
def test_spearman_agrees_with_scipy_ties_included(pairs):
    first, second = [float(one) for one, _ in pairs], [float(two) for _, two in pairs]
    mine = spearman(first, second)
    if len(set(first)) == 1 or len(set(second)) == 1:
        assert mine is None
    else:
        assert mine == pytest.approx(spearmanr(first, second).statistic)


def test_too_few_pairs():
    assert spearman([1.0, 2.0], [1.0, 2.0]) is None


def test_the_interval_repeats_with_the_generator_and_changes_with_it():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=20), rng.normal(size=20)
    points = {(f"m{i % 4}", f"t{i // 4}"): pair for i, pair in enumerate(zip(first, second, strict=True))}
    one, two, three = (bootstrap(points, np.random.default_rng(seed)) for seed in (5, 5, 6))
    assert one == two
    assert one != three
    low, high = one
    assert -1 <= low <= spearman(first, second) <= high <= 1


def test_the_interval_draws_whole_methods():
    # One value per method: 5 independent points, not 40, however many tasks repeat them.
    x, y = [0.1, 0.9, 0.2, 0.8, 0.5], [0.2, 0.7, 0.6, 0.5, 0.4]
    points = {(f"m{i}", f"t{k}"): (x[i] + 1e-6 * k, y[i] - 1e-6 * k) for i in range(5) for k in range(8)}
    low, high = bootstrap(points, np.random.default_rng(0))
    assert high - low > 1  # 40 independent points would give less than 0.6


def test_pairs_that_are_missing_are_left_out_of_each_resample():
    rng = np.random.default_rng(2)
    points = {(f"m{i}", f"t{k}"): tuple(rng.normal(size=2)) for i in range(4) for k in range(5) if (i, k) != (1, 2)}
    low, high = bootstrap(points, np.random.default_rng(0))
    assert -1 <= low < high <= 1


def study(divergences, successes):
    """One method whose tasks have these divergences and goal-switch rates."""
    tasks = [f"Toy-T{index}" for index in range(len(divergences))]
    return evidence(
        [
            episode(
                "contrast", tier="strict", slot="object", task=task, init_state=state, reached=["target"] * (state < k)
            )
            for task, k in zip(tasks, successes, strict=True)
            for state in range(4)
        ],
        probes=[probe((size, 0.0), task=task) for task, size in zip(tasks, divergences, strict=True)],
        order=tasks,
    )


def correlated(methods, name, against, tier="strict"):
    found = correlation.METRIC.compute(methods, np.random.default_rng(0))
    wanted = Scope(condition="contrast", tier=tier, against=against)
    (value,) = [one.value for one in found if one.quantity == name and one.scope == wanted]
    return value


def test_correlation_over_method_and_task_pairs():
    first = study([0.1, 0.2, 0.3, 0.4], [0, 1, 2, 3])
    second = dataclasses.replace(study([0.5, 0.6, 0.7], [2, 3, 4]), method="second")
    value = correlated([first], "action_divergence_correlation", "goal_switch_accuracy")
    assert value.mean == pytest.approx(1)
    assert value.n == 4
    value = correlated([first, second], "action_divergence_correlation", "goal_switch_accuracy")
    assert value.n == 7
    expected = spearmanr([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], [0, 1, 2, 3, 2, 3, 4]).statistic
    assert value.mean == pytest.approx(expected)


def test_correlation_without_spread_or_points_has_a_reason():
    value = correlated([study([0.1, 0.2, 0.3], [2, 2, 2])], "action_divergence_correlation", "goal_switch_accuracy")
    assert value.reason == "one of the two is the same for all pairs"
    value = correlated([study([0.1, 0.2], [1, 2])], "action_divergence_correlation", "goal_switch_accuracy")
    assert "2 (method, task) pairs" in value.reason
    value = correlated([study([0.1, 0.2], [1, 2])], "language_margin_correlation", "goal_switch_accuracy")
    assert "0 (method, task) pairs" in value.reason


def test_equal_rates_are_ties_whatever_their_rounding():
    rates = [0.2, 1 - 0.8, 0.3 - 0.1, 0.9]  # three numbers that differ in their last digits
    assert len(set(rates)) == 4
    assert spearman(rates, [1.0, 2.0, 3.0, 4.0]) == spearman([0.2, 0.2, 0.2, 0.9], [1.0, 2.0, 3.0, 4.0])

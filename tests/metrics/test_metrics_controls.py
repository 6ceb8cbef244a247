"""Control conditions: hand-made records with known answers."""

from dataclasses import replace

import numpy as np
import pytest

from gym_grounding import conditions, metrics
from gym_grounding.metrics import Scope, controls, correlation
from gym_grounding.metrics.action import rollouts_differ, text_note
from gym_grounding.plan import Plan
from gym_grounding.records import ProbeRecord
from gym_grounding.testing.records import episode, evidence, invented

FOUR = ("original", "paraphrase", "contrast", "collision")


def measured(episodes, **options):
    """(quantity, scope) -> value of the family ``controls``."""
    found = metrics.get("controls").compute([evidence(episodes, **options)], np.random.default_rng(0))
    values = {(one.quantity, one.scope): one.value for one in found}
    assert len(values) == len(found)
    return values


def value(values, name, **scope):
    return values[name, Scope(**{"stage": 0, **scope})]


def test_every_control_condition_is_known_to_the_report():
    assert set(controls.ORDER) == set(conditions.controls())
    assert set(controls.PARTS) <= set(controls.ORDER)
    assert [len(parts) for parts in controls.PARTS.values()] == [conditions.get(n).per_task for n in controls.PARTS]


def test_nothing_is_said_of_controls_that_nobody_asked_for():
    assert measured([episode(reached=["original"])]) == {}
    assert measured([episode("collision", slot="object")]) == {}


def test_a_planned_control_without_episodes_has_reasons():
    values = measured([], planned=(*FOUR, "swap", "null", "reverse", "noise"))
    assert {scope.condition for _, scope in values} == {"swap", "null", "reverse", "noise"}
    assert all(one.mean is None and one.reason for one in values.values())
    assert value(values, "control_success", condition="null").reason == "no goal scores it"
    assert value(values, "control_success", condition="swap").reason == "no swap episode at stage 0"


def test_null_and_negated_are_described_by_goals_and_motion():
    episodes = [
        episode("null", variant="Toy-T0-Null", init_state=0, reached=["original"]),
        episode("null", variant="Toy-T0-Null", init_state=1, reached=["Toy-T2"]),
        episode("null", variant="Toy-T0-Null", init_state=2, moved=0.03),
        episode("null", variant="Toy-T0-Null", init_state=3, moved=0.0, void=["original"]),
        episode("negated", variant="Toy-T0-Negated", reached=["original"]),
    ]
    assert all(one.success is None for one in episodes)
    values = measured(episodes)
    where = {"condition": "null"}
    assert value(values, "control_success", **where).mean is None
    original = value(values, "control_original", **where)
    assert (original.mean, original.n, original.void) == (pytest.approx(1 / 3), 3, 1)
    assert value(values, "control_canonical", **where).mean == pytest.approx(2 / 3)
    shares = {at: value(values, "control_initiation", threshold=at, **where).mean for at in (0.01, 0.02, 0.05, 0.10)}
    assert shares == {0.01: 0.75, 0.02: 0.75, 0.05: 0.5, 0.10: 0.5}
    assert value(values, "control_original", condition="negated").mean == 1.0
    one = value(values, "control_original", condition="null", task="Toy-T0", variant="Toy-T0-Null")
    assert one == original


def test_tasks_count_alike_whatever_the_number_of_their_swaps():
    episodes = [
        episode("swap", task="Toy-T0", variant="Toy-T0-Swap1", reached=["target"]),
        episode("swap", task="Toy-T0", variant="Toy-T0-Swap2", reached=["target"]),
        episode("swap", task="Toy-T0", variant="Toy-T0-Swap3", reached=["target", "original"]),
        episode("swap", task="Toy-T1", variant="Toy-T1-Swap1", reached=["original"]),
    ]
    values = measured(episodes)
    assert value(values, "control_success", condition="swap").mean == 0.5
    assert value(values, "control_original", condition="swap").mean == pytest.approx((1 / 3 + 1) / 2)


def test_an_instructed_goal_is_canonical_where_a_task_of_the_scene_has_it():
    one = episode("swap", variant="Toy-T0-Swap1", reached=["target"])
    where = {"condition": "swap"}
    assert value(measured([one]), "control_canonical", **where).mean == 0.0
    trained = {"Toy-T0-Swap1": "Toy-T1"}
    assert value(measured([one], trained=trained), "control_canonical", **where).mean == 1.0


def test_swaps_stand_beside_the_same_texts_in_their_own_tasks():
    owners = {"Toy-T0-Swap1": "Toy-T1", "Toy-T0-Swap2": "Toy-T2", "Toy-T0-Swap3": "Toy-T9"}
    originals = [
        *(episode(task="Toy-T1", init_state=k, reached=["original"] if k < 3 else []) for k in range(4)),  # 0.75
        *(episode(task="Toy-T2", init_state=k, reached=["original"] if k < 1 else []) for k in range(4)),  # 0.25
    ]
    swaps = [
        *(episode("swap", variant="Toy-T0-Swap1", init_state=k, reached=["target"] * (k < 2)) for k in range(4)),
        *(episode("swap", variant="Toy-T0-Swap2", init_state=k, void=["target"] * (k == 3)) for k in range(4)),
        episode("swap", variant="Toy-T0-Swap3", reached=["target"]),
    ]
    values = measured([*originals, *swaps], instruction_of=owners)
    own, ratio = (value(values, name, condition="swap") for name in ("swap_own_success", "swap_normalised"))
    assert own.mean == pytest.approx((0.75 + 0.25) / 2)
    assert (own.n, own.variants) == (7, 2), "one episode is void, one swap's own task was not evaluated"
    assert ratio.mean == pytest.approx(((0.5 + 0.0) / 2) / 0.5)
    assert value(values, "control_success", condition="swap").mean == pytest.approx((0.5 + 0.0 + 1.0) / 3)


@pytest.mark.parametrize(
    ("episodes", "owners", "reason"),
    [
        ([episode("swap", variant="Toy-T0-Swap1")], {}, "which task's text a swap carries is not known"),
        ([episode("swap", variant="Toy-T0-Swap1")], {"Toy-T0-Swap1": "Toy-T1"}, "whose text's own task was evaluated"),
        (
            [episode("swap", variant="Toy-T0-Swap1", reached=["target"]), episode(task="Toy-T1")],
            {"Toy-T0-Swap1": "Toy-T1"},
            "never reached under their own instruction",
        ),
    ],
)
def test_a_ratio_that_cannot_be_had_says_why(episodes, owners, reason):
    ratio = value(measured(episodes, instruction_of=owners), "swap_normalised", condition="swap")
    assert ratio.mean is None
    assert reason in ratio.reason


def test_levels_of_noise_are_given_apart():
    episodes = [
        episode("noise", variant="Toy-T0-Noise1", reached=["original"]),
        episode("noise", variant="Toy-T0-Noise2", reached=[]),
    ]
    values = measured(episodes)
    rates = {kind: value(values, "control_success", condition="noise", kind=kind).mean for kind in (None, *ERRORS)}
    assert rates == {None: 0.5, "one_error": 1.0, "two_errors": 0.0}


ERRORS = ("one_error", "two_errors")


def test_pairs_of_reversed_states():
    def pair(number, **options):
        variant = f"Toy-T2-Reverse{number}"
        return episode("reverse", variant=variant, described=number == 2, void=["original"], **options)

    episodes = [
        pair(1, reached=["target"]),
        pair(1, init_state=1),
        pair(2, at_end=["original"]),
        *(pair(2, init_state=k, reached=["target"]) for k in (1, 2, 3)),
    ]
    assert [one.success for one in episodes] == [True, False, None, None, None, None]
    values = measured(episodes)
    where = {"condition": "reverse"}
    change, met = controls.PARTS["reverse"].values()
    assert value(values, "control_success", **where).mean == 0.5
    assert value(values, "control_success", **where).n == 2
    assert value(values, "control_success", kind=change, **where).mean == 0.5
    assert value(values, "control_success", kind=met, **where).reason == "no goal scores it"
    assert value(values, "control_opposite", **where).mean == 0.75
    assert value(values, "control_opposite", kind=met, **where).n == 4
    assert value(values, "control_opposite", kind=change, **where).reason == "it asks for a change"
    original = value(values, "control_original", **where)
    assert (original.mean, original.reason) == (None, "all 6 episodes are void")


def test_success_of_controls_is_tabulated_beside_the_cells():
    episodes = [
        episode("shuffled", variant="Toy-T0-Shuffled", reached=["original"]),
        episode("swap", variant="Toy-T0-Swap1", reached=["target"]),
        episode("negated", variant="Toy-T0-Negated", reached=["original"]),
    ]
    found = metrics.get("success").compute([evidence(episodes)], np.random.default_rng(0))
    rates = {one.scope.condition: one.value.mean for one in found if one.value.mean is not None}
    assert rates == {"shuffled": 1.0, "swap": 1.0}


def test_controls_change_no_number_of_the_cells():
    """Each family of the cells gives what it gives without them."""
    cells = [
        episode(reached=["original"]),
        episode("paraphrase", kind="passive"),
        episode("contrast", slot="target", tier="strict", reached=["target"]),
        episode("collision", slot="object", reached=["original"]),
    ]
    more = [
        episode(name, variant=f"Toy-T0-{conditions.get(name).label}1", reached=["original", "target", "Toy-T2"])
        for name in conditions.controls()
    ]
    for name in metrics.names():
        if name == "controls":
            continue
        alone, together = (
            metrics.get(name).compute([evidence(rows)], np.random.default_rng(0)) for rows in (cells, [*cells, *more])
        )
        kept = [one for one in together if one.scope.condition not in conditions.controls()]
        assert kept == list(alone), name


def test_preset_starts_say_nothing_on_words():
    """From another start another outcome needs no other words."""
    deaf = [episode(reached=["original"]), episode("null", variant="Toy-T0-Null", reached=["original"])]
    preset = episode("reverse", variant="Toy-T0-Reverse1", moved=0.0)
    assert not rollouts_differ(evidence([*deaf, preset]))
    assert rollouts_differ(evidence([*deaf, episode("negated", variant="Toy-T0-Negated", moved=0.0)]))


def probe(condition, shift=0.0):
    return ProbeRecord(0, f"Toy-T0-{condition}", 0, "Toy-T0", condition, None, None, "x", (0.0,), (shift,))


def test_probes_of_controls_are_reported_and_speak_of_unused_text():
    proof = evidence(probes=[probe("null", 0.5), probe("swap")])
    found = metrics.get("action").compute([proof], np.random.default_rng(0))
    means = {one.scope.condition: one.value.mean for one in found if one.value.mean is not None}
    assert means == {"null": 0.5, "swap": 0.0}
    assert text_note(proof) == ""
    assert "(swaps)" in text_note(evidence(probes=[probe("swap")]))
    assert text_note(evidence(probes=[probe("noise"), probe("shuffled")])) == "", "nothing should differ there"
    assert not any(one.scope.condition == "reverse" for one in found)


@pytest.mark.parametrize("behaviour", ["deaf", "listening"])
def test_calibration(toy, behaviour):
    plan = Plan.make("Toy", registry=toy.path, init_states=range(5), seeds=(0, 1), conditions=conditions.names())
    rows = {name: row.details.get("instruction_of") for name, row in toy.variants.items()}
    proof = evidence(
        [invented(toy, cell, behaviour) for cell in plan.cells(toy)],
        order=plan.order,
        stages=plan.stages,
        planned=plan.conditions,
        instruction_of={name: task for name, task in rows.items() if task},
    )
    values = {
        (one.quantity, one.scope.condition): one.value.mean
        for one in metrics.get("controls").compute([proof], np.random.default_rng(0))
        if one.scope.kind is None and one.scope.variant is None and one.scope.threshold in (None, 0.05)
    }
    if behaviour == "deaf":
        assert values["control_success", "swap"] == values["control_success", "reverse"] == 0
        assert values["control_original", "swap"] > 0.4
        assert values["control_original", "null"] == pytest.approx(values["control_original", "negated"])
        assert values["swap_normalised", "swap"] == 0
    else:
        assert values["control_original", "null"] == values["control_initiation", "negated"] == 0
        assert values["control_original", "swap"] == 0
        assert values["control_success", "swap"] > 0.4
        assert values["control_success", "reverse"] > 0.4
    assert values["control_opposite", "reverse"] == 0
    assert values["control_success", "shuffled"] == values["control_original", "shuffled"] > 0.4


STANDINGS = {"Toy-T0-Swap1": "stable", "Toy-T0-Swap2": "not_shown", "Toy-T0-Reverse1": "not_measured"}


def test_swaps_and_reverse_texts_that_are_not_shown_reachable_stand_apart():
    episodes = [
        episode("swap", variant="Toy-T0-Swap1", reached=["target"]),
        episode("swap", variant="Toy-T0-Swap2", reached=["original"]),
        episode("reverse", variant="Toy-T0-Reverse1", reached=["target"]),
        episode("null", variant="Toy-T0-Null", reached=["original"]),
        episode(task="Toy-T1", reached=["original"]),
    ]
    owners = {"Toy-T0-Swap1": "Toy-T1", "Toy-T0-Swap2": "Toy-T1"}
    plan = ("original", "swap", "reverse", "null")
    proof = evidence(episodes, reach=STANDINGS, instruction_of=owners, planned=plan)
    found = metrics.get("controls").compute([proof], np.random.default_rng(0))
    values = {(one.quantity, one.scope): one.value for one in found}

    def of(quantity, condition, **scope):
        return values[quantity, Scope(condition=condition, stage=0, **scope)]

    assert (of("control_success", "swap").mean, of("control_success", "swap").n) == (1, 1)
    assert of("control_original", "swap").mean == 0
    assert of("control_original", "swap", reach="not_shown").mean == 1
    assert of("control_success", "swap", reach="stable").n == 1
    assert of("swap_normalised", "swap").n == 1
    assert of("control_success", "reverse").reason == "no reverse episode at stage 0 whose goal is shown reachable"
    assert of("control_success", "reverse", reach="not_measured").mean == 1
    assert of("control_original", "null").n == 1
    assert not [scope for _, scope in values if scope.condition == "null" and scope.reach]


def test_success_leaves_out_what_is_not_shown_reachable():
    episodes = [
        episode("contrast", tier="strict", slot="target", variant="a", reached=["target"]),
        episode("contrast", tier="strict", slot="target", variant="b"),
        episode(reached=["original"]),
    ]
    proof = evidence(episodes, reach={"a": "stable", "b": "not_shown"})
    found = metrics.get("success").compute([proof], np.random.default_rng(0))
    values = {one.scope: one.value for one in found if one.quantity == "success"}
    whole = Scope(condition="contrast", tier="strict", stage=0)
    assert (values[whole].mean, values[whole].n) == (1, 1)
    assert values[replace(whole, task="Toy-T0")].n == 1
    assert values[replace(whole, reach="not_shown")].mean == 0
    assert values[replace(whole, task="Toy-T0", slot="target", variant="b")].n == 1
    assert values[Scope(condition="original", stage=0)].n == 1


def test_correlations_speak_of_the_same_contrasts_on_both_sides():
    episodes = [
        episode("contrast", tier="strict", slot="target", variant="a", reached=["target"]),
        episode("contrast", tier="strict", slot="target", variant="b"),
    ]
    probes = [
        ProbeRecord(0, name, 0, "Toy-T0", "contrast", "target", "strict", "x", (0.0,), (shift,))
        for name, shift in (("a", 1.0), ("b", 3.0))
    ]
    proof = evidence(episodes, probes=probes, reach={"a": "stable", "b": "not_shown"})
    assert correlation.outcome_points(proof, "contrast", "strict")["goal_switch_accuracy"] == {"Toy-T0": 1}
    assert correlation.action_points(proof, "contrast", "strict", "action_divergence") == {"Toy-T0": 1}
    bare = evidence(episodes, probes=probes)
    assert correlation.outcome_points(bare, "contrast", "strict")["goal_switch_accuracy"] == {"Toy-T0": 0.5}
    assert correlation.action_points(bare, "contrast", "strict", "action_divergence") == {"Toy-T0": 2}

"""All families: their contract, invariances, and the calibration by a deaf and a listening policy."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gym_grounding import conditions, metrics
from gym_grounding.errors import UnknownName
from gym_grounding.metrics import Scope
from gym_grounding.metrics.collision import INITIATION
from gym_grounding.metrics.goal_switch import INDICATORS
from gym_grounding.plan import Plan
from gym_grounding.testing.records import BEHAVIOURS, episode, evidence, invented, invented_probe

FAMILIES = metrics.names()
UNITS = {"rate": (0, 1), "difference": (-1, 1), "correlation": (-1, 1)}


def measure(*proofs, seed=0):
    return metrics.measure(proofs, np.random.default_rng(seed))


def find(found, quantity, **scope):
    (value,) = [one.value for one in found if one.quantity == quantity and one.scope == Scope(**scope)]
    return value


def test_the_families_are_found_by_folder_listing():
    assert {
        "success",
        "continual",
        "paraphrase",
        "goal_switch",
        "collision",
        "action",
        "controls",
        "correlation",
    } <= set(FAMILIES)
    with pytest.raises(UnknownName, match="Did you mean 'collision'"):
        metrics.get("colision")
    assert metrics.get("gym_grounding.metrics.success:METRIC") is metrics.get("success")


@pytest.mark.parametrize("name", FAMILIES)
def test_contract(name):
    family = metrics.get(name)
    assert family.name == name
    assert family.title
    assert family.definition
    names = {quantity.name for quantity in family.quantities}
    for quantity in family.quantities:
        assert "Source:" in quantity.definition, f"{quantity.name} does not say where it comes from"
        assert quantity.better in ("higher", "lower", "neither")
    found = family.compute([evidence()], np.random.default_rng(0))
    assert {one.quantity for one in found} <= names
    for one in found:
        assert one.value.mean is None
        assert one.value.reason, f"{one.quantity} is None without a reason"


def test_quantities_have_one_home():
    names = [quantity.name for family in FAMILIES for quantity in metrics.get(family).quantities]
    assert len(names) == len(set(names))


@pytest.fixture(scope="module", params=BEHAVIOURS)
def played(request, toy):
    """(behaviour, evidence) of an invented policy on every cell of the toy suite."""
    plan = Plan.make("Toy", registry=toy.path, init_states=range(5), seeds=(0, 1), stages="all")
    cells = plan.cells(toy)
    probes = (
        invented_probe(toy.variant(cell.variant), cell, request.param, f"start/{cell.init_state}")
        for cell in cells
        if toy.variant(cell.variant).condition != "original"
    )
    episodes = [invented(toy, cell, request.param) for cell in cells]
    return request.param, evidence(episodes, order=plan.order, stages=plan.stages, probes=probes, method=request.param)


def test_calibration(played):
    behaviour, proof = played
    deaf = behaviour == "deaf"
    found = measure(proof)
    last = proof.final_stage
    success = find(found, "final_success", condition="original", stage=last).mean
    assert 0.3 < success < 1
    assert find(found, "paraphrase_gap", condition="paraphrase", stage=last).mean == 0
    assert find(found, "paraphrase_gap_auc", condition="paraphrase").mean == 0
    for tier in ("strict", "permissive"):
        values = {
            name: find(found, name, condition="contrast", tier=tier, stage=last, judged="own").mean
            for name in INDICATORS
        }
        assert (values["goal_switch_accuracy"] == 0) is deaf
        assert (values["target_success"] == 0) is deaf
        assert (values["original_persistence"] == 0) is not deaf
    where = {"condition": "collision", "stage": last}
    persistence = find(found, "original_goal_persistence", judged="ever", **where)
    assert find(found, "canonical_goal_activation", judged="ever", **where).mean == persistence.mean
    assert find(found, "action_initiation", threshold=INITIATION, **where).mean == (1 if deaf else 0)
    if not deaf:
        assert persistence.mean == 0
    divergence = find(found, "action_divergence", condition="contrast", tier="strict", stage=last)
    assert (divergence.mean == 0) is deaf
    assert divergence.note.startswith("text unused") is deaf


def test_a_deaf_policy_persists_exactly_as_often_as_it_succeeds(toy):
    plan = Plan.make("Toy", registry=toy.path, init_states=range(5))
    proof = evidence([invented(toy, cell, "deaf") for cell in plan.cells(toy)], order=plan.order, stages=plan.stages)
    found, last = measure(proof), proof.final_stage
    where = {"stage": last, "condition": "collision", "judged": "ever"}
    tasks = {one.task for one in proof.select("collision", last)}
    success = [find(found, "success", condition="original", stage=last, task=task).mean for task in sorted(tasks)]
    assert find(found, "original_goal_persistence", **where).mean == pytest.approx(np.mean(success))


EPISODES = st.lists(
    st.builds(
        episode,
        st.sampled_from(conditions.names()),
        task=st.sampled_from(["Toy-T0", "Toy-T1"]),
        slot=st.sampled_from(["object", "target"]),
        tier=st.sampled_from(["strict", "permissive"]),
        stage=st.integers(0, 1),
        init_state=st.integers(0, 2),
        seed=st.integers(0, 1),
        reached=st.lists(st.sampled_from(["original", "target", "Toy-T2"]), unique=True),
        void=st.lists(st.sampled_from(["original", "target", "Toy-T2"]), max_size=1),
        moved=st.sampled_from([0.0, 0.03, 0.2]),
    ),
    max_size=30,
)


@settings(max_examples=30, deadline=None)
@given(EPISODES, st.randoms())
def test_invariances(episodes, random):
    proof = evidence(episodes, order=("Toy-T0", "Toy-T1"), stages=(0, 1))
    found = measure(proof)
    shuffled = list(episodes)
    random.shuffle(shuffled)
    assert measure(dataclasses.replace(proof, episodes=tuple(shuffled))) == found
    doubled = measure(dataclasses.replace(proof, episodes=tuple(episodes * 2)))
    assert [one.value.mean for one in doubled] == [one.value.mean for one in found]
    units = {one.name: one.unit for family in FAMILIES for one in metrics.get(family).quantities}
    for one in found:
        if one.value.mean is None:
            assert one.value.reason
            continue
        low, high = UNITS.get(units[one.quantity], (-np.inf, np.inf))
        assert low <= one.value.mean <= high
        assert one.value.n > 0
        if units[one.quantity] == "rate" and one.value.interval:
            assert low <= one.value.interval[0] <= one.value.mean <= one.value.interval[1] <= high


def test_methods_do_not_mix():
    good = evidence([episode(reached=["original"])], method="good")
    bad = evidence([episode()], method="bad")
    found = measure(good, bad)
    means = {one.method: one.value.mean for one in found if one.quantity == "final_success" and one.value.n}
    assert means == {"good": 1.0, "bad": 0.0}

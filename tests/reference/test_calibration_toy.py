"""Expected values of every metric for the reference policies, on many episodes of the toy world."""

import itertools

import numpy as np
import pytest
from calibration import scored
from scipy.stats import binom

from gym_grounding import Plan, adapters, conditions
from gym_grounding.metrics.action import divergence
from gym_grounding.metrics.collision import INITIATION
from gym_grounding.probe import collect
from gym_grounding.testing import TOY_REGISTRY
from gym_grounding.types import SceneSettings

SETTINGS = SceneSettings("state", settle_steps=2)
LAST = 5
"""The last stage."""
TIERS = ("strict", "permissive")
ENOUGH, SHORT = 40, 13
"""Steps in which every goal can be reached, and in which some can."""
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


def a_plan(horizon=ENOUGH, **changes):
    given = {"conditions": conditions.names(), "init_states": range(5), "batch": 8, **changes}
    return Plan.make("Toy", registry=TOY_REGISTRY, settings=SETTINGS, horizon=horizon, **given)


@pytest.fixture(scope="module")
def observations(tmp_path_factory):
    """Moments along the oracle's way through the originals, with its actions."""
    out = tmp_path_factory.mktemp("moments") / "moments.npz"
    return collect(a_plan(), out, policy="oracle", every=4, expert=True)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory, observations):
    """Numbers of a policy, at ``ENOUGH`` or ``SHORT`` horizon."""
    folder, known = tmp_path_factory.mktemp("runs"), {}

    def numbers(policy, horizon=ENOUGH):
        key = f"{policy}-{horizon}"
        if key not in known:
            plan = a_plan(horizon, stages="all" if policy == "deaf" else "last")
            known[key] = scored(policy, plan, folder / key, observations=observations)
        return known[key]

    return numbers


def by_task(found, quantity, **scope):
    """task -> set of the means of its variants (of the task itself where no variant is named)."""
    means = {}
    for one in found.scopes(quantity, stage=LAST, **scope):
        if one.task is not None:
            means.setdefault(one.task, set()).add(found.at(quantity, one))
    return means


def success_by_task(found):
    return {task: next(iter(means)) for task, means in by_task(found, "success", condition="original").items()}


@pytest.mark.parametrize("horizon", [ENOUGH, SHORT])
def test_deaf_does_the_same_whatever_the_words(numbers, horizon):
    deaf = numbers("deaf", horizon)
    success = success_by_task(deaf)
    assert (min(success.values()), max(success.values())) == ((1, 1) if horizon == ENOUGH else (0, 1))
    assert deaf("paraphrase_gap", condition="paraphrase", stage=LAST) == 0
    assert deaf("paraphrase_gap_auc", condition="paraphrase") == 0
    assert {deaf.at("paraphrase_gap", one) for one in deaf.scopes("paraphrase_gap")} == {0}
    for tier in TIERS:
        # A permissive goal may lie on the original's way, and an episode may end just there.
        for name in ("goal_switch_accuracy", "target_success", "both_goals") * (tier == "strict" or horizon == ENOUGH):
            assert deaf(name, condition="contrast", tier=tier, stage=LAST, judged="own") == 0
        kept = by_task(deaf, "original_persistence", condition="contrast", tier=tier, judged="own")
        assert kept
        assert all(means == {success[task]} for task, means in kept.items())
    ogp = by_task(deaf, "original_goal_persistence", condition="collision", judged="ever")
    assert ogp.keys() == success.keys()
    assert all(means == {success[task]} for task, means in ogp.items())
    cgar = by_task(deaf, "canonical_goal_activation", condition="collision", judged="ever")
    assert all(min(cgar[task]) >= max(means) for task, means in ogp.items())
    assert deaf("action_initiation", condition="collision", stage=LAST, threshold=INITIATION) == 1


@pytest.mark.parametrize("horizon", [ENOUGH, SHORT])
def test_deaf_shows_in_every_control(numbers, horizon):
    deaf = numbers("deaf", horizon)
    success = success_by_task(deaf)
    assert deaf("control_success", condition="swap", stage=LAST) == 0
    assert deaf("swap_normalised", condition="swap", stage=LAST) == 0
    for name in ("shuffled", "noise"):
        for task, means in by_task(deaf, "control_success", condition=name).items():
            assert means == {success[task]}
    for name in ("swap", "null", "negated", "shuffled", "noise"):
        for task, means in by_task(deaf, "control_original", condition=name).items():
            assert means == {success[task]}
    asked = deaf("control_success", condition="reverse", stage=LAST, kind="asks_for_change")
    assert asked == deaf("control_opposite", condition="reverse", stage=LAST, kind="is_so_already")


@pytest.mark.parametrize("name", ["deaf", "still", "random"])
def test_words_never_change_the_action_of_those_that_do_not_hear(numbers, name):
    found = numbers(name)
    scopes = [one for one in found.scopes("action_divergence") if found.at("action_divergence", one) is not None]
    assert {one.condition for one in scopes} >= {"paraphrase", "contrast", "collision", "null", "swap"}
    assert {found.at("action_divergence", one) for one in scopes} == {0}
    assert "text unused" in found.value("action_divergence", condition="contrast", tier="strict", stage=LAST).note


def test_oracle_switches_whenever_it_is_asked(numbers):
    oracle = numbers("oracle")
    assert set(success_by_task(oracle).values()) == {1}
    assert oracle("paraphrase_gap", condition="paraphrase", stage=LAST) == 0
    for tier in TIERS:
        own = {"condition": "contrast", "tier": tier, "stage": LAST, "judged": "own"}
        assert oracle("goal_switch_accuracy", **own) == oracle("target_success", **own) == 1
        assert oracle("original_persistence", **own) == oracle("neither_goal", **own) == 0
    trained = {"condition": "contrast", "tier": "strict", "stage": LAST, "judged": "own", "trained": True}
    assert oracle("normalised_goal_switch", **trained) == 1
    collision = {"condition": "collision", "stage": LAST}
    assert oracle("original_goal_persistence", **collision, judged="ever") == 0
    assert oracle("canonical_goal_activation", **collision, judged="ever") == 0
    assert oracle("outcome_none", **collision, judged="ever") == 1
    assert oracle("action_initiation", **collision, threshold=INITIATION) == 0


def test_oracle_passes_every_control(numbers):
    oracle = numbers("oracle")
    for name in ("swap", "shuffled", "noise"):
        assert oracle("control_success", condition=name, stage=LAST) == 1
    assert oracle("swap_normalised", condition="swap", stage=LAST) == 1
    for name in ("null", "negated"):
        assert oracle("control_original", condition=name, stage=LAST) == 0
        assert oracle("control_initiation", condition=name, stage=LAST, threshold=INITIATION) == 0
    assert oracle("control_success", condition="reverse", stage=LAST, kind="asks_for_change") == 1
    assert oracle("control_opposite", condition="reverse", stage=LAST, kind="is_so_already") == 0


def certified(toy, variant, init_state, horizon):
    """Whether an expert that is given the goal, with no words anywhere, reaches it in time."""
    task, adapter = toy.task(variant.task), adapters.get("toy")
    facts, tasks = toy.scene_of(task.id), {row.id: row for row in toy.scene_tasks(task.scene)}
    scene, expert = adapter.open(facts, tasks, SETTINGS), adapter.expert(facts, tasks, variant.goal)
    observation, memory, ever = scene.reset(task, init_state), expert.start(), False
    for _ in range(horizon):
        action, memory = expert.act(observation, memory)
        observation = scene.step(action)
        ever |= scene.holds(variant.goal)
    return scene.holds(variant.goal) if variant.judged == "end" else ever


@pytest.mark.parametrize("horizon", [ENOUGH, SHORT])
def test_oracles_goal_switch_is_its_certified_rate(toy, numbers, horizon):
    oracle, rates = numbers("oracle", horizon), []
    for variant in toy.select(conditions=["contrast"]):
        rates.append(np.mean([certified(toy, variant, state, horizon) for state in range(5)]))
        scope = {"condition": "contrast", "tier": variant.tier, "stage": LAST, "judged": "own"}
        mine = {"task": variant.task, "slot": variant.slot, "variant": variant.id}
        assert oracle("goal_switch_accuracy", **scope, **mine) == rates[-1], variant.id
        assert oracle("original_persistence", **scope, **mine) == 0, variant.id
    assert (min(rates), max(rates)) == ((1, 1) if horizon == ENOUGH else (0, 1))


def test_oracles_action_changes_with_the_meaning_and_with_nothing_else(numbers):
    oracle = numbers("oracle")
    for condition, tier in (("contrast", "strict"), ("contrast", "permissive"), ("collision", None), ("swap", None)):
        assert oracle("action_divergence", condition=condition, tier=tier, stage=LAST) > 0.3
    for condition in ("paraphrase", "shuffled", "noise"):
        assert oracle("action_divergence", condition=condition, stage=LAST) == 0
    assert oracle.value("language_margin", condition="contrast", tier="strict", stage=LAST).reason


@pytest.mark.parametrize("name", ["still", "random"])
def test_the_floor_reaches_nothing(numbers, name):
    floor = numbers(name)
    episodes = floor.evidence.episodes
    accidents = sum(bool(one.first_held) for one in episodes)
    assert accidents <= (0 if name == "still" else 0.01 * len(episodes))
    for quantity in ("success", "control_success", "goal_switch_accuracy", "original_persistence"):
        assert {floor.at(quantity, one) for one in floor.scopes(quantity)} - {None} == {0}
    moves = {floor.at("action_initiation", one) for one in floor.scopes("action_initiation", threshold=INITIATION)}
    assert moves - {None} == ({0} if name == "still" else {1})
    margins = {floor.at("language_margin", one) for one in floor.scopes("language_margin")} - {None}
    assert margins == (set() if name == "still" else {0})


@pytest.fixture(scope="module")
def noisy(tmp_path_factory):
    """p -> numbers of the noisy oracle on 210 contrast and collision episodes."""
    plan = a_plan(
        20, tasks=[0, 1], conditions=["contrast", "collision"], tiers=["strict"], seeds=range(6), stages="last"
    )
    folder = tmp_path_factory.mktemp("noisy")
    return {p: scored("noisy-oracle", plan, folder / str(p), {"p": p}) for p in SHARES}


def test_noisy_oracle_is_linear_in_p(noisy):
    for p, found in noisy.items():
        switched = found.value("goal_switch_accuracy", condition="contrast", tier="strict", stage=LAST, judged="own")
        kept = found.value("original_persistence", condition="contrast", tier="strict", stage=LAST, judged="own")
        active = found.value("original_goal_persistence", condition="collision", stage=LAST, judged="ever")
        assert (switched.n, active.n) == (120, 90)
        for value, share in ((switched, p), (kept, 1 - p), (active, 1 - p)):
            episodes = found.evidence.select("collision" if value is active else "contrast")
            count = sum(one.reached("target" if value is switched else "original") for one in episodes)
            low, high = binom(value.n, share).interval(0.99)
            assert low <= count <= high, (p, count)
            if p in (0, 1):
                assert value.mean == share
        assert switched.mean + kept.mean == pytest.approx(1)


def test_episodes_that_listen_at_some_p_listen_at_every_larger_one(noisy):
    heard = [
        {one.cell for one in found.evidence.select("contrast") if one.reached("target")} for found in noisy.values()
    ]
    assert all(less < more for less, more in itertools.pairwise(heard))
    by_variant = [{cell.variant for cell in cells} for cells in heard[1:]]
    assert all(len(variants) == 4 for variants in by_variant)


def test_noisy_oracles_divergence_is_the_oracles_or_none(tmp_path, numbers, observations):
    found = scored("noisy-oracle", a_plan(), tmp_path / "noisy", {"p": 0.5}, observations)
    oracle = {(one.variant, one.observation): divergence(one) for one in numbers("oracle").evidence.probes}
    mine = {(one.variant, one.observation): divergence(one) for one in found.evidence.probes}
    assert mine.keys() == oracle.keys()
    differing = [key for key, value in oracle.items() if value > 0]
    listening = [key for key in differing if mine[key] > 0]
    assert all(mine[key] in (0, oracle[key]) for key in oracle)
    low, high = binom(len(differing), 0.5).interval(0.99)
    assert low <= len(listening) <= high

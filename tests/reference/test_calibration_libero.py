"""Expected values of every metric for the reference policies, on short rollouts in LIBERO."""

import numpy as np
import pytest
from calibration import scored

from gym_grounding import Plan, adapters, manifest
from gym_grounding.experts import trial
from gym_grounding.metrics.action import divergence
from gym_grounding.metrics.collision import INITIATION
from gym_grounding.probe import collect
from gym_grounding.types import SceneSettings

pytestmark = [pytest.mark.sim, pytest.mark.slow, pytest.mark.xdist_group("calibration")]

TASK, INIT_STATE, LAST = "LiberoGoal-T8", 3, 9
SETTINGS = SceneSettings("state")
OWN = {"condition": "contrast", "stage": LAST, "judged": "own"}
COLLISION = {"condition": "collision", "stage": LAST}


def a_plan(horizon=100, **changes):
    given = {"tasks": [8], "init_states": [INIT_STATE], "horizon": horizon, "settings": SETTINGS, **changes}
    return Plan.make("LiberoGoal", **given)


@pytest.fixture(scope="module")
def observations(tmp_path_factory):
    """Moments along the oracle's way through the original."""
    out = tmp_path_factory.mktemp("moments") / "moments.npz"
    return collect(a_plan(), out, policy="oracle", every=20)


@pytest.fixture(scope="module")
def deaf(tmp_path_factory, observations):
    return scored("deaf", a_plan(), tmp_path_factory.mktemp("deaf") / "run", observations=observations)


@pytest.fixture(scope="module")
def oracle(tmp_path_factory, observations):
    return scored("oracle", a_plan(), tmp_path_factory.mktemp("oracle") / "run", observations=observations)


@pytest.fixture(scope="module")
def certified():
    """Contrast -> first step at which the goal held when the oracle was given it without words; -1 never."""
    book, adapter = manifest.load(), adapters.get("libero")
    facts, tasks = book.scene_of(TASK), {row.id: row for row in book.scene_tasks(book.task(TASK).scene)}
    scene = adapter.open(facts, tasks, SETTINGS)
    anatomy = adapter.anatomy(facts, tasks)
    found = {
        row.id: trial.run(scene, book.task(TASK), INIT_STATE, row.goal, anatomy=anatomy, horizon=100)
        for row in book.select(tasks=[TASK], conditions=["contrast"])
    }
    scene.close()
    return {name: one.first for name, one in found.items()}


def test_deaf_does_its_task_whatever_the_words(deaf):
    assert deaf("success", condition="original", stage=LAST) == 1
    assert deaf("paraphrase_gap", condition="paraphrase", stage=LAST) == 0
    for tier in ("strict", "permissive"):
        assert deaf("goal_switch_accuracy", **OWN, tier=tier) == 0
        assert deaf("original_persistence", **OWN, tier=tier) == 1
    assert deaf("original_goal_persistence", **COLLISION, judged="ever") == 1
    assert deaf("action_initiation", **COLLISION, threshold=INITIATION) == 1
    steps = {record.first_held["original"] for record in deaf.evidence.episodes}
    assert len(steps) == 1, "every episode is the same one"
    scopes = [one for one in deaf.scopes("action_divergence") if deaf.at("action_divergence", one) is not None]
    assert {deaf.at("action_divergence", one) for one in scopes} == {0}
    assert {one.condition for one in scopes} == {"paraphrase", "contrast", "collision"}


def test_oracle_switches_as_often_as_its_goals_are_certified(oracle, certified):
    assert oracle("success", condition="original", stage=LAST) == 1
    assert oracle("paraphrase_gap", condition="paraphrase", stage=LAST) == 0
    records = {record.variant: record for record in oracle.evidence.select("contrast")}
    assert {name: record.first_held.get("target", -1) for name, record in records.items()} == certified
    for tier in ("strict", "permissive"):
        rate = np.mean([certified[name] > 0 for name, record in records.items() if record.tier == tier])
        assert oracle("goal_switch_accuracy", **OWN, tier=tier) == rate == 1
        assert oracle("original_persistence", **OWN, tier=tier) == 0
    assert all(record.held_at_end == ("target",) for record in records.values())


def test_oracle_does_nothing_where_nothing_can_be_done(oracle):
    assert oracle("original_goal_persistence", **COLLISION, judged="ever") == 0
    assert oracle("canonical_goal_activation", **COLLISION, judged="ever") == 0
    assert oracle("action_initiation", **COLLISION, threshold=INITIATION) == 0
    assert oracle("outcome_none", **COLLISION, judged="ever") == 1


def test_oracles_action_changes_with_the_meaning_and_with_nothing_else(oracle):
    assert oracle("action_divergence", condition="paraphrase", stage=LAST) == 0
    for condition, tier in (("contrast", "strict"), ("contrast", "permissive"), ("collision", None)):
        assert oracle("action_divergence", condition=condition, tier=tier, stage=LAST) > 0.1, (condition, tier)


def test_noisy_oracle_is_in_each_episode_the_one_or_the_other(tmp_path, deaf, oracle, observations):
    plan = a_plan(conditions=["contrast", "collision"])
    noisy = scored("noisy-oracle", plan, tmp_path / "run", {"p": 0.5}, observations)

    def outcome(record):
        return dict(record.first_held), record.held_at_end, record.steps, record.displacement

    def same(other, cell):
        return outcome(mine[cell]) == outcome(next(one for one in other.evidence.episodes if one.cell == cell))

    mine = {record.cell: record for record in noisy.evidence.episodes}
    listened = [same(oracle, cell) for cell in mine]
    assert [same(deaf, cell) for cell in mine] == [not listened for listened in listened]
    assert 0 < sum(listened) < len(mine)
    heard = {(one.variant, one.observation): divergence(one) for one in oracle.evidence.probes}
    asked = {(one.variant, one.observation): divergence(one) for one in noisy.evidence.probes}
    assert all(asked[key] in (0, heard[key]) for key in asked)
    assert 0 < sum(asked.values()) < sum(heard[key] for key in asked)


@pytest.mark.parametrize("name", ["still", "random"])
def test_the_floor_reaches_nothing(tmp_path, name):
    plan = a_plan(25, conditions=["original", "contrast", "collision"])
    floor = scored(name, plan, tmp_path / "run")
    assert not any(record.first_held for record in floor.evidence.episodes)
    assert floor("success", condition="original", stage=LAST) == 0
    for tier in ("strict", "permissive"):
        assert floor("target_success", **OWN, tier=tier) == floor("original_persistence", **OWN, tier=tier) == 0
    assert floor("original_goal_persistence", **COLLISION, judged="ever") == 0
    for condition in ("original", "collision"):
        moved = floor("action_initiation", condition=condition, stage=LAST, threshold=INITIATION)
        assert moved == (0 if name == "still" else 1)

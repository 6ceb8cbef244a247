"""The policies that see and hear nothing."""

import dataclasses

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from gym_grounding import conditions, manifest
from gym_grounding.errors import PolicyError
from gym_grounding.plan import Plan
from gym_grounding.policy import load_policy
from gym_grounding.records import MOTION_THRESHOLDS
from gym_grounding.rollout import run_cells
from gym_grounding.testing import TOY_REGISTRY, check_policy
from gym_grounding.types import SceneSettings

SENTENCES = ["put the bowl on the plate", "put the bowl on the stove", "fly away"]
OBSERVED = spaces.Dict({"hand": spaces.Box(-1.0, 1.0, (3,), np.float64)})
LIBERO_ACTIONS = spaces.Box(-1.0, 1.0, (7,), np.float32)
NOTHING = {"hand": np.zeros((2, 3))}
STILL, RANDOM = load_policy("still"), load_policy("random")


def toy_records(policy, toy):
    settings = SceneSettings(observation="state", settle_steps=2)
    plan = Plan.make("Toy", registry=TOY_REGISTRY, settings=settings, init_states=[0, 1], horizon=8, batch=2)
    return list(run_cells(policy, plan.cells(toy), plan, toy))


@pytest.mark.parametrize("policy", [STILL, RANDOM], ids=["still", "random"])
def test_the_contract(policy):
    check_policy(policy, OBSERVED, LIBERO_ACTIONS, SENTENCES)


@pytest.mark.parametrize("name", ["still", "random"])
@pytest.mark.parametrize("where", [{"options": {"size": 4}}, {"registry": TOY_REGISTRY}], ids=["told", "registry"])
def test_the_number_of_components_is_told_or_that_of_the_registry(name, where):
    check_policy(load_policy(name, **where), OBSERVED, spaces.Box(-1.0, 1.0, (4,), np.float32), SENTENCES)


@pytest.mark.parametrize("size", [0, -1, 7.0, True, "7"])
@pytest.mark.parametrize("name", ["still", "random"])
def test_no_number_of_components_is_refused(name, size):
    with pytest.raises(PolicyError, match=r"InvalidOption: size is .*give the number of action components, 1 or more"):
        load_policy(name, {"size": size})


def test_a_registry_whose_actions_differ_needs_to_be_told(monkeypatch):
    toy, libero = manifest.load(TOY_REGISTRY), manifest.load()
    both = dataclasses.replace(toy, scenes={**toy.scenes, **libero.scenes})
    monkeypatch.setattr(manifest, "load", lambda path=None: both)
    with pytest.raises(PolicyError, match="take actions of 4 and 7 numbers; say which with size="):
        load_policy("still").start(SENTENCES, [0, 1, 2])
    assert load_policy("still", {"size": 7}).start(SENTENCES, [0, 1, 2]).shape == (3, 7)


def test_still_keeps_the_gripper_open():
    actions, _ = STILL.act(NOTHING, STILL.start(SENTENCES[:2], [0, 1]))
    assert actions.tolist() == [[0, 0, 0, 0, 0, 0, -1]] * 2


def test_still_never_starts_to_act(toy):
    records = toy_records(load_policy("still", registry=TOY_REGISTRY), toy)
    assert len(records) == 2 * len(toy.select(conditions=conditions.standard()))
    for record in records:
        assert (record.motion_steps, record.displacement) == ({}, 0.0)
        assert record.first_held == {}
        assert not record.success


def test_random_moves(toy):
    assert all(record.motion_steps for record in toy_records(load_policy("random", registry=TOY_REGISTRY), toy))


def test_random_depends_on_its_seed_and_step_alone():
    def drawn(seeds, steps=3):
        state, rows = RANDOM.start(SENTENCES[:1] * len(seeds), seeds), []
        for _ in range(steps):
            actions, state = RANDOM.act(NOTHING, state)
            rows.append(actions)
        return np.array(rows)

    alone, together = drawn([2**32 - 1]), drawn([5, 2**32 - 1])
    assert np.array_equal(alone[:, 0], together[:, 1])
    assert not np.array_equal(together[:, 0], together[:, 1])
    assert not np.array_equal(alone[0], alone[1])


def test_random_fills_the_box():
    _, state = RANDOM.act(NOTHING, RANDOM.start(SENTENCES[:1] * 500, range(500)))
    actions, _ = RANDOM.act(NOTHING, state)
    assert actions.shape == (500, 7)
    assert np.abs(actions.mean(axis=0)).max() < 0.1
    assert np.abs(actions.std(axis=0) - 1 / np.sqrt(3)).max() < 0.05


def test_random_knows_its_density():
    state = RANDOM.start(SENTENCES[:2], [0, 1])
    given = np.zeros((2, 7))
    given[1, 3] = 1.5
    density = RANDOM.log_prob(NOTHING, state, given)
    assert density[0] == pytest.approx(-7 * np.log(2.0))
    assert density[1] == -np.inf
    assert not RANDOM.mean_action(NOTHING, state).any()


@pytest.mark.sim
def test_still_stays_below_every_threshold_in_libero():
    env = gymnasium.make("gym_grounding:Grounding/LiberoGoal-T1-Original-v0", observation="state")
    observation, info = env.reset(options={"init_state": 3})
    state = STILL.start([info["instruction"]], [0])
    scene = env.get_wrapper_attr("scene")
    farthest = 0.0
    for _ in range(150):
        actions, state = STILL.act({key: value[None] for key, value in observation.items()}, state)
        observation, *_ = env.step(actions[0])
        farthest = max(farthest, scene.displacement())
    env.close()
    assert 0.0 < farthest < min(MOTION_THRESHOLDS) / 10

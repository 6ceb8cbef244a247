"""Starts with a joint preset: through the scene, the environment, the schedule and a run, and gone afterwards."""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import gym_grounding
from gym_grounding import ContinualSchedule, Plan, SceneEnv, adapters, conditions
from gym_grounding.errors import InvalidOption, UnknownName
from gym_grounding.policy import load_policy
from gym_grounding.probe import StoredObservations, _probe
from gym_grounding.rollout import run_cells
from gym_grounding.testing import TOY_REGISTRY, check_variant
from gym_grounding.testing._contract import ContractBroken
from gym_grounding.types import Goal, Predicate, SceneSettings

ON, OFF = (Goal((Predicate(name, ("lamp_1",)),)) for name in ("turnon", "turnoff"))
SETTINGS = SceneSettings("state", settle_steps=2)


@pytest.fixture
def scene(toy):
    facts = toy.scene_of("Toy-T2")
    return adapters.get("toy").open(facts, {task.id: task for task in toy.scene_tasks(facts.id)}, SETTINGS)


def test_a_preset_joint_is_there_after_settling_and_gone_in_the_next_episode(toy, scene):
    task = toy.task("Toy-T2")
    plain = scene.reset(task, 1)
    state = scene.state()
    assert (scene.holds(ON), scene.holds(OFF)) == (False, True)
    preset = scene.reset(task, 1, joints={"lamp_1": 1.0})
    assert (scene.holds(ON), scene.holds(OFF)) == (True, False)
    changed = {key for key in plain if not np.array_equal(plain[key], preset[key])}
    assert changed == {"lamp_1_joint_pos"}
    again = scene.reset(task, 1)
    assert all(np.array_equal(again[key], plain[key]) for key in plain)
    assert np.array_equal(scene.state(), state)


def test_a_drawer_is_named_by_its_region(toy):
    facts = toy.scene_of("Toy-T5")
    scene = adapters.get("toy").open(facts, {}, SETTINGS)
    observation = scene.reset(toy.task("Toy-T5"), 0, {"cabinet_1_right_region": 1.0})
    assert observation["cabinet_1_joint_pos"].tolist() == [0.0, 1.0]
    with pytest.raises(InvalidOption, match="no joint 'cabinet_1' in this scene; it has cabinet_1_left_region, cab"):
        scene.reset(toy.task("Toy-T5"), 0, {"cabinet_1": 1.0})


def test_the_environment_of_a_variant_starts_as_its_row_says():
    with closing(gym_grounding.make("Toy-T2-Reverse1", TOY_REGISTRY, observation="state")) as env:
        assert env.unwrapped.joints == {"lamp_1": 1.0}
        for _ in range(2):
            observation, info = env.reset(seed=0, options={"init_state": 2})
            assert observation["lamp_1_joint_pos"].tolist() == [1.0]
            assert (info["original_goal"], info["target_goal"], info["is_success"]) == (True, False, False)
        assert env.get_wrapper_attr("tracker").void == {"original"}
    with closing(gym_grounding.make("Toy-T2-Original", TOY_REGISTRY, observation="state")) as env:
        assert env.unwrapped.joints == {}
        assert env.reset(seed=0)[0]["lamp_1_joint_pos"].tolist() == [0.0]


def test_a_described_variant_watches_the_opposite_and_is_not_scored():
    with closing(gym_grounding.make("Toy-T2-Reverse2", TOY_REGISTRY, observation="state", horizon=2)) as env:
        _, info = env.reset(seed=0)
        assert "is_success" not in info
        assert (env.get_wrapper_attr("scored_by"), info["target_goal"]) == (None, False)
        assert env.step(np.zeros(4))[1] == 0.0


@pytest.mark.parametrize(
    ("joints", "message"),
    [
        ({"lamp_2": 1.0}, "joints: 'lamp_2' is not in the scene: no entity 'lamp_2'. Did you mean 'lamp_1'?"),
        ({"block_1": 1.0}, "joints: 'block_1' has 0 joints; preset things with exactly one: lamp_1"),
        ({"lamp_1": "on"}, "joints has 'on' for 'lamp_1'; give a finite position"),
        ({"lamp_1": True}, "joints has True for 'lamp_1'; give a finite position"),
        ({"lamp_1": float("inf")}, "joints has inf for 'lamp_1'; give a finite position"),
        (["lamp_1"], "joints is ['lamp_1']; give a mapping"),
    ],
)
def test_presets_that_the_scene_does_not_have_are_refused_at_once(joints, message):
    with pytest.raises(InvalidOption, match=re.escape(message)):
        SceneEnv("Toy-T2", TOY_REGISTRY, joints=joints)


def test_a_preset_is_no_argument_of_a_variant(toy_ids):
    with pytest.raises(TypeError, match="joints"):
        gym_grounding.make("Toy-T2-Reverse1", TOY_REGISTRY, joints={})


def test_a_scene_without_presets_need_not_know_of_them(monkeypatch):
    """An adapter whose reset takes two arguments serves every variant that presets nothing."""
    plain = adapters.get("toy").open

    def open_(self, *arguments):
        scene = plain(*arguments)
        inner = scene.reset
        scene.reset = lambda task, init_state: inner(task, init_state)
        return scene

    monkeypatch.setattr(type(adapters.get("toy")), "open", open_)
    check_variant("Toy-T2-Original", TOY_REGISTRY)
    with pytest.raises(ContractBroken, match="joints"):
        check_variant("Toy-T2-Reverse1", TOY_REGISTRY)


def test_a_schedule_presets_the_cells_that_ask_for_it_and_no_others(toy):
    schedule = ContinualSchedule(
        "Toy",
        TOY_REGISTRY,
        order=[0, 1, 2],
        tasks=[2],
        conditions=["original", "reverse"],
        init_states=(0, 1),
        observation="state",
        stage=2,
        horizon=3,
    )
    with closing(schedule):
        seen = [(schedule.reset(), schedule.cell) for _ in schedule.cells()]
        seen += [(schedule.reset(options={"cell": 0}), schedule.cell)]
    lit = {(cell.variant, observation["lamp_1_joint_pos"].item()) for (observation, _), cell in seen}
    assert lit == {("Toy-T2-Original", 0.0), ("Toy-T2-Reverse1", 1.0), ("Toy-T2-Reverse2", 1.0)}


def test_a_run_records_what_became_of_preset_starts(toy):
    plan = Plan.make(
        "Toy", registry=TOY_REGISTRY, tasks=[2, 5], conditions=["reverse"], init_states=[0, 3], horizon=40, batch=4,
        settings=SETTINGS,
    )  # fmt: skip
    policy = load_policy("gym_grounding.testing.fakes:ToyPolicy")
    records = list(run_cells(policy, plan.cells(toy), plan, toy))
    assert len(records) == 2 * 4
    for record in records:
        unmet = record.variant.endswith("1")
        assert record.success is (True if unmet else None), record.variant
        assert record.reached("target") is unmet
        assert record.void == (("original",) if record.task == "Toy-T2" else ())


def test_check_variant_passes_every_toy_row(toy):
    for name in toy.variants:
        check_variant(name, TOY_REGISTRY, steps=2)
    with pytest.raises(UnknownName, match="No variant 'Toy-T9-Original'"):
        check_variant("Toy-T9-Original", TOY_REGISTRY)


def test_check_variant_finds_a_goal_that_holds_at_the_start(tmp_path):
    """The lamp is off by itself, so nothing is left to do for whoever is to turn it off."""
    path = tmp_path / "toy.yaml"
    path.write_text(Path(TOY_REGISTRY).read_text("utf-8").replace("{lamp_1: 1.0}", "{lamp_1: 0.0}"), "utf-8")
    for name in ("Toy-T2-Reverse1", "Toy-T2-Reverse2"):
        with pytest.raises(ContractBroken, match=r"start: turnoff\(lamp_1\) holds right after settling") as caught:
            check_variant(name, path)
        assert caught.value.rules == ("start",)
    check_variant("Toy-T5-Reverse1", path)


class _Broken:
    """Wrong in one way, laid over an environment that is right."""

    def __init__(self, env, fault):
        self._env, self._fault, self._resets = env, fault, 0

    def __getattr__(self, name):
        return getattr(self._env, name)

    def _spoil(self, observation, info):
        if self._fault == "text":
            info = {**info, "instruction": info["instruction"] + " "}
        if self._fault == "bytes":
            observation = {**observation, "instruction": np.zeros(256, np.uint8)}
        if self._fault == "space":
            observation = {**observation, "hand_pos": observation["hand_pos"].astype(np.float32)}
        if self._fault == "goals":
            info = {key: value for key, value in info.items() if key != "is_success"}
        if self._fault == "drift":
            observation = {**observation, "hand_pos": observation["hand_pos"] + self._resets}
        return observation, info

    def reset(self, **arguments):
        self._resets += 1
        if self._fault == "raises":
            raise RuntimeError("out of order")
        return self._spoil(*self._env.reset(**arguments))

    def step(self, action):
        observation, reward, terminated, truncated, info = self._env.step(action)
        observation, info = self._spoil(observation, info)
        return observation, float("nan") if self._fault == "reward" else reward, terminated, truncated, info


@pytest.mark.parametrize(
    ("fault", "rules"),
    [
        ("none", ()),
        ("text", ("text",)),
        ("bytes", ("text",)),
        ("space", ("spaces",)),
        ("goals", ("goals", "start")),
        ("drift", ("repeats",)),
        ("reward", ("steps",)),
        ("raises", ("opens",)),
    ],
)
def test_check_variant_finds_the_fault(monkeypatch, fault, rules):
    from gym_grounding.testing import variants

    inner = variants.make
    monkeypatch.setattr(variants, "make", lambda *given, **more: _Broken(inner(*given, **more), fault))
    if not rules:
        check_variant("Toy-T0-Original", TOY_REGISTRY)
        return
    with pytest.raises(ContractBroken) as caught:
        check_variant("Toy-T0-Original", TOY_REGISTRY)
    assert set(caught.value.rules) == set(rules)


def test_stored_observations_are_not_shown_to_texts_that_start_elsewhere(toy):
    """They are of the originals' starts, in which nothing is preset."""
    plan = Plan.make("Toy", registry=TOY_REGISTRY, tasks=[2], conditions=conditions.names(), init_states=[0])
    stored = {"Toy-T2": StoredObservations(("start",), {"hand_pos": np.zeros((1, 3))}, None, plan.settings)}
    asked = {variant.condition for _, _, variant in _probe._work(stored, plan, toy, plan.stages)}
    assert asked == {"paraphrase", "collision"}
    assert {variant.condition for variant in plan.variants(toy, 5)} == asked | {"original", "reverse"}
    alone = Plan.make("Toy", registry=TOY_REGISTRY, tasks=[2], conditions=["reverse"], init_states=[0])
    with pytest.raises(InvalidOption, match="the plan has no variants of these tasks to compare with"):
        _probe._work(stored, alone, toy, alone.stages)

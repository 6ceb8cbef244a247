"""The contract checks, tried on things that keep the contract and on things that break one rule each."""

import dataclasses
import re

import numpy as np
import pytest
from gymnasium import spaces

from gym_grounding import adapters, conditions, make, manifest
from gym_grounding.adapters.toy import ToyAdapter, ToyScene
from gym_grounding.conditions import Violation
from gym_grounding.testing import TOY_REGISTRY, ContractBroken, check_adapter, check_condition, check_policy
from gym_grounding.testing.fakes import RecordingPolicy, ToyPolicy

TEXTS = ("put the block on the tray", "put the bowl on the tray", "put the kettle on the tray")
TASKS = ("Toy-T0", "Toy-T1", "Toy-T2")


# Adapters


class BrokenScene(ToyScene):
    """A toy scene with one fault."""

    fault = ""
    live = None

    def reset(self, task, init_state, joints=None):
        if self.fault == "wraps_init_states":
            init_state %= task.init_states
        if self.fault == "other_error" and not 0 <= init_state < task.init_states:
            raise IndexError(init_state)
        if self.fault == "one_start" and 0 <= init_state < task.init_states:
            init_state = 0
        if self.fault == "global_random":
            np.random.rand()  # noqa: NPY002
        self.drift = getattr(self, "drift", 0.0) + 0.01
        observation = super().reset(task, init_state, self.presets(joints or {}))
        if self.fault == "drifting_start":
            observation["block_1_pos"][0] += self.drift
        if self.fault == "live_buffers":
            self.live = observation["hand_pos"]
        if self.fault == "nan":
            observation["block_1_pos"][0] = np.nan
        if self.fault == "float32":
            observation["block_1_pos"] = observation["block_1_pos"].astype(np.float32)
        if self.fault == "extra_key":
            observation["original_goal"] = np.zeros(1)
        return observation

    def presets(self, joints):
        if self.fault == "kept_presets":
            self.kept_joints = joints or getattr(self, "kept_joints", {})
            return self.kept_joints
        if self.fault == "any_preset":
            return {name: position for name, position in joints.items() if name != "no_such_entity"}
        return {} if self.fault == "deaf_to_presets" else joints

    def step(self, action):
        if self.fault == "drunk":
            action = action + np.random.default_rng().normal(0, 0.01, 4)
        observation = super().step(action)
        if self.fault == "raises":
            raise RuntimeError("out of order")
        return observation

    def state(self):
        if self.live is not None:
            self._hand[:] = self.live.tolist()
        state = super().state()
        if self.fault == "live_state":
            self.kept = getattr(self, "kept", state)
            self.kept[:] = state
            return self.kept
        return state.reshape(1, -1) if self.fault == "state_shape" else state

    def holds(self, goal):
        if self.fault == "numpy_bool":
            return np.bool_(super().holds(goal))
        return True if self.fault == "always" else super().holds(goal)

    def displacement(self):
        return 0 if self.fault == "integer_displacement" else super().displacement()

    def render(self):
        return super().render() / 255 if self.fault == "float_picture" else super().render()

    def close(self):
        if self.fault == "closes_once":
            if getattr(self, "closed", False):
                raise RuntimeError("closed")
            self.closed = True


class BrokenAdapter(ToyAdapter):
    """A toy adapter with one fault, its own or its scenes'."""

    def __init__(self, fault):
        self.fault = fault
        if fault == "name":
            self.name = "toy adapter"
        if fault == "fps":
            self.fps = 0

    def observation_space(self, scene, settings):
        space = super().observation_space(scene, settings)
        if self.fault == "nested":
            return spaces.Dict({**space.spaces, "more": spaces.Dict({})})
        if self.fault == "language":
            return spaces.Dict({**space.spaces, "instruction": spaces.Box(0, 255, (256,), np.uint8)})
        if self.fault == "moody":
            self.calls = getattr(self, "calls", 0) + 1
            return spaces.Dict({**space.spaces, "hand_pos": spaces.Box(-self.calls, self.calls, (3,), np.float64)})
        return space

    def action_space(self, scene):
        return spaces.Box(-2, 2, (4,), np.float32) if self.fault == "wide_actions" else super().action_space(scene)

    def open(self, scene, tasks, settings):
        opened = BrokenScene(scene, settings)
        opened.fault = self.fault
        return opened

    def verify(self, task):
        if self.fault == "unverified":
            raise FileNotFoundError(task.id)

    def versions(self):
        return {} if self.fault == "no_versions" else super().versions()


@pytest.mark.parametrize(
    ("fault", "rules"),
    [
        ("", ()),
        ("name", ("described",)),
        ("fps", ("described",)),
        ("no_versions", ("described",)),
        ("unverified", ("described",)),
        ("nested", ("space", "inside")),
        ("language", ("no_language", "inside")),
        ("moody", ("space",)),
        ("wide_actions", ("actions",)),
        ("wraps_init_states", ("domain",)),
        ("other_error", ("domain",)),
        ("one_start", ("starts_differ",)),
        ("global_random", ("global_random",)),
        ("drifting_start", ("pure_start",)),
        ("live_buffers", ("copies", "deterministic")),
        ("nan", ("finite",)),
        ("float32", ("inside",)),
        ("extra_key", ("inside",)),
        ("drunk", ("deterministic",)),
        ("raises", ("runs",)),
        ("state_shape", ("state",)),
        ("live_state", ("state", "pure_start", "copies")),
        ("numpy_bool", ("goals",)),
        ("always", ("goals",)),
        ("integer_displacement", ("displacement",)),
        ("float_picture", ("picture",)),
        ("closes_once", ("closes",)),
    ],
)
def test_adapter_check_finds_the_fault(toy, fault, rules):
    if not rules:
        check_adapter(BrokenAdapter(fault), toy, "Toy-T0")
        return
    with pytest.raises(ContractBroken) as caught:
        check_adapter(BrokenAdapter(fault), toy, "Toy-T0")
    assert set(caught.value.rules) == set(rules)


@pytest.mark.parametrize("fault", ["deaf_to_presets", "kept_presets", "any_preset"])
def test_adapter_check_finds_faults_of_presets_where_it_is_given_some(toy, fault):
    check_adapter(BrokenAdapter(fault), toy, "Toy-T0")
    with pytest.raises(ContractBroken) as caught:
        check_adapter(BrokenAdapter(fault), toy, "Toy-T0", joints={"lamp_1": 1.0})
    assert caught.value.rules[0] == "preset"


def test_shipped_adapters_are_listed():
    assert {"libero", "toy"} <= set(adapters.names())


# Policies


class Steady:
    """Keeps the protocol: acts on the observation, its sentence and its own random stream."""

    fault = ""

    def __init__(self, fault=""):
        self.fault = fault
        self.calls = 0

    def start(self, instructions, seed):
        return [(len(text), number, 0) for text, number in zip(instructions, seed, strict=True)]

    def act(self, observations, state):
        self.calls += 1
        hands = np.clip(observations["hand_pos"], -0.3, 0.3)
        actions = np.zeros((len(state), 4))
        for row, (length, seed, step) in enumerate(state):
            actions[row] = np.random.default_rng([length, seed, step]).uniform(-0.5, 0.5, 4)
            actions[row, :3] += hands[row]
        actions = self.broken(actions, observations)
        return actions, [(length, seed, step + 1) for length, seed, step in state]

    def broken(self, actions, observations):
        if self.fault == "writes":
            observations["hand_pos"] += 1.0
        faults = {
            "row_mixing": lambda: actions - 0.1 * actions.mean(axis=0),
            "position_in_batch": lambda: actions + 0.01 * np.arange(len(actions))[:, None],
            "shape": lambda: actions[:, :3],
            "integers": lambda: np.zeros(actions.shape, int),
            "range": lambda: actions + 2.0,
            "nan": lambda: actions * np.nan,
            "global_random": lambda: actions + np.random.uniform(0, 0.1, actions.shape),  # noqa: NPY002
            "hidden_state": lambda: actions * (1.0 - 1.0 / (1 + self.calls)),
            "raises": lambda: 1 / 0,
        }
        return faults.get(self.fault, lambda: actions)()

    def mean_action(self, observations, state):
        if self.fault == "mean_shape":
            return np.zeros(4)
        if self.fault == "mean_random":
            return np.random.default_rng().normal(size=(len(state), 4))
        return np.zeros((len(state), 4))

    def log_prob(self, observations, state, actions):
        return np.zeros((len(state), 1)) if self.fault == "log_prob" else np.zeros(len(state))


@pytest.fixture(scope="module")
def boxes():
    env = make("Toy-T0-Original", TOY_REGISTRY, observation="state")
    return env.observation_space, env.action_space


@pytest.mark.parametrize(
    ("fault", "rules"),
    [
        ("row_mixing", {"rows"}),
        ("position_in_batch", {"rows"}),
        ("shape", {"shape"}),
        ("integers", {"shape"}),
        ("range", {"range"}),
        ("nan", {"range"}),
        ("global_random", {"seeded", "rows", "state_is_a_value"}),
        ("hidden_state", {"seeded", "rows", "state_is_a_value"}),
        ("writes", {"observations_untouched"}),
        ("raises", {"runs"}),
        ("mean_shape", {"mean_action"}),
        ("mean_random", {"mean_action"}),
        ("log_prob", {"log_prob"}),
    ],
)
def test_policy_check_finds_the_fault(boxes, fault, rules):
    with pytest.raises(ContractBroken) as caught:
        check_policy(Steady(fault), *boxes, TEXTS)
    assert set(caught.value.rules) == rules


@pytest.mark.parametrize("policy", [Steady(), ToyPolicy(), ToyPolicy(deaf=True), lambda observation, text: np.zeros(4)])
def test_policy_check_accepts(boxes, policy):
    check_policy(policy, *boxes, TEXTS, TASKS)


def test_policy_check_wants_a_policy_and_two_sentences(boxes):
    with pytest.raises(ContractBroken, match="protocol"):
        check_policy(3, *boxes, TEXTS)
    with pytest.raises(ValueError, match="at least two instructions"):
        check_policy(Steady(), *boxes, TEXTS[:1])


def test_broken_rules_are_listed_with_their_reason(boxes):
    with pytest.raises(ContractBroken, match=r"policy Steady breaks 1 rule\(s\):\n  shape: act gives float64\(3, 3\)"):
        check_policy(Steady("shape"), *boxes, TEXTS)


# Conditions


@pytest.mark.parametrize("name", conditions.names())
def test_condition_check_accepts_the_shipped_ones(toy, name):
    check_condition(conditions.get(name), toy)
    if name in conditions.standard():
        check_condition(conditions.get(name), manifest.load())


def test_every_condition_was_checked():
    assert set(conditions.names()) >= {"original", "paraphrase", "contrast", "collision"}


CONTRAST = conditions.get("contrast")


def lenient(*forgiven):
    """Violations of a contrast that overlooks the given fields."""
    return lambda *row: tuple(found for found in CONTRAST.violations(*row) if found.field not in forgiven)


@pytest.mark.parametrize(
    ("change", "rules"),
    [
        ({"name": "Contrast"}, {"described"}),
        ({"label": "minimal contrast"}, {"described"}),
        ({"scored_by": "goal"}, {"described"}),
        ({"has_slot": 1}, {"described"}),
        ({"per_task": 0}, {"described"}),
        ({"control": 1}, {"described"}),
        ({"control": True, "every_stage": True}, {"described"}),
        ({"links": lambda *_: (Violation("goal", "never", "no"),)}, {"accepts"}),
        ({"links": lambda *_: None}, {"violations"}),
        ({"violations": lambda *_: []}, {"violations", "refuses_slot", "refuses_goal", "refuses_text"}),
        ({"violations": lambda *_: ()}, {"refuses_slot", "refuses_goal", "refuses_text"}),
        ({"violations": lambda *_: (Violation("goal", "never", "no"),)}, {"accepts"}),
        ({"violations": lambda *_: 1 / 0}, {"violations"}),
        ({"violations": lenient("goal")}, {"refuses_goal"}),
    ],
)
def test_condition_check_finds_the_fault(toy, change, rules):
    broken = dataclasses.replace(CONTRAST, **change)
    if change.get("name"):
        toy = dataclasses.replace(
            toy,
            variants={
                key: dataclasses.replace(row, condition="Contrast")
                for key, row in toy.variants.items()
                if row.condition == "contrast"
            },
        )
    with pytest.raises(ContractBroken) as caught:
        check_condition(broken, toy)
    assert set(caught.value.rules) == rules


def test_condition_check_needs_rows(toy):
    other = dataclasses.replace(CONTRAST, name="generic")
    with pytest.raises(ValueError, match=re.escape("has no variant of condition 'generic'")):
        check_condition(other, toy)


# Fakes and the toy registry


def test_toy_registry_has_what_tests_need(toy):
    assert manifest.problems(TOY_REGISTRY) == ()
    assert len(toy.tasks) >= 3
    assert len(toy.scenes) == 2
    assert {row.condition for row in toy.variants.values()} == set(conditions.names())
    assert {row.tier for row in toy.variants.values()} == {"strict", "permissive", None}
    assert {row.judged for row in toy.variants.values()} == {"ever", "end"}
    assert any(row.goal and row.goal.regions for row in toy.variants.values())
    trained = {task.goal for task in toy.tasks.values()}
    assert {row.goal in trained for row in toy.variants.values() if row.goal} == {True, False}
    assert {row.reason for row in toy.absent} == {"already_true", "frame_has_no_target"}


def test_recording_policy_keeps_what_it_is_told():
    policy = RecordingPolicy(ToyPolicy())
    assert policy.needs_task_identity is False
    policy.start(["turn on the lamp"], [5])
    policy.start(["put the block on the tray"], [6])
    assert policy.heard == [("turn on the lamp", 5), ("put the block on the tray", 6)]

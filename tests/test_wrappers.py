"""Goals watched and sentences shown: info, reward, episode end, instruction bytes."""

import json
import re
import warnings
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from hypothesis import given
from hypothesis import strategies as st

import gym_grounding
from gym_grounding import GoalReport, Instruction, SceneEnv, instruction_text
from gym_grounding.errors import InvalidOption, UnknownName, VariantMismatch
from gym_grounding.testing.fakes import ToyPolicy
from gym_grounding.wrappers import INSTRUCTION_BYTES, instruction_bytes

BASE = {"instruction", "variant", "task", "init_state", "original_goal", "original_goal_step", "other_goals"}
TARGET = {"target_goal", "target_goal_step"}
KEYS = {
    "Toy-T0-Original": BASE | {"is_success"},
    "Toy-T0-Paraphrase1": BASE | {"is_success"},
    "Toy-T0-ContrastTarget1": BASE | TARGET | {"is_success"},
    "Toy-T0-ContrastAction1": BASE | TARGET | {"is_success"},
    "Toy-T0-CollisionObject1": BASE,
}
TYPES = {
    **dict.fromkeys(("instruction", "variant", "task", "other_goals"), str),
    **dict.fromkeys(("init_state", "original_goal_step", "target_goal_step"), int),
    **dict.fromkeys(("original_goal", "target_goal", "is_success"), bool),
}


@pytest.fixture
def make(toy_registry):
    def make(variant, **arguments):
        return gym_grounding.make(variant, toy_registry, **{"observation": "state", "horizon": 60} | arguments)

    return make


class Scripted:
    """Plays toy goals in any environment, one after another."""

    def __init__(self):
        self.policy = ToyPolicy()

    def pursue(self, env, observation, instruction, steps):
        """Act on an instruction for some steps or until the episode ends; what each step returned."""
        state = self.policy.start([instruction], [0])
        results = []
        for _ in range(steps):
            action, state = self.policy.act({key: value[None] for key, value in observation.items()}, state)
            results.append(env.step(action[0]))
            observation = results[-1][0]
            if results[-1][2] or results[-1][3]:
                break
        return results


def play(env, *instructions, steps=60):
    """Results of all steps and the last info, pursuing the instructions in turn."""
    observation, info = env.reset(options={"init_state": 0})
    results = []
    for instruction in instructions or (info["instruction"],):
        results += Scripted().pursue(env, observation, instruction, steps // max(len(instructions), 1))
        observation = results[-1][0]
    return results


@pytest.mark.parametrize("variant", KEYS)
def test_info_is_flat_native_and_complete(make, variant):
    env = make(variant)
    infos = [env.reset(seed=3)[1], *(step[4] for step in play(env))]
    for info in infos:
        assert info.keys() == KEYS[variant]
        assert {key: type(value) for key, value in info.items()} == {key: TYPES[key] for key in info}
        assert json.loads(json.dumps(info)) == info


@pytest.mark.parametrize("variant", KEYS)
def test_flags_and_reward_are_native(make, variant):
    env = make(variant)
    for _, reward, terminated, truncated, _ in play(env):
        assert (type(reward), type(terminated), type(truncated)) == (float, bool, bool)


def test_original_terminates_when_reached(make):
    for variant in ("Toy-T0-Original", "Toy-T0-Paraphrase1"):
        *before, (_, reward, terminated, truncated, info) = play(make(variant))
        assert (reward, terminated, truncated) == (1.0, True, False)
        assert info["original_goal"]
        assert info["is_success"]
        assert info["original_goal_step"] == len(before) + 1
        assert all(step[1:4] == (0.0, False, False) and not step[4]["is_success"] for step in before)
        assert before[-1][4]["original_goal_step"] == -1


def test_contrast_runs_to_the_horizon_and_keeps_first_steps(make):
    results = play(make("Toy-T0-ContrastTarget1"), "put the block on the chest", "put the block on the tray")
    assert len(results) == 60
    assert [step[2] for step in results] == [False] * 60
    assert [step[3] for step in results] == [False] * 59 + [True]
    first = [step[4] for step in results[:30]]
    last = results[-1][4]
    assert first[-1]["target_goal"]
    assert first[-1]["is_success"]
    assert not last["target_goal"]
    assert last["original_goal"]
    assert last["is_success"], "judged ever: reached once"
    assert (
        last["target_goal_step"] == first[-1]["target_goal_step"] == 1 + [i["target_goal"] for i in first].index(True)
    )
    assert last["original_goal_step"] > 30


def test_reward_is_one_on_every_step_whose_state_satisfies_the_scoring_goal(make):
    results = play(make("Toy-T0-ContrastTarget1"), "put the block on the chest", "put the block on the tray")
    assert [step[1] for step in results] == [float(step[4]["target_goal"]) for step in results]
    assert {step[1] for step in results} == {0.0, 1.0}


def test_judged_at_the_end_means_now(make):
    # The original passes through the lift, so a policy that does the original must not succeed.
    results = play(make("Toy-T0-ContrastAction1"), "put the block on the tray")
    assert any(step[4]["target_goal"] for step in results)
    assert [step[4]["is_success"] for step in results] == [step[4]["target_goal"] for step in results]
    assert not results[-1][4]["is_success"]
    assert results[-1][4]["target_goal_step"] > 0


def test_collision_is_never_scored(make):
    results = play(make("Toy-T0-CollisionObject1"), "put the block on the tray")
    assert results[-1][4]["original_goal"]
    assert {step[1] for step in results} == {0.0}
    assert [step[2] for step in results] == [False] * 60
    assert results[-1][3]


def test_other_goals_are_task_ids_separated_by_spaces(make):
    results = play(make("Toy-T0-CollisionObject1"), "put the block on the chest", "turn on the lamp")
    assert results[29][4]["other_goals"] == "Toy-T1"
    assert results[-1][4]["other_goals"] == "Toy-T1 Toy-T2"
    # A trained goal that is the target is told as the target, not as another one.
    results = play(make("Toy-T0-ContrastTarget1"), "put the block on the chest")
    assert results[-1][4]["target_goal"]
    assert results[-1][4]["other_goals"] == ""


@pytest.mark.parametrize(
    ("variant", "stop", "pursued", "ends"),
    [
        ("Toy-T0-Original", "horizon", "put the block on the tray", False),
        ("Toy-T0-ContrastTarget1", "horizon", "put the block on the chest", False),
        ("Toy-T0-Original", "goal", "put the block on the tray", True),
        ("Toy-T0-Original", "goal", "put the block on the chest", False),
        ("Toy-T0-ContrastTarget1", "goal", "put the block on the chest", True),
        ("Toy-T0-ContrastTarget1", "goal", "put the block on the tray", False),
        ("Toy-T0-CollisionObject1", "goal", "put the block on the tray", True),
        ("Toy-T0-CollisionObject1", "goal", "turn on the lamp", True),
        ("Toy-T0-CollisionObject1", "goal", "put the bowl on the tray", False),
        ("Toy-T0-CollisionObject1", "default", "put the block on the tray", False),
    ],
)
def test_stop_rules(make, variant, stop, pursued, ends):
    results = play(make(variant, stop=stop), pursued)
    assert results[-1][2] is ends
    assert results[-1][3] is not ends
    assert (len(results) < 60) is ends


def test_truncates_exactly_at_the_horizon(make):
    env = make("Toy-T0-Original", horizon=20)
    env.reset(seed=0)
    results = [env.step(np.zeros(4)) for _ in range(20)]
    assert [step[3] for step in results] == [False] * 19 + [True]
    assert not any(step[2] for step in results)
    assert results[-1][4]["is_success"] is False


def test_reaching_the_goal_at_the_horizon_terminates(make):
    needed = len(play(make("Toy-T0-Original")))
    assert play(make("Toy-T0-Original", horizon=needed))[-1][2:4] == (True, False)
    assert play(make("Toy-T0-Original", horizon=needed - 1))[-1][2:4] == (False, True)


def test_stepping_on_after_the_end_is_refused(make):
    env = make("Toy-T0-Original", horizon=2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(4))
    env.reset(seed=0)
    env.step(np.zeros(4))
    env.step(np.zeros(4))
    with pytest.raises(gymnasium.error.ResetNeeded, match="the episode is over"):
        env.step(np.zeros(4))
    solved = make("Toy-T0-Original")
    play(solved)
    with pytest.raises(gymnasium.error.ResetNeeded, match="the episode is over"):
        solved.step(np.zeros(4))
    assert env.reset(seed=0)[1]["original_goal_step"] == -1
    assert env.step(np.zeros(4))[3] is False


def test_horizon_beyond_a_thousand_is_counted_to_the_end(make):
    env = make("Toy-T0-Original", horizon=1203)
    env.reset(seed=0)
    steps = 1
    while not env.step(np.zeros(4))[3]:
        steps += 1
    assert steps == 1203


@pytest.fixture
def void_registry(toy_registry, tmp_path):
    """A registry in which closing a drawer that is shut from the start is original (T3) and target (T5)."""
    text = Path(toy_registry).read_text("utf-8")
    text = text.replace("goal: [[open, cabinet_1_left_region]]", "goal: [[close, cabinet_1_left_region]]")
    text = text.replace("goal: [[in, ball_1, cabinet_1_right_region]]", "goal: [[close, cabinet_1_right_region]]")
    path = tmp_path / "void.yaml"
    path.write_text(text)
    return str(path)


def test_void_original_never_counts(void_registry):
    env = gym_grounding.make("Toy-T3-Original", void_registry, observation="state", horizon=60)
    _, info = env.reset(seed=0)
    assert info["original_goal"] is True, "info tells the state as it is"
    assert (info["original_goal_step"], info["is_success"]) == (-1, False)
    assert env.get_wrapper_attr("tracker").void == {"original"}
    cabinet = "cabinet_1_left_region_pos"
    seen = []
    for _ in range(30):
        observation, reward, terminated, _, info = env.step(np.zeros(4))
        assert (reward, terminated, info["original_goal_step"], info["is_success"]) == (0.0, False, -1, False)
    for grip in (-1.0, 1.0, -1.0, 1.0):
        for _ in range(7):
            way = np.clip((observation[cabinet] - observation["hand_pos"]) / 0.05, -1, 1)
            observation, reward, terminated, _, info = env.step(
                np.append(way, 1.0 if grip > 0 and not way.any() else -1.0)
            )
            seen.append(info["original_goal"])
            assert (reward, terminated, info["original_goal_step"], info["is_success"]) == (0.0, False, -1, False)
    assert False in seen, "the drawer was opened"
    assert seen[-1], "and shut again"


def test_void_target_is_no_success(void_registry):
    env = gym_grounding.make("Toy-T5-ContrastAttribute1", void_registry, observation="state", horizon=3)
    _, info = env.reset(seed=0)
    assert (info["target_goal"], info["target_goal_step"], info["is_success"]) == (True, -1, False)
    _, reward, _, _, info = env.step(np.zeros(4))
    assert (reward, info["target_goal"], info["target_goal_step"], info["is_success"]) == (0.0, True, -1, False)
    assert info["other_goals"] == "Toy-T3"


def test_a_void_goal_stops_nothing(void_registry):
    env = gym_grounding.make("Toy-T3-CollisionAttribute1", void_registry, observation="state", horizon=3, stop="goal")
    env.reset(seed=0)
    assert [env.step(np.zeros(4))[2] for _ in range(3)] == [False] * 3


def test_every_wrapper_works_by_itself(toy_registry):
    scene = SceneEnv("Toy-T0", toy_registry, observation="state")
    spoken = Instruction(scene, "do as you like")
    observation, info = spoken.reset(seed=0)
    assert instruction_text(observation["instruction"]) == info["instruction"] == "do as you like"
    assert info.keys() == {"task", "init_state", "instruction"}
    watched = GoalReport(scene, "Toy-T0-Original", horizon=2)
    observation, info = watched.reset(seed=0)
    assert "instruction" not in observation
    assert info.keys() == KEYS["Toy-T0-Original"] - {"instruction"}
    turned = GoalReport(Instruction(scene, "anything"), "Toy-T0-Original", horizon=2)
    assert turned.reset(seed=0)[1].keys() == KEYS["Toy-T0-Original"]


def test_instruction_goes_around_any_flat_dict_environment():
    class Plain(gymnasium.Env):
        observation_space = gymnasium.spaces.Dict({"x": gymnasium.spaces.Box(-1, 1, (2,), np.float32)})
        action_space = gymnasium.spaces.Discrete(2)

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            return {"x": np.zeros(2, np.float32)}, {}

        def step(self, action):
            return {"x": np.zeros(2, np.float32)}, 0, False, False, {}

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(Instruction(Plain(), "hello"))


@pytest.mark.parametrize("text", ["put the block on the tray", "", "lege die Schüssel auf die Platte 🍽", "x" * 256])
def test_instruction_bytes_survive(text):
    array = instruction_bytes(text)
    assert (array.shape, array.dtype) == ((INSTRUCTION_BYTES,), np.uint8)
    assert instruction_text(array) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x" * 257, "257 bytes of UTF-8 where at most 256"),
        ("ü" * 129, "258 bytes"),
        ("a\0b", "NUL"),
        (3, "text, not int"),
    ],
)
def test_bad_instructions_are_refused(toy_registry, text, message):
    with pytest.raises(InvalidOption, match=message):
        Instruction(SceneEnv("Toy-T0", toy_registry), text)


def test_instruction_is_the_callers_own_copy(make):
    env = make("Toy-T0-Original")
    observation, _ = env.reset(seed=0)
    observation["instruction"][:] = 7
    observation, *_ = env.step(np.zeros(4))
    assert instruction_text(observation["instruction"]) == "put the block on the tray"


def test_instruction_needs_a_dict():
    with pytest.raises(InvalidOption, match="needs Dict observations, not Box"):
        Instruction(gymnasium.make("CartPole-v1"), "balance")


def test_goal_report_needs_a_scene_of_its_task(toy_registry):
    with pytest.raises(InvalidOption, match="watches a SceneEnv, not CartPoleEnv"):
        GoalReport(gymnasium.make("CartPole-v1"), "Toy-T0-Original")
    with pytest.raises(VariantMismatch, match="Toy-T1-Original belongs to Toy-T1; the scene is that of Toy-T0"):
        GoalReport(SceneEnv("Toy-T0", toy_registry), "Toy-T1-Original")
    with pytest.raises(UnknownName, match="Did you mean 'Toy-T0-Original'"):
        GoalReport(SceneEnv("Toy-T0", toy_registry), "Toy-T0-Orginal")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"horizon": 0}, "horizon is 0"),
        ({"horizon": 10.0}, "horizon is 10.0"),
        ({"horizon": None}, "horizon is None"),
        ({"stop": "never"}, "stop is 'never'; choose one of default, horizon, goal"),
    ],
)
def test_bad_arguments_are_named(make, arguments, text):
    with pytest.raises(InvalidOption, match=re.escape(text)):
        make("Toy-T0-Original", **arguments)


def test_no_goal_reaches_the_observation(make):
    """Variants with different goals are observed alike but for the sentence, while both goals come and go."""
    one, two = make("Toy-T0-ContrastTarget1"), make("Toy-T0-CollisionObject1")
    left, right = (play(env, "put the block on the chest", "put the block on the tray") for env in (one, two))
    assert {step[4]["target_goal"] for step in left} == {True, False}
    for mine, theirs in zip(left, right, strict=True):
        assert set(mine[0]) == set(theirs[0])
        assert [key for key in mine[0] if not np.array_equal(mine[0][key], theirs[0][key])] == ["instruction"]


@pytest.mark.parametrize("wrapper", [GoalReport, Instruction, gym_grounding.ContinualSchedule])
def test_docstrings_have_gymnasiums_headings(wrapper):
    headings = re.findall(r"^    ## (.+)$", SceneEnv.__doc__, re.M)
    assert re.findall(r"^    ## (.+)$", wrapper.__doc__, re.M) == headings


@given(st.text(max_size=300))
def test_any_sentence_survives_or_is_refused(text):
    if "\0" in text or len(text.encode()) > INSTRUCTION_BYTES:
        with pytest.raises(InvalidOption):
            instruction_bytes(text)
    else:
        assert instruction_text(instruction_bytes(text)) == text

"""The plain scene environment: starts, actions, observations; on the toy world and on LIBERO."""

import re

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from gym_grounding import SceneEnv, adapters
from gym_grounding.errors import InvalidAction, InvalidOption, UnknownName

TOY_STATE_KEYS = {
    *("hand_pos", "hand_gripper", "block_1_pos", "bowl_1_pos", "lamp_1_pos", "lamp_1_joint_pos"),
    *("tray_1_pos", "tray_1_top_side_pos", "chest_1_pos", "chest_1_top_side_pos"),
}
TOY_KEYS = {
    "pixels": {"hand_pos", "hand_gripper", "table_image"},
    "state": TOY_STATE_KEYS,
    "both": TOY_STATE_KEYS | {"table_image"},
}
HEADINGS = (
    *("Description", "Action Space", "Observation Space", "Starting State", "Reward", "Episode End", "Information"),
    *("Arguments", "Version History"),
)


@pytest.fixture
def env(toy_registry):
    with SceneEnv("Toy-T0", toy_registry, observation="state") as env:
        yield env


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[key], other[key]) for key in one)


class NoSimulator:
    """An adapter whose simulator is not installed."""

    def __init__(self):
        self.inner = adapters.get("toy")
        self.name, self.fps = "toy", 20
        self.observation_space, self.action_space = self.inner.observation_space, self.inner.action_space

    def open(self, *_):
        raise ImportError("no simulator")


@pytest.mark.filterwarnings("ignore:.*(infinity|spec).*")
@pytest.mark.parametrize("observation", ["pixels", "state", "both"])
def test_gymnasium_checker(toy_registry, observation):
    check_env(SceneEnv("Toy-T0", toy_registry, observation=observation, render_mode="rgb_array"))


def test_nothing_is_opened_before_the_first_reset(toy_registry, monkeypatch):
    fake = NoSimulator()
    monkeypatch.setattr(adapters, "get", lambda name: fake)
    env = SceneEnv("Toy-T0", toy_registry)
    assert env.scene is None
    assert env.observation_space["table_image"].shape == (128, 128, 3)
    assert env.action_space.shape == (4,)
    assert env.metadata == {"render_modes": ["rgb_array"], "render_fps": 20}
    env.close()
    with pytest.raises(ImportError, match="no simulator"):
        env.reset()


@pytest.mark.parametrize("observation", ["pixels", "state", "both"])
def test_observation_keys_are_the_allowed_ones(toy_registry, observation):
    env = SceneEnv("Toy-T0", toy_registry, observation=observation)
    assert set(env.observation_space) == TOY_KEYS[observation]
    assert env.reset(seed=0)[0].keys() == TOY_KEYS[observation]
    assert env.step(np.zeros(4))[0].keys() == TOY_KEYS[observation]


def test_start_is_a_function_of_the_initial_state_alone(env, toy_registry):
    first, info = env.reset(seed=1, options={"init_state": 3})
    assert info == {"task": "Toy-T0", "init_state": 3}
    for _ in range(3):
        env.step(env.action_space.sample())
    env.reset(seed=9, options={"init_state": 0})
    assert same(env.reset(seed=77, options={"init_state": 3})[0], first)
    assert same(SceneEnv("Toy-T0", toy_registry, observation="state").reset(options={"init_state": 3})[0], first)
    assert not same(env.reset(options={"init_state": 2})[0], first)


def test_without_the_option_the_seed_decides(env, toy_registry):
    other = SceneEnv("Toy-T0", toy_registry, observation="state")

    def drawn(env, seed):
        return [env.reset(seed=seed)[1]["init_state"], *(env.reset()[1]["init_state"] for _ in range(5))]

    draws = {seed: drawn(env, seed) for seed in range(40)}
    assert all(drawn(other, seed) == draws[seed] for seed in reversed(range(40)))
    assert {first for first, *_ in draws.values()} == set(range(5))
    assert len(set(map(tuple, draws.values()))) > 20


def test_the_option_leaves_the_draw_alone(env):
    env.reset(seed=4)
    undisturbed = env.reset()[1]["init_state"], env.reset()[1]["init_state"]
    env.reset(seed=4, options={"init_state": 0})
    env.reset(seed=4)
    assert (env.reset()[1]["init_state"], env.reset()[1]["init_state"]) == undisturbed


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"init_state": 5}, "init_state is 5: Toy-T0 has 0 to 4"),
        ({"init_state": -1}, "init_state is -1: Toy-T0 has 0 to 4"),
        ({"init_state": True}, "init_state is True: give an integer, 0 to 4"),
        ({"init_state": 1.0}, "init_state is 1.0"),
        ({"init_state": "1"}, "init_state is '1'"),
        ({"init_state": None}, "init_state is None"),
        ({"init_sate": 1}, "no reset option 'init_sate': the only one is 'init_state'"),
        ({"init_state": 1, "seed": 2}, "no reset option 'seed'"),
        (3, "reset options are 3: give a mapping"),
    ],
)
def test_bad_reset_options_are_named(env, options, text):
    with pytest.raises(InvalidOption, match=re.escape(text)):
        env.reset(options=options)


def test_numpy_integers_are_initial_states_too(env):
    _, info = env.reset(options={"init_state": np.int64(2)})
    assert type(info["init_state"]) is int


def nan_at(index, value=np.nan, size=4):
    action = np.zeros(size, np.float32)
    action[index] = value
    return action


@pytest.mark.parametrize(
    ("action", "text"),
    [
        (nan_at(0), "action[0] is nan"),
        (nan_at(3, np.inf), "action[3] is inf"),
        (nan_at(2, -np.inf), "action[2] is -inf"),
        (np.array([np.nan, 0.0, np.nan, 0.0]), "action[0] is nan, action[2] is nan"),
        (np.zeros(3), "shape (3,); expected (4,)"),
        (np.zeros((1, 4)), "shape (1, 4); expected (4,)"),
        (np.float32(0.0), "shape (); expected (4,)"),
        (np.array(["0"] * 4), "type <U1; expected real numbers"),
        ([None] * 4, "type object; expected real numbers"),
        (np.zeros(4, complex), "type complex128; expected real numbers"),
        (np.zeros(4, bool), "type bool; expected real numbers"),
        ([[0.0, 0.0], [0.0]], "action is no array of numbers"),
        (None, "type object"),
        (np.ma.array(np.zeros(4), mask=[0, 1, 0, 1]), "action[1] is masked, action[3] is masked"),
        (np.ma.array(np.zeros((1, 4)), mask=[[0, 0, 1, 0]]), "action[0, 2] is masked"),
    ],
)
def test_bad_actions_are_refused_at_the_index(env, action, text):
    env.reset(seed=0)
    before = env.scene.state()
    with pytest.raises(InvalidAction, match=re.escape(text)):
        env.step(action)
    assert np.array_equal(env.scene.state(), before), "a refused action must not move the scene"


def test_actions_are_clipped(env):
    env.reset(options={"init_state": 0})
    far, *_ = env.step(np.array([50.0, -3.0, 1.5, 0.0]))
    env.reset(options={"init_state": 0})
    near, *_ = env.step([1, -1, 1, 0])
    assert same(far, near)


def test_a_masked_array_without_masked_entries_is_an_array(env):
    env.reset(options={"init_state": 0})
    masked, *_ = env.step(np.ma.array([0.5, 0.0, 0.0, 1.0], mask=False))
    env.reset(options={"init_state": 0})
    assert same(env.step(np.array([0.5, 0.0, 0.0, 1.0]))[0], masked)


def test_the_action_itself_is_left_alone(env):
    env.reset(seed=0)
    action = np.array([50.0, 0.0, 0.0, 0.0])
    env.step(action)
    assert action.tolist() == [50.0, 0.0, 0.0, 0.0]


def test_returned_arrays_belong_to_the_caller(env):
    def play(spoil):
        observations = [env.reset(options={"init_state": 1})[0]]
        for _ in range(5):
            if spoil:
                for value in observations[-1].values():
                    value += 1
            observations.append(env.step(np.array([0.3, 0.1, -0.5, 1.0]))[0])
        return observations[-1]

    assert same(play(spoil=False), play(spoil=True))


def test_never_ends_and_never_rewards(env):
    env.reset(seed=0)
    for _ in range(50):
        _, reward, terminated, truncated, info = env.step(env.action_space.sample())
        assert (reward, terminated, truncated) == (0.0, False, False)
        assert info.keys() == {"task", "init_state"}


def test_needs_a_reset(env):
    for call in (lambda: env.step(np.zeros(4)), lambda: SceneEnv.running_scene(env, "render")):
        with pytest.raises(gymnasium.error.ResetNeeded, match=r"call reset\(\) before"):
            call()


def test_close_twice_and_open_again(env):
    first, _ = env.reset(options={"init_state": 0})
    env.close()
    env.close()
    assert env.scene is None
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(4))
    assert same(env.reset(options={"init_state": 0})[0], first)


def test_a_failed_reset_leaves_no_running_episode(env):
    env.reset(seed=0)
    scene = env.scene
    scene.reset = lambda *_: (_ for _ in ()).throw(RuntimeError("broken"))
    with pytest.raises(RuntimeError, match="broken"):
        env.reset()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(4))


def test_render(toy_registry):
    env = SceneEnv("Toy-T0", toy_registry, observation="state", render_mode="rgb_array")
    env.reset(seed=0)
    assert env.render().shape == (128, 128, 3)
    silent = SceneEnv("Toy-T0", toy_registry, observation="state")
    silent.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode='rgb_array'"):
        assert silent.render() is None


def test_settle_steps_come_from_the_registry(toy_registry):
    assert SceneEnv("Toy-T0", toy_registry).settings.settle_steps == 2
    hanging = SceneEnv("Toy-T0", toy_registry, observation="state", settle_steps=0)
    assert hanging.reset(seed=0)[0]["block_1_pos"][2] > 0


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"observation": "pixel"}, "observation is 'pixel'; choose one of pixels, state, both"),
        ({"orientation": "flipped"}, "orientation is 'flipped'; choose one of raw, upright, rotated"),
        ({"image_size": 0}, "image_size is 0"),
        ({"image_size": 128.0}, "image_size is 128.0"),
        ({"image_size": 99999}, "image_size is 99999; choose 8 to 4096"),
        ({"settle_steps": -1}, "settle_steps is -1"),
        ({"settle_steps": True}, "settle_steps is True"),
        ({"render_mode": "human"}, "render_mode is 'human'; choose None or 'rgb_array'"),
        ({"lazy": "yes"}, "lazy is 'yes'; choose True or False"),
    ],
)
def test_bad_arguments_are_named(toy_registry, arguments, text):
    with pytest.raises(InvalidOption, match=re.escape(text)):
        SceneEnv("Toy-T0", toy_registry, **arguments)


def test_unknown_task_gets_a_suggestion(toy_registry):
    with pytest.raises(UnknownName, match="Did you mean 'Toy-T"):
        SceneEnv("Toy-T9", toy_registry)


def test_docstring_has_gymnasiums_headings():
    assert re.findall(r"^    ## (.+)$", SceneEnv.__doc__, re.M) == list(HEADINGS)

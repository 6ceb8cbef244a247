"""Registered ids: specs, suggestions, checkers, vector environments and Gymnasium's own wrappers."""

import functools
import inspect
import json
import pickle
import re
import subprocess
import sys
import warnings
from contextlib import closing
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from gymnasium.wrappers import HumanRendering, RecordEpisodeStatistics, RecordVideo

import gym_grounding
from gym_grounding import SceneEnv, instruction_text
from gym_grounding.errors import InvalidOption, RegistryError, UnknownName, VariantMismatch
from gym_grounding.registration import make

ORIGINAL = "Grounding/Toy-T0-Original-v0"
CONTRAST = "Grounding/Toy-T0-ContrastTarget1-v0"
TEXTS = {
    "Toy-T0-Original": "put the block on the tray",
    "Toy-T0-ContrastTarget1": "put the block on the chest",
    "Toy-T0-CollisionObject1": "put the kettle on the tray",
}

pytestmark = pytest.mark.usefixtures("toy_ids")


def texts(observations):
    return [instruction_text(row) for row in observations["instruction"]]


def test_ids_follow_the_file(toy, toy_ids):
    assert toy_ids == tuple(f"Grounding/{name}-v0" for name in toy.variants)
    assert set(toy_ids) <= gymnasium.registry.keys()


def test_shipped_ids_are_registered():
    ids = [name for name in gymnasium.registry if name.startswith("Grounding/Libero")]
    assert len(ids) == len(gym_grounding.register())
    assert len(ids) >= 100
    assert "Grounding/LiberoGoal-T8-Original-v0" in ids


def test_composition_is_visible():
    env = gymnasium.make(ORIGINAL, observation="state", horizon=7)
    assert "<Instruction<GoalReport<SceneEnv<Grounding/Toy-T0-Original-v0>>>>" in str(env)
    assert isinstance(env.unwrapped, SceneEnv)
    assert env.unwrapped.task.id == "Toy-T0"
    assert env.get_wrapper_attr("horizon") == 7
    assert env.get_wrapper_attr("text") == TEXTS["Toy-T0-Original"]
    assert env.get_wrapper_attr("variant").id == "Toy-T0-Original"
    assert env.get_wrapper_attr("tracker").first_held == {}
    assert env.get_wrapper_attr("scene") is None
    assert [wrapper.name for wrapper in env.spec.additional_wrappers] == ["GoalReport", "Instruction"]
    assert env.spec.id == ORIGINAL
    assert env.metadata["render_fps"] == 20


@pytest.mark.parametrize("through", ["json", "pickle", "spec"])
def test_spec_rebuilds_the_environment(through):
    env = gymnasium.make(CONTRAST, observation="state", horizon=5, stop="goal")
    spec = {
        "json": lambda spec: EnvSpec.from_json(spec.to_json()),
        "pickle": lambda spec: pickle.loads(pickle.dumps(spec)),  # noqa: S301  # written on the same line
        "spec": lambda spec: spec,
    }[through](env.spec)
    again = gymnasium.make(spec)
    assert again.spec == env.spec
    assert str(again) == str(env)
    assert (again.get_wrapper_attr("horizon"), again.get_wrapper_attr("stop")) == (5, "goal")
    (mine, my_info), (theirs, their_info) = env.reset(seed=5), again.reset(seed=5)
    assert my_info == their_info
    assert all(np.array_equal(mine[key], theirs[key]) for key in mine)


def test_registered_spec_holds_only_text(toy_registry):
    spec = gymnasium.spec(ORIGINAL)
    assert spec.entry_point == "gym_grounding.registration:make"
    assert spec.kwargs == {"variant": "Toy-T0-Original", "registry": toy_registry}
    assert spec.max_episode_steps is None
    assert json.loads(gymnasium.spec("Grounding/LiberoGoal-T8-Original-v0").to_json())["kwargs"] == {
        "variant": "LiberoGoal-T8-Original"
    }


def test_every_argument_is_accepted():
    values = {"observation": "both", "image_size": 16, "orientation": "upright", "settle_steps": 1}
    values |= {"horizon": 3, "stop": "horizon", "render_mode": "rgb_array", "pictures": "fast", "lazy": True}
    values["starts"] = "displaced"
    assert values.keys() == set(inspect.signature(make).parameters) - {"variant", "registry"}
    env = gymnasium.make(ORIGINAL, **values)
    observation, _ = env.reset(seed=0)
    assert observation["table_image"].shape == (16, 16, 3)
    assert env.render().shape == (128, 128, 3)


@pytest.mark.parametrize(
    ("override", "text"),
    [
        (
            {"variant": "Toy-T0-ContrastTarget1"},
            "Grounding/Toy-T0-Original-v0 was made as variant Toy-T0-ContrastTarget1",
        ),
        ({"variant": "Toy-T4-Original"}, "make Grounding/Toy-T4-Original-v0 instead"),
        ({"registry": "COPY"}, "belongs to the registry"),
    ],
)
def test_an_id_cannot_lie(toy_registry, tmp_path, override, text):
    copy = tmp_path / "copy.yaml"
    copy.write_bytes(Path(toy_registry).read_bytes())
    override = {key: str(copy) if value == "COPY" else value for key, value in override.items()}
    env = gymnasium.make(ORIGINAL, **override)
    with pytest.raises(VariantMismatch, match=re.escape(text)):
        env.reset()


def test_a_doctored_spec_cannot_lie():
    spec = gymnasium.make(ORIGINAL).spec
    data = json.loads(spec.to_json())
    data["additional_wrappers"][1]["kwargs"]["text"] = "sing"
    with pytest.raises(ValueError, match="wrapper spec"):
        gymnasium.make(EnvSpec.from_json(json.dumps(data)))
    env = gymnasium.make(ORIGINAL)
    env.env.env.text = "sing"
    with pytest.raises(VariantMismatch, match="says 'put the block on the tray', but the environment shows 'sing'"):
        env.reset()


def test_an_own_id_may_use_the_entry_point(toy_registry):
    gymnasium.register("Mine/Tray-v3", "gym_grounding.registration:make", kwargs={"registry": toy_registry})
    try:
        env = gymnasium.make("Mine/Tray-v3", variant="Toy-T0-Original")
        assert env.reset(seed=0)[1]["variant"] == "Toy-T0-Original"
    finally:
        del gymnasium.registry["Mine/Tray-v3"]


def test_unknown_ids_get_gymnasiums_suggestion():
    with pytest.raises(gymnasium.error.NameNotFound, match=r"Toy-T0-Orignal.*Did you mean.*Toy-T0-Original"):
        gymnasium.make("Grounding/Toy-T0-Orignal-v0")
    with pytest.raises(gymnasium.error.NamespaceNotFound, match=r"Grunding.*Did you mean.*Grounding"):
        gymnasium.make("Grunding/Toy-T0-Original-v0")
    with pytest.raises(gymnasium.error.VersionNotFound, match=r"It provides versioned environments: .*v0"):
        gymnasium.make("Grounding/Toy-T0-Original-v7")


def test_unknown_variant_gets_ours(toy_registry):
    with pytest.raises(UnknownName, match=r"No variant 'Toy-T0-Orignal'\. Did you mean 'Toy-T0-Original'\?"):
        make("Toy-T0-Orignal", toy_registry)


def test_bad_argument_of_make_names_itself():
    with pytest.raises(InvalidOption, match="observation is 'pixel'; choose one of pixels, state, both"):
        gymnasium.make(ORIGINAL, observation="pixel")
    with pytest.raises(TypeError, match="obs"):
        gymnasium.make(ORIGINAL, obs="pixels")


def test_registering_again_changes_nothing(toy_registry, toy_ids):
    before = dict(gymnasium.registry)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert gym_grounding.register(toy_registry) == toy_ids
    assert dict(gymnasium.registry) == before


def test_a_relative_path_names_the_same_file(toy_registry, toy_ids, monkeypatch):
    monkeypatch.chdir(Path(toy_registry).parent)
    assert gym_grounding.register("toy_registry.yaml") == toy_ids
    assert gym_grounding.register(Path("toy_registry.yaml")) == toy_ids


def test_a_clash_is_refused_and_leaves_nothing(toy_registry, tmp_path):
    path = tmp_path / "mine.yaml"
    text = Path(toy_registry).read_text("utf-8")
    path.write_text(text)
    with pytest.raises(RegistryError, match=rf"mine\.yaml: the id {ORIGINAL} is already registered by .*toy_registry"):
        gym_grounding.register(path)
    path.write_text(text.replace("Toy-", "Mine-").replace("  Toy:", "  Mine:").replace("suite: Toy", "suite: Mine"))
    gymnasium.register("Grounding/Mine-T5-Original-v0", "somewhere:else")
    before = set(gymnasium.registry)
    try:
        with pytest.raises(RegistryError, match="Grounding/Mine-T5-Original-v0"):
            gym_grounding.register(path)
        assert set(gymnasium.registry) == before
        del gymnasium.registry["Grounding/Mine-T5-Original-v0"]
        ids = gym_grounding.register(str(path))
        assert gymnasium.make(ids[0]).reset(seed=0)[1]["variant"] == "Mine-T0-Original"
    finally:
        for name in [name for name in gymnasium.registry if name.startswith("Grounding/Mine-")]:
            del gymnasium.registry[name]


def test_an_unknown_adapter_is_refused_before_anything_is_registered(toy_registry, tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text(Path(toy_registry).read_text("utf-8").replace("adapter: toy", "adapter: tooy"))
    before = set(gymnasium.registry)
    with pytest.raises(RegistryError, match=r"mine\.yaml: suites\.Toy: adapter: no adapter 'tooy'.*mean 'toy'"):
        gym_grounding.register(path)
    assert set(gymnasium.registry) == before


def test_malformed_file_is_refused(tmp_path):
    path = tmp_path / "broken.yaml"
    path.write_text("format: [")
    with pytest.raises(RegistryError, match=r"broken\.yaml"):
        gym_grounding.register(path)


@pytest.mark.filterwarnings("ignore:.*(infinity|unwrapped).*")
@pytest.mark.parametrize("observation", ["pixels", "state", "both"])
@pytest.mark.parametrize("name", [ORIGINAL, CONTRAST])
def test_gymnasium_checker(name, observation):
    check_env(gymnasium.make(name, observation=observation, render_mode="rgb_array"))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("observation", ["pixels", "state"])
def test_no_warning_in_ordinary_use(observation):
    env = gymnasium.make(ORIGINAL, observation=observation, render_mode="rgb_array")
    env.reset(seed=0)
    for _ in range(3):
        env.step(env.action_space.sample())
        env.render()
    env.close()


@pytest.mark.parametrize("observation", ["pixels", "state", "both"])
def test_stable_baselines_checker(observation):
    checker = pytest.importorskip("stable_baselines3.common.env_checker")
    checker.check_env(gymnasium.make(ORIGINAL, observation=observation))


VECTORS = {
    "sync": SyncVectorEnv,
    "async": AsyncVectorEnv,
    "async_spawn": functools.partial(AsyncVectorEnv, context="spawn"),
    "async_own_memory": functools.partial(AsyncVectorEnv, shared_memory=False),
}


@pytest.mark.parametrize("kind", VECTORS)
def test_instructions_reach_every_slot_of_a_vector(toy_registry, kind):
    creators = [functools.partial(make, name, toy_registry, observation="state") for name in TEXTS]
    vector = VECTORS[kind](creators)
    try:
        observations, infos = vector.reset(seed=0, options={"init_state": 1})
        assert texts(observations) == list(TEXTS.values())
        assert list(infos["instruction"]) == list(TEXTS.values())
        assert list(infos["variant"]) == list(TEXTS)
        kept = observations["instruction"].copy()
        for _ in range(3):
            observations, *_, infos = vector.step(vector.action_space.sample())
            assert texts(observations) == list(TEXTS.values())
            assert list(infos["instruction"]) == list(TEXTS.values())
        assert np.array_equal(kept, observations["instruction"])
        assert infos["is_success"].tolist() == [False, False, False]
        assert infos["_is_success"].tolist() == [True, True, False], "no goal scores a collision"
        assert infos["_target_goal"].tolist() == [False, True, False]
    finally:
        vector.close()


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_make_vec(mode):
    vector = gymnasium.make_vec(CONTRAST, num_envs=2, vectorization_mode=mode, observation="state", horizon=4)
    try:
        observations, infos = vector.reset(seed=[1, 2], options={"init_state": 2})
        assert texts(observations) == ["put the block on the chest"] * 2
        assert infos["init_state"].tolist() == [2, 2]
        assert np.array_equal(observations["block_1_pos"][0], observations["block_1_pos"][1])
        truncations = [vector.step(np.zeros((2, 4)))[3].tolist() for _ in range(4)]
        assert truncations == [[False, False]] * 3 + [[True, True]]
    finally:
        vector.close()


def test_prefixed_id_works_in_a_spawned_worker():
    """The short id is unknown there; no simulator is needed to learn the spaces."""
    code = (
        "import gymnasium\n"
        "from gymnasium.vector import AsyncVectorEnv\n"
        "if __name__ == '__main__':\n"
        "    name = 'gym_grounding:Grounding/LiberoGoal-T8-%s-v0'\n"
        "    names = [name % kind for kind in ('Original', 'ContrastTarget1')]\n"
        "    make = lambda name: (lambda: gymnasium.make(name, observation='state'))\n"
        "    vector = AsyncVectorEnv([make(name) for name in names], context='spawn')\n"
        "    print(sorted(vector.single_observation_space)[-1], vector.single_action_space.shape)\n"
        "    vector.close()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[0] == "wooden_cabinet_1_quat (7,)"


def test_autoreset_counts_policy_steps_only(toy_registry):
    """Next-step autoreset drops one action between episodes; every slot still counts exactly its own horizon."""
    creators = [
        functools.partial(make, "Toy-T0-Original", toy_registry, observation="state", horizon=horizon)
        for horizon in (3, 5)
    ]
    vector = SyncVectorEnv(creators)
    vector.reset(seed=0)
    ends = []
    for _ in range(11):
        _, _, terminated, truncated, infos = vector.step(np.zeros((2, 4)))
        assert not terminated.any()
        assert infos["_is_success"].all()
        ends.append(truncated.tolist())
    assert [step + 1 for step, (one, _) in enumerate(ends) if one] == [3, 7, 11]
    assert [step + 1 for step, (_, two) in enumerate(ends) if two] == [5, 11]


def test_record_video(tmp_path):
    pytest.importorskip("moviepy")
    env = gymnasium.make(ORIGINAL, observation="state", horizon=4, render_mode="rgb_array")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        env = RecordVideo(env, str(tmp_path), episode_trigger=lambda episode: True, disable_logger=True)
    env.reset(seed=0)
    while not env.step(np.zeros(4))[3]:
        pass
    env.close()
    (video,) = tmp_path.glob("*.mp4")
    assert video.stat().st_size > 500


def test_other_render_modes_are_refused_by_name(toy_registry):
    with pytest.raises(InvalidOption, match=r"render_mode is 'ansi'; choose None or 'rgb_array'$"):
        make("Toy-T0-Original", toy_registry, render_mode="ansi")
    with pytest.raises(InvalidOption, match=r"render_mode is 'human'.*; gymnasium\.make\(id, render_mode='human'\)"):
        make("Toy-T0-Original", toy_registry, render_mode="human")


@pytest.mark.filterwarnings("ignore:.*human.*")
def test_a_window_is_gymnasiums_own(monkeypatch):
    env = gymnasium.make(ORIGINAL, observation="state", render_mode="human")
    assert isinstance(env, HumanRendering)
    assert (env.render_mode, env.unwrapped.render_mode) == ("human", "rgb_array")
    shown = []
    monkeypatch.setattr(HumanRendering, "_render_frame", lambda self: shown.append(self.env.render()))
    env.reset(seed=0)
    env.step(np.array([1.0, 0.0, 0.0, 0.0]))
    assert env.render() is None
    assert [frame.shape for frame in shown] == [(128, 128, 3)] * 2
    assert not np.array_equal(*shown)


@pytest.mark.filterwarnings("ignore:.*human.*")
def test_a_window_without_pygame_names_pygame(monkeypatch):
    monkeypatch.setitem(sys.modules, "pygame", None)
    env = gymnasium.make(ORIGINAL, observation="state", render_mode="human")
    with pytest.raises(gymnasium.error.DependencyNotInstalled, match="pygame"):
        env.reset(seed=0)


@pytest.mark.filterwarnings("ignore:.*human.*")
def test_a_window_opens(monkeypatch):
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    with closing(gymnasium.make(ORIGINAL, observation="state", render_mode="human")) as env:
        env.reset(seed=0)
        env.step(np.zeros(4))
        assert env.window.get_size() == (128, 128)


def test_a_list_of_frames_is_gymnasiums_own():
    frames = gymnasium.make(ORIGINAL, observation="state", render_mode="rgb_array_list")
    frames.reset(seed=0)
    frames.step(np.zeros(4))
    assert [frame.shape for frame in frames.render()] == [(128, 128, 3)] * 2


def test_record_episode_statistics():
    env = RecordEpisodeStatistics(gymnasium.make(ORIGINAL, observation="state", horizon=4))
    env.reset(seed=0)
    for _ in range(4):
        info = env.step(np.zeros(4))[4]
    assert info["episode"]["l"] == 4
    assert info["episode"]["r"] == 0.0


def test_two_environments_agree_to_the_last_bit():
    one, two = (gymnasium.make(CONTRAST, observation="both") for _ in range(2))
    one.action_space.seed(3)
    (mine, my_info), (theirs, their_info) = one.reset(seed=6), two.reset(seed=6)
    for _ in range(30):
        assert my_info == their_info
        assert all(np.array_equal(mine[key], theirs[key]) for key in mine)
        action = one.action_space.sample()
        (mine, *mid, my_info), (theirs, *other_mid, their_info) = one.step(action), two.step(action)
        assert mid == other_mid

"""Models of stable-baselines3 as policies, and registered environments as SB3's own."""

import multiprocessing
import os
import threading
import warnings

import gymnasium
import numpy as np
import pytest
from click.testing import CliRunner

from gym_grounding import cli, instruction_text, manifest
from gym_grounding.errors import InvalidOption, PolicyError, UnknownName
from gym_grounding.evaluate import evaluate
from gym_grounding.plan import Plan
from gym_grounding.policy import PolicySource
from gym_grounding.store import RunStore
from gym_grounding.testing import TOY_REGISTRY, check_policy
from gym_grounding.types import SceneSettings

torch = pytest.importorskip("torch")
pytest.importorskip("stable_baselines3")
from gym_grounding_policies.sb3 import (  # noqa: E402  # needs what is above
    SB3Policy,
    ThreadVecEnv,
    make_sb3_env,
    make_sb3_vec_env,
)
from stable_baselines3 import A2C, PPO, TD3  # noqa: E402
from stable_baselines3.common.env_checker import check_env  # noqa: E402

LAMP = "Grounding/Toy-T2-Original-v0"
TWO = ["Grounding/Toy-T0-Original-v0", "Grounding/Toy-T0-ContrastTarget1-v0"]
POLICY = "gym_grounding_policies.sb3:SB3Policy"
SENTENCES = ["turn on the lamp", "put the block on the tray", "fly away"]


def learned(env, kind=PPO, **options):
    return kind("MultiInputPolicy", env, seed=3, device="cpu", policy_kwargs={"net_arch": [16]}, **options)


@pytest.fixture(scope="module")
def ppo(toy_ids):
    env = make_sb3_vec_env([LAMP, LAMP], observation="state", horizon=10)
    model = learned(env, n_steps=16, batch_size=16, n_epochs=1).learn(64)
    env.close()
    return model


@pytest.fixture(scope="module")
def saved(ppo, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "stage2.zip"
    ppo.save(path)
    return path


def some_observations(model, count, seed=0):
    model.observation_space.seed(seed)
    samples = [model.observation_space.sample() for _ in range(count)]
    return {key: np.stack([sample[key] for sample in samples]) for key in samples[0]}


def a_plan(**changes):
    settings = SceneSettings(observation="state", settle_steps=2)
    given = {"registry": TOY_REGISTRY, "settings": settings, "init_states": (0, 1), "horizon": 4, "tasks": [2]}
    return Plan.make("Toy", **{**given, **changes})


def test_learning_fills_the_success_buffer_of_sb3(ppo):
    assert ppo.num_timesteps == 64
    assert len(ppo.ep_success_buffer) >= 4


@pytest.mark.parametrize("deterministic", [True, False])
def test_the_contract_of_policies(ppo, deterministic):
    policy = SB3Policy(ppo, deterministic=deterministic)
    check_policy(policy, ppo.observation_space, ppo.action_space, SENTENCES, tolerance=1e-5)


def test_actions_are_those_of_the_model_for_its_own_keys(ppo):
    policy, observations = SB3Policy(ppo), some_observations(ppo, 3)
    expected, _ = ppo.predict(observations, deterministic=True)
    actions, _ = policy.act({**observations, "more": np.zeros((3, 2))}, policy.start(SENTENCES, [1, 2, 3]))
    assert np.array_equal(actions, expected)
    assert np.array_equal(policy.mean_action(observations, policy.start(SENTENCES, [4, 5, 6])), expected)


def test_drawn_actions_follow_seed_and_step_and_leave_torch_alone(ppo):
    policy, observations = SB3Policy(ppo, deterministic=False), some_observations(ppo, 2)
    before = torch.random.get_rng_state()
    state = policy.start(SENTENCES[:2], [1, 2])
    first, state = policy.act(observations, state)
    second, _ = policy.act(observations, state)
    other, _ = policy.act(observations, policy.start(SENTENCES[:2], [1, 3]))
    assert torch.equal(torch.random.get_rng_state(), before)
    assert not np.array_equal(first, second)
    assert np.array_equal(first[0], other[0])
    assert not np.array_equal(first[1], other[1])
    assert not np.array_equal(first, policy.mean_action(observations, state))


def test_log_prob_is_the_density_of_the_gaussian(ppo):
    policy, observations = SB3Policy(ppo), some_observations(ppo, 2)
    state = policy.start(SENTENCES[:2], [0, 0])
    shown, _ = ppo.policy.obs_to_tensor(observations)
    with torch.no_grad():
        gaussian = ppo.policy.get_distribution(shown).distribution
    mean, deviation = gaussian.mean.numpy().astype(float), gaussian.stddev.numpy().astype(float)
    actions = np.array([[0.1, -0.2, 0.3, 1.0], [0.0, 0.0, 0.0, -1.0]])
    squares = ((actions - mean) / deviation) ** 2
    expected = (-0.5 * squares - np.log(deviation) - 0.5 * np.log(2 * np.pi)).sum(axis=1)
    assert policy.log_prob(observations, state, actions) == pytest.approx(expected, abs=1e-4)


def test_a_model_without_density_has_no_log_prob(toy_ids):
    env = make_sb3_env(LAMP, observation="state")
    policy = SB3Policy(learned(env, TD3, buffer_size=10))
    assert not hasattr(policy, "log_prob")
    check_policy(policy, env.observation_space, env.action_space, SENTENCES, tolerance=1e-5)


def test_the_observation_kind_follows_the_model(ppo, toy_ids):
    assert PolicySource(SB3Policy(ppo)).observation == "state"
    env = make_sb3_env(LAMP, observation="pixels", image_size=40)
    policy = SB3Policy(learned(env, n_steps=2, batch_size=2))
    assert policy.observation == "both"
    observation, _ = env.reset(seed=0)
    rows = {key: value[None] for key, value in observation.items()}
    actions, _ = policy.act(rows, policy.start(SENTENCES[:1], [0]))
    assert actions.shape == (1, 4)
    rows["table_image"] = np.zeros((1, 64, 64, 3), np.uint8)
    with pytest.raises(PolicyError, match=r"table_image in shape \(3, 40, 40\), the environment gives \(64, 64, 3\)"):
        policy.act(rows, policy.start(SENTENCES[:1], [0]))


def test_missing_keys_are_named(ppo):
    policy, observations = SB3Policy(ppo), some_observations(ppo, 1)
    del observations["lamp_1_pos"]
    with pytest.raises(PolicyError, match=r"observes lamp_1_pos, which are not among .*; choose .* 'state'"):
        policy.act(observations, policy.start(SENTENCES[:1], [0]))


def test_a_plan_is_evaluated_in_this_process(ppo, tmp_path):
    plan = a_plan()
    evaluate(SB3Policy(ppo), plan, tmp_path / "run", workers=0)
    with RunStore.open(tmp_path / "run") as store:
        rows, errors, header = store.episodes(), store.errors(), store.header
    assert len(rows) == len(plan.cells(manifest.load(TOY_REGISTRY))) > 4
    assert not errors
    assert header.policy == POLICY


def test_a_file_is_evaluated_from_the_shell(saved, ppo, tmp_path):
    toy = f"--registry {TOY_REGISTRY} --suite Toy --tasks 2 --init-states 0:2 --horizon 4 --settle-steps 2"
    path = saved.with_name("stage{stage}.zip")
    given = ["--policy", POLICY, "--policy-option", f"path={path}", "--observation", "state"]
    out = ["--order", "0,1,2", "--workers", "0", "--out", str(tmp_path / "run")]
    refused = CliRunner().invoke(cli.main, ["evaluate", *given, *toy.split(), *out])
    assert refused.exit_code == 2
    assert "--policy-option trust=true" in refused.output
    done = CliRunner().invoke(cli.main, ["evaluate", *given, "--policy-option", "trust=true", *toy.split(), *out])
    assert done.exit_code == 0, done.output
    evaluate(SB3Policy(ppo), a_plan(order=[0, 1, 2]), tmp_path / "same", workers=0)
    with RunStore.open(tmp_path / "run") as one, RunStore.open(tmp_path / "same") as other:
        assert [row.displacement for row in one.episodes()] == [row.displacement for row in other.episodes()]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, PolicyError, "either a model or the path"),
        ({"path": "nowhere.zip", "trust": True}, PolicyError, "nowhere.zip: no such file"),
        ({"path": "{saved}"}, PolicyError, "runs any code .* trust=True"),
        ({"path": "{saved}", "trust": "yes"}, PolicyError, "runs any code .* trust=True"),
        ({"path": "{saved}", "trust": True, "algorithm": "PPPO"}, UnknownName, "Did you mean 'PPO'"),
        ({"path": "{saved}", "trust": True, "algorithm": "nowhere:PPO"}, PolicyError, "cannot be imported"),
        ({"path": "{saved}", "trust": True, "algorithm": "TD3"}, PolicyError, "stage2.zip: cannot be loaded as TD3"),
    ],
)
def test_what_cannot_be_loaded_is_refused(saved, options, error, message):
    given = {key: str(saved) if value == "{saved}" else value for key, value in options.items()}
    with pytest.raises(error, match=message):
        SB3Policy(**given)


def test_an_import_string_names_an_algorithm(saved):
    path = str(saved).replace("2", "{stage}")
    policy = SB3Policy(path=path, algorithm="stable_baselines3.ppo:PPO", trust=True, stage=2)
    assert policy.observation == "state"


def test_spaces_that_do_not_fit_are_refused():
    with pytest.raises(PolicyError, match="must map a Dict of boxes to a Box"):
        SB3Policy(A2C("MlpPolicy", gymnasium.make("CartPole-v1"), device="cpu"))


def test_noise_that_the_model_keeps_is_refused(toy_ids):
    model = learned(make_sb3_env(LAMP, observation="state"), A2C, use_sde=True)
    with pytest.raises(PolicyError, match="use_sde"):
        SB3Policy(model, deterministic=False)
    SB3Policy(model)


@pytest.mark.parametrize("observation", ["state", "both"])
def test_the_checker_of_sb3_has_nothing_to_say(toy_ids, observation):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(make_sb3_env(TWO[1], observation=observation, image_size=40))


def steps_of(vector, count=3):
    """What two environments show after ``count`` steps of going down, and the last infos."""
    vector.seed(5)
    vector.reset()
    down = np.zeros((vector.num_envs, *vector.action_space.shape), np.float32)
    down[:, 2] = -1.0
    for _ in range(count):
        observations, _, dones, infos = vector.step(down)
    vector.close()
    return observations, dones, infos


@pytest.mark.parametrize("start_method", ["fork", pytest.param("spawn", marks=pytest.mark.slow), "forkserver"])
def test_processes_show_what_one_process_shows(toy_ids, start_method):
    options = {"observation": "state", "horizon": 3}
    assert start_method in multiprocessing.get_all_start_methods()
    expected, dones, infos = steps_of(make_sb3_vec_env(TWO, **options))
    observations, their_dones, their_infos = steps_of(make_sb3_vec_env(TWO, "subproc", start_method, **options))
    assert all(np.array_equal(observations[key], expected[key]) for key in expected)
    assert [instruction_text(row) for row in observations["instruction"]] == [
        "put the block on the tray",
        "put the block on the chest",
    ]
    assert dones.tolist() == their_dones.tolist() == [True, True]
    for one, other in zip(infos, their_infos, strict=True):
        assert one["episode"]["l"] == other["episode"]["l"] == 3
        assert one["is_success"] is other["is_success"] is False
        assert one["TimeLimit.truncated"]
        assert one["variant"] == other["variant"]


def assert_equal(one, other):
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one.keys() - {"t"}:  # wall-clock time, by Monitor
            assert_equal(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert len(one) == len(other)
        for pair in zip(one, other, strict=True):
            assert_equal(*pair)
    else:
        assert np.array_equal(one, other)
        assert getattr(one, "dtype", None) == getattr(other, "dtype", None)


@pytest.mark.parametrize("observation", ["state", "both"])
def test_threads_give_what_sb3_gives_in_turn(toy_ids, observation):
    given = {"observation": observation, "image_size": 16, "horizon": 3, "render_mode": "rgb_array"}
    before = set(threading.enumerate())
    theirs, ours = (make_sb3_vec_env([*TWO, TWO[0]], kind, **given) for kind in ("dummy", "threads"))
    assert isinstance(ours, ThreadVecEnv)
    assert len(set(threading.enumerate()) - before) == min(3, len(os.sched_getaffinity(0)))
    ends = np.zeros(3, int)
    for vector in (theirs, ours):
        vector.seed(5)
        vector.set_options([{"init_state": 1}, {}, {"init_state": 2}])
        vector.env_method("set_wrapper_attr", "horizon", 4, indices=[1])
    assert_equal(theirs.reset(), ours.reset())
    assert_equal(theirs.reset_infos, ours.reset_infos)
    assert [info["init_state"] for info in ours.reset_infos][::2] == [1, 2]
    for action in np.random.default_rng(1).uniform(-1, 1, (9, 3, 4)).astype(np.float32):
        result = ours.step(action)
        assert_equal(theirs.step(action), result)
        assert_equal(theirs.reset_infos, ours.reset_infos)
        ends += result[2]
    assert ends.tolist() == [3, 2, 3]
    assert_equal(theirs.get_images(), ours.get_images())
    assert ours.get_attr("steps", [0, 1]) == theirs.get_attr("steps", [0, 1]) == [0, 1]
    for vector in (theirs, ours):
        vector.set_attr("mark", 3, indices=2)
    assert ours.get_attr("mark", 2) == theirs.get_attr("mark", 2) == [3]
    with pytest.raises(ValueError, match=rf"environment 1 \({TWO[1]}\): action has shape"):
        ours.step(np.array([np.zeros(4), np.zeros(3), np.zeros(4)], dtype=object))
    theirs.close(), ours.close()
    assert set(threading.enumerate()) == before


def test_learning_in_threads_is_learning_in_turn(toy_ids):
    weights = []
    for kind in ("dummy", "threads"):
        env = make_sb3_vec_env(TWO, kind, observation="state", horizon=5)
        model = learned(env, n_steps=8, batch_size=8, n_epochs=1).learn(32)
        weights.append([value.numpy() for value in model.policy.state_dict().values()])
        env.close()
    assert_equal(*weights)


def test_vectors_of_nonsense_are_refused(toy_ids):
    for ids, options, message in (
        ([], {}, "give a sequence"),
        (LAMP, {}, "give a sequence"),
        (TWO, {"kind": "fibres"}, "dummy, threads or subproc"),
        (TWO, {"start_method": "spawn"}, "starts no process"),
        (TWO, {"kind": "threads", "start_method": "spawn"}, "'threads' starts no process"),
        ([LAMP, "Grounding/Toy-T3-Original-v0"], {"observation": "state"}, "different spaces"),
    ):
        with pytest.raises(InvalidOption, match=message):
            make_sb3_vec_env(ids, **options)


@pytest.mark.sim
@pytest.mark.slow
def test_processes_with_libero():
    ids = ["gym_grounding:Grounding/LiberoGoal-T8-Original-v0", "Grounding/LiberoGoal-T8-ContrastTarget1-v0"]
    observations, dones, infos = steps_of(make_sb3_vec_env(ids, "subproc", "fork", observation="state"), count=2)
    assert [instruction_text(row) for row in observations["instruction"]] == [info["instruction"] for info in infos]
    assert [info["instruction"] for info in infos] == ["put the bowl on the plate", "put the bowl on the stove"]
    assert not dones.any()
    assert np.isfinite(observations["robot0_joint_pos"]).all()

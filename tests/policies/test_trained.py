"""A checkpoint as a policy: its chunks, memory, draws, densities, routes; each episode by itself."""

import copy
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from gym_grounding_policies.nets.actor import Actor
from gym_grounding_policies.nets.draws import seeded
from gym_grounding_policies.nets.sites import changed
from gym_grounding_policies.trained import Told, Trained
from gym_grounding_policies.training.checkpoint import FILE, Checkpoint, write
from gym_grounding_policies.training.loop import Streams, stream
from gym_grounding_policies.training.senses import Senses
from gymnasium import spaces
from policies.training import little

from gym_grounding.errors import CorruptRun, InvalidOption, PolicyError, WrongVersion
from gym_grounding.policy import PolicySource, as_policy
from gym_grounding.testing import check_policy
from policies import small_files

ORDER = ["Mini-T0", "Mini-T1"]
TEXTS = ["put the bowl on the plate", "open the drawer", "close it"]
KEYS = small_files.observations(np.random.default_rng(0), 1)


def kept(folder, kind=little.Standin, act="mean", method="policies.training.little:LEARNER", stage=0, **network):
    """Writes a checkpoint of a learner whose output is far from constant; gives its network."""
    streams = Streams(1)
    actor = Actor.made(little.profile(0.2, **network), stream(5, 9))
    with seeded(torch.Generator().manual_seed(3)), torch.no_grad():
        for parameter in actor.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    learner = kind(actor, little.Settings(), streams.learner)
    about = {
        "kind": "stage",
        "method": method,
        "settings": {"share": 0.5, "names": []},
        "profile": actor.profile.as_dict(),
        "senses": Senses(little.INPUTS, "hashing", little.WORDS.name).as_dict(),
        "order": ORDER,
        "seed": 0,
        "stage": stage,
        "act": act,
    }
    write(folder / f"stage-{stage:02d}", Checkpoint(about, learner.structure(), learner.state_dict()))
    return actor.eval()


def shown(rows=3, seed=0):
    """Observations of several episodes."""
    return small_files.observations(np.random.default_rng(seed), rows)


def row(observations, number):
    return {key: value[number : number + 1] for key, value in observations.items()}


class Untouched(dict):
    """Observations that may not be read."""

    def __getitem__(self, key):
        raise AssertionError(f"{key} was read between two looks")

    keys = values = items = __getitem__


@pytest.mark.parametrize("act", ["mean", "sample"])
@pytest.mark.parametrize("history", [1, 2])
@pytest.mark.parametrize("head", ["gmm", "l1"])
def test_it_keeps_the_contract_of_policies(tmp_path, act, history, head):
    kept(tmp_path, act=act, history=history, head=head)
    space = spaces.Dict({key: spaces.Box(-1, 1, value.shape[1:], np.float64) for key, value in KEYS.items()})
    check_policy(Trained(str(tmp_path)), space, spaces.Box(-1, 1, (7,), np.float32), TEXTS, tolerance=0.0)


def test_a_chunk_is_played_in_part_and_nothing_is_read_in_between(tmp_path):
    actor = kept(tmp_path, history=1)
    policy = Trained(str(tmp_path))
    state = policy.start(TEXTS[:2], [0, 1])
    first = shown(2)
    played = []
    one, state = policy.act(first, state)
    played.append(one)
    two, state = policy.act(Untouched(), state)
    played.append(two)
    inputs = {name: torch.from_numpy(value)[:, None] for name, value in little.INPUTS(first).items()}
    with torch.no_grad():
        chunk = actor(inputs, little.WORDS(TEXTS[:2])).mean[:, 0].numpy().clip(-1, 1)
    for number in range(2):
        np.testing.assert_allclose(played[number], chunk[:, number], atol=1e-6)
    second = shown(2, seed=5)
    three, _ = policy.act(second, state)
    inputs = {name: torch.from_numpy(value)[:, None] for name, value in little.INPUTS(second).items()}
    with torch.no_grad():
        chunk = actor(inputs, little.WORDS(TEXTS[:2])).mean[:, 0].numpy().clip(-1, 1)
    np.testing.assert_allclose(three, chunk[:, 0], atol=1e-6)


def test_it_looks_back_over_as_many_steps_as_in_training_and_no_further(tmp_path):
    actor = kept(tmp_path, history=3, executed=1)
    policy = Trained(str(tmp_path))
    state = policy.start(TEXTS[:1], [0])
    steps = [shown(1, seed) for seed in range(5)]
    for number, step in enumerate(steps):
        action, state = policy.act(step, state)
        window = steps[max(number - 2, 0) : number + 1]
        inputs = little.INPUTS({key: np.concatenate([one[key] for one in window]) for key in step})
        with torch.no_grad():
            density = actor(
                {name: torch.from_numpy(value)[None] for name, value in inputs.items()}, little.WORDS(TEXTS[:1])
            )
        np.testing.assert_allclose(action[0], density.mean[0, -1, 0].numpy().clip(-1, 1), atol=1e-6)
    assert {value.shape[0] for value in state[0].seen.values()} == {3}


def test_what_was_seen_while_a_chunk_was_played_is_remembered(tmp_path):
    kept(tmp_path, history=2, executed=2)
    policy = Trained(str(tmp_path))
    state = policy.start(TEXTS[:1], [0])
    for seed in range(2):
        _, state = policy.act(shown(1, seed), state)
    third, _ = policy.act(shown(1, 2), state)
    other = policy.start(TEXTS[:1], [0])
    for seed in (0, 9):
        _, other = policy.act(shown(1, seed), other)
    assert not np.array_equal(third, policy.act(shown(1, 2), other)[0])


@pytest.mark.parametrize("act", ["mean", "sample"])
def test_an_episode_is_the_same_in_any_batch_to_the_last_bit(tmp_path, act):
    kept(tmp_path, act=act)
    policy = Trained(str(tmp_path))
    together = policy.start(TEXTS, [3, 4, 5])
    alone = [policy.start([text], [seed]) for text, seed in zip(TEXTS, (3, 4, 5), strict=True)]
    for step in range(5):
        observations = shown(seed=step)
        actions, together = policy.act(observations, together)
        for number in range(3):
            mine, alone[number] = policy.act(row(observations, number), alone[number])
            assert np.array_equal(mine[0], actions[number])
            assert np.array_equal(
                policy.mean_action(observations, together)[number],
                policy.mean_action(row(observations, number), alone[number])[0],
            )
    assert policy.notes(together) == [policy.notes(one)[0] for one in alone]


def test_draws_come_from_the_episodes_seed_and_differ_from_look_to_look(tmp_path):
    kept(tmp_path, act="sample", history=1)
    policy = Trained(str(tmp_path))

    def actions(seed):
        state, found = policy.start(TEXTS[:1], [seed]), []
        for _ in range(4):
            action, state = policy.act(shown(1), state)
            found.append(action)
        return np.concatenate(found)

    one = actions(7)
    assert np.array_equal(one, actions(7))
    assert not np.array_equal(one, actions(8))
    assert not np.array_equal(one[0], one[2])
    assert np.array_equal(
        Trained(str(tmp_path), act="mean").act(shown(1), policy.start(TEXTS[:1], [1]))[0][0],
        Trained(str(tmp_path), act="mean").act(shown(1), policy.start(TEXTS[:1], [2]))[0][0],
    )


def test_an_l1_head_gives_a_mean_action_and_no_density(tmp_path):
    kept(tmp_path, head="l1")
    policy = Trained(str(tmp_path))
    assert not hasattr(policy, "log_prob")
    assert "set, not learned" in policy.no_log_prob
    assert policy.mean_action(shown(), policy.start(TEXTS, [0, 1, 2])).shape == (3, 7)


def test_the_density_is_that_of_the_first_action(tmp_path):
    actor = kept(tmp_path, head="gmm")
    policy = Trained(str(tmp_path))
    state, observations = policy.start(TEXTS, [0, 1, 2]), shown()
    given = np.random.default_rng(1).uniform(-1, 1, (3, 7)).astype(np.float32)
    inputs = {name: torch.from_numpy(value)[:, None] for name, value in little.INPUTS(observations).items()}
    with torch.no_grad():
        density = actor(inputs, little.WORDS(TEXTS))
        wanted = density.log_prob(torch.from_numpy(given)[:, None, None].expand(3, 1, 3, 7))[:, 0, 0]
    assert not policy.no_log_prob
    np.testing.assert_allclose(policy.log_prob(observations, state, given), wanted.numpy(), rtol=1e-5)
    np.testing.assert_allclose(policy.mean_action(observations, state), density.mean[:, 0, 0].clip(-1, 1), atol=1e-6)


def test_words_and_scenes_reach_the_network(tmp_path):
    kept(tmp_path)
    policy = Trained(str(tmp_path))
    one, two = (policy.mean_action(shown(1), policy.start([text], [0])) for text in TEXTS[:2])
    assert not np.allclose(one, two)
    assert not np.allclose(one, policy.mean_action(shown(1, 4), policy.start(TEXTS[:1], [0])))
    empty = policy.mean_action(shown(1), policy.start([""], [0]))
    assert np.isfinite(empty).all()
    assert not np.allclose(empty, one)


def test_it_acts_through_the_learners_route_and_leaves_no_trace_of_it(tmp_path):
    actor = kept(tmp_path, little.Halving, method="policies.training.little:Halving")
    policy = Trained(str(tmp_path))
    inputs = {name: torch.from_numpy(value)[:, None] for name, value in little.INPUTS(shown(1)).items()}
    with torch.no_grad(), changed(actor, lambda site, x, y: y / 2):
        wanted = actor(inputs, little.WORDS(TEXTS[:1])).mean[0, 0, 0].numpy()
    np.testing.assert_allclose(policy.mean_action(shown(1), policy.start(TEXTS[:1], [0]))[0], wanted, atol=1e-6)
    assert all(site.change is None for site in policy._learner.actor.sites.values())


def told(folder, **options):
    kept(folder, little.Told, method="policies.training.little:Told", **options)
    return Trained(str(folder))


def test_a_learner_that_needs_the_task_is_told_the_scenes_own(tmp_path):
    policy = told(tmp_path)
    assert policy.needs_task_identity
    state = policy.start(TEXTS[:2], [0, 1], tasks=["Mini-T1", "Mini-T0"])
    _, state = policy.act(shown(2), state)
    assert [note["slot"] for note in policy.notes(state)] == [1, 0]
    with pytest.raises(PolicyError, match="told was never trained on Mini-T7; it knows Mini-T0, Mini-T1"):
        policy.start(TEXTS[:1], [0], tasks=["Mini-T7"])
    with pytest.raises(PolicyError, match="needs the task of each scene"):
        policy.start(TEXTS[:1], [0])


def test_another_learner_is_not_told_the_task(tmp_path):
    kept(tmp_path)
    policy = Trained(str(tmp_path))
    assert not policy.needs_task_identity
    assert [one.task for one in policy.start(TEXTS[:2], [0, 1], tasks=ORDER)] == [None, None]


def test_notes_say_how_an_episode_was_routed(tmp_path):
    kept(tmp_path, history=1)
    policy = Trained(str(tmp_path))
    state = policy.start(TEXTS[1:], [0, 1])
    assert policy.notes(state) == [{}] * 2
    for step in range(4):
        _, state = policy.act(shown(2, step), state)
    slots = [1, 0]
    expected = {"slot_changes": 0, "coefficients.film": [0.25, 0.25], "sure": 1.0}
    assert policy.notes(state) == [{**expected, "slot": slot} for slot in slots]
    assert policy.remarks(state) == [f"slot {slot}; look 2, 0 actions to go" for slot in slots]


def test_notes_count_what_was_most_frequent_and_how_often_it_changed():
    one = Told()
    for slot, share in ((2, 0.0), (1, 0.5), (1, 1.0), (2, 0.5)):
        before, one = one, one.after({"slot": torch.tensor(slot), "share": torch.tensor(share)})
        assert before.looks == one.looks - 1
    assert one.notes() == {"slot": 1, "slot_changes": 2, "share": 0.5}


def test_acting_changes_nothing_and_draws_from_no_global_stream(tmp_path):
    kept(tmp_path, act="sample")
    policy = Trained(str(tmp_path))
    before = copy.deepcopy(policy._learner.state_dict())
    numbers = torch.get_rng_state()
    state = policy.start(TEXTS, [0, 1, 2])
    for step in range(3):
        _, state = policy.act(shown(3, step), state)
    assert little.equal(before, policy._learner.state_dict())
    assert torch.equal(numbers, torch.get_rng_state())


def test_a_stage_is_chosen_and_the_last_one_is_the_default(tmp_path):
    kept(tmp_path, act="mean")
    kept(tmp_path, act="sample", stage=1)
    name = "gym_grounding_policies.trained:Trained"
    source = PolicySource(name, {"run": str(tmp_path)})
    assert source.get(0, 0)._act == "mean"
    assert source.get(1, 0)._act == "sample"
    assert Trained(str(tmp_path))._act == "sample"
    assert Trained(str(tmp_path / "stage-00"))._act == "mean"
    assert (
        Trained(str(tmp_path.parent / "{seed}" / tmp_path.name).replace("{seed}/", ""), seed=0, act="mean")._act
        == "mean"
    )
    assert as_policy(source.get(1, 0)).observation == "state"


def test_what_does_not_fit_is_refused(tmp_path):
    kept(tmp_path)
    with pytest.raises(PolicyError, match="was trained with seed 0, not 3; give --seeds 0"):
        Trained(str(tmp_path), stage=0, seed=3)
    with pytest.raises(PolicyError, match="is the checkpoint of stage 0, not 4"):
        Trained(str(tmp_path / "stage-00"), stage=4)
    with pytest.raises(CorruptRun, match="stage-05: holds no checkpoint"):
        Trained(str(tmp_path), stage=5)
    with pytest.raises(PolicyError, match="train first"):
        Trained(str(tmp_path / "nothing"))
    with pytest.raises(InvalidOption, match="act is 'guess'; choose sample or mean"):
        Trained(str(tmp_path), act="guess")
    with pytest.raises(InvalidOption, match="device is 'cuda:99', on which nothing can be computed here"):
        Trained(str(tmp_path), device="cuda:99")
    kept(tmp_path / "odd", act="none")
    with pytest.raises(InvalidOption, match="act is 'none'; choose sample or mean"):
        Trained(str(tmp_path / "odd"))


def test_another_sentence_encoder_is_refused(tmp_path):
    kept(tmp_path)
    little.edit(tmp_path / "stage-00", lambda text: text["about"]["senses"].update(version="hashing-65"))
    with pytest.raises(WrongVersion, match="trained with the sentence encoder hashing-65, here is hashing-64"):
        Trained(str(tmp_path))


@pytest.mark.parametrize("name", ["senses", "order", "act", "profile"])
def test_what_a_checkpoint_does_not_say_is_named(tmp_path, name):
    kept(tmp_path)
    little.edit(tmp_path / "stage-00", lambda text: text["about"].pop(name))
    with pytest.raises(CorruptRun, match=rf"stage-00/{FILE}: says something that cannot be \(.*{name}"):
        Trained(str(tmp_path))


def test_senses_survive_json():
    one = Senses(little.INPUTS, "hashing", "hashing-64")
    assert Senses.from_dict(one.as_dict()) == one
    assert Senses.from_dict(replace(one, inputs=None).as_dict()).observation == "pixels"
    with pytest.raises(InvalidOption, match="no senses of a policy"):
        Senses.from_dict({})

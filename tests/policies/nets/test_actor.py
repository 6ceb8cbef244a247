"""The actor of both profiles: sizes, inputs, losses, queries, repeatability, precision."""

import copy
import json
from dataclasses import replace

import pytest

from gym_grounding.errors import InvalidOption, UnknownName

torch = pytest.importorskip("torch")
from gym_grounding_policies.nets.actor import Actor, Tokens, frozen  # noqa: E402  # needs torch
from gym_grounding_policies.nets.draws import seeded  # noqa: E402
from gym_grounding_policies.nets.film import Film  # noqa: E402
from gym_grounding_policies.nets.lora import Lora, whole_places  # noqa: E402
from gym_grounding_policies.nets.profiles import PAPER, UNUSED_PROJECTION, Head, Profile, cpu  # noqa: E402
from gym_grounding_policies.nets.sites import GROUPS, Site, changed  # noqa: E402


def source(seed=0):
    return torch.Generator().manual_seed(seed)


def test_the_published_actor_has_the_published_size(published):
    assert published.sizes() == {
        "image": 85_799_424,
        "text": 63_428_096,
        "proprio": 8_448,
        "film": 526_080,
        "temporal": 23_626_752,
        "head": 347_723,
    }
    assert sum(published.sizes().values()) + UNUSED_PROJECTION == 174_130_251
    assert tuple(published.groups) == GROUPS
    assert published.inputs == ("joint", "gripper", "agentview", "eye_in_hand")


def test_a_density_for_every_step_and_action(actor, batch, tiny):
    density = actor(batch.observations, batch.words)
    chunk = actor.profile.head.chunk
    assert actor.features(batch.observations, batch.words).shape == (tiny.rows, tiny.steps, 16)
    assert density.mean.shape == density.sample(source()).shape == (tiny.rows, tiny.steps, chunk, 7)
    assert density.log_prob(batch.actions).shape == (tiny.rows, tiny.steps, chunk)
    assert float(density.mean.detach().abs().max()) <= 1


def test_every_parameter_learns_and_every_linear_layer_is_a_site(actor, batch):
    actor.nll(batch).backward()
    dead = [name for name, one in actor.named_parameters() if one.grad is None or not bool(one.grad.any())]
    # Softmax does not see a constant in the keys, and only one row of a position table or a vocabulary is used.
    assert all(name.endswith("attention.k.bias") for name in dead), dead
    linear = {name for name, one in actor.named_modules() if isinstance(one, torch.nn.Linear)}
    assert linear == set(actor.sites)
    assert all(isinstance(site, Site) and site.name == name for name, site in actor.sites.items())


def test_uncounted_actions_do_not_matter(actor, batch):
    loss = actor.nll(batch)
    batch.actions[batch.weight == 0] = 0.9
    torch.testing.assert_close(actor.nll(batch), loss)
    batch.actions[batch.weight == 1] = 0.9
    assert not torch.allclose(actor.nll(batch), loss)


def test_the_sentence_gives_a_shift_then_a_scale():
    film = Film(3, 4, 5)
    tokens, sentence = torch.randn(2, 3, 2, 5, generator=source()), torch.randn(2, 3, generator=source(1))
    inner = torch.nn.functional.gelu(film.inner(sentence), approximate="tanh")
    both = film.outer(inner)
    for row in range(2):
        wanted = (1 + both[row, 5:]) * tokens[row] + both[row, :5]
        torch.testing.assert_close(film(tokens, sentence)[row], wanted)


def test_the_words_act_on_every_step(actor, batch):
    before = actor.features(batch.observations, batch.words)
    words = {key: value.roll(1, 0) for key, value in batch.words.items()}
    after = actor.features(batch.observations, words)
    assert not torch.isclose(after, before).all(-1).any()


def test_tokens_of_single_steps_can_be_queued(actor, batch, tiny):
    whole = actor.features(batch.observations, batch.words)
    queue = [
        actor.tokens({key: value[:, step : step + 1] for key, value in batch.observations.items()}, batch.words)
        for step in range(tiny.steps)
    ]
    present = None if queue[0].present is None else torch.cat([one.present for one in queue], 1)
    joined = Tokens(torch.cat([one.values for one in queue], 1), present)
    torch.testing.assert_close(actor.read(joined), whole, atol=1e-5, rtol=1e-5)


def test_parts_for_routers(actor, batch, tiny):
    parts = actor.query_parts(batch.observations, batch.words)
    wanted = {
        "paper": {"sentence": 6, "agentview": 16, "eye_in_hand": 16, "joint": 7, "gripper": 2},
        "cpu": {"sentence": 6, "scene": 16, "features": 16, "proprio": 5},
    }[actor.profile.name]
    assert {name: tuple(one.shape) for name, one in parts.items()} == {
        name: (tiny.rows, tiny.steps, size) for name, size in wanted.items()
    }
    for name, _ in actor.profile.proprio:
        assert torch.equal(parts[name], batch.observations[name])


def test_inside_frozen_the_actor_is_the_base_policy(actor, batch):
    with torch.no_grad():
        base = actor.features(batch.observations, batch.words)
    actor.train()
    actor.head.eval()
    lora = Lora(whole_places(actor.sites.values(), 2, 2), actor.sites, source())
    for one in lora.parameters():
        one.data += 0.5
    with changed(actor, lora), frozen(actor):
        inside = actor.features(batch.observations, batch.words)
    assert torch.equal(inside, base)
    assert not inside.requires_grad
    assert actor.training
    assert actor.temporal.training
    assert not actor.head.training


def test_first_weights_come_from_the_generator_alone(kind, tiny):
    profile = tiny.profiles[kind]
    before = torch.get_rng_state()
    one, same, other = (Actor.made(profile, source(seed)) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    for name, value in one.state_dict().items():
        assert torch.equal(value, same.state_dict()[name])
    assert not torch.equal(one.head.means.weight, other.head.means.weight)


def test_dropout_repeats_with_the_generator_and_leaves_torchs_own_alone(actor, batch):
    actor.train()
    before = torch.get_rng_state()

    def losses(generator):
        found = []
        for _ in range(2):
            with seeded(generator):
                found.append(float(actor.nll(batch).detach()))
        return found

    first = losses(source(3))
    assert losses(source(3)) == first
    assert losses(source(4)) != first
    assert first[0] != first[1]
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_mixed_precision(actor, batch, precision):
    full = actor.nll(batch)
    lora = Lora(whole_places(actor.sites.values(), 2, 2), actor.sites, source())
    with torch.autocast("cpu", dtype=getattr(torch, precision)), changed(actor, lora):
        density = actor(batch.observations, batch.words)
        loss = density.nll(batch.actions, batch.weight)
    loss.backward()
    assert density.mean.dtype == loss.dtype == torch.float32
    assert loss.item() == pytest.approx(full.item(), abs=0.1)
    assert all(bool(one.grad.isfinite().all()) for one in actor.parameters() if one.grad is not None)
    assert all(one.grad is not None for one in lora.parameters())


def test_the_small_actor_compiles_as_one_graph(tiny):
    actor, batch = Actor.made(tiny.profiles["cpu"], source()).eval(), tiny.window("cpu")
    compiled = torch.compile(actor.features, backend="eager", fullgraph=True)
    torch.testing.assert_close(
        compiled(batch.observations, batch.words), actor.features(batch.observations, batch.words)
    )


def test_given_numbers_are_scaled(tiny):
    actor, batch = Actor.made(tiny.profiles["cpu"], source()).eval(), tiny.window("cpu")
    before = actor.features(batch.observations, batch.words)
    mean, deviation = torch.arange(5.0), torch.tensor([1.0, 2.0, 3.0, 4.0, 0.0])
    actor.set_scaling({"proprio": (mean, deviation)})
    deviation[4] = 1
    moved = {**batch.observations, "proprio": batch.observations["proprio"] * deviation + mean}
    torch.testing.assert_close(actor.features(moved, batch.words), before, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(
        actor.query_parts(moved, batch.words)["proprio"], batch.observations["proprio"], atol=1e-5, rtol=1e-5
    )
    assert torch.equal(actor.state_dict()["proprio.proprio.scaling.mean"], mean)
    with pytest.raises(UnknownName, match=r"No scaled input 'token'\. Did you mean 'tokens'"):
        actor.set_scaling({"token": (mean, mean)})
    with pytest.raises(InvalidOption, match="needs 5 finite numbers"):
        actor.set_scaling({"proprio": (mean[:3], mean[:3])})
    with pytest.raises(UnknownName, match="No scaled input 'joint'"):
        Actor.made(tiny.profiles["paper"], source()).set_scaling({"joint": (torch.zeros(7), torch.ones(7))})


def test_each_camera_has_a_scaling_and_layers_of_its_own(tiny):
    actor, batch = Actor.made(tiny.profiles["cpu"], source()).eval(), tiny.window("cpu")
    before = actor.stored(batch.observations["features"])
    assert before.shape == (4, 3, 2, 16)
    swapped = actor.stored(batch.observations["features"].flip(2))
    assert not torch.isclose(before.flip(2), swapped, atol=1e-4).all(-1).any()
    mean, deviation = torch.arange(14.0).reshape(2, 7), 1 + torch.arange(14.0).reshape(2, 7)
    actor.set_scaling({"features": (mean, deviation)})
    torch.testing.assert_close(
        actor.stored(batch.observations["features"] * deviation + mean), before, atol=1e-5, rtol=1e-5
    )
    with pytest.raises(InvalidOption, match="needs 2 x 7 finite numbers"):
        actor.set_scaling({"features": (mean[0], deviation[0])})


def test_inputs_are_selectable(tiny):
    given = tiny.window("cpu")
    for objects, features in ((6, None), (0, (2, 7)), (0, None)):
        profile = cpu(5, objects, 6, features, width=16, chunk=4, executed=1, head="l1")
        actor = Actor.made(profile, source()).eval()
        observations = {name: given.observations[name] for name in actor.inputs}
        assert actor(observations, given.words).mean.shape == (4, 3, 4, 7)
        assert set(actor.query_parts(observations, given.words)) >= {"sentence", "proprio"}


def test_a_missing_input_is_named(actor, batch):
    name = actor.inputs[-1]
    del batch.observations[name]
    for call in (actor.tokens, actor.query_parts):
        with pytest.raises(InvalidOption, match=f"missing: {name}"):
            call(batch.observations, batch.words)


def test_a_copy_has_its_own_sites(actor, batch):
    other = copy.deepcopy(actor)
    assert all(site is other.get_submodule(name) for name, site in other.sites.items())
    assert all(site is not actor.sites[name] for name, site in other.sites.items())


def test_profiles_survive_json(kind, tiny):
    for profile in (tiny.profiles[kind], PAPER, cpu(9, 20)):
        assert Profile.from_dict(json.loads(json.dumps(profile.as_dict()))) == profile


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"head": Head("mlp")}, "choose gmm or l1"),
        ({"executed": 11}, "executed is 11; must be 1 to chunk=10"),
        ({"width": 90}, "must divide by 4 heads"),
        ({"width": 33}, "must be even"),
        ({"sentence": 0}, "no language"),
        ({"proprio": ()}, "proprio is empty"),
        ({"history": 0}, "history is 0"),
    ],
)
def test_profiles_that_do_not_fit(changes, message):
    with pytest.raises(InvalidOption, match=message):
        replace(cpu(5, 6), **changes)


def test_a_profile_with_foreign_fields_cannot_be_read():
    for data in ({**PAPER.as_dict(), "depth": 3}, {"name": "x"}, {**PAPER.as_dict(), "head": {"modes": 3, "tanh": 1}}):
        with pytest.raises(InvalidOption, match="cannot be read"):
            Profile.from_dict(data)

"""Adapters at the actor's sites: nothing at first, one set for all, one per sample, mixtures, full copies."""

import copy

import pytest

from gym_grounding.errors import InvalidOption

torch = pytest.importorskip("torch")
from gym_grounding_policies.nets.changes import Chosen, Copies, Mixed  # noqa: E402  # needs torch
from gym_grounding_policies.nets.draws import seeded  # noqa: E402
from gym_grounding_policies.nets.lora import Lora, Place, orthogonalise, query_value_places, whole_places  # noqa: E402
from gym_grounding_policies.nets.sites import GROUPS, Together, changed  # noqa: E402
from policies.learners.plain_loop import additions_are_not_zero_at_first  # noqa: E402

FILM = "film.outer"


def source(seed=0):
    return torch.Generator().manual_seed(seed)


def whole(actor, seed=0, trained=True, rank=2):
    """Additions at every site; trained ones are not zero."""
    lora = Lora(whole_places(actor.sites.values(), rank, alpha=4), actor.sites, source(seed))
    return disturbed(lora, seed) if trained else lora


def disturbed(module, seed=0):
    draw = source(seed + 100)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=draw)
    return module


def numbers(actor, batch, change=None):
    with torch.no_grad(), changed(actor, change):
        density = actor(batch.observations, batch.words)
    return torch.cat([density.logits.flatten(1), density.means.flatten(1), density.scales.flatten(1)], 1)


def row(batch, number):
    cut = slice(number, number + 1)
    short = copy.copy(batch)
    short.observations = {key: value[cut] for key, value in batch.observations.items()}
    short.words = {key: value[cut] for key, value in batch.words.items()}
    return short


def check_new_adapters(actor, batch):
    """New ones change no bit of the outputs, alone, together, chosen or mixed; others do."""
    plain = numbers(actor, batch)
    whole_set = whole(actor, trained=False)
    ranks = dict.fromkeys(GROUPS, 3)
    attention = Lora(query_value_places(actor.sites, ranks, alpha=8), actor.sites, source(1))
    copies = Copies(actor.sites.values())
    which = torch.tensor([0, 1, 1, 0])
    changes = [whole_set, attention, copies, Together(attention, whole_set, copies)]
    changes += [Chosen([attention, attention], which), Chosen([copies, copies], which * 0 + 1)]
    changes.append(Mixed([whole_set, whole(actor, 2, False)], dict.fromkeys(GROUPS, torch.rand(4, 2))))
    for change in changes:
        assert torch.equal(numbers(actor, batch, change), plain)
    assert not torch.equal(numbers(actor, batch, whole(actor)), plain)


def test_new_adapters_change_no_bit(actor, batch):
    check_new_adapters(actor, batch)


def copies_are_rounded(patch):
    made = Copies.__init__

    def rounded(self, sites):
        made(self, sites)
        for one in self.weight.values():
            one.data = one.data.bfloat16().float()

    patch.setattr(Copies, "__init__", rounded)


def mixtures_change_the_layer(patch):
    mixed = Lora.mixed
    patch.setattr(Lora, "mixed", lambda sets, kept, site, x, y: mixed(sets, kept, site, x, y * (1 + 1e-6)))


def nothing_is_added(patch):
    patch.setattr(Lora, "forward", lambda self, site, x, y: y)


@pytest.mark.parametrize(
    "fault",
    [additions_are_not_zero_at_first, copies_are_rounded, mixtures_change_the_layer, nothing_is_added],
)
def test_new_adapters_that_change_something_are_found(actor, batch, fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_new_adapters(actor, batch)


def test_a_change_ends_with_its_context(actor, batch):
    plain, lora = numbers(actor, batch), whole(actor)
    with changed(actor, lora):
        inside = actor.sites[FILM].change
        assert not any("change" in name for name in actor.state_dict())
        with changed(actor, None):
            assert torch.equal(numbers(actor, batch), plain)
        assert actor.sites[FILM].change is inside
        with pytest.raises(ZeroDivisionError), changed(actor, whole(actor, 1)):
            raise ZeroDivisionError
        assert actor.sites[FILM].change is inside is lora
    assert all(site.change is None for site in actor.sites.values())


def check_merged(actor, batch):
    """A network with the additions built in gives what the change gives, and not what the plain one does."""
    attention = disturbed(Lora(query_value_places(actor.sites, dict.fromkeys(GROUPS, 3), 8), actor.sites, source(1)))
    for lora in (whole(actor), attention):
        merged = copy.deepcopy(actor)
        for name, site in merged.sites.items():
            assert site is merged.get_submodule(name)
            site.weight.data = lora.merged(actor.sites[name])
        torch.testing.assert_close(numbers(merged, batch), numbers(actor, batch, lora), atol=1e-4, rtol=1e-4)
        assert not torch.allclose(numbers(merged, batch), numbers(actor, batch), atol=1e-2)


def test_merged_weights_equal_the_change(actor, batch):
    check_merged(actor, batch)


def the_scale_is_not_merged(patch):
    def merged(self, site):
        weight = site.weight.detach().clone()
        for place, rows in self.at(site):
            weight[rows] += (self.B[place.key] @ self.A[place.key]).detach()
        return weight

    patch.setattr(Lora, "merged", merged)


def merged_at_the_first_rows(patch):
    def merged(self, site):
        weight = site.weight.detach().clone()
        for place, rows in self.at(site):
            delta = place.scale * (self.B[place.key] @ self.A[place.key]).detach()
            weight[: rows.stop - rows.start] += delta
        return weight

    patch.setattr(Lora, "merged", merged)


def nothing_is_merged_or_added(patch):
    patch.setattr(Lora, "merged", lambda self, site: site.weight.detach().clone())
    nothing_is_added(patch)


@pytest.mark.parametrize("fault", [the_scale_is_not_merged, merged_at_the_first_rows, nothing_is_merged_or_added])
def test_other_merged_weights_are_found(actor, batch, fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_merged(actor, batch)


def test_the_addition_is_scale_times_b_a_at_its_rows_only(actor):
    site = actor.sites["temporal.blocks.1.attention.qkv"]
    lora = disturbed(Lora([Place(site.name, "v", 2, alpha=6)], actor.sites, source()))
    x = torch.randn(2, 5, 16, generator=source(1))
    key = "temporal/blocks/1/attention/qkv:v"
    by_hand = 3 * x @ lora.A[key].T @ lora.B[key].T
    with changed(actor, lora):
        after = site(x)
    torch.testing.assert_close(after[..., 32:] - site(x)[..., 32:], by_hand, atol=1e-5, rtol=1e-4)
    assert torch.equal(after[..., :32], site(x)[..., :32])
    torch.testing.assert_close(lora.delta(site.name, "v", x), by_hand)


@pytest.mark.parametrize("make", [whole, lambda actor, seed: disturbed(Copies(actor.sites.values()), seed)])
def test_each_sample_has_its_own_set(actor, batch, make):
    sets = [make(actor, seed) for seed in range(3)]
    which = [2, 0, 2, 2]
    together = numbers(actor, batch, Chosen(sets, torch.tensor(which)))
    for number, chosen in enumerate(which):
        alone = numbers(actor, row(batch, number), sets[chosen])
        torch.testing.assert_close(together[number : number + 1], alone, atol=1e-4, rtol=1e-4)


def test_only_sets_that_are_used_and_free_get_gradients(actor, batch):
    sets = [whole(actor, seed) for seed in range(3)]
    sets[0].requires_grad_(False)
    actor.requires_grad_(False)
    with changed(actor, Chosen(sets, torch.tensor([0, 2, 0, 2]))):
        actor.nll(batch).backward()
    assert all(one.grad is None for number in (0, 1) for one in sets[number].parameters())
    assert all(one.grad is not None and bool(one.grad.any()) for one in sets[2].parameters())
    assert all(one.grad is None for one in actor.parameters())


def test_a_mixture_averages_a_and_b_apart(actor):
    sets = [whole(actor, seed) for seed in range(2)]
    site, key = actor.sites[FILM], "film/outer:all"
    coefficients = torch.tensor([[0.7, 0.0], [1.5, 0.4], [0.0, 0.0]])
    x = torch.randn(3, site.in_features, generator=source(5))
    with changed(actor, Mixed(sets, {"film": coefficients})):
        after = site(x)
    for number, weights in enumerate(coefficients):
        up = sum(weight * one.B[key] for weight, one in zip(weights, sets, strict=True))
        down = sum(weight * one.A[key] for weight, one in zip(weights, sets, strict=True))
        torch.testing.assert_close(after[number], site(x)[number] + 2 * up @ (down @ x[number]), atol=1e-4, rtol=1e-4)


def test_one_set_with_coefficient_w_contributes_w_squared(actor, batch):
    lora = whole(actor)
    ones = dict.fromkeys(GROUPS, torch.ones(4, 1))
    torch.testing.assert_close(
        numbers(actor, batch, Mixed([lora], ones)), numbers(actor, batch, lora), atol=1e-4, rtol=1e-4
    )
    half = {group: 0.5 * one for group, one in ones.items()}
    quarter = copy.deepcopy(lora)
    for parameter in quarter.B.values():
        parameter.data *= 0.25
    torch.testing.assert_close(
        numbers(actor, batch, Mixed([lora], half)), numbers(actor, batch, quarter), atol=1e-4, rtol=1e-4
    )


def test_a_mixture_leaves_other_groups_alone(actor):
    x = torch.randn(4, 8 if "film.inner" not in actor.sites else actor.sites["film.inner"].in_features)
    site = actor.sites["film.inner"]
    with changed(actor, Mixed([whole(actor)], {"head": torch.ones(4, 1)})):
        assert torch.equal(site(x), torch.nn.functional.linear(x, site.weight, site.bias))


def test_coefficients_drop_out_in_training_only_and_repeat_with_the_seed(actor):
    site = actor.sites[FILM]
    x = torch.randn(6, site.in_features, generator=source())

    def once(seed):
        with seeded(source(seed)), changed(actor, Mixed([whole(actor)], {"film": torch.ones(6, 1)}, dropout=0.5)):
            return site(x)

    assert torch.equal(once(0), once(1))
    actor.train()
    assert torch.equal(once(0), once(0))
    assert not torch.equal(once(0), once(1))


def test_first_values(actor):
    site = actor.sites[FILM]
    places = whole_places([site], rank=4, alpha=4)
    plain, pooled = Lora(places, actor.sites, source()), Lora(places, actor.sites, source(), pooled=True)
    largest = float(plain.A["film/outer:all"].detach().abs().max())
    assert 0.8 * site.in_features**-0.5 < largest <= site.in_features**-0.5
    torch.testing.assert_close(pooled.A["film/outer:all"], plain.A["film/outer:all"] / 2)
    assert not any(bool(one.any()) for one in plain.B.values())
    assert torch.equal(Lora(places, actor.sites, source()).A["film/outer:all"], plain.A["film/outer:all"])


def test_a_later_set_starts_orthogonal_to_all_earlier_ones(actor):
    earlier = [whole(actor, seed) for seed in range(3)]
    new = whole(actor, 3)
    orthogonalise(new, earlier, source(9))
    for key, value in new.A.items():
        assert float(value.detach().norm()) == pytest.approx(1, abs=1e-5)
        for one in earlier:
            assert abs(float((value * one.A[key]).detach().sum())) < 1e-5 * float(one.A[key].detach().norm())
    assert not any(bool(one.any()) for one in new.B.values())
    small = [Place("head.logits", "all", 1, 1.0)]
    sets = [Lora(small, actor.sites, source(seed)) for seed in range(20)]
    with pytest.raises(InvalidOption, match="leave no direction"):
        orthogonalise(sets[0], sets[1:], source())


@pytest.mark.parametrize(
    ("place", "message"),
    [
        (Place("nowhere", "all", 2, 2.0), "no part 'all' of a site 'nowhere'"),
        (Place(FILM, "q", 2, 2.0), "no part 'q' of a site 'film.outer'; known: all"),
        (Place(FILM, "all", 0, 2.0), "rank must be at least 1"),
    ],
)
def test_places_that_are_none(actor, place, message):
    with pytest.raises(InvalidOption, match=message):
        Lora([place], actor.sites, source())


def test_adapter_sizes_of_the_published_methods(published):
    def count(module):
        return sum(parameter.numel() for parameter in module.parameters())

    upper = {"image": 6, "text": 6}
    ranks = {"image": 8, "text": 8}
    towers = query_value_places(published.sites, ranks, 16, upper)
    temporal = query_value_places(published.sites, {"temporal": 16}, 16)
    small = [site for group in ("proprio", "film", "head") for site in published.groups[group]]
    assert count(Lora(towers + temporal, published.sites, source())) == 540_672
    assert count(Copies(small)) == 882_251
    pooled = query_value_places(published.sites, ranks | {"temporal": 8}, 8, upper)
    assert count(Lora(pooled, published.sites, source(), pooled=True)) == 393_216
    expert = towers + temporal + whole_places(small, 16, 16)
    assert count(Lora(expert, published.sites, source())) == 652_608

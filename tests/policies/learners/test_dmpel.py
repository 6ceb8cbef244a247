"""Experts, their router, and what it is reminded of."""

import copy

import pytest

from gym_grounding.errors import InvalidOption

torch = pytest.importorskip("torch")
from gym_grounding_policies.learners import dmpel  # noqa: E402  # needs torch
from gym_grounding_policies.learners._base import LEARN  # noqa: E402
from gym_grounding_policies.learners._queries import query_size, scene_query  # noqa: E402
from gym_grounding_policies.nets.lora import Lora, orthogonalise  # noqa: E402
from gym_grounding_policies.nets.sites import changed  # noqa: E402
from policies.learners.plain_loop import (  # noqa: E402
    PROFILES,
    Loop,
    act,
    additions_are_not_zero_at_first,
    learner,
    same,
    source,
    toy,
    weights,
)

TASKS = [toy(k) for k in range(4)]


def router_says(one, value):
    """Makes the router give one coefficient for everything."""
    with torch.no_grad():
        one.router.outer.weight.zero_()
        one.router.outer.bias.fill_(torch.logit(torch.tensor(value / 2)))


def check_one_expert(value):
    """One expert is plain adapters of the same A, B and scale, here 2, times the squared coefficient."""
    one = Loop(learner("dmpel", dropout=0.0, alpha=4), epochs=1).tasks(TASKS[:1]).eval()
    assert all(bool(up.any()) for up in one.experts[0].B.values())
    router_says(one, value)
    plain = copy.deepcopy(one.experts[0])
    with torch.no_grad():
        for up in plain.B.values():
            up *= value**2
    with changed(one.actor, plain):
        wanted = one.actor.nll(TASKS[0].whole)
    torch.testing.assert_close(one.loss(TASKS[0].whole, LEARN), wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("value", [1.0, 0.5])
def test_one_expert_is_plain_adapters_times_the_squared_coefficient(value):
    check_one_expert(value)


def the_coefficient_counts_once(patch):
    plain = Lora.mixed
    patch.setattr(Lora, "mixed", lambda sets, kept, site, x, y: plain(sets, kept.sqrt(), site, x, y))


def the_scale_is_forgotten(patch):
    plain = Lora.mixed
    patch.setattr(Lora, "mixed", lambda sets, kept, site, x, y: plain(sets, kept / 2**0.5, site, x, y))


def one_group_is_left_out(patch):
    plain = dmpel.Dmpel._mixed

    def mixed(self, kept):
        found = plain(self, kept)
        del found._coefficients["film"]
        return found

    patch.setattr(dmpel.Dmpel, "_mixed", mixed)


@pytest.mark.parametrize(
    ("fault", "value"),
    [(the_coefficient_counts_once, 0.5), (the_scale_is_forgotten, 1.0), (one_group_is_left_out, 1.0)],
)
def test_another_addition_of_one_expert_is_found(fault, value, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_one_expert(value)


def check_isolation(tasks=3):
    """Actor, earlier experts and stored pairs stay to the last bit; replay moves the router only."""
    one, experts, stores, before = learner("dmpel"), [], [], {}
    actor = weights(one.actor)

    def note(one, phase, batch):
        before.update(weights(one))

    def check(one, phase, batch):
        moved = {name.split(".")[0] for name, value in weights(one).items() if not torch.equal(value, before[name])}
        assert moved - {"fit", "best"} <= ({"router"} if phase.replay else {"router", "experts"})

    loop = Loop(one, before=note, watch=check)
    for k in range(tasks):
        loop.tasks([TASKS[k]], k)
        experts.append(weights(one.experts[k]))
        stores.append(weights(one.stores[k]))
        for j in range(k + 1):
            assert same(weights(one.experts[j]), experts[j])
            assert same(weights(one.stores[j]), stores[j])
            padded = one.stores[j].pairs(k + 1).coefficients
            assert padded.shape == (20, 4, k + 1)
            assert torch.equal(padded[..., : j + 1], stores[j]["coefficients"])
            assert not bool(padded[..., j + 1 :].any())
    assert same(weights(one.actor), actor)
    assert loop.phases == ["learn"] + ["learn", "replay"] * (tasks - 1)
    assert any(bool(up.any()) for up in one.experts[-1].B.values())


def test_isolation():
    check_isolation()


def earlier_experts_are_trained(patch):
    patch.setattr(dmpel.Dmpel, "trainable", lambda self, phase: (*self.experts.parameters(), *self.router.parameters()))


def replay_moves_an_expert(patch):
    trainable = dmpel.Dmpel.trainable
    misfit = dmpel.Dmpel._misfit
    patch.setattr(dmpel.Dmpel, "trainable", lambda self, phase: trainable(self, LEARN))
    patch.setattr(
        dmpel.Dmpel,
        "_misfit",
        lambda self, pairs: misfit(self, pairs) + 0 * sum(one.sum() for one in self.experts[-1].parameters()),
    )


def stored_pairs_are_relabelled(patch):
    end = dmpel.Dmpel.end_phase

    def end_phase(self, k, phase, data):
        end(self, k, phase, data)
        for store in self.stores:
            store.coefficients.mul_(0.9)

    patch.setattr(dmpel.Dmpel, "end_phase", end_phase)


def nothing_is_replayed(patch):
    patch.setattr(dmpel.Dmpel, "phases", lambda self, k: (LEARN,))


@pytest.mark.parametrize(
    "fault", [earlier_experts_are_trained, replay_moves_an_expert, stored_pairs_are_relabelled, nothing_is_replayed]
)
def test_faults_are_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_isolation(2)


def check_coefficients():
    """At most three of an expert's coefficients count in each group, each in (0, 2); groups choose for themselves."""
    one = Loop(learner("dmpel", hidden=32)).tasks(TASKS)
    with torch.no_grad():
        one.router.outer.bias.copy_(torch.randn(one.router.outer.bias.shape, generator=source(3)))
    told = act(one, TASKS[0])[1]
    leading = told.pop("expert")
    assert set(told) == {f"coefficients.{group}" for group in ("proprio", "film", "temporal", "head")}
    for kept in told.values():
        assert kept.shape == (20, 4)
        assert bool(((kept > 0).sum(1) == 3).all())
        assert bool(((kept >= 0) & (kept < 2)).all())
    assert len({tuple((kept[0] > 0).tolist()) for kept in told.values()}) > 1
    assert leading.tolist() == [int(sums.argmax()) for sums in sum(told.values())]
    all_of_them = one.router(one._query(TASKS[0].whole.observations, TASKS[0].whole.words))
    for number, kept in enumerate(told.values()):
        assert torch.equal(kept.sort(1).values[:, 1:], all_of_them[:, number].sort(1).values[:, 1:])


def test_coefficients():
    check_coefficients()


def all_experts_are_mixed(patch):
    patch.setattr(dmpel.Dmpel, "coefficients", lambda self, queries: self.router(queries))


def groups_share_coefficients(patch):
    plain = dmpel.Dmpel.coefficients
    patch.setattr(
        dmpel.Dmpel, "coefficients", lambda self, queries: plain(self, queries)[:, :1].expand(-1, 4, -1).clone()
    )


@pytest.mark.parametrize("fault", [all_experts_are_mixed, groups_share_coefficients])
def test_other_coefficients_are_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_coefficients()


def check_start():
    """Coefficients start near 1 over their number; the first task starts as the actor."""
    one = learner("dmpel", hidden=64)
    loop, start = Loop(one), act(one, TASKS[0])[0]
    for k, wanted in enumerate((1, 1 / 2, 1 / 3, 1 / 3)):
        one.begin_task(k, loop.data(TASKS[k]))
        found = one.router(one._query(TASKS[k].whole.observations, TASKS[k].whole.words)).detach()
        assert found.shape == (20, 4, k + 1)
        assert float(found.mean()) == pytest.approx(wanted, abs=0.05)
        if k == 0:
            assert torch.equal(act(one, TASKS[0])[0], start)


def test_coefficients_start_near_one_over_their_number():
    check_start()


def all_coefficients_start_at_one(patch):
    plain = dmpel.Router.__init__

    def made(self, *given):
        plain(self, *given)
        self.outer.bias.data.zero_()

    patch.setattr(dmpel.Router, "__init__", made)


@pytest.mark.parametrize("fault", [additions_are_not_zero_at_first, all_coefficients_start_at_one])
def test_another_start_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_start()


def check_router_is_new():
    """At a new task the router is drawn anew, whatever the last one had learned."""
    drawn = {}
    loop = Loop(learner("dmpel"), epochs=1, before=lambda one, *given: drawn or drawn.update(weights(one.router)))
    loop.tasks(TASKS[:1])
    other = loop.restored(loop.saved(), TASKS[:1]).learner
    with torch.no_grad():
        for parameter in other.router.parameters():
            parameter += 1
    old = weights(loop.learner.router)
    for one in (loop.learner, other):
        one.begin_task(1, loop.data(TASKS[1]))
    assert same(weights(loop.learner.router), weights(other.router))
    for name, new in weights(loop.learner.router).items():
        for earlier in (old[name], drawn[name]):
            assert name == "outer.bias" or not bool((new[: len(earlier)] == earlier).any()), name


def test_the_router_of_a_new_task_is_new():
    check_router_is_new()


def inner_weights_are_kept(patch):
    begin = dmpel.Dmpel.begin_task

    def begin_task(self, k, data):
        old = self.router
        begin(self, k, data)
        if old is not None:
            self.router.inner, self.router.middle = old.inner, old.middle

    patch.setattr(dmpel.Dmpel, "begin_task", begin_task)


def the_router_is_padded(patch):
    """With the old outputs where they were, and the new ones as drawn."""
    begin = dmpel.Dmpel.begin_task

    def begin_task(self, k, data):
        old = self.router
        begin(self, k, data)
        if old is not None:
            self.router.outer.weight.data[: len(old.outer.weight)] = old.outer.weight

    patch.setattr(dmpel.Dmpel, "begin_task", begin_task)


def all_routers_start_alike(patch):
    built = dmpel.Dmpel._built
    patch.setattr(dmpel.Dmpel, "_built", lambda self, generator: built(self, source()))


@pytest.mark.parametrize("fault", [inner_weights_are_kept, the_router_is_padded, all_routers_start_alike])
def test_a_router_that_is_not_new_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_router_is_new()


def check_query(profile):
    """Proprioception is the query's last part, its mean over the window; each input and the words change a query."""
    one, batch = learner("dmpel", profile), toy(0, profile=profile).whole
    other = toy(1, profile=profile).whole
    names = [name for name, _ in PROFILES[profile].proprio]
    felt = torch.cat([batch.observations[name].mean(1) for name in names], 1)
    query = one._query(batch.observations, batch.words)
    assert query.shape[1] == query_size(PROFILES[profile], proprio=True)
    torch.testing.assert_close(query[:, -felt.shape[1] :], felt)
    one.begin_task(0, Loop(one).data(toy(0, profile=profile)))
    changes = [({**batch.observations, name: other.observations[name]}, batch.words) for name in one.actor.inputs]
    for observations, words in [*changes, (batch.observations, other.words)]:
        if observations.get("present") is other.observations.get("present", 0):
            continue  # all objects are present in both
        assert not bool((one._query(observations, words) == query).all(1).any())
        told = one.route(batch.observations, batch.words, None).told, one.route(observations, words, None).told
        assert all(not torch.equal(told[0][name], told[1][name]) for name in told[0] if name != "expert")


@pytest.mark.parametrize("profile", PROFILES)
def test_the_query_has_all_that_is_seen_and_felt(profile):
    check_query(profile)


def zeroed(part):
    """A fault: a part of the query is zero."""

    def plant(patch):
        def query(actor, observations, words, proprio):
            found = scene_query(actor, observations, words, proprio)
            found[:, part] = 0
            return found

        patch.setattr(dmpel, "scene_query", query)

    return plant


def proprioception_is_left_out(patch):
    patch.setattr(
        dmpel,
        "scene_query",
        lambda actor, observations, words, proprio: scene_query(actor, observations, words, False),
    )


@pytest.mark.parametrize(
    "fault",
    [
        *(zeroed(part) for part in (slice(-5, None), slice(-1, None), slice(0, 6), slice(6, 22))),
        proprioception_is_left_out,
    ],
    ids=["proprioception", "one number of it", "sentence", "scene", "shorter"],
)
def test_a_query_without_a_part_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_query("cpu")


def check_orthogonal():
    """The A of a new expert is orthogonal to all earlier ones' and has norm 1; B is 0."""
    one = learner("dmpel")
    loop = Loop(one, epochs=1)
    loop.tasks(TASKS[:2])
    one.begin_task(2, loop.data(TASKS[2]))
    new = one.experts[2]
    for key, down in new.A.items():
        assert float(down.detach().norm()) == pytest.approx(1, abs=1e-5)
        for earlier in (one.experts[0], one.experts[1]):
            assert abs(float((down * earlier.A[key]).detach().sum())) < 1e-5
        assert not bool(new.B[key].any())


def test_a_new_expert_is_orthogonal_to_all_earlier_ones():
    check_orthogonal()


def is_drawn_as_the_first_one(patch):
    patch.setattr(dmpel, "orthogonalise", lambda new, earlier, generator: None)


def is_orthogonal_to_the_last_one_alone(patch):
    patch.setattr(dmpel, "orthogonalise", lambda new, earlier, draws: orthogonalise(new, earlier[-1:], draws))


def changed_afterwards(change):
    """A fault: an orthogonal expert is changed."""

    def plant(patch):
        def orthogonal(new, earlier, generator):
            orthogonalise(new, earlier, generator)
            with torch.no_grad():
                change(new)

        patch.setattr(dmpel, "orthogonalise", orthogonal)

    return plant


@pytest.mark.parametrize(
    "fault",
    [
        is_drawn_as_the_first_one,
        is_orthogonal_to_the_last_one_alone,
        changed_afterwards(lambda new: [down.mul_(2) for down in new.A.values()]),
        changed_afterwards(lambda new: [up.add_(0.1) for up in new.B.values()]),
    ],
    ids=["drawn", "last alone", "longer", "not zero"],
)
def test_an_expert_that_is_not_orthogonal_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_orthogonal()


def misfit(one, task):
    pairs = one.stores[task].pairs(len(one.experts))
    with torch.no_grad():
        return float((one.coefficients(pairs.queries) - pairs.coefficients).square().mean())


def check_reminded():
    """The predicted coefficients come near the stored ones, and old outputs change less than without replay."""
    changes, misfits = {}, {}
    for epochs in (0, 40):
        loop = Loop(learner("dmpel", replay_epochs=epochs, replay_lr=1e-2, replay_batch=40, hidden=32), epochs=6)
        old = act(loop.tasks(TASKS[:1]), TASKS[0])[0]
        new = act(loop.tasks([TASKS[1]], 1), TASKS[0])[0]
        changes[epochs], misfits[epochs] = float((new - old).abs().mean()), misfit(loop.learner, 0)
    assert misfits[40] < 0.1 * misfits[0]
    assert misfits[40] < 0.01
    assert changes[40] < changes[0]


def test_replay_reminds_the_router_of_old_tasks():
    check_reminded()


def the_last_task_alone_is_replayed(patch):
    """As often as all of them would be."""

    def source(self, phase):
        last = self.stores[-1].pairs(len(self.experts))
        return dmpel._Memory([last] * len(self.stores))

    patch.setattr(dmpel.Dmpel, "source", source)


def replay_fits_nothing(patch):
    plain = dmpel.Dmpel._misfit
    patch.setattr(dmpel.Dmpel, "_misfit", lambda self, pairs: 0 * plain(self, pairs))


@pytest.mark.parametrize("fault", [the_last_task_alone_is_replayed, replay_fits_nothing])
def test_a_router_that_is_not_reminded_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_reminded()


def check_best():
    """The router that stays is that of the pass with the lowest mean loss."""
    losses, routers = [], []

    def watch(one, phase, batch):
        if phase.replay:
            losses.append(float(loop.loss.detach()) * len(batch))
            routers.append(weights(one.router))

    loop = Loop(learner("dmpel", replay_epochs=6, replay_lr=1.0, replay_batch=20), watch=watch)
    loop.tasks(TASKS[:2])
    # 40 pairs in two batches
    passes = [sum(losses[start : start + 2]) / 40 for start in range(0, 12, 2)]
    best = passes.index(min(passes))
    assert best < 5  # at such a rate the last pass is not the best
    assert same(weights(loop.learner.router), routers[2 * best + 1])
    assert loop.learner.best is None


def test_the_best_pass_of_replay_stays():
    check_best()


def test_keeping_the_last_pass_is_found(monkeypatch):
    monkeypatch.setattr(dmpel.Dmpel, "end_phase", keep_last(dmpel.Dmpel.end_phase))
    with pytest.raises(AssertionError):
        check_best()


def keep_last(end):
    def end_phase(self, k, phase, data):
        if phase.replay:
            self.best = self.router
        end(self, k, phase, data)

    return end_phase


def test_the_replay_phase_is_as_published():
    phase = learner("dmpel", replay_epochs=10, replay_batch=32).phases(1)[1]
    assert (phase.epochs, phase.lr, phase.weight_decay, phase.constant, phase.batch_size) == (10, 1e-3, 0.01, True, 32)
    assert learner("dmpel").phases(0) == (LEARN,)
    assert learner("dmpel", replay_epochs=0).phases(3) == (LEARN,)


def test_a_share_of_the_windows_can_be_stored_and_sentences_are_stored_once():
    one = Loop(learner("dmpel", stored=0.25)).tasks(TASKS[:2])
    assert [len(store.which) for store in one.stores] == [5, 5]
    assert all(len(store.sentences) == 1 for store in one.stores)
    queries = one._query(TASKS[0].whole.observations, TASKS[0].whole.words)
    stored = one.stores[0].pairs(2).queries
    assert all(bool((queries == row).all(1).any()) for row in stored)
    assert len(one.source(one.phases(1)[1])) == 10


def test_coefficients_drop_out_in_training_only():
    one = Loop(learner("dmpel", dropout=0.5)).tasks(TASKS[:1])
    batch = TASKS[0].whole
    for module in one.actor.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    one.actor.apply(lambda module: setattr(module, "rate", 0.0) if hasattr(module, "rate") else None)
    with torch.no_grad():
        one.train()
        assert len({float(one.loss(batch, LEARN)) for _ in range(3)}) == 3
        one.eval()
        assert len({float(one.loss(batch, LEARN)) for _ in range(3)}) == 1


def test_other_words_change_the_coefficients():
    one = Loop(learner("dmpel")).tasks(TASKS[:2])
    own, other = act(one, TASKS[0])[1], act(one, toy(0, sentence=5))[1]
    assert all(not torch.equal(own[name], other[name]) for name in own)


def test_before_the_first_task_it_is_the_actor():
    assert torch.equal(act(learner("dmpel"), TASKS[0])[0], act(learner("seqft"), TASKS[0])[0])


def test_settings():
    published = dmpel.Settings()
    assert (published.tower_rank, published.rank, published.alpha) == (8, 16, 16.0)
    assert (published.top, published.hidden, published.dropout, published.stored) == (3, 256, 0.15, 1.0)
    for wrong in ({"top": 0}, {"stored": 0.0}, {"dropout": 1.0}, {"replay_epochs": -1}):
        with pytest.raises(InvalidOption, match=next(iter(wrong))):
            dmpel.Settings(**wrong)

"""A pool of adapters whose keys are matched with what the frozen policy sees."""

import pytest

from gym_grounding.errors import InvalidOption

torch = pytest.importorskip("torch")
from gym_grounding_policies.learners import l2m  # noqa: E402  # needs torch
from gym_grounding_policies.learners._adapters import AdapterSet  # noqa: E402
from gym_grounding_policies.learners._base import LEARN, Route  # noqa: E402
from gym_grounding_policies.learners._queries import cosine, readout_query  # noqa: E402
from gym_grounding_policies.nets.actor import frozen  # noqa: E402
from gym_grounding_policies.nets.sites import Together, changed  # noqa: E402
from policies.learners.plain_loop import Loop, act, learner, same, source, toy, weights  # noqa: E402

TASKS = [toy(k) for k in range(2)]
similarity_of = l2m.L2m._similarity


def query(one, windows):
    return readout_query(one.actor, windows.whole.observations, windows.whole.words)


def keys(one):
    return torch.stack([key.detach().clone() for key in one.keys])


def asked(one, batch):
    """The queries that the learner itself compares with its keys, in training and at test."""
    found = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(l2m, "cosine", lambda queries, keys: found.append(queries) or cosine(queries, keys))
        one.train().loss(batch, LEARN)
        one.eval().route(batch.observations, batch.words, None)
    return found


def check_query():
    """The query depends on no slot, no key and no dropout, and gives the actor no gradient."""
    one = learner("l2m")
    first = asked(one, TASKS[0].whole)
    with torch.no_grad():
        for parameter in (*one.pool.parameters(), *one.keys):
            parameter += 1
    assert len(first) == 2
    for query in (*first, *asked(one, TASKS[0].whole)):
        assert torch.equal(query, first[0])
        assert not query.requires_grad
    one.requires_grad_(True)
    one.actor.nll = lambda batch: torch.zeros(())
    one.loss(TASKS[0].whole, LEARN).backward()
    assert all(parameter.grad is None for parameter in one.actor.parameters())
    assert any(key.grad is not None for key in one.keys)


def test_the_query_depends_on_no_slot_and_no_key_and_gives_the_actor_no_gradient():
    check_query()


def the_query_is_not_frozen(patch):
    patch.setattr(l2m, "readout_query", lambda actor, observations, words: actor.features(observations, words).mean(1))


def the_query_has_a_gradient(patch):
    def readout(actor, observations, words):
        parts = [one for one in actor.modules() if one.training]
        features = actor.eval().features(observations, words).mean(1)
        for one in parts:
            one.training = True
        return features

    patch.setattr(l2m, "readout_query", readout)


def the_query_passes_through_a_slot(patch):
    made = l2m.L2m.__init__

    def with_pool(self, actor, settings, generator):
        made(self, actor, settings, generator)
        object.__setattr__(actor, "slot", self.pool[0])

    def readout(actor, observations, words):
        with frozen(actor), changed(actor, actor.slot.change()):
            return actor.features(observations, words).mean(1)

    patch.setattr(l2m.L2m, "__init__", with_pool)
    patch.setattr(l2m, "readout_query", readout)


@pytest.mark.parametrize("fault", [the_query_is_not_frozen, the_query_has_a_gradient, the_query_passes_through_a_slot])
def test_another_query_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_query()


def check_one_slot():
    """With one slot it is plain adapters and the key term."""
    one = Loop(learner("l2m", slots=1)).tasks(TASKS[:1]).eval()
    batch = TASKS[0].whole
    assert all(bool(up.any()) for up in one.pool[0].additions.B.values())
    similarity = cosine(query(one, TASKS[0]), keys(one)).mean()
    with changed(one.actor, one.pool[0].change()):
        wanted = one.actor.nll(batch) - 0.5 * similarity
    torch.testing.assert_close(one.loss(batch, LEARN), wanted)


def test_with_one_slot_it_is_plain_adapters_and_the_key_term():
    check_one_slot()


def the_pull_pushes(patch):
    patch.setattr(l2m.L2m, "_similarity", lambda self, query, slot: -similarity_of(self, query, slot))


def nothing_pulls(patch):
    patch.setattr(l2m.L2m, "_similarity", lambda self, query, slot: 0 * similarity_of(self, query, slot))


def no_slot_acts(patch):
    patch.setattr(AdapterSet, "each", staticmethod(lambda sets, index: Together()))


@pytest.mark.parametrize("fault", [the_pull_pushes, nothing_pulls, no_slot_acts])
def test_another_loss_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_one_slot()


def check_choice_at_test():
    """The nearest key's slot, however often it was used; the length of keys and queries does not matter."""
    one = Loop(learner("l2m", slots=8)).tasks(TASKS).eval()
    nearest = cosine(query(one, TASKS[0]), keys(one)).argmax(1)
    one.counts.copy_(torch.linspace(1, 0, len(one.counts)))
    one.rarity.copy_(torch.linspace(0, 1, len(one.counts)) ** 6)
    before = one.counts.clone(), int(one.batches)
    assert torch.equal(act(one, TASKS[0])[1]["slot"], nearest)
    assert torch.equal(one.counts, before[0])
    assert int(one.batches) == before[1]
    with torch.no_grad():
        for number, key in enumerate(one.keys):
            key *= 1e-3 if number in nearest else 1 + number
    assert torch.equal(act(one, TASKS[0])[1]["slot"], nearest)
    readout, lengths = l2m.readout_query, torch.logspace(-3, 3, len(nearest))[:, None]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(l2m, "readout_query", lambda *given: lengths * readout(*given))
        assert torch.equal(act(one, TASKS[0])[1]["slot"], nearest)


def test_the_choice_at_test():
    check_choice_at_test()


def usage_matters_at_test(patch):
    def route(self, observations, words, tasks):
        return Route(None, {"slot": self._favoured(readout_query(self.actor, observations, words))})

    patch.setattr(l2m.L2m, "route", route)


def keys_are_not_normalised(patch):
    patch.setattr(l2m, "cosine", lambda queries, keys: queries.float() @ keys.float().T)


def long_queries_are_cut(patch):
    patch.setattr(l2m, "cosine", lambda queries, keys: cosine(queries.clamp(-20, 20), keys))


def acting_is_counted(patch):
    route = l2m.L2m.route

    def counted(self, observations, words, tasks):
        found = route(self, observations, words, tasks)
        self._count(found.told["slot"])
        return found

    patch.setattr(l2m.L2m, "route", counted)


@pytest.mark.parametrize(
    "fault", [usage_matters_at_test, keys_are_not_normalised, long_queries_are_cut, acting_is_counted]
)
def test_faults_of_the_choice_are_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_choice_at_test()


def check_usage(usage="original"):
    """Counts are shares; under the original rule they matter from the second task on, as they were at its begin."""
    one, seen = learner("l2m", usage=usage), []
    loop = Loop(one, watch=lambda one, phase, batch: seen.append((one.counts.clone(), one.rarity.clone())))
    loop.tasks(TASKS[:1])
    assert all(float(counts.sum()) == pytest.approx(1, abs=1e-5) for counts, _ in seen)
    flat = torch.full_like(one.rarity, 1 / len(one.rarity))
    assert all(torch.equal(rarity, flat) for _, rarity in seen)
    assert not one._counting()
    counts = one.counts.clone()
    seen.clear()
    loop.tasks(TASKS[1:], 1)
    wanted = 1 / (counts + 1e-6)
    assert all(torch.allclose(rarity, wanted / wanted.sum()) for _, rarity in seen)
    assert one._counting()
    assert int(one.batches) == 12


def test_usage():
    check_usage()


def test_the_ports_usage_is_another_rule():
    with pytest.raises(AssertionError):
        check_usage("port")
    one, seen = learner("l2m", usage="port"), []
    Loop(one, watch=lambda one, phase, batch: seen.append((one.counts.clone(), one.rarity.clone()))).tasks(TASKS[:1])
    for counts, rarity in seen:
        torch.testing.assert_close(rarity, 1 / (counts + 1e-6) / (1 / (counts + 1e-6)).sum())
    assert one._counting()
    one.batches.fill_(l2m.PORT_BATCHES + 1)
    assert not one._counting()


def test_usage_sends_samples_to_slots_that_were_seldom_used():
    one = learner("l2m")
    plain = one._favoured(query(one, TASKS[0]))
    one.begun = 2
    one.batches += 1
    one.rarity.copy_(torch.tensor([0.0, 0.0, 1.0, 0.0]))
    assert bool((one._favoured(query(one, TASKS[0])) == 2).all())
    assert not bool((plain == 2).all())


def check_unused_slots_rest(tasks=2):
    """What no sample of a batch uses is the same to the last bit after its step."""
    before, used = {}, []
    one = learner("l2m")
    favoured = one._favoured

    def chosen(query):
        slot = favoured(query)
        used[:] = slot.unique().tolist()
        return slot

    one._favoured = chosen

    def note(one, phase, batch):
        before.update(
            {number: (weights(one.pool[number]), key.detach().clone()) for number, key in enumerate(one.keys)}
        )

    def check(one, phase, batch):
        for number, (slot, key) in before.items():
            if number in used:
                assert not torch.equal(one.keys[number], key)
                assert not same(weights(one.pool[number]), slot)
            else:
                assert torch.equal(one.keys[number].detach(), key)
                assert same(weights(one.pool[number]), slot)
                assert one.keys[number].grad is None

    Loop(one, before=note, watch=check).tasks(TASKS[:tasks])


def test_unused_slots_rest():
    check_unused_slots_rest()


def unused_slots_have_zero_gradients(patch):
    def after_backward(self, phase):
        for parameter in self.pool.parameters():
            parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad

    patch.setattr(l2m.L2m, "after_backward", after_backward)


def all_keys_are_pulled(patch):
    def similarity(self, query, slot):
        return cosine(query, torch.stack(list(self.keys))).mean(1)

    patch.setattr(l2m.L2m, "_similarity", similarity)


@pytest.mark.parametrize("fault", [unused_slots_have_zero_gradients, all_keys_are_pulled])
def test_slots_that_move_unused_are_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_unused_slots_rest(1)


def check_pull():
    """A step on the loss' second term alone raises the cosine of the chosen keys, and moves no others."""
    one = learner("l2m")
    one.requires_grad_(True)
    asked = query(one, TASKS[0])
    slot = one._favoured(asked)
    rows = torch.arange(len(slot))
    before = cosine(asked, keys(one))[rows, slot].mean()
    one.actor.nll = lambda batch: torch.zeros(())
    one.loss(TASKS[0].whole, LEARN).backward()
    with torch.no_grad():
        for key in one.keys:
            if key.grad is not None:
                key -= 0.1 * key.grad
    assert float(cosine(asked, keys(one))[rows, slot].mean()) > float(before)
    assert {number for number, key in enumerate(one.keys) if key.grad is not None} == set(slot.tolist())


def test_the_pull_raises_the_cosine_of_the_chosen_key():
    check_pull()


@pytest.mark.parametrize("fault", [the_pull_pushes, nothing_pulls, all_keys_are_pulled])
def test_another_pull_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_pull()


def test_other_words_may_change_the_slot_and_always_change_the_similarity():
    one = Loop(learner("l2m", slots=8)).tasks(TASKS)
    _, own = act(one, TASKS[0])
    _, other = act(one, toy(0, sentence=5))
    assert not torch.equal(own["similarity"], other["similarity"])


def test_settings():
    published = l2m.Settings()
    assert (published.slots, published.rank, published.alpha, published.pull) == (30, 8, 8.0, 0.5)
    assert published.usage == "original"
    for wrong in ({"slots": 0}, {"usage": "never"}):
        with pytest.raises(InvalidOption, match=next(iter(wrong))):
            l2m.Settings(**wrong)
    one = l2m.L2m(learner("l2m").actor, l2m.Settings(), source())
    assert all(float(key.detach().abs().max()) <= 1 for key in one.keys)

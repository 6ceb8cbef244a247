"""A slot for each task, retrieved by prototypes."""

from types import SimpleNamespace

import pytest

from gym_grounding.errors import InvalidOption

torch = pytest.importorskip("torch")
from gym_grounding_policies.learners import _queries, iscil  # noqa: E402  # needs torch
from gym_grounding_policies.learners._adapters import AdapterSet  # noqa: E402
from gym_grounding_policies.learners._base import LEARN  # noqa: E402
from gym_grounding_policies.learners._clusters import centres  # noqa: E402
from gym_grounding_policies.learners._queries import nearest, scene_query  # noqa: E402
from gym_grounding_policies.nets.sites import changed  # noqa: E402
from policies.learners.plain_loop import (  # noqa: E402
    Loop,
    act,
    additions_are_not_zero_at_first,
    learner,
    same,
    source,
    toy,
    weights,
)

TASKS = [toy(k) for k in range(3)]
pytestmark = pytest.mark.filterwarnings("ignore:iscil")


def training_slots(one, windows):
    """What windows retrieve in training."""
    return nearest(one._query(windows.whole), one._bases())


def check_isolation(tasks=3):
    """Actor, earlier slots and prototypes stay to the last bit; each task retrieves its own slot, and none unfilled."""
    one, slots, prototypes, starts = learner("iscil"), [], [], {}
    before = lambda one, phase, batch: starts.setdefault(one.begun - 1, weights(one.slots[-1]))  # noqa: E731
    actor, loop = weights(one.actor), Loop(one, before=before)
    for k in range(tasks):
        loop.tasks([TASKS[k]], k)
        slots.append(weights(one.slots[k]))
        prototypes.append(one._bases()[k].clone())
        for j in range(k + 1):
            assert same(weights(one.slots[j]), slots[j])
            assert torch.equal(one._bases()[j], prototypes[j])
            own, similarity = training_slots(one, TASKS[j])
            assert bool((own == j).all())
            assert bool((similarity <= 1 + 1e-6).all())
            assert bool((act(one, TASKS[j])[1]["slot"] == j).all())
        far = nearest(-one._query(TASKS[0].whole), one._bases())[0]
        assert int(far.max()) < len(one.slots)
    assert same(weights(one.actor), actor)
    assert len({tuple(one.flatten().tolist()) for one in prototypes}) == tasks
    for k in range(tasks):
        assert all(bool((slots[k][name] != value).any()) for name, value in starts[k].items()), k


def test_isolation():
    check_isolation()


def earlier_slots_decay(patch):
    def after_backward(self, phase):
        for parameter in self.slots.parameters():
            parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad

    patch.setattr(iscil.IsCil, "trainable", lambda self, phase: tuple(self.slots.parameters()))
    patch.setattr(iscil.IsCil, "after_backward", after_backward)


def unfilled_slots_are_compared(patch):
    bases = iscil.IsCil._bases
    patch.setattr(
        iscil.IsCil,
        "_bases",
        lambda self: [*bases(self), *(torch.zeros_like(bases(self)[0]) for _ in range(2))] if self.begun else [],
    )


def the_sentence_is_not_in_the_query(patch):
    def silent(actor, observations, words, proprio, steps=None):
        return scene_query(actor, observations, words, proprio, steps)[:, actor.profile.said :]

    patch.setattr(iscil, "scene_query", silent)


def the_last_slot_is_frozen(patch):
    """As in the public code, where at the first task "the slot before" is the last one."""
    patch.setattr(iscil.IsCil, "trainable", lambda self, phase: tuple(self.slots[0].parameters()))


def prototypes_follow_the_last_task(patch):
    begin = iscil.IsCil.begin_task

    def begin_task(self, k, data):
        begin(self, k, data)
        for bases in self._bases():
            bases.copy_(self._bases()[-1])

    patch.setattr(iscil.IsCil, "begin_task", begin_task)


@pytest.mark.parametrize(
    "fault",
    [
        earlier_slots_decay,
        unfilled_slots_are_compared,
        the_sentence_is_not_in_the_query,
        the_last_slot_is_frozen,
        prototypes_follow_the_last_task,
    ],
)
def test_faults_are_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_isolation(2)


def check_bases():
    """A query that is a basis has similarity 1, the largest; with as many bases as windows, each window's is one."""
    one = Loop(learner("iscil", bases=20)).tasks(TASKS[:2])
    assert one._bases()[0].shape == (20, 6 + 16)
    for queries in (one._bases()[1], one._query(TASKS[1].whole)):
        slot, similarity = nearest(queries, one._bases())
        torch.testing.assert_close(similarity, torch.ones(20))
        assert bool((slot == 1).all())
    near = one._bases()[1] + 0.1 * torch.randn(one._bases()[1].shape, generator=source())
    assert bool((nearest(near, one._bases())[1] < 1).all())


def test_a_query_that_is_a_basis_has_similarity_one():
    check_bases()


def products_instead_of_cosines(patch):
    patch.setattr(_queries, "cosine", lambda queries, keys: queries @ keys.T)


def products_are_cut_at_one(patch):
    patch.setattr(_queries, "cosine", lambda queries, keys: (queries @ keys.T).clamp(max=1))


def prototypes_lie_beside_the_queries(patch):
    patch.setattr(iscil, "centres", lambda points, count, generator: centres(points, count, generator) + 0.1)


def the_mean_basis_counts(patch):
    cosine = _queries.cosine
    patch.setattr(_queries, "cosine", lambda queries, keys: cosine(queries, keys).mean(1, keepdim=True))


@pytest.mark.parametrize(
    "fault",
    [
        products_instead_of_cosines,
        products_are_cut_at_one,
        prototypes_lie_beside_the_queries,
        the_mean_basis_counts,
    ],
)
def test_another_similarity_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_bases()


def check_start():
    """A later slot starts as an exact copy of the earlier one that the task's windows retrieve most."""
    one = learner("iscil")
    loop = Loop(one)
    loop.tasks(TASKS[:2])
    near_the_second = toy(2, sentence=1)
    retrieved, _ = training_slots(one, near_the_second)
    assert bool((retrieved == 1).all())
    one.begin_task(2, loop.data(near_the_second))
    assert same(weights(one.slots[2]), weights(one.slots[1]))
    assert not same(weights(one.slots[2]), weights(one.slots[0]))


def test_a_slot_starts_as_its_nearest():
    check_start()


def starts_anew(patch):
    patch.setattr(AdapterSet, "start_from", lambda self, other, *rest: None)


def starts_from_the_second_best(patch):
    found = iscil.nearest

    def second(queries, prototypes):
        slot, similarity = found(queries, prototypes)
        return (slot + 1) % len(prototypes), similarity

    patch.setattr(iscil, "nearest", second)


@pytest.mark.parametrize("fault", [starts_anew, starts_from_the_second_best])
def test_another_start_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_start()


def check_twin():
    """A task that looks like an earlier one learns nothing and says so."""
    one = learner("iscil", bases=20)
    loop = Loop(one)
    loop.tasks(TASKS[:1])
    twin = toy(1, seed=0, sentence=0)
    with pytest.warns(UserWarning, match="no window of task 1 retrieved its own slot"):
        loop.tasks([twin], 1)
    assert same(weights(one.slots[1]), weights(one.slots[0]))
    assert not loop.loss.requires_grad


def test_a_task_that_looks_like_an_earlier_one_learns_nothing_and_says_so():
    check_twin()


def windows_are_assigned_to_the_present_slot(patch):
    def loss(self, batch, phase):
        with changed(self.actor, self.slots[-1].change()):
            return self.actor.nll(batch)

    patch.setattr(iscil.IsCil, "loss", loss)


def assigned_windows_are_not_counted(patch):
    """So the warning comes, though the slot has learned."""
    windows_are_assigned_to_the_present_slot(patch)
    loss = iscil.IsCil.loss

    def counted(self, batch, phase):
        self.own += int(self.begun == 1)
        return loss(self, batch, phase)

    patch.setattr(iscil.IsCil, "loss", counted)


def says_nothing(patch):
    patch.setattr(iscil.IsCil, "end_task", lambda self, k, data: None)


def a_slot_without_windows_decays(patch):
    def after_step(self, phase):
        with torch.no_grad():
            for parameter in self.slots[-1].parameters():
                parameter *= 0.999

    patch.setattr(iscil.IsCil, "after_step", after_step)


@pytest.mark.parametrize(
    "fault",
    [
        windows_are_assigned_to_the_present_slot,
        assigned_windows_are_not_counted,
        says_nothing,
        a_slot_without_windows_decays,
    ],
)
def test_a_twin_that_learns_or_is_silent_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check_twin()


def check_first_slot():
    """It has B = 0 and copies of the actor's layers."""
    one = learner("iscil")
    one.begin_task(0, Loop(one).data(TASKS[0]))
    assert not any(bool(up.any()) for up in one.slots[0].additions.B.values())
    for site in one._layout.copied:
        assert torch.equal(one.slots[0].copies.weight[site.name.replace(".", "/")], site.weight)


def test_the_first_slot_starts_as_the_actor():
    check_first_slot()


def test_a_first_slot_that_adds_something_is_found(monkeypatch):
    additions_are_not_zero_at_first(monkeypatch)
    with pytest.raises(AssertionError):
        check_first_slot()


def test_prototypes_are_part_of_a_checkpoint():
    loop = Loop(learner("iscil"))
    loop.tasks(TASKS[:2])
    saved = loop.saved()
    again = loop.restored(saved, TASKS[:2]).learner
    assert bool((act(again, TASKS[1])[1]["slot"] == 1).all())
    del saved["tensors"]["prototypes.1"]
    with pytest.raises(RuntimeError, match=r"prototypes\.1"):
        loop.restored(saved, TASKS[:2])


def test_the_present_step_retrieves_at_test_and_the_words_matter():
    one = Loop(learner("iscil")).tasks(TASKS[:2])
    batch = TASKS[0].whole
    first = {name: value.clone() for name, value in batch.observations.items()}
    first["tokens"][:, 0] += 5
    other = SimpleNamespace(whole=SimpleNamespace(observations=first, words=batch.words, tasks=batch.tasks))
    assert torch.equal(act(one, other)[1]["similarity"], act(one, TASKS[0])[1]["similarity"])
    assert not torch.equal(one._query(other.whole), one._query(batch))
    assert bool((act(one, toy(0, sentence=1))[1]["slot"] == 1).all())
    assert not one.own.is_floating_point()
    assert one.trainable(LEARN)


def test_before_the_first_task_it_is_the_actor():
    one = learner("iscil")
    assert torch.equal(act(one, TASKS[0])[0], act(learner("seqft"), TASKS[0])[0])


@pytest.mark.parametrize("seed", range(5))
def test_centres_find_clusters(seed):
    truth = 10 * torch.randn(4, 3, generator=source(seed))
    points = (truth[:, None] + 0.01 * torch.randn(4, 30, 3, generator=source(seed + 1))).flatten(0, 1)
    found = centres(points, 4, source(seed))
    means = points.reshape(4, 30, 3).mean(1)
    order = torch.cdist(means, found).argmin(1)
    torch.testing.assert_close(found[order], means, atol=1e-4, rtol=1e-4)
    assert torch.equal(centres(points, 4, source(seed)), found)


def test_centres_are_as_good_as_those_of_another_implementation():
    vq = pytest.importorskip("scipy.cluster.vq")
    points = torch.randn(200, 5, generator=source())
    found = centres(points, 8, source(1))
    cost = float(torch.cdist(points, found).amin(1).square().sum())
    others = [vq.kmeans2(points.double().numpy(), 8, minit="++", rng=seed, iter=50)[0] for seed in range(10)]
    costs = [float(torch.cdist(points.double(), torch.from_numpy(one)).amin(1).square().sum()) for one in others]
    assert cost <= 1.01 * min(costs)


def test_fewer_points_than_centres():
    points = torch.tensor([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]])
    assert sorted(centres(points, 20, source()).tolist()) == [[1.0, 2.0], [3.0, 4.0]]


def test_settings():
    published = iscil.Settings()
    assert (published.bases, published.rank, published.alpha, published.copies) == (20, 8, 8.0, True)
    for wrong in ({"bases": 0}, {"places": "none"}):
        with pytest.raises(InvalidOption, match=next(iter(wrong))):
            iscil.Settings(**wrong)

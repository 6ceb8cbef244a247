"""A set of weights for each task, chosen by its number."""

import pytest

from gym_grounding.errors import InvalidOption

torch = pytest.importorskip("torch")
from gym_grounding_policies.learners import tail  # noqa: E402  # needs torch
from gym_grounding_policies.learners._adapters import AdapterSet  # noqa: E402
from gym_grounding_policies.learners._base import LEARN, Route  # noqa: E402
from policies.learners.plain_loop import Loop, act, learner, same, toy, weights  # noqa: E402

TASKS = [toy(k) for k in range(3)]


def check_isolation(profile="cpu", tasks=3):
    """The actor, earlier sets and what they give stay to the last bit; another task's set gives something else."""
    windows = [toy(k, profile=profile) for k in range(tasks)]
    one, outputs, sets, starts = learner("tail", profile), [], [], {}
    before = lambda one, phase, batch: starts.setdefault(one.begun - 1, weights(one.sets[-1]))  # noqa: E731
    actor, loop = weights(one.actor), Loop(one, before=before)
    for k in range(tasks):
        loop.tasks([windows[k]], k)
        outputs.append(act(one, windows[k])[0])
        sets.append(weights(one.sets[k]))
        for j in range(k + 1):
            assert same(weights(one.sets[j]), sets[j])
            assert torch.equal(act(one, windows[j])[0], outputs[j])
    assert same(weights(one.actor), actor)
    other = torch.ones(len(windows[0]), dtype=torch.int64)
    assert not torch.equal(act(one, windows[0], tasks=other)[0], outputs[0])
    for k in range(tasks):
        assert all(bool((sets[k][name] != value).any()) for name, value in starts[k].items()), k


@pytest.mark.parametrize("profile", ["cpu", "paper"])
def test_nothing_of_earlier_tasks_changes(profile):
    check_isolation(profile, 2 if profile == "paper" else 3)


def the_newest_set_is_always_used(patch):
    def route(self, observations, words, tasks):
        return Route(AdapterSet.each(self.sets, torch.full_like(tasks, self.begun - 1)))

    patch.setattr(tail.Tail, "route", route)


def earlier_sets_have_zero_gradients(patch):
    def after_backward(self, phase):
        for parameter in self.sets.parameters():
            parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad

    patch.setattr(tail.Tail, "trainable", lambda self, phase: tuple(self.sets.parameters()))
    patch.setattr(tail.Tail, "after_backward", after_backward)


def sets_are_shared(patch):
    begin = tail.Tail.begin_task

    def begin_task(self, k, data):
        begin(self, k, data)
        self.sets[k] = self.sets[0]

    patch.setattr(tail.Tail, "begin_task", begin_task)


def the_actor_is_trained_too(patch):
    patch.setattr(tail.Tail, "trainable", lambda self, phase: tuple(self.actor.parameters()))


@pytest.mark.parametrize(
    "fault",
    [the_newest_set_is_always_used, earlier_sets_have_zero_gradients, sets_are_shared, the_actor_is_trained_too],
)
def test_faults_are_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_isolation(tasks=2)


@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_a_set_starts_from_the_last_one_with_noise_on_every_value(noise):
    one = learner("tail", noise=noise)
    loop = Loop(one)
    loop.tasks(TASKS[:1])
    buffers = {name: value.clone() for name, value in one.named_buffers()}
    one.begin_task(1, loop.data(TASKS[1]))
    moved = torch.cat(
        [
            (new - old).detach().flatten()
            for new, old in zip(one.sets[1].parameters(), one.sets[0].parameters(), strict=True)
        ]
    )
    assert same(buffers, dict(one.named_buffers()))
    assert float(moved.std()) == pytest.approx(noise, rel=0.05)
    if not noise:
        assert not bool(moved.any())


def test_the_first_set_adds_nothing():
    one = learner("tail")
    one.begin_task(0, Loop(one).data(TASKS[0]))
    assert not any(bool(up.any()) for up in one.sets[0].additions.B.values())
    for site in one._layout.copied:
        assert torch.equal(one.sets[0].copies.weight[site.name.replace(".", "/")], site.weight)


def test_what_is_trained_is_declared():
    one = learner("tail")
    loop = Loop(one)
    loop.tasks(TASKS[:2])
    trained = {id(parameter) for parameter in one.trainable(LEARN)}
    assert trained == {id(parameter) for parameter in one.parameters() if parameter.requires_grad}
    small = {site.name for site in one.actor.sites.values() if site.group in ("proprio", "film", "head")}
    assert {site.name for site in one._layout.copied} == small
    assert {place.site for place in one._layout.places} == set(one.actor.sites) - small
    everything = learner("tail", copies=False)
    assert {place.site for place in everything._layout.places} == set(everything.actor.sites)
    assert not everything._layout.copied


def test_it_refuses_to_act_without_the_task_or_for_one_that_it_never_met():
    one = Loop(learner("tail")).tasks(TASKS[:1])
    with pytest.raises(InvalidOption, match="tail needs the number of the scene's own task at test; none was given"):
        one.route({}, {}, None)
    with pytest.raises(InvalidOption, match="tail has learned 1 tasks; it was asked for task 1"):
        act(one, TASKS[1])
    _, told = act(one, toy(0, sentence=2))
    assert bool((told["slot"] == 0).all())


def test_settings():
    published = tail.Settings()
    assert (published.tower_rank, published.rank, published.alpha, published.noise) == (8, 16, 16.0, 1e-3)
    for wrong in ({"noise": -1.0}, {"rank": 0}, {"places": "nowhere"}):
        with pytest.raises(InvalidOption, match=next(iter(wrong))):
            tail.Settings(**wrong)

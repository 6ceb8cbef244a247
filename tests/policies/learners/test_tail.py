"""A set of weights for each task, chosen by its number."""

import pytest

from gym_grounding.errors import InvalidOption

torch = pytest.importorskip("torch")
from gym_grounding_policies.learners import tail  # noqa: E402  # needs torch
from gym_grounding_policies.learners._adapters import AdapterSet  # noqa: E402
from gym_grounding_policies.learners._base import LEARN, Route  # noqa: E402
from gym_grounding_policies.nets.changes import Copies  # noqa: E402
from policies.learners.plain_loop import (  # noqa: E402
    Loop,
    act,
    additions_are_not_zero_at_first,
    learner,
    same,
    toy,
    weights,
)

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


def check_start(noise):
    """A set starts from the last one with noise on every value, and with none on anything else."""
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


@pytest.mark.parametrize("noise", [0.0, 1e-3])
def test_a_set_starts_from_the_last_one_with_noise_on_every_value(noise):
    check_start(noise)


def a_set_starts_anew(patch):
    patch.setattr(AdapterSet, "start_from", lambda self, other, noise, generator: None)


def additions_alone_get_noise(patch):
    plain = AdapterSet.start_from

    def start_from(self, other, noise, generator):
        plain(self, other, noise, generator)
        self.copies.load_state_dict(other.copies.state_dict())

    patch.setattr(AdapterSet, "start_from", start_from)


def buffers_get_noise_too(patch):
    """As in the public code."""
    begin = tail.Tail.begin_task

    def begin_task(self, k, data):
        begin(self, k, data)
        for buffer in self.actor.buffers():
            buffer += self.settings.noise if k else 0

    patch.setattr(tail.Tail, "begin_task", begin_task)


@pytest.mark.parametrize(
    ("fault", "noise"),
    [
        (a_set_starts_anew, 0.0),
        (a_set_starts_anew, 1e-3),
        (additions_alone_get_noise, 1e-3),
        (buffers_get_noise_too, 1e-3),
    ],
)
def test_another_start_is_found(fault, noise, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_start(noise)


def check_first_set():
    """It has B = 0 and copies of the actor's layers."""
    one = learner("tail")
    one.begin_task(0, Loop(one).data(TASKS[0]))
    assert not any(bool(up.any()) for up in one.sets[0].additions.B.values())
    for site in one._layout.copied:
        assert torch.equal(one.sets[0].copies.weight[site.name.replace(".", "/")], site.weight)
        assert torch.equal(one.sets[0].copies.bias[site.name.replace(".", "/")], site.bias)


def test_the_first_set_adds_nothing():
    check_first_set()


def copies_start_from_nothing(patch):
    plain = Copies.__init__

    def made(self, sites):
        plain(self, sites)
        for one in self.bias.values():
            one.data.zero_()

    patch.setattr(Copies, "__init__", made)


@pytest.mark.parametrize("fault", [additions_are_not_zero_at_first, copies_start_from_nothing])
def test_a_first_set_that_adds_something_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_first_set()


def check_trained():
    """A and B of every layer that is not copied, weight and bias of every copied one: the newest set's and no others.

    The loop sets ``requires_grad`` by what is trainable, so that alone would say nothing.
    """
    one = learner("tail")
    loop = Loop(one, epochs=1)
    loop.tasks(TASKS[:2])
    trained = {id(parameter) for parameter in one.trainable(LEARN)}
    assert trained == {id(parameter) for parameter in one.parameters() if parameter.requires_grad}
    declared = set()
    for site in one.actor.sites.values():
        key = site.name.replace(".", "/")
        if site.group in ("proprio", "film", "head"):
            declared |= {f"sets.1.copies.{part}.{key}" for part in ("weight", "bias")}
        else:
            declared |= {f"sets.1.additions.{part}.{key}:all" for part in ("A", "B")}
    assert {name for name, parameter in one.named_parameters() if id(parameter) in trained} == declared
    small = {site.name for site in one.actor.sites.values() if site.group in ("proprio", "film", "head")}
    assert {site.name for site in one._layout.copied} == small
    assert {place.site for place in one._layout.places} == set(one.actor.sites) - small
    everything = learner("tail", copies=False)
    assert {place.site for place in everything._layout.places} == set(everything.actor.sites)
    assert not everything._layout.copied


def test_what_is_trained_is_declared():
    check_trained()


def copies_are_not_trained(patch):
    patch.setattr(tail.Tail, "trainable", lambda self, phase: tuple(self.sets[-1].additions.parameters()))


def all_sets_are_trained(patch):
    patch.setattr(tail.Tail, "trainable", lambda self, phase: tuple(self.sets.parameters()))


def nothing_is_copied(patch):
    layout = tail._adapters.layout
    patch.setattr(
        tail._adapters, "layout", lambda actor, places, sizes, copied: layout(actor, places, sizes, copied=False)
    )


@pytest.mark.parametrize(
    "fault", [copies_are_not_trained, all_sets_are_trained, the_actor_is_trained_too, nothing_is_copied]
)
def test_what_is_trained_undeclared_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_trained()


def check_refusals():
    """Without a task's number, or with that of a task that it never met; the words say nothing."""
    one = Loop(learner("tail"), epochs=1).tasks(TASKS[:1])
    with pytest.raises(InvalidOption, match="tail needs the number of the scene's own task at test; none was given"):
        one.route({}, {}, None)
    with pytest.raises(InvalidOption, match="tail has learned 1 tasks; it was asked for task 1"):
        act(one, TASKS[1])
    Loop(one, epochs=1).tasks([TASKS[1]], 1)
    _, told = act(one, toy(0, sentence=1))
    assert bool((told["slot"] == 0).all())


def test_it_refuses_to_act_without_the_task_or_for_one_that_it_never_met():
    check_refusals()


def guesses_the_newest(patch):
    check = tail.Tail.check_tasks
    patch.setattr(
        tail.Tail,
        "check_tasks",
        lambda self, tasks: torch.tensor([self.begun - 1]) if tasks is None else check(self, tasks),
    )


def takes_the_newest_for_a_later_task(patch):
    check = tail.Tail.check_tasks
    patch.setattr(
        tail.Tail,
        "check_tasks",
        lambda self, tasks: check(self, None if tasks is None else tasks.clamp(max=self.begun - 1)),
    )


def asks_the_words(patch):
    route = tail.Tail.route

    def asked(self, observations, words, tasks):
        said = torch.stack([one.whole.words["sentence"][0] for one in TASKS])
        heard = torch.cdist(words["sentence"], said).argmin(1) if words else tasks
        return route(self, observations, words, heard)

    patch.setattr(tail.Tail, "route", asked)


@pytest.mark.parametrize("fault", [guesses_the_newest, takes_the_newest_for_a_later_task, asks_the_words])
def test_acting_for_a_task_that_was_not_given_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check_refusals()


def test_settings():
    published = tail.Settings()
    assert (published.tower_rank, published.rank, published.alpha, published.noise) == (8, 16, 16.0, 1e-3)
    for wrong in ({"noise": -1.0}, {"rank": 0}, {"places": "nowhere"}):
        with pytest.raises(InvalidOption, match=next(iter(wrong))):
            tail.Settings(**wrong)

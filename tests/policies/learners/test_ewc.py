"""Elastic weight consolidation against closed forms."""

from dataclasses import replace

import pytest

from gym_grounding.errors import InvalidOption

torch = pytest.importorskip("torch")
from gym_grounding_policies.learners import ewc  # noqa: E402  # needs torch
from gym_grounding_policies.learners._base import LEARN, TaskData  # noqa: E402
from gym_grounding_policies.nets.actor import Actor  # noqa: E402
from policies.learners.plain_loop import PROFILES, Loop, learner, same, source, toy, weights  # noqa: E402
from torch import nn  # noqa: E402

TASKS = [toy(0), toy(1)]


class LinearGaussian(nn.Module):
    """y = w x with unit noise; batches are pairs (x, y), (n, d) and (n,)."""

    def __init__(self, w):
        super().__init__()
        self.w = nn.Parameter(torch.as_tensor(w, dtype=torch.float64))

    def nll(self, batch):
        x, y = batch
        return 0.5 * (y - x @ self.w).square().mean()


def pairs(count, w, seed=0, silent=()):
    x = torch.randn(count, len(w), generator=source(seed), dtype=torch.float64)
    x[:, list(silent)] = 0
    return x, x @ torch.tensor(w, dtype=torch.float64) + 0.3 * torch.randn(
        count, generator=source(seed + 1), dtype=torch.float64
    )


def data_of(x, y, size):
    """Data whose passes give batches of ``size`` pairs, in their order."""
    return TaskData(None, lambda windows, generator: iter(zip(x.split(size), y.split(size), strict=True)))


def gaussian(w, **settings):
    return ewc.Ewc(LinearGaussian(w), ewc.Settings(**settings), source())


def check_without_penalty():
    """With lambda = 0 it is fine-tuning to the last bit, and with the published one it is not."""
    plain = weights(Loop(learner("seqft")).tasks(TASKS))
    assert same(weights(Loop(learner("ewc", penalty=0.0)).tasks(TASKS).actor), weights_of_actor(plain))
    held = Loop(learner("ewc")).tasks(TASKS).actor
    assert not same(weights(held), weights_of_actor(plain))


def test_without_penalty_it_is_fine_tuning():
    check_without_penalty()


def weights_of_actor(tensors):
    return {name.removeprefix("actor."): one for name, one in tensors.items()}


def check_first_task():
    """At any lambda the first task is fine-tuning to the last bit."""
    plain = weights(Loop(learner("seqft")).tasks(TASKS[:1]).actor)
    assert same(weights(Loop(learner("ewc", penalty=1e9)).tasks(TASKS[:1]).actor), plain)


def test_the_first_task_is_fine_tuning_whatever_the_penalty():
    check_first_task()


def the_penalty_is_always_the_published_one(patch):
    begin = ewc.Ewc.begin_task

    def begin_task(self, k, data):
        self.settings = ewc.Settings()
        begin(self, k, data)

    patch.setattr(ewc.Ewc, "begin_task", begin_task)


def the_penalty_is_never_added(patch):
    patch.setattr(ewc.Ewc, "loss", lambda self, batch, phase: self.actor.nll(batch))


def the_pretrained_weights_are_held(patch):
    begin = ewc.Ewc.begin_task

    def begin_task(self, k, data):
        begin(self, k, data)
        if not k:
            self.anchor = ewc.Weightwise({name: one.detach().clone() for name, one in self.actor.named_parameters()})
            self.importance = ewc.Weightwise(
                {name: torch.ones_like(one) for name, one in self.actor.named_parameters()}
            )

    patch.setattr(ewc.Ewc, "begin_task", begin_task)


@pytest.mark.parametrize("fault", [the_penalty_is_always_the_published_one, the_penalty_is_never_added])
def test_another_penalty_than_the_settings_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_without_penalty()


def test_a_penalty_in_the_first_task_is_found(monkeypatch):
    the_pretrained_weights_are_held(monkeypatch)
    with pytest.raises(AssertionError):
        check_first_task()


def check_penalty(tasks=2):
    """Penalty and gradient are 0 at the anchor, which is where the last task ended; importances add up."""
    loop = Loop(learner("ewc"))
    one, earlier = loop.learner, None
    for k in range(tasks):
        for _ in loop.steps(k, TASKS[k]):
            state = one.generator.get_state()
        one.generator.set_state(state)
        new = one._squared_gradients(loop.data(TASKS[k]))
        for name, parameter in one.actor.named_parameters():
            assert bool((new[name] >= 0).all())
            wanted = new[name] if earlier is None else 0.9 * earlier[name] + new[name]
            torch.testing.assert_close(one.importance[name], wanted)
            assert parameter.grad is not None  # of the loop's last step: the pass left it alone
        one.requires_grad_(True)
        distance = one.distance()
        assert float(distance.detach()) == 0
        assert not any(bool(one.any()) for one in torch.autograd.grad(distance, list(one.actor.parameters())))
        earlier = {name: one.importance[name].clone() for name, _ in one.actor.named_parameters()}
    assert sum(float(value.sum()) for value in earlier.values()) > 0


def test_penalty_and_importances():
    check_penalty()


def keeps_the_first_anchor(patch):
    end = ewc.Ewc.end_task

    def end_task(self, k, data):
        anchor = self.anchor
        end(self, k, data)
        self.anchor = anchor if k else self.anchor

    patch.setattr(ewc.Ewc, "end_task", end_task)


def forgets_earlier_importances(patch):
    end = ewc.Ewc.end_task

    def end_task(self, k, data):
        self.importance = ewc.Weightwise({})
        end(self, k, data)

    patch.setattr(ewc.Ewc, "end_task", end_task)


def does_not_square(patch):
    def add(sums, nll, named):
        for name, gradient in zip(named, torch.autograd.grad(nll, list(named.values())), strict=True):
            sums[name].add_(gradient)

    patch.setattr(ewc.Ewc, "_add", staticmethod(add))


def calls_backward(patch):
    def add(sums, nll, named):
        nll.backward()
        for name, weight in named.items():
            sums[name].add_(weight.grad.square())
            weight.grad = None

    patch.setattr(ewc.Ewc, "_add", staticmethod(add))


@pytest.mark.parametrize(
    "fault", [keeps_the_first_anchor, forgets_earlier_importances, does_not_square, calls_backward]
)
def test_faults_of_the_penalty_are_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_penalty()


def check_closed_form(size):
    """The square of a batch's mean gradient -(y - w x) x, averaged over batches."""
    w, (x, y) = [0.5, -1.0, 2.0], pairs(12, [1.0, 0.0, 1.0])
    one = gaussian(w)
    one.end_task(0, data_of(x, y, size))
    gradients = -((y - x @ one.actor.w.detach())[:, None] * x).reshape(-1, size, 3).mean(1)
    torch.testing.assert_close(one.importance["w"], gradients.square().mean(0), rtol=1e-12, atol=0)
    assert torch.equal(one.anchor["w"], one.actor.w.detach())


@pytest.mark.parametrize("size", [1, 4])
def test_importances_of_a_linear_gaussian_model(size):
    check_closed_form(size)


def squares_the_mean_of_all_batches(patch):
    does_not_square(patch)
    plain = ewc.Ewc._squared_gradients
    patch.setattr(
        ewc.Ewc,
        "_squared_gradients",
        lambda self, data: {name: one.square() for name, one in plain(self, data).items()},
    )


def sums_over_batches(patch):
    plain = ewc.Ewc._squared_gradients
    patch.setattr(
        ewc.Ewc, "_squared_gradients", lambda self, data: {name: 2 * one for name, one in plain(self, data).items()}
    )


def squares_each_sample(patch):
    """As the Fisher information would; the closed form of single samples and of batches of four differ."""
    plain = ewc.Ewc._squared_gradients

    def alone(self, data):
        def read(windows, generator):
            for x, y in data.read(windows, generator):
                yield from zip(x.split(1), y.split(1), strict=True)

        return plain(self, TaskData(data.windows, read))

    patch.setattr(ewc.Ewc, "_squared_gradients", alone)


@pytest.mark.parametrize(
    "fault", [does_not_square, squares_the_mean_of_all_batches, sums_over_batches, squares_each_sample]
)
def test_importances_without_the_closed_form_are_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_closed_form(4)


def check_finite_differences():
    """Of the largest importance of three layers."""
    actor = Actor.made(
        replace(PROFILES["cpu"], temporal=replace(PROFILES["cpu"].temporal, dropout=0.0, depth_dropout=0.0)), source()
    ).double()
    windows = toy(0, 8)
    whole = windows.whole
    doubled = {
        name: value.double() if value.is_floating_point() else value for name, value in whole.observations.items()
    }
    windows.whole = replace(
        whole,
        observations=doubled,
        words={"sentence": whole.words["sentence"].double()},
        actions=whole.actions.double(),
        weight=whole.weight.double(),
    )
    one = ewc.Ewc(actor, ewc.Settings(), source())
    data = TaskData(windows, lambda given, generator: iter([given.batch([0, 1, 2, 3]), given.batch([4, 5, 6, 7])]))
    one.end_task(0, data)
    for name in ("film.outer.weight", "temporal.blocks.0.attention.qkv.weight", "head.logits.bias"):
        weight = actor.get_parameter(name)
        place = one.importance[name].flatten().argmax()
        slopes = []
        for batch in data.read(windows, None):
            with torch.no_grad():
                values = []
                for step in (1e-5, -2e-5):
                    weight.view(-1)[place] += step
                    values.append(float(actor.nll(batch)))
                weight.view(-1)[place] += 1e-5
            slopes.append((values[0] - values[1]) / 2e-5)
        wanted = sum(slope**2 for slope in slopes) / 2
        assert float(one.importance[name].flatten()[place]) == pytest.approx(wanted, rel=1e-4)


def test_importances_of_the_actor_equal_finite_differences():
    check_finite_differences()


@pytest.mark.parametrize("fault", [does_not_square, squares_the_mean_of_all_batches, sums_over_batches])
def test_importances_unlike_finite_differences_are_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_finite_differences()


def check_large_penalty():
    """By one Newton step, which solves this quadratic loss."""
    one = gaussian([1.0, 0.0], penalty=1e9)
    one.end_task(0, data_of(*pairs(12, [1.0, 0.0], silent=[1]), 1))
    assert float(one.importance["w"][0]) > 0
    assert float(one.importance["w"][1]) == 0
    batch = pairs(40, [3.0, 2.0], seed=7)
    w = one.actor.w
    gradient = torch.autograd.grad(one.loss(batch, LEARN), w, create_graph=True)[0]
    curvature = torch.stack([torch.autograd.grad(part, w, retain_graph=True)[0] for part in gradient])
    moved = -torch.linalg.solve(curvature, gradient.detach())
    assert abs(float(moved[0])) < 1e-6
    x, y = batch
    free = float((x[:, 1] @ (y - x[:, 0])) / x[:, 1].square().sum())
    assert float(moved[1]) == pytest.approx(free, rel=1e-6)


def test_a_large_penalty_holds_what_matters_and_nothing_else():
    check_large_penalty()


def all_weights_matter_alike(patch):
    def distance(self):
        w = self.actor.w
        return (self.importance["w"].mean() * (w - self.anchor["w"]).square()).sum()

    patch.setattr(ewc.Ewc, "distance", distance)


def what_matters_is_free(patch):
    def distance(self):
        rest = self.importance["w"] == 0
        return (rest * (self.actor.w - self.anchor["w"]).square()).sum()

    patch.setattr(ewc.Ewc, "distance", distance)


@pytest.mark.parametrize("fault", [all_weights_matter_alike, what_matters_is_free, the_penalty_is_never_added])
def test_a_penalty_on_other_weights_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_large_penalty()


def test_the_pass_is_in_training_mode_with_augmentation_and_repeats_with_the_seed():
    one, modes, augmented = learner("ewc"), [], []
    plain = one.actor.nll
    one.actor.nll = lambda batch: modes.append(one.actor.training) or plain(batch)
    one.augment = lambda batch: augmented.append(len(batch)) or batch
    data = Loop(one).data(TASKS[0])
    one.actor.eval()
    one.actor.head.requires_grad_(False)
    free = [parameter.requires_grad for parameter in one.parameters()]
    state = one.generator.get_state()
    first = one._squared_gradients(data)
    assert modes == [True] * 3
    assert sum(augmented) == len(TASKS[0])
    assert not one.actor.training
    assert [parameter.requires_grad for parameter in one.parameters()] == free
    assert not same(first, one._squared_gradients(data))
    one.generator.set_state(state)
    assert same(first, one._squared_gradients(data))


def test_settings():
    assert (ewc.Settings().penalty, ewc.Settings().decay) == (50_000, 0.9)
    for wrong, message in (({"penalty": -1.0}, "not be negative"), ({"decay": 2.0}, r"\[0, 1\]")):
        with pytest.raises(InvalidOption, match=message):
            ewc.Settings(**wrong)

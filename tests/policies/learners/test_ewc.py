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


def test_without_penalty_it_is_fine_tuning():
    plain = weights(Loop(learner("seqft")).tasks(TASKS))
    assert same(weights(Loop(learner("ewc", penalty=0.0)).tasks(TASKS).actor), weights_of_actor(plain))
    held = Loop(learner("ewc")).tasks(TASKS).actor
    assert not same(weights(held), weights_of_actor(plain))


def weights_of_actor(tensors):
    return {name.removeprefix("actor."): one for name, one in tensors.items()}


def test_the_first_task_is_fine_tuning_whatever_the_penalty():
    plain = weights(Loop(learner("seqft")).tasks(TASKS[:1]).actor)
    assert same(weights(Loop(learner("ewc", penalty=1e9)).tasks(TASKS[:1]).actor), plain)


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


@pytest.mark.parametrize("size", [1, 4])
def test_importances_of_a_linear_gaussian_model(size):
    """The square of a batch's mean gradient -(y - w x) x, averaged over batches."""
    w, (x, y) = [0.5, -1.0, 2.0], pairs(12, [1.0, 0.0, 1.0])
    one = gaussian(w)
    one.end_task(0, data_of(x, y, size))
    gradients = -((y - x @ one.actor.w.detach())[:, None] * x).reshape(-1, size, 3).mean(1)
    torch.testing.assert_close(one.importance["w"], gradients.square().mean(0), rtol=1e-12, atol=0)
    assert torch.equal(one.anchor["w"], one.actor.w.detach())


def test_importances_of_the_actor_equal_finite_differences():
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


def test_a_large_penalty_holds_what_matters_and_nothing_else():
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

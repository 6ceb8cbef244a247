"""Densities over actions against scipy, numerical integrals and their own samples."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

torch = pytest.importorskip("torch")
from gym_grounding_policies.nets.heads import ActionHead, Laplace, Mixture  # noqa: E402  # needs torch
from gym_grounding_policies.nets.profiles import Head  # noqa: E402


def source(seed=0):
    return torch.Generator().manual_seed(seed)


def mixture(rows=2, steps=3, modes=4, chunk=5, numbers=2, seed=0):
    draw = source(seed)
    means = torch.rand(rows, steps, modes, chunk, numbers, generator=draw) * 2 - 1
    scales = torch.rand(rows, steps, modes, chunk, numbers, generator=draw) * 0.4 + 0.1
    return Mixture(torch.randn(rows, steps, modes, generator=draw), means, scales)


def by_scipy(density, actions):
    """Log density of each action under each mode (B, H, M, C), and the modes' log probabilities."""
    each = stats.norm.logpdf(actions[:, :, None].numpy(), density.means.numpy(), density.scales.numpy()).sum(-1)
    return each, density.logits.log_softmax(-1).numpy()


def check_mixture():
    """Log density of an action, and the loss by the joint density of a chunk, are those of scipy."""
    density = mixture()
    actions = torch.rand(2, 3, 5, 2, generator=source(1)) * 2 - 1
    each, modes = by_scipy(density, actions)
    np.testing.assert_allclose(density.log_prob(actions), logsumexp(each + modes[..., None], axis=2), atol=1e-5)
    weight = (torch.rand(2, 3, 5, generator=source(2)) < 0.6).float()
    joint = logsumexp((each * weight[:, :, None].numpy()).sum(-1) + modes, axis=2)
    assert float(density.nll(actions, weight)) == pytest.approx(-joint.sum() / float(weight.sum()), abs=1e-5)


def test_the_mixture_is_that_of_scipy():
    check_mixture()


def the_constant_is_forgotten(patch):
    each = Mixture._each
    constant = math.log(2 * math.pi)
    patch.setattr(Mixture, "_each", lambda self, actions: each(self, actions) + 0.5 * constant * actions.shape[-1])


def scales_are_variances(patch):
    each = Mixture._each
    patch.setattr(Mixture, "_each", lambda self, actions: each(replace(self, scales=self.scales.sqrt()), actions))


def modes_are_not_normalised(patch):
    patch.setattr(
        Mixture, "log_prob", lambda self, actions: torch.logsumexp(self.logits[..., None] + self._each(actions), 2)
    )


def actions_of_a_chunk_are_apart(patch):
    patch.setattr(Mixture, "nll", lambda self, actions, weight: -(self.log_prob(actions) * weight).sum() / weight.sum())


def uncounted_actions_count(patch):
    nll = Mixture.nll
    patch.setattr(Mixture, "nll", lambda self, actions, weight: nll(self, actions, torch.ones_like(weight)))


@pytest.mark.parametrize(
    "fault",
    [
        the_constant_is_forgotten,
        scales_are_variances,
        modes_are_not_normalised,
        actions_of_a_chunk_are_apart,
        uncounted_actions_count,
    ],
)
def test_another_mixture_than_scipys_is_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_mixture()


def test_for_single_actions_the_loss_is_the_mean_of_the_counted_log_densities():
    density = mixture(chunk=1)
    actions = torch.rand(2, 3, 1, 2, generator=source(1))
    weight = torch.tensor([[1, 0, 1], [1, 1, 0]])[..., None].float()
    wanted = -density.log_prob(actions)[weight.bool()].mean()
    torch.testing.assert_close(density.nll(actions, weight), wanted)


ONE = mixture(1, 1, 3, 1, 1)
LAPLACE = Laplace(torch.full((1, 1, 1, 1), 0.3), 0.1)
"""In one dimension."""


def check_integral(density):
    """The density integrates to 1, and its mean is the mean."""
    grid = torch.linspace(-4, 4, 20001)
    log = torch.stack([density.log_prob(point.reshape(1, 1, 1, 1)).reshape(()) for point in grid[::40]])
    grid, mass = grid[::40], log.exp()
    assert float(torch.trapezoid(mass, grid)) == pytest.approx(1, abs=2e-3)
    assert float(torch.trapezoid(mass * grid, grid)) == pytest.approx(float(density.mean), abs=2e-3)


@pytest.mark.parametrize("density", [ONE, LAPLACE])
def test_in_one_dimension_the_density_integrates_to_one_and_its_mean_is_the_mean(density):
    check_integral(density)


def the_mean_is_that_of_all_modes_alike(patch):
    patch.setattr(Mixture, "mean", property(lambda self: self.means.mean(2)))


def the_mean_is_that_of_the_likeliest_mode(patch):
    patch.setattr(Mixture, "mean", property(lambda self: self.means[:, :, int(self.logits.argmax())]))


def laplace_has_half_its_constant(patch):
    log_prob = Laplace.log_prob
    patch.setattr(Laplace, "log_prob", lambda self, actions: log_prob(self, actions) + math.log(2))


@pytest.mark.parametrize(
    ("fault", "density"),
    [
        (the_constant_is_forgotten, ONE),
        (modes_are_not_normalised, ONE),
        (the_mean_is_that_of_all_modes_alike, ONE),
        (the_mean_is_that_of_the_likeliest_mode, ONE),
        (laplace_has_half_its_constant, LAPLACE),
    ],
)
def test_another_integral_or_mean_is_found(fault, density, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_integral(density)


def check_samples():
    """The distribution of samples is that of the density."""
    one = ONE
    many = Mixture(*(part.expand(8000, *part.shape[1:]) for part in (one.logits, one.means, one.scales)))
    drawn = np.sort(many.sample(source(3)).flatten().numpy())
    chance = one.logits.softmax(-1).flatten().numpy()
    distribution = stats.norm.cdf(drawn[:, None], one.means.flatten(), one.scales.flatten()) @ chance
    assert np.abs(distribution - np.arange(1, 8001) / 8000).max() < 0.02
    laplace = Laplace(torch.zeros(8000, 1, 1, 1), 0.1).sample(source(4)).flatten().numpy()
    assert stats.kstest(laplace, stats.laplace(scale=0.1).cdf).statistic < 0.02
    assert np.abs(laplace).mean() == pytest.approx(0.1, rel=0.05)  # its deviation is 1.1 %


def test_samples_follow_the_density():
    check_samples()


def drawn_from_another(**changes):
    """A fault: samples are those of a mixture that is changed."""

    def plant(patch):
        sample = Mixture.sample

        def other(self, generator):
            return sample(replace(self, **{name: change(self) for name, change in changes.items()}), generator)

        patch.setattr(Mixture, "sample", other)

    return plant


def laplace_noise_is_wider(patch):
    sample = Laplace.sample
    patch.setattr(Laplace, "sample", lambda self, generator: sample(replace(self, scale=1.1 * self.scale), generator))


@pytest.mark.parametrize(
    "fault",
    [
        drawn_from_another(logits=lambda one: 0 * one.logits),
        drawn_from_another(logits=lambda one: 10 * one.logits),
        drawn_from_another(scales=lambda one: 1.3 * one.scales),
        drawn_from_another(means=lambda one: one.means + 0.05),
        laplace_noise_is_wider,
    ],
    ids=["modes alike", "likeliest mode", "wider", "beside", "wider Laplace"],
)
def test_samples_of_another_density_are_found(fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_samples()


def test_a_chunk_is_drawn_from_one_mode():
    means = torch.tensor([-0.5, 0.5]).reshape(1, 1, 2, 1, 1).expand(200, 1, 2, 6, 2)
    drawn = Mixture(torch.zeros(200, 1, 2), means, torch.full_like(means, 1e-3)).sample(source())
    signs = drawn.sign().flatten(1)
    assert bool((signs == signs[:, :1]).all())
    assert 60 < int((signs[:, 0] > 0).sum()) < 140


@pytest.mark.parametrize("kind", ["gmm", "l1"])
def test_a_row_with_its_own_generator_is_the_same_in_any_batch(kind):
    head = ActionHead(4, Head(kind, hidden=6, chunk=2))
    x = torch.randn(3, 1, 4, generator=source())
    together = head(x).sample([source(seed) for seed in range(3)])
    alone = head(x[1:2]).sample([source(1)])
    torch.testing.assert_close(together[1:2], alone)
    assert not torch.equal(together[0], together[2])


def test_the_last_step_alone():
    for density in (mixture(), Laplace(torch.rand(2, 3, 4, 7, generator=source()), 0.1)):
        assert torch.equal(density.last().mean, density.mean[:, -1:])


def test_l1_is_the_absolute_error_over_the_scale():
    mean = torch.zeros(1, 1, 2, 3, requires_grad=True)
    actions = torch.tensor([[0.5, -0.25, 0.1], [1.0, 1.0, 1.0]]).reshape(1, 1, 2, 3)
    loss = Laplace(mean, 0.1).nll(actions, torch.tensor([[[1.0, 0.0]]]))
    assert loss.item() == pytest.approx(0.85 / 0.1 + 3 * math.log(0.2), abs=1e-5)
    loss.backward()
    torch.testing.assert_close(mean.grad[0, 0], torch.tensor([[-10.0, 10.0, -10.0], [0.0, 0.0, 0.0]]))


@pytest.mark.parametrize("kind", ["gmm", "l1"])
def test_gradients_of_the_loss(kind):
    head = ActionHead(3, Head(kind, modes=2, hidden=4, chunk=2, actions=2)).double()
    actions = torch.rand(2, 1, 2, 2, generator=source(), dtype=torch.float64) * 2 - 1
    weight = torch.tensor([[[1.0, 0.0]], [[1.0, 1.0]]], dtype=torch.float64)
    x = torch.randn(2, 1, 3, generator=source(1), dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda one: head(one).nll(actions, weight), x)


def test_everything_is_finite_for_absurd_features():
    for kind in ("gmm", "l1"):
        density = ActionHead(4, Head(kind, hidden=8))(torch.full((1, 1, 4), 1e4))
        actions = torch.full((1, 1, 1, 7), -1.0)
        for value in (density.mean, density.log_prob(actions), density.sample(source())):
            assert bool(value.isfinite().all())
    scales = ActionHead(4, Head(hidden=8))(torch.full((1, 1, 4), -1e4)).scales
    assert scales.min().item() == pytest.approx(1e-4)

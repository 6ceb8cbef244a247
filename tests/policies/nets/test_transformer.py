"""Blocks against torch's own, masks, positions, stochastic depth."""

import math

import pytest

torch = pytest.importorskip("torch")
from gym_grounding_policies.nets import transformer  # noqa: E402  # needs torch
from gym_grounding_policies.nets.actor import Tokens  # noqa: E402
from gym_grounding_policies.nets.draws import seeded  # noqa: E402
from gym_grounding_policies.nets.profiles import Temporal  # noqa: E402
from gym_grounding_policies.nets.transformer import Block, DropBranch, TemporalTransformer, positions  # noqa: E402
from torch.nn import functional  # noqa: E402


def source(seed=0):
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("causal", [True, False])
def test_a_block_is_torchs_own_layer(fused, causal):
    block = Block(8, 2, 12, "temporal", 0, "gelu_tanh", fused=fused).eval()
    other = torch.nn.TransformerEncoderLayer(
        8, 2, 12, 0.0, lambda x: functional.gelu(x, approximate="tanh"), batch_first=True, norm_first=True
    ).eval()
    attention = block.attention
    three = [attention.qkv] if fused else [attention.q, attention.k, attention.v]
    weights = {
        "self_attn.in_proj_weight": torch.cat([site.weight for site in three]),
        "self_attn.in_proj_bias": torch.cat([site.bias for site in three]),
    }
    names = {"self_attn.out_proj": "attention.out", "linear1": "mlp.fc1", "linear2": "mlp.fc2"}
    for theirs, ours in (names | {"norm1": "norm1", "norm2": "norm2"}).items():
        weights |= {f"{theirs}.{part}": getattr(block.get_submodule(ours), part) for part in ("weight", "bias")}
    other.load_state_dict(weights)
    x = torch.randn(3, 5, 8, generator=source())
    mask = torch.ones(5, 5).triu(1).bool() if causal else None
    torch.testing.assert_close(block(x, causal=causal), other(x, src_mask=mask), atol=1e-5, rtol=1e-5)
    if causal:
        torch.testing.assert_close(block(x, ~mask), block(x, causal=True))


def check_causal(actor, batch, tiny):
    """Another observation at a step changes the read-outs of that and of later steps, and of no earlier one."""
    before = actor.features(batch.observations, batch.words)
    other = tiny.window(actor.profile.name, seed=2).observations
    for step in range(tiny.steps):
        mixed = {
            key: torch.cat((value[:, :step], other[key][:, step : step + 1], value[:, step + 1 :]), 1)
            for key, value in batch.observations.items()
        }
        after = actor.features(mixed, batch.words)
        assert torch.equal(after[:, :step], before[:, :step])
        assert all(not torch.equal(after[:, later], before[:, later]) for later in range(step, tiny.steps))


def test_a_later_step_never_changes_an_earlier_read_out(actor, batch, tiny):
    check_causal(actor, batch, tiny)


def masked(seen):
    """A fault: a mask by the steps of the one who sees and of what is seen."""

    def plant(patch):
        def mask(steps, count, device=None):
            step = torch.arange(steps, device=device).repeat_interleave(count)
            return seen(step[:, None], step[None, :])

        patch.setattr(transformer, "causal_mask", mask)

    return plant


@pytest.mark.parametrize(
    "fault",
    [
        masked(lambda one, other: one >= 0 * other),
        masked(lambda one, other: one <= other),
        masked(lambda one, other: one >= other - 1),
        masked(lambda one, other: one == other),
    ],
    ids=["all steps", "later steps", "one step too many", "own step alone"],
)
def test_another_mask_is_found(actor, batch, tiny, fault, monkeypatch):
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        check_causal(actor, batch, tiny)


def test_absent_tokens_are_not_seen(tiny):
    from gym_grounding_policies.nets.actor import Actor

    actor = Actor.made(tiny.profiles["cpu"], source()).eval()
    batch = tiny.window("cpu")
    other = {**batch.observations, "tokens": batch.observations["tokens"].clone()}
    other["tokens"][~batch.observations["present"]] += 5
    assert torch.equal(actor.features(other, batch.words), actor.features(batch.observations, batch.words))
    other["tokens"][batch.observations["present"]] += 5
    assert not torch.equal(actor.features(other, batch.words), actor.features(batch.observations, batch.words))


def check_block():
    """All tokens of a step see each other."""
    net = TemporalTransformer(8, Temporal(1, 2, 8)).eval()
    tokens = torch.randn(1, 2, 3, 8, generator=source())
    later = tokens.clone()
    later[:, 1, 2, 0] += 1
    assert not torch.equal(net(later)[:, 1], net(tokens)[:, 1])


def test_all_tokens_of_a_step_see_each_other():
    check_block()


def test_a_mask_by_tokens_is_found(monkeypatch):
    monkeypatch.setattr(
        transformer, "causal_mask", lambda steps, count, device: torch.ones(steps * count, steps * count).tril().bool()
    )
    with pytest.raises(AssertionError):
        check_block()


def test_positions_have_base_ten():
    table = positions(4, 6, 10.0)
    for step in range(4):
        for pair in range(3):
            angle = step * 10 ** (-2 * pair / 6)
            assert float(table[step, pair]) == pytest.approx(math.sin(angle), abs=1e-6)
            assert float(table[step, 3 + pair]) == pytest.approx(math.cos(angle), abs=1e-6)


def test_the_tokens_of_a_step_get_its_position():
    tokens = torch.randn(2, 4, 3, 6, generator=source())
    net = TemporalTransformer(6, Temporal(layers=0, heads=2, hidden=8, base=3.0))
    torch.testing.assert_close(net(tokens), tokens[:, :, 0] + positions(4, 6, 3.0))


def test_positions_count_inside_the_window(actor, batch):
    tokens = actor.tokens(batch.observations, batch.words)
    same = tokens.values[:, :1].expand(-1, 2, -1, -1)
    present = None if tokens.present is None else tokens.present[:, :1].expand(-1, 2, -1)
    read = actor.read(Tokens(same, present))
    assert not torch.allclose(read[:, 0], read[:, 1])
    alone = actor.read(Tokens(same[:, :1], None if present is None else present[:, :1]))
    torch.testing.assert_close(alone[:, 0], read[:, 0], atol=1e-5, rtol=1e-5)


def test_stochastic_depth_drops_whole_samples_in_training_only():
    drop = DropBranch(0.25)
    x = torch.ones(4000, 2, 3)
    with seeded(source()):
        out = drop(x)
    kept = out[:, 0, 0] != 0
    assert 0.72 < float(kept.float().mean()) < 0.78
    torch.testing.assert_close(out, torch.where(kept[:, None, None], x / 0.75, 0 * x))
    assert drop.eval()(x) is x


def test_the_attention_branch_has_no_stochastic_depth():
    block = Block(8, 2, 12, "temporal", 0, "gelu_tanh", depth_dropout=1 - 1e-9)
    x = torch.randn(3, 5, 8, generator=source())
    with seeded(source()):
        out = block(x)
    torch.testing.assert_close(out, x + block.attention(block.norm1(x), None, False))


def test_the_published_rates(published):
    rates = {one.p for one in published.temporal.modules() if isinstance(one, torch.nn.Dropout)}
    depth = {one.rate for one in published.temporal.modules() if isinstance(one, DropBranch)}
    assert (rates, depth, published.temporal.base) == ({0.15}, {0.15}, 10.0)
    towers = [*published.image.modules(), *published.text.modules()]
    assert {one.p for one in towers if isinstance(one, torch.nn.Dropout)} == {0.0}

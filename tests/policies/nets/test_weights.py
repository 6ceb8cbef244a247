"""Public weights by their public names, from files that the tests make."""

import pytest

from gym_grounding.errors import InvalidOption, MissingSource

torch = pytest.importorskip("torch")
safetensors = pytest.importorskip("safetensors.torch")
from gym_grounding_policies.nets.actor import Actor  # noqa: E402  # needs torch
from gym_grounding_policies.nets.weights import load_public_weights  # noqa: E402


def source(seed=0):
    return torch.Generator().manual_seed(seed)


def random(*shape):
    return torch.randn(*shape, generator=source(sum(shape)))


def pair(name, *shape):
    return {f"{name}.weight": random(*shape), f"{name}.bias": random(shape[0]) + 1}


def timm(width=16, hidden=32, layers=2, patches=4):
    """timm's names of a CLIP ViT, with tensors of the tiny profile's sizes."""
    found = {
        "cls_token": random(1, 1, width),
        "pos_embed": random(1, patches + 1, width),
        "patch_embed.proj.weight": random(width, 3, 8, 8),
        **pair("norm_pre", width),
        **pair("norm", width),
        **pair("head", 6, width),
    }
    for layer in range(layers):
        for name, *shape in (
            ("norm1", width),
            ("norm2", width),
            ("attn.qkv", 3 * width, width),
            ("attn.proj", width, width),
            ("mlp.fc1", hidden, width),
            ("mlp.fc2", width, hidden),
        ):
            found |= pair(f"blocks.{layer}.{name}", *shape)
    return found


def layer_of_transformers(name, width, hidden):
    found = {}
    for part, *shape in (
        ("layer_norm1", width),
        ("layer_norm2", width),
        *((f"self_attn.{one}_proj", width, width) for one in ("q", "k", "v", "out")),
        ("mlp.fc1", hidden, width),
        ("mlp.fc2", width, hidden),
    ):
        found |= pair(f"{name}.{part}", *shape)
    return found


def transformers():
    """transformers' names of a whole CLIP."""
    found = {
        "logit_scale": torch.ones(()),
        "visual_projection.weight": random(6, 16),
        "text_projection.weight": random(6, 8),
        "text_model.embeddings.position_ids": torch.arange(12)[None],
        "text_model.embeddings.token_embedding.weight": random(40, 8),
        "text_model.embeddings.position_embedding.weight": random(12, 8),
        **pair("text_model.final_layer_norm", 8),
        "vision_model.embeddings.position_ids": torch.arange(5)[None],
        "vision_model.embeddings.class_embedding": random(16),
        "vision_model.embeddings.patch_embedding.weight": random(16, 3, 8, 8),
        "vision_model.embeddings.position_embedding.weight": random(5, 16),
        **pair("vision_model.pre_layrnorm", 16),
        **pair("vision_model.post_layernorm", 16),
    }
    for layer in range(2):
        found |= layer_of_transformers(f"text_model.encoder.layers.{layer}", 8, 16)
        found |= layer_of_transformers(f"vision_model.encoder.layers.{layer}", 16, 32)
    return found


def saved(path, tensors):
    safetensors.save_file({name: value.contiguous() for name, value in tensors.items()}, path)
    return path


@pytest.fixture
def empty(tiny):
    return Actor.made(tiny.profiles["paper"], source()).eval()


def test_one_file_of_transformers_fills_both_encoders(empty, tmp_path):
    theirs = transformers()
    before = empty.head.means.weight.clone()
    load_public_weights(empty, saved(tmp_path / "model.safetensors", theirs))
    block, layer = empty.image.blocks[1], "vision_model.encoder.layers.1"
    three = [theirs[f"{layer}.self_attn.{part}_proj.bias"] for part in "qkv"]
    assert torch.equal(block.attention.qkv.bias, torch.cat(three))
    assert torch.equal(block.mlp.fc2.weight, theirs[f"{layer}.mlp.fc2.weight"])
    assert torch.equal(empty.image.class_token, theirs["vision_model.embeddings.class_embedding"])
    assert torch.equal(empty.image.norm_before.weight, theirs["vision_model.pre_layrnorm.weight"])
    text = empty.text
    assert torch.equal(text.projection.weight, theirs["text_projection.weight"])
    assert torch.equal(text.tokens.weight, theirs["text_model.embeddings.token_embedding.weight"])
    assert torch.equal(text.blocks[0].attention.v.weight, theirs["text_model.encoder.layers.0.self_attn.v_proj.weight"])
    assert torch.equal(text.norm.bias, theirs["text_model.final_layer_norm.bias"])
    assert torch.equal(empty.head.means.weight, before)


def test_timms_file_fills_the_picture_encoder_and_goes_before_later_ones(empty, tmp_path):
    theirs = timm()
    half = {name: value.half() for name, value in theirs.items()}
    files = saved(tmp_path / "timm.safetensors", half), saved(tmp_path / "clip.safetensors", transformers())
    load_public_weights(empty, *files)
    block = empty.image.blocks[0]
    assert torch.equal(block.attention.qkv.weight, half["blocks.0.attn.qkv.weight"].float())
    assert torch.equal(block.attention.out.bias, half["blocks.0.attn.proj.bias"].float())
    assert torch.equal(empty.image.positions, half["pos_embed"][0].float())
    assert torch.equal(empty.image.norm_after.weight, half["norm.weight"].float())
    assert empty.image.class_token.dtype == torch.float32


def test_files_that_do_not_help(empty, tiny, tmp_path):
    with pytest.raises(
        MissingSource, match=r"no file given: no weights of CLIP's image encoder; give .* nothing is downloaded"
    ):
        load_public_weights(empty)
    with pytest.raises(
        MissingSource, match=r"absent\.safetensors: no such file; give the safetensors file of openai/clip"
    ):
        load_public_weights(empty, tmp_path / "absent.safetensors")
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"{}")
    with pytest.raises(MissingSource, match=r"broken\.safetensors: is no readable safetensors file"):
        load_public_weights(empty, broken)
    only = saved(tmp_path / "timm.safetensors", timm())
    with pytest.raises(MissingSource, match=r"timm\.safetensors: no weights of CLIP's text encoder"):
        load_public_weights(empty, only)
    short = {name: value for name, value in transformers().items() if "text_projection" not in name}
    with pytest.raises(MissingSource, match=r"its text encoder is not CLIP ViT-B/16's: missing projection.weight"):
        load_public_weights(empty, saved(tmp_path / "short.safetensors", short))
    wide = {**transformers(), "vision_model.embeddings.class_embedding": torch.zeros(17)}
    with pytest.raises(InvalidOption, match=r"class_token has shape \(17,\); the profile needs \(16,\)"):
        load_public_weights(empty, saved(tmp_path / "wide.safetensors", wide))
    with pytest.raises(InvalidOption, match="profile 'cpu' has no CLIP encoders"):
        load_public_weights(Actor.made(tiny.profiles["cpu"], source()), only)

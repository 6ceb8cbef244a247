"""CLIP's public weights from safetensors files on disk, under timm's or transformers' names. Nothing is downloaded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from gym_grounding.errors import InvalidOption, MissingSource
from gym_grounding_policies.nets.actor import Actor

REMEDY = (
    "give the safetensors file of openai/clip-vit-base-patch16 (both encoders, written by transformers' "
    "CLIPModel.save_pretrained), or for the pictures that of timm's vit_base_patch16_clip_224.openai; "
    "get it with their own tools on a machine with network, nothing is downloaded here"
)
TIMM = (
    (r"^cls_token$", "class_token"),
    (r"^pos_embed$", "positions"),
    (r"^patch_embed\.proj\.", "patches."),
    (r"^norm_pre\.", "norm_before."),
    (r"^norm\.", "norm_after."),
    (r"\.attn\.proj\.", ".attention.out."),
    (r"\.attn\.", ".attention."),
)
"""Patterns in timm's names, and ours."""
LAYERS = (
    (r"^encoder\.layers\.", "blocks."),
    (r"\.layer_norm([12])\.", r".norm\1."),
    (r"\.self_attn\.out_proj\.", ".attention.out."),
    (r"\.self_attn\.([qkv])_proj\.", r".attention.\1."),
)
VISION = (
    (r"^embeddings\.class_embedding$", "class_token"),
    (r"^embeddings\.patch_embedding\.", "patches."),
    (r"^embeddings\.position_embedding\.weight$", "positions"),
    (r"^pre_layrnorm\.", "norm_before."),
    (r"^post_layernorm\.", "norm_after."),
    *LAYERS,
)
TEXT = (
    (r"^embeddings\.token_embedding\.", "tokens."),
    (r"^embeddings\.position_embedding\.", "positions."),
    (r"^final_layer_norm\.", "norm."),
    *LAYERS,
)
"""Patterns in transformers' names without the encoder's prefix, and ours."""


def load_public_weights(actor: Actor, *files: str | Path) -> None:
    """Fills both encoders of an actor with public weights; the rest stays as it is.

    timm's unused projection of the class token is left out.

    Args:
        files: safetensors files. One of transformers' CLIP holds both encoders; one of timm's holds that of pictures.

    Raises:
        MissingSource: no such file, no safetensors file, or none that holds an encoder; says what to give.
        InvalidOption: the actor has no such encoders, or the weights are those of another size.
    """
    if actor.image is None or actor.text is None:
        raise InvalidOption(f"profile {actor.profile.name!r} has no CLIP encoders, so it takes no public weights")
    found: dict[str, tuple[Path, dict[str, Tensor]]] = {}
    for file in map(Path, files):
        for encoder, weights in _encoders(_read(file)).items():
            found.setdefault(encoder, (file, weights))
    for encoder, part in (("image", actor.image), ("text", actor.text)):
        if encoder not in found:
            raise MissingSource(f"{_listed(files)}: no weights of CLIP's {encoder} encoder; {REMEDY}")
        _fill(part, encoder, *found[encoder])


def _listed(files: tuple[str | Path, ...]) -> str:
    return ", ".join(map(str, files)) or "no file given"


def _read(file: Path) -> dict[str, Tensor]:
    if not file.is_file():
        raise MissingSource(f"{file}: no such file; {REMEDY}")
    try:
        weights: dict[str, Tensor] = load_file(file)
    except (SafetensorError, OSError) as error:
        raise MissingSource(f"{file}: is no readable safetensors file ({error}); {REMEDY}") from error
    return weights


def _encoders(given: Mapping[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    """The encoders in a file, under our names."""
    found = {}
    if "cls_token" in given:
        kept = {name: value for name, value in given.items() if not name.startswith("head.")}
        found["image"] = _renamed(kept, "", TIMM)
    if "vision_model.embeddings.class_embedding" in given:
        found["image"] = _fused(_renamed(given, "vision_model.", VISION))
    if "text_model.embeddings.token_embedding.weight" in given:
        found["text"] = _renamed(given, "text_model.", TEXT)
        if "text_projection.weight" in given:
            found["text"]["projection.weight"] = given["text_projection.weight"]
    return found


def _renamed(given: Mapping[str, Tensor], prefix: str, patterns: tuple[tuple[str, str], ...]) -> dict[str, Tensor]:
    found = {}
    for name, value in given.items():
        # Older files of transformers hold the positions' numbers too.
        if not name.startswith(prefix) or name.endswith("position_ids"):
            continue
        ours = name.removeprefix(prefix)
        for pattern, replacement in patterns:
            ours = re.sub(pattern, replacement, ours)
        found[ours] = value
    return found


def _fused(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """q, k and v, which transformers keeps apart, as one layer."""
    found = dict(weights)
    for name in weights:
        if ".attention.q." in name:
            three = [found.pop(name.replace(".attention.q.", f".attention.{part}.")) for part in "qkv"]
            found[name.replace(".attention.q.", ".attention.qkv.")] = torch.cat(three)
    return found


def _fill(part: nn.Module, encoder: str, file: Path, weights: dict[str, Tensor]) -> None:
    wanted = part.state_dict()
    missing, foreign = sorted(wanted.keys() - weights.keys()), sorted(weights.keys() - wanted.keys())
    if missing or foreign:
        raise MissingSource(
            f"{file}: its {encoder} encoder is not CLIP ViT-B/16's: missing {_few(missing)}; "
            f"unknown {_few(foreign)}; {REMEDY}"
        )
    shaped = {
        name: value.squeeze(0) if value.dim() == wanted[name].dim() + 1 else value for name, value in weights.items()
    }
    shaped = {name: value.flatten() if wanted[name].dim() == 1 else value for name, value in shaped.items()}
    for name, value in shaped.items():
        if value.shape != wanted[name].shape:
            raise InvalidOption(
                f"{file}: {encoder} encoder: {name} has shape {tuple(value.shape)}; "
                f"the profile needs {tuple(wanted[name].shape)}"
            )
    part.load_state_dict(shaped)


def _few(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "") if names else "nothing"

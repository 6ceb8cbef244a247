"""Resizing against Pillow, colours against colorsys, and what the random changes leave equal; the text encoder."""

import colorsys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from gym_grounding.errors import InvalidOption

torch = pytest.importorskip("torch")
from gym_grounding_policies.nets.augmentation import (  # noqa: E402  # needs torch
    Augmentation,
    brightened,
    contrasted,
    grey,
    hue_shifted,
    moved,
    saturated,
)
from gym_grounding_policies.nets.images import DEVIATION, MEAN, ImageEncoder, prepared  # noqa: E402
from gym_grounding_policies.nets.profiles import TextTower  # noqa: E402
from gym_grounding_policies.nets.text import TextEncoder  # noqa: E402

CAMERAS = ("agentview", "eye_in_hand")


def source(seed=0):
    return torch.Generator().manual_seed(seed)


def test_resizing_is_pillows_bicubic_with_the_centre_kept():
    picture = torch.rand(1, 3, 20, 20, generator=source())
    ready = prepared(picture, 39, 31)
    for channel in range(3):
        resized = Image.fromarray(picture[0, channel].numpy()).resize((39, 39), Image.Resampling.BICUBIC)
        wanted = (np.asarray(resized)[4:35, 4:35] - MEAN[channel]) / DEVIATION[channel]
        np.testing.assert_allclose(ready[0, channel], wanted, atol=1e-4)


def test_bytes_are_divided_by_255(tiny):
    encoder = ImageEncoder(16, tiny.profiles["paper"].pictures).eval()
    given = torch.randint(0, 256, (2, 3, 12, 12), generator=source(), dtype=torch.uint8)
    assert torch.equal(encoder(given), encoder(given.float() / 255))


def test_colours_against_colorsys():
    picture = torch.rand(3, 4, 5, generator=source())
    turned = hue_shifted(picture, 0.23)
    for row in range(4):
        for column in range(5):
            hue, saturation, value = colorsys.rgb_to_hsv(*picture[:, row, column].tolist())
            wanted = colorsys.hsv_to_rgb((hue + 0.23) % 1, saturation, value)
            np.testing.assert_allclose(turned[:, row, column], wanted, atol=1e-5)
    grey_picture = torch.full((3, 2, 2), 0.4)
    torch.testing.assert_close(hue_shifted(grey_picture, -0.3), grey_picture)
    torch.testing.assert_close(brightened(picture, 1.2), (picture * 1.2).clamp(max=1))
    torch.testing.assert_close(saturated(picture, 0.0), grey(picture).expand(3, -1, -1))
    torch.testing.assert_close(contrasted(picture, 0.0), grey(picture).mean().expand(3, 4, 5))
    for step in (brightened, contrasted, saturated):
        torch.testing.assert_close(step(picture, 1.0), picture)


def test_moving_is_clockwise_and_black_outside():
    picture = torch.rand(2, 3, 6, 6, generator=source())
    assert torch.equal(moved(picture, 0.0, 0, 0), picture)
    turned = moved(picture, 90.0, 0, 0)
    np.testing.assert_array_equal(turned.numpy(), np.rot90(picture.numpy(), -1, axes=(-2, -1)))
    shifted = moved(picture, 0.0, 2, -1)
    assert torch.equal(shifted[..., :-1, 2:], picture[..., 1:, :-2])
    assert not bool(shifted[..., -1, :].any())
    assert not bool(shifted[..., :2].any())


def observed(rows=3, steps=2):
    frames = torch.randint(0, 256, (rows, 1, 3, 8, 8), generator=source(), dtype=torch.uint8).expand(
        -1, steps, -1, -1, -1
    )
    return {**dict.fromkeys(CAMERAS, frames), "joint": torch.zeros(rows, steps, 7)}


def test_all_frames_of_a_window_change_alike_and_windows_apart():
    same = observed()
    same = {key: value[:1].expand_as(value) for key, value in same.items()}
    out = Augmentation(jitter=1, affine=1, crop=1)(same, CAMERAS, source(5))
    first = out["agentview"][:, 0]
    for camera in CAMERAS:
        assert all(torch.equal(out[camera][:, step], first) for step in range(2))
    assert not torch.equal(first[0], first[1])
    assert out["joint"] is same["joint"]
    assert out["agentview"].dtype == torch.float32
    assert 0 <= float(out["agentview"].min()) <= float(out["agentview"].max()) <= 1


def test_the_affine_draw_is_one_for_the_batch():
    same = {key: value[:1].expand_as(value) for key, value in observed().items()}
    out = Augmentation(jitter=0, affine=1, crop=0)(same, CAMERAS, source(5))["agentview"]
    assert torch.equal(out[0], out[1])
    assert not torch.equal(out[0, 0], same["agentview"][0, 0] / 255)


def test_augmentation_repeats_with_its_generator_and_can_be_off():
    given = observed()
    one, two, other = (Augmentation()(given, CAMERAS, source(seed))["eye_in_hand"] for seed in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)
    off = Augmentation(jitter=0, affine=0, crop=0)(given, CAMERAS, source())
    assert torch.equal(off["agentview"], given["agentview"].float() / 255)


def test_crops_stay_within_the_padding():
    given = {"agentview": observed()["agentview"]}
    crop = Augmentation(jitter=0, affine=0, crop=1, padding=2)
    frame = given["agentview"][0, 0].float() / 255
    padded = torch.nn.functional.pad(frame[None], (2,) * 4, mode="replicate")[0]
    possible = [padded[:, top : top + 8, left : left + 8] for top in range(5) for left in range(5)]
    seen = set()
    for seed in range(60):
        out = crop(given, ("agentview",), source(seed))["agentview"][0, 0]
        matches = [number for number, one in enumerate(possible) if torch.equal(out, one)]
        assert matches
        seen.add(matches[0])
    assert {0, 4} & {number % 5 for number in seen} == {0, 4}
    assert {0, 4} & {number // 5 for number in seen} == {0, 4}


def test_padding_of_a_sentence_is_not_seen():
    settings = TextTower(vocabulary=40, length=9, width=8, layers=2, heads=2, hidden=16, projected=6)
    encoder = TextEncoder(settings).eval()
    ids = torch.tensor([[38, 4, 7, 39]])
    short = encoder(ids, torch.ones_like(ids))
    padded = torch.cat((ids, torch.tensor([[39, 5]])), 1)
    mask = torch.tensor([[1, 1, 1, 1, 0, 0]])
    torch.testing.assert_close(encoder(padded, mask), short)
    assert not torch.allclose(encoder(padded, torch.ones_like(mask)), short)
    with pytest.raises(InvalidOption, match="sentences of 10 tokens; the text encoder takes 9"):
        encoder(torch.zeros(1, 10).long(), torch.ones(1, 10))
    assert replace(settings, length=77).length == TextTower().length

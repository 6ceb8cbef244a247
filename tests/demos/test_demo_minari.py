"""Demonstration files as Minari datasets, read back with Minari's own library."""

import warnings

import numpy as np
import pytest
from demos import fake_arm
from demos.test_demo_read import drop

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

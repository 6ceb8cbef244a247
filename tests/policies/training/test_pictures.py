"""Training on pictures: the published network at tiny widths, by the same loop and stages."""

import dataclasses
import functools

import pytest

pytest.importorskip("torch")

import torch
from gym_grounding_policies.nets.augmentation import Augmentation
from gym_grounding_policies.nets.profiles import PAPER, Head, Pictures, Temporal, TextTower
from gym_grounding_policies.training import kits, senses, stages
from gym_grounding_policies.training.checkpoint import read
from gym_grounding_policies.training.kits import PAPERS
from gym_grounding_policies.training.plan import TrainingPlan, files_of
from gym_grounding_policies.training.stages import How
from policies.training import little

from policies import small_files

TINY = dataclasses.replace(
    PAPER,
    width=16,
    temporal=Temporal(layers=1, heads=2, hidden=24),
    head=Head(hidden=8),
    pictures=Pictures(resized=24, cropped=16, patch=8, layers=1, heads=2, hidden=32),
    text=TextTower(vocabulary=40, length=12, width=8, layers=1, heads=2, hidden=16, projected=6),
    film_hidden=8,
)


class Tokens:
    """Stands for CLIP's tokenizer, which is a file of its own."""

    name = "tokens"

    def __init__(self, folder):
        self.folder = folder

    def __call__(self, sentences):
        ids = torch.tensor([[1, len(text) % 30 + 2, 39] for text in sentences])
        return {"ids": ids, "mask": torch.ones_like(ids)}


def course(folder, monkeypatch, how):
    """A run of two tasks with pictures of 12 pixels, without evaluation."""
    loaded = []
    monkeypatch.setattr(kits, "PAPER", TINY)
    monkeypatch.setattr(senses, "ClipWords", Tokens)
    monkeypatch.setattr(stages, "load_public_weights", lambda actor, path: loaded.append(path))
    tasks = [small_files.task(little.NAMES[number], number) for number in range(2)]
    for number, task in enumerate(tasks):
        path = folder / "demos" / "mini" / f"{task.name}_demo.hdf5"
        if not path.exists():
            small_files.write(path, task, (5, 4), seed=number, side=12, added=False, clean=False)
    recipe = dataclasses.replace(PAPERS.recipe, epochs=1, batch=4)
    kit = dataclasses.replace(PAPERS, recipe=recipe)
    plan = TrainingPlan("seqft", {}, 0, kit, {}, "", tuple(task.id for task in tasks), None, "", {})
    groups = [[one] for one in files_of(folder / "demos", tasks)]
    return functools.partial(stages._Course, plan, groups, how=how, start=None, say=lambda text: None), loaded


def test_pictures_are_changed_in_training_and_the_public_weights_come_first(tmp_path, monkeypatch):
    how = How(progress=False, tensorboard="off", clip=str(tmp_path / "clip"))
    make, loaded = course(tmp_path, monkeypatch, how)
    changed = []
    real = Augmentation.__call__
    monkeypatch.setattr(Augmentation, "__call__", lambda *arguments: (changed.append(1), real(*arguments))[1])
    make(out=tmp_path / "one", stop=stages.Stop()).run()
    assert loaded == [tmp_path / "clip" / "model.safetensors"]
    assert len(changed) == 2 * 3
    make(out=tmp_path / "two", stop=stages.Stop()).run()
    one, two = (read(tmp_path / name / "stage-01") for name in ("one", "two"))
    assert little.equal(one.learner, two.learner)
    assert one.about["senses"]["encoder"] == "clip"
    assert one.about["profile"]["head"]["modes"] == 5
    monkeypatch.setattr(Augmentation, "__call__", lambda self, observations, *rest: dict(observations))
    make(out=tmp_path / "three", stop=stages.Stop()).run()
    assert not little.equal(one.learner, read(tmp_path / "three" / "stage-01").learner)


def test_without_the_folder_of_clip_it_is_said_what_to_give(tmp_path, monkeypatch):
    make, _ = course(tmp_path, monkeypatch, How(progress=False, tensorboard="off"))
    with pytest.raises(ValueError, match="name its folder with --clip"):
        make(out=tmp_path / "one", stop=stages.Stop())

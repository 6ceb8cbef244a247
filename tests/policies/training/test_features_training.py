"""Training on features of pictures: by the same loop and stages, encoded once, and acted on as trained."""

import dataclasses
import functools

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch")

import torch
from gym_grounding_policies.commands import main
from gym_grounding_policies.data.features import FeatureInputs, spread
from gym_grounding_policies.data.tokens import StateInputs
from gym_grounding_policies.data.windows import observed
from gym_grounding_policies.trained import Trained
from gym_grounding_policies.training import lessons, senses, stages
from gym_grounding_policies.training.checkpoint import read
from gym_grounding_policies.training.kits import CPU
from gym_grounding_policies.training.plan import TrainingPlan, files_of
from gym_grounding_policies.training.senses import Senses
from gym_grounding_policies.training.stages import How
from policies.test_features import Looks
from policies.training import little, little_arm

from gym_grounding.errors import InvalidOption, PolicyError, WrongVersion
from gym_grounding.policy import check_observation
from policies import small_files

KIT = dataclasses.replace(
    CPU,
    recipe=dataclasses.replace(CPU.recipe, epochs=2, batch=4),
    windows=dataclasses.replace(CPU.windows, chunk=3),
    objects="pictures",
    encoder="hashing",
    network={"width": 8, "layers": 1, "executed": 2, "head": "l1"},
)
TASKS = [small_files.task(little.NAMES[number], number) for number in range(2)]


@pytest.fixture
def looks(monkeypatch):
    """The stand-in for the encoder, one for all."""
    one = Looks()
    one.installed = lambda: one
    for module in (stages, senses):
        monkeypatch.setattr(module, "EfficientNetLite0", one)
    return one


@pytest.fixture
def make(tmp_path, looks):
    """Makes a run of two tasks with pictures of 6 pixels, without evaluation."""
    for number, task in enumerate(TASKS):
        path = tmp_path / "demos" / "mini" / f"{task.name}_demo.hdf5"
        small_files.write(path, task, (5, 4), seed=number, side=6)
    plan = TrainingPlan("seqft", {}, 0, KIT, {}, "", tuple(task.id for task in TASKS), None, "", {})
    groups = [[one] for one in files_of(tmp_path / "demos", TASKS)]
    how = How(progress=False, tensorboard="off", features=tmp_path / "demos" / "features")
    return functools.partial(
        stages._Course, plan, groups, how=how, start=None, say=lambda text: None, stop=stages.Stop()
    )


def test_every_picture_is_encoded_once_for_all_runs(make, tmp_path, looks):
    make(out=tmp_path / "one").run()
    assert looks.asked == 2 * 2 * (4 + 3)  # of both tasks' demonstrations, but for the moment before the first action
    make(out=tmp_path / "two").run()
    assert looks.asked == 2 * 2 * (4 + 3)
    one, two = (read(tmp_path / name / "stage-01") for name in ("one", "two"))
    assert little.equal(one.learner, two.learner)
    assert one.about["senses"]["eyes"] == "looks"
    assert one.about["profile"]["features"] == {"count": 2, "size": 8}
    assert one.about["profile"]["objects"] is None


def test_features_are_scaled_by_all_tasks(make, tmp_path):
    make(out=tmp_path / "run").run()
    inputs = FeatureInputs(StateInputs("none"), Looks())
    mean, deviation = spread(observed(files_of(tmp_path / "demos", TASKS), inputs, KIT.windows), inputs)
    found = read(tmp_path / "run" / "stage-00").learner
    assert torch.equal(found["actor.stored.scaling.mean"], mean)
    assert torch.equal(found["actor.stored.scaling.deviation"], deviation)


class Drawn(dict):
    """Observations that say which pictures were read."""

    def __init__(self, rows):
        super().__init__(rows)
        self.read = []

    def __getitem__(self, key):
        self.read.append(key)
        return super().__getitem__(key)


def test_acting_sees_what_training_saw_and_looks_only_when_it_predicts(make, tmp_path, looks):
    make(out=tmp_path / "run").run()
    policy = Trained(str(tmp_path / "run"))
    assert policy.observation == "pixels"
    with pytest.raises(PolicyError, match="wants observation='pixels', not 'state'"):
        check_observation(policy, "state", "seqft")
    course = make(out=tmp_path / "run")
    batch = course._lessons.windows(1).batch(range(3))
    with torch.no_grad():
        wanted = course._training.learner.actor.eval()(batch.observations, batch.words).mean[:, 0, 0]
    path = files_of(tmp_path / "demos", TASKS)[1].path
    seen = small_files.write(path.with_name("again.hdf5"), TASKS[1], (5, 4), seed=1, side=6)[0][0]
    shown = Drawn({key: value[1:4] for key, value in seen.items()})
    state = policy.start([TASKS[1].instruction] * 3, [0] * 3)
    action, state = policy.act(shown, state)
    np.testing.assert_allclose(action, wanted.numpy().clip(-1, 1), atol=1e-6)
    assert {"agentview_image", "robot0_eye_in_hand_image"} <= set(shown.read)
    before = looks.asked
    shown.read.clear()
    _, state = policy.act(shown, state)
    assert shown.read == []
    alone = policy.start([TASKS[1].instruction], [0])
    one, _ = policy.act({key: value[1:2] for key, value in shown.items()}, alone)
    assert np.array_equal(one[0], action[1])
    assert looks.asked == before + 2
    policy.act(shown, state)
    assert looks.asked == before + 2 + 6


def test_a_run_that_was_stopped_goes_on_with_the_same_numbers(make, tmp_path):
    make(out=tmp_path / "whole").run()
    stopped = make(out=tmp_path / "run", stop=(stop := stages.Stop()))
    stop.asked = True
    with pytest.raises(KeyboardInterrupt, match="stopped and saved"):
        stopped.run()
    stop.asked = False
    make(out=tmp_path / "run").run()
    one, two = (read(tmp_path / name / "stage-01") for name in ("whole", "run"))
    assert little.equal(one.learner, two.learner)


def test_another_picture_encoder_is_refused(make, tmp_path, looks):
    make(out=tmp_path / "run").run()
    looks.name = "glances"
    with pytest.raises(WrongVersion, match="was trained with the picture encoder looks, here is glances"):
        Trained(str(tmp_path / "run"))
    with pytest.raises(WrongVersion, match="looks, here is glances"):
        make(out=tmp_path / "run")


def test_a_start_that_saw_no_pictures_is_refused(make, tmp_path):
    seen = Senses(StateInputs("none"), "hashing", eyes="looks")
    assert Senses.from_dict(seen.as_dict()) == seen
    assert (seen.sees, seen.observation, KIT.observation) == ("pictures", "pixels", "pixels")
    # as checkpoints of before there were pictures say it
    old = Senses.from_dict({"inputs": StateInputs("none").as_dict(), "encoder": "hashing", "version": "", "folder": ""})
    assert (old.sees, old.observation, old.eyes) == ("none", "state", "")
    assert "eyes" not in old.as_dict()
    course = make(out=tmp_path / "run")
    profile = course._training.learner.actor.profile
    lessons.check_start(course._plan, profile, seen, tmp_path)
    with pytest.raises(InvalidOption, match="sees none there, pictures asked"):
        lessons.check_start(course._plan, profile, old, tmp_path)


def test_the_command_asks_for_demonstrations_with_pictures(tmp_path, looks):
    world = little_arm.world(tmp_path, per_task=1)
    arguments = [
        *("train", "--method", "seqft", "--suite", "Mini", "--registry", world / "registry.yaml", "--order", "0,"),
        *("--demos", world / "demos", "--encoder", "hashing", "--tensorboard", "off", "--no-evaluation"),
        *("--out", tmp_path / "run"),
    ]
    result = CliRunner().invoke(main, [*map(str, arguments), "--objects", "pictures"])
    assert result.exit_code == 2, result.output
    assert "demos make --pictures" in result.output
    assert "demo_0" in result.output
    result = CliRunner().invoke(main, [*map(str, arguments), "--objects", "fish"])
    assert result.exit_code == 2
    assert "objects is 'fish'; choose one of all, joints, none, pictures" in result.output

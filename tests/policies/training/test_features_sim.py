"""One short training on pictures of real demonstrations, evaluated on LIBERO itself."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("torch")

from gym_grounding_policies.training import log
from gym_grounding_policies.training.checkpoint import read
from gym_grounding_policies.training.kits import CPU
from gym_grounding_policies.training.plan import Asked, planned
from gym_grounding_policies.training.stages import How, train

from gym_grounding.demos.make import Order, make
from gym_grounding.demos.settings import Settings
from gym_grounding.store import RunStore

TASK = "LiberoGoal-T7"


@pytest.mark.sim
@pytest.mark.gl
@pytest.mark.slow
def test_pictures_are_recorded_encoded_trained_on_and_acted_on(tmp_path):
    make(Order(tmp_path / "demos", (TASK,), 1, 8, Settings(noise="mild", pictures=True), None))
    recipe = dataclasses.replace(CPU.recipe, epochs=20, batch=16)
    kit = dataclasses.replace(CPU, recipe=recipe, encoder="hashing", objects="pictures")
    asked = Asked(
        method="seqft",
        seed=0,
        kit=kit,
        demonstrations=tmp_path / "demos",
        tasks=(TASK,),
        suite="LiberoGoal",
        conditions=("original",),
        init_states=(20,),
        horizon=30,
    )
    out = tmp_path / "run"
    how = How(workers=0, log_every=1, progress=False, tensorboard="off", features=tmp_path / "demos" / "features")
    plan = planned(asked)
    assert plan.evaluation.settings.observation == "pixels"
    train(plan, asked.demonstrations, out, how)
    losses = [line["loss"] for line in log.read(out) if line["event"] == "step"]
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) - 1.0
    about = read(out / "stage-00").about
    assert about["senses"]["eyes"].startswith("EfficientNet-Lite0-")
    assert (about["profile"]["objects"], about["profile"]["features"]) == (None, {"count": 2, "size": 1024})
    assert len(list(how.features.iterdir())) == 2
    with RunStore.open(out) as store:
        (record,) = store.episodes()
        assert store.errors() == ()
    assert (record.task, record.instruction, record.steps) == (TASK, "turn on the stove", 30)
    assert record.displacement > 0

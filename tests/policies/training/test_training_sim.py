"""One short training on real demonstrations, evaluated on LIBERO itself."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("torch")

from gym_grounding_policies.training import log
from gym_grounding_policies.training.kits import CPU
from gym_grounding_policies.training.plan import Asked, planned
from gym_grounding_policies.training.stages import How, train

from gym_grounding.demos.make import Order, make
from gym_grounding.demos.settings import Settings
from gym_grounding.store import RunStore

TASK = "LiberoGoal-T7"


@pytest.mark.sim
def test_a_task_is_demonstrated_trained_and_evaluated(tmp_path):
    make(Order(tmp_path / "demos", (TASK,), 2, 8, Settings(noise="mild"), None))
    kit = dataclasses.replace(CPU, recipe=dataclasses.replace(CPU.recipe, epochs=8, batch=16), encoder="hashing")
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
    train(planned(asked), asked.demonstrations, out, How(workers=0, log_every=1, progress=False, tensorboard="off"))
    losses = [line["loss"] for line in log.read(out) if line["event"] == "step"]
    assert np.mean(losses[-5:]) < np.mean(losses[:5]) - 1.0
    with RunStore.open(out) as store:
        (record,) = store.episodes()
        assert store.errors() == ()
    assert (record.task, record.instruction, record.steps) == (TASK, "turn on the stove", 30)
    assert record.notes == {}
    # it goes somewhere: even so little training brings the hand to the stove's side
    assert record.displacement > 0.05

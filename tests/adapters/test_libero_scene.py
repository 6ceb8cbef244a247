"""LIBERO scenes without pictures: starts, steps, parity with LIBERO's own environment."""

import hashlib
import os
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

from gym_grounding import manifest
from gym_grounding.adapters.libero import ADAPTER, facts, fixtures
from gym_grounding.errors import InvalidOption, SimulatorError
from gym_grounding.testing import check_adapter
from gym_grounding.types import Goal, SceneFacts, SceneSettings, Slots, Task

pytestmark = pytest.mark.sim

DATA = manifest.load()
TASKS = DATA.suite_tasks("LiberoGoal")
FACTS = DATA.scene_of("LiberoGoal-T8")
BOWL_TO_PLATE = DATA.task("LiberoGoal-T8")
STOVE = DATA.task("LiberoGoal-T7")
PLACED = ("wooden_cabinet_1", "flat_stove_1", "wine_rack_1")


@contextmanager
def opened(settle_steps=10, **settings):
    scene = ADAPTER.open(FACTS, DATA.tasks, SceneSettings("state", settle_steps=settle_steps, **settings))
    yield scene
    scene.close()


@pytest.fixture
def scene():
    with opened() as one:
        yield one


def moves(count, seed=0):
    """Actions that press the hand down onto the table and sweep it about, the gripper opening and closing."""
    generator = np.random.default_rng(seed)
    actions = generator.uniform(-1.0, 1.0, (count, 7))
    actions[: count // 2, 2] = -1.0
    actions[: count // 2, :2] *= 0.3
    return actions


def body_poses(scene):
    env = scene._simulator.env
    bodies = [env.obj_body_id[name] for name in PLACED]
    return np.concatenate([env.sim.model.body_pos[bodies].ravel(), env.sim.model.body_quat[bodies].ravel()])


def test_the_adapter_keeps_its_contract():
    joints = {"flat_stove_1": 2.0, "wooden_cabinet_1_middle_region": -0.15}
    check_adapter(ADAPTER, DATA, "LiberoGoal-T8", steps=3, pictures=False, joints=joints)


def test_a_start_depends_on_task_and_initial_state_alone(scene):
    observation = scene.reset(BOWL_TO_PLATE, 0)
    state, placed = scene.state(), body_poses(scene)
    np.random.seed(5)  # noqa: NPY002  # the generator that LIBERO draws fixtures from
    scene.reset(STOVE, 31)
    for action in moves(20):
        scene.step(action)
    assert not np.array_equal(body_poses(scene), placed)
    with opened() as other:
        for again in (scene.reset(BOWL_TO_PLATE, 0), other.reset(BOWL_TO_PLATE, 0)):
            assert all(np.array_equal(again[key], observation[key]) for key in observation)
        assert other._simulator is not scene._simulator
        assert np.array_equal(scene.state(), state)
        assert np.array_equal(other.state(), state)
        assert np.array_equal(body_poses(scene), placed)
        assert np.array_equal(body_poses(other), placed)


def test_another_process_gives_the_same_bits(scene):
    code = (
        "from gym_grounding import manifest; from gym_grounding.adapters.libero import ADAPTER\n"
        "from gym_grounding.types import SceneSettings; import hashlib, numpy as np; data = manifest.load()\n"
        "scene = ADAPTER.open(data.scene_of('LiberoGoal-T8'), data.tasks, SceneSettings('state'))\n"
        "scene.reset(data.task('LiberoGoal-T8'), 7); digest = hashlib.sha256()\n"
        "for action in np.random.default_rng(0).uniform(-1, 1, (15, 7)):\n"
        "    digest.update(scene.step(action)['akita_black_bowl_1_pos'].tobytes() + scene.state().tobytes())\n"
        "print(digest.hexdigest())"
    )
    scene.reset(STOVE, 3)
    scene.step(np.ones(7))
    scene.reset(BOWL_TO_PLATE, 7)
    digest = hashlib.sha256()
    for action in np.random.default_rng(0).uniform(-1, 1, (15, 7)):
        digest.update(scene.step(action)["akita_black_bowl_1_pos"].tobytes() + scene.state().tobytes())
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert (done.stdout.strip(), done.stderr) == (digest.hexdigest(), "")


@pytest.mark.parametrize("number", [0, 7, 49])
def test_without_settling_the_state_is_the_stored_row(number):
    with opened(settle_steps=0) as scene:
        scene.reset(STOVE, 1)
        observation = scene.reset(BOWL_TO_PLATE, number)
        row = facts.init_states(BOWL_TO_PLATE)[number]
        assert np.array_equal(scene.state(), row)
        env = scene._simulator.env
        address = env.sim.model.get_joint_qpos_addr(env.objects_dict["plate_1"].joints[-1])[0]
        assert np.allclose(observation["plate_1_pos"], row[1 + address : 4 + address], atol=1e-12)


def test_settling_is_ten_idle_steps_with_the_gripper_open(scene):
    settled = scene.reset(BOWL_TO_PLATE, 2)
    with opened(settle_steps=0) as other:
        other.reset(BOWL_TO_PLATE, 2)
        for _ in range(10):
            last = other.step(np.array([0, 0, 0, 0, 0, 0, -1.0]))
        assert np.array_equal(other.state(), scene.state())
        assert all(np.array_equal(last[key], settled[key]) for key in settled)


@contextmanager
def liberos_own(task, number):
    """LIBERO's own environment, new, started as its users start it."""
    from gym_grounding.adapters.libero.robosuite_names import ControlEnv

    path = str(facts.bddl_path(task))
    env = ControlEnv(bddl_file_name=path, use_camera_obs=False, has_offscreen_renderer=False)
    state = np.random.get_state()  # noqa: NPY002  # LIBERO reseeds it
    env.seed(number)
    env.reset()
    observation = env.set_init_state(facts.init_states(task)[number])
    np.random.set_state(state)  # noqa: NPY002
    yield env, observation
    env.close()


def theirs_placed(env):
    model, bodies = env.sim.model, env.env.obj_body_id
    names = env.env.fixtures_dict
    return {name: np.concatenate([model.body_pos[bodies[name]], model.body_quat[bodies[name]]]) for name in names}


def test_seventy_steps_equal_those_of_liberos_own_environment():
    with opened(settle_steps=0) as scene, liberos_own(BOWL_TO_PLATE, 11) as (theirs, expected):
        scene.reset(STOVE, 4)
        for action in moves(8, seed=1):
            scene.step(action)
        ours = scene.reset(BOWL_TO_PLATE, 11)
        touched = 0
        for action in moves(70):
            assert all(np.array_equal(ours[key], expected[key]) for key in ours.keys() & expected.keys())
            assert np.array_equal(scene.state(), theirs.get_sim_state())
            expected, reward, done, _ = theirs.step(action)
            ours = scene.step(action)
            assert scene.holds(BOWL_TO_PLATE.goal) == bool(done) == bool(reward)
            env = theirs.env
            touched += env.check_contact(env.robots[0].gripper) or env.check_contact(env.objects_dict["plate_1"])
        assert len(ours.keys() & expected.keys()) == 6 + 4 * 4
        assert touched > 30


SPATIAL = {
    0: "pick_up_the_black_bowl_between_the_plate_and_the_ramekin_and_place_it_on_the_plate",
    4: "pick_up_the_black_bowl_in_the_top_drawer_of_the_wooden_cabinet_and_place_it_on_the_plate",
}
FLOOR = {7: "pick_up_the_milk_and_place_it_in_the_basket"}


@pytest.mark.parametrize(
    ("source", "names"),
    [
        # A scene in which traces of the random reset show after one step.
        ("libero_object", FLOOR),
        # A task that opens a drawer beforehand, in a scene compiled from another task's file.
        ("libero_spatial", SPATIAL),
    ],
)
def test_starts_of_other_suites_equal_those_of_liberos_own_environment(source, names):
    tasks = [Task(f"X-T{n}", "X", n, name, source, "", "", Slots(), Goal(()), source, 50) for n, name in names.items()]
    first, last = tasks[0], tasks[-1]
    blank = SceneFacts(source, "libero", "", {})
    scene = ADAPTER.open(blank, {task.id: task for task in tasks}, SceneSettings("state", settle_steps=0))
    with liberos_own(last, 13) as (theirs, _):
        scene.reset(last, 2)
        scene.step(np.ones(7))
        scene.reset(first, 3)
        scene.reset(last, 13)
        # Drawn by LIBERO itself, before the table: the placement rules are those of the task and of a new environment.
        scene._simulator._environment.reset(facts.bddl_path(last), 13)
        drawn = scene._simulator._environment.fixture_poses()
        assert all(np.array_equal(drawn[name], pose) for name, pose in theirs_placed(theirs).items())
        scene.reset(last, 13)
        for action in moves(12):
            assert np.array_equal(scene.state(), theirs.get_sim_state())
            assert np.array_equal(scene._simulator.env.sim.data.qacc_warmstart, theirs.sim.data.qacc_warmstart)
            scene.step(action)
            theirs.step(action)
    scene.close()


def test_the_table_holds_what_libero_draws(scene):
    for number in (49, 0):
        scene.reset(STOVE, number)
        with_table = scene._simulator._environment.fixture_poses()
        scene._simulator._environment.reset(facts.bddl_path(STOVE), number)
        drawn = scene._simulator._environment.fixture_poses()
        stored = fixtures.poses(STOVE, number)
        assert list(drawn) == list(stored)
        for name, pose in stored.items():
            assert np.array_equal(drawn[name], pose)
            assert np.array_equal(with_table[name], pose)


def test_the_table_rules_where_it_differs_from_the_draw(scene, monkeypatch):
    moved = {name: pose + np.array([0.01, 0, 0, 0, 0, 0, 0]) for name, pose in fixtures.poses(STOVE, 3).items()}
    monkeypatch.setattr(fixtures, "poses", lambda task, number: moved)
    scene.reset(STOVE, 3)
    placed = scene._simulator._environment.fixture_poses()
    assert all(np.array_equal(placed[name], moved[name]) for name in moved)


def test_a_task_outside_the_table_stands_as_libero_draws_it(scene, monkeypatch):
    expected = scene.reset(STOVE, 3)
    monkeypatch.setattr(fixtures, "poses", lambda task, number: None)
    scene.reset(STOVE, 4)
    drawn = scene.reset(STOVE, 3)
    assert all(np.array_equal(drawn[key], expected[key]) for key in expected)


def test_the_global_generator_is_left_alone():
    from gym_grounding.adapters.libero.scene import POOL

    POOL.clear()
    np.random.seed(3)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    with opened() as scene:
        scene.reset(BOWL_TO_PLATE, 0)
        scene.step(np.zeros(7))
    assert np.array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_the_gripper_opens_at_minus_one_and_closes_at_plus_one(scene):
    scene.reset(BOWL_TO_PLATE, 0)
    for _ in range(12):
        opening = scene.step(np.array([0, 0, 0, 0, 0, 0, -1.0]))
    for _ in range(14):
        closing = scene.step(np.array([0, 0, 0, 0, 0, 0, 1.0]))
    assert opening["robot0_gripper_qpos"][0] > 0.038
    assert closing["robot0_gripper_qpos"][0] < 0.002
    assert closing["robot0_gripper_qpos"][0] * closing["robot0_gripper_qpos"][1] < 0


def test_liberos_own_horizon_never_interferes(scene):
    scene.reset(BOWL_TO_PLATE, 0)
    env = scene._simulator.env
    env.timestep = env.horizon - 2
    for _ in range(4):
        scene.step(np.zeros(7))
    scene.reset(BOWL_TO_PLATE, 0)
    scene.step(np.zeros(7))


def test_displacement_is_the_way_of_the_hand(scene):
    start = scene.reset(BOWL_TO_PLATE, 0)["robot0_eef_pos"]
    assert scene.displacement() == 0.0
    for _ in range(5):
        now = scene.step(np.array([0, 0, -1.0, 0, 0, 0, -1.0]))["robot0_eef_pos"]
    assert scene.displacement() == float(np.linalg.norm(now - start)) > 0.02


def test_fixture_observations_are_the_compiled_poses(scene):
    observation = scene.reset(STOVE, 5)
    for name, pose in fixtures.poses(STOVE, 5).items():
        assert np.allclose(observation[f"{name}_pos"], pose[:3], atol=1e-12)
        assert np.allclose(np.abs(observation[f"{name}_quat"]), np.abs(np.roll(pose[3:], -1)), atol=1e-9)
    assert np.allclose(observation["wooden_cabinet_1_joint_pos"], 0, atol=1e-3)
    env = scene._simulator.env
    env.sim.data.set_joint_qpos(env.fixtures_dict["wooden_cabinet_1"].joints[1], -0.1)
    drawers = scene.step(np.zeros(7))["wooden_cabinet_1_joint_pos"]
    assert drawers[1] < -0.05 < drawers[0]


@pytest.mark.parametrize("number", [-1, 50])
def test_an_initial_state_outside_the_range_is_refused(scene, number):
    with pytest.raises(InvalidOption, match=f"init_state {number} of LiberoGoal-T8: choose 0 to 49"):
        scene.reset(BOWL_TO_PLATE, number)


def test_a_closed_scene_says_so_and_opens_again_at_reset(scene):
    first = scene.reset(BOWL_TO_PLATE, 0)
    scene.close()
    scene.close()
    for use in (lambda: scene.step(np.zeros(7)), scene.state, scene.render, lambda: scene.holds(STOVE.goal)):
        with pytest.raises(SimulatorError, match="reset it first"):
            use()
    again = scene.reset(BOWL_TO_PLATE, 0)
    assert all(np.array_equal(first[key], again[key]) for key in first)


def test_a_scene_that_is_dropped_gives_its_simulator_back():
    from gym_grounding.adapters.libero.scene import POOL

    dropped = ADAPTER.open(FACTS, DATA.tasks, SceneSettings("state"))
    simulator, idle = dropped._simulator, len(POOL)
    del dropped
    assert len(POOL) == idle + 1
    with opened() as scene:
        assert scene._simulator is simulator


def test_a_failing_simulator_is_named_and_replaced(scene, monkeypatch):
    first = scene.reset(BOWL_TO_PLATE, 0)
    broken = scene._simulator

    def fail(action):
        raise RuntimeError("the solver gave up")

    monkeypatch.setattr(broken._stepper, "step", fail)
    with pytest.raises(SimulatorError, match="failed to step: RuntimeError: the solver gave up") as caught:
        scene.step(np.zeros(7))
    assert isinstance(caught.value.__cause__, RuntimeError)
    monkeypatch.undo()
    with pytest.raises(SimulatorError, match="failed before; reset it first"):
        scene.step(np.zeros(7))
    again = scene.reset(BOWL_TO_PLATE, 0)
    assert scene._simulator is not broken
    assert all(np.array_equal(first[key], again[key]) for key in first)


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc; other C libraries do not trim")
def test_a_second_scene_takes_little_memory():
    code = (
        "from pathlib import Path\n"
        "from gym_grounding import manifest\n"
        "from gym_grounding.adapters.libero import ADAPTER\n"
        "from gym_grounding.types import SceneSettings\n"
        "task = manifest.load().task('LiberoGoal-T8')\n"
        "facts, settings = manifest.load().scene_of(task.id), SceneSettings('state', settle_steps=0)\n"
        "scenes = []\n"
        "for _ in range(2):\n"
        "    before = int(Path('/proc/self/smaps_rollup').read_text().split('Anonymous:')[1].split()[0])\n"
        "    scenes.append(ADAPTER.open(facts, {task.id: task}, settings))\n"
        "    scenes[-1].reset(task, 0)\n"
        "after = int(Path('/proc/self/smaps_rollup').read_text().split('Anonymous:')[1].split()[0])\n"
        "print((after - before) / 1024)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert float(done.stdout.split()[-1]) < 10  # MB; a full model alone takes 200


def test_a_forked_child_gets_a_simulator_of_its_own(scene):
    scene.reset(BOWL_TO_PLATE, 0)
    state, inherited = scene.state(), scene._simulator
    child = os.fork()
    if child == 0:
        try:
            scene.step(np.zeros(7))
        except SimulatorError:
            scene.reset(BOWL_TO_PLATE, 0)
            own = scene._lease.simulator is not inherited
            os._exit(0 if own and np.array_equal(scene.state(), state) else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert np.array_equal(scene.state(), state)

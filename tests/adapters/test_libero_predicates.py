"""Goals on real LIBERO scenes."""

import numpy as np
import pytest

from gym_grounding import manifest
from gym_grounding.adapters.libero import ADAPTER
from gym_grounding.errors import InvalidOption
from gym_grounding.types import Goal, Predicate, Region, SceneSettings

pytestmark = pytest.mark.sim

DATA = manifest.load()
TASKS = DATA.suite_tasks("LiberoGoal")
FACTS = DATA.scene_of("LiberoGoal-T8")
FRONT = "main_table_stove_front_region"


@pytest.fixture(scope="module")
def scene():
    opened = ADAPTER.open(FACTS, DATA.tasks, SceneSettings("state"))
    yield opened
    opened.close()


def goal(*literals, regions=()):
    return Goal(tuple(Predicate(name, tuple(arguments)) for name, *arguments in literals), tuple(regions))


def put(scene, name, position):
    """Move an object by hand and make the simulator take notice."""
    env = scene._simulator.env
    pose = np.concatenate([position, [1.0, 0.0, 0.0, 0.0]])
    env.sim.data.set_joint_qpos(env.objects_dict[name].joints[-1], pose)
    refresh(scene)


def above(place, height):
    return place + np.array([0.0, 0.0, height])


def turn(scene, name, joint, angle):
    env = scene._simulator.env
    env.sim.data.set_joint_qpos(env.fixtures_dict[name].joints[joint], angle)
    refresh(scene)


def refresh(scene):
    scene._simulator.env.sim.forward()
    scene._judge.forget()


def native_zones(scene):
    regions = scene._simulator.env.parsed_problem["regions"]
    zones = FACTS.of_kind("zone")
    return {zone.name: tuple(regions[zone.name]["ranges"][0]) for zone in zones}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_no_registered_goal_holds_at_the_start(task, scene):
    scene.reset(task, 0)
    goals = {other.id: other.goal for other in TASKS}
    goals |= {v.id: v.goal for v in DATA.variants.values() if v.goal is not None and v.task == task.id}
    assert len(goals) > 10
    assert [name for name, one in goals.items() if scene.holds(one) is not False] == []


def test_every_goal_can_be_judged_in_every_task(scene):
    scene.reset(TASKS[0], 1)
    verdicts = [scene.holds(row.goal) for row in DATA.select(suite="LiberoGoal") if row.goal is not None]
    assert len(verdicts) >= 30
    assert {type(verdict) for verdict in verdicts} == {bool}


@pytest.mark.parametrize("height", [0.05, 0.10])
def test_a_zone_counts_what_floats_above_it_as_libero_does(height, scene):
    scene.reset(TASKS[5], 0)
    env = scene._simulator.env
    put(scene, "plate_1", above(env.sim.data.get_site_xpos(FRONT), height))
    assert scene.holds(TASKS[5].goal) is True
    assert bool(env._eval_predicate(["on", "plate_1", FRONT])) is True
    put(scene, "plate_1", above(env.sim.data.get_site_xpos(FRONT), 0.108))
    assert scene.holds(TASKS[5].goal) is False


def test_an_added_region_equals_the_native_zone_of_its_ranges(scene):
    from gym_grounding.adapters.libero.predicates import AddedZone

    scene.reset(TASKS[8], 3)
    env = scene._simulator.env
    generator = np.random.default_rng(0)
    verdicts = []
    for name, ranges in native_zones(scene).items():
        region = Region("main_table_added", "main_table", ranges)
        added = AddedZone(env, region)
        assert np.array_equal(added.position(), env.sim.data.get_site_xpos(name))
        assert added.zone.size == env.object_sites_dict[name].size
        for offset in generator.uniform(-1.0, 1.0, (12, 3)) * [1.5, 1.5, 0.08]:
            half = [added.zone.size[0], added.zone.size[1], 1.0]
            put(scene, "cream_cheese_1", added.position() + offset * half)
            for predicate in ("on", "in"):
                native = scene.holds(goal((predicate, "cream_cheese_1", name)))
                ours = scene.holds(goal((predicate, "cream_cheese_1", region.name), regions=[region]))
                assert ours is native
                verdicts.append(native)
    assert 20 < sum(verdicts) < len(verdicts) - 20


def test_lifted_means_ten_centimetres_above_the_settled_height(scene):
    scene.reset(TASKS[8], 0)
    env = scene._simulator.env
    place = env.sim.data.body_xpos[env.obj_body_id["akita_black_bowl_1"]].copy()
    lifted = goal(("lifted", "akita_black_bowl_1"))
    assert scene.holds(lifted) is False
    put(scene, "akita_black_bowl_1", above(place, 0.0999))
    assert scene.holds(lifted) is False
    put(scene, "akita_black_bowl_1", above(place, 0.1001))
    assert scene.holds(lifted) is True
    scene.reset(TASKS[8], 0)
    assert scene.holds(lifted) is False


def test_joints_open_and_turn_things_on(scene):
    scene.reset(TASKS[0], 0)
    turn(scene, "wooden_cabinet_1", 1, -0.15)
    assert scene.holds(TASKS[0].goal) is True
    assert scene.holds(goal(("open", "wooden_cabinet_1_top_region"))) is False
    turn(scene, "flat_stove_1", 0, 1.0)
    assert scene.holds(TASKS[7].goal) is True
    both = goal(("turnon", "flat_stove_1"), ("open", "wooden_cabinet_1_middle_region"))
    assert scene.holds(both) is True
    turn(scene, "flat_stove_1", 0, 0.0)
    assert scene.holds(both) is False


def test_a_step_renews_the_verdicts(scene):
    scene.reset(TASKS[7], 0)
    assert scene.holds(TASKS[7].goal) is False
    env = scene._simulator.env
    env.sim.data.set_joint_qpos(env.fixtures_dict["flat_stove_1"].joints[0], 1.5)
    scene.step(np.zeros(7))
    assert scene.holds(TASKS[7].goal) is True


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (goal(("on", "plate_2", "plate_1")), "No entity 'plate_2'. Did you mean 'plate_1'?"),
        (goal(("in", "plate_1", "bowl_drainer_1_left_region")), "No entity 'bowl_drainer_1_left_region'"),
        (goal(("ontop", "plate_1", "akita_black_bowl_1")), "No predicate 'ontop'"),
        (goal(("lifted", "wooden_cabinet_1")), "No movable object"),
        (goal(("on", "plate_1", "zone"), regions=[Region("zone", "floor", (0, 0, 1, 1))]), "No work surface 'floor'"),
    ],
)
def test_a_goal_on_something_else_names_it_and_the_scene(wrong, text, scene):
    scene.reset(TASKS[0], 0)
    with pytest.raises(InvalidOption) as caught:
        scene.holds(wrong)
    assert text in str(caught.value)
    assert f"Scene {FACTS.id}" in str(caught.value)

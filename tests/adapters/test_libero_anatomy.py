"""The anatomy of real LIBERO scenes: with an observation it gives the poses that the simulator has."""

import numpy as np
import pytest

from gym_grounding import adapters, manifest
from gym_grounding.adapters.libero.geometry import hull_points, subtree
from gym_grounding.adapters.libero.predicates import AddedZone
from gym_grounding.experts.world import World
from gym_grounding.types import Region, SceneSettings

pytestmark = [pytest.mark.sim, pytest.mark.xdist_group("anatomy")]

LIBERO = adapters.get("libero")


def started(task_id, joints=None):
    known = manifest.load()
    task, facts = known.task(task_id), known.scene_of(task_id)
    tasks = {one.id: one for one in known.scene_tasks(facts.id)}
    scene = LIBERO.open(facts, tasks, SceneSettings(observation="state"))
    observation = scene.reset(task, 3, **({"joints": joints} if joints else {}))
    anatomy = LIBERO.anatomy(facts, tasks)
    env = scene._simulator.env
    # Observations are 2 ms old; at rest that is nothing, but the comparison wants the very same state.
    env.sim.forward()
    for name, frame in {**env.obj_body_id}.items():
        observation[f"{name}_pos"] = np.array(env.sim.data.body_xpos[frame])
        observation[f"{name}_quat"] = np.roll(env.sim.data.body_xquat[frame], -1)
    for name, fixture in env.fixtures_dict.items():
        values = [env.sim.data.get_joint_qpos(one) for one in fixture.joints]
        observation[f"{name}_joint_pos"] = np.array(values)
    return scene, env, World(anatomy, observation)


CASES = [
    ("LiberoGoal-T0", {"wooden_cabinet_1_middle_region": -0.12}),
    ("LiberoGoal-T7", {"flat_stove_1": 1.2}),
    ("LiberoLong-T9", {"microwave_1": -0.8}),
    ("LiberoLong-T5", None),
]


@pytest.mark.parametrize(("task_id", "joints"), CASES)
def test_pieces_and_regions_are_where_the_simulator_has_them(task_id, joints):
    scene, env, world = started(task_id, joints)
    model, data = env.sim.model, env.sim.data
    try:
        for name in world.anatomy.bodies:
            geoms = [
                geom
                for body in subtree(model, env.obj_body_id[name])
                for geom in range(model.ngeom)
                if model.geom_bodyid[geom] == body and (model.geom_contype[geom] or model.geom_conaffinity[geom])
            ]
            truth = np.concatenate(
                [
                    hull_points(model, geom) @ data.geom_xmat[geom].reshape(3, 3).T + data.geom_xpos[geom]
                    for geom in geoms
                ]
            )
            body = world.body(name)
            ours = np.concatenate([world.part(name, piece.joint).apply(piece.corners) for piece in body.pieces])
            assert len(body.pieces) == len(geoms), name
            assert ours == pytest.approx(truth, abs=1e-6), name
            cloud = world.cloud(name)
            assert cloud.min(axis=0) == pytest.approx(truth.min(axis=0), abs=1e-6), name
            assert cloud.max(axis=0) == pytest.approx(truth.max(axis=0), abs=1e-6), name
        for name in world.anatomy.spots:
            site = model.site_name2id(name)
            place = world.spot(name)
            assert place.frame.position == pytest.approx(data.site_xpos[site], abs=1e-6), name
            assert place.frame.rotation == pytest.approx(data.site_xmat[site].reshape(3, 3), abs=1e-6), name
            assert np.array_equal(place.half, env.object_sites_dict[name].size), name
    finally:
        scene.close()


@pytest.mark.parametrize("task_id", ["LiberoGoal-T8", "LiberoLong-T5", "LiberoLong-T6"])
def test_added_regions_lie_where_goals_look_for_them(task_id):
    scene, env, world = started(task_id)
    region = Region("added", env.workspace_name, (-0.1, 0.05, 0.02, 0.2))
    try:
        place = World(world.anatomy, {}, (region,)).spot("added")
        zone = AddedZone(env, region)
        assert place.frame.position == pytest.approx(zone.position(), abs=1e-9)
        assert place.half == pytest.approx(np.array(zone.zone.size), abs=1e-9)
    finally:
        scene.close()


def test_the_hand_is_the_grip_site():
    scene, env, world = started("LiberoGoal-T8")
    site = env.sim.model.site_name2id("gripper0_grip_site")
    try:
        assert world.hand.rotation == pytest.approx(env.sim.data.site_xmat[site].reshape(3, 3), abs=5e-3)
        assert world.hand.position == pytest.approx(env.sim.data.site_xpos[site], abs=1e-3)
    finally:
        scene.close()


def test_a_scene_is_read_once_and_leaves_an_open_one_alone():
    known = manifest.load()
    facts, tasks = known.scene_of("LiberoGoal-T8"), {"LiberoGoal-T8": known.task("LiberoGoal-T8")}
    scene = LIBERO.open(facts, tasks, SceneSettings(observation="state"))
    try:
        scene.reset(tasks["LiberoGoal-T8"], 0)
        before = scene.state()
        assert LIBERO.anatomy(facts, tasks) is LIBERO.anatomy(facts, tasks)
        assert np.array_equal(scene.state(), before)
    finally:
        scene.close()


def test_surfaces_are_dense_enough_to_stand_for_the_geometry():
    known = manifest.load()
    facts = known.scene_of("LiberoGoal-T8")
    anatomy = LIBERO.anatomy(facts, {"LiberoGoal-T8": known.task("LiberoGoal-T8")})
    for body in anatomy.bodies.values():
        for piece in body.pieces:
            middle = piece.corners.mean(axis=0)
            for corner in piece.corners:  # a point half way along any ray to a corner lies inside; its surface is near
                gaps = np.linalg.norm(piece.surface - (0.999 * corner + 0.001 * middle), axis=1)
                assert gaps.min() < 0.013, body.name

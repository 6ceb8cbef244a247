"""Where the outline of a region falls in a picture, against what the picture shows."""

from contextlib import closing

import numpy as np
import pytest

from gym_grounding import manifest
from gym_grounding.adapters.libero import ADAPTER
from gym_grounding.errors import UnknownName
from gym_grounding.types import Region, SceneSettings

pytestmark = [pytest.mark.sim, pytest.mark.gl]

SIZE = 256
MOVE = 0.15
"""How far the plate is moved [m]."""


@pytest.fixture(scope="module")
def scene():
    data = manifest.load()
    task = data.task("LiberoGoal-T8")
    settings = SceneSettings("pixels", SIZE, settle_steps=data.settle)
    with closing(ADAPTER.open(data.scene_of(task.id), {task.id: task}, settings)) as opened:
        opened.reset(task, 0)
        yield opened


def test_projected_points_lie_where_things_are_drawn(scene):
    from gym_grounding.adapters.libero.outline import project

    simulator, env = scene._simulator, scene._simulator.env
    joint = env.objects_dict["plate_1"].joints[0]
    pose = env.sim.data.get_joint_qpos(joint).copy()
    before = simulator.picture("agentview", SIZE)[::-1].astype(int)
    moved = pose + np.array([0, MOVE, *[0.0] * 5])
    try:
        env.sim.data.set_joint_qpos(joint, moved)
        env.sim.forward()
        after = simulator.picture("agentview", SIZE)[::-1].astype(int)
    finally:
        env.sim.data.set_joint_qpos(joint, pose)
        env.sim.forward()
    rows, columns = np.nonzero(np.abs(after - before).max(axis=2) > 40)
    old, new = project(env, np.array([pose[:3], moved[:3]]), SIZE)
    assert new[0] - old[0] > 20
    middle = (old[0] + new[0]) / 2
    for place, half in ((old, columns < middle), (new, columns >= middle)):
        assert half.sum() > 200
        centre = np.array([columns[half].mean(), rows[half].mean()])
        assert np.linalg.norm(centre - place) < 6


def test_a_region_round_a_thing_lies_round_its_point(scene):
    from gym_grounding.adapters.libero.outline import outline, project

    env = scene._simulator.env
    plate = env.sim.data.body_xpos[env.obj_body_id["plate_1"]]
    table = env.sim.data.body_xpos[env.sim.model.body_name2id("table")][:2]
    x, y = plate[:2] - table
    corners = outline(env, Region("round_it", "main_table", (x - 0.08, y - 0.04, x + 0.08, y + 0.04)), SIZE)
    assert corners.shape == (4, 2)
    point = project(env, plate[None], SIZE)[0]
    assert (corners.min(axis=0) < point).all()
    assert (point < corners.max(axis=0)).all()
    assert np.linalg.norm(corners.mean(axis=0) - point) < 6
    sides = np.linalg.norm(np.roll(corners, -1, axis=0) - corners, axis=1)
    assert sides[1] > 1.2 * sides[0]


def test_front_is_below_and_right_is_right_in_the_picture(scene):
    from gym_grounding.adapters.libero.outline import outline

    env = scene._simulator.env
    centres = {
        name: outline(env, Region(name, "main_table", ranges), SIZE).mean(axis=0)
        for name, ranges in {
            "middle": (-0.05, -0.05, 0.05, 0.05),
            "front": (0.05, -0.05, 0.15, 0.05),
            "right": (-0.05, 0.05, 0.05, 0.15),
        }.items()
    }
    assert centres["front"][1] > centres["middle"][1] + 10
    assert centres["right"][0] > centres["middle"][0] + 10


def test_another_work_surface_is_refused(scene):
    from gym_grounding.adapters.libero.outline import outline

    with pytest.raises(UnknownName, match="main_table"):
        outline(scene._simulator.env, Region("there", "floor", (0.0, 0.0, 0.1, 0.1)), SIZE)

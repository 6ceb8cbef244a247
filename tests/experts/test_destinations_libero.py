"""Releases on real LIBERO, without the arm: put there by hand, things make the literal true and stay."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from gym_grounding import adapters, manifest
from gym_grounding.adapters.libero.bench import Bench
from gym_grounding.adapters.libero.witness import positions
from gym_grounding.experts.destinations import InSpot, OnBody, OnSpot
from gym_grounding.experts.world import World
from gym_grounding.types import Goal, Predicate

pytestmark = [pytest.mark.sim, pytest.mark.xdist_group("destinations")]

KNOWN, LIBERO = manifest.load(), adapters.get("libero")
STATE = 3
"""Not an initial state that anything was adjusted to in particular."""
HIGHER = 0.004
"""Things are let go this much above their rest [m]."""
CABINET = "wooden_cabinet_1"


@pytest.fixture(scope="module")
def bench():
    """A bench per task, closed when the module is done."""
    opened = {}

    def of(name):
        if name not in opened:
            opened[name] = Bench(KNOWN.task(name), KNOWN.scene_of(name))
        return opened[name]

    yield of
    for one in opened.values():
        one.close()


def seen(bench):
    """The world as an observation of the present state would show it."""
    facts = bench.scene
    anatomy = LIBERO.anatomy(facts, {task.id: task for task in KNOWN.scene_tasks(facts.id)})
    data, observation = bench.env.sim.data, {}
    for name, body in anatomy.bodies.items():
        index = bench.env.obj_body_id[name]
        observation[f"{name}_pos"] = np.array(data.body_xpos[index])
        observation[f"{name}_quat"] = np.roll(data.body_xquat[index], -1)
        if body.joints:
            observation[f"{name}_joint_pos"] = np.array([bench.joint(joint.name) for joint in body.joints])
    return World(anatomy, observation)


def let_go(bench, thing, destination):
    """Put a thing at the first release, a little above, and wait."""
    here = seen(bench)
    release = destination.releases(here, thing)[0]
    rotation = here.frame(thing).rotation if release.rotation is None else release.rotation
    turn = np.roll(Rotation.from_matrix(rotation).as_quat(), 1)
    bench.place(thing, np.concatenate([release.position + np.array([0.0, 0.0, HIGHER]), turn]))
    assert bench.run(30, [], [])
    return release


@pytest.mark.parametrize(
    ("task", "relation", "thing", "destination", "opened"),
    [
        ("LiberoGoal-T0", "on", "akita_black_bowl_1", OnBody("plate_1"), ""),
        ("LiberoGoal-T0", "on", "cream_cheese_1", OnBody("akita_black_bowl_1"), ""),
        ("LiberoGoal-T0", "on", "wine_bottle_1", OnSpot("wine_rack_1_top_region"), ""),
        ("LiberoGoal-T0", "on", "plate_1", OnSpot(f"{CABINET}_top_side"), ""),
        ("LiberoGoal-T0", "on", "akita_black_bowl_1", OnSpot("flat_stove_1_cook_region"), ""),
        ("LiberoGoal-T0", "on", "plate_1", OnSpot("main_table_stove_front_region"), ""),
        ("LiberoGoal-T0", "in", "akita_black_bowl_1", InSpot(f"{CABINET}_top_region"), f"{CABINET}_top_region"),
        ("LiberoGoal-T0", "in", "akita_black_bowl_1", InSpot(f"{CABINET}_bottom_region"), f"{CABINET}_bottom_region"),
        ("LiberoLong-T9", "in", "white_yellow_mug_1", InSpot("microwave_1_heating_region"), ""),
        ("LiberoLong-T9", "on", "white_yellow_mug_1", OnSpot("microwave_1_top_side"), ""),
    ],
    ids=lambda value: str(value) if isinstance(value, str) else value.words.replace(" ", "-"),
)
def test_a_literal_holds_and_stays_after_a_release(bench, task, relation, thing, destination, opened):
    here = bench(task)
    here.restore(STATE)
    if opened:
        here.set_joints(positions(here, opened, "open"))
    goal = Goal((Predicate(relation, (thing, destination.name)),))
    assert not here.holds(goal)
    release = let_go(here, thing, destination)
    assert here.holds(goal)
    assert destination.reached(seen(here), thing)
    assert here.run(30, [], [])
    assert here.holds(goal)
    moved = here.pose(thing)[:3] - release.position
    assert np.linalg.norm(moved) < 0.04


def test_a_second_thing_finds_room_in_a_basket(bench):
    here = bench("LiberoLong-T0")
    here.restore(STATE)
    first, second, name = "alphabet_soup_1", "tomato_sauce_1", "basket_1_contain_region"
    let_go(here, first, InSpot(name))
    let_go(here, second, InSpot(name))
    assert here.holds(Goal(tuple(Predicate("in", (can, name)) for can in (first, second))))
    assert here.run(30, [], [])
    assert here.holds(Goal(tuple(Predicate("in", (can, name)) for can in (first, second))))

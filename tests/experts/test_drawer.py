"""Drawers: ways to have the bar of a handle, and pulling and pushing by it."""

import numpy as np
import pytest
from experts.scenes import GROUND, anatomy, block, hinge
from experts.toys import Toy

from gym_grounding import adapters, manifest
from gym_grounding.errors import NoPlan
from gym_grounding.experts import run
from gym_grounding.experts.skills import DONE, FAILED, PullDrawer, ShutDrawer
from gym_grounding.experts.skills._fixture import handle
from gym_grounding.experts.skills._grip import AGAINST, FINGERS, UPON, between, grips
from gym_grounding.experts.skills._hand import lowest, struck
from gym_grounding.types import Goal, Predicate, SceneSettings

SHELF, BARS = (0.0, 0.35, GROUND), (0.045, 0.12, 0.19)
"""Where the cabinet stands, and how high its three bars are above the work surface [m]."""


def cabinet():
    """Three drawers, one above the other, that open towards -y; each with a bar on two posts."""
    pieces = [block((0.12, 0.09, 0.11), (0.0, 0.0, 0.11), spacing=0.02)]
    for number, height in enumerate(BARS):
        pieces.append(block((0.11, 0.003, 0.033), (0.0, -0.096, height), number, 0.02))
        pieces += [block((0.005, 0.011, 0.005), (x, -0.11, height), number) for x in (-0.035, 0.035)]
        pieces.append(block((0.045, 0.008, 0.008), (0.0, -0.129, height), number))
    slides = [hinge((0, 1, 0), slides=True, low=-0.16, high=0.01) for _ in BARS]
    return (False, pieces, slides)


def follows(toy, before):
    """The bar that is held, or that closed fingers press down on, comes along; they push that whose face they reach."""
    world = toy.world
    bars = [handle(world, "cabinet_1", number) for number in range(len(BARS))]
    around = [between(world.hand, bar, 0.014) and toy.width > 0.01 for bar in bars]
    toy.shut = 0.016 if any(around) else 0.0
    for number, bar in enumerate(bars):
        if around[number] and toy.width <= toy.shut:
            toy.joints["cabinet_1"][number] -= (toy.tip - before) @ bar.outward
        if toy.width > 0.01:
            continue
        gap, points = before - bar.centre, world.hand.apply(FINGERS) - bar.centre
        moves = 0.0
        if abs(gap @ bar.outward) < 0.012 and abs(gap @ bar.along) < bar.length / 2 and 0 < gap[2] < 0.015:
            moves = max(0.0, (toy.tip - before) @ bar.outward)
        reach = (points @ bar.outward)[np.abs(points[:, 2]) < bar.thickness / 2]
        if gap[2] < 0 and len(reach) and 0 < bar.depth / 2 - reach.min() < 0.03:
            moves = reach.min() - bar.depth / 2
        toy.joints["cabinet_1"][number] = np.clip(toy.joints["cabinet_1"][number] - moves, -0.16, 0.01)


def toy(openings, touch=follows, **things):
    bodies = {name: (True, (block(half),), ()) for name, (half, _) in things.items()}
    poses = {name: centre for name, (_, centre) in things.items()}
    return Toy(anatomy(cabinet_1=cabinet(), **bodies), {"cabinet_1": SHELF, **poses}, {"cabinet_1": openings}, touch)


@pytest.mark.parametrize("number", [0, 1, 2])
def test_a_drawer_is_pulled_out_wide_and_the_hand_leaves(number):
    scene = toy([0.0, 0.0, 0.0])
    step, count = scene.run(PullDrawer("cabinet_1", number))
    assert step.status == DONE, step.reason
    assert scene.joints["cabinet_1"][number] < -0.155
    assert count < 120
    assert np.linalg.norm(scene.tip - handle(scene.world, "cabinet_1", number).centre) > 0.04


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("opening", [-0.16, -0.09, -0.02])
def test_a_drawer_is_pushed_in_from_wherever_it_is(number, opening):
    openings = [0.0, 0.0, 0.0]
    openings[number] = opening
    scene = toy(openings)
    step, count = scene.run(ShutDrawer("cabinet_1", number))
    assert step.status == DONE, step.reason
    assert scene.joints["cabinet_1"][number] > 0.0
    assert count < 120
    assert scene.low > GROUND - 0.003


def test_a_drawer_that_counts_as_open_can_be_opened_wide():
    opened = PullDrawer("cabinet_1", 0)
    scene = toy([-0.142, 0.0, 0.0])
    assert opened.done(scene.world)
    wide = PullDrawer("cabinet_1", 0, wide=True)
    assert not wide.done(scene.world)
    assert wide.words == opened.words + " wide"
    step, _ = scene.run(wide)
    assert step.status == DONE, step.reason
    assert wide.done(scene.world)


def test_each_knows_when_it_is_done():
    assert ShutDrawer("cabinet_1", 0).done(toy([0.001, 0, 0]).world)
    assert not ShutDrawer("cabinet_1", 0).done(toy([0.0, 0, 0]).world)
    assert not PullDrawer("cabinet_1", 0).done(toy([-0.139, 0, 0]).world)


@pytest.mark.parametrize("skill", [PullDrawer("cabinet_1", 1), ShutDrawer("cabinet_1", 1)])
def test_a_drawer_that_does_not_move_is_given_up(skill):
    scene = toy([-0.08, -0.08, -0.08], touch=None)
    step, _ = scene.run(skill, limit=700)
    assert step.status == FAILED
    assert "5 times" in step.reason


def test_fingers_that_push_come_down_just_before_the_face_of_the_bar():
    scene = toy([-0.12, 0.0, 0.0])
    bar = handle(scene.world, "cabinet_1", 0)
    for grip in grips(scene.world, "cabinet_1", 0, bar, -0.12, (AGAINST,)):
        pose = grip.pose(bar)
        points = pose.apply(FINGERS)
        level = np.abs(points[:, 2] - bar.centre[2]) < bar.thickness / 2
        gaps = (points[level] - bar.centre) @ bar.outward - bar.depth / 2
        assert 0 < gaps.min() < 0.004
        assert points[:, 2].min() < bar.centre[2] - bar.thickness / 2
        assert lowest(pose, 0.0) > GROUND
        assert pose.rotation.T @ pose.rotation == pytest.approx(np.eye(3), abs=1e-9)


def test_the_best_way_to_push_a_low_drawer_strikes_no_other_handle():
    scene = toy([0.0, 0.0, 0.0])
    bar = handle(scene.world, "cabinet_1", 0)
    pose = grips(scene.world, "cabinet_1", 0, bar, 0.0, (AGAINST,))[0].pose(bar)
    others = np.concatenate([scene.world.part_cloud("cabinet_1", number) for number in (None, 1, 2)])
    assert not struck(pose, 0.0, others).any()


def test_what_stands_before_every_handle_is_named():
    wall = ((0.3, 0.05, 0.15), (0.0, 0.11, GROUND + 0.15))
    scene = toy([0.0, 0.0, 0.0], box_1=wall)
    bar = handle(scene.world, "cabinet_1", 1)
    with pytest.raises(NoPlan, match="box_1 is in the way") as caught:
        grips(scene.world, "cabinet_1", 1, bar, 0.16, (UPON,))
    assert caught.value.blocker == "box_1"


@pytest.mark.sim
@pytest.mark.xdist_group("oracle")
def test_a_low_drawer_of_libero_is_pushed_in_past_the_handles_above_it():
    known, libero = manifest.load(), adapters.get("libero")
    task = known.task("LiberoLong-T3")
    facts = known.scene_of(task.id)
    tasks = {one.id: one for one in known.scene_tasks(facts.id)}
    goal = Goal((Predicate("close", ("white_cabinet_1_bottom_region",)),))
    scene = libero.open(facts, tasks, SceneSettings(observation="state"))
    try:
        found = run(scene, task, 4, goal, anatomy=libero.anatomy(facts, tasks))
        assert found.verdict == "stable", found
        assert 0 < found.first < 100
    finally:
        scene.close()

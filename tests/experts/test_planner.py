"""From goals to deeds, without a simulator."""

import numpy as np
import pytest
from experts.scenes import GROUND, anatomy, block, hinge, observation

from gym_grounding.adapters import Anatomy, Frame, Spot
from gym_grounding.errors import NoPlan, UnknownName
from gym_grounding.experts import destinations, planner
from gym_grounding.experts.skills import Hold, OpenDoor, PullDrawer, Push, Put, ShutDoor, ShutDrawer, TurnKnob
from gym_grounding.experts.world import World
from gym_grounding.types import Goal, Predicate

DRAWER, ROOM, BURNER = "cabinet_1_top_region", "oven_1_room", "stove_1_burner"


def scene():
    """A block, a bowl, a cabinet with one of two drawers named, an oven with a door, a stove with a knob."""
    base = anatomy(
        block_1=(True, (block((0.02, 0.02, 0.02)),), ()),
        bowl_1=(True, (block((0.03, 0.03, 0.02)),), ()),
        cabinet_1=(
            False,
            (block((0.1, 0.1, 0.1)), block((0.08, 0.1, 0.02), (0, 0, 0.03), 0)),
            (hinge((0, 1, 0), slides=True, low=-0.16, high=0.01), hinge((0, 1, 0), slides=True, low=-0.16, high=0.01)),
        ),
        oven_1=(
            False,
            (block((0.1, 0.1, 0.1)), block((0.1, 0.01, 0.1), (0, -0.11, 0), 0)),
            (hinge(low=-2.1, high=0.0),),
        ),
        stove_1=(False, (block((0.1, 0.1, 0.02)), block((0.02, 0.005, 0.02), (0, 0, 0.03), 0)), (hinge(),)),
    )
    spots = {
        name: Spot(name, name.rsplit("_", 1 if name != DRAWER else 2)[0], joint, Frame(np.zeros(3), np.eye(3)), half)
        for name, joint, half in (
            (DRAWER, 0, np.full(3, 0.05)),
            (ROOM, None, np.full(3, 0.08)),
            (BURNER, None, np.array([0.05, 0.05, 0.01])),
        )
    }
    return Anatomy(
        base.scene,
        base.bodies,
        {**base.spots, **spots},
        base.ground,
        base.extent,
        base.origin,
        base.thickness,
        base.base,
    )


def world(drawer=0.0, door=0.0, knob=0.0):
    poses = {
        "block_1": (0.0, 0.0, GROUND + 0.02),
        "bowl_1": (0.1, 0.0, GROUND + 0.02),
        "cabinet_1": (0.0, -0.4, GROUND + 0.1),
        "oven_1": (0.0, 0.45, GROUND + 0.1),
        "stove_1": (0.3, 0.2, GROUND + 0.02),
    }
    joints = {"cabinet_1": (drawer, 0.0), "oven_1": (door,), "stove_1": (knob,)}
    return World(scene(), observation(poses, joints=joints))


def goal(*literals):
    return Goal(tuple(Predicate(name, tuple(arguments)) for name, *arguments in literals))


def deeds(*literals, **joints):
    return planner.deeds(goal(*literals), world(**joints))


def test_each_literal_has_its_deed():
    assert deeds(("on", "block_1", "bowl_1")) == (Put("block_1", destinations.OnBody("bowl_1")),)
    assert deeds(("on", "block_1", BURNER)) == (Put("block_1", destinations.OnSpot(BURNER)),)
    assert deeds(("on", "block_1", "table_zone")) == (Put("block_1", destinations.OnSpot("table_zone")),)
    assert deeds(("in", "block_1", DRAWER)) == (Put("block_1", destinations.InSpot(DRAWER)),)
    assert deeds(("open", DRAWER)) == (PullDrawer("cabinet_1", 0),)
    assert deeds(("close", DRAWER)) == (ShutDrawer("cabinet_1", 0),)
    assert deeds(("open", "oven_1")) == (OpenDoor("oven_1", 0),)
    assert deeds(("close", "oven_1")) == (ShutDoor("oven_1", 0),)
    assert deeds(("turnon", "stove_1")) == (TurnKnob("stove_1", 0, True),)
    assert deeds(("turnoff", "stove_1")) == (TurnKnob("stove_1", 0, False),)
    assert deeds(("lifted", "block_1")) == (Hold("block_1"),)


def test_order_of_a_conjunction():
    kinds = [type(one) for one in deeds(("on", "block_1", BURNER), ("turnon", "stove_1"))]
    assert kinds == [TurnKnob, Put]
    kinds = [type(one) for one in deeds(("close", DRAWER), ("in", "block_1", DRAWER))]
    assert kinds == [Put, ShutDrawer]
    kinds = [type(one) for one in deeds(("on", "block_1", "bowl_1"), ("close", DRAWER))]
    assert kinds == [ShutDrawer, Put]
    kinds = [type(one) for one in deeds(("on", "block_1", "bowl_1"), ("open", DRAWER))]
    assert kinds == [Put, PullDrawer]


def test_a_carrier_is_put_before_what_it_carries():
    ordered = deeds(("on", "block_1", "bowl_1"), ("on", "bowl_1", BURNER))
    assert [one.thing for one in ordered] == ["bowl_1", "block_1"]


def test_what_is_shut_is_opened_first_and_what_is_open_is_not():
    inside = goal(("in", "block_1", DRAWER))
    assert planner.next_deed(inside, world(), {}) == PullDrawer("cabinet_1", 0)
    assert planner.next_deed(inside, world(drawer=-0.155), {}) == Put("block_1", destinations.InSpot(DRAWER))
    room = goal(("in", "block_1", ROOM), ("close", "oven_1"))
    assert planner.next_deed(room, world(), {}) == OpenDoor("oven_1", 0)
    assert planner.next_deed(room, world(door=-1.6), {}) == Put("block_1", destinations.InSpot(ROOM, shut=True))


def test_what_is_done_is_left_alone_and_what_lasts_is_never_done():
    assert planner.next_deed(goal(("turnon", "stove_1")), world(knob=0.9), {}) is None
    assert planner.next_deed(goal(("lifted", "block_1")), world(), {}) == Hold("block_1")


def test_what_was_given_up_waits():
    both = goal(("turnon", "stove_1"), ("on", "block_1", "bowl_1"))
    knob = TurnKnob("stove_1", 0, True)
    assert planner.next_deed(both, world(), {}) == knob
    assert planner.next_deed(both, world(), {knob: 1}) == Put("block_1", destinations.OnBody("bowl_1"))


@pytest.mark.parametrize(
    ("literal", "reason"),
    [
        (("in", "block_1", "bowl_1"), "only regions"),
        (("up", "block_1"), "no skill"),
        (("close", "cabinet_1"), "no single joint"),
        (("open", "bowl_1"), "no single joint"),
        (("turnon", "cabinet_1"), "no single joint"),
    ],
)
def test_a_goal_without_a_deed_says_why(literal, reason):
    with pytest.raises(NoPlan, match=reason):
        deeds(literal)


def test_unknown_names_are_named():
    with pytest.raises(UnknownName, match="fridge_1"):
        deeds(("on", "block_1", "fridge_1"))[0].advance(world(), None)


def test_what_is_in_the_way_is_taken_to_where_it_stops_nothing():
    wanted = goal(("on", "block_1", "bowl_1"), ("on", "bowl_1", BURNER), ("turnon", "stove_1"))
    stopped = TurnKnob("stove_1", 0, True)
    clearing = planner.cleared(NoPlan("full", blocker="bowl_1"), wanted, world(), stopped)
    assert clearing == Put("bowl_1", destinations.Aside((BURNER,)))
    stopped = Put("block_1", destinations.OnSpot(BURNER))
    clearing = planner.cleared(NoPlan("full", blocker="bowl_1"), wanted, world(), stopped)
    assert clearing == Put("bowl_1", destinations.Aside((BURNER,), ("block_1",)))
    with pytest.raises(NoPlan, match="full"):
        planner.cleared(NoPlan("full"), wanted, world(), stopped)
    with pytest.raises(NoPlan, match="full"):
        planner.cleared(NoPlan("full", blocker="oven_1"), wanted, world(), stopped)


def test_room_is_left_for_what_comes_to_the_same_place():
    first, second = deeds(("on", "block_1", BURNER), ("on", "bowl_1", BURNER))
    assert first.destination == destinations.OnSpot(BURNER, ("bowl_1",))
    assert second.destination == destinations.OnSpot(BURNER, ("block_1",))


def test_what_goes_into_a_drawer_that_is_then_shut_may_not_stick_out():
    closing = deeds(("in", "block_1", DRAWER), ("close", DRAWER))[0]
    assert closing.destination == destinations.InSpot(DRAWER, shut=True)
    other = deeds(("in", "block_1", ROOM), ("close", DRAWER))[-1]
    assert other.destination == destinations.InSpot(ROOM)


def test_a_drawer_that_gave_too_little_room_is_opened_wide():
    inside, putting = goal(("in", "block_1", DRAWER)), Put("block_1", destinations.InSpot(DRAWER))
    assert planner.next_deed(inside, world(drawer=-0.145), {}) == putting
    assert planner.next_deed(inside, world(drawer=-0.145), {putting: 1}) == PullDrawer("cabinet_1", 0, wide=True)
    assert (
        planner.next_deed(inside, world(drawer=-0.159), {putting: 2, Push("block_1", putting.destination): 1})
        == putting
    )


def test_nothing_is_shut_before_what_it_is_to_hold_is_in_it():
    both = goal(("in", "block_1", DRAWER), ("close", DRAWER))
    putting = Put("block_1", destinations.InSpot(DRAWER, shut=True))
    assert (
        planner.next_deed(both, world(drawer=-0.159), {putting: 2, Push("block_1", putting.destination): 1}) == putting
    )


def test_what_could_not_be_carried_is_pushed_once():
    wanted, carrying = goal(("on", "block_1", "table_zone")), Put("block_1", destinations.OnSpot("table_zone"))
    pushing = Push("block_1", carrying.destination)
    assert planner.next_deed(wanted, world(), {}) == carrying
    assert planner.next_deed(wanted, world(), {carrying: 1}) == pushing
    assert planner.next_deed(wanted, world(), {carrying: 1, pushing: 1}) == carrying

"""Where things are let go: fabricated tables, plates, baskets, drawers and ovens made of boxes."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from experts.scenes import GROUND, block
from scipy.spatial.transform import Rotation

from gym_grounding.adapters import Anatomy, Body, Frame, Joint, Piece, Spot
from gym_grounding.errors import NoPlan
from gym_grounding.experts.destinations import Aside, InSpot, OnBody, OnSpot
from gym_grounding.experts.destinations import _bounds as bounds
from gym_grounding.experts.world import Place, World

UPRIGHT = (0.0, 0.0, 0.0)


def box(low, high, joint=None):
    """A convex piece between two corners."""
    low, high = np.array(low, float), np.array(high, float)
    return block((high - low) / 2, (low + high) / 2, joint)


def walled(half, height, wall=0.006):
    """Pieces of a container that is open at the top, its origin in the middle of its foot."""
    x, y = half
    return (
        box((-x, -y, 0.0), (x, y, wall)),
        box((-x, -y, 0.0), (-x + wall, y, height)),
        box((x - wall, -y, 0.0), (x, y, height)),
        box((-x, -y, 0.0), (x, -y + wall, height)),
        box((-x, y - wall, 0.0), (x, y, height)),
    )


def brick(name, size):
    """A movable block, its origin in its middle."""
    return Body(name, True, (block(np.array(size) / 2),))


def region(name, parent, centre, half, joint=None, axes=None):
    return Spot(
        name, parent, joint, Frame(np.array(centre, float), np.eye(3) if axes is None else axes), np.array(half)
    )


def world(bodies, poses, spots=(), joints=None):
    """A world on a table.

    Args:
        poses: name -> (position, rotation vector).
        joints: name -> positions.
    """
    anatomy = Anatomy(
        scene="s",
        bodies={body.name: body for body in bodies},
        spots={spot.name: spot for spot in spots},
        ground=GROUND,
        extent=(-0.5, -0.6, 0.5, 0.6),
        origin=np.array([0.0, 0.0, GROUND - 0.005]),
        thickness=0.007,
        base=np.array([-0.66, 0.0, GROUND]),
    )
    observation = {f"{name}_joint_pos": np.array(values) for name, values in (joints or {}).items()}
    for name, (position, turn) in poses.items():
        observation[f"{name}_pos"] = np.array(position, float)
        observation[f"{name}_quat"] = Rotation.from_rotvec(turn).as_quat()
    return World(anatomy, observation)


def after(before, thing, release):
    """The world with the thing at a release."""
    observation = dict(before._observation)
    observation[f"{thing}_pos"] = release.position
    if release.rotation is not None:
        observation[f"{thing}_quat"] = Rotation.from_matrix(release.rotation).as_quat()
    return World(before.anatomy, observation)


def extent(here, name):
    cloud = here.cloud(name)
    return cloud.min(axis=0), cloud.max(axis=0)


# LIBERO's tests


def test_on_a_region_is_asked_with_the_rotation_where_its_inverse_is_meant():
    turn = Rotation.from_rotvec([0.0, 0.0, 0.5]).as_matrix()
    place = Place("r", Frame(np.array([0.1, 0.2, 1.0]), turn), np.array([0.10, 0.02, 0.003]), "c", None)
    offset = np.array([0.08, 0.0, 0.01])
    good, bad = (place.frame.position + rotation @ offset for rotation in (turn.T, turn))
    assert bounds.on_region(place, good) > 0
    assert bounds.on_region(place, bad) < 0


@pytest.mark.parametrize(("above", "on"), [(-0.0045, True), (-0.0055, False), (0.0995, True), (0.1005, False)])
def test_on_a_region_reaches_from_a_little_below_its_top_to_ten_centimetres_above(above, on):
    place = Place("r", Frame(np.zeros(3), np.eye(3)), np.array([0.05, 0.05, 0.007]), "", None)
    assert bool(bounds.on_region(place, np.array([0.0, 0.0, 0.007 + above])) > 0) is on


def test_in_a_region_is_a_box_along_the_worlds_axes_a_centimetre_deeper():
    turn = Rotation.from_rotvec([0.0, 0.0, np.pi / 3]).as_matrix()
    place = Place("r", Frame(np.zeros(3), turn), np.array([0.10, 0.02, 0.03]), "c", None)
    low, high = bounds.box(place)
    half = np.abs(turn @ place.half)
    assert high == pytest.approx(half)
    assert low == pytest.approx(-half - [0, 0, 0.01])
    assert bounds.in_region(place, np.array([0.0, 0.0, -0.0395])) > 0
    assert bounds.in_region(place, np.array([0.0, 0.0, -0.0405])) < 0


@pytest.mark.parametrize(("offset", "on"), [((0.029, 0, 0), True), ((0.031, 0, 0.1), False), ((0, 0, -0.001), False)])
def test_on_a_body_asks_for_origins_within_three_centimetres(offset, on):
    assert bool(bounds.on_body(np.zeros(3), np.array(offset, float)) > 0) is on


# On a body


@pytest.fixture
def table():
    """A plate with a rim and a block beside it."""
    plate = Body("plate_1", True, walled((0.08, 0.08), 0.02))
    bodies = [plate, brick("block_1", (0.04, 0.05, 0.06)), brick("can_1", (0.05, 0.05, 0.08))]
    poses = {
        "plate_1": ((0.0, 0.2, GROUND), UPRIGHT),
        "block_1": ((0.0, -0.1, GROUND + 0.03), UPRIGHT),
        "can_1": ((0.2, 0.0, GROUND + 0.04), UPRIGHT),
    }
    return lambda **changed: world(bodies, poses | changed)


def test_a_thing_is_let_go_over_the_middle_of_a_plate_at_the_height_of_its_floor(table):
    here = table()
    release = OnBody("plate_1").releases(here, "block_1")[0]
    assert release.position[:2] == pytest.approx([0.0, 0.2], abs=0.004)
    assert release.position[2] == pytest.approx(GROUND + 0.006 + 0.03, abs=0.0015)
    assert release.entry == pytest.approx([0, 0, -1])
    assert release.rotation is None
    assert OnBody("plate_1").reached(after(here, "block_1", release), "block_1")


@pytest.mark.parametrize(
    "position",
    [(0.0, 0.2, GROUND + 0.09), (0.035, 0.2, GROUND + 0.036), (0.0, -0.1, GROUND + 0.03)],
    ids=["in the air", "too far from the middle", "on the table"],
)
def test_what_does_not_rest_there_has_not_reached_it(table, position):
    assert not OnBody("plate_1").reached(table(block_1=(position, UPRIGHT)), "block_1")


def test_nothing_is_put_on_a_tilted_thing(table):
    here = table(plate_1=((0.0, 0.2, GROUND + 0.05), (0.6, 0.0, 0.0)))
    with pytest.raises(NoPlan, match="plate_1 is tilted"):
        OnBody("plate_1").releases(here, "block_1")


def test_nothing_is_put_on_a_thing_in_the_air(table):
    here = table(plate_1=((0.0, 0.2, GROUND + 0.1), UPRIGHT))
    with pytest.raises(NoPlan, match="plate_1 is in the air"):
        OnBody("plate_1").releases(here, "block_1")


def test_what_covers_a_plate_is_named_so_that_it_can_be_cleared_away(table):
    here = table(can_1=((0.01, 0.2, GROUND + 0.046), UPRIGHT))
    with pytest.raises(NoPlan, match="can_1 lies on plate_1") as caught:
        OnBody("plate_1").releases(here, "block_1")
    assert caught.value.blocker == "can_1"


def test_a_held_thing_is_planned_for_as_if_it_stood_upright(table):
    askew = table(block_1=((0.0, 0.0, GROUND + 0.3), (0.3, 0.1, 0.4)))
    straight = table(block_1=((0.0, 0.0, GROUND + 0.3), (0.0, 0.0, 0.4)))
    one, other = (OnBody("plate_1").releases(here, "block_1")[0] for here in (askew, straight))
    assert one.position == pytest.approx(other.position, abs=1e-6)


# On a region and on a zone


@pytest.fixture
def stove():
    """A stove with a knob beside its plate, two pots with handles, and a zone of the table."""
    fixture = Body(
        "stove_1", False, (box((-0.1, -0.1, 0.0), (0.1, 0.1, 0.02)), box((-0.16, -0.03, 0.0), (-0.11, 0.03, 0.05)))
    )
    pot = (box((-0.04, -0.04, 0.0), (0.04, 0.04, 0.12)), box((-0.01, -0.09, 0.08), (0.01, -0.04, 0.1)))
    spots = [
        region("stove_1_cook_region", "stove_1", (0.0, 0.0, 0.02), (0.08, 0.08, 0.003)),
        region("table_zone", "", (0.0, -0.3, GROUND - 0.005), (0.07, 0.07, 0.007)),
    ]
    bodies = [fixture, Body("pot_1", True, pot), Body("pot_2", True, pot)]
    poses = {
        "stove_1": ((0.0, 0.2, GROUND), UPRIGHT),
        "pot_1": ((0.2, 0.0, GROUND), UPRIGHT),
        "pot_2": ((0.3, 0.3, GROUND), UPRIGHT),
    }
    return lambda **changed: world(bodies, poses | changed, spots)


def test_a_pot_alone_stands_in_the_middle_of_the_stove(stove):
    release = OnSpot("stove_1_cook_region").releases(stove(), "pot_1")[0]
    assert release.position == pytest.approx([0.0, 0.2, GROUND + 0.02], abs=0.015)


@pytest.mark.parametrize(
    ("destination", "name"), [(OnSpot, "stove_1_cook_region"), (OnSpot, "table_zone")], ids=["region", "zone"]
)
def test_two_pots_find_room_beside_each_other(stove, destination, name):
    here = stove()
    first = destination(name, ("pot_2",)).releases(here, "pot_1")[0]
    filled = after(here, "pot_1", first)
    second = destination(name).releases(filled, "pot_2")[0]
    both = after(filled, "pot_2", second)
    (low, high), (other_low, other_high) = extent(both, "pot_1"), extent(both, "pot_2")
    assert np.maximum(low - other_high, other_low - high)[:2].max() > 0.003
    assert all(destination(name).reached(both, pot) for pot in ("pot_1", "pot_2"))


def test_a_thing_on_a_region_must_rest_on_what_carries_the_region(stove):
    zone, spot = OnSpot("table_zone"), OnSpot("stove_1_cook_region")
    assert zone.reached(stove(pot_1=((0.0, -0.3, GROUND), UPRIGHT)), "pot_1")
    assert not zone.reached(stove(pot_1=((0.0, -0.3, GROUND + 0.06), UPRIGHT)), "pot_1")
    assert spot.reached(stove(pot_1=((0.0, 0.2, GROUND + 0.02), UPRIGHT)), "pot_1")
    assert not spot.reached(stove(pot_1=((0.0, 0.2, GROUND + 0.08), UPRIGHT)), "pot_1")


def test_what_stands_on_another_thing_on_a_region_is_not_on_the_region(stove):
    here = stove()
    bodies = [*here.anatomy.bodies.values(), brick("book_1", (0.1, 0.1, 0.03))]
    poses = {
        "stove_1": ((0.0, 0.2, GROUND), UPRIGHT),
        "pot_1": ((0.0, 0.2, GROUND + 0.05), UPRIGHT),
        "pot_2": ((0.3, 0.3, GROUND), UPRIGHT),
        "book_1": ((0.0, 0.2, GROUND + 0.035), UPRIGHT),
    }
    stacked = world(bodies, poses, here.anatomy.spots.values())
    assert not OnSpot("stove_1_cook_region").reached(stacked, "pot_1")
    assert OnSpot("stove_1_cook_region").reached(stacked, "book_1")


def shelf(pieces, centre, half=0.06):
    """A block beside a fixture with a region on top."""
    spot = region("shelf_1_top", "shelf_1", centre, (half, half, 0.003))
    bodies = [Body("shelf_1", False, pieces), brick("block_1", (0.05, 0.05, 0.06))]
    poses = {"shelf_1": ((0.0, 0.2, GROUND), UPRIGHT), "block_1": ((0.0, -0.2, GROUND + 0.03), UPRIGHT)}
    return world(bodies, poses, [spot])


def test_things_stay_away_from_edges():
    here = shelf((box((-0.1, -0.1, 0.0), (0.1, 0.1, 0.1)),), (0.1, 0.0, 0.1))
    release = OnSpot("shelf_1_top").releases(here, "block_1")[0]
    assert 0.04 < release.position[0] < 0.085


def test_a_thin_wall_between_two_cells_is_seen():
    top = box((-0.1, -0.1, 0.0), (0.1, 0.1, 0.1))
    for shift in np.arange(0.0, 0.005, 0.001):
        wall = box((shift, -0.1, 0.1), (shift + 0.001, 0.1, 0.15))
        release = OnSpot("shelf_1_top").releases(shelf((top, wall), (0.0, 0.0, 0.1)), "block_1")[0]
        assert abs(release.position[0] - shift) > 0.025


def test_things_stay_away_from_what_rises_from_their_support():
    top, post = box((-0.1, -0.1, 0.0), (0.1, 0.1, 0.1)), box((0.03, -0.1, 0.1), (0.04, 0.1, 0.3))
    release = OnSpot("shelf_1_top").releases(shelf((top, post), (0.0, 0.0, 0.1)), "block_1")[0]
    assert release.position[0] + 0.025 < 0.03 - 0.02


def test_a_zone_full_of_something_else_has_no_room(stove):
    with pytest.raises(NoPlan, match="pot_1 finds no rest on table_zone") as caught:
        OnSpot("table_zone").releases(stove(stove_1=((0.0, -0.3, GROUND), UPRIGHT)), "pot_1")
    assert caught.value.blocker == ""


def test_what_takes_all_the_room_of_a_zone_is_named_so_that_it_can_be_cleared_away(stove):
    here = stove()
    small = region("table_zone", "", (0.0, -0.3, GROUND - 0.005), (0.03, 0.03, 0.007))
    bodies = here.anatomy.bodies.values()
    poses = {
        "stove_1": ((0.0, 0.2, GROUND), UPRIGHT),
        "pot_1": ((0.2, 0.0, GROUND), UPRIGHT),
        "pot_2": ((0.0, -0.3, GROUND), UPRIGHT),
    }
    with pytest.raises(NoPlan, match="pot_1 finds no rest on table_zone") as caught:
        OnSpot("table_zone").releases(world(bodies, poses, [small]), "pot_1")
    assert caught.value.blocker == "pot_2"


def test_a_thing_in_the_way_pushes_the_release_aside(stove):
    here = stove(pot_2=((0.05, -0.3, GROUND), UPRIGHT))
    release = OnSpot("table_zone").releases(here, "pot_1")[0]
    low, _ = extent(here, "pot_2")
    assert release.position[0] + 0.04 < low[0]


def test_a_flat_thing_is_stood_on_its_edge_where_the_zone_asks_for_height():
    spot = region("floor_zone", "", (0.0, 0.0, GROUND + 0.02), (0.05, 0.05, 0.007))
    here = world([brick("cheese_1", (0.08, 0.05, 0.018))], {"cheese_1": ((0.2, 0.2, GROUND + 0.009), UPRIGHT)}, [spot])
    release = OnSpot("floor_zone").releases(here, "cheese_1")[0]
    assert release.rotation is not None
    assert release.position[2] > GROUND + 0.022
    assert OnSpot("floor_zone").reached(after(here, "cheese_1", release), "cheese_1")


def test_on_a_slope_a_long_thing_is_laid_along_it():
    slope = Rotation.from_rotvec([0.5, 0.0, 0.0]).as_matrix()
    board = box((-0.15, -0.15, -0.01), (0.15, 0.15, 0.0))
    rack = Body("rack_1", False, (Piece(board.corners @ slope.T, board.surface @ slope.T),))
    spot = region("rack_1_top_region", "rack_1", (0.0, 0.0, 0.0), (0.1, 0.1, 0.003), axes=slope)
    bodies = [rack, brick("bottle_1", (0.04, 0.04, 0.2))]
    poses = {"rack_1": ((0.0, 0.2, GROUND + 0.2), UPRIGHT), "bottle_1": ((0.0, -0.2, GROUND + 0.1), UPRIGHT)}
    release = OnSpot("rack_1_top_region").releases(world(bodies, poses, [spot]), "bottle_1")[0]
    axis = release.rotation[:, 2]
    assert abs(axis @ slope[:, 2]) < 0.1  # its length lies in the board


# In a region


def basket(height=0.14):
    spot = region("basket_1_contain_region", "basket_1", (0.0, 0.0, 0.07), (0.06, 0.06, 0.07))
    return Body("basket_1", True, walled((0.08, 0.08), height)), spot


def test_things_may_fall_into_a_basket_one_after_the_other():
    body, spot = basket()
    bodies = [body, brick("can_1", (0.05, 0.05, 0.05)), brick("can_2", (0.05, 0.05, 0.05))]
    poses = {
        "basket_1": ((0.0, 0.2, GROUND), UPRIGHT),
        "can_1": ((0.2, 0.0, GROUND + 0.025), UPRIGHT),
        "can_2": ((0.2, 0.1, GROUND + 0.025), UPRIGHT),
    }
    here = world(bodies, poses, [spot])
    first = InSpot(spot.name).releases(here, "can_1")[0]
    assert 0.08 < first.free < 0.14
    assert first.depth > 0.14
    assert first.position[2] == pytest.approx(GROUND + 0.006 + 0.025, abs=0.0015)
    filled = after(here, "can_1", first)
    second = InSpot(spot.name).releases(filled, "can_2")[0]
    assert second.position[2] > GROUND + 0.006 + 0.02
    both = after(filled, "can_2", second)
    assert all(InSpot(spot.name).reached(both, can) for can in ("can_1", "can_2"))


def test_the_way_into_a_basket_begins_above_its_walls():
    body, spot = basket()
    poses = {"basket_1": ((0.0, 0.2, GROUND), UPRIGHT), "can_1": ((0.2, 0.0, GROUND + 0.015), UPRIGHT)}
    here = world([body, brick("can_1", (0.03, 0.03, 0.03))], poses, [spot])
    release = InSpot(spot.name).releases(here, "can_1")[0]
    assert release.position[:2] == pytest.approx([0.0, 0.2], abs=0.02)
    assert release.position[2] - 0.015 + release.depth > GROUND + 0.14


def test_where_the_bottom_is_full_things_are_stacked():
    body, spot = basket()
    bodies = [body, brick("can_1", (0.12, 0.12, 0.04)), brick("can_2", (0.05, 0.05, 0.05))]
    poses = {
        "basket_1": ((0.0, 0.2, GROUND), UPRIGHT),
        "can_1": ((0.0, 0.2, GROUND + 0.026), UPRIGHT),
        "can_2": ((0.2, 0.1, GROUND + 0.025), UPRIGHT),
    }
    release = InSpot(spot.name).releases(world(bodies, poses, [spot]), "can_2")[0]
    assert release.position[2] == pytest.approx(GROUND + 0.006 + 0.04 + 0.025, abs=0.0015)


@pytest.fixture
def cabinet():
    """A cabinet with one drawer that opens along -y, under its top; a bowl-like block and a tall one."""
    top = box((-0.12, -0.1, 0.1), (0.12, 0.1, 0.12))
    walls = (box((-0.12, -0.1, 0.0), (-0.115, 0.1, 0.1)), box((0.115, -0.1, 0.0), (0.12, 0.1, 0.1)))
    tray, lift = walled((0.11, 0.09), 0.06), np.array([0.0, 0.0, 0.01])
    drawer = tuple(Piece(part.corners + lift, part.surface + lift, 0) for part in tray)
    slide = Joint("j", True, np.array([0.0, 1.0, 0.0]), np.zeros(3), -0.16, 0.01)
    body = Body("cabinet_1", False, (top, *walls, *drawer), (slide,))
    spot = region("cabinet_1_top_region", "cabinet_1", (0.0, 0.0, 0.045), (0.1, 0.08, 0.04), 0)
    tall = Body("tall_1", True, (box((-0.02, -0.02, 0.0), (0.02, 0.02, 0.15)),))
    bodies = [body, brick("low_1", (0.06, 0.06, 0.03)), tall]
    poses = {
        "cabinet_1": ((0.0, 0.2, GROUND), UPRIGHT),
        "low_1": ((0.2, -0.2, GROUND + 0.015), UPRIGHT),
        "tall_1": ((0.3, -0.2, GROUND), UPRIGHT),
    }
    return lambda opened: world(bodies, poses, [spot], {"cabinet_1": [opened]})


DRAWER = InSpot("cabinet_1_top_region")


def test_a_shut_drawer_takes_nothing(cabinet):
    with pytest.raises(NoPlan, match="cabinet_1_top_region is shut"):
        DRAWER.releases(cabinet(0.0), "low_1")


def test_things_go_into_the_part_of_a_drawer_that_is_exposed(cabinet):
    here = cabinet(-0.15)
    release = DRAWER.releases(here, "low_1")[0]
    edge = 0.2 - 0.1  # of the cabinet's top
    assert release.position[1] + 0.03 < edge
    assert release.position[2] == pytest.approx(GROUND + 0.01 + 0.006 + 0.015, abs=0.0015)
    assert release.entry == pytest.approx([0, 0, -1])
    assert DRAWER.reached(after(here, "low_1", release), "low_1")


def test_a_tall_thing_is_laid_down_where_the_drawer_is_to_be_shut(cabinet):
    here = cabinet(-0.15)
    standing, lying = (InSpot(DRAWER.name, shut=shut).releases(here, "tall_1")[0] for shut in (False, True))
    assert standing.rotation is None
    assert abs(lying.rotation[2, 2]) < 0.1
    _, high = extent(after(here, "tall_1", lying), "tall_1")
    assert high[2] < GROUND + 0.1


def test_what_would_stick_out_of_a_shut_drawer_is_not_there_yet(cabinet):
    here = cabinet(-0.15)
    open_drawer, shut_drawer = InSpot(DRAWER.name), InSpot(DRAWER.name, shut=True)
    standing = after(here, "tall_1", open_drawer.releases(here, "tall_1")[0])
    lying = after(here, "tall_1", shut_drawer.releases(here, "tall_1")[0])
    assert open_drawer.reached(standing, "tall_1")
    assert not shut_drawer.reached(standing, "tall_1")
    assert shut_drawer.reached(lying, "tall_1")


@pytest.fixture
def oven():
    """An oven that is open towards -y, with a door at its left, and a cup."""
    shell = (
        box((-0.15, -0.1, 0.0), (0.15, 0.1, 0.02)),
        box((-0.15, -0.1, 0.16), (0.15, 0.1, 0.18)),
        box((-0.15, -0.1, 0.0), (-0.13, 0.1, 0.18)),
        box((0.13, -0.1, 0.0), (0.15, 0.1, 0.18)),
        box((-0.15, 0.08, 0.0), (0.15, 0.1, 0.18)),
    )
    door = box((-0.15, -0.12, 0.0), (0.15, -0.1, 0.18), 0)
    hinge = Joint("j", False, np.array([0.0, 0.0, 1.0]), np.array([-0.15, -0.11, 0.09]), -2.1, 0.0)
    body = Body("oven_1", False, (*shell, door), (hinge,))
    spot = region("oven_1_heating_region", "oven_1", (0.0, -0.03, 0.09), (0.12, 0.09, 0.08))
    poses = {"oven_1": ((0.0, 0.3, GROUND), UPRIGHT), "cup_1": ((0.0, 0.0, GROUND + 0.04), UPRIGHT)}
    bodies = [body, brick("cup_1", (0.07, 0.15, 0.08))]
    return lambda turned: world(bodies, poses, [spot], {"oven_1": [turned]})


def test_an_oven_is_entered_from_its_open_front(oven):
    here = oven(-1.6)
    release = InSpot("oven_1_heating_region").releases(here, "cup_1")[0]
    assert release.entry == pytest.approx([0, 1, 0], abs=1e-6)
    outside = release.position - release.entry * release.depth
    _, out = extent(after(here, "cup_1", replace(release, position=outside)), "cup_1")
    assert out[1] < 0.3 - 0.1
    low, _ = extent(after(here, "cup_1", release), "cup_1")
    assert low[1] > 0.3 - 0.1  # the door will shut
    assert release.position[2] == pytest.approx(GROUND + 0.02 + 0.04, abs=0.0015)
    assert InSpot("oven_1_heating_region").reached(after(here, "cup_1", release), "cup_1")


def test_a_shut_oven_takes_nothing(oven):
    with pytest.raises(NoPlan, match="oven_1_heating_region is shut"):
        InSpot("oven_1_heating_region").releases(oven(0.0), "cup_1")


def test_a_tall_thing_does_not_fit_under_a_low_roof(oven):
    here = oven(-1.6)
    bodies = dict(here.anatomy.bodies)
    bodies["cup_1"] = brick("cup_1", (0.15, 0.15, 0.15))
    high = world(
        bodies.values(),
        {"oven_1": ((0.0, 0.3, GROUND), UPRIGHT), "cup_1": ((0.0, 0.0, GROUND + 0.075), UPRIGHT)},
        here.anatomy.spots.values(),
        {"oven_1": [-1.6]},
    )
    with pytest.raises(NoPlan, match="cup_1 finds no room in oven_1_heating_region"):
        InSpot("oven_1_heating_region").releases(high, "cup_1")


def test_zones_have_no_inside(stove):
    with pytest.raises(NoPlan, match="no inside"):
        InSpot("table_zone").releases(stove(), "pot_1")


# Aside


def test_things_are_cleared_away_to_a_free_place_within_reach(stove):
    here = stove(pot_1=((0.0, -0.3, GROUND), UPRIGHT))
    aside = Aside(("table_zone", "stove_1"))
    release = aside.releases(here, "pot_1")[0]
    there = after(here, "pot_1", release)
    low, high = extent(there, "pot_1")
    for name in ("stove_1", "pot_2"):
        other_low, other_high = extent(here, name)
        assert np.maximum(low - other_high, other_low - high)[:2].max() > 0
    zone_low, zone_high = bounds.box(here.spot("table_zone"))
    assert np.maximum(low - zone_high, zone_low - high)[:2].max() > 0
    assert np.linalg.norm(release.position[:2] - here.anatomy.base[:2]) < 0.85
    assert aside.reached(there, "pot_1")
    assert not aside.reached(stove(pot_1=((0.0, -0.3, GROUND), UPRIGHT)), "pot_1")


def test_what_is_cleared_away_leaves_room_for_the_hand(stove):
    here = stove(pot_1=((0.0, -0.3, GROUND), UPRIGHT), pot_2=((-0.1, -0.3, GROUND), UPRIGHT))
    near, far = (Aside((), beside).releases(here, "pot_1")[0] for beside in ((), ("pot_2",)))
    other_low, other_high = extent(here, "pot_2")

    def gap(release):
        low, high = extent(after(here, "pot_1", release), "pot_1")
        return np.maximum(low - other_high, other_low - high)[:2].max()

    assert gap(near) < 0.1
    assert gap(far) > 0.1
    assert Aside().reached(here, "pot_1")
    assert not Aside((), ("pot_2",)).reached(here, "pot_1")


# All of them


@pytest.mark.parametrize("make", [OnBody, OnSpot, InSpot], ids=lambda make: make.__name__)
def test_destinations_are_values(make):
    assert make("a") == make("a")
    assert len({make("a"), make("a"), make("b")}) == 2
    assert make("a").words.endswith(" a")


def test_releases_are_few_different_and_the_same_each_time(stove):
    def found():
        return OnSpot("stove_1_cook_region").releases(stove(), "pot_1")

    one, other = found(), found()
    assert 2 <= len(one) <= 8
    for a, b in zip(one, other, strict=True):
        assert np.array_equal(a.position, b.position)
    for a, b in itertools.combinations(one, 2):
        alike = np.linalg.norm(a.position - b.position) < 0.02
        assert not alike or (a.rotation is not None and b.rotation is not None)

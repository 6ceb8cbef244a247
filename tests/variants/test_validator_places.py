"""Boxes beside things: where they lie, how large they are, what their names spell."""

import pytest

from gym_grounding.types import Entity, Predicate, SceneFacts
from gym_grounding.variants.types import Footprint, Layout
from gym_grounding.variants.validator import _places

TABLE = Entity("main_table", "table", "surface")
BOWL = Entity("bowl_1", "bowl", "object")
POT = Entity("pot_1", "pot", "object")
STOVE = Entity("stove_1", "stove", "fixture")
COOK = Entity("stove_1_cook_region", "stove_1", "site")
SPOT = Entity("main_table_spot_region", "main_table", "zone")
ENTITIES = (TABLE, BOWL, POT, STOVE, COOK, SPOT)
SCENE = SceneFacts("s", "toy", "p", {entity.name: entity for entity in ENTITIES})
SHAPES = {
    "stove_1": Footprint(-0.1, 0.2, 0.3, 0.4, 0.0, 0.05),
    "bowl_1": Footprint(-0.5, -0.04, -0.42, 0.04, 0.0, 0.05),
    "pot_1": Footprint(0.6, 0.6, 0.7, 0.74, 0.0, 0.1),
}
LAYOUT = Layout(SHAPES, {}, (-0.66, 0.0), 50)


def on(*things, side="front"):
    return [Predicate("on", (thing, f"main_table_stove_1_{side}")) for thing in things]


@pytest.mark.parametrize(
    ("side", "ranges"),
    [
        ("front", (0.32, 0.25, 0.42, 0.35)),
        ("behind", (-0.22, 0.25, -0.12, 0.35)),
        ("left", (0.05, 0.08, 0.15, 0.18)),
        ("right", (0.05, 0.42, 0.15, 0.52)),
    ],
)
def test_a_box_lies_two_centimetres_beside_the_outline(side, ranges):
    (region,) = _places.added(on("bowl_1", side=side), SCENE, LAYOUT)
    assert (region.name, region.surface) == (f"main_table_stove_1_{side}", "main_table")
    assert region.ranges == pytest.approx(ranges, abs=1e-12)


def test_corners_are_rounded_to_a_tenth_of_a_millimetre():
    shapes = {**SHAPES, "stove_1": Footprint(0.0, 0.0, 0.123456, 0.1, 0.0, 0.05)}
    (region,) = _places.added(on("bowl_1"), SCENE, Layout(shapes, {}, (0, 0), 50))
    assert region.ranges == (0.1435, 0.0, 0.2435, 0.1)


def test_two_things_get_a_larger_box_and_two_wide_ones_a_larger_one_still():
    wide = {**SHAPES, "bowl_1": Footprint(0.0, 0.0, 0.1, 0.11, 0.0, 0.1)}
    for shapes, half in ((SHAPES, 0.08), (wide, 0.10)):
        (region,) = _places.added(on("bowl_1", "pot_1"), SCENE, Layout(shapes, {}, (0, 0), 50))
        assert region.ranges[2] - region.ranges[0] == pytest.approx(2 * half)
        assert region.ranges[0] == pytest.approx(0.32)  # the gap stays


def test_boxes_are_made_only_for_names_that_spell_one():
    literals = [
        Predicate("on", ("bowl_1", "stove_1_cook_region")),
        Predicate("on", ("bowl_1", "main_table_spot_region")),
        Predicate("on", ("bowl_1", "main_table_oven_1_left")),
        Predicate("in", ("bowl_1", "main_table_stove_1_left")),
    ]
    assert _places.added(literals, SCENE, LAYOUT) == ()


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("main_table_stove_1_left", ("main_table", "stove_1", "left")),
        ("main_table_bowl_1_behind", ("main_table", "bowl_1", "behind")),
        ("main_table_stove_1_above", None),
        ("main_table_stove_1", None),
        ("table_stove_1_left", None),
        ("main_table_main_table_left", None),
        ("main_table_stove_1_cook_region_left", None),
        ("stove_1_left", None),
    ],
)
def test_a_name_spells_surface_thing_and_side(name, parts):
    assert _places.spelled(name, SCENE) == parts


def test_a_site_is_as_high_as_what_carries_it_and_a_zone_is_flat():
    heights = {
        name: _places.step(Predicate("on", ("bowl_1", name)), SCENE, LAYOUT)
        for name in ("stove_1_cook_region", "main_table_spot_region", "pot_1", "main_table_stove_1_left")
    }
    assert heights == {
        "stove_1_cook_region": 0.05,
        "main_table_spot_region": 0.0,
        "pot_1": 0.1,
        "main_table_stove_1_left": 0.0,
    }

"""LIBERO's files, read as scenes and tasks."""

import dataclasses

import pytest

from gym_grounding import manifest
from gym_grounding.adapters.libero import definitions as libero
from gym_grounding.adapters.libero import facts
from gym_grounding.errors import MissingSource, RegistryError, UnknownName
from gym_grounding.types import Predicate, Region
from gym_grounding.variants import definitions
from gym_grounding.variants.language import lexicon

DEFINED = definitions.load()
SCENES = {
    "LiberoGoal-T0": "048965e1745b",
    "LiberoGoal-T9": "048965e1745b",
    "LiberoSpatial-T0": "594ccd9493ea",
    "LiberoSpatial-T9": "594ccd9493ea",
    "LiberoObject-T0": "436a4dcf2a5b",
    "LiberoObject-T9": "bffd71f79f52",
    "LiberoLong-T0": "b74f402b3557",
    "LiberoLong-T1": "b74f402b3557",
    "LiberoLong-T2": "7c996a18ce87",
    "LiberoLong-T9": "0fb43dd22d51",
}
GOAL_GRADE = {
    "main_table_stove_front_region": (0.04, 0.04),
    "study_table_desk_caddy_right_region": (0.05, 0.05),
    "living_room_table_plate_left_region": (0.05, 0.05),
    "living_room_table_plate_right_region": (0.05, 0.05),
    "kitchen_table_porcelain_mug_front_region": (0.05, 0.05),
}


def file_of(task_id):
    task = DEFINED.task(task_id)
    return libero.tasks(task.source)[task.index]


def test_forty_tasks_in_twenty_one_scenes_and_in_order():
    suites = ["LiberoGoal", "LiberoSpatial", "LiberoObject", "LiberoLong"]
    assert list(DEFINED.suites) == suites
    assert list(DEFINED.tasks) == [f"{suite}-T{index}" for suite in suites for index in range(10)]
    assert len(DEFINED.scenes) == 21
    assert {task_id: DEFINED.task(task_id).scene for task_id in SCENES} == SCENES
    assert [task.index for task in DEFINED.tasks_of("LiberoLong")] == list(range(10))


def test_the_goal_suite_is_as_registered():
    registered = manifest.load()
    for task in DEFINED.tasks_of("LiberoGoal"):
        assert registered.tasks[task.id] == task
    scene = DEFINED.scene_of("LiberoGoal-T0")
    assert list(registered.scene_of("LiberoGoal-T0").entities.items()) == list(scene.entities.items())


def test_canonical_text_and_file_text_are_kept_apart():
    task = DEFINED.task("LiberoGoal-T6")
    assert task.instruction == "put the cream cheese in the bowl"
    assert task.source_instruction == "put the cream cheese on the bowl"
    assert task.goal.id == "on(cream_cheese_1, akita_black_bowl_1)"
    assert task.checksums["bddl"].startswith("81c54eace32b92466598")
    assert task.init_states == 50
    facts.verify(task)


def test_entities_follow_the_file_and_the_lexicon():
    scene = DEFINED.scene_of("LiberoLong-T3")
    assert list(scene.entities)[:5] == [
        "akita_black_bowl_1",
        "wine_bottle_1",
        "kitchen_table",
        "white_cabinet_1",
        "wine_rack_1",
    ]
    drawer = scene.entities["white_cabinet_1_bottom_region"]
    assert (drawer.kind, drawer.category, drawer.joints) == ("site", "white_cabinet_1", 1)
    assert drawer.supports == {"in.reference", "open", "close"}
    assert [entity.name for entity in scene.of_kind("surface")] == ["kitchen_table"]
    assert "oven" in scene.background
    assert DEFINED.background(scene.id) == scene.background


def test_regions_of_absent_things_are_left_out():
    assert not [name for name in DEFINED.scene_of("LiberoGoal-T0").entities if "drainer" in name]
    assert sorted(file_of("LiberoGoal-T0").scene.stale) == ["bowl_drainer_1_left_region", "bowl_drainer_1_right_region"]


def test_only_large_zones_serve_as_goals():
    zones = [(scene, zone) for scene in DEFINED.scenes.values() for zone in scene.of_kind("zone")]
    found = {
        zone.name: DEFINED.half_sizes(scene.id)[zone.name] for scene, zone in zones if "on.reference" in zone.supports
    }
    assert found == GOAL_GRADE
    assert DEFINED.half_sizes("f5066090b530")["living_room_table_plate_left_region"] == (0.025, 0.025)


@pytest.mark.parametrize(
    ("task_id", "sides"),
    [
        ("LiberoLong-T4", {"plate_1": "left plate", "plate_2": "right plate"}),
        ("LiberoLong-T8", {"moka_pot_1": "right moka pot", "moka_pot_2": "left moka pot"}),
        ("LiberoSpatial-T0", {}),
    ],
)
def test_two_of_a_kind_are_told_apart_by_side_where_they_always_stand_so(task_id, sides):
    objects = DEFINED.scene_of(task_id).of_kind("object")
    found = {entity.name: name for entity in objects for name in entity.names if name.split()[0] in ("left", "right")}
    assert found == sides


def test_a_scene_id_follows_content_and_not_stale_regions():
    scene = file_of("LiberoGoal-T0").scene
    assert dataclasses.replace(scene, stale=()).id == scene.id
    ranges = {**scene.ranges, "main_table_plate_region": ((0.04, -0.03, 0.06, -0.02),)}
    assert dataclasses.replace(scene, ranges=ranges).id != scene.id
    assert dataclasses.replace(scene, problem="libero_floor_manipulation").id != scene.id


def test_what_was_demonstrated_is_said_by_kinds():
    keys = DEFINED.demonstrated
    assert ("on", "akita_black_bowl", "flat_stove/cook_region") in keys
    assert ("on", "plate", "stove_front_region") in keys
    assert ("close", "", "cabinet/bottom_region") in keys
    assert ("on", "white_bowl", "plate") in keys  # LIBERO-90 alone
    assert ("on", "wine_bottle", "flat_stove/cook_region") not in keys
    for task in DEFINED.tasks.values():
        assert {DEFINED.literal_key(literal, task.scene) for literal in task.goal.all_of} <= keys


def test_keys_of_literals():
    scene = DEFINED.task("LiberoSpatial-T4").scene
    wooden = Predicate("in", ("akita_black_bowl_1", "wooden_cabinet_1_top_region"))
    assert DEFINED.literal_key(wooden, scene) == ("in", "akita_black_bowl", "cabinet/top_region")
    added = Region("main_table_plate_1_right", "main_table", (0.0, 0.0, 0.1, 0.1))
    beside = Predicate("on", ("cookies_1", added.name))
    assert DEFINED.literal_key(beside, scene) == ("on", "cookies", "")
    assert DEFINED.literal_key(Predicate("lifted", ("plate_1",)), scene) == ("lifted", "plate", "")
    turned = Predicate("turnon", ("flat_stove_1",))
    assert DEFINED.literal_key(turned, scene) == ("turnon", "", "flat_stove")


def test_unknown_names_are_answered_with_the_nearest():
    with pytest.raises(UnknownName, match=r"No task 'LiberoGoal-T10'\. Did you mean 'LiberoGoal-T1'"):
        DEFINED.scene_of("LiberoGoal-T10")
    with pytest.raises(UnknownName, match="No suite 'Goal'"):
        DEFINED.tasks_of("Goal")


def test_a_category_or_part_that_the_lexicon_lacks_is_named(monkeypatch):
    known = dict(lexicon.CATEGORIES)
    monkeypatch.setattr(lexicon, "CATEGORIES", {name: one for name, one in known.items() if name != "plate"})
    with pytest.raises(RegistryError, match="Scene 048965e1745b: plate_1: lexicon: No category 'plate'"):
        definitions.load.__wrapped__()
    known["flat_stove"] = dataclasses.replace(known["flat_stove"], parts={})
    monkeypatch.setattr(lexicon, "CATEGORIES", known)
    with pytest.raises(RegistryError, match="flat_stove_1_cook_region: the lexicon's flat_stove has no part"):
        definitions.load.__wrapped__()


def test_missing_files_say_how_to_install_them(monkeypatch, tmp_path):
    task = file_of("LiberoGoal-T0")
    monkeypatch.setattr(facts, "root", lambda: tmp_path)
    with pytest.raises(MissingSource, match=r"open_the_middle_drawer.*cannot be read.*pip install"):
        task.checksums()
    with pytest.raises(MissingSource, match=r"holds no array 'states'.*pip install"):
        task.init_states()
    with pytest.raises(MissingSource, match=r"libero_goal task 0: .* is absent. Run: pip install"):
        libero.tasks.__wrapped__("libero_goal")

"""What is said of one variant, and its picture."""

from dataclasses import replace

import numpy as np
import pytest

from gym_grounding import adapters, conditions
from gym_grounding import manifest as manifests
from gym_grounding.errors import InvalidOption, MissingRenderer, UnknownName
from gym_grounding.types import Absent
from gym_grounding.variants import _pictures, show
from gym_grounding.variants._pictures import Picture

CERTIFICATE = {
    "support": "added_region",
    "demonstrated": "object",
    "on_path": False,
    "trained_goal_of": (),
    "movable_reference": "chest_1",
    "true_initially": {"raw": 1, "settled": 0, "tolerant": 2, "of": 5},
    "witness": {"found": True, "placement": "as_is +0.005", "state": 3, "original_true": False},
}


def with_details(manifest, name, **details):
    row = replace(manifest.variants[name], details=manifest.variants[name].details | details)
    return replace(manifest, variants={**manifest.variants, name: row})


def facts(manifest, name):
    found = {}
    for label, value in show.describe(manifest, name).facts:
        found.setdefault(label, []).append(value)
    return found


def test_every_variant_of_both_registries_can_be_described(toy):
    for manifest in (toy, manifests.load()):
        for name, variant in manifest.variants.items():
            text = show.as_text(show.describe(manifest, name))
            assert text.splitlines()[0] == name
            assert variant.instruction in text
            assert max(len(line) for line in text.splitlines()) <= show.WIDTH + 30
            assert "None" not in text


def test_the_facts_of_a_contrast(toy):
    found = facts(toy, "Toy-T1-ContrastRelation1")
    assert found["task"] == ["Toy-T1: put the block on the chest"]
    assert found["slot"] == ["relation"]
    assert found["tier"] == ["strict"]
    assert found["changed"] == ["'on' to 'behind'"]
    assert found["original goal"] == ["on(block_1, chest_1_top_side)"]
    assert found["goal"] == ["on(block_1, toy_table_chest_1_behind)"]
    assert found["region"] == [
        "toy_table_chest_1_behind: x -0.02 to 0.08 m, y -0.31 to -0.21 m from the centre of toy_table"
    ]
    assert found["scored by"] == ["the target goal, which must hold after some step"]


@pytest.mark.parametrize(
    ("name", "scored"),
    [
        ("Toy-T0-Original", "the original goal, which must hold after some step"),
        ("Toy-T0-ContrastAction1", "the target goal, which must hold after the last step"),
        ("Toy-T0-CollisionObject1", "nothing; behaviour is described"),
        ("Toy-T2-Reverse1", "the target goal, which must hold after some step"),
        (
            "Toy-T2-Reverse2",
            "nothing; it asks for what is so already, and who reaches the opposite goal has not listened",
        ),
    ],
)
def test_who_scores(toy, name, scored):
    assert facts(toy, name)["scored by"] == [scored]


def test_the_facts_of_controls(toy):
    assert facts(toy, "Toy-T0-Swap1")["instruction of"] == ["Toy-T1"]
    assert facts(toy, "Toy-T0-Noise2")["errors"] == ["2"]
    assert facts(toy, "Toy-T2-Reverse1")["preset joint"] == ["lamp_1 at 1"]
    assert facts(toy, "Toy-T2-Reverse1")["goal"] == ["turnoff(lamp_1)"]
    assert "goal" not in facts(toy, "Toy-T2-Reverse2")
    assert facts(toy, "Toy-T2-Reverse2")["opposite goal"] == ["turnoff(lamp_1)"]
    assert "(the empty instruction)" in show.as_text(show.describe(toy, "Toy-T0-Null"))


def test_an_override_by_a_person_is_told(toy):
    changed = with_details(toy, "Toy-T0-Paraphrase1", audit="manual", audit_reason="read by two people", also=("x",))
    found = facts(changed, "Toy-T0-Paraphrase1")
    assert found["audit"] == ["manual"]
    assert found["audit reason"] == ["read by two people"]
    assert found["kind"] == ["verb_synonym, x"]


def test_the_certificate_in_words(toy):
    changed = with_details(toy, "Toy-T1-ContrastRelation1", certificate=CERTIFICATE)
    evidence = show.describe(changed, "Toy-T1-ContrastRelation1").evidence
    lines = {line.partition(":")[0]: line for line in evidence}
    assert list(lines) == [
        "support", "true_initially", "witness", "on_path", "demonstrated", "trained_goal_of", "movable_reference",
    ]  # fmt: skip
    assert "on a box that the variant adds" in lines["support"]
    assert (
        "of 5 initial states: 1 right after setting the state, 0 after settling, 2 read with tolerance"
        in (lines["true_initially"])
    )
    assert "in initial state 3 (as_is +0.005); the original goal is false there" in lines["witness"]
    assert "does not pass through" in lines["on_path"]
    assert "chest_1 can be moved" in lines["movable_reference"]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("on_path", True, "passes through this goal"),
        ("trained_goal_of", ("Toy-T4", "Toy-T5"), "Toy-T4, Toy-T5"),
        ("witness", {"found": False}, "no state with the goal true was found"),
        ("witness", {"found": True, "original_true": True}, "the original goal is true there"),
        ("demonstrated", "pair", "together with this target"),
        ("support", "reversed", "the state in which the thing is found"),
    ],
)
def test_the_certificate_says_what_it_holds(toy, field, value, words):
    changed = with_details(toy, "Toy-T1-ContrastRelation1", certificate=CERTIFICATE | {field: value})
    assert any(words in line for line in show.describe(changed, "Toy-T1-ContrastRelation1").evidence)


@pytest.mark.parametrize(
    ("absent", "words"),
    [
        ({"kind": "entity", "noun": "kettle", "trained_noun": True}, "'kettle' occurs in the suite's own"),
        ({"kind": "entity", "noun": "kettle", "trained_noun": False}, "'kettle' occurs in none of the suite's own"),
        ({"kind": "impossible", "shown": {"tried": 90, "clearance": 0.01, "extent": 0.05}}, "90 placements were tried"),
        ({"kind": "referent", "shown": {"in_states": 0, "of": 50}}, "in 0 of 50 settled initial states"),
        ({"kind": "value"}, "nothing in the scene has that attribute"),
    ],
)
def test_absence_in_words(toy, absent, words):
    changed = with_details(toy, "Toy-T0-CollisionObject1", absent=absent)
    assert any(words in line for line in show.describe(changed, "Toy-T0-CollisionObject1").evidence)


def test_siblings_are_the_rest_of_the_task_and_condition(toy):
    found = show.describe(toy, "Toy-T0-ContrastObject1")
    assert [row.id for row in found.siblings] == ["Toy-T0-ContrastAction1", "Toy-T0-ContrastTarget1"]
    assert "Toy-T0-ContrastTarget1: put the block on the chest" in show.as_text(found)


def test_refused_sentences_are_those_of_the_cell(toy):
    rows = (
        Absent("Toy-T0", "contrast", "object", "no_place", "too far", "put the lamp on the tray"),
        Absent("Toy-T0", "contrast", "target", "no_place", "too far", "put the block on the lamp"),
        Absent("Toy-T0", "contrast", "object", "nothing"),
    )
    found = show.describe(replace(toy, absent=rows), "Toy-T0-ContrastObject1")
    assert found.refused == rows[:1]
    assert "put the lamp on the tray: no_place, too far" in show.as_text(found)


def test_environment_ids_are_understood(toy):
    plain = show.describe(toy, "Toy-T0-Original")
    assert show.describe(toy, "Grounding/Toy-T0-Original-v0") == plain
    assert show.describe(toy, "gym_grounding:Grounding/Toy-T0-Original-v0") == plain
    with pytest.raises(UnknownName, match="Did you mean 'Toy-T0-Original'"):
        show.describe(toy, "Toy-T0-Orignal")


def test_every_condition_says_what_it_is():
    for name in conditions.names():
        words = show.about(name)
        assert len(words) > 20
        assert not words.endswith(".")


def test_the_toy_picture_is_the_toys_own(toy, tmp_path):
    from matplotlib import image

    path = tmp_path / "picture.png"
    assert show.picture(toy, "Toy-T1-ContrastRelation1", path, init_state=2, size=64) == ()
    ((_, drawn),) = _pictures.settled(toy, [toy.tasks["Toy-T1"]], 64, 2)
    assert np.array_equal((image.imread(path)[..., :3] * 255).round().astype(int), drawn.pixels)
    ((_, other),) = _pictures.settled(toy, [toy.tasks["Toy-T1"]], 64, 3)
    assert not np.array_equal(drawn.pixels, other.pixels)
    with pytest.raises(InvalidOption, match="init_state 9"):
        show.picture(toy, "Toy-T1-ContrastRelation1", path, init_state=9)


class Opened:
    """An adapter whose scenes note what is asked of them."""

    def __init__(self, outlines):
        self.log, self.outlines = [], outlines

    def clear(self):
        self.log.append(("clear",))

    def open(self, scene, tasks, settings):
        self.log.append(("open", scene.id, tuple(tasks), settings.observation, settings.image_size))
        return Noted(self.log, self.outlines)


class Noted:
    def __init__(self, log, outlines):
        self.log, self.size = log, 40
        if outlines:
            self.outline = lambda region: np.array([[4.0, 4.0], [20.0, 4.0], [20.0, 20.0], [4.0, 20.0]])

    def reset(self, *start):
        self.log.append(("reset", *[getattr(part, "id", part) for part in start]))

    def render(self):
        return np.full((self.size, self.size, 3), 200, np.uint8)

    def close(self):
        self.log.append(("close",))


@pytest.fixture
def noted(monkeypatch):
    def install(outlines=True):
        adapter = Opened(outlines)
        monkeypatch.setattr(adapters, "get", lambda name: adapter)
        return adapter

    return install


def test_a_scene_is_opened_once_for_its_tasks(toy, noted):
    adapter = noted()
    found = dict(_pictures.settled(toy, toy.suite_tasks("Toy"), 40))
    assert list(found) == list(toy.tasks)
    scenes = list(toy.scenes)
    members = [tuple(task.id for task in toy.scene_tasks(scene)) for scene in scenes]
    opened = [("open", scene, tasks, "pixels", 40) for scene, tasks in zip(scenes, members, strict=True)]
    resets = [[("reset", task, 0) for task in tasks] for tasks in members]
    end = [("close",), ("clear",)]
    assert adapter.log == [opened[0], *resets[0], *end, opened[1], *resets[1], *end]


def test_a_scene_is_closed_when_drawing_stops(toy, noted):
    adapter = noted()
    drawing = _pictures.settled(toy, toy.suite_tasks("Toy"), 40)
    next(drawing)
    drawing.close()
    assert adapter.log[-1] == ("close",)


def test_preset_joints_are_set_for_their_variant_alone(toy, noted):
    adapter = noted()
    variant = toy.variants["Toy-T2-Reverse1"]
    list(_pictures.settled(toy, [toy.tasks["Toy-T2"]], 40, 1, variant))
    list(_pictures.settled(toy, [toy.tasks["Toy-T2"]], 40, 1))
    resets = [entry for entry in adapter.log if entry[0] == "reset"]
    assert resets == [("reset", "Toy-T2", 1, {"lamp_1": 1.0}), ("reset", "Toy-T2", 1)]


def test_regions_are_marked_in_the_picture(toy, noted, tmp_path):
    from matplotlib import image

    noted()
    path = tmp_path / "picture.png"
    assert show.picture(toy, "Toy-T1-ContrastRelation1", path) == ("toy_table_chest_1_behind",)
    pixels = (image.imread(path)[..., :3] * 255).round().astype(int)
    assert pixels[2, 2].tolist() == pixels[30, 30].tolist() == [200, 200, 200]
    assert pixels[4, 10].tolist() == list(_pictures.GREEN)
    inside = pixels[12, 12].tolist()
    assert inside == [round(200 * 0.7 + one * 0.3) for one in _pictures.GREEN]
    assert show.picture(toy, "Toy-T1-ContrastTarget1", path) == ()
    assert (image.imread(path)[..., :3] * 255).round().astype(int).min() == 200


def test_all_regions_of_a_task_without_a_variant(toy, noted):
    noted()
    found = dict(_pictures.settled(toy, toy.suite_tasks("Toy"), 40))
    assert {task: list(one.regions) for task, one in found.items() if one.regions} == {
        "Toy-T1": ["toy_table_chest_1_behind"]
    }


def test_an_adapter_that_cannot_outline_marks_nothing(toy, noted):
    noted(outlines=False)
    assert all(not one.regions for _, one in _pictures.settled(toy, toy.suite_tasks("Toy"), 40))


@pytest.mark.parametrize("turned", [False, True])
def test_marking_follows_a_slanted_outline(turned):
    corners = np.array([[10.0, 10.0], [40.0, 10.0], [50.0, 50.0], [20.0, 50.0]])
    picture = Picture(np.zeros((64, 64, 3), np.uint8), {"one": corners[::-1] if turned else corners})
    marked = _pictures.marked(picture)[..., 1] > 0
    assert marked[30, 30]
    assert not marked[30, 12]
    assert not marked[30, 47]
    assert marked[12, 12]
    assert not marked[48, 12]
    assert abs(marked.sum() - 30 * 40) < 60


@pytest.mark.sim
@pytest.mark.gl
@pytest.mark.slow
def test_a_libero_scene_is_drawn_upright_with_the_region_beside_the_plate(tmp_path):
    from matplotlib import image

    manifest = manifests.load()
    path = tmp_path / "picture.png"
    name = "LiberoGoal-T8-ContrastRelation1"
    goal = manifest.variant(name).goal
    assert show.picture(manifest, name, path, size=192) == tuple(region.name for region in goal.regions)
    marked = image.imread(path)[..., :3]
    ((_, plain),) = _pictures.settled(manifest, [manifest.task("LiberoGoal-T8")], 192)
    changed = np.abs(marked * 255 - plain.pixels).max(axis=2) > 8
    rows, columns = np.nonzero(changed)
    assert 100 < changed.sum() < 3000
    assert (rows.mean() > 96, columns.mean() > 96) == (True, True)
    warmth = marked[..., 0] - marked[..., 2]  # a wooden table below a grey wall
    assert warmth[-40:].mean() > warmth[:40].mean() + 0.1


def test_without_gl_the_message_says_what_to_install(toy, monkeypatch, tmp_path):
    monkeypatch.setenv("MUJOCO_GL", "disable")
    manifest = manifests.load()
    from gym_grounding.adapters.libero import install

    monkeypatch.setattr(install, "_loaded", None)
    with pytest.raises(MissingRenderer, match="MUJOCO_GL"):
        show.picture(manifest, next(iter(manifest.variants)), tmp_path / "picture.png")
    assert list(tmp_path.iterdir()) == []

"""Registries that are loaded: what was read, looked up, selected; and which file it comes from."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest
from mini_registry import COLLISION, PARAPHRASE, TARGET, dumped, mini, parsed, put, refusals

from gym_grounding import manifest
from gym_grounding.errors import RegistryError, UnknownName
from gym_grounding.manifest import _load
from gym_grounding.types import Goal, Predicate, Region

TOY = Path(manifest.__file__).parent.parent / "testing" / "toy_registry.yaml"


def test_the_small_registry_is_sound() -> None:
    book = parsed(mini())
    assert list(book.tasks) == ["Mini-T0", "Mini-T1", "Mini-T2", "Mini-T3"]
    assert len(book.variants) == 10
    row = book.variant("Mini-T0-ContrastRelation1")
    region = Region("desk_shelf_1_left", "desk", (-0.3, -0.1, -0.2, 0.0))
    assert row.goal == Goal((Predicate("on", ("cup_1", "desk_shelf_1_left")),), (region,))
    assert (row.slot, row.number, row.tier, row.judged) == ("relation", 1, "strict", "ever")
    assert book.variant("Mini-T0-ContrastAction1").judged == "end"
    assert book.variant("Mini-T0-ContrastTarget1").details["changed"] == {"from": "shelf", "to": "pear"}
    assert book.task("Mini-T2").slots.object == "lamp"
    assert book.task("Mini-T2").slots.target is None
    assert book.task("Mini-T0").source_instruction == "put the cup on the shelf"
    assert [(row.reason, row.instruction) for row in book.absent] == [
        ("already_true", "turn off the lamp"),
        ("frame_has_no_target", None),
    ]
    assert book.settle == 10


def test_all_problems_are_reported_at_once() -> None:
    data = mini()
    put(data, "tasks.2.goal", [["turnon", "lamp_2"]])
    put(data, f"{TARGET}.tier", ...)
    put(data, f"{COLLISION}.slot", "verb")
    put(data, f"{PARAPHRASE}.instruction", "Place the cup.")
    found = refusals(data)
    places = {line.split(": ")[1] for line in found}
    assert places == {"Mini-T2", "Mini-T0-ContrastTarget1", "Mini-T0-CollisionObject1", "Mini-T0-Paraphrase1"}
    with pytest.raises(RegistryError, match=rf"mini\.yaml: {len(found)} problems"):
        parsed(data)


@pytest.mark.parametrize("name", ["nowhere.yaml", "", "a\0b"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(RegistryError, match=r"cannot be read \(.*\); name a registry file"):
        manifest.load(tmp_path / name)
    assert len(manifest.problems(tmp_path / name)) == 1


def test_files_are_loaded_once_and_again_when_they_change(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_bytes(dumped(mini()))
    first = manifest.load(path)
    assert manifest.load(str(path)) is first
    assert first.path == str(path)
    assert manifest.problems(path) == ()
    path.write_bytes(path.read_bytes().replace(b"init_states: 3", b"init_states: 4"))
    second = manifest.load(path)
    assert second.task("Mini-T0").init_states == 4
    assert second.sha256 != first.sha256


def test_the_message_of_a_file_names_its_path(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_bytes(dumped(mini() | {"format": 9}))
    assert manifest.problems(path) == (f"{path}: format: is 9; this version reads format 1",)


def test_errors_survive_a_process_border() -> None:
    error = RegistryError("all", ["one", "two"])
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own bytes
    assert (str(again), again.problems) == ("all", ("one", "two"))
    assert RegistryError("alone").problems == ("alone",)


def test_a_manifest_survives_a_process_border() -> None:
    book = parsed(mini())
    assert pickle.loads(pickle.dumps(book)) == book  # noqa: S301  # our own bytes


def test_lookups() -> None:
    book = parsed(mini())
    assert book.scene_of("Mini-T3").id == "bbbb"
    assert book.adapter_name("Mini-T0") == "toy"
    assert [row.id for row in book.suite_tasks("Mini")] == ["Mini-T0", "Mini-T1", "Mini-T2", "Mini-T3"]
    assert [row.id for row in book.scene_tasks("aaaa")] == ["Mini-T0", "Mini-T1", "Mini-T2"]
    for look, name, message in (
        (book.task, "Mini-T7", "No task 'Mini-T7'"),
        (book.variant, "Mini-T0-Orginal", "Did you mean 'Mini-T0-Original'"),
        (book.scene_of, "x", "No task 'x'"),
        (book.adapter_name, "x", "No task 'x'"),
        (book.suite_tasks, "mini", "Did you mean 'Mini'"),
        (book.scene_tasks, "x", "No scene 'x'"),
        (book.goals, "x", "No variant 'x'"),
    ):
        with pytest.raises(UnknownName, match=message):
            look(name)


def test_suite_tasks_are_in_order_of_their_index() -> None:
    data = mini()
    data["tasks"].reverse()
    assert [row.index for row in parsed(data).suite_tasks("Mini")] == [0, 1, 2, 3]


def test_selection() -> None:
    book = parsed(mini())

    def ends(**filters: Any) -> list[str]:
        return [row.id.removeprefix("Mini-") for row in book.select(**filters)]

    assert len(ends()) == len(ends(suite="Mini")) == 10
    assert ends(tasks=["Mini-T1", "Mini-T2"]) == ["T1-Original", "T2-Original"]
    assert ends(conditions=["paraphrase"]) == ["T0-Paraphrase1", "T0-Paraphrase2"]
    assert ends(conditions=["contrast"], tiers=["strict"]) == ["T0-ContrastRelation1", "T0-ContrastTarget1"]
    assert ends(conditions=["contrast", "collision"], slots=["object", "target"]) == [
        "T0-ContrastTarget1",
        "T0-CollisionObject1",
    ]
    assert "T0-Original" in ends(slots=["object"], tiers=["strict"])
    assert ends(tasks=[]) == []
    for filters, message in (
        ({"suite": "Mimi"}, "No suite 'Mimi'"),
        ({"tasks": ["Mini-T9"]}, "No task 'Mini-T9'"),
        ({"conditions": ["contrasts"]}, "Did you mean 'contrast'"),
        ({"slots": ["verb"]}, "No slot 'verb'"),
        ({"tiers": ["lax"]}, "No tier 'lax'"),
    ):
        with pytest.raises(UnknownName, match=message):
            ends(**filters)


def test_goals_are_labelled_and_never_repeated() -> None:
    book = parsed(mini())
    goals = book.goals("Mini-T0-Original")
    assert list(goals) == ["original", "Mini-T1", "Mini-T2"]
    assert goals["original"] == book.task("Mini-T0").goal
    goals = book.goals("Mini-T0-ContrastTarget1")  # asks for the goal of T1
    assert list(goals) == ["original", "target", "Mini-T2"]
    assert goals["target"] == book.task("Mini-T1").goal
    assert list(book.goals("Mini-T3-Original")) == ["original"]
    assert list(book.goals("Mini-T0-CollisionObject1")) == ["original", "Mini-T1", "Mini-T2"]


def test_the_shipped_file_is_found_in_a_wheel_and_in_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "gym_grounding"
    (package / "manifest").mkdir(parents=True)
    monkeypatch.setattr(_load, "__file__", str(package / "manifest" / "_load.py"))
    with pytest.raises(RegistryError, match="the shipped registry is missing; reinstall gym-grounding"):
        manifest.default_path()
    stray = package.parent / "registry.yaml"
    stray.touch()
    with pytest.raises(RegistryError, match="missing"):  # no project file: somebody else's
        manifest.default_path()
    project = package.parent / "pyproject.toml"
    project.write_text('[project]\nname = "other"\n')
    with pytest.raises(RegistryError, match="missing"):
        manifest.default_path()
    project.write_text('[project]\nname = "gym-grounding"\n')
    assert manifest.default_path() == stray
    inside = package / "registry.yaml"
    inside.touch()
    assert manifest.default_path() == inside


def test_the_toy_registry_is_sound() -> None:
    assert manifest.problems(TOY) == ()

"""The shipped table itself: complete, consistent, and true to LIBERO's own files."""

from __future__ import annotations

import hashlib
import importlib.util
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from gym_grounding import conditions, manifest
from gym_grounding.manifest import Manifest, _source
from gym_grounding.types import SLOTS, Goal, Predicate, Task, Variant

ORDER = ("original", "paraphrase", "contrast", "collision")
GOAL = "LiberoGoal"


@pytest.fixture(scope="module")
def book() -> Manifest:
    """The shipped registry."""
    return manifest.load()


@pytest.fixture(scope="module")
def goal_rows(book: Manifest) -> tuple[Variant, ...]:
    """All variants of LIBERO-Goal."""
    return book.select(suite=GOAL)


def by_slot(rows: tuple[Variant, ...]) -> tuple[int, ...]:
    """Number of variants per slot, in the order of ``SLOTS``."""
    count = Counter(row.slot for row in rows)
    return tuple(count[slot] for slot in SLOTS)


def literal(text: str) -> Predicate:
    """``on(a, b)`` as a predicate."""
    name, arguments = re.fullmatch(r"(\w+)\((.*)\)", text).groups()  # type: ignore[union-attr]
    return Predicate(name, tuple(arguments.split(", ")))


def test_nothing_is_wrong_with_it() -> None:
    assert manifest.problems() == ()


def test_numbers_of_variants(book: Manifest, goal_rows: tuple[Variant, ...]) -> None:
    assert len(book.suite_tasks(GOAL)) == 10
    assert Counter(row.condition for row in goal_rows) == {
        "original": 10,
        "paraphrase": 50,
        "contrast": 35,
        "collision": 26,
    }
    assert by_slot(book.select(suite=GOAL, conditions=["contrast"], tiers=["strict"])) == (0, 8, 6, 7, 2)
    assert by_slot(book.select(suite=GOAL, conditions=["contrast"], tiers=["permissive"])) == (10, 0, 2, 0, 0)
    assert by_slot(book.select(suite=GOAL, conditions=["collision"])) == (2, 10, 4, 8, 2)


def test_the_file_states_how_it_differs_from_the_paper(goal_rows: tuple[Variant, ...]) -> None:
    paper = yaml.safe_load(manifest.default_path().read_text("utf-8"))["counts"][GOAL]["paper"]
    assert tuple(paper["contrast"][slot] for slot in SLOTS) == (10, 8, 8, 8, 0)
    ours = by_slot(tuple(row for row in goal_rows if row.condition == "contrast"))
    assert ours == (10, 8, 8, 7, 2)
    for words in ("paper counts 34", "this file 35: 23 strict and 12 permissive", "Targets are 7", "attributes are 2"):
        assert words in " ".join(paper["note"].split())


def test_every_cell_has_a_variant_or_a_reason(book: Manifest) -> None:
    cells = 0
    for task in book.suite_tasks(GOAL):
        for name in ORDER:
            condition = conditions.get(name)
            for slot in SLOTS if condition.has_slot else (None,):
                cells += condition.per_task
                have = [row for row in book.select(tasks=[task.id], conditions=[name]) if row.slot == slot]
                why = [row for row in book.absent if (row.task, row.condition, row.slot) == (task.id, name, slot)]
                assert len(have) <= condition.per_task
                assert len(have) == condition.per_task or why, (task.id, name, slot)
    assert cells == 160


def test_every_condition_is_used_and_named(goal_rows: tuple[Variant, ...]) -> None:
    assert {row.condition for row in goal_rows} == set(conditions.names()) == set(ORDER)


def test_rows_are_in_order(book: Manifest, goal_rows: tuple[Variant, ...]) -> None:
    def key(row: Variant) -> tuple[int, int, int, int]:
        slot = SLOTS.index(row.slot) if row.slot else -1
        return book.task(row.task).index, ORDER.index(row.condition), slot, row.number

    assert list(goal_rows) == sorted(goal_rows, key=key)


def test_texts_are_plain_words(goal_rows: tuple[Variant, ...]) -> None:
    for row in goal_rows:  # one written form for all: a digit or a full stop alone changes behaviour
        assert re.fullmatch(r"[a-z]+(?: [a-z]+)+", row.instruction), row.id
        assert 3 <= len(row.instruction.split()) <= 40, row.id


def test_texts_reach_the_manifest_unchanged(goal_rows: tuple[Variant, ...]) -> None:
    raw = {row["id"]: row["instruction"] for row in yaml.safe_load(manifest.default_path().read_bytes())["variants"]}
    assert {
        row.id: row.instruction for row in goal_rows
    } == raw  # what a policy is told comes from the file and nowhere else
    for row in goal_rows:
        assert row.instruction_sha256 == hashlib.sha256(raw[row.id].encode()).hexdigest()


def test_no_two_texts_of_a_task_are_equal(goal_rows: tuple[Variant, ...]) -> None:
    folded = Counter((row.task, " ".join(row.instruction.casefold().split())) for row in goal_rows)
    assert max(folded.values()) == 1


def test_originals_are_the_task_names(book: Manifest) -> None:
    for row in book.select(suite=GOAL, conditions=["original"]):
        task = book.task(row.task)
        assert row.instruction == task.instruction == task.name.replace("_", " ")


def test_originals_and_paraphrases_have_no_goal_of_their_own(goal_rows: tuple[Variant, ...]) -> None:
    for row in goal_rows:
        assert (row.goal is not None) == (row.condition == "contrast"), row.id
        assert bool(row.kind) == (row.condition == "paraphrase"), row.id
        assert (row.tier is not None) == (row.condition == "contrast"), row.id


def test_paraphrases_use_several_kinds(goal_rows: tuple[Variant, ...]) -> None:
    kinds = Counter(row.kind for row in goal_rows if row.condition == "paraphrase")
    assert set(kinds) == {
        "adverbial_clause",
        "declarative",
        "fronting",
        "noun_synonym",
        "passive",
        "relative_clause",
        "request",
        "two_step",
        "verb_synonym",
    }


@pytest.mark.parametrize(
    ("name", "text", "goal"),
    [
        (
            "T1-ContrastTarget1",
            "put the bowl on top of the cabinet",
            "on(akita_black_bowl_1, wooden_cabinet_1_top_side)",
        ),
        (
            "T5-ContrastRelation1",
            "push the plate to the left of the stove",
            "on(plate_1, main_table_flat_stove_1_left)",
        ),
        ("T8-ContrastTarget1", "put the bowl on the stove", "on(akita_black_bowl_1, flat_stove_1_cook_region)"),
        ("T0-ContrastAction1", "close the middle drawer of the cabinet", "close(wooden_cabinet_1_middle_region)"),
        ("T7-ContrastAction1", "turn off the stove", "turnoff(flat_stove_1)"),
        ("T9-ContrastAction1", "pick up the wine bottle", "lifted(wine_bottle_1)"),
    ],
)
def test_some_contrasts(book: Manifest, name: str, text: str, goal: str) -> None:
    row = book.variant(f"{GOAL}-{name}")
    assert row.instruction == text
    assert row.goal is not None
    assert row.goal.all_of == (literal(goal),)


def test_goals_that_the_original_passes_through_are_judged_at_the_end(goal_rows: tuple[Variant, ...]) -> None:
    at_end = {row.id.removeprefix(f"{GOAL}-") for row in goal_rows if row.judged == "end"}
    assert at_end == {f"T{index}-ContrastAction1" for index in (1, 2, 3, 4, 5, 6, 8, 9)}


def test_trained_goals_are_marked(book: Manifest, goal_rows: tuple[Variant, ...]) -> None:
    goals = {task.goal: task.id for task in book.suite_tasks(GOAL)}
    trained = 0
    for row in goal_rows:
        if row.goal is not None:
            certificate = row.details["certificate"]
            assert isinstance(certificate, dict)
            expected = (goals[row.goal],) if row.goal in goals else ()
            assert certificate["trained_goal_of"] == expected, row.id
            trained += bool(expected) and row.tier == "strict"
    assert trained == 7


def test_nothing_is_claimed_that_was_measured_with_no_named_physics(goal_rows: tuple[Variant, ...]) -> None:
    for row in goal_rows:
        certificate = row.details.get("certificate")
        for name in ("witness", "true_initially") if isinstance(certificate, dict) else ():
            measured = certificate.get(name)  # type: ignore[union-attr]
            assert measured is None or re.match(r"mujoco \d", measured["physics"]), row.id


def test_added_regions_are_goal_grade(goal_rows: tuple[Variant, ...]) -> None:
    regions = {region for row in goal_rows if row.goal for region in row.goal.regions}
    assert len(regions) == 5
    for region in regions:
        x_min, y_min, x_max, y_max = region.ranges
        assert region.surface == "main_table"
        assert 0.08 - 1e-9 <= round(x_max - x_min, 4) <= 0.1
        assert 0.08 - 1e-9 <= round(y_max - y_min, 4) <= 0.101


def test_collisions_ask_for_something_absent(book: Manifest, goal_rows: tuple[Variant, ...]) -> None:
    kinds: Counter[str] = Counter()
    for row in goal_rows:
        if row.condition == "collision":
            absent = row.details["absent"]
            assert isinstance(absent, dict)
            kinds[absent["kind"]] += 1
            if absent["kind"] == "entity":
                assert absent["trained_noun"] is False
                assert not any(absent["noun"] in task.instruction for task in book.suite_tasks(GOAL))
    assert kinds == {"entity": 18, "affordance": 2, "impossible": 4, "value": 2}
    partly = [row.id for row in goal_rows if "satisfiable_part" in str(row.details.get("absent"))]
    assert partly == [f"{GOAL}-T3-CollisionObject1", f"{GOAL}-T3-CollisionTarget1"]


def test_goals_of_a_contrast_never_repeat_the_original(book: Manifest) -> None:
    for row in book.select(suite=GOAL, conditions=["contrast"]):
        original = book.task(row.task).goal
        assert row.goal is not None
        assert row.goal != original
        if row.tier == "strict":
            assert not set(row.goal.all_of) <= set(original.all_of)
            assert not set(row.goal.all_of) >= set(original.all_of)


def test_plain_yaml_reads_the_same_data() -> None:
    raw = manifest.default_path().read_bytes()
    assert yaml.safe_load(raw) == _source.parse(raw, "registry.yaml")


def test_the_file_is_one_field_per_line_and_has_no_dates() -> None:
    text = manifest.default_path().read_text("utf-8")
    assert not re.search(r"\b20\d\d-\d\d", text)
    assert max(map(len, text.splitlines())) <= 300
    assert "\t" not in text
    assert text.endswith("\n")


def tokens(text: str) -> list[str]:
    """The words and brackets of a BDDL file, in lower case."""
    return re.findall(r"[()]|[^\s()]+", text.lower())


def section(words: list[str], name: str) -> list[str]:
    """Words of a top section of a BDDL file, brackets included."""
    start = words.index(name)
    depth, end = 0, start
    while depth >= 0:
        depth += {"(": 1, ")": -1}.get(words[end], 0)
        end += 1
    return words[start + 1 : end - 1]


def source_file(task: Task, folder: str, ending: str) -> Path:
    """A file of the installed LIBERO, without importing it."""
    spec = importlib.util.find_spec("libero")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "libero" / folder / "libero_goal" / f"{task.name}{ending}"


@pytest.mark.sim
def test_tasks_agree_with_the_installed_files(book: Manifest) -> None:
    for task in book.suite_tasks(GOAL):
        bddl = source_file(task, "bddl_files", ".bddl")
        init = source_file(task, "init_files", ".pruned_init.npz")
        assert hashlib.sha256(bddl.read_bytes()).hexdigest() == task.checksums["bddl"]
        assert hashlib.sha256(init.read_bytes()).hexdigest() == task.checksums["init"]
        words = tokens(bddl.read_text("utf-8"))
        assert " ".join(section(words, ":language")) == task.source_instruction
        goal = " ".join(section(words, ":goal")).replace("( and", "").replace(")", "").split("(")
        literals = [part.split() for part in goal if part.strip()]
        assert Goal(tuple(Predicate(part[0], tuple(part[1:])) for part in literals)) == task.goal


@pytest.mark.sim
def test_the_scene_agrees_with_the_installed_files(book: Manifest) -> None:
    for task in book.suite_tasks(GOAL):
        scene = book.scene_of(task.id)
        words = tokens(source_file(task, "bddl_files", ".bddl").read_text("utf-8"))
        declared: dict[str, str] = {}  # "a_1 a_2 - category" lists
        for name in (":objects", ":fixtures"):
            pending: list[str] = []
            listed = iter(section(words, name))
            for word in listed:
                if word == "-":
                    category = next(listed)
                    declared |= dict.fromkeys(pending, category)
                    pending = []
                else:
                    pending.append(word)
        regions = set(re.findall(r"\( (\w+) \( :target (\w+) \)", " ".join(section(words, ":regions"))))
        live = {f"{target}_{region}": target for region, target in regions if target in declared}
        own = {entity.name: entity.category for entity in scene.entities.values()}
        assert own == declared | live
        kinds = {entity.name: entity.kind for entity in scene.entities.values()}
        objects = section(words, ":objects")
        assert {name for name, kind in kinds.items() if kind == "object"} == set(declared) & set(objects)
        assert {name for name, kind in kinds.items() if kind == "zone"} == {
            n for n, t in live.items() if t == "main_table"
        }

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
CONTROLS = ("swap", "null", "shuffled", "negated", "noise", "reverse")
GOAL = "LiberoGoal"
SUITES = ("LiberoGoal", "LiberoSpatial", "LiberoObject", "LiberoLong")
STRICT = {
    "LiberoGoal": (0, 8, 5, 7, 2),
    "LiberoSpatial": (0, 10, 9, 10, 0),
    "LiberoObject": (0, 10, 10, 0, 0),
    "LiberoLong": (0, 7, 10, 2, 5),
}
PERMISSIVE = {
    "LiberoGoal": (10, 0, 2, 0, 0),
    "LiberoSpatial": (10, 0, 0, 0, 0),
    "LiberoObject": (10, 0, 0, 0, 0),
    "LiberoLong": (3, 0, 0, 0, 0),
}
COLLISIONS = {
    "LiberoGoal": (2, 10, 2, 8, 2),
    "LiberoSpatial": (0, 10, 10, 10, 10),
    "LiberoObject": (0, 10, 0, 10, 0),
    "LiberoLong": (2, 10, 5, 10, 5),
}
"""Suite -> number of variants per slot, in the order of ``SLOTS``."""
SWAPS = {"LiberoGoal": 90, "LiberoSpatial": 9, "LiberoObject": 50, "LiberoLong": 5}
REVERSED = {"LiberoGoal": 4, "LiberoSpatial": 0, "LiberoObject": 0, "LiberoLong": 6}
KINDS = ("verb_synonym", "request", "passive", "reordering", "noun_synonym")


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


@pytest.mark.parametrize("suite", SUITES)
def test_numbers_of_variants(book: Manifest, suite: str) -> None:
    assert len(book.suite_tasks(suite)) == 10
    assert Counter(row.condition for row in book.select(suite=suite)) == Counter(
        original=10,
        paraphrase=50,
        contrast=sum(STRICT[suite]) + sum(PERMISSIVE[suite]),
        collision=sum(COLLISIONS[suite]),
        swap=SWAPS[suite],
        null=10,
        shuffled=10,
        negated=10,
        noise=20,
        **({"reverse": REVERSED[suite]} if REVERSED[suite] else {}),
    )
    assert by_slot(book.select(suite=suite, conditions=["contrast"], tiers=["strict"])) == STRICT[suite]
    assert by_slot(book.select(suite=suite, conditions=["contrast"], tiers=["permissive"])) == PERMISSIVE[suite]
    assert by_slot(book.select(suite=suite, conditions=["collision"])) == COLLISIONS[suite]


def test_the_header_carries_the_totals(book: Manifest) -> None:
    counts = yaml.safe_load(manifest.default_path().read_text("utf-8"))["counts"]
    assert set(counts) == {*SUITES, "all"}
    for name, value in counts["all"].items():
        parts = [counts[suite].get(name) for suite in SUITES]
        if name == "paper":
            continue
        if isinstance(value, dict):
            assert value == {slot: sum(part[slot] for part in parts) for slot in SLOTS}, name
        else:
            assert value == sum(parts), name
    assert counts["all"]["paper"] == {"original": 40, "paraphrase": 200, "contrast": 130, "collision": 90}
    assert tuple(counts[GOAL]["paper"]["contrast"][slot] for slot in SLOTS) == (10, 8, 8, 8, 0)
    assert counts["all"]["cells"] == 640


def test_every_one_of_the_640_cells_has_a_variant_or_a_reason(book: Manifest) -> None:
    cells = filled = 0
    for task in book.tasks.values():
        for name in ORDER:
            condition = conditions.get(name)
            for slot in SLOTS if condition.has_slot else (None,):
                cells += condition.per_task
                have = [row for row in book.select(tasks=[task.id], conditions=[name]) if row.slot == slot]
                why = [row for row in book.absent if (row.task, row.condition, row.slot) == (task.id, name, slot)]
                assert len(have) <= condition.per_task
                assert len(have) == condition.per_task or why, (task.id, name, slot)
                filled += len(have)
    assert cells == 640
    assert filled == 240 + sum(sum(sum(part) for part in table.values()) for table in (STRICT, PERMISSIVE, COLLISIONS))


def test_every_condition_is_used_and_named(book: Manifest) -> None:
    assert {row.condition for row in book.variants.values()} == {*ORDER, *CONTROLS} == set(conditions.names())


def test_rows_are_in_order(book: Manifest) -> None:
    order = (*ORDER, *CONTROLS)

    def key(row: Variant) -> tuple[int, int, int, int, int]:
        task, slot = book.task(row.task), SLOTS.index(row.slot) if row.slot else -1
        return SUITES.index(task.suite), task.index, order.index(row.condition), slot, row.number

    rows = list(book.variants.values())
    assert rows == sorted(rows, key=key)


def test_texts_are_plain_words(book: Manifest) -> None:
    for row in book.variants.values():  # one written form for all: a digit or a full stop alone changes behaviour
        if row.condition == "null":
            assert row.instruction == ""
        else:
            assert re.fullmatch(r"[a-z]+(?: [a-z]+)+", row.instruction), row.id
            assert 3 <= len(row.instruction.split()) <= 40, row.id


def test_texts_reach_the_manifest_unchanged(book: Manifest) -> None:
    raw = {row["id"]: row["instruction"] for row in yaml.safe_load(manifest.default_path().read_bytes())["variants"]}
    # What a policy is told comes from the file and nowhere else.
    assert {row.id: row.instruction for row in book.variants.values()} == raw
    for row in book.variants.values():
        assert row.instruction_sha256 == hashlib.sha256(raw[row.id].encode()).hexdigest()


def test_no_two_texts_of_a_task_are_equal(book: Manifest) -> None:
    rows = [row for row in book.variants.values() if row.condition not in ("swap", "reverse")]
    folded = Counter((row.task, " ".join(row.instruction.casefold().split())) for row in rows)
    assert max(folded.values()) == 1


def test_originals_are_the_task_names(book: Manifest) -> None:
    for row in book.select(conditions=["original"]):
        task = book.task(row.task)
        assert row.instruction == task.instruction
        assert re.sub(r"^[A-Z_]+_SCENE\d+_", "", task.name).replace("_", " ") == task.instruction


def test_only_what_asks_for_something_else_has_a_goal_of_its_own(book: Manifest) -> None:
    for row in book.variants.values():
        assert (row.goal is not None) == (row.condition in ("contrast", "swap", "reverse")), row.id
        assert bool(row.kind) == (row.condition == "paraphrase"), row.id
        assert (row.tier is not None) == (row.condition == "contrast"), row.id


def test_the_number_of_a_paraphrase_is_its_kind(book: Manifest) -> None:
    for task in book.tasks:
        rows = book.select(tasks=[task], conditions=["paraphrase"])
        assert tuple(row.kind for row in rows) == KINDS
        assert [row.number for row in rows] == [1, 2, 3, 4, 5]


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
        if row.condition == "contrast":
            assert row.goal is not None
            certificate = row.details["certificate"]
            assert isinstance(certificate, dict)
            expected = (goals[row.goal],) if row.goal in goals else ()
            assert certificate["trained_goal_of"] == expected, row.id
            trained += bool(expected) and row.tier == "strict"
    assert trained == 7


def test_what_was_measured_names_its_physics(book: Manifest) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", str(book.physics["mujoco"]))
    assert re.fullmatch(r"\d+\.\d+\.\d+", str(book.physics["robosuite"]))


def test_added_regions_are_goal_grade(book: Manifest) -> None:
    regions = {region for row in book.variants.values() if row.goal for region in row.goal.regions}
    assert len({region.surface for region in regions}) >= 4
    for region in regions:
        x_min, y_min, x_max, y_max = region.ranges
        assert region.name.startswith(f"{region.surface}_")
        side = x_max - x_min
        assert min(abs(side - known) for known in (0.1, 0.16, 0.2)) < 2e-4  # one object, two, two moka pots
        assert y_max - y_min == pytest.approx(side, abs=2e-4)


def test_collisions_ask_for_something_absent(book: Manifest) -> None:
    kinds: Counter[str] = Counter()
    for row in book.select(conditions=["collision"]):
        absent = row.details["absent"]
        assert isinstance(absent, dict)
        kinds[absent["kind"]] += 1
        if absent["kind"] == "entity":
            noun = absent["noun"].removesuffix("s")
            tasks = book.suite_tasks(book.task(row.task).suite)
            assert absent["trained_noun"] == any(noun in task.instruction for task in tasks), row.id
        if absent["kind"] == "impossible":
            assert absent["shown"]["tried"] >= 100
            assert absent["shown"]["clearance"] < absent["shown"]["extent"]
        if absent["kind"] == "referent":
            assert absent["shown"] == {"in_states": 0, "of": 50}
    assert kinds == {"entity": 78, "affordance": 4, "impossible": 7, "value": 17, "referent": 10}


def test_nouns_of_collisions_are_both_trained_and_never_trained(book: Manifest) -> None:
    trained = Counter(
        bool(row.details["absent"]["trained_noun"])  # type: ignore[index]
        for row in book.select(conditions=["collision"], slots=["object"])
    )
    assert trained[True] >= 10
    assert trained[False] >= 10


def test_strict_contrasts_are_false_at_every_start_and_have_a_witness(book: Manifest) -> None:
    for row in book.select(conditions=["contrast"]):
        certificate = row.details["certificate"]
        assert isinstance(certificate, dict)
        if row.tier == "strict":
            assert certificate["true_initially"] == {"raw": 0, "settled": 0, "tolerant": 0, "of": 50}, row.id
            assert certificate["witness"]["found"], row.id
            assert certificate["witness"]["original_true"] is False, row.id
            assert not certificate["on_path"], row.id
        else:
            assert row.tier_reason, row.id


def test_goals_of_a_contrast_never_repeat_the_original(book: Manifest) -> None:
    for row in book.select(conditions=["contrast"]):
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
    assert max(map(len, text.splitlines())) <= 360
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
    return Path(spec.submodule_search_locations[0]) / "libero" / folder / task.source / f"{task.name}{ending}"


@pytest.mark.sim
def test_tasks_agree_with_the_installed_files(book: Manifest) -> None:
    for task in book.tasks.values():
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

"""Registries broken by hand, one mistake each: every refusal names the file, the row, the field and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from mini_registry import controlled, dumped, outcome, parsed, put, refusals, variant_at

from gym_grounding import manifest
from gym_grounding.manifest import _report
from gym_grounding.testing import TOY_REGISTRY

PARAPHRASE, LIFT, RELATION, TARGET, COLLISION, SWAP, NULL, SHUFFLED, NEGATED, NOISE, UNMET, MET = map(
    variant_at,
    [
        "T0-Paraphrase1",
        "T0-ContrastAction1",
        "T0-ContrastRelation1",
        "T0-ContrastTarget1",
        "T0-CollisionObject1",
        "T0-Swap1",
        "T0-Null",
        "T0-Shuffled",
        "T0-Negated",
        "T0-Noise2",
        "T2-Reverse1",
        "T2-Reverse2",
    ],
)
PEAR = [["on", "cup_1", "pear_1"]]
SHELF = [["on", "cup_1", "shelf_1_top"]]
SHOWN = {"tried": 12, "clearance": 0.01, "extent": 0.05}

# path, value, row and field that the complaint names, and words of its remedy
BROKEN: list[tuple[str, object, str, str, str]] = [
    # what a language model gets wrong
    (f"{PARAPHRASE}.instruction", "Sure! Here is one: place the cup.", "Mini-T0-Paraphrase1", "instruction", "must be"),
    (
        f"{PARAPHRASE}.instruction",
        "sure here is a paraphrase place the cup onto the shelf",
        "Mini-T0-Paraphrase1",
        "instruction",
        "keep only what the robot is to do",
    ),
    (f"{PARAPHRASE}.instruction", "1. place the cup onto the shelf", "Mini-T0-Paraphrase1", "instruction", "a to z"),
    (f"{PARAPHRASE}.instruction", "place the\tcup onto the shelf", "Mini-T0-Paraphrase1", "instruction", "a to z"),
    (f"{PARAPHRASE}.instruction", "place the cup onto the shelf\n", "Mini-T0-Paraphrase1", "instruction", "a to z"),
    (f"{PARAPHRASE}.instruction", "place the cup onto the shelf.", "Mini-T0-Paraphrase1", "instruction", "a to z"),
    (f"{PARAPHRASE}.instruction", "place 2 cups onto the shelf", "Mini-T0-Paraphrase1", "instruction", "found '2'"),
    (f"{PARAPHRASE}.instruction", "place the cup " * 7143, "Mini-T0-Paraphrase1", "instruction", "single spaces"),
    (f"{PARAPHRASE}.instruction", "place " * 16666 + "it", "Mini-T0-Paraphrase1", "instruction", "at most 256 bytes"),
    (f"{PARAPHRASE}.instruction", "", "Mini-T0-Paraphrase1", "instruction", "must not be empty"),
    (f"{PARAPHRASE}.instruction", "place the pear onto the shelf", "Mini-T0-Paraphrase1", "instruction", "its names:"),
    (f"{PARAPHRASE}.instruction", "put a cup on the shelf", "Mini-T0-Paraphrase1", "instruction", "use other words"),
    # types
    (f"{PARAPHRASE}.instruction", 7, "Mini-T0-Paraphrase1", "instruction", "put it in quotes"),
    (f"{PARAPHRASE}.instruction", True, "Mini-T0-Paraphrase1", "instruction", "must be text"),
    (f"{PARAPHRASE}.number", "one", "Mini-T0-Paraphrase1", "number", "must be a whole number"),
    (f"{PARAPHRASE}.task", ["Mini-T0"], "Mini-T0-Paraphrase1", "task", "must be text"),
    (f"{TARGET}.goal", "on(cup_1, pear_1)", "Mini-T0-ContrastTarget1", "goal", "must be a list"),
    (f"{MET}.described", "yes", "Mini-T2-Reverse2", "described", "must be true or false"),
    (f"{UNMET}.joints", ["lamp_1"], "Mini-T2-Reverse1", "joints", "must be a mapping"),
    (f"{UNMET}.joints", {}, "Mini-T2-Reverse1", "joints", "leave the field out"),
    (f"{UNMET}.joints.lamp_1", "on", "Mini-T2-Reverse1", "joints.lamp_1", "must be a number"),
    (f"{UNMET}.joints.lamp_1", True, "Mini-T2-Reverse1", "joints.lamp_1", "must be a number"),
    (f"{UNMET}.joints.lamp_1", float("nan"), "Mini-T2-Reverse1", "joints.lamp_1", "must be finite"),
    (f"{NOISE}.errors", 0, "Mini-T0-Noise2", "errors", "must be in [1, 9]"),
    (f"{PARAPHRASE}.audit", "automatic", "Mini-T0-Paraphrase1", "audit", "Known: manual"),
    # ids, numbers, names
    (f"{PARAPHRASE}.id", "Mini-T0-Paraphrase", "Mini-T0-Paraphrase", "id", "must spell"),
    (f"{PARAPHRASE}.id", "Mini-T0-Original", "Mini-T0-Original", "id", "ids are unique"),
    (f"{SWAP}.id", "Mini-T0-Swap", "Mini-T0-Swap", "id", "must spell"),
    (f"{NULL}.number", 2, "Mini-T0-Null", "number", "leave it out"),
    (f"{PARAPHRASE}.task", "Mini-T01", "Mini-T0-Paraphrase1", "task", "Did you mean 'Mini-T1'?"),
    (f"{PARAPHRASE}.condition", "paraphrases", "Mini-T0-Paraphrase1", "condition", "Did you mean 'paraphrase'?"),
    (f"{PARAPHRASE}.instructions", "x", "Mini-T0-Paraphrase1", "instructions", "Did you mean 'instruction'?"),
    (f"{PARAPHRASE}.kind", "passive", "Mini-T0-Paraphrase1", "kind", "must be 'verb_synonym'"),
    ("paraphrase_kinds", ["verb_synonym"], "Mini-T0-Paraphrase2", "number", "paraphrase_kinds has 1"),
    ("paraphrase_kinds", ["Verb"], "paraphrase_kinds[0]", "is 'Verb'", "must match"),
    (f"{PARAPHRASE}.audit_reason", "i like it", "Mini-T0-Paraphrase1", "audit_reason", "must be left out"),
    (f"{PARAPHRASE}.audit", "manual", "Mini-T0-Paraphrase1", "audit_reason", "say why"),
    # contrasts
    (f"{TARGET}.slot", "object", "Mini-T0-ContrastTarget1", "changed", "name the slot that changes"),
    (f"{TARGET}.slot", "attribute", "Mini-T0-ContrastTarget1", "slot", "name one it has"),
    (f"{TARGET}.slot", ..., "Mini-T0-ContrastTarget1", "slot", "name the changed slot"),
    (f"{TARGET}.changed", ..., "Mini-T0-ContrastTarget1", "changed", "give the replaced words"),
    (f"{TARGET}.goal", [["on", "cup_1", "plum_1"]], "Mini-T0-ContrastTarget1", "goal", "Known:"),
    (f"{TARGET}.goal", [["on", "cup_1", "desk_spawn_region"]], "Mini-T0-ContrastTarget1", "goal", "in this scene:"),
    (f"{TARGET}.goal", SHELF, "Mini-T0-ContrastTarget1", "goal", "ask for another one"),
    (f"{TARGET}.tier", "permissive", "Mini-T0-ContrastTarget1", "tier_reason", "say which strict rule"),
    (f"{LIFT}.judged", "ever", "Mini-T0-ContrastAction1", "judged", "must be 'end'"),
    (
        f"{TARGET}.certificate.on_path",
        True,
        "Mini-T0-ContrastTarget1",
        "certificate.on_path",
        "make the row permissive",
    ),
    (
        f"{TARGET}.certificate.true_initially.settled",
        1,
        "Mini-T0-ContrastTarget1",
        "certificate.true_initially",
        "make the row permissive",
    ),
    (
        f"{TARGET}.certificate.true_initially.tolerant",
        3,
        "Mini-T0-ContrastTarget1",
        "certificate.true_initially",
        "make the row permissive",
    ),
    (
        f"{TARGET}.certificate.true_initially.settled",
        4,
        "Mini-T0-ContrastTarget1",
        "certificate.true_initially.settled",
        "must be in [0, 3]",
    ),
    (f"{TARGET}.certificate.support", ..., "Mini-T0-ContrastTarget1", "certificate.support", "measure it"),
    (
        f"{TARGET}.certificate.physics",
        "mujoco 3.3.2",
        "Mini-T0-ContrastTarget1",
        "certificate.physics",
        "Known:",
    ),
    (f"{RELATION}.regions.0.ranges", [0, 0, 0.01, 0.01], "Mini-T0-ContrastRelation1", "regions", "too small"),
    # collisions
    (f"{COLLISION}.absent.noun", "pear kettle", "Mini-T0-CollisionObject1", "absent.noun", "name what the scene lacks"),
    ("scenes.aaaa.background", ["kettle"], "Mini-T0-CollisionObject1", "absent.noun", "in the background"),
    (f"{COLLISION}.absent.trained_noun", True, "Mini-T0-CollisionObject1", "absent.trained_noun", "must be false"),
    (f"{COLLISION}.absent.kind", "value", "Mini-T0-CollisionObject1", "absent.kind", "absent 'entity'"),
    (f"{COLLISION}.absent.kind", "referent", "Mini-T0-CollisionObject1", "absent.shown", "give what was measured"),
    (f"{COLLISION}.absent.shown", SHOWN, "Mini-T0-CollisionObject1", "absent.shown", "must be left out"),
    (f"{COLLISION}.absent.shown", {"tried": -1}, "Mini-T0-CollisionObject1", "absent.shown.tried", "must be in"),
    (f"{COLLISION}.goal", PEAR, "Mini-T0-CollisionObject1", "goal", "must be left out"),
    # controls
    (f"{SWAP}.instruction_of", ..., "Mini-T0-Swap1", "instruction_of", "name the task"),
    (f"{SWAP}.instruction_of", "Mini-T0", "Mini-T0-Swap1", "instruction_of", "must be another task"),
    (f"{COLLISION}.absent.kind", "impossible", "Mini-T0-CollisionObject1", "absent.shown", "give what was measured"),
    (f"{SWAP}.instruction_of", "Mini-T7", "Mini-T0-Swap1", "instruction_of", "must be another task"),
    (f"{SWAP}.instruction_of", "Mini-T2", "Mini-T0-Swap1", "instruction", "must be the canonical text"),
    (f"{SWAP}.goal", ..., "Mini-T0-Swap1", "goal", "say what the text asks for"),
    (f"{SWAP}.goal", SHELF, "Mini-T0-Swap1", "goal", "a swap asks for another one"),
    (f"{SWAP}.goal", [["on", "pear_1", "cup_1"]], "Mini-T0-Swap1", "goal", "one sentence has one meaning"),
    (f"{SWAP}.joints", {"lamp_1": 1.0}, "Mini-T0-Swap1", "joints", "must be left out"),
    (f"{NULL}.instruction", "put it there", "Mini-T0-Null", "instruction", "must be the empty text"),
    (f"{NULL}.instruction", ..., "Mini-T0-Null", "instruction", "must be text"),
    (f"{NULL}.goal", PEAR, "Mini-T0-Null", "goal", "must be left out"),
    (f"{SHUFFLED}.instruction", "shelf cup the on put a", "Mini-T0-Shuffled", "instruction", "use its words"),
    (f"{SHUFFLED}.instruction", "put the cup on the shelf", "Mini-T0-Shuffled", "instruction", "change the order"),
    (f"{SHUFFLED}.errors", 1, "Mini-T0-Shuffled", "errors", "must be left out"),
    (f"{NEGATED}.instruction", "never put the cup on the shelf", "Mini-T0-Negated", "instruction", "write 'do not"),
    (f"{NEGATED}.instruction", "do not put the cup on the pear", "Mini-T0-Negated", "instruction", "its names:"),
    (f"{NOISE}.errors", 1, "Mini-T0-Noise2", "errors", "must be the number of the row"),
    (f"{NOISE}.instruction", "put the cup on the shlf", "Mini-T0-Noise2", "instruction", "misspell exactly 2"),
    (f"{NOISE}.instruction", "put the pear on the shlf", "Mini-T0-Noise2", "instruction", "one typing error away"),
    (f"{NOISE}.instruction", "put teh cpu on shelf", "Mini-T0-Noise2", "instruction", "add and drop none"),
    (f"{UNMET}.joints", ..., "Mini-T2-Reverse1", "joints", "give the preset position"),
    (f"{UNMET}.joints", {"lamp_2": 1.0}, "Mini-T2-Reverse1", "joints.lamp_2", "Did you mean 'lamp_1'?"),
    (f"{UNMET}.joints", {"cup_1": 1.0}, "Mini-T2-Reverse1", "joints.cup_1", "preset things with exactly one"),
    (f"{UNMET}.described", True, "Mini-T2-Reverse1", "described", "must be left out"),
    (f"{UNMET}.goal", [["turnon", "lamp_1"]], "Mini-T2-Reverse1", "goal", "preset the joint so that"),
    (f"{MET}.described", ..., "Mini-T2-Reverse2", "described", "must be true"),
    (f"{MET}.joints", {"lamp_1": 2.0}, "Mini-T2-Reverse2", "joints", "both texts of a pair start alike"),
    (f"{MET}.goal", [["open", "box_1"]], "Mini-T2-Reverse2", "goal", "both watch the state"),
    (f"{MET}.goal", ..., "Mini-T2-Reverse2", "goal", "give the state"),
    # cells and totals
    ("counts", {"Mini": {"swap": 2}}, "counts.Mini", "swap", "the rows give 1"),
    ("counts", {"Mini": {"generic": 0}}, "counts.Mini", "generic", "Known:"),
    ("counts", {"Mini": {"swap": "one"}}, "counts.Mini", "swap", "the rows give 1"),
    ("counts", {"Mini": {}}, "counts.Mini", "Mini-T1 contrast", "row with a reason"),
    ("unavailable.0.condition", "swap", "unavailable Mini-T2 swap target", "slot", "must be left out"),
    ("dropped.0.reason", "Because", "dropped[0]", "reason", "must match"),
]


@pytest.mark.parametrize(("path", "value", "row", "field", "remedy"), BROKEN)
def test_a_broken_registry_is_refused(path: str, value: object, row: str, field: str, remedy: str) -> None:
    data = controlled()
    put(data, path, value)
    found = refusals(data)
    assert any(line.startswith(f"mini.yaml: {row}") and f": {field}" in line and remedy in line for line in found), (
        "\n".join(found)
    )
    assert all(len(line) <= _report.LONGEST + 100 and line.isprintable() for line in found)


def test_there_are_many_and_they_are_different() -> None:
    assert len({repr(row[:2]) for row in BROKEN}) == len(BROKEN) >= 80
    assert manifest.problems(TOY_REGISTRY) == ()
    assert parsed(controlled()).variant("Mini-T2-Reverse2").joints == {"lamp_1": 1.0}


def double_key(text: str) -> str:
    return text.replace("  condition: swap\n", "  condition: swap\n  condition: swap\n")


RAW: list[tuple[str, Callable[[str], str], str]] = [
    ("an anchor", lambda text: text.replace("goal:\n", "goal: &g\n", 1), "anchors and aliases are not allowed; write"),
    ("an alias", lambda text: text.replace("kind: passive", "kind: *k", 1).replace("kind: obj", "kind: *k"), "aliases"),
    ("a merge key", lambda text: text.replace("suites:\n", "suites:\n  <<: *x\n", 1), "anchors and aliases"),
    ("a tag", lambda text: text.replace("format: 1", "format: !!int 1", 1), "is not allowed; leave it out"),
    ("a tab", lambda text: text.replace("  settle: 10", "\tsettle: 10", 1), "malformed YAML"),
    ("a repeated key", double_key, "key 'condition' appears twice; keep one"),
    ("a repeated section", lambda text: text + text[text.index("suites:") :], "appears twice; keep one"),
    ("a second document", lambda text: text + "---\n" + text, "malformed YAML"),
    ("an open bracket", lambda text: text.replace("- scene", "- [scene", 1) + "x: [", "malformed YAML"),
    ("a list as key", lambda text: text + "? [a]\n: 1\n", "a key must be text"),
]


@pytest.mark.parametrize(("name", "spoil", "remedy"), RAW, ids=[row[0] for row in RAW])
def test_what_is_no_plain_yaml_is_refused_with_its_line(name: str, spoil: Callable[[str], str], remedy: str) -> None:
    text = dumped(controlled()).decode()
    spoilt = spoil(text)
    assert spoilt != text, name
    book, complaints = outcome(spoilt.encode())
    assert book is None
    (complaint,) = complaints
    assert complaint.startswith("mini.yaml: line ")
    assert remedy in complaint


# Properties: whatever a file holds, the answer is a registry or a RegistryError that says where.

BYTES = st.binary(max_size=400) | st.text(max_size=400).map(lambda text: text.encode("utf-8", "surrogatepass"))


@settings(max_examples=300)
@given(BYTES)
@example(b"\xef\xbb\xbfformat: 1\n")
@example(b"format: 1\nvariants:\n  - id: X\n")
@example(b"? \n: \n")
@example(b"%YAML 9.9\n---\n")
@example(b"a: 'b\n\n\nc")
@example(b"- - - - - -")
@example(b"format: 1\ncounts: {X: {1: [2]}}\nphysics: {settle: 1}\n")
def test_arbitrary_bytes_are_refused_and_nothing_else(raw: bytes) -> None:
    book, complaints = outcome(raw)
    assert book is None
    assert complaints
    assert all(line.startswith("mini.yaml: ") for line in complaints)


NAMES = st.text(max_size=8) | st.sampled_from(["format", "suites", "scenes", "tasks", "variants", "counts", "dropped"])
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(NAMES, ANY, max_size=7))
def test_arbitrary_data_are_refused_and_nothing_else(data: dict[str, Any]) -> None:
    book, complaints = outcome(dumped(data))
    assert book is None
    assert complaints


TOY = yaml.safe_load(open(TOY_REGISTRY, encoding="utf-8"))  # noqa: SIM115
ROWS = len(TOY["variants"])
FIELDS = sorted({field for row in TOY["variants"] for field in row})
FOREIGN = [(field, row[field]) for row in TOY["variants"] for field in row]


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.integers(0, ROWS - 1), st.sampled_from(FIELDS), st.sampled_from(FOREIGN) | ANY),
        min_size=1,
        max_size=3,
    )
)
def test_rows_with_fields_of_other_rows_give_a_registry_or_a_registry_error(edits: list[Any]) -> None:
    data = {**TOY, "variants": [dict(row) for row in TOY["variants"]]}
    for index, field, value in edits:
        if isinstance(value, tuple):
            field, value = value
        data["variants"][index][field] = value
    book, complaints = outcome(dumped(data))
    assert (book is None) == bool(complaints)
    assert all(line.startswith("mini.yaml: ") and line.isprintable() for line in complaints)
    for name in () if book is None else book.variants:
        assert book is not None
        assert book.goals(name)

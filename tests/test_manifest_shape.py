"""Registry files that are no YAML, or whose rows have the wrong form: what the loader says, and that it says it."""

from __future__ import annotations

import copy
import math
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mini_registry import COLLISION, LEFT, ORIGINAL, PARAPHRASE, TARGET, dumped, mini, outcome, parsed, put, refusals

from gym_grounding import manifest
from gym_grounding.errors import RegistryError
from gym_grounding.manifest import _load, _source

# path, value, and what the (single) message must say
SHAPE: list[tuple[str, object, str]] = [
    ("format", ..., r"^mini\.yaml: format: is missing; must be a whole number"),
    ("format", 2, r"format: is 2; this version reads format 1"),
    ("format", True, r"format: is True; must be a whole number"),
    ("version", -1, r"version: is -1; must be in \[0,"),
    ("physics", ..., r"physics: is missing .* 'settle'"),
    ("physics", 3, r"physics: is 3; must be a mapping"),
    ("physics.settle", ..., r"physics\.settle: is missing"),
    ("physics.mujoco", 3.3, r"physics\.mujoco: is 3\.3; must be text; put it in quotes"),
    ("suite", {}, r"suite: no section 'suite'\. Did you mean 'suites'\?"),
    ("suites", [], r"suites"),
    ("tasks", {"a": 1}, r"tasks: is .*; must be a list of rows"),
    ("variants.1", "text", r"variants\[1\]: is 'text'; must be a mapping"),
    ("suites.Mini.adapter", ..., r"suites\.Mini: adapter: is missing; must be text"),
    ("suites.Mini", 1, r"suites\.Mini: is 1; must be a mapping"),
    ("scenes.aaaa.entities", ..., r"scenes\.aaaa: entities: is missing"),
    ("scenes.aaaa.entities", [], r"scenes\.aaaa: entities: is \[\]; must be a mapping"),
    ("scenes.aaaa.entities.cup_1.kind", "thing", r"scenes\.aaaa: entities\.cup_1\.kind: no kind 'thing'"),
    ("scenes.aaaa.entities.cup_1.joints", -1, r"entities\.cup_1\.joints: is -1; must be in \[0, 100\]"),
    ("scenes.aaaa.entities.cup_1.supports", ["on.subjet"], r"no role 'on\.subjet'\. Did you mean 'on\.subject'\?"),
    ("scenes.aaaa.entities.cup_1.names", ["cup", "cup"], r"entities\.cup_1\.names: names 'cup' twice"),
    ("scenes.aaaa.entities.cup_1.colour", "red", r"entities\.cup_1\.colour: no field 'colour'"),
    ("tasks.0.index", "zero", r"Mini-T0: index: is 'zero'; must be a whole number"),
    ("tasks.0.instruction", "", r"Mini-T0: instruction: is ''; must not be empty"),
    ("tasks.0.init_states", 0, r"Mini-T0: init_states: is 0; must be in \[1,"),
    ("tasks.0.checksums.bddl", "0" * 63, r"Mini-T0: checksums\.bddl: is '0+.*must match"),
    ("tasks.0.slots", ..., r"Mini-T0: slots: is missing"),
    ("tasks.0.slots.verb", "put", r"Mini-T0: slots\.verb: no field 'verb'"),
    ("tasks.0.goal", ..., r"Mini-T0: goal: is missing; must be a list"),
    ("tasks.0.goal", [], r"Mini-T0: goal: is empty; a goal has at least one literal"),
    ("tasks.0.goal", "on(cup_1, shelf_1_top)", r"Mini-T0: goal: is 'on\(.*; must be a list"),
    (
        "tasks.0.goal",
        [["on", "cup_1", 7]],
        r"Mini-T0: goal\[0\]: is \['on', 'cup_1', 7\]; a literal is a list of names",
    ),
    ("tasks.0.goal", ["on"], r"Mini-T0: goal\[0\]: is 'on'; must be a list"),
    ("tasks.0.goal", [["open", "box_1"]] * 2, r"Mini-T0: goal\[1\]: repeats open\(box_1\)"),
    (f"{ORIGINAL}.id", ..., r"variants\[0\] \(line \d+\): id: is missing; must be text"),
    (f"{ORIGINAL}.id", "T0 original", r"T0 original: id: is 'T0 original'; must match"),
    (f"{ORIGINAL}.instruction", ["put"], r"Mini-T0-Original: instruction: is \['put'\]; must be text"),
    (f"{ORIGINAL}.instructions", "x", r"no field 'instructions'\. Did you mean 'instruction'\?"),
    (f"{PARAPHRASE}.number", 1.5, r"Mini-T0-Paraphrase1: number: is 1\.5; must be a whole number"),
    (f"{PARAPHRASE}.kind", "Verb synonym", r"Mini-T0-Paraphrase1: kind: is 'Verb synonym'; must match"),
    (f"{TARGET}.slot", "place", r"Mini-T0-ContrastTarget1: slot: no slot 'place'"),
    (f"{TARGET}.tier", "lax", r"Mini-T0-ContrastTarget1: tier: no tier 'lax'"),
    (f"{TARGET}.judged", "never", r"Mini-T0-ContrastTarget1: judged: no judged 'never'.* Known: end, ever"),
    (f"{TARGET}.changed", "pear", r"Mini-T0-ContrastTarget1: changed: is 'pear'; must be a mapping"),
    (f"{TARGET}.changed.to", ..., r"Mini-T0-ContrastTarget1: changed\.to: is missing"),
    (f"{TARGET}.certificate.support", "magic", r"certificate\.support: no support 'magic'"),
    (f"{TARGET}.certificate.on_path", "no", r"certificate\.on_path: is 'no'; must be true or false"),
    (f"{TARGET}.certificate.true_initially.of", ..., r"certificate\.true_initially\.of: is missing"),
    (f"{TARGET}.certificate.true_initially.of", 0, r"certificate\.true_initially\.of: is 0; must be in \[1,"),
    (f"{TARGET}.certificate.true_initially.raw", 4, r"certificate\.true_initially\.raw: is 4; must be in \[0, 3\]"),
    (f"{TARGET}.certificate.true_initially.row", 1, r"certificate\.true_initially\.row: no field 'row'.* mean 'raw'"),
    (f"{TARGET}.certificate.witness.state", -1, r"certificate\.witness\.state: is -1; must be in"),
    (f"{TARGET}.certificate.witness.found", 1, r"certificate\.witness\.found: is 1; must be true or false"),
    (f"{LEFT}.regions.0.ranges", [0.1, 0.2, 0.3], r"regions\[0\]\.ranges: has 3 numbers; must have 4"),
    (f"{LEFT}.regions.0.ranges", [0.1, 0.2, math.nan, 0.3], r"regions\[0\]\.ranges\[2\]: is nan; must be finite"),
    (f"{LEFT}.regions.0.ranges", [-math.inf, 0.2, 0.3, 0.4], r"regions\[0\]\.ranges\[0\]: is -inf; must be finite"),
    (f"{LEFT}.regions.0.ranges", [0.1, True, 0.2, 0.3], r"regions\[0\]\.ranges\[1\]: is True; must be a number"),
    (f"{LEFT}.regions.0.surface", ..., r"regions\[0\]\.surface: is missing"),
    (f"{COLLISION}.absent.kind", "ghost", r"absent\.kind: no kind 'ghost'"),
    (f"{COLLISION}.absent.trained_noun", ..., r"absent\.trained_noun: is missing; must be true or false"),
    ("dropped.0.reason", ..., r"dropped\[0\] \(line \d+\): reason: is missing"),
    ("dropped.0.reason", "Already true", r"dropped\[0\] .*reason: is 'Already true'; must match"),
    ("unavailable.0.instruction", "x", r"unavailable\[0\] .*no field 'instruction'"),
]


@pytest.mark.parametrize(("path", "value", "message"), SHAPE)
def test_a_row_of_the_wrong_shape_is_refused(path: str, value: object, message: str) -> None:
    data = mini()
    put(data, path, value)
    with pytest.raises(RegistryError, match=message):
        parsed(data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", r"mini\.yaml: the file is empty; a registry starts with 'format: 1'"),
        (b"# nothing\n", r"mini\.yaml: the file is empty"),
        (b"- a\n- b\n", r"mini\.yaml: holds a list; a registry is a mapping"),
        (b"just words\n", r"mini\.yaml: holds a str"),
        (b"format: 1\nsuites: {a: [1, 2}\n", r"mini\.yaml: line 2: malformed YAML: "),
        (b"format: 1\nphysics:\n\tsettle: 1\n", r"mini\.yaml: line 3: malformed YAML: "),
        (b"format: 1\nversion: 0\nformat: 1\n", r"mini\.yaml: line 3: key 'format' appears twice"),
        (b"scenes:\n  s:\n    entities:\n      a: {}\n      a: {}\n", r"line 5: key 'a' appears twice"),
        (b"format: 1\nname: \xff\xfe\n", r"mini\.yaml: line 2: not UTF-8 at byte 16"),
        (b"format: 1\nname: \x00\n", r"mini\.yaml: malformed YAML: "),
        (b"format: 1\n---\nformat: 1\n", r"malformed YAML: "),
        (b"a: &x [1]\nb: *x\n", r"line 1: anchors and aliases are not allowed"),
        (b"a: &x [*x]\n", r"line 1: anchors and aliases are not allowed"),
        (b"a: !!python/object/apply:os.getcwd []\n", r"line 1: tag '.*os.getcwd' is not allowed"),
        (b"a: !!binary aGk=\n", r"line 1: tag '.*binary' is not allowed"),
        (b"a: !!int 7\n", r"line 1: tag '.*int' is not allowed; leave it out"),
        (b"a: ! 7\n", r"line 1: tag '!' is not allowed"),
        (b"a: 1\nb: &x 1\n", r"line 2: anchors and aliases are not allowed; write the row out"),
        (b"a: &x 1\nb: *x\n", r"line 1: anchors and aliases are not allowed"),
        (b"a: [1]\nb: *x\n", r"line 2: anchors and aliases are not allowed"),
        (b"? [a, b]\n: 1\n", r"line 1: a key must be text"),
        (b"a: " + b"[" * 5000 + b"]" * 5000, r"malformed YAML"),
    ],
)
@pytest.mark.parametrize("base", [yaml.BaseLoader, getattr(yaml, "CBaseLoader", yaml.BaseLoader)])
def test_text_that_is_no_registry_is_refused_with_its_line(
    base: type, text: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_source, "_Loader", base)
    with pytest.raises(RegistryError, match=message):
        _load.parsed(text, "mini.yaml")


def test_words_that_old_yaml_takes_for_truth_values_stay_words() -> None:
    table = _source.parse(b"goal: [on, off, yes, no, y, 2001-01-01, 1_0, 0x1F, 012, 1:30, true, ~]\n", "x")
    assert table["goal"] == ["on", "off", "yes", "no", "y", "2001-01-01", "1_0", "0x1F", "012", "1:30", True, None]


def test_without_libyaml_the_data_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = manifest.default_path().read_bytes()
    fast = _source.parse(raw, "x")
    monkeypatch.setattr(_source, "_Loader", yaml.BaseLoader)
    assert _source.parse(raw, "x") == fast


def test_numbers_keep_their_value() -> None:
    table = _source.parse(b"n: [0, -7, 1.5, -0.25, 1.0e-3, .5, '1', .inf]\n", "x")
    assert table["n"] == [0, -7, 1.5, -0.25, 0.001, 0.5, "1", math.inf]


def test_a_malformed_task_is_not_also_reported_as_unknown() -> None:
    data = mini()
    put(data, "tasks.0.init_states", "many")
    assert refusals(data) == ("mini.yaml: Mini-T0: init_states: is 'many'; must be a whole number",)


@pytest.mark.parametrize(("section", "index"), [("tasks", 1), ("variants", 1)])
def test_an_id_that_appears_twice_is_refused(section: str, index: int) -> None:
    data = mini()
    data[section].append(copy.deepcopy(data[section][index]))
    name = data[section][index]["id"]
    assert f"mini.yaml: {name}: id: '{name}' appears twice; ids are unique" in refusals(data)


def test_numbers_have_as_many_digits_as_they_need() -> None:
    data = mini()
    put(data, f"{PARAPHRASE}.id", "Mini-T0-Paraphrase10")
    put(data, f"{PARAPHRASE}.number", 10)
    assert parsed(data).variant("Mini-T0-Paraphrase10").number == 10


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.sampled_from(["on", "cup_1", "Mini-T0", "strict", "contrast", "desk_x", "aaaa"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


def paths(data: object, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in the data."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [place for key, value in items for place in ((*prefix, key), *paths(value, (*prefix, key)))]


PLACES = paths(mini())


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(["set", "drop", "copy", "add"]), VALUES), max_size=3)
)
def test_changed_data_gives_a_registry_or_a_registry_error(edits: list[tuple[tuple[Any, ...], str, Any]]) -> None:
    data: Any = mini()
    for place, kind, value in edits:
        try:
            parent: Any = data
            for key in place[:-1]:
                parent = parent[key]
            if kind == "drop":
                del parent[place[-1]]
            elif kind == "copy" and isinstance(parent, list):
                parent.append(copy.deepcopy(parent[place[-1]]))
            elif kind == "add" and isinstance(parent, dict):
                parent[str(value)[:20]] = value
            else:
                parent[place[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue  # an earlier edit has removed this place
    book, complaints = outcome(dumped(data))
    assert (book is None) == bool(complaints)
    assert all(line.startswith("mini.yaml: ") and line.isprintable() for line in complaints)
    if book is not None:
        assert all(row.task in book.tasks for row in book.variants.values())
        assert all(book.goals(name) for name in book.variants)


RAW = dumped(mini())


@settings(max_examples=300, deadline=None)
@given(
    st.integers(0, len(RAW)),
    st.integers(0, 40),
    st.binary(max_size=8) | st.sampled_from([b"\t", b": ", b"- ", b"&a ", b"*a"]),
)
def test_damaged_bytes_give_a_registry_or_a_registry_error(start: int, length: int, patch: bytes) -> None:
    book, complaints = outcome(RAW[:start] + patch + RAW[start + length :])
    assert (book is None) == bool(complaints)
    assert all(line.startswith("mini.yaml: ") for line in complaints)

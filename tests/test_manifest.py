"""The registry loader: what it accepts, what it refuses, and what its messages say."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gym_grounding import manifest
from gym_grounding.errors import RegistryError, UnknownName
from gym_grounding.manifest import _load, _meaning, _source
from gym_grounding.types import Goal, Predicate, Region

TOY = Path(manifest.__file__).parent.parent / "testing" / "toy_registry.yaml"
GRASPABLE = ["on.subject", "on.reference", "in.subject", "lifted"]
ENTITIES: dict[str, Any] = {
    "desk": {"category": "desk", "kind": "surface", "names": ["desk"]},
    "desk_front_region": {"category": "desk", "kind": "zone", "supports": ["on.reference"]},
    "desk_spawn_region": {"category": "desk", "kind": "zone"},
    "lamp_1": {
        "category": "lamp",
        "kind": "fixture",
        "joints": 1,
        "supports": ["turnon", "turnoff"],
        "names": ["lamp"],
    },
    "box_1": {"category": "box", "kind": "fixture", "joints": 1, "supports": ["open", "close"], "names": ["box"]},
    "box_1_inside": {
        "category": "box_1",
        "kind": "site",
        "joints": 1,
        "supports": ["in.reference", "open", "close"],
    },
    "shelf_1": {"category": "shelf", "kind": "fixture", "names": ["shelf"]},
    "shelf_1_top": {"category": "shelf_1", "kind": "site", "supports": ["on.reference"]},
    "cup_1": {"category": "cup", "kind": "object", "supports": GRASPABLE, "names": ["cup"]},
    "pear_1": {"category": "pear", "kind": "object", "supports": GRASPABLE, "names": ["pear", "fruit"]},
}
FLAT = {  # another scene, without anything to put things into
    "bench": {"category": "bench", "kind": "surface"},
    "cup_1": {"category": "cup", "kind": "object", "supports": GRASPABLE, "names": ["cup"]},
    "mat_1": {"category": "mat", "kind": "object", "supports": ["on.reference"], "names": ["mat"]},
}


def task(index: int, text: str, goal: list[list[str]], scene: str = "aaaa", **slots: str) -> dict[str, Any]:
    """A task row."""
    return {
        "id": f"Mini-T{index}",
        "suite": "Mini",
        "index": index,
        "name": text.replace(" ", "_"),
        "instruction": text,
        "scene": scene,
        "slots": slots,
        "goal": goal,
        "init_states": 3,
        "checksums": {"bddl": "0" * 64},
    }


def variant(name: str, condition: str, text: str, **fields: Any) -> dict[str, Any]:
    """A variant row; the task is read off the id."""
    return {"id": name, "task": name.rsplit("-", 1)[0], "condition": condition, "instruction": text, **fields}


def mini() -> dict[str, Any]:
    """A small registry with every kind of row."""
    on_shelf = [["on", "cup_1", "shelf_1_top"]]
    changed = {"from": "shelf", "to": "pear"}
    placing = {"action": "put", "object": "cup", "relation": "on", "target": "shelf"}
    region = {"name": "desk_shelf_1_left", "surface": "desk", "ranges": [-0.3, -0.1, -0.2, 0.0]}
    return {
        "format": 1,
        "version": 0,
        "canonical_source": "this test",
        "physics": {"settle": 10, "mujoco": "3.3.2"},
        "suites": {"Mini": {"adapter": "toy", "source": "mini"}},
        "scenes": {
            "aaaa": {"adapter": "toy", "problem": "desk", "entities": copy.deepcopy(ENTITIES)},
            "bbbb": {"adapter": "toy", "problem": "bench", "entities": copy.deepcopy(FLAT)},
        },
        "tasks": [
            task(0, "put the cup on the shelf", on_shelf, **placing),
            task(1, "put the cup on the pear", [["on", "cup_1", "pear_1"]], **placing | {"target": "pear"}),
            task(2, "turn on the lamp", [["turnon", "lamp_1"]], action="turn on", object="lamp"),
            task(3, "put the cup on the mat", [["on", "cup_1", "mat_1"]], "bbbb", **placing | {"target": "mat"}),
        ],
        "variants": [
            variant("Mini-T0-Original", "original", "put the cup on the shelf"),
            variant("Mini-T0-Paraphrase1", "paraphrase", "place the cup onto the shelf", number=1, kind="verb_synonym"),
            variant("Mini-T0-Paraphrase2", "paraphrase", "the cup belongs on the shelf", number=2, kind="declarative"),
            variant(
                "Mini-T0-ContrastAction1",
                "contrast",
                "pick up the cup",
                slot="action",
                number=1,
                changed={"from": "put the cup on the shelf", "to": "pick up the cup"},
                goal=[["lifted", "cup_1"]],
                tier="permissive",
                tier_reason="several_slots",
                judged="end",
            ),
            variant(
                "Mini-T0-ContrastRelation1",
                "contrast",
                "put the cup to the left of the shelf",
                slot="relation",
                number=1,
                changed={"from": "on", "to": "to the left of"},
                goal=[["on", "cup_1", "desk_shelf_1_left"]],
                regions=[region],
                tier="strict",
            ),
            variant(
                "Mini-T0-ContrastTarget1",
                "contrast",
                "put the cup on the pear",
                slot="target",
                number=1,
                changed=changed,
                goal=[["on", "cup_1", "pear_1"]],
                tier="strict",
                certificate={
                    "support": "native",
                    "demonstrated": "pair",
                    "on_path": False,
                    "trained_goal_of": ["Mini-T1"],
                    "true_initially": {"settled": 0, "of": 3, "physics": "mujoco 3.3.2"},
                    "witness": {"found": True, "placement": "as_is", "physics": "mujoco 3.3.2"},
                },
            ),
            variant(
                "Mini-T0-CollisionObject1",
                "collision",
                "put the kettle on the shelf",
                slot="object",
                number=1,
                changed={"from": "cup", "to": "kettle"},
                absent={"kind": "entity", "noun": "kettle", "trained_noun": False},
            ),
            variant("Mini-T1-Original", "original", "put the cup on the pear"),
            variant("Mini-T2-Original", "original", "turn on the lamp"),
            variant("Mini-T3-Original", "original", "put the cup on the mat"),
        ],
        "dropped": [
            {
                "task": "Mini-T2",
                "condition": "contrast",
                "slot": "action",
                "instruction": "turn off the lamp",
                "goal": [["turnoff", "lamp_1"]],
                "reason": "already_true",
            }
        ],
        "unavailable": [
            {
                "task": "Mini-T2",
                "condition": "contrast",
                "slot": "target",
                "reason": "frame_has_no_target",
                "note": "no target",
            }
        ],
    }


class _NoAliases(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):
    def ignore_aliases(self, data: object) -> bool:
        return True


def dumped(data: object) -> bytes:
    """The data as a YAML file."""
    text: str = yaml.dump(data, Dumper=_NoAliases, sort_keys=False, allow_unicode=True)
    return text.encode("utf-8", "surrogatepass")


def parsed(data: object) -> manifest.Manifest:
    """The data as a registry."""
    return _load.parsed(dumped(data), "mini.yaml")


def outcome(raw: bytes) -> tuple[manifest.Manifest | None, tuple[str, ...]]:
    """The registry in the bytes, or what is wrong with them; any other error is a bug."""
    try:
        return _load.parsed(raw, "mini.yaml"), ()
    except RegistryError as error:
        return None, error.problems


def refusals(data: object) -> tuple[str, ...]:
    """Every complaint about the data."""
    with pytest.raises(RegistryError) as caught:
        parsed(data)
    return caught.value.problems


def put(data: Any, path: str, value: object) -> None:
    """Set the field at a dotted path; the last part may be new. The value ``...`` removes it."""
    *parts, last = path.split(".")
    for part in parts:
        data = data[int(part)] if isinstance(data, list) else data[part]
    key: Any = int(last) if isinstance(data, list) else last
    if value is ...:
        del data[key]
    else:
        data[key] = value


def variant_at(name: str) -> str:
    """Path of the variant row with this end of its id."""
    return f"variants.{[row['id'] for row in mini()['variants']].index(f'Mini-{name}')}"


ORIGINAL, PARAPHRASE = variant_at("T0-Original"), variant_at("T0-Paraphrase1")
LIFT, LEFT, TARGET = (variant_at(f"T0-Contrast{slot}1") for slot in ("Action", "Relation", "Target"))
COLLISION = variant_at("T0-CollisionObject1")

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
    (f"{TARGET}.certificate.true_initially.physics", ..., r"certificate\.true_initially\.physics: is missing"),
    (f"{TARGET}.certificate.true_initially.raw", 1, r"certificate\.true_initially\.raw: no field 'raw'"),
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

MEANING: list[tuple[str, object, str]] = [
    ("suites.Extra", {"adapter": "toy", "source": "x"}, r"suites\.Extra: has no tasks"),
    ("scenes.aaaa.adapter", "other", r"Mini-T\d: scene: is in scene aaaa of adapter 'other'; its suite has 'toy'"),
    ("scenes.aaaa.entities.shelf_1.supports", ["close"], r"entities\.shelf_1\.supports: 'close' needs a joint"),
    ("scenes.aaaa.entities.box_1.supports", ["in.reference"], r"a fixture cannot support 'in\.reference'"),
    ("scenes.aaaa.entities.desk.supports", ["on.reference"], r"a surface cannot support 'on\.reference'"),
    ("tasks.3.suite", "Minni", r"Mini-T3: suite: no suite 'Minni'\. Did you mean 'Mini'\?"),
    ("tasks.3.index", 4, r"Mini-T3: id: must spell suite and index: Mini-T4"),
    ("tasks.2.goal", [["turnon", "lamp_2"]], r"Mini-T2: goal: .*'lamp_2', not in the scene.*Did you mean 'lamp_1'\?"),
    ("tasks.2.goal", [["turn_on", "lamp_1"]], r"Mini-T2: goal: no predicate 'turn_on'\. Did you mean 'turnon'\?"),
    ("tasks.2.goal", [["Turnon", "lamp_1"]], r"Mini-T2: goal: no predicate 'Turnon'"),
    ("tasks.2.goal", [["turnon"]], r"Mini-T2: goal: turnon\(\) has 0 arguments; turnon takes 1"),
    ("tasks.2.goal", [["on", "cup_1"]], r"on\(cup_1\) has 1 arguments; on takes 2"),
    ("tasks.2.goal", [["turnon", "box_1"]], r"the fixture 'box_1' does not support 'turnon'; in this scene: lamp_1"),
    ("tasks.2.goal", [["open", "shelf_1"]], r"'shelf_1' does not support 'open'; in this scene: box_1, box_1_inside"),
    ("tasks.2.goal", [["close", "shelf_1_top"]], r"the site 'shelf_1_top' does not support 'close'"),
    ("tasks.2.goal", [["in", "cup_1", "pear_1"]], r"'pear_1' does not support 'in\.reference'.*: box_1_inside"),
    ("tasks.2.goal", [["in", "cup_1", "box_1"]], r"'box_1' does not support 'in\.reference'"),
    ("tasks.2.goal", [["on", "cup_1", "desk_spawn_region"]], r"the zone 'desk_spawn_region' is not goal-grade"),
    ("tasks.2.goal", [["on", "shelf_1", "cup_1"]], r"the fixture 'shelf_1' does not support 'on\.subject'"),
    ("tasks.2.goal", [["on", "cup_1", "desk"]], r"the surface 'desk' does not support 'on\.reference'"),
    ("tasks.2.goal", [["on", "cup_1", "cup_1"]], r"on\(cup_1, cup_1\) relates a thing to itself"),
    (
        "tasks.2.goal",
        [["on", "cup_1", "bowl_drainer_1_left_region"]],
        r"'bowl_drainer_1_left_region', not in the scene",
    ),
    ("tasks.2.scene", "cccc", r"Mini-T2: scene: no scene 'cccc'"),
    (f"{ORIGINAL}.id", "Mini-T0-Original1", r"Mini-T0-Original1: id: must spell .*: Mini-T0-Original$"),
    (f"{PARAPHRASE}.number", 3, r"Mini-T0-Paraphrase1: id: must spell .*: Mini-T0-Paraphrase3$"),
    (f"{PARAPHRASE}.condition", "paraphase", r"condition: no condition 'paraphase'\. Did you mean 'paraphrase'\?"),
    (f"{TARGET}.task", "Mini-T9", r"Mini-T0-ContrastTarget1: task: no task 'Mini-T9'"),
    (f"{TARGET}.goal", [["on", "cup_1", "plate_2"]], r"goal: on\(cup_1, plate_2\) names 'plate_2', not in the scene"),
    (f"{TARGET}.certificate.trained_goal_of", [], r"trained_goal_of: is \[\]; in this scene the goal is that of .*T1"),
    (f"{LEFT}.regions.0.surface", "table", r"desk_shelf_1_left: no surface 'table'"),
    (f"{LEFT}.regions.0.ranges", [0.2, 0.1, 0.1, 0.2], r"desk_shelf_1_left: .* minimum is not below its maximum"),
    (f"{LEFT}.regions.0.ranges", [0.1, 0.1, 0.1, 0.2], r"desk_shelf_1_left: .* minimum is not below its maximum"),
    (f"{LEFT}.regions.0.ranges", [0.1, 0.1, 0.2, 0.1], r"desk_shelf_1_left: .* minimum is not below its maximum"),
    (f"{LEFT}.regions.0.ranges", [0.0, 0.0, 0.079, 0.2], r"desk_shelf_1_left: a side is under 0\.08 m"),
    (f"{LEFT}.regions.0.ranges", [1.45, 0.0, 1.6, 0.2], r"a corner is over 1\.5 m"),
    (f"{LEFT}.goal", [["in", "cup_1", "desk_shelf_1_left"]], r"can only be the reference of 'on'"),
    ("dropped.0.task", "Mini-T8", r"dropped Mini-T8 contrast action 'turn off the lamp': task: no task 'Mini-T8'"),
    ("dropped.0.condition", "contrasts", r"condition: no condition 'contrasts'\. Did you mean 'contrast'\?"),
    ("dropped.0.goal", [["turnoff", "lamp_9"]], r"dropped .*: goal: names 'lamp_9', not in the scene"),
    ("unavailable.0.slot", ..., r"unavailable Mini-T2 contrast: slot: is missing in a cell of condition contrast"),
    ("unavailable.0.condition", "original", r"slot: is 'target'; must be left out in a cell of condition original"),
    ("counts", {"Maxi": {}}, r"counts\.Maxi: no suite 'Maxi'"),
]


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


@pytest.mark.parametrize(("path", "value", "message"), SHAPE)
def test_a_row_of_the_wrong_shape_is_refused(path: str, value: object, message: str) -> None:
    data = mini()
    put(data, path, value)
    with pytest.raises(RegistryError, match=message):
        parsed(data)


@pytest.mark.parametrize(("path", "value", "message"), MEANING)
def test_a_row_that_says_something_untrue_is_refused(path: str, value: object, message: str) -> None:
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
        (b"a: !!int words\n", r"line 1: 'words' is no int"),
        (b"? [a, b]\n: 1\n", r"line 1: a key must be text"),
        (b"a: " + b"[" * 5000 + b"]" * 5000, r"malformed YAML"),
    ],
)
@pytest.mark.parametrize("base", [yaml.SafeLoader, getattr(yaml, "CSafeLoader", yaml.SafeLoader)])
def test_text_that_is_no_registry_is_refused_with_its_line(
    base: type, text: bytes, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_source, "_Loader", _source.strict_loader(base))
    with pytest.raises(RegistryError, match=message):
        _load.parsed(text, "mini.yaml")


def test_words_that_old_yaml_takes_for_truth_values_stay_words() -> None:
    table = _source.parse(b"goal: [on, off, yes, no, y, 2001-01-01, 1_0, 0x1F, 012, 1:30, true, ~]\n", "x")
    assert table["goal"] == ["on", "off", "yes", "no", "y", "2001-01-01", "1_0", "0x1F", "012", "1:30", True, None]


def test_without_libyaml_the_data_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = manifest.default_path().read_bytes()
    fast = _source.parse(raw, "x")
    monkeypatch.setattr(_source, "_Loader", _source.strict_loader(yaml.SafeLoader))
    assert _source.parse(raw, "x") == fast


def test_numbers_keep_their_value() -> None:
    table = _source.parse(b"n: [0, -7, 1.5, -0.25, 1.0e-3, .5, '1', .inf]\n", "x")
    assert table["n"] == [0, -7, 1.5, -0.25, 0.001, 0.5, "1", math.inf]


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


def test_a_text_that_appears_twice_is_refused() -> None:
    data = mini()
    put(data, f"{TARGET}.instruction", "put the cup  On the shelf")
    assert any(
        "Mini-T0-ContrastTarget1: instruction" in line and "the text of Mini-T0-Or" in line for line in refusals(data)
    )


def test_a_task_without_an_original_is_refused() -> None:
    data = mini()
    put(data, variant_at("T2-Original"), ...)
    assert refusals(data) == (
        "mini.yaml: Mini-T2: has no original; add a variant Mini-T2-Original with the canonical text",
    )


def test_near_copies_among_paraphrases_are_refused() -> None:
    data = mini()
    put(data, variant_at("T0-Paraphrase2") + ".instruction", "please place the cup onto that shelf")
    assert refusals(data) == (
        "mini.yaml: Mini-T0-Paraphrase2: instruction: 'please place the cup onto that shelf' is a near copy of "
        "Mini-T0-Paraphrase1, 'place the cup onto the shelf' (redundant)",
    )


def test_one_region_name_means_one_box() -> None:
    data = mini()
    other = copy.deepcopy(data["variants"][int(LEFT.split(".")[1])])
    other |= {"id": "Mini-T0-ContrastRelation2", "number": 2, "instruction": "put the cup beside the shelf"}
    other["changed"]["to"] = "beside"
    data["variants"].append(other)
    parsed(data)
    other["regions"][0]["ranges"] = [-0.3, -0.1, -0.2, 0.01]
    assert refusals(data) == (
        "mini.yaml: Mini-T0-ContrastRelation2: regions: desk_shelf_1_left: is another box than in "
        "Mini-T0-ContrastRelation1; choose another name",
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda region: region.update(name="shelf_left"), r"shelf_left: the name must start with its surface, desk_"),
        (lambda region: region.update(name="desk_front_region"), r"desk_front_region: the name is taken"),
        (lambda region: region.update(name="desk_other"), r"desk_other: no literal of the goal names it"),
    ],
)
def test_a_region_that_does_not_fit_is_refused(change: Callable[[dict[str, Any]], None], message: str) -> None:
    data = mini()
    change(data["variants"][int(LEFT.split(".")[1])]["regions"][0])
    with pytest.raises(RegistryError, match=message):
        parsed(data)


def test_regions_without_a_goal_are_refused() -> None:
    data = mini()
    put(data, f"{LEFT}.goal", ...)
    assert any("regions: are given without a goal" in line for line in refusals(data))


def test_a_dropped_text_may_lack_a_goal_that_can_be_written() -> None:
    data = mini()
    put(data, "dropped.0.goal", ...)
    assert parsed(data).absent[0].goal is None


def test_numbers_have_as_many_digits_as_they_need() -> None:
    data = mini()
    put(data, f"{PARAPHRASE}.id", "Mini-T0-Paraphrase10")
    put(data, f"{PARAPHRASE}.number", 10)
    assert parsed(data).variant("Mini-T0-Paraphrase10").number == 10


def test_a_dropped_text_must_not_be_registered() -> None:
    data = mini()
    put(data, "dropped.0.task", "Mini-T0")
    put(data, "dropped.0.instruction", "pick up the cup")
    assert any("is also registered, as Mini-T0-ContrastAction1; keep one" in line for line in refusals(data))


def test_totals_must_be_true_and_every_cell_accounted_for() -> None:
    data = mini()
    data["counts"] = {"Mini": {"original": 3, "originals": 1, "paper": {"anything": 1}}}
    found = refusals(data)
    assert "mini.yaml: counts.Mini: original: is 3; the rows give 4" in found
    assert any("counts.Mini: originals: no total 'originals'. Did you mean 'original'?" in line for line in found)
    open_cells = {line.removeprefix("mini.yaml: counts.Mini: ").split(" has neither")[0] for line in found[2:]}
    assert "Mini-T0 paraphrase 3" in open_cells
    assert "Mini-T1 collision object" in open_cells
    assert not {"Mini-T0 paraphrase 2", "Mini-T0 contrast target", "Mini-T2 contrast action"} & open_cells
    # 4 originals, 20 paraphrases, 20 contrasts and 20 collisions, less 4 + 2 + 3 + 1 variants and 2 reasons
    assert len(open_cells) == 64 - 12


def test_counts_by_tier_and_slot() -> None:
    content_counts = {
        "cells": 64,
        "original": 4,
        "paraphrase": 2,
        "contrast_strict": {"action": 0, "object": 0, "relation": 1, "target": 1, "attribute": 0},
        "contrast_permissive": {"action": 1, "object": 0, "relation": 0, "target": 0, "attribute": 0},
        "collision": {"action": 0, "object": 1, "relation": 0, "target": 0, "attribute": 0},
    }
    data = mini() | {"counts": {"Mini": content_counts}}
    assert all("has neither" in line for line in refusals(data))


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


def test_ids_spell_their_fields_and_nothing_else() -> None:
    spelt = set()
    rows = list(parsed(mini()).variants.values())
    for row in rows:
        for number in (1, 2, 11):
            for slot in (None, "object", "target"):
                fields = {"id": row.id, "task": row.task, "condition": row.condition, "instruction": row.instruction}
                other = type(row)(**fields, slot=slot, number=number)
                spelt.add((_meaning.spelled(other, _meaning.conditions.get(row.condition)), row.task, row.condition))
    assert {name for name, _, _ in spelt if name.endswith("Paraphrase11")} == {"Mini-T0-Paraphrase11"}
    assert all(row.id == _meaning.spelled(row, _meaning.conditions.get(row.condition)) for row in rows)
    assert len({name for name, _, _ in spelt}) == len(spelt)

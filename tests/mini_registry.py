"""A small registry with every kind of row, and ways to spoil it, for the tests of the loader."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import yaml

from gym_grounding import manifest
from gym_grounding.errors import RegistryError
from gym_grounding.manifest import _load

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
                    "true_initially": {"raw": 0, "settled": 0, "tolerant": 0, "of": 3},
                    "witness": {"found": True, "placement": "as_is", "state": 2, "original_true": False},
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


def controlled() -> dict[str, Any]:
    """The small registry with rows of every control condition, and the types of its paraphrases fixed."""
    data = mini()
    preset = {"goal": [["turnoff", "lamp_1"]], "joints": {"lamp_1": 1.0}}
    data["paraphrase_kinds"] = ["verb_synonym", "declarative"]
    data["variants"] += [
        variant(
            "Mini-T0-Swap1",
            "swap",
            "put the cup on the pear",
            number=1,
            goal=[["on", "cup_1", "pear_1"]],
            instruction_of="Mini-T1",
        ),
        variant("Mini-T0-Null", "null", ""),
        variant("Mini-T0-Shuffled", "shuffled", "shelf cup the on put the"),
        variant("Mini-T0-Negated", "negated", "do not put the cup on the shelf"),
        variant("Mini-T0-Noise1", "noise", "put the cpu on the shelf", number=1, errors=1),
        variant("Mini-T0-Noise2", "noise", "put the cpu on the shlf", number=2, errors=2),
        variant("Mini-T2-Reverse1", "reverse", "turn off the lamp", number=1, **copy.deepcopy(preset)),
        variant("Mini-T2-Reverse2", "reverse", "turn on the lamp", number=2, described=True, **copy.deepcopy(preset)),
    ]
    return data


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
    """Path of the variant row with this end of its id, in ``mini()`` (if it is no control) and ``controlled()``."""
    return f"variants.{[row['id'] for row in controlled()['variants']].index(f'Mini-{name}')}"


ORIGINAL, PARAPHRASE = variant_at("T0-Original"), variant_at("T0-Paraphrase1")
LIFT, LEFT, TARGET = (variant_at(f"T0-Contrast{slot}1") for slot in ("Action", "Relation", "Target"))
COLLISION = variant_at("T0-CollisionObject1")

"""Values that a user gives: what is no value is said before anything is trained, with its name and what it must be."""

import dataclasses
import datetime
import re
from typing import Literal, Optional

import pytest

pytest.importorskip("torch")

from gym_grounding_policies import learners
from gym_grounding_policies.devices import device_of
from gym_grounding_policies.training.build import settings_of
from gym_grounding_policies.training.kits import CPU, PAPERS, network_of
from gym_grounding_policies.training.senses import CLIP
from gym_grounding_policies.training.values import checked, hints_of

from gym_grounding.errors import InvalidOption, UnknownName
from gym_grounding.policy import options_of


@pytest.mark.parametrize(
    ("method", "pair", "message"),
    [
        ("er", "windows=2.5", "setting windows is 2.5; give a whole number or null"),
        ("er", "share=true", "setting share is true; give a finite number"),
        ("er", "share=abc", 'setting share is "abc"; give a finite number'),
        ("er", "memory=3", "setting memory is 3; give a text"),
        ("er", "memory=last", "memory is 'last'; choose random or first"),
        ("ewc", "penalty=NaN", "setting penalty is NaN; give a finite number"),
        ("ewc", "penalty=nan", 'setting penalty is "nan"; give a finite number'),
        ("ewc", "penalty=-Infinity", "setting penalty is -Infinity; give a finite number"),
        ("ewc", f"penalty=1{'0' * 400}", "; give a finite number"),
        ("ewc", "penalty=null", "setting penalty is null; give a finite number"),
        ("tail", "noise=NaN", "setting noise is NaN; give a finite number"),
        ("tail", "rank=2.5", "setting rank is 2.5; give a whole number"),
        ("tail", "rank=true", "setting rank is true; give a whole number"),
        ("tail", "copies=maybe", 'setting copies is "maybe"; give true or false'),
        ("tail", "copies=1", "setting copies is 1; give true or false"),
        ("l2m", "slots=2.5", "setting slots is 2.5; give a whole number"),
        ("l2m", "pull=nan", 'setting pull is "nan"; give a finite number'),
        ("dmpel", "top=1.5", "setting top is 1.5; give a whole number"),
        ("dmpel", "hidden=2.5", "setting hidden is 2.5; give a whole number"),
        ("packnet", "retrain_epochs=1.5", "setting retrain_epochs is 1.5; give a whole number"),
        ("iscil", "bases=2.5", "setting bases is 2.5; give a whole number"),
        ("iscil", "bases=[2]", "setting bases is [2]; give a whole number"),
    ],
)
def test_a_setting_of_another_type_is_refused(method, pair, message):
    with pytest.raises(InvalidOption, match=f"^method {method}: .*{re.escape(message)}$"):
        settings_of(method, options_of([pair], "--set"))


@pytest.mark.parametrize("method", learners.names())
def test_a_methods_own_values_are_of_their_types(method):
    published = settings_of(method, {})
    assert settings_of(method, dataclasses.asdict(published)) == published


def test_values_that_fit_are_taken():
    assert settings_of("er", {"windows": None, "share": 1}).windows is None
    assert settings_of("er", {"windows": 12}).windows == 12
    assert settings_of("tail", {"noise": 0, "copies": False}).copies is False


@dataclasses.dataclass
class Odd:
    names: tuple[str, ...] = ()
    maybe: Optional[int] = None  # noqa: UP045  # the older way to write a union
    kind: Literal["a", "b"] = "a"
    rest: object = None


def test_annotations_without_a_word_take_what_is_finite():
    hints = hints_of(Odd)
    assert checked({"names": ["x"], "maybe": 3, "kind": "b"}, hints, "x") == {"names": ("x",), "maybe": 3, "kind": "b"}
    for name, value in (("names", "x"), ("maybe", 2.5), ("rest", [1.0, float("nan")]), ("rest", {"a": float("inf")})):
        with pytest.raises(InvalidOption, match=f"^x: setting {name} is "):
            checked({name: value}, hints, "x")
    with pytest.raises(InvalidOption, match='maybe is "2026-01-01"; give a whole number or null'):
        checked({"maybe": datetime.date(2026, 1, 1)}, hints, "x")
    with pytest.raises(UnknownName, match=r"x: No setting 'name'\. Did you mean 'names'"):
        checked({"name": 1}, hints, "x")


def test_annotations_that_cannot_be_read_check_nothing():
    kind = dataclasses.make_dataclass("Kind", [("share", "Nowhere", 1)])
    assert hints_of(kind) == {}


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("width=abc", '--net: setting of the network width is "abc"; give a whole number'),
        ("width=1e10", "width is 10000000000.0; give a whole number"),
        ("width=10000000000", "width is 10000000000; must be 2 to 8192"),
        ("width=-8", "width is -8; must be 2 to"),
        ("width=0", "width is 0; must be 2 to"),
        ("width=33", "width is 33; must be even"),
        ("layers=abc", 'layers is "abc"; give a whole number'),
        ("layers=-1", "layers is -1; must be 1 to 128"),
        ("layers=0", "layers is 0; must be 1 to 128"),
        ("dropout=5", r"dropout is 5; must be in [0, 1)"),
        ("dropout=NaN", "dropout is NaN; give a finite number"),
        ("dropout=abc", 'dropout is "abc"; give a finite number'),
        ("head=7", "head is 7; give a text"),
        ("head=l2", "head.kind is 'l2'; choose gmm or l1"),
        ("executed=11", "executed is 11; must be 1 to chunk=10"),
    ],
)
def test_a_network_that_cannot_be_is_refused(pair, message):
    with pytest.raises(InvalidOption, match=re.escape(message)):
        CPU.check(options_of([pair], "--net"))


def test_the_network_of_a_kit_can_be_changed_in_part():
    CPU.check({"width": 32, "dropout": 0})
    PAPERS.check({})
    with pytest.raises(UnknownName, match=r"study.toml: net: No setting of the network 'chunk'"):
        network_of({"chunk": 3}, "study.toml: net")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"act": "foo"}, "act is 'foo'; choose sample or mean"),
        ({"encoder": CLIP}, "No sentence encoder 'clip'"),
        ({"encoder": "bert"}, "No sentence encoder 'bert'"),
    ],
)
def test_a_kit_that_cannot_be_is_refused(changes, message):
    with pytest.raises((InvalidOption, UnknownName), match=message):
        dataclasses.replace(CPU, **changes)


def test_the_published_policy_has_its_own_encoder():
    with pytest.raises(InvalidOption, match="--encoder hashing is for the profile cpu"):
        dataclasses.replace(PAPERS, encoder="hashing")


@pytest.mark.parametrize("name", ["foo", "", "meta", "cuda:99", "cpu:x"])
def test_a_device_on_which_nothing_can_be_computed_is_refused(name):
    with pytest.raises(InvalidOption, match=rf"device is '{name}', on which nothing .*; there is cpu"):
        device_of(name)
    assert device_of("cpu").type == "cpu"

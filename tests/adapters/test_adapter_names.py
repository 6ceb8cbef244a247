"""How adapters are found: by their folder, or by an import string."""

import re

import pytest

from gym_grounding import adapters
from gym_grounding.adapters import toy
from gym_grounding.errors import UnknownName


def test_names_are_those_of_the_folder():
    assert adapters.names() == ("libero", "toy")


def test_an_import_string_names_an_adapter_of_ones_own():
    assert adapters.get("gym_grounding.adapters.toy:ADAPTER") is adapters.get("toy") is toy.ADAPTER


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tooy", "No adapter 'tooy'. Did you mean 'toy'? Known: libero, toy"),
        ("_base", "No adapter '_base'."),
        ("nowhere.toys:TOY", "no module 'nowhere' on the import path: No adapter 'nowhere.toys:TOY'."),
        ("gym_grounding.toys:TOY", "no module 'gym_grounding.toys' on the import path: No adapter"),
        ("gym_grounding.adapters.toy:TOY", "has no attribute 'TOY': No adapter 'gym_grounding.adapters.toy:TOY'."),
    ],
)
def test_unknown_names_say_what_is_missing(name, message):
    with pytest.raises(UnknownName, match=re.escape(message)):
        adapters.get(name)


@pytest.mark.parametrize(("code", "error"), [("import no_such_thing", ImportError), ("''.no", AttributeError)])
def test_a_broken_module_of_ones_own_keeps_its_own_error(tmp_path, monkeypatch, code, error):
    name = f"broken_adapter_{error.__name__}"
    (tmp_path / f"{name}.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(error, match="no") as caught:
        adapters.get(f"{name}:ADAPTER")
    assert not isinstance(caught.value, UnknownName)

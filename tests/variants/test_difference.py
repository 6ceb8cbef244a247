"""Differences between two registry files."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mini_registry import COLLISION, ORIGINAL, TARGET, dumped, mini, put, variant_at

from gym_grounding.errors import RegistryError
from gym_grounding.variants import difference
from gym_grounding.variants.difference import Change, Field

PATHS = [
    "version",
    "physics.mujoco",
    f"{ORIGINAL}.instruction",
    f"{TARGET}.certificate.witness.found",
    f"{TARGET}.goal",
    f"{COLLISION}.absent.noun",
    "scenes.aaaa.entities.cup_1.names",
    "tasks.0.slots.target",
    "suites.Mini.source",
    "dropped.0.note",
    "unavailable.0.reason",
]


@pytest.fixture
def compared(tmp_path):
    def compare(before, after):
        (tmp_path / "old.yaml").write_bytes(before if isinstance(before, bytes) else dumped(before))
        (tmp_path / "new.yaml").write_bytes(after if isinstance(after, bytes) else dumped(after))
        return difference.compare(tmp_path / "old.yaml", tmp_path / "new.yaml")

    return compare


def changed(path, value):
    data = mini()
    put(data, path, value)
    return data


def test_equal_files_are_equal(compared):
    found = compared(mini(), mini())
    assert found.changes == ()
    assert found.same_bytes
    assert difference.as_text(found) == "equal to the last byte"


def test_comments_and_layout_are_no_change(compared):
    found = compared(mini(), b"# a comment\n" + dumped(mini()))
    assert found.changes == ()
    assert not found.same_bytes
    assert difference.as_text(found) == "equal rows; only comments or layout differ"


@pytest.mark.parametrize("path", PATHS)
def test_one_changed_field_is_one_change(compared, path):
    found = compared(mini(), changed(path, "new"))
    (change,) = found.changes
    assert change.kind == difference.CHANGED
    (field,) = change.fields
    assert field.new == "new"
    assert field.name.split(".")[-1] == path.split(".")[-1]
    back = compared(changed(path, "new"), mini())
    assert back.changes == (Change(change.section, change.row, "changed", (Field(field.name, "new", field.old),)),)


def test_a_change_names_its_row(compared):
    (change,) = compared(mini(), changed(f"{TARGET}.certificate.on_path", True)).changes
    assert (change.section, change.row) == ("variants", "Mini-T0-ContrastTarget1")
    assert change.fields == (Field("certificate.on_path", False, True),)
    (change,) = compared(mini(), changed("dropped.0.reason", "manner")).changes
    assert change.row == "Mini-T2 contrast action 'turn off the lamp'"
    (change,) = compared(mini(), changed("physics.settle", 11)).changes
    assert (change.section, change.row, change.fields) == ("head", "", (Field("physics.settle", 10, 11),))
    (change,) = compared(mini(), changed("scenes.bbbb.problem", "desk")).changes
    assert (change.section, change.row) == ("scenes", "bbbb")


def test_false_is_not_zero(compared):
    (change,) = compared(mini(), changed(f"{TARGET}.certificate.on_path", 0)).changes
    assert repr(change.fields) == repr((Field("certificate.on_path", False, 0),))


def test_fields_that_come_and_go(compared):
    (change,) = compared(mini(), changed(f"{ORIGINAL}.note", "new")).changes
    assert change.fields == (Field("note", None, "new"),)
    (change,) = compared(changed(f"{ORIGINAL}.note", "old"), mini()).changes
    assert change.fields == (Field("note", "old", None),)


def test_rows_that_come_and_go(compared):
    without = changed(variant_at("T0-Paraphrase2"), ...)
    (gone,) = compared(mini(), without).changes
    assert (gone.section, gone.row, gone.kind) == ("variants", "Mini-T0-Paraphrase2", "removed")
    assert Field("instruction", "the cup belongs on the shelf", None) in gone.fields
    (new,) = compared(without, mini()).changes
    assert (new.row, new.kind) == ("Mini-T0-Paraphrase2", "added")
    assert Field("kind", None, "declarative") in new.fields


def test_a_section_that_comes_or_goes_is_its_rows(compared):
    without = mini()
    del without["dropped"]
    (gone,) = compared(mini(), without).changes
    assert (gone.section, gone.kind) == ("dropped", "removed")


def test_rows_in_another_order_are_told_once(compared):
    turned = mini()
    turned["variants"].reverse()
    assert compared(mini(), turned).changes == (Change("variants", "", "moved"),)


def test_rows_without_an_id_may_be_equal(compared):
    twice = mini()
    twice["dropped"] *= 2
    (change,) = compared(mini(), twice).changes
    assert (change.kind, change.row) == ("added", "Mini-T2 contrast action 'turn off the lamp' #2")


def test_files_that_are_not_valid_can_be_compared(compared):
    (change,) = compared(mini(), changed(f"{TARGET}.tier", "best")).changes
    assert change.fields == (Field("tier", "strict", "best"),)
    found = compared(b"format: 9\n", b"format: 1\nodd: [1, 2]\n")
    assert [change.fields for change in found.changes] == [(Field("format", 9, 1), Field("odd", None, [1, 2]))]


@pytest.mark.parametrize("content", [b"", b"[1, 2]", b"a: [", b"\xff"])
def test_files_that_are_no_registries_are_refused(compared, content):
    with pytest.raises(RegistryError, match=r"new\.yaml"):
        compared(mini(), content)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(RegistryError, match=r"absent.*name a registry file"):
        difference.compare(tmp_path / "absent.yaml", tmp_path / "absent.yaml")


def test_the_text_names_fields_and_sums(compared):
    data = changed(f"{TARGET}.certificate.on_path", True)
    put(data, f"{ORIGINAL}.instruction", "put it on the shelf")
    del data["dropped"]
    lines = difference.as_text(compared(mini(), data)).splitlines()
    assert "variants Mini-T0-Original: changed" in lines
    assert "    instruction: 'put the cup on the shelf' -> 'put it on the shelf'" in lines
    assert "    certificate.on_path: False -> True" in lines
    assert "dropped Mini-T2 contrast action 'turn off the lamp': removed" in lines
    assert lines[-1] == "variants: 2 changed; dropped: 1 removed"


def test_long_values_are_cut_in_the_text_only(compared):
    long = "word " * 100
    found = compared(mini(), changed(f"{ORIGINAL}.note", long))
    assert max(map(len, difference.as_text(found).splitlines())) < 150
    assert found.changes[0].fields[0].new == long


def test_the_json_form_has_everything(compared):
    found = compared(mini(), changed(f"{TARGET}.goal", [["on", "cup_1", "shelf_1_top"]]))
    data = json.loads(json.dumps(found.as_json()))
    assert data["same_bytes"] is False
    (change,) = data["changes"]
    assert change["fields"] == [
        {"name": "goal", "old": [["on", "cup_1", "pear_1"]], "new": [["on", "cup_1", "shelf_1_top"]]}
    ]


VALUES = st.recursive(
    st.one_of(st.booleans(), st.integers(-5, 5), st.sampled_from(["a", "b c", "on"])),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.sampled_from(["x", "y", "z"]), inner, max_size=2)
    ),
    max_leaves=5,
)


@given(
    old=st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3),
    new=st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3),
)
def test_there_are_fields_exactly_where_rows_differ(old, new):
    fields = tuple(difference._fields(old, new))
    assert bool(fields) == (json.dumps(old, sort_keys=True) != json.dumps(new, sort_keys=True))
    for field in fields:
        assert repr(field.old) != repr(field.new)

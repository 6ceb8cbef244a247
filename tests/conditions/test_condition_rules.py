"""What all conditions have in common, checked for each by name."""

from __future__ import annotations

import pytest

from gym_grounding import conditions, manifest
from gym_grounding.errors import UnknownName
from gym_grounding.testing import TOY_REGISTRY


def test_the_folder_lists_them() -> None:
    assert {"original", "paraphrase", "contrast", "collision"} <= set(conditions.names())


@pytest.mark.parametrize("name", conditions.names())
def test_a_condition_declares_itself(name: str) -> None:
    condition = conditions.get(name)
    assert condition.name == name
    assert condition.label.isalpha()
    assert condition.label[0].isupper()
    assert condition.scored_by in ("original", "target", None)
    assert condition.per_task >= 1


def test_labels_tell_conditions_apart() -> None:
    labels = [conditions.get(name).label for name in conditions.names()]
    assert len(set(labels)) == len(labels)


@pytest.mark.parametrize("name", conditions.names())
def test_no_rule_objects_to_the_supplied_rows(name: str) -> None:
    books = (manifest.load(), manifest.load(TOY_REGISTRY))
    rows = [(book, row) for book in books for row in book.select(conditions=[name])]
    assert rows
    condition = conditions.get(name)
    for book, row in rows:
        assert condition.violations(row, book.task(row.task), book.scene_of(row.task)) == ()
        assert condition.links(row, book.task(row.task), book.tasks) == ()


def test_what_each_is_scored_by_and_when() -> None:
    facts = {name: (conditions.get(name).scored_by, conditions.get(name).every_stage) for name in conditions.names()}
    assert facts["original"] == ("original", True)
    assert facts["paraphrase"] == ("original", True)
    assert facts["contrast"] == ("target", False)
    assert facts["collision"] == (None, False)


def test_an_unknown_condition_is_named() -> None:
    with pytest.raises(UnknownName, match=r"No condition 'paraphase'\. Did you mean 'paraphrase'"):
        conditions.get("paraphase")

"""Every kind of variant of every suite opens and steps on the real simulator."""

from __future__ import annotations

import pytest

from gym_grounding import conditions, manifest
from gym_grounding.types import Variant
from gym_grounding.variants import _smoke

TASKS = ("LiberoGoal-T0", "LiberoSpatial-T4", "LiberoObject-T3", "LiberoLong-T9")
"""One scene of each suite; T0 and T9 have reversed rows, all have added regions, lifts or presets somewhere."""


def chosen(task: str) -> list[Variant]:
    """One variant of each condition and slot of a task."""
    first = {(row.condition, row.slot): row for row in reversed(manifest.load().select(tasks=[task]))}
    return list(first.values())


def test_the_sample_has_every_condition() -> None:
    assert {row.condition for task in TASKS for row in chosen(task)} == set(conditions.names())
    assert any(row.goal and row.goal.regions for task in TASKS for row in chosen(task))


@pytest.mark.sim
@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_one_variant_of_each_condition_and_slot_runs(task: str) -> None:
    rows = chosen(task)
    assert len(rows) >= 12
    tried = list(_smoke.run(manifest.load(), rows))
    assert [one for one in tried if one.message] == []
    assert sorted(one.variant for one in tried) == sorted(row.id for row in rows)

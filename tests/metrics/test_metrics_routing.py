"""Routes: which part acted under other words than the original ones, from the same start."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_grounding.metrics import Scope, routing
from gym_grounding.metrics._balance import wilson
from gym_grounding.report import _routing
from gym_grounding.report._book import Book
from gym_grounding.testing.records import episode, evidence

SHARES = st.lists(st.floats(0, 1), min_size=2, max_size=5)


def measured(episodes, name="route_changed", stages=(0, 1), **scope):
    found = routing.METRIC.compute([evidence(episodes, stages=stages)], np.random.default_rng(0))
    return [one.value for one in found if one.quantity == name and one.scope == Scope(stage=max(stages), **scope)]


def noted(condition, init_state, part, stage=1, **more):
    return episode(condition, init_state=init_state, stage=stage, notes={"slot": part}, **more)


ORIGINALS = [noted("original", state, 3) for state in range(4)]


def test_routes_are_compared_from_the_same_start():
    paraphrases = [noted("paraphrase", state, part) for state, part in enumerate((3, 3, 3, 1))]
    elsewhere = [noted("paraphrase", 9, 1), noted("paraphrase", 0, 1, stage=0), noted("paraphrase", 0, 1, seed=1)]
    unnoted = [episode("paraphrase", stage=1, variant="Toy-T0-Paraphrase2")]
    (value,) = measured([*ORIGINALS, *paraphrases, *elsewhere, *unnoted], condition="paraphrase", kind="slot")
    assert (value.mean, value.n) == (0.25, 4)
    assert value.interval == pytest.approx(wilson(0.25, 4))


def test_tasks_are_balanced():
    other = {"task": "Toy-T1"}
    episodes = [
        *ORIGINALS,
        noted("original", 0, 0, **other),
        *(noted("null", state, 3) for state in range(4)),
        noted("null", 0, 1, **other),
    ]
    (value,) = measured(episodes, condition="null", kind="slot")
    assert (value.mean, value.n, value.tasks) == (0.5, 5, 2)


def test_tiers_of_contrasts_stand_apart():
    contrasts = [
        noted("contrast", state, 3 if tier == "strict" else 0, tier=tier, slot="target", variant=f"Toy-T0-{tier}")
        for state in range(4)
        for tier in ("strict", "permissive")
    ]
    rates = {
        tier: measured([*ORIGINALS, *contrasts], condition="contrast", tier=tier, kind="slot")[0].mean
        for tier in ("strict", "permissive")
    }
    assert rates == {"strict": 0.0, "permissive": 1.0}


def test_shares_have_a_leading_part_and_a_distance():
    notes = {"original": [0.7, 0.3, 0.0], "collision": [0.4, 0.5, 0.1]}
    episodes = [
        episode(name, slot="object" if name == "collision" else None, stage=1, notes={"coefficients.a": shares})
        for name, shares in notes.items()
    ]
    scope = {"condition": "collision", "kind": "coefficients.a"}
    assert measured(episodes, **scope)[0].mean == 1.0
    assert measured(episodes, "route_moved", **scope)[0].mean == pytest.approx((0.3 + 0.2 + 0.1) / 2)
    assert measured(episodes, "route_moved", **scope)[0].interval is None


@pytest.mark.parametrize(
    ("name", "note", "expected"),
    [
        ("slot", 3, True),
        ("slot_changes", 3, False),
        ("slot", True, False),
        ("similarity", 0.5, False),
        ("coefficients.a", [0.5, 0.5], True),
        ("coefficients.a", [1.0], False),  # nothing to choose from
        ("coefficients.a", [[0.5, 0.5], [0.5, 0.5]], False),
        ("slot", None, False),
    ],
)
def test_what_a_route_is(name, note, expected):
    assert routing.is_route(name, note) is expected


def test_no_partner_is_no_rate():
    (value,) = measured([*ORIGINALS, noted("paraphrase", 9, 1)], condition="paraphrase", kind="slot")
    assert (value.mean, value.reason) == (None, routing.NOTHING)


def test_a_number_and_a_list_are_not_compared():
    listed = [noted("paraphrase", state, [0.5, 0.5]) for state in range(4)]
    (value,) = measured([*ORIGINALS, *listed], condition="paraphrase", kind="slot")
    assert value.mean is None


def test_the_first_of_equal_shares_leads():
    assert routing.leading([0.25, 0.5, 0.5]) == 1
    assert routing.leading([0.0, 0.0]) == 0


@given(SHARES, SHARES)
def test_shares_moved_is_a_distance(one, two):
    assert routing.moved(one, two) == pytest.approx(routing.moved(two, one))
    assert routing.moved(one, one) == 0
    assert routing.moved(one, [*one, 0.0]) == 0
    assert routing.moved(one, two) >= 0


class Study:
    """The part of a study that the table reads."""

    def __init__(self, *methods):
        self.methods = methods


class Method:
    """The part of a method that the table reads."""

    name = "method"


def table(episodes):
    found = routing.METRIC.compute([evidence(episodes, stages=(0, 1))], np.random.default_rng(0))
    return _routing.routing_table(Book.of(Study(Method()), found))


def test_the_table_has_a_row_for_each_condition():
    found = table([*ORIGINALS, *(noted("paraphrase", state, 2) for state in range(4)), noted("null", 1, 3)])
    assert [(row[0], row[1], row[2], row[4].mean, row[6]) for row in found.rows] == [
        ("method", "slot", "null", 0.0, "1 / 1 / 1 / 1"),
        ("method", "slot", "paraphrase", 1.0, "4 / 1 / 1 / 1"),
    ]


def test_without_routes_there_is_no_table():
    assert table([episode(stage=1), episode("paraphrase", stage=1)]) is None

"""The report's table of what policies note: compared with the original from the same start; absent without notes."""

import pytest

from gym_grounding.report._notes import _compared, _distance, _rows
from gym_grounding.testing.records import episode, evidence


class Method:
    """The part of a method that the table reads."""

    name = "one"

    def __init__(self, episodes):
        self.evidence = evidence(episodes, stages=(0, 1))


def noted(condition, init_state, number, share, **more):
    notes = {"slot_changes": number, "share": share, "slot": number, "coefficients.a": [share, 1 - share]}
    return episode(condition, init_state=init_state, stage=1, notes=notes, **more)


def test_notes_that_are_no_routes_are_compared_with_the_original_of_the_same_start():
    episodes = [
        noted("original", 0, 1, 0.5),
        noted("original", 1, 2, 1.0),
        noted("paraphrase", 0, 1, 0.75),
        noted("paraphrase", 1, 1, 1.0),
        noted("contrast", 1, 3, 0.0, slot="target", tier="strict"),
        noted("paraphrase", 7, 9, 9.0),  # there is no original to compare it with
        episode("paraphrase", stage=0, notes={"slot_changes": 5}),  # not the last stage
        episode("collision", stage=1, slot="object"),  # notes nothing
    ]
    assert list(_rows(Method(episodes))) == [
        ("one", "share", "contrast", None, 1.0, 1),
        ("one", "share", "paraphrase", None, 0.125, 2),
        ("one", "slot_changes", "contrast", 1.0, None, 1),
        ("one", "slot_changes", "paraphrase", 0.5, None, 2),
    ]


def test_without_notes_there_are_no_rows():
    assert list(_rows(Method([episode(stage=1), episode("paraphrase", stage=1)]))) == []


def test_lists_are_compared_number_by_number():
    assert _distance([1.0, 0.0], [0.0, 0.0, 0.5]) == pytest.approx(0.5)
    assert _distance([], []) == 0.0
    assert _compared([(1, 1.5)]) == (None, 0.5)
    assert _compared([(1, 2), (3, 3)]) == (0.5, None)

"""The writer of registry files: what it writes is what the loader reads, in one fixed form."""

from __future__ import annotations

import math
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gym_grounding.manifest import _source
from gym_grounding.variants import _yaml

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.integers(-(10**6), 10**6).map(lambda number: number / 10**4)
    | TEXTS
)
DATA = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS.filter(bool), inner, max_size=4)
)
ROWS = st.dictionaries(TEXTS.filter(bool), DATA, min_size=1, max_size=5)


def read(raw: bytes) -> Any:
    """The file as the loader sees it."""
    return _source.parse(raw, "file")


@given(st.lists(ROWS, max_size=4), st.dictionaries(TEXTS.filter(bool), ROWS, max_size=3))
def test_the_loader_reads_what_was_written(rows: list[Any], named: dict[str, Any]) -> None:
    data = {"format": 1, "rows": rows, "named": named}
    assert read(_yaml.dump(data, "a comment: {x}")) == data


@given(st.lists(ROWS, max_size=4))
def test_equal_content_gives_equal_bytes(rows: list[Any]) -> None:
    assert _yaml.dump({"rows": rows}) == _yaml.dump({"rows": [dict(row) for row in rows]})


@pytest.mark.parametrize(
    "word", ["on", "off", "yes", "No", "y", "null", "~", "1", "1e5", "0x1f", "1_000", "nan", "a: b", ""]
)
def test_no_reader_takes_a_text_for_something_else(word: str) -> None:
    raw = _yaml.dump({"rows": [{"word": word}]})
    assert yaml.safe_load(raw) == read(raw) == {"rows": [{"word": word}]}


def test_form_of_a_row() -> None:
    row = {"id": "A-T0", "goal": [["on", "a", "b"]], "ranges": [-0.0, 0.12345, 1.0], "flag": True, "number": 3}
    raw = _yaml.dump({"format": 1, "variants": [row]}, "first\n\nsecond")
    assert raw.decode() == (
        "# first\n#\n# second\nformat: 1\nvariants:\n  - id: A-T0\n"
        '    goal: [["on", a, b]]\n    ranges: [0.0, 0.1235, 1.0]\n    flag: true\n    number: 3\n'
    )


def test_long_lists_are_broken_up_and_stay_the_same() -> None:
    row = {"texts": [f"sentence number {index} of many" for index in range(9)], "map": {"key": "x" * 150}}
    raw = _yaml.dump({"rows": [row]})
    assert read(raw) == {"rows": [row]}
    assert "\n      - sentence number" in raw.decode()


def test_numbers_have_four_decimals() -> None:
    assert _yaml.scalar(0.1 + 0.2) == "0.3"
    assert _yaml.scalar(-0.00001) == "0.0"
    assert _yaml.scalar(2.0) == "2.0"
    assert math.isclose(float(_yaml.scalar(-1.23456)), -1.2346)

"""Rules about wording."""

from __future__ import annotations

import pytest

from gym_grounding.conditions import _text

GOOD = "put the cup on the shelf"


@pytest.mark.parametrize("condition", ["original", "paraphrase", "contrast", "collision"])
@pytest.mark.parametrize(
    "text",
    [
        "Put the cup on the shelf",
        "put the cup on the shelf.",
        "put the cup on the shelf ",
        " put the cup on the shelf",
        "put  the cup on the shelf",
        "put the cup on the shelf?",
        "put the cup on shelf_1",
        "put the cup on shelf 1",
        "put the cup, on the shelf",
        "put the cook's cup on the shelf",
        "put the cup\ton the shelf",
        "put the cup on the shelf\n",
        "put the cup on the \u00e9tag\u00e8re",
        "put it",
        " ".join(["put"] * 41),
        "supercalifragilistic " * 14 + "put",
        "",
    ],
)
def test_texts_of_another_form_are_refused(codes, condition: str, text: str) -> None:
    assert ("instruction", "surface") in codes(condition, instruction=text)


@pytest.mark.parametrize("text", ["close the door", " ".join(["put"] * 40)])
def test_limits_of_length_are_inclusive(codes, text: str) -> None:
    assert ("instruction", "surface") not in codes("paraphrase", instruction=text)


@pytest.mark.parametrize(
    "copy",
    [
        GOOD,
        "Put the cup on the shelf!",
        "please put the cup on the shelf",
        "could you please put the cup on the shelf?",
        "put a cup on this shelf",
        "put cup on shelf",
        "put the cup on that shelf",
        "kindly put the cup on the shelf",
    ],
)
def test_near_copies(copy: str) -> None:
    assert _text.redundant(copy, GOOD)
    assert _text.redundant(GOOD, copy)


@pytest.mark.parametrize(
    "other",
    [
        "place the cup on the shelf",
        "the cup should be put on the shelf",
        "on the shelf put the cup",
        "put the shelf on the cup",
        "put the cup on the shelf and turn on the lamp",
    ],
)
def test_other_wordings(other: str) -> None:
    assert not _text.redundant(other, GOOD)


def test_overlap_counts_bigrams_with_both_ends() -> None:
    text = "take the small red cup from the table and put it on the high shelf"
    assert _text.redundant(f"{text} now", text)  # 15 of 18 bigrams
    assert not _text.redundant(text.replace("small", "tiny"), text)  # 14 of 18
    assert _text.redundant("lift drop lift", "lift drop lift drop lift") is True  # the same bigrams
    assert _text.redundant("open shut lamp", "open shut lamp open shut lamp")  # 4 of 5: the limit counts
    assert not _text.redundant("please turn the stove on", "turn on the stove")


def test_phrases_are_whole_words() -> None:
    assert _text.contains("put the cup on the shelf", "the cup")
    assert not _text.contains("put the cupboard on the shelf", "cup")
    assert _text.replacements("put the cup on the cup", "cup", "pear") == (
        "put the pear on the cup",
        "put the cup on the pear",
    )
    assert _text.replacements("put the cupboard away", "cup", "pear") == ()
    assert _text.replacements("on on on", "on on", "x") == ("x on", "on x")

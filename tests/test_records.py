"""Records go to JSON and back unchanged; anything else is refused by the name of the field."""

import dataclasses
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym_grounding.records import Cell, EpisodeRecord, ErrorRecord, ProbeRecord, RunHeader, from_json, to_json

text = st.text(max_size=20)
number = st.floats(allow_nan=False, allow_infinity=False)
steps = st.dictionaries(text, st.integers(1, 10**6), max_size=3)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | number | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
episodes = st.builds(
    EpisodeRecord,
    first_held=steps,
    motion_steps=steps,
    held_at_end=st.lists(text, max_size=3).map(tuple),
    void=st.lists(text, max_size=3).map(tuple),
    displacement=number,
    action_mean_norm=number,
    seconds=number,
)
errors = st.builds(ErrorRecord, variant=text, kind=text, message=text, traceback=text)
probes = st.builds(
    ProbeRecord,
    variant=text,
    observation=text,
    action_original=st.lists(number, max_size=7).map(tuple),
    action_variant=st.lists(number, max_size=7).map(tuple),
    log_prob_original=st.none() | number,
    log_prob_variant=st.none() | number,
)
headers = st.builds(
    RunHeader,
    policy_options=st.dictionaries(text, plain, max_size=3),
    plan=st.dictionaries(text, plain, max_size=3),
    settings=st.dictionaries(text, plain, max_size=3),
    scenes=st.dictionaries(text, text, max_size=3),
    versions=st.dictionaries(text, text, max_size=3),
)


def an_episode(**changes: object) -> EpisodeRecord:
    values = {
        "stage": 9, "variant": "S-T1-Original", "init_state": 3, "seed": 100, "task": "S-T1", "condition": "original",
        "slot": None, "tier": None, "kind": "", "judged": "ever", "instruction": "open the drawer",
        "instruction_sha256": "00", "episode_seed": 7, "steps": 12, "ended": "terminated", "success": True,
        "first_held": {"original": 12}, "held_at_end": ("original",), "void": (), "motion_steps": {"0.01": 2},
        "displacement": 0.3, "action_mean_norm": 0.5, "task_identity": False, "seconds": 1.5,
    }  # fmt: skip
    return EpisodeRecord(**{**values, **changes})


@given(episodes | errors | probes | headers)
def test_json_round_trip(record):
    again = from_json(type(record), to_json(record))
    assert again == record
    assert to_json(again) == to_json(record)


def test_reached_honours_void_and_the_way_of_judging():
    record = an_episode(first_held={"original": 3, "S-T2": 9}, held_at_end=("S-T2", "S-T4"), void=("S-T4",))
    assert record.reached("original")
    assert not record.reached("original", "end")
    assert record.reached("S-T2", "end")
    assert not record.reached("S-T4", "end")
    assert not record.reached("S-T3")
    assert record.cell == Cell(9, "S-T1-Original", 3, 100)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"steps": "12"}, r"EpisodeRecord.steps: expected .*int.*, got '12'"),
        ({"steps": True}, "EpisodeRecord.steps"),
        ({"success": 1}, "EpisodeRecord.success"),
        ({"slot": 3}, "EpisodeRecord.slot"),
        ({"first_held": {"original": 1.5}}, r"EpisodeRecord.first_held\['original'\]"),
        ({"first_held": ["original"]}, "EpisodeRecord.first_held"),
        ({"void": [1]}, r"EpisodeRecord.void\[0\]"),
        ({"void": "original"}, "EpisodeRecord.void"),
        ({"seconds": None}, "EpisodeRecord.seconds"),
        ({"reward": 1}, r"unknown fields \['reward'\]"),
    ],
)
def test_a_wrong_field_is_named(change, message):
    data = {**json.loads(to_json(an_episode())), **change}
    with pytest.raises(ValueError, match=message):
        from_json(EpisodeRecord, json.dumps(data))


def test_a_missing_field_is_named():
    data = json.loads(to_json(an_episode()))
    del data["steps"]
    with pytest.raises(ValueError, match=r"missing fields \['steps'\]"):
        from_json(EpisodeRecord, json.dumps(data))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null"])
def test_no_record_at_all(text):
    with pytest.raises(ValueError):
        from_json(ErrorRecord, text)


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_no_infinite_numbers_come_in(constant):
    with pytest.raises(ValueError):
        from_json(EpisodeRecord, to_json(an_episode(seconds=1.25)).replace("1.25", constant))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_infinite_numbers_go_out(value):
    with pytest.raises(ValueError):
        to_json(an_episode(displacement=value))


def test_optional_fields_may_be_absent():
    data = json.loads(to_json(ErrorRecord(0, "v", 1, 2, "policy", "it broke")))
    del data["traceback"]
    assert from_json(ErrorRecord, json.dumps(data)).traceback == ""
    data = json.loads(to_json(an_episode()))
    del data["notes"]
    assert from_json(EpisodeRecord, json.dumps(data)).notes == {}


def test_records_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        an_episode().steps = 3

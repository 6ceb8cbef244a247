"""Control conditions on the command line: left out unless they are named."""

import pytest
from click.testing import CliRunner

from gym_grounding import conditions
from gym_grounding.cli import conditions_of, main
from gym_grounding.store import RunStore
from gym_grounding.testing import TOY_REGISTRY

COMMON = [
    "--suite",
    "Toy",
    "--registry",
    TOY_REGISTRY,
    "--init-states",
    "0",
    "--horizon",
    "2",
    "--observation",
    "state",
]


def ran(*arguments):
    done = CliRunner().invoke(main, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (None, None),
        ("all", conditions.names()),
        (" all ", conditions.names()),
        ("swap,null", ("swap", "null")),
    ],
)
def test_names_of_conditions(text, names):
    assert conditions_of(text) == names


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], set(conditions.standard())),
        (["--conditions", "all"], set(conditions.names())),
        (["--conditions", "original,negated"], {"original", "negated"}),
    ],
)
def test_an_evaluation_plays_what_is_asked_for(tmp_path, given, expected):
    out = str(tmp_path / "run")
    policy = ["--policy", "gym_grounding.testing.fakes:ToyPolicy", "--workers", "0"]
    ran("evaluate", *policy, *COMMON, *given, "--out", out)
    with RunStore.open(out) as store:
        assert {record.condition for record in store.episodes()} == expected
    report = ran("report", out, "--out", str(tmp_path / "report"))
    assert "written:" in report


def test_the_help_says_which_there_are():
    text = " ".join(ran("evaluate", "--help").split())
    assert f"default: {','.join(conditions.standard())}" in text
    for name in conditions.controls():
        assert name in text


def test_a_list_of_the_registry_shows_the_controls_too():
    lines = ran("list", "--registry", TOY_REGISTRY, "--conditions", "null,reverse").splitlines()
    assert "Grounding/Toy-T0-Null-v0\t" in lines
    assert "Grounding/Toy-T2-Reverse1-v0\tturn off the lamp" in lines
    assert "43" in ran("list", "--registry", TOY_REGISTRY, "--counts").splitlines()[-1]


def test_metrics_say_what_is_measured_of_controls():
    page = ran("metrics")
    for words in ("Control conditions", "swap", "null", "shuffled", "negated", "noise", "reverse", "preset"):
        assert words in page.lower() or words in page

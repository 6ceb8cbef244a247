"""The commands of ``gym-grounding variants``, with the toy registry where one is needed."""

import json
import sys
import types
from dataclasses import replace

import click
import pytest
from click.testing import CliRunner
from mini_registry import dumped, mini, put

from gym_grounding import cli
from gym_grounding import manifest as manifests
from gym_grounding.errors import InvalidOption
from gym_grounding.testing import TOY_REGISTRY
from gym_grounding.types import SLOTS
from gym_grounding.variants import _figure, _smoke, coverage
from gym_grounding.variants.commands import variants

TOY = ("--registry", TOY_REGISTRY)


def run(*arguments):
    group = cli.Commands("gym-grounding", commands={"variants": variants})
    return CliRunner().invoke(group, ["variants", *[str(argument) for argument in arguments]])


def lines(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def test_every_command_explains_itself():
    assert set(variants.commands) == {
        "build", "list", "show", "coverage", "reasons", "diff", "import", "gallery", "smoke", "certify", "reached",
    }  # fmt: skip
    for name, command in variants.commands.items():
        result = run(name, "--help")
        assert result.exit_code == 0
        assert len(command.help) > 30
        assert all(option.help for option in command.params if isinstance(option, click.Option))


def test_list_gives_ids_with_texts(toy):
    assert lines("list", *TOY) == [f"{row.id}\t{row.instruction}" for row in toy.variants.values()]


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        (("--suite", "Toy"), lambda row: True),
        (("--task", "Toy-T3,Toy-T4"), lambda row: row.task in ("Toy-T3", "Toy-T4")),
        (("--condition", "contrast, null"), lambda row: row.condition in ("contrast", "null")),
        (("--slot", "target"), lambda row: row.slot == "target"),
        (("--tier", "strict"), lambda row: row.tier == "strict"),
        (("--tier", "strict,permissive", "--slot", "action"), lambda row: row.tier and row.slot == "action"),
        (("--condition", "collision", "--tier", "strict"), lambda row: False),
    ],
)
def test_list_filters(toy, options, kept):
    expected = [row.id for row in toy.variants.values() if kept(row)]
    assert [line.split("\t")[0] for line in lines("list", *TOY, *options)] == expected


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--suite", "Tou", "Did you mean 'Toy'"),
        ("--task", "Toy-T9", "No task 'Toy-T9'"),
        ("--condition", "contrst", "Did you mean 'contrast'"),
        ("--slot", "noun", "No slot 'noun'"),
        ("--tier", "best", "No tier 'best'"),
    ],
)
def test_list_refuses_unknown_names(option, value, message):
    result = run("list", *TOY, option, value)
    assert result.exit_code == 2
    assert message in result.stderr


def test_list_as_json_holds_the_rows(toy):
    rows = {row["id"]: row for row in json.loads("\n".join(lines("list", *TOY, "--json")))}
    assert list(rows) == list(toy.variants)
    region = rows["Toy-T1-ContrastRelation1"]
    assert region["goal"] == [["on", "block_1", "toy_table_chest_1_behind"]]
    assert region["regions"][0]["ranges"] == [-0.02, -0.31, 0.08, -0.21]
    assert region["changed"] == {"from": "on", "to": "behind"}
    assert "absent" not in region
    assert rows["Toy-T5-CollisionObject1"]["absent"]["satisfiable_part"] == "open the left drawer"
    assert "goal" not in rows["Toy-T5-CollisionObject1"]
    assert rows["Toy-T2-Reverse2"]["described"] is True
    assert rows["Toy-T2-Reverse2"]["joints"] == {"lamp_1": 1.0}
    assert rows["Toy-T0-Null"]["instruction"] == ""


def test_show_prints_and_draws(toy, tmp_path):
    printed = lines(
        "show", "Toy-T0-ContrastTarget1", *TOY, "--png", tmp_path / "one.png", "--init-state", 2, "--size", 64
    )
    assert printed[:2] == ["Toy-T0-ContrastTarget1", "  put the block on the chest"]
    assert printed[-1] == f"{tmp_path / 'one.png'}: initial state 2 after settling"
    assert (tmp_path / "one.png").read_bytes().startswith(b"\x89PNG")


def test_show_refuses_unknown_ids_and_starts(tmp_path):
    result = run("show", "Toy-T0-ContrastTarget2", *TOY)
    assert result.exit_code == 2
    assert "Did you mean 'Toy-T0-ContrastTarget1'" in result.stderr
    result = run("show", "Toy-T0-ContrastTarget1", *TOY, "--png", tmp_path / "one.png", "--init-state", 99)
    assert result.exit_code == 2
    assert "init_state 99" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_coverage_prints_draws_and_marks_down(toy, tmp_path):
    printed = "\n".join(lines("coverage", *TOY, "--figure", tmp_path / "cells.png"))
    for table in coverage.tables(toy):
        assert table.title in printed
    assert _figure.digest(coverage.cells(toy)).encode() in (tmp_path / "cells.png").read_bytes()
    assert "| suite | condition | cells |" in lines("coverage", *TOY, "--markdown")[2]


def test_reasons_are_printed():
    assert any("already_true" in line for line in lines("reasons"))
    assert any(line.startswith("| ") for line in lines("reasons", "--markdown"))


def test_diff_tells_and_counts(tmp_path):
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    data = mini()
    old.write_bytes(dumped(data))
    put(data, "variants.0.instruction", "place the cup on the shelf")
    new.write_bytes(dumped(data))
    result = run("diff", old, new)
    assert result.exit_code == 1
    assert "'put the cup on the shelf' -> 'place the cup on the shelf'" in result.stdout
    assert run("diff", old, old).exit_code == 0
    result = run("diff", old, new, "--json")
    assert result.exit_code == 1
    assert [change["row"] for change in json.loads(result.stdout)["changes"]] == ["Mini-T0-Original"]
    assert run("diff", old, tmp_path / "none.yaml").exit_code == 2


def test_gallery_is_written(tmp_path):
    printed = lines("gallery", *TOY, "--out", tmp_path / "pages", "--size", 40)
    assert printed == [f"{tmp_path / 'pages' / 'index.html'}: open it in a browser; 1 suite(s)"]
    assert "data:image/jpeg" in (tmp_path / "pages" / "Toy.html").read_text()
    lines("gallery", *TOY, "--out", tmp_path / "plain", "--no-pictures")
    assert "data:image/jpeg;" not in (tmp_path / "plain" / "Toy.html").read_text()
    assert run("gallery", *TOY, "--out", tmp_path / "pages", "--suite", "Nope").exit_code == 2


def test_smoke_tries_a_sample_or_all(toy):
    sampled = {(row.task, row.condition) for row in toy.variants.values()}
    assert lines("smoke", *TOY) == [f"{len(sampled)} of {len(sampled)} variants open and step"]
    assert lines("smoke", *TOY, "--all") == [f"{len(toy.variants)} of {len(toy.variants)} variants open and step"]


def test_a_sample_is_the_first_of_each_task_and_condition(toy):
    chosen = _smoke.sample(toy)
    assert [(row.task, row.condition) for row in chosen] == list(
        dict.fromkeys((row.task, row.condition) for row in toy.variants.values())
    )
    assert "Toy-T0-Paraphrase1" in {row.id for row in chosen}
    assert "Toy-T0-Paraphrase2" not in {row.id for row in chosen}
    assert _smoke.sample(toy, "Toy", everything=True) == tuple(toy.variants.values())


@pytest.mark.parametrize("workers", [1, 2])
def test_smoke_tells_what_does_not_run(toy, workers):
    spoilt = replace(toy.variants["Toy-T3-Original"], id="Toy-T3-Missing")
    manifest = replace(toy, variants={**toy.variants, spoilt.id: spoilt})
    tried = list(_smoke.run(manifest, [*_smoke.sample(toy)[:6], spoilt], workers))
    assert {one.variant: bool(one.message) for one in tried} == {
        **{row.id: False for row in _smoke.sample(toy)[:6]},
        "Toy-T3-Missing": True,
    }
    (message,) = (one.message for one in tried if one.message)
    assert message.startswith("UnknownName: ")


def test_smoke_ends_with_1_when_something_fails(monkeypatch):
    def check(name, registry):
        if name.endswith("ContrastTarget1"):
            raise AssertionError("it does not step")

    monkeypatch.setattr("gym_grounding.testing.check_variant", check)
    result = run("smoke", *TOY, "--all")
    assert result.exit_code == 1
    assert "Toy-T0-ContrastTarget1: AssertionError: it does not step" in result.stdout
    assert "Toy-T0-ContrastTarget1" in result.stdout.splitlines()[0]


@pytest.fixture
def built(monkeypatch):
    """A stand-in for the builder that notes how it is called."""
    calls = []

    def build(**given):
        calls.append(given)
        list(given["progress"]([1, 2]))
        if given["record"] and given["replay"]:
            raise InvalidOption("record and replay exclude each other")
        return types.SimpleNamespace(text=b"", differences=differences, summary="40 tasks")

    differences = ()
    module = types.ModuleType("gym_grounding.variants.build")
    module.build = build
    monkeypatch.setitem(sys.modules, module.__name__, module)

    def found(*rows):
        nonlocal differences
        differences = rows

    return types.SimpleNamespace(calls=calls, found=found)


def test_build_passes_everything_on(built, tmp_path):
    arguments = ("--proposer", "local", "--record", tmp_path / "said", "--fresh", "--workers", 3)
    arguments += ("--evidence", tmp_path / "measured.jsonl", "--reached", tmp_path / "reached.jsonl")
    assert lines("build", *arguments, "--registry", tmp_path / "new.yaml") == [f"{tmp_path / 'new.yaml'}: 40 tasks"]
    (call,) = built.calls
    del call["progress"]
    assert call == {
        "proposer": "local", "record": tmp_path / "said", "replay": None, "fresh": True, "workers": 3,
        "out": tmp_path / "new.yaml", "check": False, "evidence": tmp_path / "measured.jsonl", "options": {},
        "reached": tmp_path / "reached.jsonl",
    }  # fmt: skip


def test_build_passes_options_of_the_proposer(built):
    lines("build", "--proposer", "local", "--proposer-option", "model=small", "--proposer-option", "count=3")
    assert built.calls[0]["options"] == {"model": "small", "count": 3}
    result = run("build", "--proposer-option", "model")
    assert result.exit_code == 2
    assert "KEY=VALUE" in result.stderr


def test_build_finds_a_proposer_in_the_working_directory(built, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [one for one in sys.path if one not in ("", str(tmp_path))])
    lines("build", "--proposer", "rules")
    assert str(tmp_path) not in sys.path
    lines("build", "--proposer", "my_proposer:PROPOSER")
    assert sys.path[0] == str(tmp_path)


def test_the_command_and_the_builder_agree_on_their_arguments():
    import inspect

    from gym_grounding.variants.build import build

    taken = set(inspect.signature(build).parameters)
    named = {option.name for option in variants.commands["build"].params}
    assert named - {"registry", "proposer_option"} | {"out", "options", "progress"} == taken


def test_build_check_ends_with_1_when_the_file_differs(built):
    assert lines("build", "--check") == [f"{manifests.default_path()}: is what would be built, byte for byte: 40 tasks"]
    assert built.calls[0]["check"] is True
    built.found("-old", "+new")
    result = run("build", "--check")
    assert result.exit_code == 1
    assert result.stdout.splitlines() == ["-old", "+new"]
    assert "differs from what would be built" in result.stderr


def test_errors_of_the_builder_end_with_2(built, tmp_path):
    result = run("build", "--record", tmp_path / "a", "--replay", tmp_path / "b")
    assert result.exit_code == 2
    assert "exclude each other" in result.stderr


def test_slots_in_the_help_are_the_real_ones():
    assert ",".join(SLOTS) in run("list", "--help").output.replace("\n", "").replace(" ", "")

"""What the pages say is what commands print, and what they name is there."""

import importlib.util
import re
import shlex
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from gym_grounding_policies import commands as learner_commands

from gym_grounding import cli, conditions
from gym_grounding import manifest as manifests
from gym_grounding.types import SLOTS
from gym_grounding.variants import _figure, coverage, reasons
from gym_grounding.variants.commands import variants

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = {path.name: path.read_text(encoding="utf-8") for path in sorted(DOCS.glob("*.md"))}
COMMANDS = {**cli.main.commands, "variants": variants}
PROGRAMS = {"gym-grounding": COMMANDS, "gym-grounding-policies": learner_commands.main.commands}


def loaded(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATE = loaded(DOCS / "generate.py")
PARTS = [(name, command) for name, page in PAGES.items() for command in GENERATE.commands(page)]


def run(command):
    program, *arguments = shlex.split(command)
    assert program == "gym-grounding"
    done = CliRunner().invoke(cli.Commands("gym-grounding", commands=COMMANDS), arguments)
    assert done.exit_code == 0, done.output
    return done.stdout.strip()


def handwritten(page):
    """A page without its generated parts."""
    return GENERATE.PART.sub("", page)


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


def quoted(page):
    """Everything between single backticks, outside of blocks."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL))


def test_the_pages_are_there():
    assert set(PAGES) >= {"instructions.md", "oracle.md", "own_variants.md"}
    assert {command for _, command in PARTS} == {
        "python benchmarks/paraphrase_audit.py",
        "gym-grounding variants reasons --markdown",
        "gym-grounding variants coverage --markdown",
        "gym-grounding variants reached --markdown",
    }


@pytest.mark.parametrize(("name", "command"), [part for part in PARTS if part[1].startswith("gym-grounding ")])
def test_a_generated_part_is_what_its_command_prints(name, command):
    (part,) = (found for found in GENERATE.PART.finditer(PAGES[name]) if found["command"] == command)
    assert part["text"].strip() == run(command), f"run: python docs/generate.py docs/{name}"


@pytest.mark.slow
@pytest.mark.parametrize(("name", "command"), [part for part in PARTS if part[1].startswith("python ")])
def test_a_measured_part_is_what_its_command_prints(name, command):
    (part,) = (found for found in GENERATE.PART.finditer(PAGES[name]) if found["command"] == command)
    assert part["text"].strip() == GENERATE.printed(command), f"run: python docs/generate.py docs/{name}"


def test_generating_replaces_the_parts_and_nothing_else():
    page = "before\n<!-- generated: python a.py -->\nold\n<!-- end -->\nafter\n<!-- generated: x y -->\n<!-- end -->\n"
    assert GENERATE.commands(page) == ("python a.py", "x y")
    new = GENERATE.regenerated(page, lambda command: f"<{command}>")
    assert new == (
        "before\n<!-- generated: python a.py -->\n\n<python a.py>\n\n<!-- end -->\nafter\n"
        "<!-- generated: x y -->\n\n<x y>\n\n<!-- end -->\n"
    )
    assert GENERATE.regenerated(new, lambda command: f"<{command}>") == new


def test_every_marker_is_closed():
    for page in PAGES.values():
        assert page.count("<!-- generated: ") == page.count("<!-- end -->") == len(GENERATE.commands(page))


def test_other_programs_are_not_run():
    with pytest.raises(SystemExit, match="comes from one of gym-grounding, python"):
        GENERATE.printed("rm -rf nothing")


def test_the_figure_shows_the_shipped_registry():
    assert [found["command"] for found in GENERATE.FIGURE.finditer(PAGES["instructions.md"])] == [
        "gym-grounding variants coverage --figure docs/coverage.png"
    ]
    png = (DOCS / "coverage.png").read_bytes()
    digest = _figure.digest(coverage.cells(manifests.load()))
    assert digest.encode() in png, "run: python docs/generate.py"
    assert len(png) < 200_000


@pytest.mark.parametrize("name", PAGES)
def test_commands_and_their_options_exist(name):
    page = handwritten(PAGES[name])
    texts = [line for block in blocks(page, "sh") for line in block.splitlines()] + quoted(page)
    used = [text for text in texts if text.split(" ")[0] in PROGRAMS and " " in text]
    assert used
    for text in used:
        program, *words = shlex.split(text)
        command = PROGRAMS[program][words[0]]
        if isinstance(command, click.Group) and len(words) > 1:
            command = command.commands[words[1]]
        known = {option for one in command.params for option in one.opts}
        assert {word for word in words if word.startswith("--")} <= known, text
    first = [command for commands in PROGRAMS.values() for command in commands.values()]
    groups = [command for command in first if isinstance(command, click.Group)]
    every = [*first, *(one for group in groups for one in group.commands.values())]
    options = {option for command in every for one in command.params for option in one.opts}
    options |= {"--check"}  # of docs/generate.py as well
    assert {found for text in quoted(page) for found in re.findall(r"(?<!\S)--[a-z][a-z-]*", text)} <= options


@pytest.mark.parametrize("name", PAGES)
def test_links_lead_somewhere(name):
    anchors = {
        page: {
            re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")
            for title in re.findall(r"^#+ (.*)$", text, re.M)
        }
        for page, text in PAGES.items()
    }
    for target in re.findall(r"\]\(([^)]+)\)", handwritten(PAGES[name])):
        file, _, anchor = target.partition("#")
        assert (DOCS / (file or name)).exists(), target
        assert not anchor or anchor in anchors[file or name], target


@pytest.mark.parametrize("name", PAGES)
def test_files_and_modules_exist(name):
    endings = (".py", ".yaml", ".jsonl", ".md", "/")
    words = {word for text in quoted(handwritten(PAGES[name])) for word in text.split() if word.endswith(endings)}
    own = {"my_registry.yaml", "log.jsonl"}
    assert words
    for word in sorted(words - own):
        places = (ROOT / word, ROOT / "gym_grounding" / "variants" / word)
        assert any(place.exists() for place in places), word


def test_reason_codes_of_the_pages_are_known():
    known = {code for group in [*reasons.RULES.values(), reasons.NOTHING] for code in group}
    table = handwritten(PAGES["own_variants.md"]).split("| code | what helps |")[1].split("\n\n")[0]
    codes = re.findall(r"`([a-z_]+)`", table)
    assert len(codes) > 6
    assert set(codes) <= known


def test_numbers_in_the_text_are_those_of_the_code():
    from gym_grounding.variants.validator import _places

    page = " ".join(handwritten(PAGES["instructions.md"]).split())
    assert f"{_places.HALF_SIDE:.2f} m to each side" in page
    assert f"({_places.HALF_SIDE_OF_TWO:.2f} or {_places.HALF_SIDE_OF_TWO_WIDE:.2f} m for two things)" in page
    assert f"a gap of {_places.GAP:.2f} m" in page
    assert f"{_places.NEAR:.2f} to {_places.FAR:.2f} m from the robot's base" in page
    cells = coverage.cells(manifests.load())
    tasks = len({cell.task for cell in cells})
    assert f"Each LIBERO task has {len(cells) // tasks} places" in page
    assert len(SLOTS) == 5


def test_numbers_about_the_oracle_are_those_of_the_code():
    from gym_grounding.experts.trial import REST, TOUCH
    from gym_grounding.variants import certify

    page = " ".join(handwritten(PAGES["oracle.md"]).split())
    assert f"still held for {REST} control steps" in page
    assert f"came true within {certify.STILL} steps" in page
    assert f"no joint had moved by {TOUCH} m or rad" in page
    (default,) = (one.default for one in variants.commands["certify"].params if one.name == "init_states")
    assert default == "0:10"
    assert "from ten initial states" in page


def test_kinds_and_controls_of_the_page_are_those_of_the_code():
    from gym_grounding.variants.proposers.paraphrases import KINDS

    page = handwritten(PAGES["instructions.md"])
    rows = re.findall(r"^\| (\d) \| `(\w+)` \|", page, re.M)
    assert rows == [(str(number), kind) for number, kind in enumerate(KINDS, 1)]
    controls = page.split("## Controls")[1].split("## ")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", controls, re.M)) == set(conditions.controls())


def test_the_proposer_of_the_page_is_one(tmp_path):
    from gym_grounding.variants.proposers import ProposalRequest, Proposer

    (code,) = blocks(PAGES["own_variants.md"], "python")
    (tmp_path / "my_proposer.py").write_text(code)
    proposer = loaded(tmp_path / "my_proposer.py").PROPOSER
    assert isinstance(proposer, Proposer)
    manifest = manifests.load()
    task = manifest.task("LiberoGoal-T8")
    scene = manifest.scene_of(task.id)
    (proposal,) = proposer.propose(ProposalRequest(task, scene, "paraphrase"))
    assert proposal.instruction == "would you mind putting the bowl on the plate"
    assert proposer.propose(ProposalRequest(task, scene, "contrast", "target")) == ()


def test_the_sentences_of_the_page_can_be_read():
    from gym_grounding.variants._sentences import read

    (text,) = blocks(PAGES["own_variants.md"], "csv")
    found = read(Path("sentences.csv"), text.encode(), manifests.load())
    assert [(one.condition, one.slot) for one in found] == [
        ("paraphrase", None), ("contrast", "target"), ("collision", "object"),
    ]  # fmt: skip


@pytest.mark.sim
@pytest.mark.slow
def test_the_sentences_of_the_page_pass_the_checks(tmp_path):
    (text,) = blocks(PAGES["own_variants.md"], "csv")
    (tmp_path / "sentences.csv").write_text(text)
    out = tmp_path / "my_registry.yaml"
    printed = run(f"gym-grounding variants import {tmp_path / 'sentences.csv'} --out {out}")
    assert "3 of 3 sentences kept" in printed
    assert manifests.problems(out) == ()
    assert (tmp_path / "my_registry.report.json").is_file()


def test_the_own_registry_of_the_page_is_valid(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    assert "examples/own_registry.yaml" in PAGES["own_variants.md"]
    assert run(f"gym-grounding validate --registry {ROOT / 'examples' / 'own_registry.yaml'}")

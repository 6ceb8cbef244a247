"""The builder: the shipped registry is its output, byte for byte, and any other file is told from it."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from gym_grounding import cli, manifest
from gym_grounding.errors import InvalidOption, RegistryError, UnwritableOutput
from gym_grounding.variants import _yaml, build, evidence
from gym_grounding.variants._document import document
from gym_grounding.variants.build import Chosen, _best, _differences, _paraphrases, _replace
from gym_grounding.variants.types import Judgement, Proposal

pytest.importorskip("spacy", reason="the audit extra is not installed")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> build.BuildReport:
    """What the builder makes of the recorded measurements, written into a file of its own."""
    folder = tmp_path_factory.mktemp("built")
    out, measured = folder / "registry.yaml", folder / "evidence.jsonl"
    measured.write_bytes(evidence.FILE.read_bytes())
    report = build.build(out=out, evidence=measured)
    assert out.read_bytes() == report.text
    assert measured.read_bytes() == evidence.FILE.read_bytes(), "something was measured again, or is recorded in vain"
    return report


@pytest.mark.slow
def test_the_shipped_registry_is_what_would_be_built(built: build.BuildReport) -> None:
    assert built.text == manifest.default_path().read_bytes()
    assert built.summary.startswith("40 tasks, 850 variants, ")


@pytest.mark.slow
def test_check_names_what_differs_and_writes_nothing(built: build.BuildReport, tmp_path: Path) -> None:
    other = tmp_path / "registry.yaml"
    other.write_bytes(built.text.replace(b"put the bowl on the cooktop", b"put the bowl on the hot plate"))
    before, measured = other.read_bytes(), evidence.FILE.read_bytes()
    done = CliRunner().invoke(cli.main, ["variants", "build", "--check", "--registry", str(other)])
    assert done.exit_code == 1
    assert "-    instruction: put the bowl on the hot plate" in done.stdout
    assert "+    instruction: put the bowl on the cooktop" in done.stdout
    assert other.read_bytes() == before
    assert evidence.FILE.read_bytes() == measured


def test_recording_and_replaying_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(InvalidOption, match="exclude each other"):
        build.build(check=True, record=tmp_path, replay=tmp_path, evidence=evidence.FILE)


def test_differences_are_lines_and_equal_bytes_have_none(tmp_path: Path) -> None:
    file = tmp_path / "registry.yaml"
    file.write_bytes(b"a: 1\nb: 2\n")
    assert _differences(b"a: 1\nb: 2\n", file) == ()
    assert "-b: 2" in _differences(b"a: 1\nb: 3\n", file)
    assert "+b: 3" in _differences(b"a: 1\nb: 3\n", file)
    assert _differences(b"a: 1\r\nb: 2\n", file) == ("the bytes differ",)
    assert "+a: 1" in _differences(b"a: 1\n", tmp_path / "absent.yaml")


def test_a_file_that_cannot_be_written_keeps_the_old_one(tmp_path: Path) -> None:
    target = tmp_path / "registry.yaml"
    target.mkdir()
    with pytest.raises(UnwritableOutput, match=r"registry\.yaml: cannot be written"):
        _replace(target, b"new")
    assert list(tmp_path.iterdir()) == [target]


class Two:
    """Proposes two sentences for whatever is asked."""

    name = "two"

    def propose(self, request: object) -> tuple[Proposal, ...]:
        task = request.task  # type: ignore[attr-defined]
        condition, slot = request.condition, request.slot  # type: ignore[attr-defined]
        return tuple(Proposal(task.id, condition, slot, text, kind="verb_synonym") for text in ("first", "second"))


class Judges:
    """Judges as told: text -> (reason, rank)."""

    def __init__(self, verdicts: dict[str, tuple[str, tuple[int, ...]]]) -> None:
        self.verdicts = verdicts
        self.siblings: list[tuple[str, ...]] = []

    def __call__(self, proposal: Proposal, context: object) -> Judgement:
        self.siblings.append(tuple(context.siblings))  # type: ignore[attr-defined]
        reason, rank = self.verdicts[proposal.instruction]
        return Judgement(proposal, reason, "why", None, {}, rank)


class World:
    """As much of a context as choosing needs."""

    def __init__(self, siblings: tuple[str, ...] = ()) -> None:
        self.definitions = self
        self.siblings = siblings

    def scene_of(self, task: str) -> object:
        return manifest.load().scene_of(task)

    def with_siblings(self, siblings: list[str]) -> World:
        return World(tuple(siblings))


def choose(monkeypatch: pytest.MonkeyPatch, slot: str, **verdicts: tuple[str, tuple[int, ...]]) -> Chosen:
    monkeypatch.setattr(build, "judge", Judges(verdicts))
    return _best(manifest.load().task("LiberoGoal-T1"), "contrast", slot, Two(), World())  # type: ignore[arg-type]


def test_the_lowest_rank_is_chosen_and_ties_go_to_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = choose(monkeypatch, "object", first=("", (1, 0)), second=("", (0, 5)))
    assert cell.winner is not None
    assert cell.winner.proposal.instruction == "second"
    assert [other.proposal.instruction for other in cell.others] == ["first"]
    cell = choose(monkeypatch, "object", first=("", (0,)), second=("", (0,)))
    assert cell.winner is not None
    assert cell.winner.proposal.instruction == "first"


def test_a_refused_sentence_is_never_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = choose(monkeypatch, "object", first=("same_goal", ()), second=("surface", ()))
    assert cell.winner is None
    assert [other.reason for other in cell.others] == ["same_goal", "surface"]
    assert cell.nothing is None


def test_a_cell_without_its_slot_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    cell = choose(monkeypatch, "attribute")
    assert cell.winner is None
    assert cell.others == ()
    assert cell.nothing is not None
    assert cell.nothing[0] == "no_attribute_word"


def test_paraphrases_are_taken_kind_by_kind_beside_their_siblings(monkeypatch: pytest.MonkeyPatch) -> None:
    judges = Judges({"first": ("redundant", ()), "second": ("", ())})
    monkeypatch.setattr(build, "judge", judges)
    task = manifest.load().task("LiberoGoal-T1")
    found = _paraphrases(task, Two(), World())  # type: ignore[arg-type]
    assert [cell.number for cell in found] == [1, 2, 3, 4, 5]
    assert found[0].winner is not None
    assert found[0].winner.proposal.instruction == "second"
    assert [other.reason for other in found[0].others] == ["redundant"]
    assert all(cell.nothing is not None and cell.nothing[0] == "not_proposed" for cell in found[1:])
    assert set(judges.siblings) == {(task.instruction,)}


@pytest.mark.slow
def test_what_is_no_registry_is_not_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    out = tmp_path / "registry.yaml"
    out.write_bytes(b"old")
    broken = _yaml.dump({"format": 1, "version": 0})
    monkeypatch.setattr(build, "document", lambda *_: broken)
    monkeypatch.setattr(build, "cells", lambda *_: ())
    copy = tmp_path / "evidence.jsonl"
    copy.write_bytes(evidence.FILE.read_bytes())
    with pytest.raises(RegistryError, match="suites"):
        build.build(out=out, evidence=copy)
    assert out.read_bytes() == b"old"
    assert document is not build.document

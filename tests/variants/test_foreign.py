"""Sentences of others: judged like our own, written as a registry that loads."""

import json
import os
from pathlib import Path

import gymnasium
import pytest

from gym_grounding import manifest as manifests
from gym_grounding.errors import InvalidOption, MissingSource, RegistryError, UnwritableOutput
from gym_grounding.registration import register
from gym_grounding.testing import TOY_REGISTRY
from gym_grounding.types import Goal, Predicate
from gym_grounding.variants import foreign
from gym_grounding.variants.audit import Audit
from gym_grounding.variants.definitions import load as known
from gym_grounding.variants.foreign import Unsaved
from gym_grounding.variants.types import Judgement
from gym_grounding.variants.validator import Context

CHEST = Goal((Predicate("on", ("block_1", "chest_1_top_side")),))
CSV = """\
task,instruction,condition,slot,goal,kind
Toy-T0,Set the block on the tray.,,,,verb_synonym
put_the_block_on_the_tray,"would you ""please"" put it there?",paraphrase,,,
Toy-T0,put the block on the chest,contrast,target,"on(block_1, chest_1_top_side)",
Toy-T1,put the block on the moon,collision,target,,
"""
HEAD = "task,instruction,condition,slot,goal,kind\n"


class Validator:
    """Stands for the validator and its context: refuses what holds a bad word, and keeps what it was asked."""

    evidence = None

    def __init__(self):
        self.asked, self.siblings = [], None

    def with_siblings(self, siblings):
        self.siblings = list(siblings)
        return self

    def judge(self, proposal, context):
        assert context is self
        self.asked.append((proposal, self.siblings))
        if "please" in proposal.instruction:
            return Judgement(proposal, "surface", "holds quotes")
        if proposal.condition == "contrast":
            trained = ["Toy-T1"] if proposal.goal == CHEST else []
            row = {
                "changed": {"from": "tray", "to": proposal.instruction.split()[-1]},
                "goal": proposal.goal,
                "tier": "strict",
                "certificate": {
                    "support": "native",
                    "demonstrated": "none",
                    "on_path": False,
                    "trained_goal_of": trained,
                },
            }
            return Judgement(proposal, tier="strict", row=row)
        if proposal.condition == "collision":
            absent = {"kind": "entity", "noun": "moon", "trained_noun": False}
            words = {"from": "chest", "to": "moon"}
            return Judgement(proposal, row={"changed": words, "absent": absent})
        return Judgement(proposal)


@pytest.fixture
def validator(monkeypatch):
    made = Validator()
    monkeypatch.setattr(foreign, "judge", made.judge)
    return made


@pytest.fixture
def importing(validator, toy, tmp_path):
    """Writes a file, imports it, and returns the report."""

    def run(content, name="sentences.csv", out="own.yaml", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return foreign.import_file(path, validator, toy, tmp_path / out, **options)

    return run


# Importing


def test_kept_sentences_make_a_registry_and_the_report_says_what_happened(importing, validator, toy, tmp_path):
    report = importing(CSV)
    assert report.registry == tmp_path / "own.yaml"
    own = manifests.load(report.registry)
    new = {name: row for name, row in own.variants.items() if row.condition != "original"}
    assert {name: row.instruction for name, row in new.items()} == {
        "Toy-T0-Paraphrase1": "set the block on the tray",
        "Toy-T0-ContrastTarget1": "put the block on the chest",
        "Toy-T1-CollisionTarget1": "put the block on the moon",
    }
    assert new["Toy-T0-Paraphrase1"].kind == "verb_synonym"
    contrast = new["Toy-T0-ContrastTarget1"]
    assert (contrast.goal, contrast.tier) == (CHEST, "strict")
    assert contrast.details["changed"] == {"from": "tray", "to": "chest"}
    assert [(outcome.id, outcome.reason) for outcome in report.outcomes] == [
        ("Toy-T0-Paraphrase1", ""),
        ("", "surface"),
        ("Toy-T0-ContrastTarget1", ""),
        ("Toy-T1-CollisionTarget1", ""),
    ]
    assert (len(report.kept), len(report.dropped)) == (3, 1)


def test_a_suffix_makes_ids_that_can_be_registered_beside_the_others(importing):
    report = importing(CSV, suffix="Mine")
    own = manifests.load(report.registry)
    assert list(own.suites) == ["ToyMine"]
    assert {row.suite for row in own.tasks.values()} == {"ToyMine"}
    assert report.outcomes[0].id == "ToyMine-T0-Paraphrase1"
    assert own.variant("ToyMine-T0-Paraphrase1").task == "ToyMine-T0"
    ids = register(report.registry)
    for name in ids:
        del gymnasium.registry[name]
    assert "Grounding/ToyMine-T0-Paraphrase1-v0" in ids
    with pytest.raises(InvalidOption, match="letters and digits"):
        importing(CSV, suffix="-v1")


def test_the_registry_holds_the_scenes_that_are_used_with_all_their_tasks(importing, toy):
    own = manifests.load(importing(CSV).registry)
    scene = toy.tasks["Toy-T0"].scene
    assert list(own.scenes) == [scene]
    assert len(toy.scenes) > 1
    assert own.scenes[scene] == toy.scenes[scene]
    assert own.tasks == {name: task for name, task in toy.tasks.items() if task.scene == scene}
    originals = {name: row for name, row in own.variants.items() if row.condition == "original"}
    assert originals == {f"{name}-Original": toy.variants[f"{name}-Original"] for name in own.tasks}
    assert (own.version, own.physics, own.suites) == (toy.version, toy.physics, toy.suites)


def test_what_the_validator_is_asked(importing, validator):
    importing(CSV)
    first, second, contrast, collision = (proposal for proposal, _ in validator.asked)
    assert (first.instruction, first.kind, first.source) == ("set the block on the tray", "verb_synonym", "foreign")
    assert (second.instruction, second.kind) == ('would you "please" put it there', "foreign")
    assert (contrast.slot, contrast.changed, contrast.goal) == ("target", None, CHEST)
    assert (collision.task, collision.changed, collision.goal) == ("Toy-T1", None, None)
    canonical = "put the block on the tray"
    assert [siblings for _, siblings in validator.asked] == [
        [canonical],
        [canonical, "set the block on the tray"],
        [canonical],
        ["put the block on the chest"],
    ]


def test_numbers_count_what_is_kept_in_file_order(importing):
    lines = ["lay the block on the tray", "please", "the block should be placed on the tray", "set the block onto it"]
    report = importing("task,instruction\n" + "".join(f"Toy-T0,{line}\n" for line in lines))
    assert [outcome.id for outcome in report.outcomes][:3] == ["Toy-T0-Paraphrase1", "", "Toy-T0-Paraphrase2"]


def test_what_the_registry_itself_refuses_is_dropped_with_its_reason(importing, validator):
    """The stand-in accepts these; the registry's own rules do not, and the file must load all the same."""
    lines = [
        "lay the block on the tray",
        "kindly lay the block on the tray",
        "lay the bowl on the tray",
        "put the block on the tray",
    ]
    report = importing("task,instruction\n" + "".join(f"Toy-T0,{line}\n" for line in lines))
    assert report.outcomes[0].reason == ""
    reasons = {outcome.instruction: outcome.reason for outcome in report.dropped}
    assert reasons == {lines[1]: "redundant", lines[2]: "other_entity", lines[3]: "redundant"}
    manifests.load(report.registry)


def test_a_registry_that_would_not_load_is_not_written(importing, validator, monkeypatch, tmp_path):
    def uncertain(proposal, context):
        judgement = validator.judge(proposal, context)
        if proposal.condition == "contrast":
            judgement.row["certificate"]["trained_goal_of"] = []
        return judgement

    monkeypatch.setattr(foreign, "judge", uncertain)
    with pytest.raises(RegistryError, match=r"own\.yaml: Toy-T0-ContrastTarget1: certificate\.trained_goal_of"):
        importing(CSV)
    assert [path.name for path in tmp_path.iterdir()] == ["sentences.csv"]


def test_the_same_sentence_twice_is_kept_once(importing):
    report = importing("task,instruction\nToy-T0,set the block on the tray\nToy-T0,Set  the block on the tray!\n")
    assert [(outcome.id, outcome.reason) for outcome in report.outcomes] == [
        ("Toy-T0-Paraphrase1", ""),
        ("", "repeated"),
    ]
    assert "Toy-T0-Paraphrase1" in report.dropped[0].note


def test_a_second_contrast_of_a_cell_is_numbered(importing):
    text = HEAD + (
        'Toy-T0,put the block on the chest,contrast,target,"on(block_1, chest_1_top_side)",\n'
        'Toy-T0,put the block on the bowl,contrast,target,"on(block_1, bowl_1)",\n'
    )
    own = manifests.load(importing(text).registry)
    other = Goal((Predicate("on", ("block_1", "bowl_1")),))
    assert [own.variants[f"Toy-T0-ContrastTarget{n}"].goal for n in (1, 2)] == [CHEST, other]


def test_more_than_a_registry_can_number_are_dropped(importing, monkeypatch):
    monkeypatch.setattr(foreign, "MOST_VARIANTS", 1)
    report = importing(
        "task,instruction\nToy-T0,lay the block on the tray\nToy-T0,the block should be placed on the tray\n"
    )
    assert [outcome.reason for outcome in report.outcomes] == ["", "too_many"]


def test_the_report_as_lines_and_as_a_file(importing, tmp_path):
    report = importing(CSV)
    lines = report.lines()
    assert lines[0] == f"{tmp_path}/sentences.csv: 3 of 4 sentences kept; {tmp_path}/own.yaml holds them"
    assert "  1 dropped: surface" in lines
    assert "  2 rewritten: final punctuation" in lines
    assert "  1 rewritten: lower case" in lines
    assert lines[-1] == ("line 3: Toy-T0 paraphrase: 'would you \"please\" put it there': surface: holds quotes")
    assert report.report == tmp_path / "own.report.json"
    text = report.report.read_text("utf-8")
    assert json.loads(text) == report.as_json()
    assert str(tmp_path) not in text
    assert report.as_json()["outcomes"][0] == {
        "line": 2,
        "task": "Toy-T0",
        "condition": "paraphrase",
        "kind": "verb_synonym",
        "given": "Set the block on the tray.",
        "instruction": "set the block on the tray",
        "normalised": ["final punctuation", "lower case"],
        "id": "Toy-T0-Paraphrase1",
    }
    assert report.as_json()["dropped"] == {"surface": 1}


def test_equal_files_give_equal_bytes(importing, tmp_path):
    first = importing(CSV)
    before = first.registry.read_bytes(), first.report.read_bytes()
    again = importing(CSV)
    assert (again.registry.read_bytes(), again.report.read_bytes()) == before
    assert b"/" + str(tmp_path).encode() not in before[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own.report.json", "own.yaml", "sentences.csv"]


def test_any_name_that_a_file_can_have_is_written(importing):
    report = importing(CSV, name="a\udcff {x}\n- b: c.csv", out="o\udcff.yaml")
    assert report.as_json()["source"] == "a? {x}\n- b: c.csv"
    assert report.as_json()["registry"] == "o?.yaml"
    assert len(manifests.load(report.registry).variants) == 3 + 3


def test_when_nothing_is_kept_only_the_report_is_written(importing, tmp_path):
    report = importing("task,instruction\nToy-T0,please do it\n")
    assert report.registry is None
    assert report.lines()[0].endswith("0 of 1 sentences kept; no registry was written")
    assert not (tmp_path / "own.yaml").exists()
    assert json.loads(report.report.read_text())["registry"] is None


def test_progress_wraps_the_sentences(importing):
    seen = []

    def progress(sentences):
        for sentence in sentences:
            seen.append(sentence.line)
            yield sentence

    importing(CSV, progress=progress)
    assert seen == [2, 3, 4, 5]


@pytest.mark.parametrize("out", ["own.json", "own"])
def test_a_registry_has_a_name_of_its_kind(importing, tmp_path, out):
    with pytest.raises(InvalidOption, match=r"a registry is written as \.yaml"):
        importing(CSV, out=out)
    assert [path.name for path in tmp_path.iterdir()] == ["sentences.csv"]


def test_what_is_read_is_not_overwritten(validator, tmp_path, monkeypatch):
    for name in ("shipped.yaml", "mine.yaml"):
        (tmp_path / name).write_bytes(Path(TOY_REGISTRY).read_bytes())
    mine = manifests.load(tmp_path / "mine.yaml")
    (tmp_path / "sentences.csv").write_text(CSV)
    (tmp_path / "link.yaml").symlink_to(tmp_path / "mine.yaml")
    monkeypatch.setattr(manifests, "default_path", lambda: tmp_path / "shipped.yaml")
    for out in ("shipped.yaml", "mine.yaml", "link.yaml"):
        with pytest.raises(InvalidOption, match=f"{out}: is read here, so it is not overwritten"):
            foreign.import_file(tmp_path / "sentences.csv", validator, mine, tmp_path / out)
    assert {path.read_bytes() for path in tmp_path.glob("*.yaml")} == {Path(TOY_REGISTRY).read_bytes()}


def test_a_report_does_not_replace_the_sentences(importing, tmp_path):
    text = json.dumps({"Toy-T0": ["set the block on the tray"]})
    with pytest.raises(InvalidOption, match=r"own\.report\.json: is read here"):
        importing(text, name="own.report.json")
    assert (tmp_path / "own.report.json").read_text() == text


def test_a_missing_file_is_named(validator, toy, tmp_path):
    for name in ("nowhere.csv", "a\0b.csv"):
        with pytest.raises(MissingSource, match=r"cannot be read .*name a \.csv or \.json file"):
            foreign.import_file(tmp_path / name, validator, toy, tmp_path / "own.yaml")


def test_a_registry_that_changed_since_it_was_loaded_is_not_mixed(validator, tmp_path):
    path = tmp_path / "toy.yaml"
    path.write_bytes(Path(TOY_REGISTRY).read_bytes())
    loaded = manifests.load(path)
    (tmp_path / "sentences.csv").write_text(CSV)
    path.write_bytes(path.read_bytes() + b"\n")
    with pytest.raises(RegistryError, match="has changed since it was loaded"):
        foreign.import_file(tmp_path / "sentences.csv", validator, loaded, tmp_path / "own.yaml")
    path.unlink()
    with pytest.raises(RegistryError, match="cannot be read any more"):
        foreign.import_file(tmp_path / "sentences.csv", validator, loaded, tmp_path / "own.yaml")


def test_an_output_that_cannot_be_written_is_named_and_nothing_is_left(importing, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with pytest.raises(UnwritableOutput, match=r"own\.yaml: cannot be written"):
        importing(CSV, out="file/own.yaml")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(UnwritableOutput, match="No space left"):
        importing(CSV)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "sentences.csv"]


# With the real validator


LIBERO = """\
task,instruction,condition,slot
LiberoGoal-T1,Place the bowl onto the stove.,,
put_the_bowl_on_the_stove,could you set the bowl down on the stove?,,
LiberoGoal-T1,do not put the bowl on the stove,,
LiberoGoal-T1,place the bowl on the plate,,
LiberoGoal-T1,please put the bowl on the stove,,
LiberoGoal-T1,put the bowl on the plate,contrast,target
LiberoGoal-T1,put the cream cheese on the stove,contrast,object
LiberoGoal-T1,put the cream cheese on the plate,contrast,object
LiberoGoal-T1,put the bowl on the moon,contrast,target
LiberoGoal-T1,put the bowl on the microwave,collision,target
LiberoGoal-T1,put the bowl on the plate,collision,target
"""


class Measurer:
    """Measures without a simulator: no goal holds at the start, each can be shown. Keeps what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, task, wanted):
        self.asked.append((task.id, wanted.layout, [goal.id for goal in wanted.goals]))
        names = [entity.name for entity in known().scene_of(task.id).of_kind("object", "fixture")]
        footprints = {name: [n, 3.0, n + 0.1, 3.1, 0.0, 0.1] for n, name in enumerate(names)}
        layout = {"footprints": footprints, "of": 50, "relations": {}, "robot": [-0.6, 0.0]}
        answers = [("layout", None, layout)] if wanted.layout else []
        for goal in wanted.goals:
            answers.append(("count", goal, {"raw": 0, "settled": 0, "tolerant": 0, "of": 50}))
            witness = {"found": True, "placement": "as it is", "state": 0, "original": False, "tried": 1}
            answers.append(("witness", goal, witness))
        assert not wanted.impossibles
        return answers


class Watched(Unsaved):
    """Measures in this process, and keeps what was to be measured at once and by how many."""

    prepared = ()

    def prepare(self, wanted, workers=1):
        self.prepared = (*self.prepared, (list(wanted), workers))
        super().prepare(wanted)


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """What became of the sentences above, the registry that was written, and what was measured."""
    pytest.importorskip("spacy", reason="the audit of paraphrases needs it: pip install 'gym-grounding[audit]'")
    folder, measurer = tmp_path_factory.mktemp("foreign"), Measurer()
    (folder / "sentences.csv").write_text(LIBERO)
    evidence = Watched(folder / "evidence.jsonl", measurer=measurer)
    context = Context(known(), evidence, Audit())
    out = folder / "own.yaml"
    report = foreign.import_file(folder / "sentences.csv", context, manifests.load(), out, workers=3)
    assert evidence.prepared == ((["LiberoGoal-T1"], 3),) * 2
    return report, manifests.load(report.registry), measurer


def test_good_sentences_of_others_pass_the_real_checks_and_bad_ones_do_not(judged):
    report, _, _ = judged
    assert [(outcome.sentence.line, outcome.id or outcome.reason) for outcome in report.outcomes] == [
        (2, "LiberoGoal-T1-Paraphrase1"),
        (3, "LiberoGoal-T1-Paraphrase2"),
        (4, "other_meaning"),
        (5, "other_meaning"),
        (6, "redundant"),
        (7, "LiberoGoal-T1-ContrastTarget1"),
        (8, "LiberoGoal-T1-ContrastObject1"),
        (9, "several_slots"),
        (10, "unresolved"),
        (11, "LiberoGoal-T1-CollisionTarget1"),
        (12, "repeated"),
    ]
    assert all(outcome.note for outcome in report.dropped)


def test_goals_and_certificates_are_the_validators_own(judged):
    _, own, _ = judged
    contrast = own.variants["LiberoGoal-T1-ContrastTarget1"]
    assert contrast.goal == Goal((Predicate("on", ("akita_black_bowl_1", "plate_1")),))
    assert contrast.tier == "strict"
    assert contrast.details["certificate"]["trained_goal_of"] == ("LiberoGoal-T8",)
    assert own.variants["LiberoGoal-T1-CollisionTarget1"].details["absent"]["noun"] == "microwave"
    assert set(own.tasks) == {f"LiberoGoal-T{index}" for index in range(10)}


def test_a_task_is_opened_once_for_its_layout_and_once_for_all_goals_and_nothing_is_saved(judged):
    report, _, measurer = judged
    goals = ["on(akita_black_bowl_1, plate_1)", "on(cream_cheese_1, flat_stove_1_cook_region)"]
    assert measurer.asked == [("LiberoGoal-T1", True, []), ("LiberoGoal-T1", False, goals)]
    assert not (report.report.parent / "evidence.jsonl").exists()

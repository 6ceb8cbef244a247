"""The two audits against bad sentences that look like paraphrases, and good ones that do not."""

import importlib.util
import re
import sys
from collections import Counter
from pathlib import Path

import pytest
from variants import planted

from gym_grounding.variants import audit, definitions
from gym_grounding.variants.language import meaning, parser

pytest.importorskip("spacy")
pytest.importorskip(audit.MODEL)

ROOT = Path(__file__).parents[2]
DEFINED = definitions.load()
TASKS = tuple(DEFINED.tasks.values())
BAD = planted.bad(TASKS, DEFINED.scenes)
GOOD = planted.odd_good(TASKS)
AUDIT = audit.Audit()


def parser_agrees(row):
    task, scene = DEFINED.task(row.task), DEFINED.scene_of(row.task)
    return meaning.same_meaning(parser.parse(row.text, scene), parser.parse(task.instruction, scene))


def tree_agrees(row):
    return not AUDIT.agrees(row.text, DEFINED.task(row.task).instruction, DEFINED.scene_of(row.task))


def test_there_are_enough_of_each():
    assert len(BAD) >= 1000
    assert min(Counter(row.task for row in BAD).values()) >= 15
    assert len({row.task for row in BAD}) == 40
    by_fault = Counter(row.fault for row in BAD)
    assert set(by_fault) == set(planted.FAULTS)
    assert min(by_fault.values()) >= 90
    by_origin = Counter(row.origin for row in BAD)
    assert by_origin["plain"] + by_origin["odd"] >= 120, "hand-written ones are there, some of them generated as well"
    assert len(GOOD) == 60
    assert {row.task for row in GOOD} == set(DEFINED.tasks), "every task has odd good ones"
    for task_id in DEFINED.tasks:
        faults = {row.fault for row in BAD if row.task == task_id}
        swapless = {"LiberoGoal-T7"}  # "turn on the stove" has one thing only
        assert faults >= set(planted.FAULTS) - ({"roles_swapped"} if task_id in swapless else set()), task_id


def test_they_are_written_like_paraphrases():
    """Nothing is refused for its written form: that would prove nothing of the audits."""
    for row in (*BAD, *GOOD):
        assert re.fullmatch(r"[a-z]+( [a-z]+){1,39}", row.text), row
        assert row.text != DEFINED.task(row.task).instruction
    assert len({(row.task, row.text) for row in (*BAD, *GOOD)}) == len(BAD) + len(GOOD), "none is both"


def test_generated_sentences_name_their_fault():
    """A sample by hand, so that the generator means what it says."""
    rows = {(row.task, row.text): row.fault for row in BAD}
    assert rows["LiberoGoal-T1", "the stove should be placed on the bowl"] == "roles_swapped"
    assert rows["LiberoGoal-T3", "open the drawer and put the bowl inside"] == "ambiguous"
    assert rows["LiberoLong-T2", "turn on the stove"] == "slot_dropped"
    assert rows["LiberoLong-T9", "put the yellow and white mug in the microwave and open it"] == "slot_changed"
    assert "negated" in {fault for (task, text), fault in rows.items() if text.startswith("do not ")}
    assert all(fault == "negated" for (task, text), fault in rows.items() if re.match(r"(do not|never|avoid) ", text))


def test_no_planted_sentence_passes_the_parser():
    assert [row for row in BAD if parser_agrees(row)] == []


@pytest.mark.slow
def test_no_planted_sentence_passes_the_dependency_parse():
    assert [row for row in BAD if tree_agrees(row)] == []


def test_no_handwritten_planted_sentence_passes_the_dependency_parse():
    assert [row for row in BAD if row.origin != "generated" and tree_agrees(row)] == []


def test_odd_good_sentences_are_kept_as_measured():
    """Floors, some below the measured 31, 25 and 18 of 60: precision comes first, but refusing all is no audit."""
    by_parser = {row for row in GOOD if parser_agrees(row)}
    by_tree = {row for row in GOOD if tree_agrees(row)}
    assert len(by_parser) >= 25
    assert len(by_tree) >= 22
    assert len(by_parser & by_tree) >= 15


@pytest.fixture
def benchmark(monkeypatch):
    path = ROOT / "benchmarks" / "paraphrase_audit.py"
    monkeypatch.setattr(sys, "path", list(sys.path))
    spec = importlib.util.spec_from_file_location("paraphrase_audit", path)
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "paraphrase_audit", module)
    spec.loader.exec_module(module)
    return module


def test_the_table_counts_right(benchmark):
    heard = [
        benchmark.Heard("One", False, "generated", False, True),
        benchmark.Heard("One", False, "odd", True, True),
        benchmark.Heard("One", True, "registered", True, True),
        benchmark.Heard("One", True, "odd", True, False),
        benchmark.Heard("Two", True, "odd", False, False),
    ]
    lines = benchmark.table(heard).splitlines()
    assert lines[0].count("|") == 8
    assert lines[2:] == [
        "| One | A, lexicon parser | 1 of 2 | 1 of 1 | 1 of 1 | 0.67 | 1.00 |",
        "| One | B, dependency parse | 2 of 2 | 1 of 1 | 0 of 1 | 0.33 | 0.00 |",
        "| One | A and B | 1 of 2 | 1 of 1 | 0 of 1 | 0.50 | 0.00 |",
        "| Two | A, lexicon parser | 0 of 0 | 0 of 0 | 0 of 1 |  | 0.00 |",
        "| Two | B, dependency parse | 0 of 0 | 0 of 0 | 0 of 1 |  | 0.00 |",
        "| Two | A and B | 0 of 0 | 0 of 0 | 0 of 1 |  | 0.00 |",
        "| all | A, lexicon parser | 1 of 2 | 1 of 1 | 1 of 2 | 0.67 | 0.50 |",
        "| all | B, dependency parse | 2 of 2 | 1 of 1 | 0 of 2 | 0.33 | 0.00 |",
        "| all | A and B | 1 of 2 | 1 of 1 | 0 of 2 | 0.50 | 0.00 |",
    ]


def test_the_benchmark_listens_to_both_audits(benchmark):
    task = DEFINED.task("LiberoGoal-T1")
    rows = [
        benchmark.planted.Row(task.id, "", "set the bowl on the stove", "registered"),
        benchmark.planted.Row(task.id, "slot_changed", "set the bowl on the plate", "generated"),
        benchmark.planted.Row(task.id, "", "put the bowl on the stove for me", "odd"),
    ]
    heard = benchmark.listen(rows, [task], DEFINED.scenes)
    assert heard == [
        benchmark.Heard("LiberoGoal", True, "registered", True, True),
        benchmark.Heard("LiberoGoal", False, "generated", False, False),
        benchmark.Heard("LiberoGoal", True, "odd", True, False),
    ]

"""Recorded measurements: what counts as an answer, what is measured anew, and how the file is written."""

import dataclasses
import json
from pathlib import Path

import fake_measurer
import pytest

from gym_grounding.errors import MissingSource, RegistryError, SimulatorError, UnwritableOutput
from gym_grounding.types import Goal, Predicate, Region
from gym_grounding.variants import _evidence_file, definitions, evidence
from gym_grounding.variants.evidence import Questions, Recorded
from gym_grounding.variants.types import Footprint, GoalCount, Impossible, Witness

DEFINED = definitions.load()
TASK = DEFINED.task("LiberoGoal-T8")
OTHER = DEFINED.task("LiberoSpatial-T0")
UNDER = ("akita_black_bowl_1", "under", "flat_stove_1")


def goal(*literals, regions=()):
    return Goal(tuple(Predicate(name, tuple(arguments)) for name, *arguments in literals), tuple(regions))


ON_STOVE = goal(("on", "akita_black_bowl_1", "flat_stove_1_cook_region"))
SIZE = len(ON_STOVE.id)


class Counting:
    """A measurer that notes what it was asked."""

    def __init__(self, measure=fake_measurer.measure):
        self.asked, self._measure = [], measure

    def __call__(self, task, questions):
        self.asked.append((task.id, questions))
        return self._measure(task, questions)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "evidence.jsonl"


@pytest.fixture
def written(path):
    """A file with an answer to every kind of question."""
    recorded = Recorded(path, measurer=fake_measurer.measure)
    recorded.prepare({TASK.id: [Questions((ON_STOVE,), (UNDER,))]})
    return path


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def rewrite(path, **changes):
    changed = [{**row, **changes} for row in rows(path)]
    path.write_text("".join(json.dumps(row) + "\n" for row in changed))


def test_answers_are_those_of_the_simulator_rounded(written):
    known = Recorded(written, measure=False)
    assert known.count(TASK, ON_STOVE) == GoalCount(0, SIZE, SIZE, 50)
    assert known.witness(TASK, ON_STOVE) == Witness(True, "as it stands", 7, False, SIZE)
    assert known.impossible(TASK, *UNDER) == Impossible(True, 9, 0.1235, 0.05)
    layout = known.layout(TASK)
    assert layout.footprints == {"plate_1": Footprint(-0.02, -0.09, 0.117, 0.05, 0.0, 0.0189)}
    assert layout.robot == (-0.66, 0.0)
    assert layout.of == 50
    assert layout.relations == {
        ("next to", "bowl_1", "plate_1"): 49,
        ("between", "bowl_1", "plate_1 ramekin_1"): 50,
        ("between", "bowl_1", "ramekin_1 plate_1"): 50,
    }


def test_fresh_and_recorded_answers_are_equal(written, path):
    fresh = Recorded(path.with_name("none"), measurer=fake_measurer.measure)
    known = Recorded(written, measure=False)
    assert fresh.layout(TASK) == known.layout(TASK)
    assert fresh.impossible(TASK, *UNDER) == known.impossible(TASK, *UNDER)


def test_what_is_recorded_is_not_measured_again(written):
    measurer = Counting()
    known = Recorded(written, measurer=measurer)
    known.count(TASK, ON_STOVE)
    known.prepare({TASK.id: [Questions((ON_STOVE,), (UNDER,))]})
    assert measurer.asked == []
    on_plate = goal(("on", "akita_black_bowl_1", "plate_1"))
    known.count(TASK, on_plate)
    known.witness(TASK, on_plate)
    assert measurer.asked == [(TASK.id, Questions((on_plate,)))]


def test_only_what_is_missing_is_asked_each_once_and_in_one_opening(written):
    measurer = Counting()
    new, again = goal(("turnon", "flat_stove_1")), ("plate_1", "under", "flat_stove_1")
    asked = [Questions((ON_STOVE, new), (UNDER, again)), Questions((new,), (again,), layout=False)]
    Recorded(written, measurer=measurer).prepare({TASK.id: asked})
    assert measurer.asked == [(TASK.id, Questions((new,), (again,), layout=False))]


@pytest.mark.parametrize("kind", ["count", "witness"])
def test_a_goal_is_measured_until_count_and_witness_are_known(written, kind):
    kept = [line for line in written.read_text().splitlines() if json.loads(line)["kind"] != kind]
    written.write_text("\n".join(kept))
    measurer = Counting()
    Recorded(written, measurer=measurer).prepare({TASK.id: [Questions((ON_STOVE,), (UNDER,))]})
    assert measurer.asked == [(TASK.id, Questions((ON_STOVE,), (), layout=False))]


@pytest.mark.parametrize(
    "nonsense",
    [
        goal(("in", "akita_black_bowl_1", "plate_1")),
        goal(("open", "flat_stove_1")),
        goal(("on", "akita_black_bowl_1", "microwave_1")),
        goal(("on", "akita_black_bowl_1", "main_table_plate_region")),
        goal(("turnon", "flat_stove_1"), ("in", "akita_black_bowl_1", "wooden_cabinet_1")),
    ],
    ids=lambda one: one.id,
)
def test_goals_that_the_simulator_cannot_judge_are_not_prepared(path, nonsense):
    measurer = Counting()
    Recorded(path, measurer=measurer).prepare({TASK.id: [Questions((nonsense,), layout=False)]})
    assert measurer.asked == []


@pytest.mark.parametrize(
    "changes",
    [{"physics": "mujoco 2.3.7"}, {"measurement": 0}, {"bddl": "0" * 64}, {"init": "0" * 64}],
    ids=lambda changes: next(iter(changes)),
)
def test_answers_for_other_files_physics_or_ways_do_not_count(written, changes):
    rewrite(written, **changes)
    measurer = Counting()
    known = Recorded(written, measurer=measurer)
    assert known.count(TASK, ON_STOVE).settled == SIZE
    assert len(measurer.asked) == 1
    known.save()
    count = next(row for row in rows(written) if row["kind"] == "count")
    assert (count["physics"], count["bddl"]) == (known.physics, TASK.checksums["bddl"])


def test_regions_belong_to_the_question(path):
    first = Region("main_table_plate_1_right", "main_table", (0.0, 0.1, 0.1, 0.2))
    moved = dataclasses.replace(first, ranges=(0.0, 0.1, 0.1, 0.2001))
    literal = ("on", "akita_black_bowl_1", first.name)
    measurer = Counting()
    known = Recorded(path, measurer=measurer)
    known.count(TASK, goal(literal, regions=[first]))
    known.count(TASK, goal(literal, regions=[first]))
    assert len(measurer.asked) == 1
    known.count(TASK, goal(literal, regions=[moved]))
    assert len(measurer.asked) == 2


def test_without_measuring_a_gap_says_what_to_do(written):
    known = Recorded(written, measure=False)
    wanted = rf"evidence.jsonl: .*LiberoSpatial-T0.*{known.physics}.*gym-grounding variants build"
    with pytest.raises(MissingSource, match=wanted):
        known.layout(OTHER)
    with pytest.raises(MissingSource, match=wanted):
        known.prepare({OTHER.id: [Questions()]})


def test_fresh_takes_nothing_from_the_file(written):
    measurer = Counting()
    Recorded(written, fresh=True, measurer=measurer).layout(TASK)
    assert len(measurer.asked) == 1


def test_a_measurer_that_leaves_the_question_open_is_an_error(path):
    with pytest.raises(SimulatorError, match=r"LiberoGoal-T8: measuring gave no answer to layout null"):
        Recorded(path, measurer=lambda task, questions: []).layout(TASK)


def test_every_finished_task_is_in_the_file_when_the_next_one_fails(path):
    wanted = {task.id: [Questions()] for task in (TASK, OTHER)}
    with pytest.raises(SimulatorError, match="no more"):
        Recorded(path, measurer=fake_measurer.fail_at_spatial).prepare(wanted)
    assert [row["task"] for row in rows(path)] == [TASK.id]
    measurer = Counting()
    Recorded(path, measurer=measurer).prepare(wanted)
    assert [task for task, _ in measurer.asked] == [OTHER.id]


def test_worker_processes_give_the_same_file_and_report_as_they_go(path, tmp_path):
    wanted = {task.id: [Questions((ON_STOVE,))] for task in DEFINED.tasks_of("LiberoGoal")[:3]}
    seen = []

    def progress(done, total):
        for task in done:
            seen.append((task, total))
            yield task

    Recorded(path, measurer=fake_measurer.measure).prepare(wanted, workers=2, progress=progress)
    assert sorted(seen) == [(task, 3) for task in wanted]
    alone = tmp_path / "alone.jsonl"
    Recorded(alone, measurer=fake_measurer.measure).prepare(wanted)
    assert alone.read_bytes() == path.read_bytes()


def test_equal_content_gives_equal_bytes_in_the_order_of_the_suites(path, tmp_path):
    tasks = [DEFINED.task(name) for name in ("LiberoLong-T0", "LiberoGoal-T2", "LiberoSpatial-T1", "LiberoGoal-T1")]
    for target, order in ((path, tasks), (tmp_path / "other", tasks[::-1])):
        recorded = Recorded(target, measurer=fake_measurer.measure)
        for task in order:
            recorded.layout(task)
        recorded.save()
    assert path.read_bytes() == (tmp_path / "other").read_bytes()
    assert [row["task"] for row in rows(path)] == [
        "LiberoGoal-T1",
        "LiberoGoal-T2",
        "LiberoSpatial-T1",
        "LiberoLong-T0",
    ]


def test_answers_that_nobody_asked_for_can_be_dropped(written):
    known = Recorded(written, measure=False)
    known.count(TASK, ON_STOVE)
    known.save(unasked=False)
    assert [row["kind"] for row in rows(written)] == ["count"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("<<<<<<< ours", r"is no JSON \(Expecting value at column 1\)"),
        ("[]", "it is no object with the fields answer, bddl, init"),
        ('{"task": "LiberoGoal-T8"}', "it is no object with the fields"),
        ({"task": "LiberoGoal"}, "'LiberoGoal' is no task id"),
        ({"kind": "guess"}, "kind 'guess' is none of layout, count, witness, impossible"),
        ({"measurement": True}, "measurement has the wrong type"),
        ({"physics": 3}, "physics has the wrong type"),
        ({"answer": {"raw": 0}}, "its answer is no object with the fields of, raw, settled, tolerant"),
        ({"answer": {"raw": 0, "settled": 1.5, "tolerant": 0, "of": 50}}, "settled of its answer has the wrong type"),
        ({"answer": {"raw": True, "settled": 1, "tolerant": 0, "of": 50}}, "raw of its answer has the wrong type"),
    ],
)
def test_a_malformed_line_is_named_with_what_to_do(written, line, problem):
    lines = written.read_text().splitlines()
    assert json.loads(lines[0])["kind"] == "count"
    lines.insert(1, line if isinstance(line, str) else json.dumps({**json.loads(lines[0]), **line}))
    written.write_text("\n".join(lines))
    with pytest.raises(RegistryError, match=rf"evidence.jsonl: line 2:? {problem}.*Delete the line"):
        Recorded(written)


@pytest.mark.parametrize(
    "answer",
    [
        {"footprints": {"plate_1": [0.0] * 5}, "of": 50, "relations": {}, "robot": [0.0, 0.0]},
        {"footprints": {"plate_1": [0.0] * 5 + ["x"]}, "of": 50, "relations": {}, "robot": [0.0, 0.0]},
        {"footprints": {}, "of": 50, "relations": {"on": {"plate_1": 3}}, "robot": [0.0, 0.0]},
        {"footprints": {}, "of": 50, "relations": {"on": {"plate_1": {"bowl_1": "3"}}}, "robot": [0.0, 0.0]},
        {"footprints": {}, "of": 50, "relations": {}, "robot": [0.0]},
    ],
)
def test_a_malformed_layout_is_named_too(written, answer):
    lines = [json.loads(line) for line in written.read_text().splitlines()]
    lines[2]["answer"] = answer
    assert lines[2]["kind"] == "layout"
    written.write_text("".join(json.dumps(row) + "\n" for row in lines))
    with pytest.raises(RegistryError, match=r"line 3: .* of its answer .*Delete the line"):
        Recorded(written)


def test_a_file_that_is_no_text_says_what_to_do(path):
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(RegistryError, match=r"evidence.jsonl cannot be read .*Restore it, or delete it"):
        Recorded(path)


def test_a_failed_write_leaves_the_old_file_and_no_rest(written, monkeypatch):
    before = written.read_bytes()
    recorded = Recorded(written, measurer=fake_measurer.measure)
    recorded.layout(OTHER)

    def full(self, target):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UnwritableOutput, match=r"evidence.jsonl: cannot be written \(No space left on device\)"):
        recorded.save()
    assert written.read_bytes() == before
    assert [one.name for one in written.parent.iterdir()] == [written.name]


def test_the_shipped_file_is_in_its_written_form(tmp_path):
    copy = tmp_path / "copy.jsonl"
    _evidence_file.write(copy, _evidence_file.read(evidence.FILE))
    assert copy.read_bytes() == evidence.FILE.read_bytes()


def test_the_shipped_file_knows_every_task_and_its_goal():
    known = Recorded(measure=False)
    for task in DEFINED.tasks.values():
        layout = known.layout(task)
        assert layout.of == task.init_states
        scene = DEFINED.scene_of(task.id)
        assert set(layout.footprints) == {entity.name for entity in scene.of_kind("object", "fixture")}
        assert known.count(task, task.goal) == GoalCount(0, 0, 0, task.init_states)
        assert known.witness(task, task.goal).original is True

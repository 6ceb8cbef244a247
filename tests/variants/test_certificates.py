"""What the oracle showed, in the registry: written byte for byte, read, checked, listed and shown."""

import json
import re
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path

import fake_oracle
import pytest
from click.testing import CliRunner
from mini_registry import controlled, mini, parsed, put, refusals, variant_at

from gym_grounding import cli, manifest
from gym_grounding.errors import InvalidOption, UnwritableOutput
from gym_grounding.manifest import Reach
from gym_grounding.variants import _certificates, _evidence_file, _figure, _yaml, certify, coverage, reached, show
from gym_grounding.variants._certificates import certified
from gym_grounding.variants._reached import HORIZON, Reached
from gym_grounding.variants._reached_file import Outcome
from gym_grounding.variants.commands import variants as variant_commands
from gym_grounding.variants.gallery._page import suite_page

SMALL = controlled()
BARE = _yaml.dump(SMALL, "A small registry.\n\nWith a comment.")
BOOK = manifest.parsed(BARE, "registry.yaml")
LIFT, LEFT, TARGET, SWAP = "ContrastAction1", "ContrastRelation1", "ContrastTarget1", "Swap1"
PHYSICS = "mujoco 3.3.2, robosuite 1.4.0"
STABLE, MOMENT = Outcome("stable", True, 60), Outcome("transient", False, 80)
MISS = Outcome("not_reached", False, -1, "no grasp", ("open it", "put it there", "put it there"))
TOUCH = Outcome("trivial", True, 3)
CERTIFICATE = f"{variant_at('T0-ContrastTarget1')}.certificate"
COUNTS = {"attempts": 3, "successes": 2, "stable": 1, "transient": 1, "trivial": 0, "median_steps": 60}
COUNTS = {**COUNTS, "verdict": "transient"}
HEAD = {"version": "1", "physics": PHYSICS, "horizon": 600}


@pytest.fixture
def record(tmp_path):
    return Reached(tmp_path / "reached.jsonl", oracle="7", physics=PHYSICS)


def tried(record, name, *outcomes, book=BOOK):
    row = book.variant(name)
    goal = certify.goal_of(book, row)
    record.add(book.task(row.task), goal, row.joints, HORIZON, dict(enumerate(outcomes)))


def parsed_bytes(raw):
    return manifest.parsed(raw, "registry.yaml")


def stripped(raw, folder):
    """A registry without certificates of the oracle."""
    return certified(raw, Reached(folder / "none.jsonl", oracle="7", physics=PHYSICS))


def test_nothing_measured_leaves_nothing(record):
    assert certified(BARE, record) == BARE
    assert all(manifest.reach(row) is None for row in BOOK.variants.values())
    assert BOOK.oracle == {}


def test_the_rows_say_what_the_record_says(record):
    tried(record, f"Mini-T0-{SWAP}", STABLE, MOMENT, MISS, STABLE)
    tried(record, "Mini-T2-Reverse1", TOUCH)
    tried(record, f"Mini-T0-{LEFT}", MISS, MISS)
    raw = certified(BARE, record)
    assert raw.startswith(b"# A small registry.\n#\n# With a comment.\nformat: 1\n")
    known = parsed_bytes(raw)
    assert known.oracle == {"version": "7", "physics": PHYSICS, "horizon": HORIZON}
    assert manifest.reach(known.variant(f"Mini-T0-{SWAP}")) == Reach(4, 2, 1, 0, 3, 60)
    assert manifest.reach(known.variant(f"Mini-T0-{LEFT}")) == Reach(2, 0, 0, 0, 0)
    rows = {name.removeprefix("Mini-"): row for name, row in known.variants.items()}
    standings = {name: manifest.standing(row) for name, row in rows.items() if row.goal}
    assert standings == {
        "T0-ContrastAction1": "not_measured",
        "T0-ContrastRelation1": "not_shown",
        "T0-ContrastTarget1": "stable",  # the goal of the swap
        "T0-Swap1": "stable",
        "T2-Reverse1": "trivial",
        "T2-Reverse2": "trivial",
    }
    assert {manifest.standing(row) for row in rows.values() if not row.goal} == {None}
    shown = {name: manifest.reachable(row) for name, row in rows.items()}
    assert {name for name, one in shown.items() if one == "not_shown"} == {"T0-ContrastRelation1"}
    assert {name for name, one in shown.items() if one == "shown"} == {
        "T0-ContrastTarget1", "T0-Swap1", "T2-Reverse1", "T2-Reverse2",
    }  # fmt: skip


def test_all_that_stood_there_before_stays(record):
    tried(record, f"Mini-T0-{TARGET}", STABLE)
    known = parsed_bytes(certified(BARE, record)).variant(f"Mini-T0-{TARGET}").details["certificate"]
    before = BOOK.variant(f"Mini-T0-{TARGET}").details["certificate"]
    assert {name: value for name, value in known.items() if name in before} == before
    assert set(known) - set(before) == {"reachable", "oracle"}


def test_a_goal_that_must_hold_at_the_end_counts_so(record):
    assert BOOK.variant(f"Mini-T0-{LIFT}").judged == "end"
    tried(record, f"Mini-T0-{LIFT}", MOMENT, MOMENT)
    known = parsed_bytes(certified(BARE, record)).variant(f"Mini-T0-{LIFT}")
    assert manifest.reach(known) == Reach(2, 0, 2, 0, 0)
    assert (manifest.reachable(known), manifest.standing(known)) == ("not_shown", "not_shown")


def test_certificates_are_written_anew_to_the_same_bytes(record, tmp_path):
    for row in certify.chosen(BOOK):
        tried(record, row.id, *(fake_oracle.outcome_of(row.goal, state) for state in range(3)))
    once = certified(BARE, record)
    assert certified(once, record) == once
    assert stripped(once, tmp_path) == BARE
    assert sum(manifest.reach(row) is not None for row in parsed_bytes(once).variants.values()) == 6
    newer = Reached(tmp_path / "newer.jsonl", oracle="8", physics=PHYSICS)
    tried(newer, "Mini-T2-Reverse1", STABLE)
    known = parsed_bytes(certified(once, newer))
    assert known.oracle["version"] == "8"
    assert [row.id for row in known.variants.values() if manifest.reach(row)] == [
        "Mini-T2-Reverse1", "Mini-T2-Reverse2",
    ]  # fmt: skip


def test_the_shipped_registry_can_be_certified_anew(tmp_path):
    raw, shipped = manifest.default_path().read_bytes(), manifest.load()
    record = Reached(tmp_path / "reached.jsonl", oracle="7", physics=PHYSICS)
    for row in certify.chosen(shipped):
        outcomes = [fake_oracle.outcome_of(row.goal, state) for state in range(10)]
        tried(record, row.id, *outcomes, book=shipped)
    once = certified(raw, record)
    assert sum(manifest.reach(row) is not None for row in parsed_bytes(once).variants.values()) == 294
    assert len(once) < 640_000


def test_originals_alone_name_the_oracle_and_certify_nothing(record):
    tried(record, "Mini-T0-Original", STABLE)
    known = parsed_bytes(certified(BARE, record))
    assert (known.oracle["version"], known.oracle["physics"]) == ("7", PHYSICS)
    assert all(manifest.reach(row) is None for row in known.variants.values())


def test_another_horizon_certifies_nothing(record):
    row = BOOK.variant(f"Mini-T0-{TARGET}")
    record.add(BOOK.task(row.task), row.goal, {}, HORIZON + 1, {0: STABLE})
    assert certified(BARE, record) == BARE


def test_a_file_written_by_hand_is_left_alone(record, tmp_path):
    with pytest.raises(InvalidOption, match=r"own\.yaml: is not in the form.*nothing is written"):
        certified(BARE.replace(b"format: 1", b"format:  1"), record, "own.yaml")
    path = tmp_path / "own.yaml"
    path.write_bytes(BARE)
    assert not _certificates.write(path, record)
    tried(record, f"Mini-T0-{TARGET}", STABLE)
    assert _certificates.write(path, record)
    assert path.read_bytes() == certified(BARE, record)


def by(folder, oracle="7", physics=PHYSICS, name="other.jsonl"):
    return Reached(folder / name, oracle=oracle, physics=physics)


@pytest.fixture
def certain(record, tmp_path):
    """A registry with certificates of two starts for three rows."""
    path = tmp_path / "own.yaml"
    for name in (TARGET, LEFT):
        tried(record, f"Mini-T0-{name}", STABLE, MISS)
    path.write_bytes(certified(BARE, record))
    assert sum(manifest.reach(row) is not None for row in manifest.load(path).variants.values()) == 3
    return path


OLD = "mujoco 2.3.7, robosuite 1.4.0"


@pytest.mark.parametrize(
    ("other", "ours"),
    [({}, f"oracle 7 in {PHYSICS}"), ({"oracle": "8"}, "oracle 8 in"), ({"physics": OLD}, f"oracle 7 in {OLD}")],
)
def test_certificates_are_not_lost_without_being_asked_for(certain, tmp_path, other, ours):
    before, another = certain.read_bytes(), by(tmp_path, **other)
    tried(another, f"Mini-T0-{TARGET}", STABLE, STABLE)
    message = (
        rf"own\.yaml: 1 of 3 rows with certificates \(oracle 7 in {PHYSICS}\) would lose them.*"
        rf"the first is Mini-T0-{LEFT}.*{ours}.*--record-only.*--force"
    )
    with pytest.raises(InvalidOption, match=message):
        _certificates.write(certain, another)
    assert certain.read_bytes() == before
    assert _certificates.write(certain, another, force=True)
    known = manifest.load(certain)
    assert manifest.reach(known.variant(f"Mini-T0-{LEFT}")) is None
    assert known.oracle["physics"] == another.physics


def test_fewer_starts_are_a_loss_and_more_are_none(certain, tmp_path):
    fewer, more = by(tmp_path, "8"), by(tmp_path, "9", name="more.jsonl")
    for name in (TARGET, LEFT):
        tried(fewer, f"Mini-T0-{name}", STABLE)
        tried(more, f"Mini-T0-{name}", STABLE, STABLE, MISS)
    with pytest.raises(InvalidOption, match=r"3 of 3 rows .* from fewer initial states"):
        _certificates.write(certain, fewer)
    assert _certificates.write(certain, more)
    assert manifest.load(certain).oracle["version"] == "9"


def test_what_is_about_to_be_tried_is_not_lost(certain, tmp_path):
    known, nothing = manifest.load(certain), by(tmp_path)

    def refuse(states, **more):
        _certificates.refuse_loss(known, nothing, certify.coming(certify.pending(known, rows, states, nothing, **more)))

    rows = certify.chosen(known, conditions=["contrast"])
    refuse([0, 2])
    for states, more in (([0], {}), ([0, 1], {"horizon": HORIZON + 1})):
        with pytest.raises(InvalidOption, match="3 of 3 rows"):
            refuse(states, **more)
    rows = certify.chosen(known, ids=[f"Mini-T0-{TARGET}"])
    with pytest.raises(InvalidOption, match="1 of 3 rows"):
        refuse([0, 1])


def test_a_registry_that_cannot_be_written_stays(record, tmp_path, monkeypatch):
    path = tmp_path / "own.yaml"
    path.write_bytes(BARE)
    tried(record, f"Mini-T0-{TARGET}", STABLE)

    def full(self, *args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(path), "write_text", full)
    with pytest.raises(UnwritableOutput, match=r"own\.yaml: cannot be written \(No space left"):
        _certificates.write(path, record)
    assert path.read_bytes() == BARE


def with_counts(**changes):
    data = mini()
    data["oracle"] = dict(HEAD)
    put(data, f"{CERTIFICATE}.reachable", "shown")
    counts = {**COUNTS, **changes}
    put(data, f"{CERTIFICATE}.oracle", {name: value for name, value in counts.items() if value is not ...})
    return data


def test_a_certificate_is_read():
    known = parsed(with_counts())
    row = known.variant("Mini-T0-ContrastTarget1")
    assert manifest.reach(row) == Reach(3, 1, 1, 0, 2, 60)
    assert manifest.standing(row) == "transient"
    assert manifest.reachable(known.variant("Mini-T0-ContrastRelation1")) is None
    assert known.oracle == HEAD


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"attempts": 0}, r"oracle\.attempts: is 0; must be in \[1"),
        ({"stable": 4}, r"oracle\.stable: is 4; must be in \[0, 3\]"),
        ({"trivial": ...}, r"oracle\.trivial: is missing"),
        ({"verdict": "sure"}, r"oracle\.verdict: no verdict 'sure'"),
        ({"verdict": "stable"}, r"oracle\.verdict: is stable; the counts say transient"),
        ({"stable": 3}, "4 starts are stable, transient or trivial, of 3 attempts"),
        ({"successes": 3}, r"oracle\.successes: is 3; must be 2"),
        ({"successes": 1}, r"oracle\.successes: is 1; must be 2"),
        ({"median_steps": ...}, r"oracle\.median_steps: is missing"),
        ({"median": 3}, r"oracle\.median: no field 'median'"),
    ],
)
def test_counts_that_do_not_add_up_are_refused(changes, message):
    found = refusals(with_counts(**changes))
    assert all("Mini-T0-ContrastTarget1" in line for line in found)
    assert any(re.search(message, line) for line in found)


def test_what_is_reachable_follows_from_the_counts():
    data = with_counts()
    put(data, f"{CERTIFICATE}.reachable", "not_shown")
    assert any("certificate.reachable: must be shown: 2 of 3 succeed" in line for line in refusals(data))
    put(data, f"{CERTIFICATE}.reachable", ...)
    assert any("certificate.reachable: must be shown" in line for line in refusals(data))
    nothing = with_counts(successes=0, stable=0, transient=0, verdict="not_reached")
    put(nothing, f"{CERTIFICATE}.reachable", "not_shown")
    assert any("median_steps: is given without a success" in line for line in refusals(nothing))


def test_reachable_alone_is_refused():
    data = mini()
    put(data, f"{CERTIFICATE}.reachable", "shown")
    assert any("certificate.reachable: is given without 'oracle'" in line for line in refusals(data))


def test_the_head_says_which_oracle():
    data = with_counts()
    del data["oracle"]
    assert any("does not say which oracle; add 'oracle' to its head" in line for line in refusals(data))
    for name in HEAD:
        data["oracle"] = {field: value for field, value in HEAD.items() if field != name}
        assert any(f"oracle.{name}: is missing" in line for line in refusals(data))
    data["oracle"] = {**HEAD, "name": "x"}
    assert any("no field 'name'" in line for line in refusals(data))


def test_rows_with_one_goal_and_start_say_the_same():
    data = controlled()
    data["oracle"] = dict(HEAD)
    swap = variant_at("T0-Swap1")
    put(data, f"{swap}.certificate", {})
    for path in (CERTIFICATE, f"{swap}.certificate"):
        put(data, f"{path}.reachable", "shown")
        put(data, f"{path}.oracle", dict(COUNTS))
    parsed(data)
    put(data, f"{swap}.certificate.oracle.attempts", 4)
    assert any(
        "Mini-T0-Swap1: certificate.oracle: counts otherwise than Mini-T0-ContrastTarget1" in line
        for line in refusals(data)
    )


def test_a_contrast_may_have_nothing_but_what_the_oracle_showed():
    data = with_counts()
    counts = {"reachable": "shown", "oracle": dict(COUNTS)}
    put(data, CERTIFICATE, counts)
    assert manifest.reach(parsed(data).variant("Mini-T0-ContrastTarget1")) == Reach(3, 1, 1, 0, 2, 60)


@pytest.mark.parametrize("name", ["T0-Original", "T0-Paraphrase1", "T0-CollisionObject1", "T0-Null", "T0-Negated"])
def test_rows_without_a_goal_have_no_certificate(name):
    data = controlled()
    data["oracle"] = dict(HEAD)
    put(data, f"{variant_at(name)}.certificate", {"reachable": "shown", "oracle": dict(COUNTS)})
    assert any(f"Mini-{name}: certificate" in line for line in refusals(data))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A record with an outcome of every kind on the shipped registry's goals."""
    record = Reached(tmp_path_factory.mktemp("measured") / "reached.jsonl", oracle="7", physics=PHYSICS)
    goal = partial(tried, record, book=manifest.load())
    goal("LiberoGoal-T0-Swap1", STABLE, STABLE, MISS)
    goal("LiberoGoal-T0-ContrastAction1", TOUCH, TOUCH)
    goal("LiberoGoal-T8-ContrastTarget1", MISS, MISS)
    goal("LiberoGoal-T8-ContrastObject1", MOMENT)
    goal("LiberoGoal-T0-Original", STABLE, MISS)
    record.save()
    return record


@pytest.fixture(scope="module")
def shipped(measured, tmp_path_factory):
    """The shipped registry with these certificates and no others, and where it lies."""
    path = tmp_path_factory.mktemp("shipped") / "registry.yaml"
    path.write_bytes(certified(manifest.default_path().read_bytes(), measured))
    return path


NEVER = ["LiberoGoal-T8-ContrastTarget1", "LiberoGoal-T8-Swap2"]
"""One goal, asked for twice."""


def run(*arguments):
    group = cli.Commands("gym-grounding", commands={"variants": variant_commands})
    return CliRunner().invoke(group, ["variants", *[str(argument) for argument in arguments]])


def test_the_list_sets_apart_what_is_not_shown(shipped):
    lines = run("list", "--registry", shipped, "--suite", "LiberoGoal").stdout.splitlines()
    apart = [line.split("\t") for line in lines if line.count("\t") > 1]
    assert apart == [[name, "put the bowl on the stove", "not shown reachable"] for name in NEVER]
    only = run("list", "--registry", shipped, "--reachable", "not_shown").stdout.splitlines()
    assert [line.split("\t")[0] for line in only] == NEVER
    shown = run("list", "--registry", shipped, "--reachable", "shown", "--json").stdout
    rows = {row["id"]: row["certificate"]["oracle"]["verdict"] for row in json.loads(shown)}
    assert rows["LiberoGoal-T0-Swap1"] == "stable"
    assert rows["LiberoGoal-T0-ContrastAction1"] == "trivial"
    assert not set(rows) & set(NEVER)


def test_show_says_what_the_oracle_showed(shipped):
    known = manifest.load(shipped)
    stable, never = (show.describe(known, f"LiberoGoal-{name}").evidence for name in ("T0-Swap1", "T8-ContrastTarget1"))
    counts = "(stable 2, transient 0, trivial 0), at step 60 in the median: stable"
    assert f"oracle: reached from 2 of 3 initial states {counts}" in stable
    assert "oracle: reached from 0 of 2 initial states (stable 0, transient 0, trivial 0): not reached" in never
    assert any(line.startswith("reachable: not_shown: by none of its starts") for line in never)
    assert not any("reachable" in line for line in stable)
    bare = show.describe(BOOK, "Mini-T0-ContrastTarget1").evidence
    assert not any("oracle" in line or "reachable" in line for line in bare)


TITLES = {"Goals that the oracle reached", "Not shown reachable"}


def test_coverage_counts_and_lists(shipped):
    found = {table.title: table for table in coverage.tables(manifest.load(shipped))}
    rows = {row[:3]: row[3:] for row in found["Goals that the oracle reached"].rows}
    assert found["Goals that the oracle reached"].header[4:] == (
        "stable", "transient", "trivial", "not shown", "not measured",
    )  # fmt: skip
    permissive = rows["LiberoGoal", "contrast", "permissive"]
    assert (permissive[0], permissive[3]) == (12, 1)
    assert sum(permissive[1:]) == 12
    assert rows["LiberoGoal", "contrast", "strict"][4] == 1
    assert rows["LiberoGoal", "swap", ""][4] == 1
    assert found["Not shown reachable"].rows == (
        (NEVER[0], "strict", "put the bowl on the stove", 2, 0),
        (NEVER[1], "", "put the bowl on the stove", 2, 0),
    )


def test_coverage_without_certificates_is_as_before(tmp_path):
    path = tmp_path / "registry.yaml"
    path.write_bytes(BARE)
    assert not TITLES & {table.title for table in coverage.tables(manifest.load(path))}


def test_the_figure_marks_what_is_not_shown(shipped):
    cells = coverage.cells(manifest.load(shipped))
    assert [cell.variant.id for cell in cells if _figure.apart(cell)] == NEVER[:1]
    bare = [cell for cell in cells if not _figure.apart(cell)]
    before = [replace(cell, variant=_bare(cell.variant)) for cell in bare]
    assert _figure.digest(bare) == _figure.digest(before)
    assert _figure.digest(cells) != _figure.digest([replace(cell, variant=_bare(cell.variant)) for cell in cells])
    few = [cell for cell in cells if cell.suite == "LiberoGoal"]
    assert _figure.draw(few) != _figure.draw([replace(cell, variant=_bare(cell.variant)) for cell in few])


def _bare(variant):
    return variant and replace(variant, details={})


def test_the_gallery_marks_what_is_not_shown(shipped):
    known = manifest.load(shipped)
    page = suite_page(known, "LiberoGoal", known.suite_tasks("LiberoGoal"), {})
    assert page.count('<span class="tier not_shown">not shown reachable</span>') == 2
    assert page.count('<span class="tier trivial">trivial</span>') == 1
    (row,) = [line for line in page.splitlines() if f'id="{NEVER[0]}"' in line]
    assert "not shown reachable" in row.partition('data-words="')[2].partition('"')[0]
    assert "reached from 0 of 2 initial states" in row


def test_the_figures_are_those_of_the_record(shipped, measured):
    known = manifest.load(shipped)
    again = reached.recorded(known, measured.path)
    found = {table.title: table for table in reached.tables(known, again)}
    figures = {row[0]: row[1] for row in found["Figures"].rows}
    assert figures["LiberoGoal: own goals reached"] == "50.0 % (1 of 2; 9 of 10 tasks not measured)"
    assert figures["LiberoSpatial: own goals reached"] == "nothing measured"
    assert figures["LiberoGoal: median length of an episode that reaches its own goal"] == "60 steps"
    assert figures["strict contrasts shown reachable"] == "50.0 % (1 of 2; 93 not measured)"
    good = {row[0]: row[2] for row in found["Figures"].rows}
    assert good["LiberoGoal: own goals reached"] == "50.0 % (1 of 2; 9 of 10 tasks not measured)"
    assert good["strict contrasts shown reachable"] == "0.0 % (0 of 2; 93 not measured)"
    task = {row[0]: row[1:] for row in found["Own goals by task"].rows}
    assert task["LiberoGoal-T0"] == ("open the middle drawer of the cabinet", 2, 1, 1, 0, 0, 60, "no grasp (1)")
    assert f"Episodes of oracle 7 in {PHYSICS}, at most {HORIZON} control steps." in found["Figures"].caption
    assert "Not counted" not in found["Figures"].caption
    assert f"Oracle 7 in {PHYSICS}" in found["Goals that the oracle reached"].caption
    assert found["Own goals by suite"].rows == (("LiberoGoal", 1, 2, 1, 1, 0, 0, 60),)
    assert [row[0] for row in found["Not shown reachable"].rows] == NEVER
    tried_there = "Tried from initial state 0: open it, then put it there (2 times)"
    assert found["Not shown reachable"].rows[0][-1] == f"no grasp (2). {tried_there}"
    assert "LiberoGoal-T8-ContrastObject1" in [row[0] for row in found["Transient"].rows]
    assert [row[0] for row in found["Trivial"].rows] == ["LiberoGoal-T0-ContrastAction1"]


def test_a_whole_reason_stands_in_the_tables(tmp_path):
    why, deed = "the gripper does not get there: " + "x" * 300, "put " + "y" * 300
    record = by(tmp_path)
    tried(record, f"Mini-T0-{LEFT}", Outcome("not_reached", False, -1, why, (deed,)))
    record.save()
    known = parsed_bytes(certified(BARE, record))
    (row,) = next(one.rows for one in reached.tables(known, reached.recorded(known, record.path)) if "Not" in one.title)
    assert row[-1] == f"{why} (1). Tried from initial state 0: {deed}"


def test_what_held_for_a_moment_only_is_told_with_its_deeds(tmp_path):
    """Where the oracle finished, and the row wants the goal after the last step."""
    record = by(tmp_path)
    tried(record, f"Mini-T0-{LIFT}", Outcome("transient", False, 80, "", ("hold it",)))
    record.save()
    known = parsed_bytes(certified(BARE, record))
    (row,) = next(one.rows for one in reached.tables(known, reached.recorded(known, record.path)) if "Not" in one.title)
    assert row[-1] == "Tried from initial state 0: hold it"


def test_tables_are_of_the_simulator_that_the_certificates_name(tmp_path):
    """Own goals and contrasts of one record, whatever simulator the rest of the registry was measured with."""
    record = by(tmp_path, physics=OLD)
    known = manifest.load()
    assert known.physics["mujoco"] != "2.3.7"
    tried(record, "LiberoGoal-T6-ContrastObject1", STABLE, book=known)
    tried(record, "LiberoGoal-T6-Original", STABLE, book=known)
    record.save()
    written = parsed_bytes(certified(manifest.default_path().read_bytes(), record))
    assert written.oracle["physics"] == OLD
    newer = by(tmp_path)
    tried(newer, "LiberoGoal-T7-Original", STABLE, book=known)
    newer.save()
    figures = reached.tables(written, reached.recorded(written, record.path))[0]
    rows = {row[0]: row[1] for row in figures.rows}
    assert rows["LiberoGoal: own goals reached"].startswith("100.0 % (1 of 1;")
    assert rows["strict contrasts shown reachable"].startswith("100.0 % (1 of 1;")
    assert f"Episodes of oracle 7 in {OLD}," in figures.caption
    assert f"Not counted: 1 goal(s) of oracle 7 in {PHYSICS}, measurement" in figures.caption


def test_without_certificates_the_tables_are_of_the_packages_own_oracle(faked, tmp_path):
    record = by(tmp_path)
    tried(record, "LiberoGoal-T6-Original", STABLE, book=manifest.load())
    record.save()
    bare = parsed_bytes(stripped(manifest.default_path().read_bytes(), tmp_path))
    rows = {row[0]: row[1] for row in reached.tables(bare, reached.recorded(bare, record.path))[0].rows}
    assert rows["LiberoGoal: own goals reached"].startswith("100.0 % (1 of 1;")


def test_a_task_that_is_never_reached_is_told(measured, shipped):
    known = manifest.load(shipped)
    other = Reached(measured.path, oracle="7", physics=PHYSICS)
    for task in known.suite_tasks("LiberoLong"):
        other.add(task, task.goal, {}, HORIZON, {0: MISS if task.index == 3 else STABLE})
    figures = {row[0]: row[1] for row in reached.tables(known, other)[0].rows}
    assert figures["LiberoLong: own goals reached"] == "90.0 % (9 of 10; 1 tasks at 0)"


def test_the_command_prints_them(shipped, measured):
    done = run("reached", "--registry", shipped, "--record", measured.path, "--markdown")
    assert done.exit_code == 0, done.output
    assert "| LiberoGoal: own goals reached | 50.0 % (1 of 2" in done.stdout
    assert run("reached", "--registry", shipped, "--record", measured.path).exit_code == 0


def test_a_named_record_that_is_not_there_is_an_error(tmp_path):
    done = run("reached", "--record", tmp_path / "none.jsonl")
    assert done.exit_code == 2
    assert f"{tmp_path / 'none.jsonl'}: there is no such record" in done.stderr
    done = run("build", "--check", "--reached", tmp_path / "none.jsonl")
    assert done.exit_code == 2
    assert "there is no such record" in done.stderr


@pytest.fixture
def faked(monkeypatch):
    """The fake stands for the oracle."""
    monkeypatch.setattr(certify, "measure", fake_oracle.measure)
    monkeypatch.setattr("gym_grounding.variants._reached.installed_oracle", lambda: "7")
    monkeypatch.setattr("gym_grounding.variants._reached.installed_physics", lambda: PHYSICS)


@pytest.fixture
def place(tmp_path):
    """Options that name a small registry and a record."""
    registry = tmp_path / "registry.yaml"
    registry.write_bytes(BARE)
    return ("--registry", registry, "--record", tmp_path / "reached.jsonl")


def test_certify_records_writes_and_goes_on(faked, place):
    options = (*place, "--task", "Mini-T0", "--condition", "contrast")
    done = run("certify", *options, "--init-states", "0:2")
    assert done.exit_code == 0, done.output
    assert "6 episodes tried, 0 of them not finished" in done.stdout
    assert f"{place[1]}: certificates written" in done.stdout
    known = manifest.load(place[1])
    assert manifest.reach(known.variant(f"Mini-T0-{TARGET}")).attempts == 2
    assert manifest.reach(known.variant(f"Mini-T0-{SWAP}")).attempts == 2
    assert manifest.reach(known.variant("Mini-T2-Reverse1")) is None
    again = run("certify", *options, "--init-states", "0:2")
    assert "0 episodes tried" in again.stdout
    assert "says so already" in again.stdout
    more = run("certify", *options, "--init-states", "0:3", "--record-only")
    assert "3 episodes tried" in more.stdout
    assert manifest.reach(manifest.load(place[1]).variant(f"Mini-T0-{TARGET}")).attempts == 2


def test_certify_refuses_to_lose_certificates_before_it_begins(faked, monkeypatch, place, tmp_path):
    assert run("certify", *place, "--init-states", "0:2", "--conditions", "contrast").exit_code == 0
    before, other = place[1].read_bytes(), tmp_path / "other.jsonl"
    options = ("--registry", place[1], "--record", other, "--init-states", "0:2", f"Mini-T0-{LEFT}")
    with monkeypatch.context() as patch:
        patch.setattr(certify, "measure", fake_oracle.without_source)
        done = run("certify", *options)
    assert done.exit_code == 2
    assert "3 of 4 rows with certificates" in done.stderr
    assert not other.exists()
    done = run("certify", *options, "--record-only")
    assert done.exit_code == 0
    assert place[1].read_bytes() == before
    done = run("certify", *options, "--force")
    assert done.exit_code == 0
    assert "certificates written" in done.stdout
    shown = {row.id for row in manifest.load(place[1]).variants.values() if manifest.reach(row)}
    assert shown == {f"Mini-T0-{LEFT}"}


@pytest.mark.parametrize("which", [1, 3])
def test_certify_finds_a_place_that_takes_no_file_before_it_begins(which, faked, monkeypatch, place):
    """A read-only file system, which refuses the removal of a file as well."""
    place[3].parent.joinpath("other").mkdir()
    place = (*place[:3], place[3].parent / "other" / "reached.jsonl")
    read_only = place[which].parent

    def made(dir=None, **options):
        if dir == read_only:
            raise OSError(30, "Read-only file system")
        return real(dir=dir, **options)

    real = tempfile.TemporaryFile
    monkeypatch.setattr(tempfile, "TemporaryFile", made)
    monkeypatch.setattr(certify, "measure", fake_oracle.without_source)
    done = run("certify", *place, "--init-states", "0")
    assert done.exit_code == 2
    assert f"{place[which]}: cannot be written (Read-only file system); give another file" in done.stderr


def test_what_cannot_even_be_removed_hides_no_reason(record, tmp_path, monkeypatch):
    def refused(self, *args, **kwargs):
        raise OSError(30, "Read-only file system")

    for name in ("write_text", "unlink"):
        monkeypatch.setattr(Path, name, refused)
    with pytest.raises(UnwritableOutput, match=r"own\.yaml: cannot be written \(Read-only"):
        _evidence_file.replace(tmp_path / "own.yaml", "text")


def test_certificates_of_episodes_that_could_not_be_finished_stay(faked, monkeypatch, place, tmp_path):
    assert run("certify", *place, "--init-states", "0").exit_code == 0
    before = place[1].read_bytes()
    monkeypatch.setattr(certify, "measure", fake_oracle.fail_at_one)
    monkeypatch.setattr("gym_grounding.variants._reached.installed_oracle", lambda: "8")
    done = run("certify", *place, "--init-states", "0")
    assert done.exit_code == 2
    assert "SimulatorError: no more" in done.stdout
    assert f"2 of 6 rows with certificates (oracle 7 in {PHYSICS}) would lose them" in done.stderr
    assert place[1].read_bytes() == before


@pytest.mark.parametrize(
    ("more", "how"), [((), "the same command"), (("--fresh",), "the same command without --fresh")]
)
def test_who_interrupts_is_told_what_goes_on(faked, monkeypatch, place, more, how):
    monkeypatch.setattr(certify, "measure", fake_oracle.interrupted_at_one)
    done = run("certify", *place, "--init-states", "0:2", f"Mini-T0-{TARGET}", *more)
    assert done.exit_code == 130
    assert f"interrupted; what is done stands in {place[3]}, and {how} continues" in done.stderr
    monkeypatch.setattr(certify, "measure", fake_oracle.measure)
    assert "1 episodes tried" in run("certify", *place, "--init-states", "0:2", f"Mini-T0-{TARGET}").stdout


def test_certify_takes_names_tiers_and_originals(faked, place):
    assert "1 episodes tried" in run("certify", *place, "--init-states", "0", f"Mini-T0-{TARGET}").stdout
    assert "1 episodes tried" in run("certify", *place, "--init-states", "1", "--tiers", "permissive").stdout
    assert "4 episodes tried" in run("certify", *place, "--init-states", "1", "--originals").stdout
    assert "4 episodes tried" in run("certify", *place, "--init-states", "2").stdout
    assert "4 episodes tried" in run("certify", *place, "--init-states", "2", "--fresh").stdout


def test_certify_tells_what_could_not_be_finished(faked, monkeypatch, place):
    monkeypatch.setattr(certify, "measure", fake_oracle.fail_at_one)
    done = run("certify", *place, "--init-states", "0")
    assert done.exit_code == 1
    assert "Mini-T0 on(cup_1, pear_1), initial state 0: SimulatorError: no more" in done.stdout
    assert "certificates written" in done.stdout


def test_certify_refuses_what_it_could_not_write_before_it_begins(faked, monkeypatch, place):
    monkeypatch.setattr(certify, "measure", fake_oracle.without_source)
    place[1].write_bytes(BARE.replace(b"format: 1", b"format:  1"))
    done = run("certify", *place, "--init-states", "0")
    assert done.exit_code == 2
    assert "is not in the form" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("Mini-T0-ContrastTargt1",), "Did you mean 'Mini-T0-ContrastTarget1'"),
        (("--init-states", "0:4"), "has no initial state 3"),
        (("--init-states", "all"), "write numbers as 0:20"),
        (("--suite", "Mino"), "Did you mean 'Mini'"),
        (("--conditions", "null"), "nothing that is chosen has a goal"),
        (("Mini-T0-Swap1", "--conditions", "contrast"), "Mini-T0-Swap1: left out by --conditions contrast"),
        (("Mini-T0-Swap1", "--originals"), "--originals tries the tasks' own goals"),
        (("--workers", "0"), "--workers"),
        (("--horizon", "0"), "--horizon"),
    ],
)
def test_certify_refuses_what_makes_no_sense(faked, place, arguments, message):
    done = run("certify", *place, "--init-states", "0", *arguments)
    assert done.exit_code == 2
    assert message in done.stderr


def test_a_damaged_record_is_refused(faked, place):
    place[3].write_text("{}\n")
    done = run("certify", *place)
    assert done.exit_code == 2
    assert "line 1" in done.stderr

"""Nothing recorded is lost: kills, full disks, damaged files, other plans and a second writer."""

import contextlib
import dataclasses
import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
import textwrap

import pytest

from gym_grounding.errors import CorruptRun, InvalidOption, PlanMismatch, UnwritableOutput
from gym_grounding.records import Cell, EpisodeRecord, ErrorRecord, ProbeRecord, RunHeader
from gym_grounding.store import FILE, RunStore, group_errors, salvage
from gym_grounding.store._file import LOCK

HEADER = RunHeader(
    name="mine",
    policy="mine:POLICY",
    policy_options={"gain": 2},
    plan={"suite": "S", "registry": "/a/registry.yaml", "horizon": 600, "settings": {"image_size": 128}, "seeds": [0]},
    registry_sha256="abc",
    scenes={"s1": "h1"},
    versions={"numpy": "2.4.6"},
    source_revision="1234",
    task_identity=False,
)


def episode(init_state: int = 0, **changes: object) -> EpisodeRecord:
    values = {
        "stage": 9, "variant": "S-T1-Original", "init_state": init_state, "seed": 100, "task": "S-T1",
        "condition": "original", "slot": None, "tier": None, "kind": "", "judged": "ever",
        "instruction": "öffne die Schublade", "instruction_sha256": "00", "episode_seed": 2**63 + 5, "steps": 12,
        "ended": "terminated", "success": True, "first_held": {"original": 12}, "held_at_end": ("original",),
        "void": (), "motion_steps": {"0.01": 2}, "displacement": 0.3, "action_mean_norm": 0.5,
        "task_identity": False, "seconds": 1.5,
    }  # fmt: skip
    return EpisodeRecord(**{**values, **changes})


def error(init_state: int = 0, kind: str = "policy", message: str = "it broke") -> ErrorRecord:
    return ErrorRecord(9, "S-T1-Original", init_state, 100, kind, message, "Traceback ...")


def probe(observation: str = "S-T1/0/0") -> ProbeRecord:
    variant = ("S-T1-Paraphrase1", 100, "S-T1", "paraphrase", None, None)
    return ProbeRecord(9, *variant, observation, (0.0, 1.0), (0.5, 1.0), None, -2.5)


@pytest.fixture
def run(tmp_path):
    """A run with three episodes, an error and a probe."""
    with RunStore.create(tmp_path / "run", HEADER) as store:
        for init_state in (2, 0, 1):
            store.add_episode(episode(init_state))
        store.add_error(error(7))
        store.add_probes([probe()])
    return tmp_path / "run"


def test_records_come_back_equal_and_in_order(run):
    with RunStore.open(run) as store:
        assert store.header == HEADER
        assert store.episodes() == (episode(0), episode(1), episode(2))
        assert store.errors() == (error(7),)
        assert store.probes() == (probe(),)
        assert store.done_cells() == {Cell(9, "S-T1-Original", k, 100) for k in range(3)}
        assert store.done_probes() == {(9, "S-T1-Paraphrase1", 100, "S-T1/0/0")}


def test_a_person_can_read_the_file(run):
    with contextlib.closing(sqlite3.connect(run / FILE)) as plain:
        rows = plain.execute(
            "SELECT task, condition, success, original_step, target_step FROM episodes WHERE init_state = 1"
        ).fetchall()
        assert rows == [("S-T1", "original", 1, 12, None)]
        assert plain.execute("SELECT kind, message FROM errors").fetchall() == [("policy", "it broke")]
        assert ("policy", '"mine:POLICY"') in plain.execute("SELECT key, json FROM header").fetchall()
    assert sorted(path.name for path in run.iterdir()) == [LOCK, FILE]


def test_a_cell_is_recorded_once(run):
    with RunStore.create(run, HEADER) as store:
        assert not store.add_episode(episode(0, steps=99))
        assert store.episodes()[0].steps == 12
        assert store.add_probes([probe()]) == 0
        assert len(store.probes()) == 1


def test_an_error_gives_way_to_an_episode_and_to_a_later_error(run):
    with RunStore.create(run, HEADER) as store:
        assert store.add_error(error(7, "timeout", "it hung"))
        assert [(e.kind, e.message) for e in store.errors()] == [("timeout", "it hung")]
        assert store.add_episode(episode(7))
        assert store.errors() == ()
        assert not store.add_error(error(7))
        assert store.errors() == ()


def test_probes_are_added_all_or_none(run):
    def broken():
        yield probe("a")
        raise KeyboardInterrupt

    with RunStore.create(run, HEADER) as store:
        with pytest.raises(KeyboardInterrupt):
            store.add_probes(broken())
        assert len(store.probes()) == 1
        assert store.add_probes([probe("a"), probe(), probe("b")]) == 2


def test_reading_while_another_process_writes(run):
    with RunStore.create(run, HEADER) as writer, RunStore.open(run) as reader:
        assert len(reader.episodes()) == 3
        writer.add_episode(episode(5))
        assert len(reader.episodes()) == 4
        with pytest.raises(UnwritableOutput):
            reader.add_episode(episode(6))


def test_a_second_writer_is_refused_by_name(run):
    with (
        RunStore.create(run, HEADER),
        pytest.raises(UnwritableOutput, match=rf"process {os.getpid()} on .* is writing"),
    ):
        RunStore.writer(run)
    RunStore.writer(run).close()


def test_the_lock_is_free_after_a_kill_and_nothing_committed_is_lost(tmp_path):
    script = textwrap.dedent("""
        import sys, itertools
        sys.path.insert(0, sys.argv[2])
        from test_store import HEADER, episode
        from gym_grounding.store import RunStore
        store = RunStore.create(sys.argv[1], HEADER)
        for k in itertools.count():
            store.add_episode(episode(k))
            print(k, flush=True)
    """)
    arguments = [sys.executable, "-c", script, str(tmp_path / "run"), os.path.dirname(__file__)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            if int(line) >= 20:
                process.send_signal(signal.SIGKILL)
                break
        last = max([int(line), *map(int, process.stdout.read().split())])
    with RunStore.create(tmp_path / "run", HEADER) as store:
        done = sorted(cell.init_state for cell in store.done_cells())
    assert done[: last + 1] == list(range(last + 1))
    assert len(done) <= last + 2


def test_a_run_of_another_plan_names_what_differs(run):
    plan = {**HEADER.plan, "horizon": 300, "settings": {"image_size": 64}, "seeds": (0, 1)}
    other = dataclasses.replace(HEADER, plan=plan, policy="yours:POLICY", policy_options={"gain": 3})
    with pytest.raises(PlanMismatch) as caught:
        RunStore.create(run, other)
    message = str(caught.value)
    assert "plan.horizon 600 stored, 300 asked" in message
    assert "plan.settings.image_size 128 stored, 64 asked" in message
    assert "plan.seeds [0] stored, [0, 1] asked" in message
    assert 'policy "mine:POLICY" stored, "yours:POLICY" asked' in message
    assert "policy_options.gain 2 stored, 3 asked" in message
    assert "Give another directory" in message
    with RunStore.open(run) as store:
        assert store.header == HEADER


@pytest.mark.parametrize(
    "change",
    [{"registry_sha256": "new"}, {"scenes": {"s1": "h2"}}, {"task_identity": True}, {"name": "other"}],
    ids=lambda change: next(iter(change)),
)
def test_whatever_decides_numbers_may_not_change(run, change):
    with pytest.raises(PlanMismatch, match=next(iter(change))):
        RunStore.create(run, dataclasses.replace(HEADER, **change))


def test_the_registry_may_move(run):
    RunStore.create(run, dataclasses.replace(HEADER, plan={**HEADER.plan, "registry": None})).close()


def test_the_header_is_extended_never_changed(run):
    more = dataclasses.replace(
        HEADER, versions={"torch": "2.5"}, scenes={"s1": "h1", "s2": "h2"}, plan={**HEADER.plan, "seeds": (0,)}
    )
    with RunStore.create(run, more) as store:
        assert store.header.versions == {"numpy": "2.4.6", "torch": "2.5"}
        assert store.header.scenes == {"s1": "h1", "s2": "h2"}
        assert store.header.plan == HEADER.plan


def test_other_versions_are_refused_or_written_beside_the_old(run):
    other = dataclasses.replace(HEADER, versions={"numpy": "3.0"}, source_revision="5678")
    with pytest.raises(PlanMismatch, match=r"numpy 2\.4\.6 stored, 3\.0 now\. Restore the stored ones.*accept"):
        RunStore.create(run, other)
    with RunStore.create(run, other, accept_versions=True) as store:
        assert store.header.versions == {"numpy": "2.4.6 | 3.0"}
        assert store.header.source_revision == "1234 | 5678"
    RunStore.create(run, other).close()
    RunStore.create(run, HEADER).close()


def test_another_commit_is_noted_and_nothing_more(run):
    for revision, noted in [("5678", "1234 | 5678"), ("1234", "1234 | 5678"), ("", "1234 | 5678")]:
        with RunStore.create(run, dataclasses.replace(HEADER, source_revision=revision)) as store:
            assert store.header.source_revision == noted


def test_another_form_is_noted_and_nothing_more(run):
    for form, noted in [
        ("processes", "processes"),
        ("this process", "processes | this process"),
        ("", "processes | this process"),
    ]:
        with RunStore.create(run, dataclasses.replace(HEADER, form=form)) as store:
            assert store.header.form == noted


def test_a_run_that_never_began_leaves_nothing(run, tmp_path):
    with RunStore.writer(tmp_path / "a" / "b") as store:
        assert (tmp_path / "a" / "b" / FILE).exists()
        with pytest.raises(UnwritableOutput, match="is writing this run"):
            RunStore.writer(tmp_path / "a" / "b")
        assert store.is_new
    assert not (tmp_path / "a").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    RunStore.writer(tmp_path / "mine").close()
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["notes.txt"]
    RunStore.writer(run).close()
    with contextlib.closing(sqlite3.connect(run / FILE, isolation_level=None)) as plain:
        plain.execute("DELETE FROM header")
    RunStore.writer(run).close()  # without a header, but not without records
    with RunStore.open(run) as store:
        assert len(store.episodes()) == 3


def test_a_lock_that_its_holder_has_just_removed_is_none(tmp_path, monkeypatch):
    plain, removed = fcntl.flock, []

    def flock(file, how):
        plain(file, how)
        if not removed:
            removed.append((tmp_path / LOCK).unlink())

    monkeypatch.setattr(fcntl, "flock", flock)
    with RunStore.create(tmp_path, HEADER), pytest.raises(UnwritableOutput, match="is writing this run"):
        RunStore.writer(tmp_path)
    assert removed


def test_equal_errors_are_grouped_whatever_their_cells():
    text = "PolicyError: act failed in {}: ValueError: no 7/8"
    batch = "9/S-T1-Original/2/100 at step 1, 9/S-T1-Original/3/100 at step 1"
    errors = [
        error(1, message="RuntimeError: unstable", kind="simulator"),
        error(2, message=text.format(batch)),
        error(3, message=text.format("9/S-T1-Original/3/100 at step 40")),
        error(4, message=text.format("9/S-T1-Original/4/100 at step 1").replace("7/8", "8/8")),
        error(5, message="RuntimeError: unstable"),
        error(6, message="PolicyError: act returned nan at index 2 of 9/S-T1-Original/6/100, step 3"),
        error(7, message="PolicyError: act returned nan at index 2 of 9/S-T1-Original/7/100, step 12"),
    ]
    assert [[one.init_state for one in group] for group in group_errors(errors)] == [[2, 3], [6, 7], [1], [4], [5]]


def test_no_run(tmp_path):
    with pytest.raises(CorruptRun, match=r"holds no run .*evaluate"):
        RunStore.open(tmp_path / "nothing")
    (tmp_path / FILE).write_bytes(b"")
    with pytest.raises(CorruptRun, match="empty"):
        RunStore.open(tmp_path)
    with RunStore.writer(tmp_path) as store:
        assert store.is_new
        with pytest.raises(CorruptRun, match="no header"):
            _ = store.header


@pytest.mark.parametrize("open_run", [RunStore.open, RunStore.writer])
def test_damaged_files(run, open_run):
    path = run / FILE
    whole = path.read_bytes()
    for damaged, message in [
        (b"\x93NUMPY" * 1000, "not a database"),
        (whole[: len(whole) // 2], "damaged .*salvage"),
        (whole[:4096] + os.urandom(len(whole) - 4096), "damaged"),
    ]:
        path.write_bytes(damaged)
        with pytest.raises(CorruptRun, match=message) as caught:
            open_run(run)
        assert str(path) in str(caught.value)
        assert path.read_bytes() == damaged


def test_another_programs_database(run, tmp_path):
    with contextlib.closing(sqlite3.connect(tmp_path / FILE)) as plain:
        plain.execute("CREATE TABLE episodes (x)")
    for open_run in (RunStore.open, RunStore.writer):
        with pytest.raises(CorruptRun, match="not of gym-grounding; give another directory"):
            open_run(tmp_path)


def test_another_layout(run):
    with contextlib.closing(sqlite3.connect(run / FILE)) as plain:
        plain.execute("PRAGMA user_version=99")
    with pytest.raises(CorruptRun, match="layout 99, this version of gym-grounding reads layout 1"):
        RunStore.open(run)


def test_a_damaged_row_is_named(run):
    with contextlib.closing(sqlite3.connect(run / FILE, isolation_level=None)) as plain:
        plain.execute(
            'UPDATE episodes SET json = replace(json, \'"steps": 12\', \'"steps": "x"\') WHERE init_state = 1'
        )
    with RunStore.open(run) as store, pytest.raises(CorruptRun, match=r"episodes row .*, 1, 100.*EpisodeRecord.steps"):
        store.episodes()


def test_a_damaged_header_is_reported(run):
    with contextlib.closing(sqlite3.connect(run / FILE, isolation_level=None)) as plain:
        plain.execute("UPDATE header SET json = '{' WHERE key = 'plan'")
    with RunStore.open(run) as store, pytest.raises(CorruptRun, match=FILE):
        _ = store.header


def test_what_can_be_read_is_salvaged(tmp_path):
    records = [episode(k, instruction=f"{k} " * 500) for k in range(40)]
    with RunStore.create(tmp_path / "run", HEADER) as store:
        for record in records:
            store.add_episode(record)
    path = tmp_path / "run" / FILE
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(CorruptRun):
        RunStore.open(tmp_path / "run")
    saved = salvage(tmp_path / "run", tmp_path / "new")
    assert 10 < saved["episodes"] < 40
    with RunStore.create(tmp_path / "new", HEADER) as store:
        assert len(store.episodes()) == saved["episodes"]
        assert all(record == records[record.init_state] for record in store.episodes())
    with pytest.raises(InvalidOption, match="holds a run already"):
        salvage(tmp_path / "run", tmp_path / "new")


def test_salvage_without_a_header(run, tmp_path):
    (run / FILE).write_bytes(b"rubbish" * 2000)
    with pytest.raises(CorruptRun, match="beyond repair"):
        salvage(run, tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_a_full_disk_loses_nothing(run):
    with RunStore.create(run, HEADER) as store:
        (pages,) = store.connection.execute("PRAGMA page_count").fetchone()
        store.connection.execute(f"PRAGMA max_page_count={pages}")
        large = episode(100, instruction="x" * 100_000)
        with pytest.raises(UnwritableOutput, match=r"full.*recorded before is safe.*same command"):
            store.add_episode(large)
        assert len(store.episodes()) == 3
    with RunStore.create(run, HEADER) as store:
        assert store.episodes() == (episode(0), episode(1), episode(2))
        assert store.add_episode(large)


@pytest.mark.parametrize("place", ["/dev/null/run", "/proc/run"])
def test_places_that_cannot_be_written(place):
    with pytest.raises(UnwritableOutput, match=f"{place}.*cannot be written"):
        RunStore.create(place, HEADER)


@pytest.mark.parametrize("below", ["", "deeper", "deeper/still"])
def test_a_file_in_the_way(tmp_path, below):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UnwritableOutput, match="a file is in the way") as caught:
        RunStore.create(tmp_path / "file" / below, HEADER)
    assert "recorded before" not in str(caught.value)
    assert (tmp_path / "file").read_text() == "mine"


def test_nothing_is_said_of_a_run_that_is_not_there():
    with pytest.raises(UnwritableOutput, match="Free space") as caught:
        RunStore.create("/proc/run", HEADER)
    assert "recorded before" not in str(caught.value)


def test_a_run_needs_a_name():
    with pytest.raises(InvalidOption, match="name one"):
        RunStore.writer("")


def test_a_directory_in_the_files_place(tmp_path):
    (tmp_path / FILE).mkdir()
    with pytest.raises(UnwritableOutput, match=FILE):
        RunStore.create(tmp_path, HEADER)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_run_can_be_read_but_not_written(run):
    (run / FILE).chmod(0o444)
    run.chmod(0o555)
    try:
        with RunStore.open(run) as store:
            assert len(store.episodes()) == 3
        with pytest.raises(UnwritableOutput, match="permission"):
            RunStore.writer(run)
    finally:
        run.chmod(0o755)


def test_numbers_that_sqlite_cannot_hold(run):
    with RunStore.create(run, HEADER) as store, pytest.raises(InvalidOption, match="64 bits"):
        store.add_episode(episode(2**64))


def test_unusual_directory_names(tmp_path):
    with RunStore.create(tmp_path / "a b?c#d%20 é", HEADER) as store:
        store.add_episode(episode())
    with RunStore.open(tmp_path / "a b?c#d%20 é") as store:
        assert len(store.episodes()) == 1

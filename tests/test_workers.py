"""Worker processes: those that hang, those that die, those that outlive their parent, and what they are given."""

import contextlib
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from toy_runs import BOWL, a_plan, all_end, errors_of, without_time

from gym_grounding import manifest as manifests
from gym_grounding.errors import InvalidOption, PolicyError, WorkerDied
from gym_grounding.policy import PolicySource
from gym_grounding.rollout import units
from gym_grounding.workers import InProcess, PolicyFacts, Workers, runner, start_limit

HERE = str(Path(__file__).parent)


def run(plan, policy="faulty_policies:Faulty", count=1, timeout=None, start_timeout=None, wanted=None, **options):
    manifest = manifests.load(plan.registry)
    source = PolicySource(policy, options)
    jobs = [
        (unit, frozenset(unit if wanted is None else wanted)) for unit in units(plan.cells(manifest), plan, manifest)
    ]
    with contextlib.closing(runner(count, source, plan, timeout, start_timeout)) as workers:
        workers.prepare(plan.stages[0], plan.seeds[0])
        return list(workers.run(jobs))


def fault_free(plan, lost=()):
    return [record for record in without_time(run(plan, count=0, fault="none", at=BOWL)) if record.cell not in lost]


def test_any_number_of_workers_gives_the_same_records():
    plan = a_plan(batch=3)
    here = without_time(run(plan, count=0, fault="raise", at=BOWL))
    for count in (1, 3):
        outcomes = run(plan, count=count, fault="raise", at=BOWL)
        assert without_time(outcomes) == here
        assert sorted(error.init_state for error in errors_of(outcomes)) == [0, 1]


def test_only_wanted_cells_come_back():
    plan = a_plan(conditions=["original"], batch=4)
    (one, *_) = plan.cells(manifests.load(plan.registry))
    for count in (0, 1):
        assert [outcome.cell for outcome in run(plan, "faulty_policies:Wander", count, wanted=[one])] == [one]


@pytest.mark.parametrize("batch", [1, 4])
def test_a_hanging_call_is_ended_and_the_rest_goes_on(batch):
    plan = a_plan(batch=batch, conditions=["contrast", "original"])
    outcomes = run(plan, timeout=2.0, fault="hang", at=BOWL)
    failed = errors_of(outcomes)
    assert sorted(error.init_state for error in failed) == [0, 1]
    for error in failed:
        assert (error.kind, error.variant) == ("timeout", "Toy-T0-ContrastObject1")
        assert re.search(r"a policy call took over 2 s in 5/Toy-T0-ContrastObject1/[01]/0", error.message)
    assert without_time(outcomes) == fault_free(plan, {error.cell for error in failed})


# three slow calls are longer than the limit, each is far below it; a slow world is longer by itself
@pytest.mark.parametrize(("policy", "timeout", "seconds"), [("Slow", 3.0, 1.1), ("SlowWorld", 1.0, 1.1)])
def test_each_call_is_timed_by_itself_and_the_simulator_not_at_all(policy, timeout, seconds):
    plan = a_plan(conditions=["original"], tasks=[0], init_states=[0], horizon=3)
    outcomes = run(plan, f"faulty_policies:{policy}", timeout=timeout, seconds=seconds)
    assert len(without_time(outcomes)) == 1


def test_a_policy_that_is_never_made_ends_the_run_and_leaves_nobody_behind():
    with pytest.raises(PolicyError, match=r"faulty_policies:Stuck took longer than 2 s to be made.*--start-timeout"):
        run(a_plan(), "faulty_policies:Stuck", start_timeout=2.0, at=5)
    assert multiprocessing.active_children() == []


def test_a_policy_that_is_never_made_for_a_later_stage(monkeypatch):
    plan = a_plan(conditions=["original"], tasks=[0], stages=(0, 2), init_states=[0])
    manifest = manifests.load(plan.registry)
    jobs = [(unit, frozenset(unit)) for unit in units(plan.cells(manifest), plan, manifest)]
    with contextlib.closing(runner(1, PolicySource("faulty_policies:Stuck", {"at": 2}), plan)) as workers:
        workers.prepare(0, 0)
        outcomes = workers.run(jobs)
        assert next(outcomes).cell.stage == 0
        workers._start_timeout, workers._patience = 0.5, 0.1  # only now, so that a slow machine may start in peace
        with pytest.raises(PolicyError, match=r"took longer than 0\.5 s to be made"):
            next(outcomes)
    assert multiprocessing.active_children() == []


@pytest.mark.parametrize(
    ("timeout", "start_timeout", "limit"),
    [(None, None, None), (1.0, None, 60.0), (30.0, None, 300.0), (30.0, 5.0, 5.0), (None, 5.0, 5.0)],
)
def test_making_a_policy_may_take_longer_than_a_call(timeout, start_timeout, limit):
    assert start_limit(timeout, start_timeout) == limit


def test_a_keyboard_interrupt_of_the_policy_itself_is_its_error():
    plan = a_plan(conditions=["contrast"])
    failed = errors_of(run(plan, fault="interrupt", at=BOWL))
    assert [error.kind for error in failed] == ["policy", "policy"]
    assert all("KeyboardInterrupt" in error.message for error in failed)


@pytest.mark.parametrize(
    ("fault", "batch", "message"), [("exit", 1, "exit code 7, 2 times"), ("kill", 4, r"SIGKILL \(out of memory\?\)")]
)
def test_a_dead_worker_is_replaced_and_its_episode_blamed_in_the_end(fault, batch, message):
    plan = a_plan(batch=batch, conditions=["contrast", "original"], init_states=[0])
    outcomes = run(plan, fault=fault, at=BOWL)
    (error,) = errors_of(outcomes)
    assert (error.kind, error.variant) == ("worker", "Toy-T0-ContrastObject1")
    assert re.search(message, error.message)
    assert without_time(outcomes) == fault_free(plan, {error.cell})


@pytest.mark.parametrize("batch", [1, 3])
def test_a_death_by_chance_costs_nothing(tmp_path, batch):
    plan = a_plan(batch=batch, conditions=["contrast", "original"])
    outcomes = run(plan, count=2, fault="kill", at=BOWL, once=str(tmp_path / "dead"))
    assert (tmp_path / "dead").exists()
    assert not errors_of(outcomes)
    assert without_time(outcomes) == fault_free(plan)


@pytest.mark.parametrize("count", [0, 1])
@pytest.mark.parametrize(
    ("policy", "message"),
    [("faulty_policies:NOBODY", "has no 'NOBODY'"), ("faulty_policies:Picky", "wants observation='pixels'.*'state'")],
)
def test_a_policy_that_cannot_be_made_fails_once_and_at_once(policy, message, count):
    with pytest.raises(PolicyError, match=message):
        run(a_plan(), policy, count)


def test_a_policy_that_takes_its_process_down_when_made():
    with pytest.raises(
        WorkerDied, match=r"exit code 9 while it made the policy faulty_policies:Dying, 2 times in a row"
    ):
        run(a_plan(), "faulty_policies:Dying")


@pytest.mark.parametrize("count", [0, 1])
def test_each_stage_and_seed_has_its_own_policy(count):
    plan = a_plan(conditions=["original"], tasks=[0], stages=(0, 2), seeds=(0, 5), init_states=[0])
    records = without_time(run(plan, "faulty_policies:Staged", count))
    norms = {(record.stage, record.seed): record.action_mean_norm / 2 for record in records}
    assert norms == pytest.approx({(0, 0): 0.0, (0, 5): 0.05, (2, 0): 0.2, (2, 5): 0.25})
    with pytest.raises(PolicyError, match="no checkpoint of stage 2"):
        run(plan, "faulty_policies:Staged", count, missing=2)


def test_objects_travel_to_workers_if_they_can():
    import faulty_policies

    plan = a_plan(conditions=["original"], tasks=[0], init_states=[0])
    assert len(run(plan, faulty_policies.POLICY)) == len(run(plan, faulty_policies.still, 0)) == 1

    def local(observation, instruction):
        return faulty_policies.still(observation, instruction)

    assert len(run(plan, local, 0)) == 1
    with pytest.raises(PolicyError, match=r"cannot be sent to worker processes .*workers=0"):
        run(plan, local, 1)


def test_facts_of_a_policy():
    plan = a_plan()
    assert InProcess(PolicySource("faulty_policies:Told"), plan).prepare(0, 0).task_identity
    with contextlib.closing(Workers(1, PolicySource("faulty_policies:Told"), plan, None)) as workers:
        assert workers.prepare(0, 0) == PolicyFacts(True)


def test_workers_compute_with_one_thread(monkeypatch, tmp_path):
    (tmp_path / "mine_threads.py").write_text(
        "import os\n"
        "raise RuntimeError(' '.join(os.environ[f'{name}_NUM_THREADS'] for name in ('OMP', 'OPENBLAS', 'MKL')))\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with pytest.raises(PolicyError, match="3 1 1"):
        run(a_plan(), "mine_threads:POLICY")
    assert "MKL_NUM_THREADS" not in os.environ


@pytest.mark.parametrize(
    ("count", "timeout", "message"),
    [(-1, None, "workers is -1"), (1.5, None, "workers is 1.5"), (True, None, "workers is True"),
     (1, 0.0, "timeout is 0.0"), (1, float("nan"), "timeout is nan"), (0, 5.0, "needs workers=1 or more")],
)  # fmt: skip
def test_settings_outside_their_domain(count, timeout, message):
    with pytest.raises(InvalidOption, match=message):
        runner(count, PolicySource("faulty_policies:POLICY"), a_plan(), timeout)
    if timeout is not None:
        with pytest.raises(InvalidOption, match=message.replace("timeout is", "start_timeout is")):
            runner(count, PolicySource("faulty_policies:POLICY"), a_plan(), start_timeout=timeout)


def test_workers_end_when_their_parent_is_killed():
    script = textwrap.dedent("""
        from test_workers import run, a_plan
        import sys, multiprocessing, threading, time
        def tell():
            while len(multiprocessing.active_children()) < 2:
                time.sleep(0.05)
            time.sleep(2.5)
            print(*(child.pid for child in multiprocessing.active_children()), flush=True)
        if __name__ == "__main__":
            threading.Thread(target=tell, daemon=True).start()
            run(a_plan(conditions=["original"]), "faulty_policies:Slow", 2, seconds=60.0)
    """)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([HERE, *filter(None, sys.path)])}
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        children = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(children) == 2
        parent.send_signal(signal.SIGKILL)
    assert all_end(children)

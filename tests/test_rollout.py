"""The loop: what a policy is handed, what is counted, and whose fault an error is."""

import dataclasses
import re
import shutil

import faulty_policies as policies
import numpy as np
import pytest
from toy_runs import BOWL, LAMP, a_plan, errors_of, without_time

from gym_grounding import manifest as manifests
from gym_grounding import registration, rollout
from gym_grounding.adapters.toy import ToyAdapter, ToyScene
from gym_grounding.errors import MissingSource, VariantMismatch
from gym_grounding.plan import Plan, episode_seed
from gym_grounding.records import EpisodeRecord, from_json, to_json
from gym_grounding.testing import TOY_REGISTRY
from gym_grounding.wrappers import Instruction


def run(policy, plan: Plan):
    manifest = manifests.load(plan.registry)
    return list(rollout.run_cells(policy, plan.cells(manifest), plan, manifest))


@pytest.fixture
def manifest():
    return manifests.load(TOY_REGISTRY)


def test_units_share_stage_seed_and_scene(manifest):
    plan = a_plan(tasks=None, stages="all", seeds=(0, 1), batch=4)
    cells = plan.cells(manifest)
    units = rollout.units(cells, plan, manifest)
    assert sorted(cell for unit in units for cell in unit) == sorted(cells)
    for unit in units:
        assert 1 <= len(unit) <= 4
        scenes = {manifest.task(manifest.variant(cell.variant).task).scene for cell in unit}
        assert len({(cell.stage, cell.seed) for cell in unit}) == len(scenes) == 1
    assert all(len(unit) == 1 for unit in rollout.units(cells, a_plan(), manifest))


@pytest.mark.parametrize("batch", [1, 4])
def test_each_initial_state_is_visited_once(batch):
    outcomes = run(policies.Still(), a_plan(conditions=["original"], tasks=[0], init_states=range(5), batch=batch))
    assert sorted(outcome.init_state for outcome in outcomes) == [0, 1, 2, 3, 4]


def test_a_solved_episode():
    (record,) = run(policies.Lamp(), a_plan(conditions=["original"], tasks=[2], init_states=[3], horizon=50))
    assert (record.ended, record.success) == ("terminated", True)
    assert record.first_held == {"original": record.steps}
    assert record.held_at_end == ("original",)
    assert record.void == ()
    assert (record.task, record.condition, record.slot, record.tier) == ("Toy-T2", "original", None, None)
    assert record.instruction == LAMP
    assert not record.task_identity
    assert record.seconds > 0
    assert 0 < record.displacement < 0.6
    assert list(record.motion_steps) == ["0.01", "0.02", "0.05", "0.1"]


def test_another_tasks_goal_is_labelled_by_its_task():
    (record,) = run(
        policies.Lamp(), a_plan(conditions=["collision"], slots=["object"], tasks=[0], init_states=[0], horizon=30)
    )
    assert record.success is None
    assert record.ended == "truncated"
    assert record.steps == 30
    assert list(record.first_held) == ["Toy-T2"]
    assert record.held_at_end == ("Toy-T2",)


def test_the_time_limit_is_no_success():
    for record in run(policies.Still(), a_plan()):
        assert (record.ended, record.steps, record.first_held) == ("truncated", 6, {})
        assert record.success is (None if record.condition == "collision" else False)


def test_a_goal_that_holds_at_the_start_is_void(monkeypatch):
    monkeypatch.setattr(ToyScene, "holds", lambda self, goal: goal.id == "turnon(lamp_1)")
    (record,) = run(policies.Still(), a_plan(conditions=["original"], tasks=[2], init_states=[0]))
    assert record.void == ("original",)
    assert (record.success, record.first_held, record.held_at_end) == (None, {}, ("original",))
    assert not record.reached("original", "end")


def test_motion_is_measured_from_the_start():
    class Forward(policies.Still):
        def act(self, observations, state):
            return np.tile([0.3, 0.0, 0.0, 7.0], (state, 1)), state

    (record,) = run(Forward(), a_plan(conditions=["original"], tasks=[2], init_states=[0], horizon=10))
    assert record.motion_steps == {"0.01": 1, "0.02": 2, "0.05": 4, "0.1": 7}
    assert record.displacement == pytest.approx(0.15)
    assert record.action_mean_norm == pytest.approx(np.hypot(0.3, 1.0))


def test_batches_of_any_size_give_the_same_records():
    whole = a_plan(conditions=["original", "collision"], tasks=[2], init_states=range(5), horizon=40)
    single = without_time(run(policies.Lamp(), whole))
    assert len({record.steps for record in single}) > 2
    for batch in (2, 3, 16):
        assert without_time(run(policies.Lamp(), dataclasses.replace(whole, batch=batch))) == single
    walked = without_time(run(policies.Wander(), whole))
    assert without_time(run(policies.Wander(), dataclasses.replace(whole, batch=3))) == walked
    assert walked != single


def test_what_a_policy_is_handed(manifest):
    calls = []

    class Recording(policies.Still):
        def start(self, instructions, seed, **extra):
            calls.append((instructions, seed, extra))
            return super().start(instructions, seed)

        def act(self, observations, state):
            assert {key: len(value) for key, value in observations.items()} == dict.fromkeys(observations, state)
            for value in observations.values():
                value.fill(0)  # a policy's own copies: writing into them changes nothing
            return super().act(observations, state)

    plan = a_plan(batch=3)
    outcomes = run(Recording(), plan)
    assert not errors_of(outcomes)
    units = rollout.units(plan.cells(manifest), plan, manifest)
    assert len(calls) == len(units)
    for unit, (instructions, seed, extra) in zip(units, calls, strict=True):
        assert extra == {}
        assert seed == [episode_seed(cell) for cell in unit]
        assert all(
            text is manifest.variant(cell.variant).instruction for text, cell in zip(instructions, unit, strict=True)
        )
    records = {record.cell: record for record in outcomes}
    assert all(records[cell].episode_seed == episode_seed(cell) for cell in records)


def test_the_task_is_told_only_on_demand_and_the_record_says_so():
    assert all(record.task_identity for record in run(policies.Told(), a_plan()))
    assert not any(record.task_identity for record in run(policies.Still(), a_plan()))


def test_a_batch_keeps_its_size_while_episodes_end():
    sizes = []

    class Counting(policies.Lamp):
        def act(self, observations, state):
            sizes.append(len(observations["hand_pos"]))
            return super().act(observations, state)

    records = run(Counting(), a_plan(conditions=["original"], tasks=[2], init_states=range(5), horizon=40, batch=5))
    assert sizes == [5] * max(record.steps for record in records)


def test_every_environment_is_given_back(monkeypatch):
    opened, closed = [], []
    plain_open, plain_close = ToyAdapter.open, ToyScene.close
    monkeypatch.setattr(ToyAdapter, "open", lambda self, *args: opened.append(1) or plain_open(self, *args))
    monkeypatch.setattr(ToyScene, "close", lambda self: closed.append(1) or plain_close(self))
    outcomes = run(policies.Faulty("raise", BOWL), a_plan(batch=4))
    assert len(closed) == len(opened) >= len(outcomes)
    plan = a_plan()
    manifest = manifests.load(plan.registry)
    unfinished = rollout.run_cells(policies.Still(), plan.cells(manifest), plan, manifest)
    next(unfinished)
    unfinished.close()
    assert len(closed) == len(opened)


@pytest.mark.parametrize("batch", [1, 4])
@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("raise", "act failed in .*ContrastObject1/[01]/0 at step 2.*ValueError: lost the thread"),
        ("quit", "act failed in .*SystemExit: 3"),
        ("stop", "act failed in .*StopIteration: no more"),
        ("close", "act failed in .*GeneratorExit"),
        ("mute", "act failed in .*Mute: .its text cannot be had: RuntimeError"),
        ("nan", "act returned nan at index 2 of 5/Toy-T0-ContrastObject1/[01]/0, step 3"),
        ("shape", r"returned shape \(1, 3\) .*shape \(1, 4\)"),
        ("type", "type complex128; it must return real numbers"),
        ("single", r"returned ndarray; it must return \(actions, state\)"),
        ("start", "start failed in .*KeyError: 'no such words'"),
    ],
)
def test_a_policys_fault_costs_only_its_own_episodes(fault, message, batch):
    plan = a_plan(batch=batch)
    outcomes = run(policies.Faulty(fault, BOWL), plan)
    failed = errors_of(outcomes)
    good = without_time(run(policies.Faulty("none", BOWL), plan))
    assert sorted(error.init_state for error in failed) == [0, 1]
    for error in failed:
        assert (error.kind, error.variant) == ("policy", "Toy-T0-ContrastObject1")
        assert "\n" not in error.message
        assert re.search(message, error.message)
    lost = {error.cell for error in failed}
    assert without_time(outcomes) == [record for record in good if record.cell not in lost]


def test_a_batch_that_fails_late_keeps_what_it_has_finished():
    class Late(policies.Lamp):
        def start(self, instructions, seed):
            return [len(instructions), 0]

        def act(self, observations, state):
            count, step = state
            if count > 1 and step == late:
                raise RuntimeError("too many")
            return super().act(observations, count)[0], [count, step + 1]

    plan = a_plan(conditions=["original"], tasks=[2], init_states=range(5), horizon=40)
    alone = without_time(run(policies.Lamp(), plan))
    late = min(record.steps for record in alone)
    assert late < max(record.steps for record in alone)
    outcomes = run(Late(), dataclasses.replace(plan, batch=5))
    assert len(outcomes) == 5
    assert without_time(outcomes) == alone


def test_ctrl_c_in_the_middle_of_a_call_is_the_users():
    with pytest.raises(KeyboardInterrupt):
        run(policies.Faulty("interrupt", BOWL), a_plan())


def test_a_traceback_leads_into_the_policy():
    (error, _) = errors_of(run(policies.Faulty("raise", BOWL), a_plan()))
    assert "faulty_policies.py" in error.traceback
    assert "ValueError: lost the thread" in error.traceback


def failing_step(monkeypatch, error: Exception):
    plain = ToyScene.step

    def step(self, action):
        if self._points.keys() >= {"bowl_1"} and self._steps == 4:
            raise error
        return plain(self, action)

    monkeypatch.setattr(ToyScene, "step", step)


@pytest.mark.parametrize("batch", [1, 3])
def test_a_simulators_fault_is_its_own(monkeypatch, batch):
    failing_step(monkeypatch, RuntimeError("unstable\nsimulation"))
    outcomes = run(policies.Still(), a_plan(tasks=[0, 3], conditions=["original"], batch=batch))
    assert [(e.kind, e.message) for e in errors_of(outcomes)] == [
        ("simulator", "RuntimeError: unstable simulation")
    ] * 2
    assert {record.task for record in without_time(outcomes)} == {"Toy-T3"}


def test_a_diverged_simulation_is_an_error(monkeypatch):
    monkeypatch.setattr(ToyScene, "displacement", lambda self: float("nan"))
    outcomes = run(policies.Still(), a_plan(conditions=["original"]))
    assert {(e.kind, "diverged" in e.message) for e in outcomes} == {("simulator", True)}


def test_a_missing_source_stops_the_run(monkeypatch):
    def fail(self, *args):
        raise MissingSource("no file x.bddl for Toy-T0")

    monkeypatch.setattr(ToyAdapter, "open", fail)
    with pytest.raises(MissingSource, match=r"x\.bddl"):
        run(policies.Still(), a_plan())


def test_a_changed_instruction_stops_the_run(monkeypatch):
    make = registration.make
    monkeypatch.setattr(
        registration, "make", lambda *args, **more: Instruction(make(*args, **more).env, "do as you like")
    )
    with pytest.raises(
        VariantMismatch, match="Toy-T0-Original: info says 'do as you like', the registry 'put the block"
    ):
        run(policies.Still(), a_plan())


def test_a_registry_that_is_edited_in_between_stops_the_run(tmp_path):
    copy = tmp_path / "registry.yaml"
    shutil.copy(TOY_REGISTRY, copy)
    plan = a_plan(registry=copy)
    manifest = manifests.load(copy)
    outcomes = rollout.run_cells(policies.Still(), plan.cells(manifest), plan, manifest)
    next(outcomes)
    copy.write_text(copy.read_text() + "# an afterthought\n")
    with pytest.raises(VariantMismatch, match="edited while the run went on"):
        next(outcomes)


def test_text_that_is_no_unicode_can_be_recorded():
    record = rollout.error_record(a_plan().cells(manifests.load(TOY_REGISTRY))[0], "policy", ValueError("file \udcff"))
    assert "\\udcff" in record.message
    record.traceback.encode()


@pytest.mark.parametrize("batch", [1, 4])
def test_a_policys_notes_are_those_of_the_episodes_end(batch):
    records = run(policies.Noting(), a_plan(batch=batch))
    assert len(records) > 8
    for record in records:
        length = len(record.instruction)
        assert record.notes == {"length": length, "taken": 6.0, "both": [length, 6]}
        assert from_json(EpisodeRecord, to_json(record)) == record
    assert {record.notes["length"] for record in records} != {records[0].notes["length"]}
    assert all(record.notes == {} for record in run(policies.Still(), a_plan()))


def test_notes_change_no_other_field():
    noted, silent = (without_time(run(policy(), a_plan())) for policy in (policies.Noting, policies.Still))
    assert [dataclasses.replace(one, notes={}) for one in noted] == silent


@pytest.mark.parametrize(
    ("note", "message"),
    [
        (3, "must return a dict for each episode"),
        ({"a": "text"}, "its note 'a' is 'text'; a note is a finite number"),
        ({"a": float("nan")}, "its note 'a' is nan"),
        ({"a": [[1]]}, "its note 'a' is"),
    ],
)
def test_notes_that_are_no_numbers_are_the_policys_error(monkeypatch, note, message):
    monkeypatch.setattr(policies.Noting, "note", note)
    outcomes = run(policies.Noting(), a_plan(conditions=["original"], tasks=[0]))
    assert len(outcomes) == 2
    for error in errors_of(outcomes):
        assert error.kind == "policy"
        assert "notes failed in" in error.message
        assert message in error.message
    assert len(errors_of(outcomes)) == 2

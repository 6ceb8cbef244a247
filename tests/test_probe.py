"""Stored observations are plain and checked; a probe changes the words and nothing else."""

import dataclasses
import zipfile

import faulty_policies
import numpy as np
import pytest
from toy_runs import LAMP, a_plan

from gym_grounding.errors import (
    CorruptRun,
    InvalidOption,
    MissingSource,
    PlanMismatch,
    PolicyError,
    UnwritableOutput,
)
from gym_grounding.evaluate import evaluate
from gym_grounding.probe import StoredObservations, collect, load_observations, probe, probes_of, save_observations
from gym_grounding.store import RunStore
from gym_grounding.types import SceneSettings
from gym_grounding.wrappers import instruction_text


class Listener(faulty_policies.Still):
    """Its actions are the length of the words; its densities too."""

    def start(self, instructions, seed):
        return [len(text) for text in instructions]

    def mean_action(self, observations, state):
        assert [len(instruction_text(row)) for row in observations["instruction"]] == state
        return np.tile(np.array(state, float)[:, None], (1, 4))

    def log_prob(self, observations, state, actions):
        assert len(actions) == len(state)
        return -np.array(state, float) - actions[:, 0]


LISTENER = Listener()


def some(count=3, **changes) -> StoredObservations:
    values = {
        "names": tuple(f"Toy-T0/0/{step}" for step in range(count)),
        "observations": {"hand_pos": np.arange(3.0 * count).reshape(count, 3), "dots": np.zeros((count, 2), np.uint8)},
        "expert_actions": np.full((count, 4), 0.25),
    }  # fmt: skip
    return StoredObservations(**{**values, **changes})


def test_the_starts_of_a_plan(tmp_path):
    plan = a_plan(tasks=[0, 3], init_states=range(3))
    tasks = load_observations(collect(plan, tmp_path / "starts.npz"))
    assert list(tasks) == ["Toy-T0", "Toy-T3"]
    assert tasks["Toy-T0"].names == ("Toy-T0/0/0", "Toy-T0/1/0", "Toy-T0/2/0")
    assert tasks["Toy-T0"].observations["block_1_pos"].shape == (3, 3)
    assert tasks["Toy-T3"].observations["cabinet_1_joint_pos"].shape == (3, 2)
    assert "instruction" not in tasks["Toy-T0"].observations
    assert tasks["Toy-T0"].expert_actions is None
    assert tasks["Toy-T0"].settings == plan.settings
    assert [path.name for path in tmp_path.iterdir()] == ["starts.npz"]


def test_moments_on_a_policys_way(tmp_path):
    plan = a_plan(tasks=[2], init_states=[0], horizon=30)
    lamp = "faulty_policies:Lamp"
    way = load_observations(collect(plan, tmp_path / "way.npz", policy=lamp, every=2, expert=True))["Toy-T2"]
    assert way.names[:3] == ("Toy-T2/0/0", "Toy-T2/0/2", "Toy-T2/0/4")
    assert 3 <= len(way.names) < 15  # the lamp is on before the time is up
    assert way.expert_actions.shape == (len(way.names), 4)
    hand = way.observations["hand_pos"]
    assert np.allclose(hand[0] + 0.05 * way.expert_actions[0, :3], hand[1], atol=0.06)
    assert not np.allclose(hand[0], hand[1])
    again = load_observations(collect(plan, tmp_path / "b.npz", policy=lamp, every=2))["Toy-T2"]
    assert again.expert_actions is None
    assert (again.observations["hand_pos"] == hand).all()


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"every": 0}, InvalidOption, "every is 0"),
        ({"expert": True}, InvalidOption, "need a policy"),
        ({"policy": "faulty_policies:NOBODY"}, PolicyError, "NOBODY"),
        ({"policy": "faulty_policies:Faulty", "options": {"fault": "nan", "at": LAMP}}, PolicyError, "nan"),
        ({"policy": "faulty_policies:Faulty", "options": {"fault": "raise", "at": LAMP}}, PolicyError,
         "act failed in Toy-T2-Original: ValueError: lost"),
    ],
)  # fmt: skip
def test_collecting_that_fails_leaves_no_file(tmp_path, given, error, message):
    with pytest.raises(error, match=message):
        collect(a_plan(), tmp_path / "x.npz", **given)
    assert list(tmp_path.iterdir()) == []


def test_observations_round_trip(tmp_path):
    other = some(2, names=("a", "b"), expert_actions=None, settings=SceneSettings(orientation="upright"))
    save_observations(tmp_path / "x.npz", {"Toy-T0": some(), "Toy-T2": other})
    tasks = load_observations(tmp_path / "x.npz")
    assert list(tasks) == ["Toy-T0", "Toy-T2"]
    for task, stored in {"Toy-T0": some(), "Toy-T2": other}.items():
        assert (tasks[task].names, tasks[task].settings) == (stored.names, stored.settings)
        for key, array in stored.observations.items():
            assert (tasks[task].observations[key] == array).all()
            assert tasks[task].observations[key].dtype == array.dtype
    assert (tasks["Toy-T0"].expert_actions == 0.25).all()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ()}, "at least one name"),
        ({"names": ("a", "a", "b")}, "names that differ"),
        ({"observations": {}}, "one array"),
        ({"observations": {"x": np.zeros((2, 3))}}, r"x has shape \(2, 3\).*expected 3 rows"),
        ({"observations": {"x": np.array(["a", "b", "c"])}}, "x has shape"),
        ({"observations": {"x": np.array([0.0, np.nan, 0.0])}}, "x holds NaN"),
        ({"observations": {"instruction": np.zeros((3, 256), np.uint8)}}, "have no 'instruction'"),
        ({"expert_actions": np.zeros(3)}, r"expert_actions has shape \(3,\)"),
        ({"expert_actions": np.full((3, 4), np.inf)}, "expert_actions holds NaN or an infinity"),
    ],
)
def test_observations_that_make_no_sense(changes, message):
    with pytest.raises(InvalidOption, match=message):
        some(**changes)


def test_one_name_for_two_observations(tmp_path):
    with pytest.raises(InvalidOption, match="share a name"):
        save_observations(tmp_path / "x.npz", {"Toy-T0": some(), "Toy-T1": some()})
    with pytest.raises(InvalidOption, match="no observations"):
        save_observations(tmp_path / "x.npz", {})


def test_files_that_are_no_observations(tmp_path):
    path = tmp_path / "x.npz"
    with pytest.raises(MissingSource, match=r"x\.npz: no such file; `gym-grounding observe`"):
        load_observations(path)
    save_observations(path, {"Toy-T0": some()})
    whole = path.read_bytes()
    for content in (b"", b"rubbish", whole[: len(whole) // 2], whole[:200] + bytes(50) + whole[250:]):
        path.write_bytes(content)
        with pytest.raises(CorruptRun, match=r"x\.npz.*collect"):
            load_observations(path)
    np.save(path.with_suffix(".npy"), np.zeros(3))
    with pytest.raises(CorruptRun, match="no readable file"):
        load_observations(path.with_suffix(".npy"))
    with pytest.raises(UnwritableOutput, match="/dev/null"):
        save_observations("/dev/null/x.npz", {"Toy-T0": some()})


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"format": np.array(2)}, "format 1"),
        ({}, "format 1"),
        ({"format": np.array(1)}, "there are no observations"),
        ({"format": np.array(1), "T/names": np.array([1, 2])}, "T/names is missing or no list of names"),
        ({"format": np.array(1), "T/names": np.array(["a"])}, "T: stored observations need"),
        ({"format": np.array(1), "T/names": np.array(["a"]), "T/observations/x": np.array([None])}, "no readable file"),
        ({"format": np.array(1), "T/names": np.array(["a"]), "T/observations/x": np.zeros((1, 2)),
          "T/settings": np.array("{")}, "T: "),
        ({"format": np.array(1), "T/names": np.array(["a"]), "T/observations/x": np.zeros((1, 2)),
          "T/settings": np.array('{"colour": 1}')}, "T: .*colour"),
    ],
)  # fmt: skip
def test_entries_that_are_no_observations(tmp_path, entries, message):
    np.savez(tmp_path / "x.npz", **entries)
    with pytest.raises(CorruptRun, match=message):
        load_observations(tmp_path / "x.npz")


def test_nothing_in_a_file_is_executed(tmp_path):
    marker = tmp_path / "executed"
    evil = np.array([type("Evil", (), {"__reduce__": lambda self: (marker.touch, ())})()])
    np.savez(tmp_path / "x.npz", allow_pickle=True, format=np.array(1), **{"T/names": evil})
    with pytest.raises(CorruptRun):
        load_observations(tmp_path / "x.npz")
    assert not marker.exists()
    assert "T/names.npy" in zipfile.ZipFile(tmp_path / "x.npz").namelist()


def test_both_answers_and_both_densities(toy):
    variant = toy.variant("Toy-T0-Paraphrase2")
    records = list(probes_of(LISTENER, variant, some(40), toy, stage=5, seed=7))
    assert [record.observation for record in records] == list(some(40).names)
    original = float(len("put the block on the tray"))
    changed = float(len(variant.instruction))
    for record in records:
        assert (record.stage, record.seed, record.variant, record.task) == (5, 7, variant.id, "Toy-T0")
        assert (record.condition, record.slot, record.tier) == ("paraphrase", None, None)
        assert record.action_original == (original,) * 4
        assert record.action_variant == (changed,) * 4
        assert record.log_prob_original == -original - 0.25
        assert record.log_prob_variant == -changed - 0.25


def test_densities_need_an_expert_and_a_policy_that_has_them(toy):
    variant = toy.variant("Toy-T0-Paraphrase1")
    for policy, stored in ((LISTENER, some(expert_actions=None)), (faulty_policies.POLICY, some())):
        (record, *_) = probes_of(policy, variant, stored, toy, 0, 0)
        assert (record.log_prob_original, record.log_prob_variant) == (None, None)


def test_ignoring_the_words_is_a_divergence_of_exactly_zero(toy):
    class Deaf(faulty_policies.Wander):
        """Random and touched by what it sees, but not by what it is told."""

        def start(self, instructions, seed):
            return super().start([""] * len(instructions), seed)

        def act(self, observations, state):
            actions, state = super().act(observations, state)
            return actions @ np.random.default_rng(0).normal(size=(4, 4)), state

    variant = toy.variant("Toy-T0-ContrastTarget1")
    deaf = list(probes_of(Deaf(), variant, some(40), toy, 0, 0))
    assert all(record.action_original == record.action_variant for record in deaf)
    assert len({record.action_original for record in deaf}) == 40
    heard = list(probes_of(faulty_policies.Wander(), toy.variant("Toy-T0-Paraphrase2"), some(40), toy, 0, 0))
    assert all(record.action_original != record.action_variant for record in heard)


def test_the_task_is_told_to_who_asks(toy):
    assert len(list(probes_of(faulty_policies.Told(), toy.variant("Toy-T0-Paraphrase1"), some(), toy, 0, 0))) == 3


@pytest.mark.parametrize(
    ("method", "answer", "message"),
    [
        ("mean_action", np.zeros(4), r"mean_action failed in .*returned shape \(4,\)"),
        ("mean_action", np.full((3, 4), np.nan), "mean_action failed in a probe of Toy-T0-Paraphrase1: .*NaN"),
        ("log_prob", np.zeros((3, 1)), r"log_prob failed in .*returned shape \(3, 1\)"),
        ("log_prob", np.full(3, -np.inf), "log_prob failed in .*infinity"),
    ],
)
def test_wrong_answers(toy, method, answer, message):
    policy = Listener()
    setattr(policy, method, lambda *given: answer)
    with pytest.raises(PolicyError, match=message):
        list(probes_of(policy, toy.variant("Toy-T0-Paraphrase1"), some(), toy, 0, 0))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run, its plan, and observations for it."""
    folder = tmp_path_factory.mktemp("probe")
    plan = a_plan(tasks=[0, 2], seeds=(0, 1))
    evaluate("faulty_policies:Wander", plan, folder / "run", workers=0)
    return folder / "run", plan, collect(plan, folder / "starts.npz")


def test_probes_join_the_run_once(finished):
    run, plan, observations = finished
    added = probe("faulty_policies:Wander", observations, plan, run)
    with RunStore.open(run) as store:
        probes = store.probes()
        episodes = store.episodes()
    changed = {e.variant for e in episodes if e.condition != "original"}
    assert {p.variant for p in probes} == changed
    assert added == len(probes) == len(changed) * 2 * 2  # two seeds, two observations of each task
    assert probe("faulty_policies:Wander", observations, plan, run) == 0


def test_interrupted_probes_continue(finished, tmp_path, monkeypatch):
    _, plan, observations = finished
    evaluate("faulty_policies:Wander", plan, tmp_path, workers=0)
    plain, calls = RunStore.add_probes, []

    def add_probes(self, records):
        calls.append(1)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return plain(self, records)

    with monkeypatch.context() as patch:
        patch.setattr(RunStore, "add_probes", add_probes)
        with pytest.raises(KeyboardInterrupt):
            probe("faulty_policies:Wander", observations, plan, tmp_path)
    with RunStore.open(tmp_path) as store:
        before = len(store.probes())
    assert before == 6
    assert probe("faulty_policies:Wander", load_observations(observations), plan, tmp_path) > 0
    with RunStore.open(finished[0]) as whole, RunStore.open(tmp_path) as store:
        probe("faulty_policies:Wander", observations, plan, finished[0])
        assert store.probes() == whole.probes()


def test_probes_of_another_run(finished, tmp_path):
    run, plan, observations = finished
    with pytest.raises(PlanMismatch, match=r"plan\.horizon differ"):
        probe("faulty_policies:Wander", observations, dataclasses.replace(plan, horizon=9), run)
    with pytest.raises(PlanMismatch, match="policy differ"):
        probe("faulty_policies:POLICY", observations, plan, run)
    with pytest.raises(CorruptRun, match="holds no run"):
        probe("faulty_policies:Wander", observations, plan, tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_observations_that_do_not_fit_the_plan(finished):
    run, plan, _ = finished
    with pytest.raises(InvalidOption, match="are of Toy-T5; the plan has no variants"):
        probe("faulty_policies:Wander", {"Toy-T5": some()}, plan, run)
    with pytest.raises(InvalidOption, match=r"Toy-T0 were stored with .*image_size=64"):
        probe("faulty_policies:Wander", {"Toy-T0": some(settings=SceneSettings(image_size=64))}, plan, run)

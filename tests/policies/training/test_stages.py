"""The continual stages: what a run leaves behind, stopped anywhere, selected fairly, refused where it is another."""

import dataclasses
import json
import shutil

import pytest

pytest.importorskip("torch")

from gym_grounding_policies.training import log, stages
from gym_grounding_policies.training.checkpoint import read
from gym_grounding_policies.training.kits import CPU
from gym_grounding_policies.training.plan import Asked, Selection, planned
from gym_grounding_policies.training.stages import How, pretrain, train
from gym_grounding_policies.training.stop import Stop
from gym_grounding_policies.training.versions import code_of
from policies.training import little, little_arm

from gym_grounding.errors import CorruptRun, InvalidDemonstration, InvalidOption, PlanMismatch, PolicyError
from gym_grounding.report import CURVES, write_report
from gym_grounding.store import RunStore

KIT = dataclasses.replace(
    CPU,
    recipe=dataclasses.replace(CPU.recipe, epochs=2, batch=16),
    windows=dataclasses.replace(CPU.windows, chunk=3, demonstrations=2),
    encoder="hashing",
    network={"width": 8, "layers": 1, "executed": 2, "head": "l1"},
)
HOW = How(workers=0, log_every=1, progress=False, tensorboard="off")
STANDIN = "policies.training.little:LEARNER"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A registry and demonstrations of three tasks."""
    return little_arm.world(tmp_path_factory.mktemp("world"))


def asking(world):
    """Two tasks, two initial states, and a horizon of four steps."""
    return Asked(
        method=STANDIN,
        seed=0,
        kit=KIT,
        demonstrations=world / "demos",
        tasks=("Mini-T1", "Mini-T0"),
        suite="Mini",
        registry=str(world / "registry.yaml"),
        init_states=(0, 1),
        horizon=4,
    )


@pytest.fixture
def asked(world):
    return asking(world)


def run(asked, out, how=HOW, **options):
    """Trains; what was said."""
    lines = []
    train(planned(asked), asked.demonstrations, out, how, say=lines.append, **options)
    return lines


def tensors(out, name):
    return read(out / name).learner


def records(out):
    with RunStore.open(out) as store:
        return [dataclasses.replace(one, seconds=0.0) for one in store.episodes()]


class After(Stop):
    """Asks to stop after so many looks at it."""

    def __init__(self, count):
        super().__init__()
        self.count, self._asked = count, False

    @property
    def asked(self):
        self.count -= 1
        return self.count < 0

    @asked.setter
    def asked(self, value):
        pass


@pytest.fixture(scope="module")
def whole(world, tmp_path_factory):
    """A run that was not stopped, with curves."""
    out = tmp_path_factory.mktemp("whole") / "run"
    return out, run(asking(world), out)


def test_a_run_has_a_checkpoint_for_each_stage_and_a_record_for_each_cell(whole):
    out, lines = whole
    assert sorted(path.name for path in out.glob("stage-*")) == ["stage-00", "stage-01"]
    for number in range(2):
        about = read(out / f"stage-0{number}").about
        assert (about["stage"], about["order"], about["seed"]) == (number, ["Mini-T1", "Mini-T0"], 0)
        assert about["sizes"]["trained"] > 0
        assert about["registry_sha256"]
        assert len(about["demonstrations"]) == 2
        assert "torch" in about["versions"]
    episodes = records(out)
    found = {(one.stage, one.condition) for one in episodes}
    assert found == {(0, "original"), (1, "original"), (1, "paraphrase"), (1, "contrast"), (1, "collision")}
    assert {one.task for one in episodes if one.stage == 0} == {"Mini-T1"}
    assert len(episodes) == 2 * (1 + 2 + 2 + 3 + 1)
    assert not little.equal(tensors(out, "stage-00"), tensors(out, "stage-01"))
    assert any(line.startswith("stage 1: original") for line in lines)


def test_each_record_tells_the_route(whole):
    notes = [one.notes for one in records(whole[0])]
    assert all(set(note) == {"slot", "slot_changes", "coefficients.film", "sure"} for note in notes)
    assert {tuple(note["coefficients.film"]) for note in notes} == {(0.25, 0.25)}
    assert {note["slot"] for note in notes} == {0, 1}


def test_the_run_is_one_for_the_report(whole, tmp_path):
    folder = write_report([whole[0]], tmp_path / "report")
    text = (folder / "report.md").read_text()
    assert "standin" in text
    assert "| standin | slot | paraphrase |" in text
    data = json.loads((folder / "metrics.json").read_text())
    assert data


def test_the_log_tells_each_step_once(whole):
    lines = log.read(whole[0])
    steps = [(one["task"], one["phase"], one["step"]) for one in lines if one["event"] == "step"]
    assert len(steps) == len(set(steps)) > 10
    assert {one["event"] for one in lines} == {"step", "task", "stage"}
    assert all(0 < one["rate"] <= 1e-2 for one in lines if one["event"] == "step")
    assert [one["success"].keys() >= {"original"} for one in lines if one["event"] == "stage"] == [True, True]


@pytest.mark.parametrize("count", [0, 3, 12, 17, 24])
def test_a_run_that_was_stopped_ends_like_one_that_was_not(asked, whole, tmp_path, count):
    out = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt, match="the same command goes on"):
        run(asked, out, stop=After(count))
    lines = run(asked, out)
    assert any(line.startswith("going on in") for line in lines)
    for name in ("stage-00", "stage-01"):
        assert little.equal(tensors(out, name), tensors(whole[0], name))
    again, first = records(out), records(whole[0])
    assert again == first
    strip = [{key: value for key, value in line.items() if key != "seconds"} for line in log.read(out)]
    assert strip == [{key: value for key, value in line.items() if key != "seconds"} for line in log.read(whole[0])]


def test_a_run_that_is_over_does_nothing_more(asked, whole, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(whole[0], out)
    with RunStore.open(out) as store:
        assert store.header.name == "standin"
    before = {path: path.read_bytes() for path in out.glob("stage-*/*")}
    with pytest.raises(PlanMismatch, match="policy_options"):  # its records name the folder of the policy
        run(asked, out)
    assert before == {path: path.read_bytes() for path in out.glob("stage-*/*")}


def test_evaluations_do_not_change_training(asked, whole, tmp_path):
    selection = Selection("last", 1, (2,))
    run(dataclasses.replace(asked, selection=selection, init_states=(0,)), tmp_path / "run")
    for name in ("stage-00", "stage-01"):
        assert little.equal(tensors(tmp_path / "run", name), tensors(whole[0], name))
    rows = (tmp_path / "run" / CURVES).read_text().splitlines()
    assert rows[0] == "seed,task,epoch,success"
    assert [row.rpartition(",")[0] for row in rows[1:]] == [
        f"0,Mini-T{task},{epoch}" for task in (1, 0) for epoch in (0, 1, 2)
    ]
    write_report([tmp_path / "run"], tmp_path / "report")


@pytest.mark.parametrize(("values", "kept"), [((0.0, 0.5, 0.5), 1), ((0.2, 0.1, 0.2), 0), ((0.0, 0.1, 0.3), 2)])
def test_the_earliest_best_epoch_goes_on(asked, tmp_path, monkeypatch, values, kept):
    seen = {}

    def success(self, moment):
        if moment.phase.name != "learn":
            return 0.0
        seen[moment.place.epoch] = {key: value.clone() for key, value in self._training.learner.state_dict().items()}
        return values[moment.place.epoch]

    monkeypatch.setattr(stages._Course, "_success", success)
    ends = []
    monkeypatch.setattr(
        little.Standin,
        "end_phase",
        lambda self, k, phase, data: ends.append({key: value.clone() for key, value in self.state_dict().items()}),
    )
    monkeypatch.setattr(little.Standin, "phases", lambda self, k: (little.LEARN,))
    chosen = dataclasses.replace(asked, selection=Selection("best", 1, (2,)), tasks=("Mini-T1",), init_states=(0,))
    run(chosen, tmp_path / "run")
    assert sorted(seen) == [0, 1, 2]
    assert little.equal(ends[0], seen[kept])


@pytest.mark.parametrize("rule", ["best", "last"])
def test_a_stop_between_two_looks_keeps_the_best_and_the_curve(asked, tmp_path, monkeypatch, rule):
    values = {0: 0.0, 1: 0.6, 2: 0.4}
    monkeypatch.setattr(stages._Course, "_success", lambda self, moment: values[moment.place.epoch])
    monkeypatch.setattr(little.Standin, "phases", lambda self, k: (little.LEARN,))
    chosen = dataclasses.replace(asked, selection=Selection(rule, 1, (2,)), tasks=("Mini-T1",), init_states=(0,))
    run(chosen, tmp_path / "whole")
    for count in range(9):
        out = tmp_path / str(count)
        try:
            run(chosen, out, stop=After(count))
        except KeyboardInterrupt:
            run(chosen, out)
        assert little.equal(tensors(out, "stage-00"), tensors(tmp_path / "whole", "stage-00"))
        assert (out / CURVES).read_text() == (tmp_path / "whole" / CURVES).read_text()


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        (Selection("best", 1, (1, 2)), "initial states 1 would select the weights and be reported too"),
        (Selection("best"), "no epoch is evaluated; give --curve-every"),
        (Selection("first"), "select is 'first'; choose last or best"),
        (Selection("last", 2), "on no initial states"),
    ],
)
def test_an_unfair_or_empty_selection_is_refused(asked, selection, message):
    with pytest.raises(InvalidOption, match=message):
        planned(dataclasses.replace(asked, selection=selection))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 1}, "seed is 0 there, 1 asked"),
        ({"method": "seqft"}, 'method is "policies.training.little:LEARNER" there, "seqft" asked'),
        ({"settings": {"share": 0.25}}, "settings.share is 0.5 there, 0.25 asked"),
        ({"tasks": ("Mini-T0", "Mini-T1")}, "order is"),
        ({"init_states": (0, 2)}, "evaluation.init_states is"),
        ({"kit": dataclasses.replace(KIT, act="sample")}, "act is"),
        ({"network": {"width": 12}}, "network.width is"),
    ],
)
def test_another_plan_is_refused_and_nothing_is_touched(asked, whole, changes, message):
    before = {path: path.read_bytes() for path in whole[0].rglob("*") if path.is_file()}
    with pytest.raises(PlanMismatch, match="holds another training run: ") as caught:
        run(dataclasses.replace(asked, **changes), whole[0])
    assert message in str(caught.value)
    assert before == {path: path.read_bytes() for path in whole[0].rglob("*") if path.is_file()}


def test_demonstrations_that_changed_are_refused(asked, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(asked, tmp_path / "run", stop=After(3))
    demos = tmp_path / "demos"
    shutil.copytree(asked.demonstrations, demos)
    paths = sorted(demos.rglob("*_demo.hdf5"))
    shutil.copy(paths[0], paths[1])
    with pytest.raises(PlanMismatch, match=r"demonstrations\.Mini-T"):
        run(dataclasses.replace(asked, demonstrations=demos), tmp_path / "run")
    next(iter(paths)).unlink()
    with pytest.raises(InvalidDemonstration, match="gym-grounding demos make --suite Mini --tasks"):
        run(dataclasses.replace(asked, demonstrations=demos), tmp_path / "run")


def test_a_checkpoint_of_another_method_under_the_same_plan_is_refused(asked, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(asked, tmp_path / "run", stop=After(3))
    place = tmp_path / "run" / "now"
    little.edit(place, lambda text: text["about"].update(method="seqft"))
    with pytest.raises(PlanMismatch, match='method is "seqft" there'):
        run(asked, tmp_path / "run")
    little.edit(place, lambda text: text["about"].update(method=STANDIN))
    little.edit(place, lambda text: text.update(structure={"begun": 1, "extra": 4, "stored": []}))
    with pytest.raises(CorruptRun, match="its tensors do not fit method 'standin'"):
        run(asked, tmp_path / "run")


def test_another_code_or_library_is_refused_unless_accepted(asked, tmp_path, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        run(asked, tmp_path / "run", stop=After(2))
    known = stages.versions(STANDIN)
    assert known.keys() >= {"torch", "gym-grounding source", "gym-grounding-policies source", "method source"}
    changed = known | {"torch": "9.9", "method source": "abc"}
    monkeypatch.setattr(stages, "versions", lambda method: changed)
    said = r"torch was 2\S+, is 9\.9; method source was \S+, is abc.*--accept-versions"
    with pytest.raises(PlanMismatch, match=said):
        run(asked, tmp_path / "run")
    run(asked, tmp_path / "run", dataclasses.replace(HOW, accept_versions=True))


def test_the_code_of_a_method_of_another_package_is_a_version(tmp_path, monkeypatch):
    file = tmp_path / "others_method.py"
    text = "from gym_grounding_policies.learners.seqft import SeqFt\n\n\nclass Mine(SeqFt):\n    name = 'mine'\n"
    file.write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    first = code_of("others_method:Mine")
    file.write_text(text + "    more = 1\n")
    assert code_of("others_method:Mine")["method source"] != first["method source"]
    assert "method source" not in code_of("er")


def test_what_could_not_begin_leaves_the_folder_free(asked, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(stages, "new_learner", _refused)
        with pytest.raises(InvalidOption, match="not like this"):
            run(asked, tmp_path / "run")
    (tmp_path / "run" / "training.json").write_text('{"seed": 99}')  # of a run that was killed before its first step
    other = dataclasses.replace(asked, seed=asked.seed + 1)
    with pytest.raises(KeyboardInterrupt):
        run(other, tmp_path / "run", stop=After(2))
    with pytest.raises(PlanMismatch, match="seed is"):
        run(asked, tmp_path / "run")


def _refused(*arguments):
    raise InvalidOption("not like this")


def test_two_processes_do_not_train_one_run(asked, tmp_path):
    with stages._locked(tmp_path), pytest.raises(PlanMismatch, match="another process is training this run"):
        run(asked, tmp_path)


class Failing(little.Standin):
    """Cannot say how it would act."""

    def route(self, observations, words, tasks):
        raise RuntimeError("no way")


def test_rollouts_that_end_in_errors_are_said_and_tried_again(asked, tmp_path, monkeypatch):
    monkeypatch.setattr(little.Standin, "route", Failing.route)
    with pytest.raises(PolicyError, match=r"2 episodes ended in an error, such as .*no way"):
        run(asked, tmp_path / "run")
    monkeypatch.undo()
    run(asked, tmp_path / "run")
    assert len(records(tmp_path / "run")) == 18


def test_all_methods_can_start_from_one_pretraining(asked, tmp_path):
    joint = dataclasses.replace(
        asked, method="seqft", tasks=("Mini-T0", "Mini-T2"), suite="", init_states=(), selection=Selection()
    )
    lines = []
    pretrain(planned(joint), joint.demonstrations, tmp_path / "first", HOW, say=lines.append)
    assert any("2 tasks together" in line for line in lines)
    first = read(tmp_path / "first")
    assert first.about["kind"] == "pretraining"
    started = dataclasses.replace(asked, start=tmp_path / "first", kit=dataclasses.replace(KIT, recipe=_none(KIT)))
    for method in ("seqft", STANDIN):
        out = tmp_path / method.rpartition(":")[2]
        run(dataclasses.replace(started, method=method, init_states=()), out, start=tmp_path / "first")
        found = read(out / "stage-00")
        assert found.about["senses"] == first.about["senses"]
        if method == "seqft":
            assert little.equal(found.learner, first.learner)
    wrong = dataclasses.replace(asked, start=tmp_path / "seqft" / "stage-00")
    with pytest.raises(CorruptRun, match="not of `pretrain`"):
        run(wrong, tmp_path / "wrong", start=tmp_path / "seqft" / "stage-00")
    blind = dataclasses.replace(started, method="seqft", kit=dataclasses.replace(started.kit, objects="none"))
    with pytest.raises(InvalidOption, match="pretrained with sees all there, none asked; train with the same"):
        run(blind, tmp_path / "blind", start=tmp_path / "first")
    with pytest.raises(PlanMismatch, match="start is"):
        run(dataclasses.replace(asked, method="seqft", kit=started.kit, init_states=()), tmp_path / "seqft")


def _none(kit):
    return dataclasses.replace(kit.recipe, epochs=0)


def test_tensorboard_is_optional(tmp_path, monkeypatch):
    monkeypatch.setattr(log.importlib.util, "find_spec", lambda name: None)
    log.Log(tmp_path, tensorboard="auto").write("task", 0)
    with pytest.raises(InvalidOption, match="pip install tensorboard"):
        log.Log(tmp_path, tensorboard="on")
    with pytest.raises(InvalidOption, match="choose auto, on, off"):
        log.Log(tmp_path, tensorboard="yes")


def test_a_log_that_goes_on_drops_what_came_later(tmp_path):
    one = log.Log(tmp_path, tensorboard="off")
    one.write("task", 0)
    length = one.length
    one.write("task", 1)
    again = log.Log(tmp_path, length, "off")
    again.write("task", 2)
    assert [line["task"] for line in log.read(tmp_path)] == [0, 2]
    with (tmp_path / log.FILE).open("a") as file:
        file.write('{"cut')
    assert len(log.read(tmp_path)) == 2


@pytest.mark.parametrize("left", ["all", "nothing", "half a line", "no file"])
def test_a_log_that_was_cut_goes_on_without_holes(tmp_path, left):
    one = log.Log(tmp_path, tensorboard="off")
    one.write("task", 0)
    one.write("task", 1)
    length, path = one.length, tmp_path / log.FILE
    kept = {"all": length, "half a line": length - 5}.get(left, 0)
    path.write_bytes(path.read_bytes()[:kept])
    if left == "no file":
        path.unlink()
    log.Log(tmp_path, length, "off").write("task", 2)
    assert b"\0" not in path.read_bytes()
    assert [line["task"] for line in log.read(tmp_path)] == {"all": [0, 1, 2], "half a line": [0, 2]}.get(left, [2])


def test_a_broken_line_hides_no_other(tmp_path):
    (tmp_path / log.FILE).write_bytes(bytes(9) + b'{"task": 0}\n{"task": 1}\n\xff\n{"task": 2}\n{"cut')
    assert [line["task"] for line in log.read(tmp_path)] == [1, 2]


def test_a_folder_that_cannot_be_written_is_said(asked, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file/run: cannot be written"):
        run(asked, tmp_path / "file" / "run")

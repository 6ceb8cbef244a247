"""Studies: their file, their plan, their runs as processes, and their records on another machine."""

import json
import lzma
import os
import random
import signal
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("torch")

from gym_grounding_policies.commands import main
from gym_grounding_policies.study import pack as packing
from gym_grounding_policies.study.plan import DONE, FILE, REPORT, RUNS
from gym_grounding_policies.study.runner import last_line
from policies.training import little_arm

from gym_grounding.cli import main as suite
from gym_grounding.errors import CorruptRun, PlanMismatch
from gym_grounding.store import RunStore


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A registry and demonstrations of three tasks."""
    return little_arm.world(tmp_path_factory.mktemp("world"))


def written(world, path, methods='["seqft", "er"]', seeds="[0]", train="", more=""):
    """A study's file for the little arm."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"""
methods = {methods}
seeds = {seeds}
demos = "{world / "demos"}"
{more}

[train]
suite = "Mini"
registry = "{world / "registry.yaml"}"
demonstrations = 2
encoder = "hashing"
net = ["width=8", "layers=1"]
order = "1,0"
epochs = 2
init-states = "0:2"
horizon = 4
workers = 0
{train}
"""
    )
    return path


def called(*arguments, command=main):
    return CliRunner().invoke(command, list(map(str, arguments)))


def described(world, tmp_path, **given):
    """What a dry run says of a file."""
    path = written(world, tmp_path / "study.toml", **given)
    return called("study", "--config", path, "--out", tmp_path / "study", "--dry-run", "--no-estimate")


@pytest.fixture(scope="module")
def finished(world, tmp_path_factory):
    """A finished study of two methods and two seeds, two runs side by side; and what it said."""
    folder = tmp_path_factory.mktemp("finished")
    path = written(world, folder / "study.toml", seeds="[0, 1]")
    process = little_arm.begin("study", "--config", path, "--out", folder / "study", "--workers", "2", "--no-estimate")
    output, errors = process.communicate(timeout=200)
    assert process.returncode == 0, output + errors
    return folder / "study", output


def test_a_dry_run_says_everything_and_does_nothing(world, tmp_path):
    result = described(world, tmp_path, seeds="[0, 3]")
    assert result.exit_code == 0, result.output
    assert "er-3: train --method er --suite Mini" in result.output
    assert "4 runs (0 done)" in result.output
    assert "2 tasks, 2 epochs each; episodes over all stages: " in result.output
    assert "6 original" in result.output  # one task, then two, on two initial states
    assert "horizon 4" in result.output
    assert not (tmp_path / "study").exists()


@pytest.mark.slow
def test_the_estimate_comes_from_a_trial_of_each_method(world, tmp_path):
    path = written(world, tmp_path / "study.toml", methods='["seqft"]')
    process = little_arm.begin("study", "--config", path, "--out", tmp_path / "study", "--dry-run")
    output, errors = process.communicate(timeout=100)
    assert process.returncode == 0, errors
    assert "min with 1 runs side by side" in output
    assert "could not be measured" not in output


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"more": "metods = 1"}, "No key 'metods'. Did you mean 'methods'"),
        ({"methods": '["ewk"]'}, "No method 'ewk'"),
        ({"methods": "[]"}, "methods is []; give a list"),
        ({"methods": '["er", "er"]'}, "methods: 'er' is there twice"),
        ({"methods": '[{method = "er", nam = "x"}]'}, "No key 'nam'. Did you mean 'name'"),
        ({"methods": '[{method = "er", name = "a/b"}]'}, "name is 'a/b'; give letters"),
        ({"seeds": "[0, -1]"}, "seeds is [0, -1]; give a list of whole numbers"),
        ({"seeds": "[2, 2]"}, "seeds: 2 is there twice"),
        ({"more": "probes = true"}, "probes is True"),
        ({"more": "hours = 0"}, "hours is 0; give a positive number"),
        ({"train": "epoch = 3"}, "No option 'epoch'. Did you mean 'epochs'"),
        ({"train": 'batch-size = "many"'}, "batch-size is 'many'"),
        ({"train": "every-stage = 1"}, "every-stage is 1; give true or false"),
        ({"train": "seed = 1"}, "No option 'seed'"),
        ({"train": "lr = [1, 2]"}, "lr is a list; it takes one value"),
        ({"train": "[set.dmpel]\nrank = 3"}, "[set.dmpel] is for a method that the study does not have"),
        ({"train": "[train"}, "cannot be read as TOML"),
    ],
)
def test_a_wrong_file_is_refused_by_name(world, tmp_path, given, message):
    result = described(world, tmp_path, **given)
    assert result.exit_code == 2
    assert message in result.output
    assert "study.toml" in result.output


def test_controls_have_names_of_their_own(world, tmp_path):
    methods = (
        '["er", {method = "er", train = {mute = true}}, {method = "er", name = "mine", train = {objects = "none"}}]'
    )
    result = described(world, tmp_path, methods=methods)
    assert result.exit_code == 0, result.output
    assert "er-mute-0: train --method er --suite Mini" in result.output
    assert "mine-0: train" in result.output
    assert "--name mine" in result.output


def test_every_run_is_trained_evaluated_and_reported(finished):
    study, output = finished
    assert sorted(path.name for path in (study / RUNS).iterdir()) == ["er-0", "er-1", "seqft-0", "seqft-1"]
    assert "er-1: finished" in output
    data = json.loads((study / REPORT / "metrics.json").read_text())
    assert [one["name"] for one in data["methods"]] == ["seqft", "er"]
    assert [[run["plan"]["seeds"] for run in one["runs"]] for one in data["methods"]] == [[[0], [1]], [[0], [1]]]
    assert all(one["cells"]["missing"] == 0 for one in data["methods"])


def test_the_number_of_workers_changes_no_record(world, finished, tmp_path):
    path = written(world, tmp_path / "study.toml", methods='["er"]', seeds="[1]")
    process = little_arm.begin("study", "--config", path, "--out", tmp_path / "alone", "--no-estimate")
    assert process.wait(100) == 0
    runs = (tmp_path / "alone" / RUNS / "er-1", finished[0] / RUNS / "er-1")
    assert records(runs[0]) == records(runs[1])


def records(run):
    with RunStore.open(run) as store:
        return [{**vars_of(one), "seconds": 0} for one in store.episodes()]


def vars_of(record):
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def test_a_finished_study_has_nothing_to_do_and_may_grow(world, finished, tmp_path):
    study, _ = finished
    path = written(world, tmp_path / "study.toml", seeds="[0, 1]")
    again = called("study", "--config", path, "--out", study, "--no-estimate")
    assert again.exit_code == 0, again.output
    assert "4 runs (4 done)" in again.output
    more = written(world, tmp_path / "more.toml", methods='["seqft", "er", "packnet"]', seeds="[0, 1, 2]")
    grown = called("study", "--config", more, "--out", study, "--no-estimate", "--dry-run")
    assert "9 runs (4 done)" in grown.output


def test_another_study_in_the_folder_is_refused_by_name(world, finished, tmp_path):
    path = written(world, tmp_path / "study.toml", train="lr = 0.01")
    result = called("study", "--config", path, "--out", finished[0], "--no-estimate")
    assert result.exit_code == 2
    assert "holds another study: seqft-0 is `" in result.output
    assert "--lr 0.01" in result.output


def test_a_damaged_plan_says_what_to_do(world, finished, tmp_path):
    study = tmp_path / "study"
    study.mkdir()
    (study / FILE).write_text("[1, 2")
    path = written(world, tmp_path / "study.toml")
    result = called("study", "--config", path, "--out", study, "--no-estimate")
    assert result.exit_code == 2
    assert "cannot be read" in result.output
    assert "remove it" in result.output


def test_a_run_that_fails_is_named_and_the_others_go_on(world, tmp_path):
    methods = '["seqft", {method = "er", name = "broken", train = {demonstrations = 99}}]'
    path = written(world, tmp_path / "study.toml", methods=methods)
    process = little_arm.begin("study", "--config", path, "--out", tmp_path / "study", "--no-estimate")
    output, errors = process.communicate(timeout=100)
    assert process.returncode == 2
    assert "seqft-0: finished" in output
    assert "1 of 2 runs ended in an error: broken-0; see " in errors
    assert "99" in last_line(tmp_path / "study" / "logs" / "broken-0.log")
    assert (tmp_path / "study" / REPORT / "report.html").exists()


def test_a_control_starts_from_weights_of_its_own(world, tmp_path):
    methods = '["seqft", {method = "seqft", train = {mute = true}}]'
    path = written(world, tmp_path / "study.toml", methods=methods)
    start = '[pretrain]\ntasks = ["Mini:0,1"]\nregistry = "' + str(world / "registry.yaml") + '"\nepochs = 1\n'
    path.write_text(path.read_text() + start + 'encoder = "hashing"\nnet = ["width=8", "layers=1"]\n')
    study = tmp_path / "study"
    process = little_arm.begin("study", "--config", path, "--out", study, "--no-estimate", "--workers", "2")
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, output + errors
    starts = {
        name: json.loads((study / RUNS / name / "training.json").read_text())["start"]
        for name in ("seqft-0", "seqft-mute-0")
    }
    assert all(starts.values())
    assert len(set(starts.values())) == 2
    assert (study / "pretrained").is_dir()
    assert (study / "pretrained-mute").is_dir()


def test_packed_records_give_the_same_report_elsewhere(finished, tmp_path):
    study, _ = finished
    files = packing.pack(study, tmp_path / "records")
    assert [file.name for file in files] == ["seqft-0.json.xz", "er-0.json.xz", "seqft-1.json.xz", "er-1.json.xz"]
    assert [file.read_bytes() for file in files] == [
        file.read_bytes() for file in packing.pack(study, tmp_path / "again")
    ]
    result = called("unpack", *files, "--out", tmp_path / "other")
    assert result.exit_code == 0, result.output
    places = [tmp_path / "other" / RUNS / file.name.removesuffix(".json.xz") for file in files]
    report = called("report", *places, "--out", tmp_path / "report", command=suite)
    assert report.exit_code == 0, report.output
    whole = {
        path.relative_to(study / REPORT): path.read_bytes() for path in (study / REPORT).rglob("*") if path.is_file()
    }
    assert whole == {
        path.relative_to(tmp_path / "report"): path.read_bytes()
        for path in (tmp_path / "report").rglob("*")
        if path.is_file()
    }


def test_a_study_goes_on_from_packed_records_alone(world, finished, tmp_path):
    files = packing.pack(finished[0], tmp_path / "records")
    path = written(world, tmp_path / "study.toml", seeds="[0, 1]")
    result = called(
        "study", "--config", path, "--out", tmp_path / "new", "--records", tmp_path / "records", "--no-estimate"
    )
    assert result.exit_code == 0, result.output
    assert "4 runs come from" in result.output
    assert (tmp_path / "new" / REPORT / "metrics.json").read_bytes() == (
        finished[0] / REPORT / "metrics.json"
    ).read_bytes()
    other = written(world, tmp_path / "other.toml", train="lr = 0.01")
    refused = called(
        "study", "--config", other, "--out", tmp_path / "more", "--records", files[0].parent, "--no-estimate"
    )
    assert refused.exit_code == 2
    assert "was trained by `" in refused.output


@pytest.mark.parametrize("damage", ["cut", "text", "folder", "field", "format", "bomb"])
def test_a_damaged_file_of_records_is_refused(finished, tmp_path, damage, monkeypatch):
    (file,) = packing.pack(finished[0], tmp_path / "records")[:1]
    content = file.read_bytes()
    data = json.loads(lzma.decompress(content))
    if damage == "cut":
        file.write_bytes(content[:-20])
    elif damage == "text":
        file.write_bytes(b"no xz")
    elif damage == "bomb":
        monkeypatch.setattr(packing, "LARGEST", 1000)
    else:
        changed = {"folder": ("folder", "../../etc"), "field": ("episodes", [{"stage": 0}]), "format": ("format", 9)}
        key, value = changed[damage]
        file.write_bytes(lzma.compress(json.dumps({**data, key: value}).encode()))
    with pytest.raises(CorruptRun, match="holds no records of a run"):
        packing.unpack(file, tmp_path / "other")
    assert not list(tmp_path.glob("other/**/*.sqlite"))


def test_records_of_another_plan_are_refused(finished, tmp_path):
    (file,) = packing.pack(finished[0], tmp_path / "records")[:1]
    study = tmp_path / "study"
    study.mkdir()
    (study / FILE).write_text(json.dumps({"format": 1, "runs": {"seqft-0": ["--method", "seqft"]}}))
    with pytest.raises(PlanMismatch, match="was trained by"):
        packing.unpack(file, study)


def test_an_interrupted_study_says_how_to_go_on_and_leaves_no_process(world, tmp_path):
    path = written(world, tmp_path / "study.toml", train="# long\n", methods='["seqft"]')
    path.write_text(path.read_text().replace("epochs = 2", "epochs = 3000"))
    process = little_arm.begin("study", "--config", path, "--out", tmp_path / "study", "--no-estimate")
    run = tmp_path / "study" / RUNS / "seqft-0"
    wait(process, (run / "log.jsonl").exists)
    (child,) = children_of(process.pid)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "the same command goes on" in errors
    assert not Path(f"/proc/{child}").exists()
    assert (run / "now").exists()


def test_one_process_works_on_a_study_at_a_time(world, tmp_path):
    from gym_grounding_policies.study.plan import locked

    path = written(world, tmp_path / "study.toml")
    with locked(tmp_path / "study"):
        result = called("study", "--config", path, "--out", tmp_path / "study", "--no-estimate")
    assert result.exit_code == 2
    assert "another process works on this study" in result.output


def test_hours_end_a_study_that_can_go_on(world, tmp_path):
    path = written(world, tmp_path / "study.toml", more="hours = 0.0001")
    process = little_arm.begin("study", "--config", path, "--out", tmp_path / "study", "--no-estimate")
    _, errors = process.communicate(timeout=100)
    assert process.returncode == 130
    assert "stopped after 0.0001 hours and saved" in errors
    assert not list((tmp_path / "study").glob(f"{DONE}/*"))


@pytest.mark.slow
def test_kills_at_five_random_moments_change_no_table(world, finished, tmp_path):
    path = written(world, tmp_path / "study.toml", seeds="[0, 1]")
    moments = random.Random(0)
    for _ in range(5):
        process = little_arm.begin(
            "study", "--config", path, "--out", tmp_path / "study", "--workers", "2", "--no-estimate"
        )
        time.sleep(3 + 5 * moments.random())
        for child in children_of(process.pid):
            os.kill(child, signal.SIGKILL)
        process.kill()
        process.communicate()
    process = little_arm.begin(
        "study", "--config", path, "--out", tmp_path / "study", "--workers", "2", "--no-estimate"
    )
    output, errors = process.communicate(timeout=200)
    assert process.returncode == 0, output + errors
    for table in sorted((finished[0] / REPORT / "tables").iterdir()):
        assert (tmp_path / "study" / REPORT / "tables" / table.name).read_bytes() == table.read_bytes(), table.name


def children_of(pid):
    """Process ids of a process's children."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            found.append(int(place.parent.name))
    return found


def wait(process, condition, seconds=60):
    until = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.05)

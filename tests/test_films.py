"""``gym-grounding films``: chosen episodes of a run, simulated again from their records."""

import dataclasses
import json
import os

import pytest
from click.testing import CliRunner
from toy_runs import a_plan

from gym_grounding.cli import main
from gym_grounding.errors import CorruptRun, InvalidOption
from gym_grounding.evaluate import evaluate
from gym_grounding.plan import Plan
from gym_grounding.report import write_report
from gym_grounding.showing import choose, make
from gym_grounding.showing._films import outcome_of
from gym_grounding.store import RunStore
from gym_grounding.testing.records import episode
from gym_grounding.types import SceneSettings


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Real toy runs of a policy that does its task whatever it is told, and of one that listens."""
    folder = tmp_path_factory.mktemp("runs")
    for policy in ("deaf", "oracle"):
        evaluate(policy, a_plan(horizon=40), folder / policy, workers=0, progress=False)
    return [folder / "deaf", folder / "oracle"]


def called(*arguments):
    return CliRunner().invoke(main, ["films", *map(str, arguments), "--quiet", "--size", "64"])


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (episode(reached=["original"]), "success"),
        (episode(), "none"),
        (episode("paraphrase", reached=["original"]), "success"),
        (episode("contrast", slot="object", reached=["target"]), "switch"),
        (episode("contrast", slot="object", reached=["original"]), "persistence"),
        (episode("contrast", slot="object", reached=["original", "target"]), None),
        (episode("collision", slot="object", reached=["original"]), "persistence"),
        (episode("collision", slot="object"), "none"),
        (episode("collision", slot="object", reached=["Toy-T2"]), None),
        (episode(void=["original"]), None),
    ],
)
def test_what_an_episode_is_an_example_of(one, expected):
    assert outcome_of(one) == expected


def test_films_of_each_outcome_with_their_list(runs, tmp_path):
    out = tmp_path / "films"
    done = called(*runs, "--out", out, "--conditions", "original,contrast")
    assert done.exit_code == 0, done.output
    rows = json.loads((out / "films.json").read_text())
    assert {(row["method"], row["condition"], row["outcome"]) for row in rows} >= {
        ("deaf", "original", "success"),
        ("deaf", "contrast", "persistence"),
        ("oracle", "contrast", "switch"),
    }
    assert not any(row["outcome"] == "switch" for row in rows if row["method"] == "deaf")
    assert {row["file"] for row in rows} | {"films.json"} == set(os.listdir(out))
    assert all(row["same"] for row in rows)
    with RunStore.open(runs[0]) as store:
        records = {(one.variant, one.init_state, one.seed): one for one in store.episodes()}
    for row in rows:
        if row["method"] == "deaf":
            one = records[row["variant"], row["init_state"], row["seed"]]
            assert row["instruction"] == one.instruction
            assert f"; {one.steps} steps" in row["caption"]


def test_the_same_command_keeps_what_is_there(runs, tmp_path):
    out = tmp_path / "films"
    arguments = [runs[0], "--out", out, "--conditions", "original"]
    assert called(*arguments).exit_code == 0
    before = {path.name: path.stat().st_mtime_ns for path in out.glob("*.mp4")}
    assert called(*arguments).exit_code == 0
    assert before == {path.name: path.stat().st_mtime_ns for path in out.glob("*.mp4")}
    (film,) = [name for name in before if "success" in name]
    (out / film).unlink()
    assert called(*arguments).exit_code == 0
    assert (out / film).is_file()


def test_what_came_out_differently_is_said_and_ends_with_1(runs, tmp_path):
    changed = tmp_path / "run"
    evaluate("deaf", a_plan(horizon=40), changed, workers=0, progress=False)
    with RunStore.open(changed) as store:
        (row,) = [one for one in store.episodes() if one.condition == "original" and one.task == "Toy-T0"][:1]
    wrong = json.dumps({**json.loads(_json_of(changed, row)), "first_held": {"original": 3}})
    _replace(changed, row, wrong)
    done = called(changed, "--out", tmp_path / "films", "--variants", row.variant, "--outcomes", "success", "--per", 2)
    assert done.exit_code == 1
    assert "first steps of goals: recorded {'original': 3}, now" in done.output
    rows = json.loads((tmp_path / "films" / "films.json").read_text())
    assert [one["same"] for one in rows].count(False) == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [({"steps": 39}, "steps: recorded 39, now "), ({"void": ("target",)}, "start: recorded ['target'], now []")],
)
def test_every_part_of_a_record_is_compared(runs, tmp_path, changes, said):
    (one,) = choose([runs[0]], conditions=["original"], outcomes=["success"])
    (line,) = make([dataclasses.replace(one, record=dataclasses.replace(one.record, **changes))], tmp_path, 64)
    assert said in line


def test_an_episode_ends_by_the_stop_rule_of_its_run(tmp_path):
    evaluate("oracle", a_plan(horizon=40, stop="goal"), tmp_path / "run", workers=0, progress=False)
    chosen = choose([tmp_path / "run"], conditions=["original"], outcomes=["success"])
    assert all(one.record.steps < 40 for one in chosen)
    assert make(chosen, tmp_path / "films", 64) == []


def test_films_of_two_runs_of_one_method_lie_side_by_side(runs, tmp_path):
    displaced = a_plan(horizon=40, conditions=["original"])
    displaced = dataclasses.replace(displaced, settings=dataclasses.replace(displaced.settings, starts="displaced"))
    evaluate("deaf", displaced, tmp_path / "displaced", workers=0, progress=False)
    chosen = choose([runs[0], tmp_path / "displaced"], variants=["Toy-T0-Original"], per=2)
    assert len(chosen) == 4
    assert make(chosen, tmp_path / "films", 64) == []
    rows = json.loads((tmp_path / "films" / "films.json").read_text())
    assert sorted((row["run"], row["init_state"]) for row in rows) == [
        (name, state) for name in ("deaf", "displaced") for state in (0, 1)
    ]
    assert len({row["file"] for row in rows}) == 4


def test_runs_whose_films_would_replace_each_other_are_refused(runs):
    with pytest.raises(InvalidOption, match=r"deaf and .*deaf are runs of the same policy and plan"):
        choose([runs[0], runs[0]])


@pytest.mark.sim
@pytest.mark.gl
def test_a_film_of_libero_is_what_was_recorded(tmp_path):
    settings = SceneSettings(observation="state", starts="displaced")
    plan = Plan.make("LiberoGoal", settings=settings, tasks=[8], conditions=["original"], init_states=[1], horizon=60)
    evaluate("random", plan, tmp_path / "run", workers=0, progress=False)
    chosen = choose([tmp_path / "run"])
    assert make(chosen, tmp_path / "films", 96) == []
    (row,) = json.loads((tmp_path / "films" / "films.json").read_text())
    assert row["same"]
    assert "; 60 steps" in row["caption"]
    assert (tmp_path / "films" / row["file"]).stat().st_size > 2000


def _json_of(run, row):
    with RunStore.open(run) as store:
        query = "SELECT json FROM episodes WHERE stage=? AND variant=? AND init_state=? AND seed=?"
        ((text,),) = store.connection.execute(query, (row.stage, row.variant, row.init_state, row.seed)).fetchall()
    return text


def _replace(run, row, text):
    import sqlite3

    with sqlite3.connect(run / "run.sqlite") as connection:
        connection.execute(
            "UPDATE episodes SET json=? WHERE stage=? AND variant=? AND init_state=? AND seed=?",
            (text, row.stage, row.variant, row.init_state, row.seed),
        )


def test_the_choice_follows_the_seed(runs):
    first = choose([runs[1]], per=1, seed=0)
    assert first == choose([runs[1]], per=1, seed=0)
    others = [choose([runs[1]], per=1, seed=seed) for seed in range(1, 6)]
    assert any(other != first for other in others)
    assert len(choose([runs[1]], per=2)) > len(first)


def test_what_cannot_be_filmed_is_refused(runs, tmp_path):
    with pytest.raises(InvalidOption, match="no outcome 'sucess'; choose from"):
        choose(runs, outcomes=("sucess",))
    with pytest.raises(InvalidOption, match="no episode of the last stage fits"):
        choose(runs, variants=("Toy-T9-Original",))
    out = tmp_path / "films"
    out.mkdir()
    (out / "films.json").write_text("{")
    with pytest.raises(CorruptRun, match="is no list of films"):
        make(choose([runs[0]]), out)


def test_the_report_shows_the_films_beside_it(runs, tmp_path):
    report = tmp_path / "report"
    assert called(*runs, "--out", report / "films", "--conditions", "original").exit_code == 0
    write_report(runs, report)
    page = (report / "report.html").read_text()
    for row in json.loads((report / "films" / "films.json").read_text()):
        assert f"films/{row['file']}" in page
    assert CliRunner().invoke(main, ["report", *map(str, runs), "--out", str(report), "--check"]).exit_code == 0

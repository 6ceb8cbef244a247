"""Probes of a training run: every stage by one command; what a mute policy and an l1 head answer."""

import json

import pytest

pytest.importorskip("torch")

from click.testing import CliRunner
from gym_grounding_policies.commands import main
from gym_grounding_policies.probing import probe_run
from gym_grounding_policies.trained import FIXED
from policies.training import little_arm

from gym_grounding.cli import main as suite
from gym_grounding.errors import CorruptRun, InvalidDemonstration
from gym_grounding.store import RunStore


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A registry and demonstrations of three tasks."""
    return little_arm.world(tmp_path_factory.mktemp("world"), per_task=2)


def called(*arguments, command=main):
    result = CliRunner().invoke(command, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def trained(world, tmp_path_factory):
    """Runs of two tasks, evaluated: head and control -> folder; each is made once."""
    made = {}

    def get(head, *more):
        if (head, *more) not in made:
            out = tmp_path_factory.mktemp("run") / "run"
            called(
                *("train", "--method", "seqft", "--suite", "Mini", "--registry", world / "registry.yaml"),
                *("--demos", world / "demos", "--encoder", "hashing", "--net", "width=8", "--net", "layers=1"),
                *("--net", f"head={head}", "--order", "0,1", "--init-states", "0:1", "--horizon", "2"),
                *("--workers", "0", "--epochs", "1", "--tensorboard", "off", "--out", out, *more),
            )
            made[(head, *more)] = out
        return made[(head, *more)]

    return get


def probes(out):
    with RunStore.open(out) as store:
        return store.probes()


def test_one_command_probes_the_last_stage_and_then_all(world, trained, tmp_path):
    out = trained("gmm")
    last = called("probe", out, "--demos", world / "demos", "--every", "3")
    found = probes(out)
    assert f"{len(found)} new probes" in last
    assert {one.stage for one in found} == {1}
    assert {one.task for one in found} == {"Mini-T0"}, "the other task has the original alone"
    assert {one.condition for one in found} == {"paraphrase", "contrast", "collision"}
    assert len({one.observation for one in found}) > 4
    assert all(one.log_prob_original is not None for one in found)
    assert any(one.action_original != one.action_variant for one in found)
    assert any(one.log_prob_original != one.log_prob_variant for one in found)
    called("probe", out, "--demos", world / "demos", "--every", "3", "--every-stage")
    first = [one for one in probes(out) if one.stage == 0]
    assert {one.condition for one in first} == {"paraphrase"}
    assert "0 new probes" in called("probe", out, "--demos", world / "demos", "--every", "3", "--every-stage")
    called("report", out, "--out", tmp_path / "report", command=suite)
    metrics = json.loads((tmp_path / "report" / "metrics.json").read_text())
    assert "language_margin" in json.dumps(metrics)


def test_stages_before_the_last_are_probed_where_everything_is_evaluated_there(world, trained):
    out = trained("gmm", "--every-stage")
    done = probe_run(out, world / "demos", every=3, limit=1, every_stage=True)
    found = probes(out)
    assert done.stages == (0, 1)
    assert done.added == len(found)
    seen = {(one.stage, one.condition) for one in found}
    assert seen == {(stage, name) for stage in (0, 1) for name in ("paraphrase", "contrast", "collision")}
    by_stage = [{one.action_original for one in found if one.stage == stage} for stage in (0, 1)]
    assert by_stage[0] - by_stage[1]
    assert probe_run(out, world / "demos", every=3, limit=1, every_stage=True).added == 0


def test_an_l1_head_has_divergence_and_no_margin_and_says_why(world, trained):
    out = trained("l1")
    said = called("probe", out, "--demos", world / "demos", "--limit", "1")
    assert f"no language margin: {FIXED}" in said
    found = probes(out)
    assert found
    assert all(one.log_prob_original is None and one.log_prob_variant is None for one in found)
    assert any(one.action_original != one.action_variant for one in found)


def test_words_change_nothing_of_a_mute_policy(world, trained):
    out = trained("gmm", "--mute")
    assert probe_run(out, world / "demos").added
    for one in probes(out):
        assert one.action_original == one.action_variant
        assert one.log_prob_original == one.log_prob_variant


def test_what_is_not_there_is_said(world, trained, tmp_path):
    with pytest.raises(CorruptRun, match="nowhere"):
        probe_run(tmp_path / "nowhere", world / "demos")
    with pytest.raises(InvalidDemonstration, match="no such file"):
        probe_run(trained("l1"), tmp_path)

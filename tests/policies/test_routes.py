"""Methods that choose among parts note in every episode which part acted, in numbers that can be compared."""

import pytest

pytest.importorskip("torch")

from click.testing import CliRunner
from gym_grounding_policies.commands import main
from policies.training import little_arm

from gym_grounding.cli import main as suite
from gym_grounding.store import RunStore

ROUTES = {"packnet": "slot", "tail": "slot", "l2m": "slot", "iscil": "slot", "dmpel": "expert"}
"""Method -> the whole number that says which part acted."""
GROUPS = {f"coefficients.{group}" for group in ("proprio", "film", "temporal", "head")}
MORE = {"l2m": {"similarity"}, "iscil": {"similarity"}, "dmpel": GROUPS}
TASKS = 2


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A registry and demonstrations of three tasks."""
    return little_arm.world(tmp_path_factory.mktemp("world"), per_task=2)


def called(*arguments, command=main):
    result = CliRunner().invoke(command, list(map(str, arguments)))
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("method", ROUTES)
def test_every_episode_has_a_route_that_the_report_compares(world, tmp_path, method):
    out = tmp_path / "run"
    called(
        *("train", "--method", method, "--suite", "Mini", "--registry", world / "registry.yaml", "--epochs", "1"),
        *("--demos", world / "demos", "--encoder", "hashing", "--net", "width=8", "--net", "layers=1"),
        *("--order", "0,1", "--init-states", "0:1", "--horizon", "6", "--workers", "0", "--every-stage"),
        *("--tensorboard", "off", "--out", out),
    )
    route = ROUTES[method]
    with RunStore.open(out) as store:
        episodes = store.episodes()
    assert {one.condition for one in episodes} == {"original", "paraphrase", "contrast", "collision"}
    for one in episodes:
        assert set(one.notes) == {route, f"{route}_changes"} | MORE.get(method, set())
        assert type(one.notes[route]) is type(one.notes[f"{route}_changes"]) is int
        assert one.notes[route] >= 0
        assert all(type(one.notes[name]) is float for name in MORE.get(method, set()) - GROUPS)
        for name in GROUPS & set(one.notes):
            assert len(one.notes[name]) == one.stage + 1
            assert all(0 <= number < 2 for number in one.notes[name])
        if method in ("packnet", "tail"):
            assert one.notes[route] == int(one.task == "Mini-T1")
    called("report", out, "--out", tmp_path / "report", command=suite)
    text = (tmp_path / "report" / "report.md").read_text()
    assert f"| {method} | {route} | contrast |" in text

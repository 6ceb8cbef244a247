"""The benchmark runs, and finds both sides equal. Its times are nobody's business here."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NUMBERS = {"steps_per_second", "step_ms", "reset_ms", "first_ms", "build_s", "first_mb", "second_mb"}


@pytest.mark.sim
@pytest.mark.slow
def test_steps(tmp_path):
    command = [sys.executable, str(ROOT / "benchmarks" / "steps.py"), "--quick", "--no-cameras", "--repeats", "2"]
    path = os.pathsep.join([str(ROOT), str(ROOT / "policies"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*command, "--json", str(tmp_path / "numbers.json")],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "after 30 steps: equal to the last bit" in done.stdout
    assert "DIFFERENT" not in done.stdout
    found = json.loads((tmp_path / "numbers.json").read_text())
    assert {"task", "init_state", "repeats", "versions", "state", "cameras"} == found.keys()
    assert (found["repeats"], found["cameras"]) == (2, None)
    assert found["state"].keys() == NUMBERS | {"equal", "steps", "observations"}
    assert found["state"]["equal"] is True
    assert len(found["state"]["observations"]) == 22
    for name in NUMBERS:
        assert found["state"][name].keys() == {"ours", "libero", "ratio", "range"}
        assert min(found["state"][name]["ours"], found["state"][name]["libero"]) > 0, name


@pytest.mark.sim
@pytest.mark.slow
def test_limits(monkeypatch, capsys):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import limits

    assert limits.main(["--steps", "3", "--scenes", "1"]) == 0
    table = capsys.readouterr().out
    assert "libero_goal-T8" in table
    assert "ended where LIBERO ended, to the last bit: yes" in table


@pytest.mark.sim
@pytest.mark.slow
def test_vectors():
    """In a process of its own, since it forks."""
    command = [sys.executable, str(ROOT / "benchmarks" / "vectors.py"), "--steps", "5", "--repeats", "1"]
    path = os.pathsep.join([str(ROOT), str(ROOT / "policies"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    assert "ours, ThreadVectorEnv" in done.stdout
    assert "ended in the same states, to the last bit: yes" in done.stdout


@pytest.mark.sim
@pytest.mark.slow
def test_forms():
    command = [sys.executable, str(ROOT / "benchmarks" / "forms.py"), "--episodes", "2", "--horizon", "3"]
    path = os.pathsep.join([str(ROOT), str(ROOT / "policies"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr
    assert "equal records: yes" in done.stdout


@pytest.mark.sim
def test_a_difference_is_told(monkeypatch, capsys):
    """One number of one observation is enough."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import steps

    class Fake:
        def __init__(self, side, cameras):
            self._extra = 1e-12 if side == "ours" else 0.0

        def __call__(self, name, argument=None):
            return 1.0, 2.0, ([0.0], {"robot0_eef_pos": [0.5 + self._extra]}) if name == "state" else None

        def close(self):
            pass

    monkeypatch.setattr(steps, "Side", Fake)
    assert steps.main(["--quick", "--no-cameras"]) == 1
    assert "DIFFERENT" in capsys.readouterr().out

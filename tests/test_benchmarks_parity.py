"""The benchmarks that compare: short runs find nothing, and what differs is found."""

import json
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")


@pytest.mark.sim
@pytest.mark.slow
def test_a_task_of_each_suite_equals_liberos_own_environment_in_every_way(benchmarks, capsys):
    """``python benchmarks/parity.py`` does the same with all 40 tasks, three initial states and 100 steps."""
    import parity

    tasks = "LiberoGoal-T3,LiberoSpatial-T4,LiberoObject-T6,LiberoLong-T9"
    assert parity.main(["--tasks", tasks, "--init-states", "4", "--steps", "15"]) == 0
    table = capsys.readouterr().out
    assert table.count("  equal\n") == 4
    assert "4 tasks, 60 steps, each in 4 ways (alone, interleaved, threads, processes): nothing differs" in table


def played(parity, change=None):
    """Two steps; ``change`` is applied to the second."""
    one = parity.Played(
        states=[np.arange(7.0) for _ in range(3)],
        seen=[{"robot0_eef_pos": np.arange(3.0), f"only_{id(change)}": np.zeros(1)} for _ in range(3)],
        literals=[(False, True)] * 3,
        rewards=[0.0, 0.0],
        successes=[False, False],
    )
    if change is not None:
        change(one)
    return one


CHANGES = {
    "qpos at step 2": lambda one: one.states[2].__setitem__(3, 3.0 + 1e-15),
    "qvel at step 2": lambda one: one.states[2].__setitem__(4, 5.0),
    "time at step 2": lambda one: one.states[2].__setitem__(0, 1e-16),
    "qpos, qvel at step 0": lambda one: one.states[0].__setitem__(slice(1, None), 9.0),
    "robot0_eef_pos at step 1": lambda one: one.seen[1]["robot0_eef_pos"].__setitem__(2, np.nextafter(2.0, 3.0)),
    "a literal at step 0": lambda one: one.literals.__setitem__(0, (True, True)),
    "reward at step 2": lambda one: one.rewards.__setitem__(1, 1.0),
    "success at step 1": lambda one: one.successes.__setitem__(0, True),
}


@pytest.mark.parametrize("expected", CHANGES)
def test_what_differs_first_is_named(benchmarks, expected):
    import parity

    assert parity.difference(played(parity), played(parity), 3) == ""
    assert parity.difference(played(parity), played(parity, CHANGES[expected]), 3) == expected


def test_a_difference_is_told_and_fails(benchmarks, monkeypatch, capsys):
    import parity

    row = parity.Row("LiberoGoal-T8", 1, 5, 4, 99, 22, 21, 0, 0, [])
    monkeypatch.setattr(parity, "compared", lambda jobs, ways, processes: [row])
    assert parity.main(["--tasks", "LiberoGoal-T8", "--modes", "alone"]) == 0
    row.differing.append("alone, initial state 0: qvel at step 2")
    assert parity.main(["--tasks", "LiberoGoal-T8", "--modes", "alone"]) == 1
    table = capsys.readouterr().out
    assert "DIFFERENT: alone, initial state 0: qvel at step 2" in table
    assert "DIFFERENT in LiberoGoal-T8" in table


@pytest.mark.sim
@pytest.mark.slow
def test_environments_in_any_order_show_what_new_ones_show(benchmarks, capsys):
    """``python benchmarks/fuzz.py --moves 5000`` does the same for longer."""
    import fuzz

    assert fuzz.main(["--moves", "250", "--no-pictures"]) == 0
    assert "nothing differs" in capsys.readouterr().out


@pytest.mark.gl
@pytest.mark.sim
@pytest.mark.slow
def test_so_do_their_pictures(benchmarks, monkeypatch, capsys):
    import fuzz

    monkeypatch.setattr(fuzz, "VARIANTS", 1)
    monkeypatch.setattr(fuzz, "INIT_STATES", (5,))
    monkeypatch.setattr(fuzz, "MOVES", fuzz.MOVES | {"picture": 30, "change": 4, "free": 0})
    assert fuzz.main(["--moves", "60", "--seed", "1", "--pictures"]) == 0
    assert "picture" in capsys.readouterr().out


@pytest.mark.sim
def test_a_leak_between_episodes_is_found(benchmarks, monkeypatch, capsys):
    """Here the gripper's command outlasts the reset, as LIBERO's does."""
    import fuzz

    from gym_grounding.adapters.libero.core import stepper

    monkeypatch.setattr(fuzz, "SCENES", ("LiberoGoal-T8",))
    recall = stepper.recall

    def leaky(memory, rest, clock):
        grip = memory.grip.copy()
        recall(memory, rest, clock)
        memory.grip[:] = grip

    monkeypatch.setattr(stepper, "recall", leaky)
    assert fuzz.main(["--moves", "200", "--no-pictures"]) == 1
    assert "DIFFERENT: Story(variant='LiberoGoal-T8" in capsys.readouterr().out


@pytest.mark.sim
def test_memory_is_sampled_over_episodes_of_several_scenes(benchmarks, capsys):
    import memory

    assert memory.main(["--episodes", "20", "--steps", "1"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 22
    assert lines[-1].startswith("growth ")


def test_growth_is_counted_from_the_first_fifth(benchmarks):
    import memory

    loaded = [(0, 50.0), (100, 300.0)]
    flat = [(number, 400.0) for number in range(200, 1001, 100)]
    assert np.allclose(memory.growth(loaded + flat), (0.0, 0.0))
    rising = [(number, 400.0 + number / 100) for number in range(200, 1001, 100)]
    assert np.allclose(memory.growth(loaded + rising), (10.0, 0.0))


@pytest.mark.sim
@pytest.mark.slow
def test_the_table(benchmarks, tmp_path, capsys):
    import table

    met = table.Row("a", 7.0, 2.0, 3.5, 3.5, 5.0).line()
    assert met == "| a | 7 | 2 | ms | 3.5 | 3.5 | 5 | yes |"
    assert table.Row("b", None, 11.0, 11.0, 10.0, None, "s", True).line().endswith("| 11 | at most 10 |  | **no** |")
    assert table.main(["--quick", "--rows", "bare,stage", "--json", str(tmp_path / "table.json")]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    assert len(lines) == 4
    assert len({line.count("|") for line in lines}) == 1
    rows = json.loads((tmp_path / "table.json").read_text())["rows"]
    assert [row["unit"] for row in rows] == ["ms", "s"]
    assert all(row["ours"] > 0 for row in rows)

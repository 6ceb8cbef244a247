"""Every example runs as its docstring says, each in a process of its own."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gym_grounding import manifest
from gym_grounding.testing import check_adapter

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"


@pytest.fixture
def run(tmp_path):
    """Run an example in an empty folder; its output."""

    def run(name, *arguments):
        path = os.pathsep.join([str(ROOT), str(ROOT / "policies"), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [sys.executable, str(EXAMPLES / name), *arguments],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": path, "PYTHONWARNINGS": "error::DeprecationWarning:__main__"},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        assert "Warning" not in done.stderr, done.stderr
        return done.stdout

    return run


def test_every_example_is_tested_and_says_how_it_is_run():
    files = sorted(path.name for path in EXAMPLES.glob("*.py"))
    assert len(files) >= 6
    mine = Path(__file__).read_text()
    for name in files:
        assert f'run("{name}"' in mine, f"no test runs {name}"
        text = ast.get_docstring(ast.parse((EXAMPLES / name).read_text()))
        assert f"Run: python examples/{name}" in (text or ""), name


@pytest.mark.sim
def test_make_one(run):
    out = run("make_one.py")
    assert "LiberoGoal-T8-ContrastTarget1, initial state 4: put the bowl on the stove" in out
    assert "the observation says the same: True" in out
    assert "original goal: False | asked for: False | success: False" in out


@pytest.mark.sim
@pytest.mark.slow
def test_own_policy(run, tmp_path):
    out = run("own_policy.py", "mine")
    rows = re.findall(r"(LiberoGoal-T8-\w+) .* (\d+) steps, success (\w+)", out)
    variants = manifest.load().select(tasks=["LiberoGoal-T8"], conditions=["original", "contrast", "collision"])
    assert sorted(name for name, _, _ in rows) == sorted(variant.id for variant in variants)
    assert {steps for _, steps, _ in rows} == {"10"}
    assert dict((name, success) for name, _, success in rows)["LiberoGoal-T8-Original"] == "False"
    assert (tmp_path / "mine" / "report" / "report.html").is_file()


@pytest.mark.sim
@pytest.mark.slow
def test_continual_schedule(run):
    registry = manifest.load()
    both = [task.id for task in registry.suite_tasks("LiberoGoal")[:2]]
    expected = [(0, registry.select(tasks=both[:1], conditions=["original"]))]
    expected += [(1, registry.select(tasks=[task], conditions=["original", "contrast"])) for task in both]
    wanted = [(f"{stage}/{one.id}/0/0", one.instruction) for stage, variants in expected for one in variants]
    out = run("continual_schedule.py")
    assert re.findall(r"^  (\S+) +(.*)$", out, re.MULTILINE) == wanted
    assert re.findall("train on '(.*)', then", out) == [registry.task(task).instruction for task in both]


@pytest.mark.sim
@pytest.mark.slow
def test_vector_envs(run):
    out = run("vector_envs.py")
    assert re.search(r"copies: \['put the bowl on the plate', 'put the bowl on the plate'\] from initial .*\d, \d", out)
    assert "two processes: ['put the bowl on the plate', 'put the bowl on the stove']" in out
    assert "equal but for the words: True" in out


def test_own_adapter(run, monkeypatch):
    out = run("own_adapter.py")
    assert "registered: Grounding/Corridor-T0-Original-v0 Grounding/Corridor-T0-ContrastAttribute1-v0" in out
    assert "told: turn on the right lamp\nreached after 6 steps; the left lamp is off" in out
    monkeypatch.syspath_prepend(EXAMPLES)
    import own_adapter

    check_adapter(own_adapter.ADAPTER, manifest.load(EXAMPLES / "own_registry.yaml"), "Corridor-T0")


def test_record_video(run, tmp_path):
    assert "put the block on the chest: 60 steps" in run("record_video.py", "--folder", "videos")
    (video,) = (tmp_path / "videos").glob("*.mp4")
    assert frames(video) in (60, 61)


@pytest.mark.sim
@pytest.mark.gl
def test_record_video_of_libero(run, tmp_path):
    assert "put the bowl on the plate: 20 steps" in run("record_video.py", "--libero", "--folder", "videos")
    (video,) = (tmp_path / "videos").glob("*.mp4")
    assert frames(video) in (20, 21)


def frames(path):
    """Number of pictures in a video file; the container's rounded duration may hide the last one."""
    from moviepy import VideoFileClip

    with VideoFileClip(str(path)) as clip:
        return sum(1 for _ in clip.iter_frames())

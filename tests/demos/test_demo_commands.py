"""The commands of ``gym-grounding demos``."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from demos import fake_arm
from demos.test_demo_read import attribute, drop

from gym_grounding import manifest as manifests
from gym_grounding.cli import main
from gym_grounding.demos import STARTS, commands, layout, settings
from gym_grounding.demos.estimate import estimate, size_words
from gym_grounding.demos.make import Order, make
from gym_grounding.demos.settings import Settings
from gym_grounding.demos.show import show


@pytest.fixture
def command(arm_folder, monkeypatch):
    """Runs ``gym-grounding demos`` on the fake arm."""
    original = settings.Settings
    monkeypatch.setattr(settings, "Settings", lambda **given: original(player=fake_arm.SETTINGS.player, **given))

    def run(*words, code=0):
        done = CliRunner().invoke(main, ["demos", *map(str, words), "--registry", str(arm_folder / "registry.yaml")])
        assert done.exit_code == code, done.output + repr(done.exception)
        return done.output

    return run


def test_make_says_what_it_takes_and_what_was_made(command, tmp_path):
    words = ("make", "--suite", "Mini", "--tasks", "0,Mini-T3", "--per-task", 3, "--out", tmp_path / "out")
    said = command(*words)
    assert "6 demonstrations of 2 tasks into" in said
    assert re.search(r": about \d+ s and \d MB if all is to be made", said)
    line = r"_demo.hdf5: Mini-T0, 3 demonstrations \(5 attempts\), \d to \d rows, median \d, \d+ kB"
    assert re.search(line, said), said
    assert (tmp_path / "out" / "mini" / "put_the_cup_on_the_mat_demo.hdf5").is_file()
    said = command("make", "--suite", "Mini", "--tasks", "0", "--per-task", 1, "--out", tmp_path / "one")
    assert re.search(r"^1 demonstration of 1 task into .*: about \d+ s and \d{3} kB if all is to be made", said), said
    assert "Mini-T3, 3 demonstrations (there already)" in command(*words)
    refused = command(*words, "--seed", 4, code=2)
    assert "is there already, made with other settings (seed 0, now 4)" in refused
    assert re.search(r"Mini-T0, 3 demonstrations \(\d attempts\)", command(*words, "--seed", 4, "--force"))


def test_make_gives_its_options_on(command, tmp_path):
    words = ("--suite", "Mini", "--tasks", "1", "--per-task", 1, "--noise", "mild", "--starts", "stored", "--pictures")
    command("make", *words, "--horizon", 50, "--seed", 2, "--out", tmp_path)
    order = fake_arm.order(
        tmp_path, "same", ("Mini-T1",), 1, 4, noise="mild", starts="stored", pictures=True, horizon=50, seed=2
    )
    (path,) = (tmp_path / "mini").rglob("*_demo.hdf5")
    assert path.read_bytes() == make(order)[0].path.read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--suite", "Mimi"), "No suite 'Mimi'"),
        (("--suite", "Mini", "--tasks", "0,9"), "--tasks: No task '9'"),
        (("--suite", "Mini", "--tasks", ","), "name at least one"),
        (("--suite", "Mini", "--per-task", "0"), "Invalid value for '--per-task': 0"),
        (("--suite", "Mini", "--per-task", "-1"), "Invalid value for '--per-task': -1"),
        (("--suite", "Mini", "--horizon", "0"), "Invalid value for '--horizon': 0"),
        (("--suite", "Mini", "--attempts", "-4"), "Invalid value for '--attempts': -4"),
        (("--suite", "Mini", "--per-task", "5", "--attempts", "2"), "no fewer attempts"),
        (("--suite", "Mini", "--workers", "0"), "workers"),
        (("--suite", "Mini", "--noise", "loud"), "loud"),
    ],
)
def test_make_refuses_what_it_cannot_do(command, tmp_path, words, message):
    assert message in command("make", *words, "--out", tmp_path / "out", code=2)
    assert not (tmp_path / "out").exists()


def test_tasks_of_another_suite_are_refused(tmp_path):
    words = ["make", "--suite", "LiberoGoal", "--tasks", "1,LiberoSpatial-T1", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(main, ["demos", *words])
    assert done.exit_code == 2
    assert "--tasks: No task 'LiberoSpatial-T1'" in done.output
    assert not (tmp_path / "out").exists()


def test_a_small_disk_is_told_before_the_start(command, tmp_path, monkeypatch):
    monkeypatch.setattr(commands.shutil, "disk_usage", lambda place: type("Usage", (), {"free": 1000}))
    words = ("make", "--suite", "Mini", "--tasks", "0", "--per-task", 1, "--out", tmp_path / "new" / "out")
    assert f"warning: {tmp_path} has 1 kB free, which may be too little" in command(*words)


def test_estimates_grow_with_what_is_asked_for_and_shrink_with_processes(arm_folder, arm):
    def of(count, pictures, workers=1):
        order = fake_arm.order(arm_folder, per_task=count, attempts=count, pictures=pictures)
        return estimate(order, arm, workers)

    few, many, drawn = of(10, False), of(100, False), of(10, True)
    assert few.seconds < of(100, False, workers=2).seconds < many.seconds
    assert many.size == 10 * few.size
    assert drawn.size > 5 * few.size
    assert drawn.seconds > 3 * few.seconds
    assert re.fullmatch(r"about \d0 s and \d MB", few.words)
    assert re.fullmatch(r"about \d+ minutes and \d,\d{3} MB", of(1000, True).words)
    assert [size_words(size) for size in (1, 999_999, 1_000_000, 12_400_000)] == ["1 kB", "1000 kB", "1 MB", "12 MB"]


def test_check_tells_what_it_found_and_every_file_is_looked_at(command, sound, spoiled, tmp_path):
    told = (
        f"{sound}: Mini-T0, 4 demonstrations, no problems; 4 played again, 4 reach the goal, states and observations eq"
    )
    assert told in command("check", sound)
    assert "2 played again" in command("check", sound, "--replays", 2)
    assert command("check", sound, "--replays", 0).endswith("Mini-T0, 4 demonstrations, no problems\n")
    bad = spoiled(drop("demo_1/obs/ee_pos"))
    (tmp_path / "text.hdf5").write_text("hello")
    said = command("check", tmp_path / "text.hdf5", bad, sound, code=2)
    assert "text.hdf5: no readable HDF5 file" in said
    assert "demo_1: no dataset 'ee_pos' in obs" in said
    assert told in said
    assert "2 of 3 files have problems" in said


def test_check_goes_on_after_files_of_other_tasks(command, sound, spoiled, tmp_path):
    other = make(fake_arm.order(tmp_path, "other", ("Mini-T1",), per_task=1))[0].path
    foreign = spoiled(lambda data: data.attrs.update({"problem_info": '{"language_instruction": "sing"}'}))
    said = command("check", foreign, other, sound, "--task", "Mini-T0", code=2)
    assert f"{foreign}: demonstrates 'sing', not Mini-T0" in said
    assert f"{other}: demonstrates " in said
    assert f"{sound}: Mini-T0, 4 demonstrations, no problems; 4 played again" in said
    assert "2 of 3 files have problems" in said
    said = command("check", foreign, tmp_path, sound, code=2)
    assert f"{foreign}: its instruction 'sing' is that of no task" in said
    assert f"{tmp_path}: is a folder; name the files in it" in said
    assert "0x" not in said
    assert "4 played again" in said
    assert "No task 'Mini-T9'" in command("check", sound, "--task", "Mini-T9", code=2)


def test_what_cannot_be_played_again_is_a_problem(command, spoiled):
    said = command("check", spoiled(attribute("start_state", np.full(16, np.nan))), code=2)
    assert "demo_1: attribute 'start_state' holds NaN" in said
    assert "no problems" not in said
    said = command("check", spoiled(attribute("model_file", "<no")), code=2)
    assert "demo_1: model_file: the model is no XML" in said
    assert "4 demonstrations, 1 problem; 3 played again" in said
    assert "1 of 1 file has problems" in said


def test_a_stopped_make_says_that_the_same_command_continues(command, tmp_path, monkeypatch):
    from gym_grounding.demos import worker

    def stopped(job):
        raise KeyboardInterrupt

    monkeypatch.setattr(worker, "attempt", stopped)
    words = ("make", "--suite", "Mini", "--tasks", "0", "--per-task", 1, "--out", tmp_path)
    assert "interrupted; what is finished is kept, and the same command continues" in command(*words, code=130)


def test_minari_names_what_it_leaves_out_and_exports_the_rest(command, sound, tmp_path, monkeypatch):
    pytest.importorskip("minari")
    folder, out = tmp_path / "files", tmp_path / "datasets"
    folder.mkdir()
    (folder / "a_demo.hdf5").write_text("hello")
    (folder / "b_demo.hdf5").write_bytes(sound.read_bytes())
    said = command("minari", folder, "--out", out, code=2)
    assert f"{out}: gym-grounding/Mini-T0-v0, 4 episodes, 33 steps" in said
    assert f"{folder / 'a_demo.hdf5'}: no readable HDF5 file" in said
    assert "1 of 2 files left out" in said
    told = command("minari", folder / "b_demo.hdf5", "--out", tmp_path / "more", "--task", "Mini-T0")
    assert "gym-grounding/Mini-T0-v0, 4 episodes" in told
    said = command("minari", folder / "b_demo.hdf5", "--out", tmp_path / "third", "--task", "Mini-T1", code=2)
    assert "not Mini-T1" in said
    assert not (tmp_path / "third").exists()


def test_check_tells_a_replay_that_is_not_as_it_should_be(command, spoiled):
    def other_way(data):
        for name in ("actions", "clean_actions"):
            data[f"demo_1/{name}"][:3, 0] *= -1.0

    said = command("check", spoiled(other_way), code=commands.DIFFERENT)
    assert "demo_1: played again, its states differ by up to" in said
    assert "4 played again, 3 reach the goal, states differ by up to" in said

    def elsewhere(data):
        data["demo_2/observations/cup_1_pos"][:] += 0.25

    said = command("check", spoiled(elsewhere), code=commands.DIFFERENT)
    where = (
        "observations by up to 0.25, most in observations/cup_1_pos: other versions of the simulator, or a file that"
    )
    assert f"demo_2: played again, its states differ by up to 0 in positions, 0 in velocities, {where}" in said


def test_a_demonstration_that_does_not_reach_its_goal_is_told(command, tmp_path):
    path = make(fake_arm.order(tmp_path, per_task=1, player="demos.fake_arm:LEAVING"))[0].path
    assert "the goal holds on the way but not at the end" in command("check", path, code=commands.DIFFERENT)


def test_files_of_others_may_differ(command, spoiled):
    def foreign(data):
        for name in data:
            for key in ("start_state", "seed", "settle_steps"):
                del data[name].attrs[key]
            del data[name]["clean_actions"]
        data["demo_1/actions"][:3, 0] *= -1.0

    said = command("check", spoiled(foreign))
    assert "4 played again, 3 reach the goal, states differ by up to" in said
    assert "(the file does not say how its episodes began)" in said


def test_show_draws_each_stored_state(command, sound, tmp_path):
    out = tmp_path / "sheet.png"
    assert f"{out}: demo_1 of {sound}, 7 states" in command("show", sound, "--demo", 1, "--out", out, "--size", 64)
    from PIL import Image

    assert Image.open(out).size == (4 * 64, 2 * 64)
    assert "is there already" in command("show", sound, "--out", out, code=2)
    command("show", sound, "--out", out, "--force")
    assert "no demonstration 'demo_8'" in command("show", sound, "--demo", 8, "--out", tmp_path / "x.png", code=2)
    assert ".mp4" in command("show", sound, "--out", tmp_path / "x.txt", code=2)
    assert not (tmp_path / "x.png").exists()
    command("show", sound, "--out", tmp_path / "film.mp4")
    assert (tmp_path / "film.mp4").stat().st_size > 500


def test_show_goes_by_the_states_and_the_camera(sound, arm, tmp_path):
    seen, boxes = [], []

    class Watching(fake_arm.FakeScene):
        def look(self, state, camera, size):
            seen.append((state, camera, size))
            boxes.append(self._box[0])
            return super().look(state, camera, size)

    from demos.test_demo_check import fake_arm_settings

    camera = {"camera": "robot0_eye_in_hand", "size": 80}
    show(lambda task: Watching(fake_arm_settings()), arm, sound, tmp_path / "a.png", **camera)
    from gym_grounding.demos.read import opened

    with opened(sound) as file:
        demo = file.demonstration("demo_0")
        assert np.array_equal([state for state, _, _ in seen], demo.rows("states"))
        assert set(boxes) == {float(demo.numbers("seed")) / 7.0}
    assert {(camera, size) for _, camera, size in seen} == {("robot0_eye_in_hand", 80)}


def test_names_in_help_are_those_of_the_settings():
    said = " ".join(CliRunner().invoke(main, ["demos", "make", "--help"], terminal_width=200).output.split())
    plain = Settings()
    assert f"--noise [{'|'.join(settings.NOISE)}]" in said
    assert f"[default: {plain.noise}]" in said.partition("--noise")[2].partition("--starts")[0]
    assert f"--starts [{'|'.join(STARTS)}]" in said
    starts = said.partition("--starts")[2].partition("--seed")[0]
    assert f"[default: {plain.starts}]" in starts
    assert all(f"{name}: " in starts for name in STARTS)
    assert f"[default: {plain.seed};" in said.partition("--seed")[2].partition("--horizon")[0]
    assert f"[default: {plain.horizon};" in said.partition("--horizon")[2].partition("--attempts")[0]
    assert f"{layout.SIZE} x {layout.SIZE}" in said


@pytest.mark.parametrize("module", ["gym_grounding", "gym_grounding.cli", "gym_grounding.demos.settings"])
def test_no_hdf5_before_a_file_is_asked_for(module):
    code = f"import sys, {module}; print([name for name in ('h5py', 'minari', 'robosuite') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ), check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_shipped_tasks_have_figures():
    from gym_grounding.demos.estimate import ROWS

    data = manifests.load()
    assert {suite: len(rows) for suite, rows in ROWS.items()} == {
        suite: len(data.suite_tasks(suite)) for suite in data.suites
    }


def test_long_tasks_are_estimated_to_take_longer(tmp_path):
    data = manifests.load()

    def of(*tasks):
        return estimate(Order(tmp_path, tasks, 50), data, 1)

    assert of("LiberoLong-T7").size > 2 * of("LiberoLong-T5").size
    assert of("LiberoLong-T7").seconds > 2 * of("LiberoLong-T5").seconds

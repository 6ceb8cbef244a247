"""Making demonstration files: stopped, continued, in several processes, on full disks, and never over others' files."""

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import h5py
import numpy as np
import pytest
from demos import fake_arm
from hypothesis import given
from hypothesis import strategies as st

from gym_grounding import manifest as manifests
from gym_grounding.demos.make import Order, _Line, make
from gym_grounding.demos.progress import Parts
from gym_grounding.demos.settings import Settings, start_of
from gym_grounding.errors import InvalidDemonstration, InvalidOption, NoPlan, UnknownName, UnwritableOutput, WorkerDied

TESTS = Path(__file__).parents[1]
SCRIPT = """
import sys
from pathlib import Path
from demos import fake_arm
from gym_grounding.demos.make import make
{before}
if __name__ == "__main__":
    folder, workers, player = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    make(fake_arm.order(folder, player=f"demos.fake_arm:{{player}}", pictures={pictures}), workers=workers)
"""
TWO = ("Mini-T0", "Mini-T3")


def script(folder, before="", pictures=False):
    path = folder / "run.py"
    path.write_text(SCRIPT.format(before=before, pictures=pictures))
    return path


def begun(path, *arguments, **options):
    """The script as a process of its own, in a group of its own."""
    places = os.pathsep.join([str(TESTS), str(TESTS.parent), str(TESTS.parent / "policies")])
    return subprocess.Popen(
        [sys.executable, str(path), *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": places},
        start_new_session=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def contents(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def parts_of(order):
    return Parts(order.path(manifests.load(order.registry).task(order.tasks[0])))


def test_files_do_not_depend_on_the_number_of_processes(tmp_path):
    here = fake_arm.order(tmp_path, "here", TWO, per_task=5)
    there = fake_arm.order(tmp_path, "there", TWO[::-1], per_task=5)
    assert [one.lengths for one in make(here)] == [one.lengths for one in make(there, workers=3)][::-1]
    assert contents(here.out) == contents(there.out)
    assert len(contents(here.out)) == 2


def test_fewer_demonstrations_are_the_first_of_more(tmp_path):
    few, many = fake_arm.order(tmp_path, "few", per_task=2), fake_arm.order(tmp_path, "many", per_task=5)
    with h5py.File(make(few)[0].path) as one, h5py.File(make(many)[0].path) as other:
        for name in one["data"]:
            assert np.array_equal(one["data"][name]["states"], other["data"][name]["states"])
        assert len(other["data"]) == 5


def test_failed_attempts_are_left_out_and_counted(tmp_path):
    order, seen = fake_arm.order(tmp_path, per_task=6), []
    made = make(order, told=lambda task, kept: seen.append(kept))[0]
    assert made.attempts == len(seen) > 6
    assert seen.count(True) == 6
    with h5py.File(made.path) as file:
        attempts = [int(file["data"][f"demo_{number}"].attrs["attempt"]) for number in range(6)]
    assert attempts == [number for number, kept in enumerate(seen) if kept]


def test_seeds_starts_and_noise_change_what_is_demonstrated(tmp_path):
    orders = {
        "plain": {},
        "seed": {"seed": 1},
        "stored": {"starts": "stored"},
        "noise": {"noise": "mild"},
    }
    found = {}
    for name, settings in orders.items():
        with h5py.File(make(fake_arm.order(tmp_path, name, per_task=1, **settings))[0].path) as file:
            demo = file["data/demo_0"]
            found[name] = (demo.attrs["start_state"].tolist(), demo["actions"][()].tolist(), dict(demo.attrs))
    assert len({json.dumps(start) for start, _, _ in found.values()}) == 3
    assert found["plain"][0] == found["noise"][0]
    assert found["plain"][1] != found["noise"][1]
    assert "start_number" not in found["plain"][2]
    assert found["stored"][2]["start_number"] == found["stored"][2]["seed"] == found["stored"][2]["attempt"]


def test_attempts_start_at_seeds_of_their_own(arm):
    tasks = [arm.task(name) for name in TWO]
    seeds = [
        start_of(task, Settings(seed=seed), number).seed for task in tasks for seed in (0, 1) for number in range(9)
    ]
    assert len(set(seeds)) == len(seeds) == 36
    assert max(seeds) < 2**32
    again = start_of(tasks[0], Settings(seed=1), 3)
    assert again.rng.random() == start_of(tasks[0], Settings(seed=1), 3).rng.random()


def test_what_was_stopped_is_continued_and_ends_the_same(tmp_path):
    whole, stopped = fake_arm.order(tmp_path, "whole"), fake_arm.order(tmp_path, "stopped")
    make(whole)
    for after in (1, 3):
        _stop_after(stopped, after)
    before = parts_of(stopped).attempts()
    assert len(before) == 4
    seen = []
    made = make(stopped, told=lambda task, kept: seen.append(kept))[0]
    assert contents(whole.out) == contents(stopped.out)
    assert seen[:4] == list(before.values())
    assert len(seen) == made.attempts


def test_a_killed_maker_loses_one_attempt_at_most_and_leaves_no_process(tmp_path):
    whole = fake_arm.order(tmp_path, "whole")
    order = fake_arm.order(tmp_path)
    process = begun(script(tmp_path), tmp_path, 2, "SLOW")
    deadline = time.monotonic() + 30
    while len(parts_of(order).attempts()) < 2 and time.monotonic() < deadline:
        time.sleep(0.01)
    children = _children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = parts_of(order).attempts()
    assert len(before) >= 2
    assert len(children) >= 2
    while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    left = [child for child in children if Path(f"/proc/{child}").exists()]
    for child in left:
        os.kill(child, signal.SIGKILL)
    assert not left
    assert not order.path(manifests.load(order.registry).task("Mini-T0")).exists()
    make(order)
    make(whole)
    assert contents(order.out) == contents(whole.out)


def _children(pid):
    return [
        int(word) for task in Path(f"/proc/{pid}/task").iterdir() for word in (task / "children").read_text().split()
    ]


@pytest.mark.parametrize("pictures", [False, True])
def test_a_full_disk_is_named_and_what_is_finished_is_kept(tmp_path, pictures):
    whole, order = (fake_arm.order(tmp_path, name, pictures=pictures) for name in ("whole", "out"))
    make(whole)
    sizes = [len(content) for content in contents(whole.out).values()]
    # Parts fit, the file of all of them does not; and then not even a part.
    for limit in (int(max(sizes) * 0.6), 4000):
        before = f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
        process = begun(script(tmp_path, before, pictures), tmp_path, 1, "PLAYER")
        _, said = process.communicate(timeout=60)
        assert process.returncode == 1
        assert said.strip().splitlines()[-1].startswith("gym_grounding.errors.UnwritableOutput: "), said
        assert "cannot be written (" in said.strip().splitlines()[-1]
        assert "same command again to continue" in said
        assert not order.path(manifests.load(order.registry).task("Mini-T0")).exists()
        assert not [name for name in contents(order.out) if name.endswith(".part")]
        if limit == 4000:
            assert parts_of(order).attempts() == {}
        else:
            assert sum(parts_of(order).attempts().values()) == 4
            shutil.rmtree(order.out)
    make(order)
    assert contents(order.out) == contents(whole.out)


def test_a_damaged_part_is_named(tmp_path):
    order = fake_arm.order(tmp_path)
    _stop_after(order, 3)
    part = parts_of(order).kept(next(number for number, kept in parts_of(order).attempts().items() if kept))
    whole_part = part.read_bytes()
    part.write_bytes(whole_part[:100])
    with pytest.raises(InvalidDemonstration, match=rf"{part.name}: no readable HDF5 file.* Remove .*{part.name}"):
        make(order)
    for damage, message in (
        (lambda file: file.pop("data"), "no group 'data'"),
        (lambda file: file["data/demo_0"].attrs.pop("num_samples"), "attribute 'num_samples' is not its number of"),
        (lambda file: file["data/demo_0"].attrs.update({"num_samples": [1, 2]}), "attribute 'num_samples' is not its"),
        (lambda file: file["data"].pop("demo_0"), "no demonstration 'demo_0'"),
        (lambda file: file["data/demo_0"].pop("actions"), "no dataset 'actions'"),
        (lambda file: file["data/demo_0/states"].__setitem__(0, np.nan), "states holds NaN"),
        (lambda file: file["data/demo_0/observations/cup_1_pos"].__setitem__(0, np.nan), "cup_1_pos holds NaN"),
    ):
        part.write_bytes(whole_part)
        with h5py.File(part, "r+") as file:
            damage(file)
        with pytest.raises(InvalidDemonstration, match=rf"{part.name}: .*{message}.*\. Remove .*{part.name}, and give"):
            make(order)
        assert not [name for name in contents(order.out) if name.endswith(".part")]
    part.unlink()
    whole = fake_arm.order(tmp_path, "whole")
    make(order)
    make(whole)
    assert contents(order.out) == contents(whole.out)


@pytest.mark.parametrize("content", [b'{"ta', b"", b"[]", None])
def test_a_damaged_note_of_the_settings_is_named(tmp_path, content):
    order = fake_arm.order(tmp_path)
    _stop_after(order, 2)
    note = parts_of(order).folder / "settings.json"
    note.unlink() if content is None else note.write_bytes(content)
    with pytest.raises(InvalidDemonstration, match=rf"{note}: is missing or damaged, .*--force"):
        make(order)
    assert len(parts_of(order).attempts()) == 3
    assert len(make(order, force=True)[0].lengths) == 4


@pytest.mark.parametrize("content", [b"", b"{}", b"[1]"])
def test_a_damaged_note_of_a_failed_attempt_is_named(tmp_path, content):
    order = fake_arm.order(tmp_path, per_task=6, attempts=8)
    with pytest.raises(NoPlan, match="3 x the cup is out of reach"):
        make(order)
    note = parts_of(order).failed(next(number for number, kept in parts_of(order).attempts().items() if not kept))
    note.write_bytes(content)
    with pytest.raises(NoPlan, match=rf"2 x the cup is out of reach; 1 x {note} is damaged, remove it"):
        make(order)
    note.unlink()
    with pytest.raises(NoPlan, match="3 x the cup is out of reach"):
        make(order)


def _stop_after(order, count):
    left = [count]

    def tired(task, kept):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(order, told=tired)


def test_a_made_file_is_kept_and_no_other_is_overwritten(tmp_path):
    order = fake_arm.order(tmp_path)
    path = make(order)[0].path
    before = path.read_bytes(), path.stat().st_mtime_ns
    again = make(order)[0]
    assert (again.attempts, len(again.lengths)) == (0, 4)
    for changed, message in (
        (fake_arm.order(tmp_path, seed=5), r"made with other settings \(seed 0, now 5\)"),
        (fake_arm.order(tmp_path, per_task=3), r"per_task 4, now 3"),
        (fake_arm.order(tmp_path, noise="full"), r"noise 'none', now 'full'"),
    ):
        with pytest.raises(UnwritableOutput, match=f"is there already, .*{message}.*--force"):
            make(changed)
    assert before == (path.read_bytes(), path.stat().st_mtime_ns)
    path.write_bytes(b"somebody else's")
    with pytest.raises(UnwritableOutput, match="is there already, damaged or something else"):
        make(order)
    assert path.read_bytes() == b"somebody else's"
    with h5py.File(path, "w") as file:
        file.create_group("data")
    with pytest.raises(UnwritableOutput, match="is there already, not made here"):
        make(order)
    make(fake_arm.order(tmp_path, seed=5), force=True)
    with h5py.File(path) as file:
        assert json.loads(file["data"].attrs["made"])["seed"] == 5


def test_with_force_the_old_file_stays_until_the_new_one_is_whole(tmp_path):
    order = fake_arm.order(tmp_path)
    path = make(order)[0].path
    before = path.read_bytes()
    changed = fake_arm.order(tmp_path, seed=9)
    with pytest.raises(KeyboardInterrupt):
        make(changed, force=True, told=_stopping)
    assert path.read_bytes() == before
    made = make(changed, force=True)[0]
    assert made.attempts > 0
    assert path.read_bytes() != before


def test_a_stopped_order_with_force_is_continued(tmp_path):
    make(fake_arm.order(tmp_path, tasks=TWO))
    order = fake_arm.order(tmp_path, tasks=TWO, seed=9)

    def until_the_second(task, kept):
        if task == TWO[1]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(order, force=True, told=until_the_second)
    with pytest.raises(UnwritableOutput, match=r"made with other settings \(seed 0, now 9\)"):
        make(order)
    told = []
    made = make(order, force=True, told=lambda task, kept: told.append(task))
    assert set(told) == {TWO[1]}
    assert [one.attempts > 0 for one in made] == [False, True]
    whole = fake_arm.order(tmp_path, "whole", TWO, seed=9)
    make(whole)
    assert contents(order.out) == contents(whole.out)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda data: data.pop("demo_1"),
            r"it holds 3 demonstrations \(demo_0, demo_2, demo_3\), not demo_0 to demo_3",
        ),
        (lambda data: data.copy("demo_1", "demo_4"), r"it holds 5 demonstrations \(demo_0, .*\), not demo_0 to demo_3"),
        (lambda data: data.attrs.update({"num_demos": 3}), "its attribute num_demos is 3, not 4"),
        (lambda data: data.attrs.update({"total": 3}), "its attribute total is 3, not "),
        (
            lambda data: data["demo_2"].attrs.update({"num_samples": 3}),
            r"demo_2 has \d+ rows, its attribute num_samples says",
        ),
        (lambda data: data["demo_2"].pop("actions"), "demo_2: no dataset 'actions'"),
    ],
)
def test_a_file_that_was_altered_is_refused_and_made_anew_with_force(tmp_path, change, message):
    order = fake_arm.order(tmp_path)
    path = make(order)[0].path
    whole = path.read_bytes()
    with h5py.File(path, "r+") as file:
        change(file["data"])
    altered = path.read_bytes()
    with pytest.raises(UnwritableOutput, match=f"is there already, .*{message}.*--force"):
        make(order)
    assert path.read_bytes() == altered
    assert make(order, force=True)[0].attempts > 0
    assert path.read_bytes() == whole


def test_with_force_a_file_with_problems_is_made_anew_and_a_sound_one_stays(tmp_path):
    order = fake_arm.order(tmp_path)
    path = make(order)[0].path
    whole = path.read_bytes()
    assert make(order, force=True)[0].attempts == 0
    with h5py.File(path, "r+") as file:
        file["data/demo_1/actions"][0, 0] = np.nan
    assert make(order, force=True)[0].attempts > 0
    assert path.read_bytes() == whole


def _stopping(task, kept):
    raise KeyboardInterrupt


def test_a_folder_at_its_place_is_not_removed(tmp_path):
    order = fake_arm.order(tmp_path)
    path = order.path(manifests.load(order.registry).task("Mini-T0"))
    path.mkdir(parents=True)
    for force in (False, True):
        with pytest.raises(UnwritableOutput, match="is a folder"):
            make(order, force=force)


def test_parts_of_other_settings_are_refused_or_thrown_away(tmp_path):
    begun_order = fake_arm.order(tmp_path, seed=1)
    _stop_after(begun_order, 2)
    other = fake_arm.order(tmp_path, seed=2)
    with pytest.raises(InvalidOption, match=r"begun with other settings \(seed 1, now 2\)"):
        make(other)
    assert len(parts_of(other).attempts()) == 3
    make(other, force=True)
    whole = fake_arm.order(tmp_path, "whole", seed=2)
    make(whole)
    assert contents(other.out) == contents(whole.out)


def test_too_few_successes_are_told_and_the_other_tasks_are_made(tmp_path):
    order = fake_arm.order(tmp_path, tasks=TWO, per_task=6, attempts=8)
    manifest = manifests.load(order.registry)
    told = (
        f"{TWO[0]}: 5 of 6 demonstrations in 8 attempts (3 x the cup is out of reach). They are kept; allow more --att"
    )
    with pytest.raises(NoPlan, match=re.escape(told)):
        make(order)
    assert [order.path(manifest.task(name)).exists() for name in TWO] == [False, True]
    more = fake_arm.order(tmp_path, tasks=TWO, per_task=6, attempts=40)
    assert [len(one.lengths) for one in make(more)] == [6, 6]
    whole = fake_arm.order(tmp_path, "whole", TWO, per_task=6)
    make(whole)
    assert contents(order.out) == contents(whole.out)


def test_a_simulator_that_breaks_makes_a_failed_attempt(tmp_path):
    order = fake_arm.order(tmp_path, per_task=4, player="demos.fake_arm:FAILING")
    assert make(order)[0].attempts > 4
    with pytest.raises(NoPlan, match=r"it exploded"):
        make(fake_arm.order(tmp_path, "few", per_task=4, attempts=4, player="demos.fake_arm:FAILING"))


def test_two_makers_of_one_file_do_not_meet(tmp_path):
    order = fake_arm.order(tmp_path)
    with parts_of(order).locked(), pytest.raises(UnwritableOutput, match=f"process {os.getpid()} on .* is making it"):
        make(order)
    make(order)


def test_a_lost_process_is_told_and_the_rest_is_kept(tmp_path):
    order = fake_arm.order(tmp_path, per_task=8, player="demos.fake_arm:DYING")
    with pytest.raises(WorkerDied, match="the same command continues"):
        make(order, workers=2)
    healthy = fake_arm.order(tmp_path, per_task=8)
    make(healthy, workers=2)
    whole = fake_arm.order(tmp_path, "whole", per_task=8)
    make(whole)
    assert contents(healthy.out) == contents(whole.out)


def test_stored_states_are_not_demonstrated_twice_without_noise(tmp_path):
    with pytest.raises(InvalidOption, match="4 demonstrations from 3 stored states without noise would repeat"):
        make(fake_arm.order(tmp_path, starts="stored"))
    assert len(make(fake_arm.order(tmp_path, starts="stored", noise="mild", attempts=90))[0].lengths) == 4


def test_scenes_without_the_layout_are_refused(tmp_path, toy_registry):
    order = Order(tmp_path, ("Toy-T0",), 1, 1, fake_arm.SETTINGS, toy_registry)
    with pytest.raises(InvalidOption, match="adapter 'toy' have no LIBERO layout"):
        make(order)


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"per_task": 0}, InvalidOption, "^0 demonstrations per task; ask for at least 1$"),
        ({"per_task": 5, "attempts": 4}, InvalidOption, "no fewer attempts than demonstrations"),
        ({"tasks": ()}, InvalidOption, "name at least one"),
        ({"tasks": ("Mini-T0", "Mini-T0")}, InvalidOption, "each once"),
        ({"tasks": ("Mini-T9",)}, UnknownName, "No task 'Mini-T9'"),
        ({"noise": "loud"}, UnknownName, "No noise 'loud'"),
        ({"starts": "best"}, UnknownName, "No starts 'best'"),
        ({"horizon": 0}, InvalidOption, "horizon is 0; give control steps from 1 on"),
        ({"seed": -1}, InvalidOption, "seed is -1; give 0 or more"),
        ({"player": "demos.fake_arm:NOBODY"}, UnknownName, "No player 'demos.fake_arm:NOBODY'"),
    ],
)
def test_orders_outside_their_domain_are_refused(tmp_path, fields, error, message):
    with pytest.raises(error, match=message):
        make(fake_arm.order(tmp_path, **fields))


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(1, 6), st.integers(1, 5), st.integers(0, 1000))
def test_the_first_successes_are_chosen_whatever_ends_first_and_no_attempt_is_wasted(successes, count, workers, seed):
    order = Order(Path("out"), ("task",), count, max(count, len(successes)))
    line, shuffled = _Line(None, Path(), None, {}, {}), random.Random(seed)
    successes = successes + [False] * (order.attempts - len(successes))
    while True:
        while len(line.running) < workers and (number := line.following(order)) is not None:
            line.running.add(number)
        if not line.running:
            break
        ended = shuffled.choice(sorted(line.running))
        line.running.remove(ended)
        line.done[ended] = successes[ended]
    wanted = [number for number, success in enumerate(successes) if success][:count]
    assert line.kept == wanted
    last = wanted[-1] + 1 if len(wanted) == count else order.attempts
    assert sorted(line.done) == list(range(last))


@pytest.mark.parametrize("pictures", [False, True])
def test_a_finished_file_is_extended_to_what_making_all_at_once_gives(tmp_path, pictures):
    first = make(fake_arm.order(tmp_path, per_task=3, pictures=pictures))[0]
    order, seen = fake_arm.order(tmp_path, per_task=6, pictures=pictures), []
    _stop_after(order, first.attempts + 1)
    assert first.path.stat().st_size == first.size
    made = make(order, told=lambda task, kept: seen.append(kept))[0]
    whole = fake_arm.order(tmp_path, "whole", per_task=6, pictures=pictures)
    assert make(whole)[0].attempts == made.attempts == len(seen)
    assert contents(order.out) == contents(whole.out)


def test_nothing_of_a_finished_file_is_made_again_when_it_is_extended(tmp_path, monkeypatch):
    from gym_grounding.demos import worker

    first, numbers, plain = make(fake_arm.order(tmp_path, per_task=3))[0], [], worker.attempt
    monkeypatch.setattr(worker, "attempt", lambda job: numbers.append(job.attempt) or plain(job))
    make(fake_arm.order(tmp_path, per_task=5))
    assert numbers[0] == first.attempts
    assert numbers == sorted(numbers)


def test_a_file_with_problems_is_not_extended(tmp_path):
    path = make(fake_arm.order(tmp_path, per_task=3))[0].path
    with h5py.File(path, "r+") as file:
        file["data/demo_1/obs/joint_states"][0, 0] += 0.5
    order = fake_arm.order(tmp_path, per_task=5)
    with pytest.raises(UnwritableOutput, match=r"altered since it was made: .*demo_1: obs/joint_states and .*--force"):
        make(order)
    whole = fake_arm.order(tmp_path, "whole", per_task=5)
    make(order, force=True)
    make(whole)
    assert contents(order.out) == contents(whole.out)


def test_what_draws_counts_only_where_there_are_pictures(arm):
    from gym_grounding.demos.progress import difference
    from gym_grounding.demos.settings import described

    def about(gl, **settings):
        plain = Settings(player=fake_arm.SETTINGS.player, **settings)
        return described(plain, arm, arm.task("Mini-T0"), {"mujoco": "3", "gl": gl})

    assert about("egl") == about("osmesa")
    one, other = about("egl", pictures=True), about("osmesa", pictures=True)
    assert difference(one, other) == "versions: gl 'egl', now 'osmesa'"

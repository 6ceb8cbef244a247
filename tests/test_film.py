"""Films: what is written, and what is left when it cannot be."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from PIL import Image

from gym_grounding import film as films
from gym_grounding.errors import InvalidOption, UnwritableOutput
from gym_grounding.film import SHEET, film


def pictures(count, height=48, width=64):
    """Grey ones, each a little brighter, with a mark at the top left."""
    for number in range(count):
        picture = np.full((height, width, 3), 20 + 200 * number // max(count - 1, 1), np.uint8)
        picture[: height // 4, : width // 4] = (255, 0, 0)
        yield picture


def write(path, count, fps=10, **more):
    with film(path, fps, **more) as written:
        for picture in pictures(count):
            written.add(picture)


def read(path):
    from moviepy import VideoFileClip

    with VideoFileClip(str(path)) as clip:
        return clip.fps, clip.size, [frame.copy() for frame in clip.iter_frames()]


def near(picture, expected):
    return np.abs(picture.astype(int) - expected.astype(int)).mean() < 6


def test_an_mp4_holds_every_picture_upright(tmp_path):
    write(tmp_path / "a.mp4", 12)
    fps, size, frames = read(tmp_path / "a.mp4")
    assert (fps, size) == (10, [64, 48])
    assert len(frames) in (12, 13)  # the container's rounded duration
    for frame, expected in zip(frames, pictures(12), strict=False):
        assert near(frame, expected)
    assert os.listdir(tmp_path) == ["a.mp4"]
    described = subprocess.run(
        [films_binary(), "-i", str(tmp_path / "a.mp4")], capture_output=True, text=True, check=False
    ).stderr
    assert "h264" in described
    assert "yuv420p" in described


def films_binary():
    from moviepy.config import FFMPEG_BINARY

    return FFMPEG_BINARY


def test_odd_sides_lose_a_row_and_a_column(tmp_path):
    with film(tmp_path / "odd.mp4", 10) as written:
        for picture in pictures(3, 49, 65):
            written.add(picture)
    assert read(tmp_path / "odd.mp4")[1] == [64, 48]


def test_a_gif_repeats_and_keeps_time(tmp_path):
    write(tmp_path / "a.gif", 7, fps=20)
    with Image.open(tmp_path / "a.gif") as picture:
        assert (picture.n_frames, picture.size, picture.info["loop"], picture.info["duration"]) == (7, (64, 48), 0, 50)
        for number, expected in enumerate(pictures(7)):
            picture.seek(number)
            assert near(np.asarray(picture.convert("RGB")), expected)


@pytest.mark.parametrize(("count", "chosen"), [(1, [0]), (3, [0, 1, 2]), (12, range(12)), (23, range(0, 23, 2))])
def test_a_sheet_shows_pictures_in_order_first_and_last_included(tmp_path, count, chosen):
    write(tmp_path / "a.png", count)
    sheet = np.asarray(Image.open(tmp_path / "a.png"))
    every = list(pictures(count))
    assert sheet.shape == (48 * -(-len(chosen) // 4), 64 * min(4, len(chosen)), 3)
    for place, number in enumerate(chosen):
        row, column = divmod(place, 4)
        tile = sheet[48 * row : 48 * row + 48, 64 * column : 64 * column + 64]
        assert np.array_equal(tile, every[number]), (place, number)


@pytest.mark.parametrize("count", [95, 96, 97, 191, 500])
def test_a_long_sheet_forgets_most_and_still_spans_all(tmp_path, count):
    sheet = films.Sheet(tmp_path / "a.png", 1)
    with sheet:
        for number in range(count):
            sheet.add(np.full((2, 2, 3), number % 256, np.uint8))
            assert len(sheet._kept) < films.KEPT
    values = np.asarray(Image.open(tmp_path / "a.png"))[::2, ::2, 0].ravel()
    steps = np.diff(np.concatenate([values[:SHEET]]).astype(int)) % 256
    assert len(values) == SHEET
    assert (values[0], values[-1]) == (0, (count - 1) % 256)
    assert steps.max() <= 2 * steps.mean()


@pytest.mark.parametrize("ending", [".mp4", ".gif", ".png"])
def test_a_film_that_breaks_off_leaves_nothing_and_keeps_what_was_there(tmp_path, ending):
    def break_off(error, **more):
        with film(path, 10, **more) as written:
            written.add(next(pictures(1)))
            raise error

    path = tmp_path / "new" / "folder" / f"a{ending}"
    with pytest.raises(ZeroDivisionError):
        break_off(ZeroDivisionError)
    assert os.listdir(tmp_path) == [], "new folders are gone as well"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"mine")
    with pytest.raises(KeyboardInterrupt):
        break_off(KeyboardInterrupt, force=True)
    assert path.read_bytes() == b"mine"
    assert os.listdir(path.parent) == [path.name]
    with film(path, 10, force=True):
        pass
    assert path.read_bytes() == b"mine", "a film without pictures is none"


@pytest.mark.parametrize("number", films.ENDINGS)
@pytest.mark.parametrize("ending", [".mp4", ".png"])
def test_a_process_that_is_told_to_end_leaves_nothing(tmp_path, ending, number):
    code = (
        "import os, sys, pathlib, time\n"
        "import numpy as np\n"
        "from gym_grounding.film import film\n"
        "with film(pathlib.Path(sys.argv[1]), 10) as written:\n"
        "    written.add(np.zeros((96, 96, 3), np.uint8))\n"
        "    os.kill(os.getpid(), int(sys.argv[2]))\n"
        "    time.sleep(60)\n"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "new" / "folder" / f"a{ending}"), str(int(number))]
    done = subprocess.run(words, capture_output=True, text=True, timeout=50)
    assert done.returncode == 128 + number, done.stderr
    assert os.listdir(tmp_path) == []


def test_signals_are_what_they_were_and_taken_ones_are_left_alone(tmp_path):
    before = [signal.getsignal(one) for one in films.ENDINGS]
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        with film(tmp_path / "a.png", 10):
            assert callable(signal.getsignal(signal.SIGTERM))
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert [signal.getsignal(one) for one in films.ENDINGS] == [signal.SIG_DFL, signal.SIG_IGN]
    finally:
        for one, handler in zip(films.ENDINGS, before, strict=True):
            signal.signal(one, handler)


def test_a_film_can_be_made_beside_the_main_thread(tmp_path):
    thread = threading.Thread(target=write, args=(tmp_path / "a.png", 2))
    thread.start()
    thread.join()
    assert (tmp_path / "a.png").is_file()


def test_an_old_file_is_replaced_only_when_told(tmp_path):
    path = tmp_path / "a.png"
    path.write_bytes(b"mine")
    with pytest.raises(
        UnwritableOutput, match=r"a.png is there already; name another file, or replace it with --force"
    ):
        film(path, 10)
    assert path.read_bytes() == b"mine"
    write(path, 2, force=True)
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["a.avi", "a", "mp4", "a.mp4.txt"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(InvalidOption, match=r"end it in .mp4 or .gif for a film, or in .png for a contact sheet"):
        film(tmp_path / name, 10)


def test_endings_are_read_in_any_case(tmp_path):
    write(tmp_path / "A.PNG", 1)
    assert (tmp_path / "A.PNG").is_file()


def test_a_place_that_takes_no_file_is_refused(tmp_path):
    (tmp_path / "folder.mp4").mkdir()
    with pytest.raises(UnwritableOutput, match="is a folder"):
        film(tmp_path / "folder.mp4", 10)
    (tmp_path / "file").write_text("in the way")
    with (
        pytest.raises(UnwritableOutput, match=r"a.mp4 cannot be written \(.*; free space or name another place"),
        film(tmp_path / "file" / "a.mp4", 10),
    ):
        pass


@pytest.mark.parametrize("ending", [".mp4", ".gif", ".png"])
def test_a_full_disk_is_told_and_nothing_is_left(tmp_path, ending):
    """A limit on the size of files stands in for the disk; it holds for ffmpeg too."""
    code = (
        "import resource, signal, sys, pathlib\n"
        "import numpy as np\n"
        "from gym_grounding.film import film\n"
        "from gym_grounding.errors import UnwritableOutput\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n"
        "rng = np.random.default_rng(0)\n"
        "try:\n"
        "    with film(pathlib.Path(sys.argv[1]), 10) as written:\n"
        "        for _ in range(40):\n"
        "            written.add(rng.integers(0, 256, (96, 96, 3)).astype(np.uint8))\n"
        "except UnwritableOutput as error:\n"
        "    print(error)\n"
    )
    path = tmp_path / f"a{ending}"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, timeout=120)
    assert f"{path} cannot be written (" in done.stdout, done.stderr
    assert done.stdout.count("\n") == 1
    assert "Traceback" not in done.stderr
    assert os.listdir(tmp_path) == []

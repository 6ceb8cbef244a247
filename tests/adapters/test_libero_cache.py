"""Bytes on disk between processes: whose are believed, and how long they stay."""

import os
import time

import pytest

from gym_grounding.adapters.libero import install
from gym_grounding.adapters.libero.core import cache


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "new"))
    return tmp_path / "new"


def test_the_cache_believes_only_what_this_user_wrote_under_this_key(folder, monkeypatch):
    assert cache.read("a") is None
    cache.write("a", b"payload")
    assert cache.read("a") == b"payload"
    entry = cache._path("a")
    assert [path.name for path in entry.parent.iterdir()] == [entry.name]
    entry.chmod(0o666)
    assert cache.read("a") is None
    entry.chmod(0o600)
    entry.rename(cache._path("b"))
    assert cache.read("b") is None
    entry.symlink_to(cache._path("b"))
    assert cache.read("a") is None
    entry.unlink()
    entry.mkdir()
    before = os.listdir("/proc/self/fd")
    assert cache.read("a") is None
    assert os.listdir("/proc/self/fd") == before
    monkeypatch.setattr(os, "geteuid", lambda: -1)
    assert cache.read("b") is None


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: data + b"?", lambda data: data[:30], lambda data: b"x" + data[1:]]
)
def test_what_is_damaged_reads_as_absent_and_is_written_anew(folder, damage):
    cache.write("a", b"payload")
    entry = cache._path("a")
    entry.write_bytes(damage(entry.read_bytes()))
    assert cache.read("a") is None
    cache.write("a", b"again")
    assert cache.read("a") == b"again"


def test_a_cache_that_takes_no_files_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv(cache.FOLDER, str(tmp_path / "file"))
    cache.write("a", b"payload")
    assert cache.read("a") is None
    assert cache.entries() == []
    assert cache.clear() == 0


def test_where_the_cache_is(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.FOLDER, "~/here")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / "here"
    monkeypatch.delenv(cache.FOLDER)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert cache.folder() == tmp_path / "caches" / "gym-grounding"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.folder() == tmp_path / ".cache" / "gym-grounding"


@pytest.mark.parametrize("named", ["", "~/here"])
def test_without_a_home_nothing_is_kept(named, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(cache.FOLDER, named)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)
    assert cache.folder() is None
    cache.write("a", b"payload")
    assert cache.read("a") is None
    assert (cache.entries(), cache.clear()) == ([], 0)
    assert install.user_caches() is None
    assert not any(tmp_path.iterdir())


def aged(path, days):
    then = time.time() - days * 86400
    os.utime(path, (then, then))


def test_what_is_long_unused_goes_with_the_next_write(folder):
    for key in "abc":
        cache.write(key, b"payload")
    for key in "abc":
        aged(cache._path(key), cache.UNUSED + 1)
    assert cache.read("b") == b"payload"  # is used, so it stays
    cache.write("d", b"payload")
    assert {path for path, _, _ in cache.entries()} == {cache._path("b"), cache._path("d")}


def test_the_cache_is_bounded_and_keeps_what_was_used_last(folder, monkeypatch):
    for age, key in enumerate("abcd"):
        cache.write(key, b"payload")
        aged(cache._path(key), age)
    size = cache.entries()[0][1]
    monkeypatch.setattr(cache, "LIMIT", 3 * size)
    cache.write("e", b"payload")
    assert [path for path, _, _ in cache.entries()] == [cache._path(key) for key in "eab"]
    monkeypatch.setattr(cache, "LIMIT", 1)
    cache.write("f", b"payload")
    assert cache.read("f") == b"payload"
    assert len(cache.entries()) == 1


def test_interrupted_writes_are_removed_and_foreign_files_are_not(folder):
    cache.write("a", b"payload")
    foreign = [folder / "notes.bin", folder / "notes.part", folder / f"{'a' * 40}.bin.txt"]
    parts = [folder / "entry-new.part", folder / "entry-old.part"]
    for path in (*foreign, *parts):
        path.write_bytes(b"")
    (folder / f"{'b' * 40}.bin").mkdir()
    for path in (*foreign, parts[1]):
        aged(path, cache.UNUSED + 1)
    cache.write("b", b"payload")
    assert [path.exists() for path in (*foreign, *parts)] == [True, True, True, True, False]
    assert cache.clear() == 2
    assert [path.exists() for path in (*foreign, *parts)] == [True, True, True, False, False]
    assert cache.entries() == []

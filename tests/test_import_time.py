"""The benchmark of import and load. Its times are nobody's business here."""

import re
from pathlib import Path

import pytest

from gym_grounding import manifest
from gym_grounding.manifest import _scan

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def script(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import import_time

    return import_time


def test_copies_are_a_sound_registry_with_so_many_times_the_rows(script):
    book = manifest.load()
    raw = script.copied(manifest.default_path().read_text("utf-8"), 3).encode()
    larger = manifest.parsed(raw, "copies.yaml")
    for part in ("suites", "scenes", "tasks", "variants", "absent"):
        assert len(getattr(larger, part)) == 3 * len(getattr(book, part))
    assert _scan.scan(raw) == (larger.version, tuple(larger.variants))


@pytest.mark.parametrize("copies", [1, 2])
def test_it_prints_what_it_measures(script, capsys, copies):
    assert script.main(["--repeats", "1", "--copies", str(copies)]) == 0
    head, *steps = capsys.readouterr().out.splitlines()
    count = copies * len(manifest.load().variants)
    assert f"{count} variants" in head
    assert head.endswith(f"{count} ids registered")
    assert [re.fullmatch(r"(.+): \d+ ms \(CPU time \d+ ms\)", line)[1] for line in steps] == list(script.STEPS)

"""The fast scan of a registry file: equal to the full load, or not taken."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mini_registry import controlled, dumped

import gym_grounding
from gym_grounding import manifest
from gym_grounding.errors import RegistryError
from gym_grounding.manifest import Listing, _load, _scan
from gym_grounding.testing import TOY_REGISTRY

TOY = Path(TOY_REGISTRY).read_bytes()


@pytest.mark.parametrize("path", [None, TOY_REGISTRY], ids=["shipped", "toy"])
def test_a_scan_finds_what_a_load_finds(path: str | None) -> None:
    book = manifest.load(path)
    found = _scan.scan(Path(book.path).read_bytes())
    assert found == Listing(book.version, tuple(book.variants))
    assert manifest.listing(path) == found


def test_the_shipped_file_is_registered_without_a_load(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("loaded")

    monkeypatch.setattr(_load, "load", refuse)
    assert len(gym_grounding.register()) == len(manifest.listing().variants)
    with pytest.raises(AssertionError, match="loaded"):
        gym_grounding.register(TOY_REGISTRY)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"version: 0\n", b""),
        (b"version: 0\n", b"version: 0\nversion: 1\n"),
        (b"version: 0\n", b"version: zero\n"),
        (b"version: 0\n", b"version: 00\n"),
        (b"variants:\n", b"variants: # here\n"),
        (b"variants:\n", b"variant:\n"),
        (b"dropped:\n", b"variants:\n"),
        (b"  - id: Toy-T0-Original\n", b"  - id: 'Toy-T0-Original'\n"),
        (b"  - id: Toy-T0-Original\n", b"  - id: Toy-T0-Original # the first\n"),
        (b"  - id: Toy-T0-Original\n    task: Toy-T0\n", b"  - task: Toy-T0\n    id: Toy-T0-Original\n"),
        (b"  - id: Toy-T0-Original\n", b"  - id: Toy-T0-Paraphrase1\n"),
        (b"  - id: Toy-T0-Original\n", b"  - id: Toy T0 Original\n"),
        (b"\n", b"\r\n"),
    ],
)
def test_a_file_of_another_form_is_not_scanned(old: bytes, new: bytes) -> None:
    assert TOY.count(old) >= 1
    assert _scan.scan(TOY.replace(old, new)) is None


def test_a_file_of_another_form_is_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = dumped(controlled())  # rows without indentation
    assert _scan.scan(data) is None
    path = tmp_path / "registry.yaml"
    path.write_bytes(data)
    monkeypatch.setattr(_load, "default_path", lambda: path)
    assert manifest.listing() == Listing(0, tuple(manifest.load(path).variants))
    path.write_bytes(b"format: [")
    with pytest.raises(RegistryError, match=r"registry\.yaml: line 2: malformed YAML"):
        manifest.listing()
    path.unlink()
    with pytest.raises(RegistryError, match="cannot be read"):
        manifest.listing()


LINES = TOY.decode().splitlines(keepends=True)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(0, len(LINES) - 1), st.sampled_from(["drop", "twice", "swap"])), max_size=3))
def test_where_lines_are_lost_the_scan_is_still_right_about_a_sound_file(edits: list[tuple[int, str]]) -> None:
    lines = list(LINES)
    for index, kind in edits:
        at = min(index, len(lines) - 2)
        if kind == "drop":
            del lines[at]
        elif kind == "twice":
            lines.insert(at, lines[at])
        else:
            lines[at], lines[at + 1] = lines[at + 1], lines[at]
    raw = "".join(lines).encode()
    try:
        book = _load.parsed(raw, "x")
    except RegistryError:
        return
    found = _scan.scan(raw)
    assert found is None or found == Listing(book.version, tuple(book.variants))


BROKEN_ROW = """
import sys, warnings
sys.path.insert(0, sys.argv[1])
with warnings.catch_warnings():
    warnings.simplefilter("error")
    import gym_grounding
import gymnasium
print(gym_grounding.__file__)
print(sum(name.startswith("Grounding/") for name in gymnasium.registry))
try:
    gymnasium.make("Grounding/LiberoGoal-T8-Original-v0")
except gym_grounding.RegistryError as error:
    print(error)
"""


def test_a_shipped_file_with_a_false_row_registers_and_says_so_at_the_first_make(tmp_path: Path) -> None:
    ignored = shutil.ignore_patterns("__pycache__", "libero")
    shutil.copytree(Path(gym_grounding.__file__).parent, tmp_path / "gym_grounding", ignore=ignored)
    text = manifest.default_path().read_text("utf-8")
    row = text.index("  - id: LiberoGoal-T8-Original\n")
    broken = text[:row] + text[row:].replace("instruction: put the bowl", "instruction: Put the bowl", 1)
    (tmp_path / "gym_grounding" / "registry.yaml").write_text(broken, "utf-8")
    done = subprocess.run(
        [sys.executable, "-c", BROKEN_ROW, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    where, count, *complaints = done.stdout.splitlines()
    assert where == str(tmp_path / "gym_grounding" / "__init__.py")
    assert int(count) == len(manifest.listing().variants)
    assert any("registry.yaml: LiberoGoal-T8-Original: instruction: must be lower-case" in line for line in complaints)


def test_the_names_of_the_registered_ids_are_the_ids_of_the_rows() -> None:
    listing = manifest.listing()
    names = {f"Grounding/{name}-v{listing.version}" for name in listing.variants}
    assert names <= gymnasium.registry.keys()

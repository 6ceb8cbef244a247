"""What the README says is run as it stands, and what it names is there."""

import inspect
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import click
import gymnasium
import pytest

from gym_grounding import ContinualSchedule, cli, conditions, manifest
from gym_grounding.registration import make
from gym_grounding.store import RunStore
from gym_grounding.testing import TOY_REGISTRY

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
SMALL = ["--init-states", "0:1", "--horizon", "3", "--conditions", "original"]
"""Appended to the evaluations of the README; the last one counts."""


def blocks(language):
    found = re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
    assert found, f"no {language} block"
    return found


def quoted():
    """Everything between single backticks, outside of blocks."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```$", "", README, flags=re.MULTILINE | re.DOTALL))


def run(command, folder):
    path = os.pathsep.join([str(ROOT), str(ROOT / "policies"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command, cwd=folder, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.sim
@pytest.mark.parametrize("code", [block for block in blocks("python") if "POLICY" not in block])
def test_an_example_prints_what_its_comments_say(code, tmp_path):
    expected = [comment.strip().replace("''", "") for comment in re.findall(r"^print\(.*\)\s+# (.*)$", code, re.M)]
    assert len(expected) == code.count("print(") > 0
    printed = run([sys.executable, "-c", code], tmp_path).splitlines()
    assert [line.strip() for line in printed] == [line.strip() for line in expected]


@pytest.mark.sim
@pytest.mark.slow
def test_the_own_policy_is_evaluated_by_the_commands_beside_it(tmp_path):
    (policy,) = (block for block in blocks("python") if "POLICY" in block)
    assert "`my_policy.py`" in README
    (tmp_path / "my_policy.py").write_text(policy)
    (commands,) = blocks("sh")
    for line in commands.splitlines():
        name, *words = shlex.split(line)
        assert name == "gym-grounding"
        small = SMALL if words[0] == "evaluate" else []
        run([sys.executable, "-m", "gym_grounding.cli", *words, *small], tmp_path)
    with RunStore.open(tmp_path / "runs" / "mine") as store:
        (row,) = store.episodes()
        assert not store.errors()
        assert store.header.settings["observation"] == "state"
    assert (row.variant, row.steps) == ("LiberoGoal-T8-Original", 3)
    assert (tmp_path / "runs" / "mine-report" / "report.html").is_file()


def test_commands_and_their_options_exist():
    groups = [cli.main, *(command for command in cli.main.commands.values() if isinstance(command, click.Group))]
    known = [command for group in groups for command in group.commands.values()]
    options = {option for command in known for one in command.params for option in one.opts}
    commands = {found for text in [*quoted(), *blocks("sh")] for found in re.findall(r"gym-grounding ([a-z]+)", text)}
    assert commands >= {"list", "evaluate", "metrics", "validate"}
    assert commands <= cli.main.commands.keys()
    for group, some in (("variants", {"show", "build", "import"}), ("demos", {"make", "check"})):
        inner = {found for text in quoted() for found in re.findall(rf"gym-grounding {group} ([a-z]+)", text)}
        assert inner >= some
        assert inner <= cli.main.commands[group].commands.keys()
    used = {found for text in [*quoted(), *blocks("sh")] for found in re.findall(r"(--[a-z][a-z-]*)", text)}
    assert len(used) > 5
    assert used <= options


def test_the_table_of_variants_is_the_registry():
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in README.splitlines() if "|" in line]
    book = manifest.load()
    for suite in (*book.suites, "all"):
        (row,) = (row for row in rows if row[0] == suite)
        count = Counter((v.condition, v.tier) for v in book.select(None if suite == "all" else suite))
        strict, permissive = count["contrast", "strict"], count["contrast", "permissive"]
        plain = [str(count[name, None]) for name in ("original", "paraphrase", "collision")]
        cells = 160 * (len(book.suites) if suite == "all" else 1)
        assert row == [suite, plain[0], plain[1], f"{strict} + {permissive}", plain[2], str(cells)]
    for name in conditions.controls():
        (row,) = (row for row in rows if row[0].lower().startswith(name))
        assert f"({len(book.select(conditions=[name]))})" in row[0]


def test_make_targets_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {text.removeprefix("make ") for text in quoted() if text.startswith("make ")}
    assert named >= {"demo", "test"}
    assert named <= targets


def test_files_and_folders_exist():
    endings = (".py", ".txt", ".yaml", ".toml", "/")
    words = {word for text in quoted() for word in text.split() if word.endswith(endings)}
    words = {word for word in words if word != "my_policy.py" and not word.startswith("runs/")}
    assert {"benchmarks/parity.py", "registry.yaml", "gym_grounding/", "policies/"} <= words
    assert [word for word in sorted(words) if not (ROOT / word).exists()] == []


def test_the_keys_of_info_are_those_of_the_table(toy_ids):
    table = README.split("| `info` key | |")[1].split("\n\n")[0]
    keys = {key for line in table.splitlines() for key in re.findall(r"`(\w+)`", line.split("|")[1] if line else "")}
    schedule = ContinualSchedule("Toy", TOY_REGISTRY, stage=5, conditions=["contrast"], init_states=[0], image_size=8)
    _, info = schedule.reset()
    assert info.keys() == keys


def test_keywords_of_make_are_those_of_the_text(toy_ids):
    (paragraph,) = (part for part in README.split("\n\n") if part.startswith("`gym.make` takes"))
    words = set(re.findall(r"`(\w+)`", paragraph.split(";")[0]))
    assert set(inspect.signature(make).parameters) - {"variant", "registry", "render_mode"} <= words
    env = gymnasium.make(toy_ids[0])
    settings = env.unwrapped.settings
    defaults = {"image_size": settings.image_size, "horizon": env.get_wrapper_attr("horizon")}
    for name, value in defaults.items():
        assert f"`{name}` ({value})" in paragraph

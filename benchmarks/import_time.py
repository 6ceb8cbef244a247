"""What importing the package and first reading its registry cost, measured in fresh processes.

``python benchmarks/import_time.py`` prints medians over 11 processes, in wall and in CPU time: ``import gymnasium``
alone, what ``import gym_grounding`` adds to it (it registers every id of the shipped registry), and the first full load
of the registry.
``--copies N`` measures a registry with N times the rows instead, whose suites are renamed copies of the shipped ones.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gym_grounding
from gym_grounding import manifest

MEASURED = """
import json, time
def now(): return time.perf_counter(), time.process_time()
marks = [now()]
import gymnasium
marks.append(now())
import gym_grounding
marks.append(now())
from gym_grounding import manifest
book = manifest.load()
marks.append(now())
ids = sum(name.startswith("Grounding/") for name in gymnasium.registry)
steps = [[end - begin for begin, end in zip(*pair)] for pair in zip(marks, marks[1:])]
print(json.dumps({"steps": steps, "ids": ids, "variants": len(book.variants), "absent": len(book.absent)}))
"""
STEPS = ("import gymnasium", "import gym_grounding, on top of it", "first load of the registry")
COPIED = ("suites", "scenes", "tasks", "variants", "dropped", "unavailable")


def copied(text: str, copies: int) -> str:
    """The registry file with ``copies`` times its rows; a copy's suites and scenes have a number in their names."""
    starts = [found.start() for found in re.finditer(r"^\w+:", text, re.MULTILINE)]
    head, sections = text[: starts[0]], [text[a:b] for a, b in zip(starts, [*starts[1:], len(text)], strict=True)]
    bodies = {section.split(":", 1)[0]: section for section in sections}
    names = [name for part in ("suites", "scenes") for name in re.findall(r"^  (\w+):$", bodies[part], re.MULTILINE)]
    pattern = re.compile(rf"\b({'|'.join(names)})\b")
    for name in COPIED:
        rows = bodies.get(name, "").partition("\n")[2]
        more = (pattern.sub(rf"\g<1>x{number}", rows) for number in range(1, copies))
        bodies[name] = f"{name}:\n{rows}{''.join(more)}" if rows else bodies.get(name, "")
    if copies > 1:
        bodies.pop("counts", None)  # the totals of one copy
    return head + "".join(bodies.values())


def measure(repeats: int, package: Path | None = None) -> list[dict[str, Any]]:
    """What ``MEASURED`` prints in each of ``repeats`` fresh processes, after one more that writes bytecode.

    Args:
        package: folder that holds the package to import; None for the installed one.
    """
    command = [sys.executable, "-c", MEASURED]
    # A process finds first what lies in its working directory.
    runs = [subprocess.run(command, capture_output=True, check=True, cwd=package) for _ in range(repeats + 1)]
    return [json.loads(run.stdout) for run in runs[1:]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=11, help="fresh processes per number (default: 11)")
    parser.add_argument("--copies", type=int, default=1, help="rows as many times as in the shipped file (default: 1)")
    options = parser.parse_args(arguments)
    text = manifest.default_path().read_text("utf-8")
    with tempfile.TemporaryDirectory() as folder:
        where = None
        if options.copies > 1:
            where = Path(folder)
            text = copied(text, options.copies)
            shutil.copytree(Path(gym_grounding.__file__).parent, where / "gym_grounding")
            (where / "gym_grounding" / "registry.yaml").write_text(text, "utf-8")
        runs = measure(options.repeats, where)
    size = len(text.encode()) / 1000
    print(
        "{:.0f} kB, {variants} variants, {absent} refused or unavailable; {ids} ids registered".format(size, **runs[0])
    )
    for step, name in enumerate(STEPS):
        wall, cpu = (statistics.median(run["steps"][step][kind] for run in runs) for kind in (0, 1))
        print(f"{name}: {1000 * wall:.0f} ms (CPU time {1000 * cpu:.0f} ms)")
    return 0


if __name__ == "__main__":
    sys.exit(main())

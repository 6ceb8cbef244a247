"""Write the generated parts of the pages in this folder anew: what stands between two markers is what a command prints.

    <!-- generated: gym-grounding variants coverage --markdown -->
    ...
    <!-- end -->

A figure is drawn by the command in a mark of its own: <!-- drawn: gym-grounding variants coverage --figure FILE -->.

Run: python docs/generate.py [--check] [PAGE ...]; with --check nothing is written or drawn, and the exit code is 1
when a part is not what its command prints.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PART = re.compile(r"(<!-- generated: (?P<command>[^\n]*?) -->\n)(?P<text>.*?)(<!-- end -->)", re.DOTALL)
FIGURE = re.compile(r"^<!-- drawn: (?P<command>[^\n]*?) -->$", re.MULTILINE)
PROGRAMS = {"gym-grounding": ["-m", "gym_grounding"], "python": []}
"""First word of a command -> arguments of the Python that runs this file."""


def printed(command: str) -> str:
    """What a command prints on its standard output."""
    program, *words = shlex.split(command)
    if program not in PROGRAMS:
        raise SystemExit(f"{command}: a generated part comes from one of {', '.join(PROGRAMS)}")
    done = subprocess.run(
        [sys.executable, *PROGRAMS[program], *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{command}: ended with {done.returncode}\n{done.stderr}")
    return done.stdout.strip()


def regenerated(page: str, run: Callable[[str], str] = printed) -> str:
    """A page with every generated part as its command prints it now."""
    return PART.sub(lambda part: f"{part[1]}\n{run(part['command'])}\n\n{part[4]}", page)


def commands(page: str) -> tuple[str, ...]:
    """The commands of a page's generated parts."""
    return tuple(part["command"] for part in PART.finditer(page))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing; exit code 1 when a part is out of date")
    parser.add_argument("page", nargs="*", type=Path, help="default: every page of this folder")
    given = parser.parse_args()
    stale = []
    for path in given.page or sorted(Path(__file__).parent.glob("*.md")):
        before = path.read_text(encoding="utf-8")
        after = regenerated(before)
        if not given.check:
            for figure in FIGURE.finditer(before):
                printed(figure["command"])
        if before != after:
            stale.append(path.name)
            if not given.check:
                path.write_text(after, encoding="utf-8")
    sys.stdout.write(f"{'out of date' if given.check else 'written'}: {', '.join(stale) or 'nothing'}\n")
    if stale and given.check:
        raise SystemExit(1)


if __name__ == "__main__":
    main()

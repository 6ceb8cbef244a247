"""Tables of the report of packed records as Markdown: `python benchmarks/study_tables.py docs/study/records TABLE...`.

The files of `gym-grounding-policies pack` become runs in a temporary folder, their report is made, and the named tables
(stems of the report's `tables/*.md`) are printed, with deeper headings. Without a name the names are printed.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from gym_grounding_policies.study.pack import ENDING, unpack
from gym_grounding_policies.study.plan import RUNS

from gym_grounding.report import write_report


def main(records: str, *names: str) -> None:
    """Print the named tables."""
    files = sorted(Path(records).glob(f"*{ENDING}"))
    if not files:
        raise SystemExit(f"{records}: no files of `gym-grounding-policies pack` (*{ENDING})")
    with tempfile.TemporaryDirectory() as place:
        study = Path(place) / "study"
        runs = [study / RUNS / unpack(file, study) for file in files]
        tables = write_report(runs, Path(place) / "report") / "tables"
        known = {path.stem: path for path in sorted(tables.glob("*.md"))}
        for name in names:
            if name not in known:
                raise SystemExit(f"no table {name!r}; there are {', '.join(known)}")
            print(known[name].read_text(encoding="utf-8").replace("### ", "#### ", 1))
        if not names:
            print("\n".join(known))


if __name__ == "__main__":
    main(*sys.argv[1:])

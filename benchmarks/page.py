"""How soon the page of a large report can be used, in a headless Chromium: `python benchmarks/page.py`.

Without an argument it writes the records of `benchmarks/report.py` (about 200,000 episodes) and their report first,
which is not part of what is measured; with the folder of a report it opens that one. Opened: from the request of the
page to its load event. Sorted: a click on a heading of the largest table, unfolded before, until its rows have moved.
Filtered: a choice of a condition until every table has followed. Medians of fresh windows.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

LONGEST = 3.0
"""Seconds from the request of the page to the first sorted table."""
OPENED = "performance.getEntriesByType('navigation')[0].loadEventEnd / 1000"
LARGEST = """
(() => {
  const tables = [...document.querySelectorAll("main table")];
  const largest = tables.sort((a, b) => b.rows.length - a.rows.length)[0];
  largest.closest("details")?.setAttribute("open", "");
  return [largest.rows.length, tables.reduce((sum, one) => sum + one.rows.length, 0)];
})()
"""
TIMED = """
deed => {
  const tables = [...document.querySelectorAll("main table")].sort((a, b) => b.rows.length - a.rows.length);
  const choice = document.querySelector("form.filters").elements.condition;
  const before = performance.now();
  if (deed === "sort") tables[0].querySelector("thead th.num button").click();
  else { choice.selectedIndex = 3; choice.dispatchEvent(new Event("input", { bubbles: true })); }
  document.body.getBoundingClientRect();
  return (performance.now() - before) / 1000;
}
"""


def visit(browser: Any, path: Path) -> tuple[float, float, float, int, int]:
    """Seconds until it is open, sorted and filtered; rows of the largest table and of all."""
    page = browser.new_context().new_page()
    page.goto(path.resolve().as_uri(), wait_until="load")
    opened = page.evaluate(OPENED)
    largest, every = page.evaluate(LARGEST)
    sort, choose = (page.evaluate(TIMED, deed) for deed in ("sort", "filter"))
    page.context.close()
    return opened, sort, choose, largest, every


def made(folder: Path) -> Path:
    """The report of many invented episodes."""
    script = Path(__file__).with_name("report.py")
    subprocess.run([sys.executable, script, "--runs", folder / "runs", "--out", folder / "report"], check=True)
    return folder / "report"


def main(arguments: list[str] | None = None) -> int:
    """Print the times; 0 when the page is usable soon enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", nargs="?", type=Path, help="folder of a report; made if none is given")
    parser.add_argument("--repeats", type=int, default=3, help="windows that are opened")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        path = (given.report or made(Path(place))) / "report.html"
        found = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        visits = [visit(browser, path) for _ in range(given.repeats)]
        size = path.stat().st_size / 1e6
        browser.close()
    opened, sort, choose = (statistics.median(one[place] for one in visits) for place in range(3))
    largest, every = visits[0][3:]
    print(
        f"page of {size:.1f} MB, {every:,} rows: opened in {opened:.2f} s, largest table ({largest:,} rows) sorted in "
        f"{sort:.2f} s, all tables filtered in {choose:.2f} s (open and sorted: at most {LONGEST:.0f} s)"
    )
    return 0 if opened + sort <= LONGEST else 1


if __name__ == "__main__":
    sys.exit(main())

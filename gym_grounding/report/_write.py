"""Putting a report together."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gym_grounding import metrics
from gym_grounding.records import POLICY_FILE, POLICY_SOURCE
from gym_grounding.report import (
    _comparisons,
    _controls,
    _document,
    _files,
    _films,
    _latex,
    _markdown,
    _notes,
    _results,
    _routing,
    _runs,
)
from gym_grounding.report._book import Book
from gym_grounding.report._check import differences
from gym_grounding.report._films import Film
from gym_grounding.report._page import metrics_page
from gym_grounding.report._study import Method, load
from gym_grounding.report._table import Table
from gym_grounding.report.figures import Picture, draw

TITLE = "Language grounding report"
SUMMARY = "summary"


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the report.

    Attributes:
        name: anchor.
        title: heading.
        tables: in order.
    """

    name: str
    title: str
    tables: tuple[Table, ...]


def write_report(runs: Sequence[str | Path], out: str | Path, *, allow_mixed: bool = False, seed: int = 0) -> Path:
    """Score runs and write ``metrics.json``, ``tables/*`` (CSV, Markdown, LaTeX), ``figures/*.png``, ``report.md``,
    ``metrics.md`` and a self-contained ``report.html``.

    Runs of one name are one method and may differ in seeds only. The same runs give the same bytes.

    Args:
        runs: run directories, as ``evaluate`` writes them; finished or not.
        out: folder of the report; made, or replaced if it holds a report and nothing else.
        allow_mixed: put methods beside each other that were measured differently, with visible warnings.
        seed: of the bootstrap intervals.

    Returns:
        The folder.

    Raises:
        InvalidOption: no runs, or two runs of one name share a seed.
        PlanMismatch: runs that cannot stand in one report.
        CorruptRun: a directory without a readable run.
        UnwritableOutput: ``out`` cannot be written or is no report; nothing half-written is left.
    """
    with _files.folder(Path(out)) as work:
        _compose(_book(runs, allow_mixed, seed), _films.read(Path(out)), work)
    return Path(out)


def check_report(
    runs: Sequence[str | Path], out: str | Path, *, allow_mixed: bool = False, seed: int = 0
) -> tuple[list[str], int]:
    """Compute every number of a report again from the records, and compare all its files; nothing is changed.

    Args:
        runs, allow_mixed, seed: as they were given when the report was made.
        out: folder of the report.

    Returns:
        One line for each difference; and how many numbers agree.

    Raises:
        InvalidOption, PlanMismatch: as ``write_report``.
        CorruptRun: a directory without a readable run, or ``out`` holds no report.
    """
    with tempfile.TemporaryDirectory(prefix="gym-grounding-check-") as name:
        _compose(_book(runs, allow_mixed, seed), _films.read(Path(out)), Path(name))
        return differences(Path(out), Path(name))


def _book(runs: Sequence[str | Path], allow_mixed: bool, seed: int) -> Book:
    study = load(runs, allow_mixed)
    evidence = [method.evidence for method in study.methods]
    return Book.of(study, metrics.measure(evidence, np.random.default_rng(seed)))


def _compose(book: Book, films: Sequence[Film], work: Path) -> None:
    """All files of a report, into an existing folder."""
    sections = _sections(book)
    _save(work / "metrics.json", _files.data(book))
    _save(work / "metrics.md", metrics_page())
    _save(work / "tables" / "measurements.csv", _files.measurements_csv(book))
    for table in (table for section in sections for table in section.tables):
        _save(work / "tables" / f"{table.name}.csv", _files.csv_text(table))
        _save(work / "tables" / f"{table.name}.md", _markdown.table(table))
        _save(work / "tables" / f"{table.name}.tex", _latex.table(table))
    pictures = draw(book)
    (work / "figures").mkdir()
    for picture in pictures:
        (work / "figures" / f"{picture.name}.png").write_bytes(picture.png)
    _save(work / "report.md", _as_markdown(book, sections, pictures))
    front = _document.Front(TITLE, _subject(book.methods), _head(book), SUMMARY, _absent)
    _save(work / "report.html", _document.as_html(book, front, sections, pictures, films))


def _save(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _sections(book: Book) -> tuple[Section, ...]:
    tiers = tuple(dict.fromkeys(tier for method in book.planned("contrast") for tier in method.plan.tiers))
    contrasts = [
        *(_results.contrast_table(book, tier) for tier in tiers),
        _results.contrast_readings(book, tiers),
        _results.trained_table(book, tiers),
    ]
    collisions = [_results.collision_table(book), _results.initiation_table(book), _results.collision_end(book)]
    actions = [_results.action_table(book), _results.correlation_table(book)]
    standings = _results.standing_table(book, tiers)
    noted, routed = _notes.notes_table(book), _routing.routing_table(book)
    probed = any(method.evidence.probes for method in book.methods)
    variants = (_runs.variant_table(book, method, number) for number, method in enumerate(book.methods, start=1))
    return (
        _section(SUMMARY, "Summary", [_results.summary_table(book)]),
        _section("runs", "Runs", [_runs.runs_table(book), _runs.coverage_table(book), _runs.errors_table(book)]),
        _section("paraphrase", "Paraphrases", [_results.main_table(book), _results.kinds_table(book)]),
        _section("stages", "Continual learning", [_results.continual_table(book), *_results.stage_tables(book)]),
        _section("contrasts", "Minimal contrasts", contrasts if book.planned("contrast") else []),
        *([_section("reach", "What could be reached", [standings])] if standings else []),
        _section("collisions", "Collisions", collisions if book.planned("collision") else []),
        _section("controls", "Control conditions", _controls.tables(book)),
        *([_section("routing", "Routing", [routed])] if routed else []),
        *([_section("notes", "Notes", [noted])] if noted else []),
        _section("action", "Action-level diagnostics", actions if probed else []),
        _section("comparisons", "Differences and what the budget shows", _comparisons.tables(book)),
        _section("variants", "Tasks and variants", [_results.task_table(book), *variants]),
    )


def _section(name: str, title: str, tables: Iterable[Table | None]) -> Section:
    return Section(name, title, tuple(table for table in tables if table is not None))


def _absent(section: Section) -> str:
    if section.tables:
        return ""
    return "No run holds probes." if section.name == "action" else f"No run evaluates {section.title.lower()}."


def _head(book: Book) -> list[tuple[str, str]]:
    """Facts that all runs share or that differ between them, as they stand in the headers."""
    headers = [header for method in book.methods for header in method.headers]
    plan = book.methods[0].plan
    order = " ".join(_results.short(task) for task in plan.order)
    return [
        ("Suite", plan.suite),
        ("Training order", order),
        ("Evaluated tasks", " ".join(_results.short(task) for task in plan.tasks or plan.order)),
        ("Stages", " ".join(str(stage) for stage in plan.stages)),
        ("Initial states", " ".join(str(state) for state in plan.init_states)),
        ("Horizon, stop rule", f"{plan.horizon} steps after settling, {plan.stop}"),
        ("Settings", _shared(_pairs(header.settings) for header in headers)),
        ("Registry (sha256)", _shared(header.registry_sha256 for header in headers)),
        ("Source revision", _shared(header.source_revision or "none recorded" for header in headers)),
        ("Versions", _shared(_pairs(_software(header.versions)) for header in headers)),
        *(
            (f"Policy of {method.name}", _pairs(_policy_files(method.headers[0].versions)))
            for method in book.methods
            if _policy_files(method.headers[0].versions)
        ),
        ("Scenes (hashes)", _pairs({scene: value for header in headers for scene, value in header.scenes.items()})),
    ]


def _policy_files(versions: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in versions.items() if name.startswith((POLICY_SOURCE, POLICY_FILE))}


def _software(versions: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in versions.items() if name not in _policy_files(versions)}


def _shared(values: Iterable[str]) -> str:
    return " / ".join(dict.fromkeys(values))


def _pairs(mapping: Mapping[str, object]) -> str:
    return ", ".join(f"{key} {value}" for key, value in sorted(mapping.items()))


def _subject(methods: Sequence[Method]) -> str:
    return f"{', '.join(method.name for method in methods)} on {methods[0].plan.suite}"


def _as_markdown(book: Book, sections: Sequence[Section], pictures: Sequence[Picture]) -> str:
    parts = [f"# {TITLE}\n\n{_markdown.escape(_subject(book.methods))}\n"]
    if book.warnings:
        parts.append(f"**Read before comparing**\n\n{_markdown.bullets(book.warnings)}\n")
    parts.append(_markdown.bullets([f"{name}: {value}" for name, value in _head(book)]) + "\n")
    for section in sections:
        parts.append(f"## {section.title}\n")
        if not section.tables:
            parts.append(f"{_absent(section)}\n")
        for table in section.tables:
            parts.append(_markdown.table(table))
            parts += [_picture(one) for one in pictures if one.after == table.name]
        if section.name == SUMMARY and book.remarks:
            parts.append(f"### Worth a look\n\n{_markdown.bullets(book.remarks)}\n")
    parts.append(
        "Definitions: [metrics.md](metrics.md). Raw numbers: `metrics.json`, `tables/measurements.csv`; every table "
        "also as CSV, Markdown and LaTeX in `tables`.\n"
    )
    return "\n".join(parts)


def _picture(one: Picture) -> str:
    return f"![{_markdown.escape(one.caption)}](figures/{one.name}.png)\n"

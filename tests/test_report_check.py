"""A report is compared with its records, whatever file was changed; its tables are LaTeX that reads."""

import re

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from gym_grounding.cli import main
from gym_grounding.errors import CorruptRun
from gym_grounding.metrics import Value
from gym_grounding.plan import Plan
from gym_grounding.report import _latex, check_report, write_report
from gym_grounding.report._table import Column, Table
from gym_grounding.testing.records import write_run


@pytest.fixture(scope="module")
def runs(toy, tmp_path_factory):
    place = tmp_path_factory.mktemp("runs")
    plan = Plan.make("Toy", registry=toy.path, init_states=range(2))
    return [write_run(place / name, toy, plan, name) for name in ("deaf", "listening")]


@pytest.fixture
def report(runs, tmp_path):
    return write_report(runs, tmp_path / "report")


def changed_digit(text: str, pattern: str) -> str:
    """The text with the last digit of the first match turned into another one."""
    match = re.search(pattern, text)
    assert match, pattern
    at = match.end() - 1
    return text[:at] + str((int(text[at]) + 1) % 10) + text[at + 1 :]


def test_a_report_agrees_with_its_records(runs, report):
    found, agreeing = check_report(runs, report)
    assert found == []
    assert agreeing > 1000


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("metrics.json", r'"mean": 0\.\d+'),
        ("tables/measurements.csv", r",0\.\d+"),
        ("tables/table_1_paraphrase.csv", r",0\.\d+"),
        ("tables/table_1_paraphrase.md", r"\| \d+\.\d"),
        ("tables/table_1_paraphrase.tex", r"& \d+\.\d"),
        ("report.md", r"\| \d+\.\d"),
        ("report.html", r">\d+\.\d"),
    ],
)
def test_one_changed_digit_is_found_in_every_file(runs, report, name, pattern):
    path = report / name
    path.write_text(changed_digit(path.read_text(encoding="utf-8"), pattern), encoding="utf-8")
    found, _ = check_report(runs, report)
    assert len(found) == 1
    assert found[0].startswith(f"{name}: ")
    assert "the records give" in found[0]


def test_other_files_and_pictures_are_found(runs, report):
    picture = next((report / "figures").glob("*.png"))
    picture.write_bytes(picture.read_bytes()[:-1] + b"x")
    (report / "tables" / "summary.csv").unlink()
    (report / "tables" / "mine.csv").write_text("1\n")
    found, _ = check_report(runs, report)
    assert sorted(line.split(":")[0] for line in found) == [
        f"figures/{picture.name}",
        "tables/mine.csv",
        "tables/summary.csv",
    ]


def test_the_command_ends_with_1_and_names_the_difference(runs, report):
    arguments = ["report", *map(str, runs), "--out", str(report), "--check"]
    good = CliRunner().invoke(main, arguments)
    assert good.exit_code == 0
    assert "numbers are what the records give" in good.output
    path = report / "metrics.json"
    path.write_text(changed_digit(path.read_text(encoding="utf-8"), r'"mean": 0\.\d+'), encoding="utf-8")
    before = path.read_bytes()
    bad = CliRunner().invoke(main, arguments)
    assert bad.exit_code == 1
    assert "metrics.json: measurements[" in bad.output
    assert path.read_bytes() == before
    fewer = CliRunner().invoke(main, ["report", str(runs[0]), "--out", str(report), "--check"])
    assert fewer.exit_code == 1


def test_a_folder_without_a_report_is_refused(runs, tmp_path):
    with pytest.raises(CorruptRun, match="holds no report"):
        check_report(runs, tmp_path)


def table(text: str = "x", value: Value | None = None) -> Table:
    columns = (Column("method", "Method"), Column("rate", "Rate & 1", "rate"))
    return Table("a_table", "Title", "100 % of it_all", columns, ((text, value or Value(0.25, std=0.1)),))


def test_a_table_in_latex():
    reason = Value(None, reason="no episode")
    text = _latex.table(table("er_0", reason))
    assert text.splitlines()[1:] == [
        r"\begin{table}",
        r"\centering",
        r"\caption{Title. 100 \% of it\_all}",
        r"\label{tab:a-table}",
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"Method & Rate \& 1 \\",
        r"\midrule",
        r"er\_0 & --\textsuperscript{a} \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip\footnotesize",
        r"\textsuperscript{a} no episode\par",
        r"\end{table}",
    ]
    assert r"25.0 $\pm$ 10.0" in _latex.table(table())


@given(st.text(max_size=30))
def test_no_text_can_break_a_table(text):
    line = _latex.table(table(text)).splitlines()[9]
    assert line.endswith(r" \\")
    plain = re.sub(r"\\(text[a-z]+|ldots)\{\}|\\[&%$#_{}]|\$(\\pm|-|\\times)\$", "", line[: -len(r" \\")])
    assert plain.count("&") == 1
    assert not re.search(r"[\\{}%$#_~^]", plain)

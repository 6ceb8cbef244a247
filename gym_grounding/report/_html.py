"""HTML: one file, no script, nothing loaded from anywhere. Everything that comes from records is escaped."""

from __future__ import annotations

import base64
import html
import re
import struct
from collections.abc import Iterable, Sequence

from gym_grounding.report._table import TEXT, Table, Written, write
from gym_grounding.report.figures import DPI

STYLE = """
:root { color-scheme: light; }
body { font: 15px/1.5 "Source Serif 4", Charter, Georgia, "Times New Roman", serif; color: #1a1a1a; background: #fff;
  max-width: 76rem; margin: 2.5rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.25rem; margin: 2.8rem 0 .6rem; padding-bottom: .25rem; border-bottom: 1px solid #bbb; }
h3 { font-size: 1.02rem; margin: 1.8rem 0 .2rem; }
p, li { max-width: 62rem; }
nav { font-size: .92rem; margin: 1rem 0 0; }
nav a { margin-right: 1.1rem; white-space: nowrap; }
a { color: #1f4e79; }
code { font: .86em ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .5rem 0 .2rem; border-top: 1.5px solid #1a1a1a;
  border-bottom: 1.5px solid #1a1a1a; font: .84rem/1.35 "Helvetica Neue", Arial, "Liberation Sans", sans-serif;
  font-variant-numeric: tabular-nums; }
th { text-align: left; vertical-align: bottom; font-weight: 600; border-bottom: 1px solid #1a1a1a; }
th, td { padding: .28rem .7rem .28rem 0; }
td { vertical-align: top; }
th:not(:first-child), td:not(:first-child) { padding-left: .35rem; }
.num { text-align: right; white-space: nowrap; }
.long { min-width: 11rem; }
tr.group td { border-top: 1px solid #ccc; }
td.repeat { color: #aaa; }
.aside { display: block; color: #666; font-size: .76rem; }
.caption, .notes, figcaption { font-size: .86rem; color: #444; max-width: 62rem; margin: .2rem 0; }
.notes { padding: 0; list-style: none; }
sup { line-height: 0; font-size: .7em; color: #666; }
figure { margin: 1.2rem 0; }
figure img { max-width: 100%; height: auto; }
.warnings { border-left: 3px solid #b35900; background: #fff7ec; padding: .5rem 1rem; margin: 1rem 0; }
.warnings ul, .remarks ul { margin: .3rem 0; padding-left: 1.2rem; }
.remarks { font-size: .92rem; }
details { margin: .8rem 0; }
summary { cursor: pointer; font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: .4rem 0; font-size: .9rem; }
dt { color: #444; }
dd { margin: 0; overflow-wrap: anywhere; }
@media print { body { margin: 0; max-width: none; font-size: 10pt; } nav { display: none; } }
"""

SCREEN = 96
"""Pixels per inch that browsers assume; figures are drawn finer and shown at their size in inches."""
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"


def text(value: object) -> str:
    """Escaped text."""
    return html.escape(str(value), quote=True)


def page(title: str, body: Iterable[str]) -> str:
    """A whole document; its content policy forbids scripts and everything from outside."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def table(content: Table) -> str:
    """A table with its title, caption and notes; folded ones open on demand."""
    content = content.visible()
    notes = content.notes()
    head = "".join(f"<th{_class(column.unit)}>{text(column.label)}</th>" for column in content.columns)
    rows = "\n".join(_row(content, index, notes) for index in range(len(content.rows)))
    listed = "".join(f"<li><sup>{letter}</sup> {text(note)}</li>" for note, letter in notes.items())
    below = f'\n<ul class="notes">{listed}</ul>' if listed else ""
    inner = (
        f'<p class="caption">{text(content.caption)}</p>\n<div class="scroll"><table>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table></div>{below}"
    )
    if content.folded:
        return f"<details><summary>{text(content.title)}</summary>\n{inner}\n</details>"
    return f"<h3>{text(content.title)}</h3>\n{inner}"


def figure(png: bytes, caption: str) -> str:
    """A picture inside the file."""
    data = base64.b64encode(png).decode("ascii")
    (pixels,) = struct.unpack(">I", png[16:20])  # a PNG's width stands in its first chunk
    width = round(pixels * SCREEN / DPI)
    return (
        f'<figure><img alt="{text(caption)}" width="{width}" src="data:image/png;base64,{data}">\n'
        f"<figcaption>{text(caption)}</figcaption></figure>"
    )


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """A list of names with their values."""
    return "<dl>" + "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in pairs) + "</dl>"


def warnings(items: Sequence[str]) -> str:
    """A visible box; empty without items."""
    return f'<div class="warnings"><strong>Read before comparing</strong>{_list(items)}</div>' if items else ""


def remarks(items: Sequence[str]) -> str:
    """A list with a heading; empty without items."""
    return f'<h3>Worth a look</h3>\n<div class="remarks">{_list(items)}</div>' if items else ""


def _list(items: Sequence[str]) -> str:
    return f"<ul>{''.join(f'<li>{text(item)}</li>' for item in items)}</ul>"


def prose(definition: str) -> str:
    """A docstring: paragraphs, with ``code`` marked."""
    paragraphs = (
        re.sub(r"``(.+?)``", r"<code>\1</code>", text(" ".join(part.split()))) for part in definition.split("\n\n")
    )
    return "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)


def _row(content: Table, index: int, notes: dict[str, str]) -> str:
    cells = (
        f"<td{_class(column.unit, _repeats(content, index, place))}>"
        f"{_cell(write(content.rows[index][place], column.unit, notes), column.unit)}</td>"
        for place, column in enumerate(content.columns)
    )
    return f"<tr{_group(content, index)}>{''.join(cells)}</tr>"


def _class(unit: str, repeats: bool = False) -> str:
    names = [
        name for name, applies in (("num", unit not in TEXT), ("long", unit == "long"), ("repeat", repeats)) if applies
    ]
    return f' class="{" ".join(names)}"' if names else ""


def _repeats(content: Table, index: int, place: int) -> bool:
    """Whether a row begins with the same method as the one above it; its name is then printed pale."""
    return place == 0 and index > 0 and content.rows[index][0] == content.rows[index - 1][0]


def _group(content: Table, index: int) -> str:
    """A thin rule where another method begins."""
    return ' class="group"' if index > 0 and not _repeats(content, index, 0) else ""


def _cell(cell: Written, unit: str) -> str:
    letter = f"<sup>{cell.letter}</sup>" if cell.letter else ""
    aside = f'<span class="aside">{text(cell.aside)}</span>' if cell.aside else ""
    main = text(cell.main)
    if unit == "tally":  # lines break between the entries only
        main = main.replace(" ", "&nbsp;").replace(",&nbsp;", ", ")
    return f"{main}{letter}{aside}"

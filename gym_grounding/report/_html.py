"""HTML of the page: one file that loads nothing. Everything that comes from records is escaped."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources

from gym_grounding.report import _paint
from gym_grounding.report._table import TEXT, Table, Written, write

FILTERS = ("method", "task", "condition", "slot")
"""Columns by which rows can be chosen, by their key."""


def text(value: object) -> str:
    """Escaped text, also for attributes in double quotes."""
    return html.escape(str(value), quote=True)


def attributes(**values: object) -> str:
    """`` name="value"`` for every value that is not None; underscores become hyphens, a trailing one is dropped."""
    return "".join(
        f' {name.rstrip("_").replace("_", "-")}="{text(value)}"' for name, value in values.items() if value is not None
    )


def page(title: str, body: Iterable[str], films: bool = False) -> str:
    """A whole document. Its content policy lets nothing in from outside, and runs no script but the page's own.

    Args:
        title: plain text.
        body: pieces of HTML, each safe as it is.
        films: whether it plays films that lie beside it.
    """
    style, script = f"{_colours()}{_resource('page.css')}", _resource("page.js")
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
        + ("; media-src 'self'" if films else "")
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{text(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in body if part)
        + f"\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode('ascii')}'"


@cache
def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _colours() -> str:
    """The colours of the figures as variables and classes, for light paper, dark paper and print."""
    light, dark = (_paint.variables(side) for side in (0, 1))
    strokes = "".join(f".s-{name}{{stroke:var(--p-{name});fill:none}}" for name in _paint.PAINTS)
    fills = "".join(f".f-{name}{{fill:var(--p-{name})}}" for name in _paint.PAINTS)
    return (
        f"\n:root {{ {light} }}\n@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}\n"
        f"{strokes}\n{fills}\n"
    )


def table(content: Table) -> str:
    """A table with its title, caption and notes; folded ones open on demand.

    Cells of the columns ``FILTERS`` that people do not see are attributes of the rows, or of the table where all rows
    agree, so that the page can filter by them.
    """
    shared, own = _hidden(content)
    content = content.visible()
    notes = content.notes()
    head = "".join(
        f'<th scope="col"{_class(column.unit)}'
        f"{attributes(data_key=column.key if column.key in FILTERS else None)}>{text(column.label)}</th>"
        for column in content.columns
    )
    rows = "\n".join(_row(content, index, notes, own[index]) for index in range(len(content.rows)))
    listed = "".join(f"<li><sup>{letter}</sup> {text(note)}</li>" for note, letter in notes.items())
    below = f'\n<ul class="notes">{listed}</ul>' if listed else ""
    name = text(content.name)
    inner = (
        f'<p class="caption" id="about-{name}">{text(content.caption)}</p>\n'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{text(content.title)}">'
        f'<table aria-describedby="about-{name}"{shared}>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table></div>{below}"
    )
    if content.folded:
        return f'<details id="table-{name}"{shared}><summary>{text(content.title)}</summary>\n{inner}\n</details>'
    return f'<section id="table-{name}">\n<h3>{text(content.title)}</h3>\n{inner}\n</section>'


def _hidden(content: Table) -> tuple[str, list[str]]:
    """Attributes of the table and of each row: hidden columns by which rows can be chosen."""
    shared, own = "", [""] * len(content.rows)
    for place, column in enumerate(content.columns):
        if column.shown or column.key not in FILTERS or not content.rows:
            continue
        values = ["" if row[place] is None else str(row[place]) for row in content.rows]
        named = [attributes(**{f"data_{column.key}": value}) for value in values]
        if len(set(values)) == 1:
            shared += named[0]
        else:
            own = [before + name for before, name in zip(own, named, strict=True)]
    return shared, own


def figure(svg: str, caption: str, name: str, method: str | None = None) -> str:
    """A drawing inside the file; it scrolls within itself where it is wider than the page."""
    return (
        f'<figure id="figure-{text(name)}"{attributes(data_method=method)}>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="Figure">{svg}</div>\n'
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


def _row(content: Table, index: int, notes: dict[str, str], hidden: str) -> str:
    cells = []
    for place, column in enumerate(content.columns):
        written = _cell(write(content.rows[index][place], column.unit, notes), column.unit)
        tag, scope = ("td", "") if place else ("th", ' scope="row"')
        cells.append(f"<{tag}{scope}{_class(column.unit, _repeats(content, index, place))}>{written}</{tag}>")
    return f"<tr{_group(content, index)}{hidden}>{''.join(cells)}</tr>"


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

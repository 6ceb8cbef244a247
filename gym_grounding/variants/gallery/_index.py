"""The first page of the gallery: suites at a glance, and the coverage tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gym_grounding.manifest import Manifest
from gym_grounding.types import Task
from gym_grounding.variants._pictures import Picture, encoded
from gym_grounding.variants._tables import Table, numeric
from gym_grounding.variants.coverage import tables
from gym_grounding.variants.gallery._html import document, picture, text
from gym_grounding.variants.show import about


def index_page(manifest: Manifest, tasks: Mapping[str, Sequence[Task]], pictures: Mapping[str, Picture]) -> str:
    """The whole page as HTML.

    Args:
        manifest: the registry.
        tasks: suite -> its tasks, for the suites that have a page.
        pictures: task id -> picture.
    """
    names = dict.fromkeys(row.condition for row in manifest.variants.values())
    kinds = "".join(f"<dt>{text(name)}</dt><dd>{text(about(name))}.</dd>" for name in names)
    body = [
        "<header>\n<h1>Instructions</h1>\n<p>Every sentence is there because checks that anyone can rerun let it in, "
        "and every cell without one has a reason.</p>\n</header>\n<main>",
        *(_suite(manifest, name, members, pictures) for name, members in tasks.items()),
        f'<section><h2>Conditions</h2>\n<dl class="kinds">{kinds}</dl></section>',
        *(_table(table) for table in tables(manifest)),
        "</main>",
        f"<footer><p>Registry sha256 <code>{text(manifest.sha256)}</code>, version {manifest.version}.</p></footer>",
    ]
    return document("Instructions", body, script=False)


def _suite(manifest: Manifest, name: str, tasks: Sequence[Task], pictures: Mapping[str, Picture]) -> str:
    count = len(manifest.select(suite=name))
    cards = "".join(_card(name, task, pictures.get(task.id)) for task in tasks)
    return (
        f'<section><h2><a href="{text(name)}.html">{text(name)}</a></h2>\n'
        f'<p>{len(tasks)} tasks, {count} instructions.</p>\n<ul class="cards">{cards}</ul></section>'
    )


def _card(suite: str, task: Task, drawn: Picture | None) -> str:
    image = "" if drawn is None else f'<img alt="" src="{picture(encoded(drawn.pixels, "jpeg"))}">'
    label = f"<span>{text(task.id.rsplit('-', 1)[-1])}</span> {text(task.instruction)}"
    return f'<li><a href="{text(suite)}.html#{text(task.id)}">{image}{label}</a></li>'


def _table(table: Table) -> str:
    right = numeric(table)
    head = "".join(
        f'<th{_class(place)} scope="col">{text(name)}</th>' for name, place in zip(table.header, right, strict=True)
    )
    rows = "\n".join(
        f"<tr>{''.join(f'<td{_class(place)}>{text(value)}</td>' for value, place in zip(row, right, strict=True))}</tr>"
        for row in table.rows
    )
    return (
        f"<section><h2>{text(table.title)}</h2>\n<p>{text(table.caption)}</p>\n"
        f'<div class="scroll"><table class="plain">\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table></div></section>"
    )


def _class(right: bool) -> str:
    return ' class="num"' if right else ""

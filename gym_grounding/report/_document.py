"""The page of a report, put together from its sections."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gym_grounding.report import _films, _html
from gym_grounding.report._book import Book
from gym_grounding.report._coverage import CONDITIONS
from gym_grounding.report._films import Film
from gym_grounding.report._page import metrics_html
from gym_grounding.report._results import short
from gym_grounding.report.figures import Picture
from gym_grounding.types import SLOTS

if TYPE_CHECKING:
    from gym_grounding.report._write import Section

VARIANTS = "variants"
"""Section that the films end."""


@dataclass(frozen=True, slots=True)
class Front:
    """What stands around the sections.

    Attributes:
        title: heading of the page.
        subject: methods and suite.
        facts: (name, value) of what all runs share or differ in.
        first: name of the section that is followed by the remarks.
        absent: section -> why it is empty; nothing for one with tables.
    """

    title: str
    subject: str
    facts: Sequence[tuple[str, object]]
    first: str
    absent: Callable[[Section], str]


def as_html(
    book: Book, front: Front, sections: Sequence[Section], pictures: Sequence[Picture], films: Sequence[Film] = ()
) -> str:
    """The whole page.

    Args:
        book: the measurements.
        front: what stands around the sections.
        sections: tables in their order.
        pictures: figures; each follows its table, or ends its section where there is no such table.
        films: of chosen episodes.
    """
    links = "\n".join(f'<li><a href="#{one.name}">{_html.text(one.title)}</a></li>' for one in sections)
    body = [
        '<a class="skip" href="#summary">Skip to the results</a>',
        f"<header>\n<h1>{_html.text(front.title)}</h1>\n<p>{_html.text(front.subject)}</p>\n"
        f'<nav aria-label="Sections"><ul>\n{links}\n<li><a href="#definitions">Definitions</a></li>\n</ul></nav>\n'
        f"{_html.warnings(book.warnings)}\n"
        f"<details><summary>What was run</summary>\n{_html.facts(front.facts)}\n</details>\n</header>",
        _filters(book),
        "<main>",
        *(part for section in sections for part in _section(book, front, section, pictures, films)),
        f'<section id="definitions">\n<h2>Definitions</h2>\n{metrics_html()}\n</section>',
        "</main>",
    ]
    return _html.page(f"{front.title}: {front.subject}", body, films=bool(films))


def _section(
    book: Book, front: Front, section: Section, pictures: Sequence[Picture], films: Sequence[Film]
) -> Iterator[str]:
    yield f'<section id="{section.name}">\n<h2>{_html.text(section.title)}</h2>'
    if why := front.absent(section):
        yield f"<p>{_html.text(why)}</p>"
    own = [one for one in pictures if one.section == section.name]
    names = {table.name for table in section.tables}
    for table in section.tables:
        yield _html.table(table)
        yield from (_figure(one) for one in own if one.after == table.name)
    yield from (_figure(one) for one in own if one.after not in names)
    if section.name == front.first:
        yield _html.remarks(book.remarks)
    if section.name == VARIANTS and films:
        yield f"<h3>Films of chosen episodes</h3>\n{_films.section(book, films)}"
    yield "</section>"


def _figure(one: Picture) -> str:
    return _html.figure(one.svg(), one.caption, one.name, one.method)


def _filters(book: Book) -> str:
    """Choices for the rows of every table; shown only where scripts run."""
    found = {one.condition for method in book.methods for one in method.evidence.episodes}
    planned = {name for method in book.methods for name in method.plan.conditions}
    conditions = [name for name in CONDITIONS if name in found | planned]
    conditions += sorted((found | planned) - set(conditions))
    tasks = dict.fromkeys(task for method in book.methods for task in method.evidence.order)
    return (
        '<form class="filters" role="search" aria-label="Choose rows" hidden>\n'
        f"{_boxes([method.name for method in book.methods])}\n"
        f"{_select('task', 'all tasks', ((task, _task_words(book, task)) for task in tasks))}\n"
        f"{_select('condition', 'all conditions', ((name, name) for name in conditions))}\n"
        f"{_select('slot', 'all slots', ((name, name) for name in SLOTS))}\n"
        '<p class="count"><output name="count" aria-live="polite"></output> <button type="reset">Clear</button></p>\n'
        "</form>"
    )


def _boxes(names: Sequence[str]) -> str:
    boxes = "\n".join(
        f'<label><input type="checkbox" name="method" value="{_html.text(name)}" checked>{_html.text(name)}</label>'
        for name in names
    )
    return f"<fieldset><legend>Method</legend>\n{boxes}\n</fieldset>"


def _select(name: str, every: str, choices: Iterable[tuple[str, str]]) -> str:
    options = "".join(f'<option value="{_html.text(value)}">{_html.text(words)}</option>' for value, words in choices)
    label = f'<label for="choose-{name}">{name.capitalize()}</label>'
    choice = f'<select id="choose-{name}" name="{name}"><option value="">{every}</option>{options}</select>'
    return f'<span class="choice">{label} {choice}</span>'


def _task_words(book: Book, task: str) -> str:
    for method in book.methods:
        if method.registry is not None and task in method.registry.tasks:
            return f"{short(task)} {method.registry.task(task).instruction}"
    return short(task)

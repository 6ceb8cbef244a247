"""The page of a report, put together from its sections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gym_grounding.report import _html
from gym_grounding.report._book import Book
from gym_grounding.report._page import metrics_html
from gym_grounding.report.figures import Picture

if TYPE_CHECKING:
    from gym_grounding.report._write import Section


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


def as_html(book: Book, front: Front, sections: Sequence[Section], pictures: Sequence[Picture]) -> str:
    """The whole page."""
    links = " ".join(f'<a href="#{one.name}">{_html.text(one.title)}</a>' for one in sections)
    body = [
        f"<h1>{front.title}</h1>\n<p>{_html.text(front.subject)}</p>",
        f'<nav>{links} <a href="#definitions">Definitions</a></nav>',
        _html.warnings(book.warnings),
        _html.facts(front.facts),
    ]
    for section in sections:
        why = _html.text(front.absent(section))
        body.append(f'<h2 id="{section.name}">{_html.text(section.title)}</h2>\n<p>{why}</p>')
        for table in section.tables:
            body.append(_html.table(table))
            body += [_html.figure(one.png, one.caption) for one in pictures if one.after == table.name]
        if section.name == front.first:
            body.append(_html.remarks(book.remarks))
    body.append(f'<h2 id="definitions">Definitions</h2>\n{metrics_html()}')
    return _html.page(f"{front.title}: {front.subject}", body)

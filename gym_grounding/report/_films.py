"""Films of chosen episodes beside a report: read from the list that lies with them, shown on the page."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from gym_grounding.errors import CorruptRun
from gym_grounding.report import _html
from gym_grounding.report._book import Book

FOLDER = "films"
LIST = "films.json"
PLAYED = (".mp4", ".webm")
"""Endings of files that a browser plays; others are linked."""


@dataclass(frozen=True, slots=True)
class Film:
    """One episode that can be watched.

    Attributes:
        variant, method, seed, stage, init_state: the episode.
        outcome: what came of it, in a word.
        file: its place relative to the folder of films, with forward slashes.
        caption: a sentence about it.
    """

    variant: str
    method: str
    seed: int
    stage: int
    init_state: int
    outcome: str
    file: str
    caption: str


def read(report: Path) -> tuple[Film, ...]:
    """The films of a report folder; none where it has no list of films.

    Raises:
        CorruptRun: the list cannot be read, or names a file outside the folder of films; names the entry.
    """
    path = report / FOLDER / LIST
    if not path.is_file():
        return ()
    names = [field.name for field in dataclasses.fields(Film)]
    films: list[Film] = []  # filled one by one, so that its length names the entry that fails
    try:
        for row in json.loads(path.read_text(encoding="utf-8")):
            film = Film(**{name: row[name] for name in names})
            films.append(_inside(film))
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise CorruptRun(
            f"{path}: entry {len(films)} is no film ({error!r}); each has {', '.join(names)}. Make the films anew, or "
            "move the folder away"
        ) from error
    return tuple(films)


def _inside(film: Film) -> Film:
    """The film itself, if its file lies in the folder of films."""
    place = PurePosixPath(film.file)
    if place.is_absolute() or ".." in place.parts or "\\" in film.file:
        raise ValueError(f"{film.file!r} does not lie in {FOLDER}/")
    return film


def section(book: Book, films: Iterable[Film]) -> str:
    """The films, variant by variant, each under its instruction."""
    groups: dict[str, list[Film]] = {}
    for film in films:
        groups.setdefault(film.variant, []).append(film)
    return "\n".join(_variant(book, variant, group) for variant, group in groups.items())


def anchor(variant: str) -> str:
    """Id of a variant's films on the page."""
    return f"films-{variant}"


def _variant(book: Book, variant: str, films: Iterable[Film]) -> str:
    place = _place(book, variant)
    instruction = _html.text(place.pop("instruction", ""))
    shown = "\n".join(_figure(film) for film in films)
    return (
        f"<section{_html.attributes(class_='films', id=anchor(variant), **place)}>\n"
        f"<h4>{_html.text(variant)} <q>{instruction}</q></h4>\n<div>\n{shown}\n</div>\n</section>"
    )


def _place(book: Book, variant: str) -> dict[str, str]:
    """What the page filters by, and the instruction: from the registry, else from the records."""
    for method in book.methods:
        known = method.registry.variants.get(variant) if method.registry else None
        one = known or next((one for one in method.evidence.episodes if one.variant == variant), None)
        if one is not None:
            found: Mapping[str, str] = {
                "data_task": one.task,
                "data_condition": one.condition,
                "data_slot": one.slot or "",
                "instruction": one.instruction,
            }
            return dict(found)
    return {}


def _figure(film: Film) -> str:
    address = f"{FOLDER}/{quote(film.file)}"
    words = f"{film.method}, stage {film.stage}, initial state {film.init_state}, seed {film.seed}: {film.outcome}"
    if address.endswith(PLAYED):
        shown = f"<video{_html.attributes(controls='', preload='none', src=address, aria_label=words)}></video>"
    else:
        shown = f"<p><a{_html.attributes(href=address)}>{_html.text(film.file)}</a></p>"
    caption = f"<strong>{_html.text(film.outcome)}</strong> {_html.text(' '.join(_about(film)))}"
    return f"<figure{_html.attributes(data_method=film.method)}>{shown}<figcaption>{caption}</figcaption></figure>"


def _about(film: Film) -> Iterator[str]:
    yield f"{film.method}, stage {film.stage}, initial state {film.init_state}, seed {film.seed}."
    if film.caption:
        yield film.caption

"""Pages of the gallery for the tests: fake pictures, hostile rows, and a reader of HTML that refuses sloppy markup."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np

from gym_grounding.manifest import Manifest
from gym_grounding.variants._pictures import Picture, added
from gym_grounding.variants.gallery import write_gallery

HOSTILE = '</script><script>window.hacked = 1</script>"\'><img src=x onerror="window.hacked = 1"> & <b>'
"""Runs in a browser wherever it is not escaped, in text or in an attribute."""
VOID = {"meta", "img", "input", "br", "wbr", "link"}


def drawn(manifest, tasks, size):
    """A picture of no scene for every task, with a square for every added region."""
    for number, task in enumerate(tasks):
        ramp = np.linspace(40, 220, size, dtype=np.uint8)
        pixels = np.stack(
            [np.tile(ramp, (size, 1)), np.tile(ramp[:, None], (1, size)), np.full((size, size), 20 * number)]
        )
        corners = {
            region.name: np.array([[10.0, 10.0], [30.0, 10.0], [30.0, 30.0], [10.0, 30.0]])
            for region in added(manifest, task)
        }
        yield task.id, Picture(np.moveaxis(pixels, 0, 2).astype(np.uint8), corners)


def written(manifest: Manifest, folder: Path, **more: object) -> Path:
    """The gallery of a registry with fake pictures; the folder."""
    write_gallery(manifest, folder, size=48, draw=drawn, **more)
    return folder


def hostile(manifest: Manifest) -> Manifest:
    """The registry with hostile text wherever a registry holds free text."""
    variants = {
        name: replace(
            row,
            instruction=f"{row.instruction} {HOSTILE}",
            tier_reason=HOSTILE if row.tier_reason else "",
            kind=HOSTILE if row.kind else "",
            details={key: _spoilt(value) for key, value in row.details.items()} | {"note": HOSTILE},
        )
        for name, row in manifest.variants.items()
    }
    absent = tuple(
        replace(row, note=HOSTILE, reason=HOSTILE, instruction=row.instruction and HOSTILE) for row in manifest.absent
    )
    tasks = {name: replace(task, instruction=HOSTILE) for name, task in manifest.tasks.items()}
    return replace(manifest, variants=variants, absent=absent, tasks=tasks)


def two_suites(toy: Manifest) -> Manifest:
    """The toy registry with every task and variant once more, as another suite."""

    def renamed(name: str) -> str:
        return name.replace("Toy", "Other")

    tasks = {renamed(name): replace(task, id=renamed(name), suite="Other") for name, task in toy.tasks.items()}
    variants = {
        renamed(name): replace(row, id=renamed(name), task=renamed(row.task)) for name, row in toy.variants.items()
    }
    suites = {**toy.suites, "Other": toy.suites["Toy"]}
    return replace(toy, suites=suites, tasks={**toy.tasks, **tasks}, variants={**toy.variants, **variants})


def _spoilt(value: object) -> object:
    if isinstance(value, dict):
        return {key: _spoilt(inner) for key, inner in value.items()}
    return HOSTILE if isinstance(value, str) else value


@dataclass
class Element:
    """One element with its attributes, and all text inside it."""

    tag: str
    attributes: dict[str, str | None]
    text: str = ""
    inside: list[Element] = field(default_factory=list)

    def find(self, tag: str, **wanted: str) -> list[Element]:
        """Elements of that tag below this one whose attributes have these values; in document order."""
        found = []
        for child in self.inside:
            given = {name.rstrip("_").replace("_", "-"): value for name, value in wanted.items()}
            if child.tag == tag and all(child.attributes.get(name) == value for name, value in given.items()):
                found.append(child)
            found += child.find(tag, **wanted)
        return found


class Reader(HTMLParser):
    """Builds a tree; an element that is not closed where it must be is an error."""

    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("document", {})]

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), (tag, attrs)
        element = Element(tag, dict(attrs))
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data):
        for element in self.open:
            element.text += data


def read(path: Path) -> Element:
    """A page as a tree."""
    reader = Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    assert [element.tag for element in reader.open] == ["document"]
    return reader.open[0]

"""A drawing as data, and its two forms: SVG inside the page, in colours of its paper, and PNG for papers.

Coordinates are pixels of the page, x to the right, y down.
"""

from __future__ import annotations

import html
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from gym_grounding.report._paint import PAINTS

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw
    from PIL.ImageFont import FreeTypeFont

DPI = 200
SCREEN = 96
"""Pixels of the page per inch."""
FINER = 2
"""How much finer shapes are drawn than they are stored, for smooth edges."""
MARGIN = 6
"""Of a picture for papers, in pixels of the page."""
SIZE = 11
"""Of a letter, in pixels."""
SHAPES = ("o", "s", "^", "D", "v", "P")
"""Markers: circle, square, triangle up, diamond, triangle down, plus."""


@dataclass(frozen=True, slots=True)
class Box:
    """A filled rectangle; ``title`` is what a pointer over it says."""

    x: float
    y: float
    width: float
    height: float
    paint: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A line through points."""

    points: tuple[tuple[float, float], ...]
    paint: str = "ink"
    width: float = 1.0


@dataclass(frozen=True, slots=True)
class Dot:
    """A marker of one of ``SHAPES``; a hollow one is filled with the paper's colour."""

    x: float
    y: float
    paint: str = "ink"
    shape: str = "o"
    hollow: bool = False
    radius: float = 3.2
    title: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text on its baseline; ``anchor`` is start, middle or end."""

    x: float
    y: float
    text: str
    anchor: str = "start"
    paint: str = "ink"
    size: float = SIZE
    bold: bool = False


Mark = Box | Line | Dot | Text


@dataclass
class Drawing:
    """Marks on a sheet, later ones on top.

    Attributes:
        width, height: of the sheet, in pixels of the page.
        marks: in the order of drawing.
    """

    width: float
    height: float
    marks: list[Mark] = field(default_factory=list)

    def add(self, *marks: Mark) -> None:
        """Put marks on top."""
        self.marks += marks

    def extend(self, marks: Iterable[Mark]) -> None:
        """Put many marks on top."""
        self.marks.extend(marks)


def shifted(mark: Mark, right: float, down: float) -> Mark:
    """The same mark elsewhere."""
    if isinstance(mark, Line):
        return replace(mark, points=tuple((x + right, y + down) for x, y in mark.points))
    return replace(mark, x=mark.x + right, y=mark.y + down)


def tiled(panels: Sequence[Drawing], widest: float, gap: float = 16) -> Drawing:
    """Drawings of one size beside and below each other, as many in a row as fit into ``widest`` pixels."""
    width = max(panel.width for panel in panels)
    height = max(panel.height for panel in panels)
    across = max(1, min(len(panels), int((widest + gap) // (width + gap))))
    down = -(-len(panels) // across)
    sheet = Drawing(across * (width + gap) - gap, down * (height + gap) - gap)
    for place, panel in enumerate(panels):
        row, column = divmod(place, across)
        sheet.extend(shifted(mark, column * (width + gap), row * (height + gap)) for mark in panel.marks)
    return sheet


def below(*parts: Drawing, gap: float = 8) -> Drawing:
    """Drawings below each other, flush left."""
    sheet = Drawing(max(part.width for part in parts), sum(part.height + gap for part in parts) - gap)
    down = 0.0
    for part in parts:
        sheet.extend(shifted(mark, 0, down) for mark in part.marks)
        down += part.height + gap
    return sheet


def text_width(text: str, size: float = SIZE) -> float:
    """About how wide a text is in the widest of the fonts used, in pixels."""
    return 0.61 * size * len(text)


def cut(text: str, width: float, size: float = SIZE) -> str:
    """A text that is shortened where it is wider than ``width`` pixels."""
    fitting = max(2, int(width / text_width("n", size) + 1e-6))
    return text if len(text) <= fitting else f"{text[: fitting - 1]}…"


def svg(drawing: Drawing, label: str) -> str:
    """An ``svg`` element for the page; its colours are the page's variables, and ``label`` is what it is read as."""
    size = f'width="{drawing.width:g}" height="{drawing.height:g}" viewBox="0 0 {drawing.width:g} {drawing.height:g}"'
    inner = "".join(_element(mark) for mark in drawing.marks)
    return f'<svg role="img" aria-label="{html.escape(label)}" {size}>{inner}</svg>'


def _element(mark: Mark) -> str:
    if isinstance(mark, Box):
        place = f'x="{_n(mark.x)}" y="{_n(mark.y)}" width="{_n(mark.width)}" height="{_n(mark.height)}"'
        return _titled("rect", f'class="f-{mark.paint}" {place}', mark.title)
    if isinstance(mark, Line):
        points = " ".join(f"{_n(x)},{_n(y)}" for x, y in mark.points)
        width = "" if mark.width == 1 else f' stroke-width="{mark.width:g}"'
        return f'<polyline class="s-{mark.paint}"{width} points="{points}"/>'
    if isinstance(mark, Dot):
        kind = f"s-{mark.paint} f-{'paper' if mark.hollow else mark.paint}"
        return _titled("path", f'class="{kind}" d="{_outline(mark)}"', mark.title)
    anchor = "" if mark.anchor == "start" else f" a-{mark.anchor}"
    bold = " b" if mark.bold else ""
    size = "" if mark.size == SIZE else f' font-size="{mark.size:g}"'
    place = f'x="{_n(mark.x)}" y="{_n(mark.y)}"'
    return f'<text class="f-{mark.paint}{anchor}{bold}"{size} {place}>{html.escape(mark.text)}</text>'


def _titled(tag: str, attributes: str, title: str) -> str:
    return f"<{tag} {attributes}><title>{html.escape(title)}</title></{tag}>" if title else f"<{tag} {attributes}/>"


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _outline(dot: Dot) -> str:
    x, y, r = dot.x, dot.y, dot.radius
    if dot.shape == "o":
        return f"M{_n(x - r)} {_n(y)}a{r:g} {r:g} 0 1 0 {2 * r:g} 0a{r:g} {r:g} 0 1 0 {-2 * r:g} 0z"
    return "M" + "L".join(f"{_n(x + r * right)} {_n(y + r * down)}" for right, down in _corners(dot.shape)) + "z"


def _corners(shape: str) -> tuple[tuple[float, float], ...]:
    """Corners of a marker in units of its radius."""
    arm = 0.36
    return {
        "s": ((-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)),
        "^": ((0, -1.1), (1.05, 0.85), (-1.05, 0.85)),
        "v": ((0, 1.1), (1.05, -0.85), (-1.05, -0.85)),
        "D": ((0, -1.25), (1.1, 0), (0, 1.25), (-1.1, 0)),
        "P": (
            *((-arm, -1.1), (arm, -1.1), (arm, -arm), (1.1, -arm), (1.1, arm), (arm, arm), (arm, 1.1), (-arm, 1.1)),
            *((-arm, arm), (-1.1, arm), (-1.1, -arm), (-arm, -arm)),
        ),
    }[shape]


def png(drawing: Drawing) -> bytes:
    """The drawing on white paper; the same bytes on every call. Texts stand above all other marks."""
    from PIL import Image
    from PIL.ImageDraw import Draw

    scale = DPI / SCREEN
    size = tuple(round((side + 2 * MARGIN) * scale) for side in (drawing.width, drawing.height))
    fine = Image.new("RGB", (size[0] * FINER, size[1] * FINER), PAINTS["paper"][0])
    pen = Draw(fine)
    for mark in drawing.marks:
        if not isinstance(mark, Text):
            _mark(pen, mark, scale * FINER)
    image = fine.reduce(FINER)
    pen = Draw(image)
    for mark in drawing.marks:
        if isinstance(mark, Text):
            _letters(pen, mark, scale)
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", dpi=(DPI, DPI))
    return buffer.getvalue()


def _mark(pen: ImageDraw, mark: Box | Line | Dot, scale: float) -> None:
    def at(x: float, y: float) -> tuple[float, float]:
        return (x + MARGIN) * scale, (y + MARGIN) * scale

    ink = PAINTS[mark.paint][0]
    if isinstance(mark, Box):
        (left, top), (right, bottom) = at(mark.x, mark.y), at(mark.x + mark.width, mark.y + mark.height)
        pen.rectangle((left, top, max(left, right - 1), max(top, bottom - 1)), fill=ink)
    elif isinstance(mark, Line):
        pen.line([at(x, y) for x, y in mark.points], fill=ink, width=max(1, round(mark.width * scale)), joint="curve")
    else:
        face, edge = PAINTS["paper"][0] if mark.hollow else ink, round(1.2 * scale)
        if mark.shape == "o":
            middle = at(mark.x, mark.y)
            pen.circle(middle, (mark.radius + 0.6) * scale, fill=face, outline=ink, width=edge)
        else:
            corners = [at(mark.x + mark.radius * x, mark.y + mark.radius * y) for x, y in _corners(mark.shape)]
            pen.polygon(corners, fill=face, outline=ink, width=edge)


def _letters(pen: ImageDraw, mark: Text, scale: float) -> None:
    anchor = {"start": "ls", "middle": "ms", "end": "rs"}[mark.anchor]
    place = ((mark.x + MARGIN) * scale, (mark.y + MARGIN) * scale)
    # This font is wider than the browser's
    font = _font("DejaVuSans-Bold.ttf" if mark.bold else "DejaVuSans.ttf", 0.9 * mark.size * scale)
    pen.text(place, mark.text, fill=PAINTS[mark.paint][0], font=font, anchor=anchor)


@cache
def _font(name: str, size: float) -> FreeTypeFont:
    import matplotlib
    from PIL import ImageFont

    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / name), size)

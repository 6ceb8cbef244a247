"""A drawing as data, and its two forms: SVG inside the page, in colours of its paper, and PNG for papers.

Coordinates are pixels of the page, x to the right, y down.
"""

from __future__ import annotations

import html
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from gym_grounding.report._paint import PAINTS

if TYPE_CHECKING:
    from matplotlib.artist import Artist

DPI = 200
SCREEN = 96
"""Pixels of the page per inch."""
MARGIN = 6
"""Of a picture for papers, in pixels of the page."""
SIZE = 11
"""Of a letter, in pixels."""
SHAPES = ("o", "s", "^", "D", "v", "P")
"""Markers, as matplotlib names them."""


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
    """The drawing on white paper, the same bytes whatever the user's own style."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        width, height = drawing.width + 2 * MARGIN, drawing.height + 2 * MARGIN
        figure = Figure(figsize=(width / SCREEN, height / SCREEN), dpi=DPI)
        FigureCanvasAgg(figure)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(-MARGIN, drawing.width + MARGIN)
        axes.set_ylim(drawing.height + MARGIN, -MARGIN)
        axes.set_axis_off()
        for order, artist in enumerate(artist for mark in drawing.marks for artist in _artists(mark)):
            artist.set_zorder(order)
            axes.add_artist(artist)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _artists(mark: Mark) -> Iterator[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Circle, Polygon, Rectangle
    from matplotlib.text import Text as Letters

    points = 72 / SCREEN
    ink = PAINTS[mark.paint][0]
    edge: dict[str, Any] = {"edgecolor": ink, "linewidth": 1.2 * points}
    if isinstance(mark, Box):
        yield Rectangle((mark.x, mark.y), mark.width, mark.height, facecolor=ink, edgecolor="none")
    elif isinstance(mark, Line):
        across, down = zip(*mark.points, strict=True)
        yield Line2D(across, down, color=ink, linewidth=mark.width * points, solid_joinstyle="round")
    elif isinstance(mark, Dot):
        face = PAINTS["paper"][0] if mark.hollow else ink
        if mark.shape == "o":
            yield Circle((mark.x, mark.y), mark.radius, facecolor=face, **edge)
        else:
            corners = [(mark.x + mark.radius * x, mark.y + mark.radius * y) for x, y in _corners(mark.shape)]
            yield Polygon(corners, facecolor=face, **edge)
    else:
        align: Any = {"start": "left", "middle": "center", "end": "right"}[mark.anchor]
        # The browser's sans-serif is narrower than matplotlib's own font, which is everywhere
        yield Letters(
            *(mark.x, mark.y, mark.text),
            color=ink,
            fontsize=0.9 * mark.size * points,
            fontweight="bold" if mark.bold else "normal",
            horizontalalignment=align,
            verticalalignment="baseline",
            parse_math=False,  # a dollar sign in a name is a dollar sign
        )

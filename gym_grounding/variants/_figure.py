"""The coverage figure: one small square per cell. Needs matplotlib; touches neither a display nor global state."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gym_grounding.manifest import NOT_SHOWN, standing
from gym_grounding.variants.coverage import CONDITIONS, Cell

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

DPI = 150
STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
}
KINDS = (
    ("original", "original", "#444444"),
    ("paraphrase", "paraphrase", "#56B4E9"),
    ("strict", "contrast, strict", "#009E73"),
    ("permissive", "contrast, permissive", "#CC79A7"),
    ("collision", "collision", "#D55E00"),
    ("empty", "empty", "white"),
)
"""(kind, label, colour) of the squares; colours of Okabe and Ito, told apart with every kind of colour vision."""
DIGEST = "Cells"
"""Key of the picture's text entry that says what it was drawn from."""


def kind(cell: Cell) -> str:
    """How a cell is coloured."""
    if cell.variant is None:
        return "empty"
    return cell.variant.tier or cell.condition if cell.condition == "contrast" else cell.condition


def apart(cell: Cell) -> bool:
    """Whether it holds a goal that is not shown reachable."""
    return cell.variant is not None and standing(cell.variant) == NOT_SHOWN


def digest(cells: Sequence[Cell]) -> str:
    """What a figure of these cells would show, as sha256 (hex)."""
    rows = (
        f"{cell.task} {cell.condition} {cell.slot} {cell.number} {kind(cell)}{' not shown' if apart(cell) else ''}"
        for cell in cells
    )
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()


def draw(cells: Sequence[Cell]) -> bytes:
    """A PNG with one panel per suite, a row per task and a square per cell; it names its ``digest``."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    suites = list(dict.fromkeys(cell.suite for cell in cells))
    with matplotlib.rc_context():
        matplotlib.rcdefaults()  # a user's own style must not change the figure
        matplotlib.rcParams.update(STYLE)
        tallest = max(len({cell.task for cell in cells if cell.suite == suite}) for suite in suites)
        columns = min(len(suites), 2)
        rows = -(-len(suites) // columns)
        size = (3.1 * columns, (0.17 * tallest + 0.85) * rows + 0.4)
        figure = Figure(figsize=size, dpi=DPI, layout="constrained")
        FigureCanvasAgg(figure)
        panels = figure.subplots(rows, columns, squeeze=False).flatten()
        for axis, suite in zip(panels, suites, strict=False):
            _panel(axis, suite, [cell for cell in cells if cell.suite == suite])
        for axis in panels[len(suites) :]:
            axis.set_axis_off()
        handles: list[Artist] = [
            Patch(facecolor=colour, edgecolor="0.72", linewidth=0.4, label=label) for _, label, colour in KINDS
        ]
        if any(map(apart, cells)):
            label = "not shown reachable"
            handles.append(Line2D([], [], color="0.2", marker="o", linestyle="", markersize=3, label=label))
        look = {"frameon": False, "fontsize": 7, "handlelength": 1, "handleheight": 1}
        figure.legend(handles=handles, loc="outside lower center", ncols=columns + 1, **look)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", metadata={"Software": None, DIGEST: digest(cells)})
    return buffer.getvalue()


def _panel(axis: Axes, suite: str, cells: Sequence[Cell]) -> None:
    from matplotlib.patches import Circle, Rectangle

    tasks = list(dict.fromkeys(cell.task for cell in cells))
    columns = list(dict.fromkeys((cell.condition, cell.slot, cell.number) for cell in cells))
    shifts = {column: place + 0.5 * CONDITIONS.index(column[0]) for place, column in enumerate(columns)}
    colours = {name: colour for name, _, colour in KINDS}
    for cell in cells:
        x, y = shifts[cell.condition, cell.slot, cell.number], tasks.index(cell.task)
        axis.add_patch(Rectangle((x, y), 0.9, 0.9, facecolor=colours[kind(cell)], edgecolor="0.72", linewidth=0.4))
        if apart(cell):
            axis.add_patch(Circle((x + 0.45, y + 0.45), 0.17, facecolor="0.2", edgecolor="none"))
    axis.set_xlim(-0.2, max(shifts.values()) + 1.1)
    axis.set_ylim(len(tasks) + 0.1, -0.2)
    axis.set_aspect("equal")
    axis.set_yticks(
        [place + 0.45 for place in range(len(tasks))], [task.rsplit("-", 1)[-1] for task in tasks], fontsize=6
    )
    labels = [slot or str(number) for _, slot, number in columns]
    axis.set_xticks([shifts[column] + 0.45 for column in columns], labels, fontsize=6, rotation=90)
    axis.tick_params(length=0, pad=1.5)
    filled = sum(cell.variant is not None for cell in cells)
    axis.set_title(f"{suite}: {filled} of {len(cells)}")
    for side in axis.spines.values():
        side.set_visible(False)
